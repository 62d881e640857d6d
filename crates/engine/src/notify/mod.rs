//! Notices on their way to a person: which are wanted, what is sent, and how it gets there.
//!
//! A machine's decision puts a notice into the outbox, once for each target, in the transaction of
//! the events that it is about; nothing is put there that no target wants. The holder of the engine
//! lock delivers (`deliver`): at least once, in order for each target, without secrets (crate `redact`).
//!
//! Where notices go comes from the person's own configuration. A repository cannot say it, so
//! neither opening one nor an agent that edits it makes anything leave the machine.

mod compose;
mod deliver;
mod messenger;
mod send;
mod target;

#[cfg(test)]
mod tests;

pub(crate) use deliver::{Courier, Parcel};
pub(crate) use messenger::Messenger;

use crate::{
    attendance::{EngineClaim, claim_engine, is_run},
    error::EngineError,
    host,
    ledger::Work,
    outbox::Timers,
    project::Project,
};
use compose::Message;
use deliver::{Row, message_id, redactor, variable};
use send::{Outcome, client, send};
use std::{collections::BTreeMap, time::Duration};
use target::targets;
use waypost_model::{
    actor::Actor,
    config::{self, Config},
    next::NextStep,
    notice::{Notice, NoticeKind},
    run,
};
use waypost_store::lock::EngineLease;

/// How long the host may take to send what is due; what is left then waits as ever.
const HOST_PATIENCE: Duration = Duration::from_secs(5);

/// How often is looked at least whether it has.
const HOST_LOOK: Duration = Duration::from_millis(50);

/// The most rows that are counted.
const COUNTED_MAX: usize = 10_000;

/// Which notices are put into the outbox, and for whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    kinds: Vec<NoticeKind>,
    targets: Vec<String>,
}

impl Wanted {
    pub(crate) fn of(config: &Config) -> Self {
        let kinds = NoticeKind::ALL.into_iter().filter(|kind| config.notify.wants(*kind));
        let targets = targets(config).into_iter().map(|target| target.name);
        Self { kinds: kinds.collect(), targets: targets.collect() }
    }

    /// Who gets notices of this kind, by name.
    pub(crate) fn targets_of(&self, kind: NoticeKind) -> &[String] {
        if self.kinds.contains(&kind) { &self.targets } else { &[] }
    }
}

/// Puts a notice into the outbox that follows from no command: it is about the engine itself.
pub(crate) fn announce(project: &mut Project, notice: &Notice) -> Result<(), EngineError> {
    let now = project.clock.now();
    let Project { journal, ledger, .. } = project;
    let Some(journal) = journal else { return Ok(()) };
    if ledger.wanted().targets_of(notice.kind).is_empty() {
        return Ok(());
    }
    let mut work = Work::begin(ledger, journal, &Actor::Waypost, now)?;
    work.announce(notice)?;
    Ok(work.commit()?)
}

/// Tells that the engine of a run has died, if this one is the first to come after it.
pub(crate) fn tell_lost_engine(
    project: &mut Project,
    lease: &EngineLease,
) -> Result<(), EngineError> {
    let Some(lost) = lease.left_by().filter(|owner| is_run(owner)) else { return Ok(()) };
    if project.run()?.active().is_none_or(|active| active.is_over()) {
        return Ok(());
    }
    let title =
        format!("the engine of the run has died: process {}, since {}", lost.pid, lost.since);
    let notice = Notice::new(NoticeKind::EngineLost, title, project.clock.now())
        .text("It was killed, or the machine went down. What was recorded is there.")
        .next(NextStep::ResumeRun);
    announce(project, &notice)
}

/// What waits for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub target: String,
    pub count: usize,
    /// Why the oldest could not be delivered yet; empty if it was not tried.
    pub why: String,
}

/// What came of a notice that was sent to see whether it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The target, as far as it may be shown.
    pub target: String,
    /// The key that configures it.
    pub key: String,
    /// Why it did not arrive.
    pub result: Result<(), String>,
}

