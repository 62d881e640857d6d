//! A project's repository against its journal: what a power cut or a careless hand has damaged, found
//! and rebuilt where a run goes on, and where `doctor` looks.

use crate::{error::EngineError, project::Project, worktrees::trees_of};
use waypost_git::{
    Hold, Trees,
    mend::{self, Cure, Damage, RecordedWork},
    merge,
};
use waypost_model::run::Isolation;

/// What the journal says that the repository has to have.
pub(crate) fn recorded(project: &mut Project) -> Result<RecordedWork, EngineError> {
    let recorded = project.run()?.active().map(RecordedWork::of).unwrap_or_default();
    Ok(match project.session()?.request() {
        Some(request) => recorded.with_request(request),
        None => recorded,
    })
}

/// Rebuilds what is damaged in the repository of a run or a session with work trees, and says what that was. Nothing is done while git
/// of an engine is at work: then nothing has died.
pub(crate) fn mend_if_idle(project: &mut Project) -> Result<(), EngineError> {
    let isolation = project.run()?.active().map(|active| active.settings().isolation);
    let of_session = project.session()?.active_request().is_some_and(|it| it.trees.is_some());
    if !of_session && !isolation.is_some_and(Isolation::has_trees) {
        return Ok(());
    }
    let Some(hold) = Hold::try_acquire(&project.setup.place.state)? else { return Ok(()) };
    let trees = trees_of(project)?.held(hold);
    let recorded = recorded(project)?;
    for damage in mend::mend(&trees, &recorded)? {
        project.notice(in_a_line(&damage));
    }
    Ok(())
}

/// Makes branches again that are gone and that a command is about to need, and says so.
pub(crate) fn restore_branches(project: &mut Project, trees: &Trees) -> Result<(), EngineError> {
    let recorded = recorded(project)?;
    for damage in mend::restore_branches(trees, &recorded)? {
        project.notice(in_a_line(&damage));
    }
    Ok(())
}

/// Rebuilds what is damaged beside a run: everything where no work of it could be in the way of that, and
/// otherwise the branches that are gone, which nothing can be in the way of.
pub(crate) fn mend_beside(
    project: &mut Project,
    trees: &Trees,
    is_idle: bool,
) -> Result<Vec<Damage>, EngineError> {
    let recorded = recorded(project)?;
    Ok(match is_idle {
        true => mend::mend(trees, &recorded)?,
        false => mend::restore_branches(trees, &recorded)?,
    })
}

/// How a repository was found.
#[derive(Debug)]
pub(crate) enum Examination {
    /// The run has work trees, and all is as the journal has it.
    Whole {
        commits: usize,
    },
    /// Nothing is damaged, and there is no run whose work trees could be.
    Unneeded,
    Damaged(Vec<Damage>),
    /// Git of an engine is at work: nothing can be told.
    AtWork,
}

/// Compares the repository with the journal; nothing is changed.
pub(crate) fn examine(project: &mut Project) -> Result<Examination, EngineError> {
    let recorded = recorded(project)?;
    let has_trees = !recorded.phases.is_empty();
    let Ok(trees) = trees_of(project) else { return Ok(Examination::Unneeded) };
    // Without work trees no engine has git at work, and no file is made for a look.
    let hold = match has_trees {
        true => Hold::try_acquire(&project.setup.place.state)?,
        false => None,
    };
    if has_trees && hold.is_none() {
        return Ok(Examination::AtWork);
    }
    let found = mend::examine(&trees, &recorded)?;
    let commits = recorded.phases.iter().map(|phase| phase.joined.len()).sum();
    Ok(match (found.is_empty(), has_trees) {
        (false, _) => Examination::Damaged(found),
        (true, true) => Examination::Whole { commits },
        (true, false) => Examination::Unneeded,
    })
}

/// Rebuilds what is damaged for a person who asked for it; says what was done.
pub(crate) fn mend_now(project: &mut Project) -> Result<String, EngineError> {
    let Some(hold) = Hold::try_acquire(&project.setup.place.state)? else {
        return Ok("git of an engine is at work: nothing was done".into());
    };
    let recorded = recorded(project)?;
    let trees = trees_of(project)?.held(hold);
    let rebuilt = mend::mend(&trees, &recorded)?;
    merge::settle_move(&trees)?;
    let lines: Vec<String> = rebuilt.iter().map(in_a_line).collect();
    Ok(match lines.is_empty() {
        true => "the repository is whole after all".into(),
        false => lines.join("; "),
    })
}

/// What was found damaged, in a line.
pub(crate) fn in_a_line(damage: &Damage) -> String {
    match &damage.cure {
        Cure::Rebuilt(how) => format!("{}: {how}", damage.what),
        Cure::Lost(remedy) => format!("{}; {remedy}", damage.what),
    }
}
