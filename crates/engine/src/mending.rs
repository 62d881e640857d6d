//! A project's repository against its journal: what a power cut or a careless hand has damaged, found
//! and rebuilt where a run goes on.

use crate::{error::EngineError, project::Project, worktrees::trees_of};
use waypost_git::{
    Hold,
    mend::{self, Cure, Damage, RecordedWork},
};
use waypost_model::run::Isolation;

/// What the journal says that the repository has to have.
pub(crate) fn recorded(project: &mut Project) -> Result<RecordedWork, EngineError> {
    Ok(project.run()?.active().map(RecordedWork::of).unwrap_or_default())
}

/// Rebuilds what is damaged in the repository of a run with work trees, and says what that was. Nothing is done while git
/// of an engine is at work: then nothing has died.
pub(crate) fn mend_if_idle(project: &mut Project) -> Result<(), EngineError> {
    let isolation = project.run()?.active().map(|active| active.settings().isolation);
    if !isolation.is_some_and(Isolation::has_trees) {
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

/// What was found damaged, in a line.
pub(crate) fn in_a_line(damage: &Damage) -> String {
    match &damage.cure {
        Cure::Rebuilt(how) => format!("{}: {how}", damage.what),
        Cure::Lost(remedy) => format!("{}; {remedy}", damage.what),
    }
}