/// The notices that wait, by target.
pub fn waiting(project: &mut Project) -> Result<Vec<Waiting>, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(Vec::new()) };
    let open = journal.view()?.open_effects_of("notify", COUNTED_MAX)?;
    let mut waiting: BTreeMap<String, Waiting> = BTreeMap::new();
    for row in open.into_iter().filter_map(Row::read) {
        let Parcel { target, why, .. } = row.parcel;
        let first = || Waiting { target: target.clone(), count: 0, why };
        waiting.entry(target.clone()).or_insert_with(first).count += 1;
    }
    Ok(waiting.into_values().collect())
}

/// What takes secrets out of texts of this project, wherever they go.
pub(crate) fn redactor_of(project: &Project) -> waypost_redact::Redactor {
    redactor(project, &targets(&project.configuration().values))
}

/// Sends a notice to every target at once, past the outbox, and says what came of it.
pub fn try_out(project: &mut Project) -> Vec<Trial> {
    let targets = targets(&project.configuration().values);
    let redactor = redactor(project, &targets);
    let now = project.clock.now();
    let title = "this is a test: notices of Waypost arrive here";
    let notice = Notice::new(NoticeKind::NeedsYou, title, now);
    let id = message_id("test", &now.millis().to_string());
    let message =
        Message::new(id, &display_name(project), &notice, &redactor).spelled(project.spelling);
    let client = client();
    let trial = |target: &target::Target| {
        let sent = target.reach(variable).and_then(|reached| {
            match send(&client, &message.post(&reached, now), now) {
                Outcome::Delivered => Ok(()),
                Outcome::Later { why, .. } | Outcome::Never { why } => Err(why),
            }
        });
        Trial { target: target.shown(), key: target.key.clone(), result: sent }
    };
    targets.iter().map(trial).collect()
}

/// Sends what is due, as the engine of this project, or has the one that is there do so; for
/// when no run is to go on.
pub fn send_due(project: &mut Project) -> Result<(), EngineError> {
    if project.journal.is_none() {
        return Ok(());
    }
    match claim_engine(project, "notify")? {
        EngineClaim::Ours(lease) => {
            tell_lost_engine(project, &lease)?;
            // A reminder that is due becomes a notice.
            let now = project.clock.now();
            Timers::default().attend(project, now);
            Courier::new(project).finish(project);
        }
        EngineClaim::Theirs(_) => {
            // What is sent is recorded.
            let changes = project.journals.changes();
            host::poke(&project.setup.place);
            let deadline = project.clock.now().plus(HOST_PATIENCE);
            while has_due(project)? && project.clock.now() < deadline {
                changes.wait(HOST_LOOK);
            }
        }
    }
    Ok(())
}

fn has_due(project: &mut Project) -> Result<bool, EngineError> {
    let now = project.clock.now();
    let Some(journal) = &mut project.journal else { return Ok(false) };
    let open = journal.view()?.open_effects_of("notify", COUNTED_MAX)?;
    Ok(open.into_iter().filter_map(Row::read).any(|row| row.due.is_none_or(|due| due <= now)))
}

/// Says that an address in the state file is not used: a repository may bring that file along.
pub(crate) fn say_unused_address(project: &mut Project) {
    let own = config::reference(&project.configuration().values.run.slack_webhook_url);
    let active = project.run_known().and_then(run::Run::active);
    let stated = active.and_then(|active| active.settings().slack_webhook_url.clone());
    if stated.is_some() && stated != own {
        project.notice(
            "slack_webhook_url in .claude/orchestrate-state.json is not used: where notices go \
             is not for a repository to say; set `run.slack_webhook_url` in \
             ~/.config/waypost/config.toml"
                .to_owned(),
        );
    }
}

/// What the project calls itself: the plan's name, else its folder's.
pub(crate) fn display_name(project: &mut Project) -> String {
    let planned = project.run().ok().and_then(|run| run.active()).map(|active| active.plan());
    let planned = planned.map(|plan| plan.project.clone()).filter(|name| !name.is_empty());
    planned.unwrap_or_else(|| {
        let folder = project.setup.place.root.file_name();
        folder.map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
    })
}
