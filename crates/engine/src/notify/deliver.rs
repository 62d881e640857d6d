//! The courier: takes notices from the outbox to their targets, for the holder of the engine lock.
//!
//! - At least once: a row is done when its target has taken it, and not before. The holder of the
//!   engine next finds what is left.
//! - In order: of each target only the oldest row is tried; the others wait for it. Targets do not
//!   wait for each other.
//! - No process waits for a host: each try has a thread of its own, at most one for each target. The
//!   courier looks in from time to time, takes what has come back, and sends what is due.
//! - Whatever goes wrong here is told and never ends a run.

use super::{
    compose::Message,
    send::{Outcome, client, send},
    target::{Target, targets},
};
use crate::{notify, project::Project};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};
use ureq::Agent;
use waypost_model::{
    next::{NextStep, Remark},
    notice::Notice,
    retry::{FailureClass, Outlook, Policy, Scope},
    time::Time,
};
use waypost_redact::{Redactor, secret_values};
use waypost_store::{
    StoreError,
    journal::{Journal, OpenEffect},
};

/// What is older than this is no news any more.
const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// How long the end of a run waits for what is due.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// How often is looked whether a try has ended, while there is nothing else to do.
const LAST_LOOK: Duration = Duration::from_millis(20);

/// How often is looked whether a try has ended, while the holder of the engine has other work.
const BUSY_LOOK: Duration = Duration::from_millis(100);

/// What is wrong with the configuration is looked at again after this.
const UNREACHABLE_WAIT: Duration = Duration::from_secs(60);

/// How many rows are looked at at once: more wait in the outbox.
const ROWS_MAX: usize = 10_000;

/// What the outbox holds for one notice and one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parcel {
    pub(crate) target: String,
    pub(crate) notice: Notice,
    /// How often it was tried in vain.
    #[serde(default)]
    pub(crate) attempts: u32,
    /// Why the last try was in vain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) why: String,
}

/// A row of the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: u64,
    /// The key of the notice, the same for all targets.
    pub(super) notice_key: String,
    pub(super) due: Option<Time>,
    pub(super) parcel: Parcel,
}

impl Row {
    /// Reads a row; one that another version of the program has written is left to that.
    pub(super) fn read(effect: OpenEffect) -> Option<Self> {
        let parcel = serde_json::from_str(&effect.body).ok()?;
        let notice_key = effect.key.split('@').next().unwrap_or_default().to_owned();
        Some(Self { id: effect.id, notice_key, due: effect.due, parcel })
    }
}

/// Takes notices to their targets.
#[derive(Debug)]
pub(crate) struct Courier {
    targets: BTreeMap<String, Target>,
    redactor: Redactor,
    client: Option<Agent>,
    /// What is open, in order.
    rows: Vec<Row>,
    /// Targets that are being spoken to, and the row that it is about.
    busy: BTreeMap<String, u64>,
    /// Tries that are over and not in the journal yet.
    ended: Vec<(u64, Outcome)>,
    back: Receiver<(u64, Outcome)>,
    sender: Sender<(u64, Outcome)>,
    /// The journal as it was when the outbox was read: our own notices, and others' commits.
    seen: Option<(u64, u64)>,
}

impl Courier {
    pub(crate) fn new(project: &Project) -> Self {
        let config = &project.configuration().values;
        let targets = targets(config);
        let (sender, back) = channel();
        Self {
            redactor: redactor(project, &targets),
            targets: targets.into_iter().map(|target| (target.name.clone(), target)).collect(),
            client: None,
            rows: Vec::new(),
            busy: BTreeMap::new(),
            ended: Vec::new(),
            back,
            sender,
            seen: None,
        }
    }

    /// Takes what has come back, and sends what is due. Waits for no target.
    pub(crate) fn attend(&mut self, project: &mut Project, now: Time) {
        self.ended.extend(self.back.try_iter());
        self.record(project, now);
        self.read(project, now);
        self.send_due(project, now);
    }

    /// When there is something to do even if nothing comes: a try may have ended, or one is due.
    pub(crate) fn wakes_at(&self, now: Time) -> Option<Time> {
        if !self.busy.is_empty() || !self.ended.is_empty() {
            return Some(now.plus(BUSY_LOOK));
        }
        self.rows.iter().map(|row| row.due.unwrap_or(now)).min()
    }

    /// Waits a little for what is due, and says what is left.
    pub(crate) fn finish(&mut self, project: &mut Project) {
        let deadline = project.clock.now().plus(LAST_WAIT);
        loop {
            let now = project.clock.now();
            self.attend(project, now);
            if (self.busy.is_empty() && self.ended.is_empty()) || now >= deadline {
                break;
            }
            self.ended.extend(self.back.recv_timeout(LAST_LOOK));
        }
        if !self.rows.is_empty() {
            let count = self.rows.len();
            let what = if count == 1 { "notice waits" } else { "notices wait" };
            let text = format!("{count} {what} for the next run, or to be sent by hand");
            project.notice(Remark::from(text).next(NextStep::SendNotices));
        }
    }

    /// Reads the outbox if anything was put there since.
    fn read(&mut self, project: &mut Project, now: Time) {
        let queued = project.ledger.notices_queued();
        let present = project.journal_version().map(|version| (queued, version));
        let Some(journal) = &mut project.journal else { return };
        if present.is_some() && present == self.seen {
            return;
        }
        let open = journal.view().and_then(|view| view.open_effects_of("notify", ROWS_MAX));
        // What cannot be read now is read at the next look.
        let Ok(open) = open else { return };
        self.seen = present;
        let rows = open.into_iter().filter_map(Row::read);
        let (known, gone): (Vec<Row>, Vec<Row>) =
            rows.partition(|row| self.targets.contains_key(&row.parcel.target));
        self.rows = known;
        // Another configuration, as of a cron job or an agent, is no reason to lose what waits.
        let is_old = |row: &Row| now.since(row.parcel.notice.at) >= GIVE_UP_AFTER;
        let gone: Vec<Row> = gone.into_iter().filter(is_old).collect();
        if gone.is_empty() {
            return;
        }
        let dropped = change(journal, |tx| {
            gone.iter().try_for_each(|row| tx.mark_effect_done(row.id, now).map(drop))
        });
        if dropped.is_ok() {
            let names: BTreeSet<&str> = gone.iter().map(|row| row.parcel.target.as_str()).collect();
            let names: Vec<&str> = names.into_iter().collect();
            project.notice(format!(
                "{} for {} given up: nothing of that name was configured for a day",
                counted(gone.len()),
                names.join(", ")
            ));
        }
    }

    /// Notes in the journal what became of tries; until that has worked the targets wait.
    fn record(&mut self, project: &mut Project, now: Time) {
        if self.ended.is_empty() {
            return;
        }
        let Some(journal) = &mut project.journal else { return };
        let ended: Vec<(Row, Outcome)> = self
            .ended
            .iter()
            .filter_map(|(id, outcome)| {
                let row = self.rows.iter().find(|row| row.id == *id)?;
                Some(settle(row.clone(), outcome.clone(), now))
            })
            .collect();
        let recorded = change(journal, |tx| {
            ended.iter().try_for_each(|(row, outcome)| {
                match (outcome, row.due) {
                    (Outcome::Later { .. }, Some(due)) => {
                        let body = serde_json::to_string(&row.parcel).expect("it is plain data");
                        tx.postpone_effect(row.id, due, &body)
                    }
                    _ => tx.mark_effect_done(row.id, now),
                }
                .map(drop)
            })
        });
        if recorded.is_err() {
            return;
        }
        for (id, _) in self.ended.drain(..) {
            self.busy.retain(|_, busy| *busy != id);
        }
        for (row, outcome) in ended {
            match outcome {
                Outcome::Delivered => self.rows.retain(|it| it.id != row.id),
                Outcome::Never { why } => {
                    self.rows.retain(|it| it.id != row.id);
                    let Parcel { target, notice, .. } = &row.parcel;
                    project.notice(format!(
                        "a notice ({}) for {target} was given up: {why}",
                        notice.kind
                    ));
                }
                Outcome::Later { why, .. } => {
                    project.notice(format!("{} gets no notices now: {why}", row.parcel.target));
                    self.rows.iter_mut().filter(|it| it.id == row.id).for_each(|it| {
                        it.clone_from(&row);
                    });
                }
            }
        }
    }

    /// Sends the oldest row of each target that is free, if that is due.
    fn send_due(&mut self, project: &mut Project, now: Time) {
        let mut seen = BTreeSet::new();
        let first = self.rows.iter().filter(|row| seen.insert(row.parcel.target.clone()));
        let due = first.filter(|row| {
            row.due.is_none_or(|due| due <= now) && !self.busy.contains_key(&row.parcel.target)
        });
        let due: Vec<Row> = due.cloned().collect();
        if due.is_empty() {
            return;
        }
        let name = notify::display_name(project);
        let journal = project.journal.as_ref().map_or(String::new(), |it| it.id().to_owned());
        for row in due {
            self.busy.insert(row.parcel.target.clone(), row.id);
            let reached = self.targets[&row.parcel.target].reach(variable);
            let reached = match reached {
                Ok(reached) => reached,
                Err(why) => {
                    let after = Some(UNREACHABLE_WAIT);
                    self.ended.push((row.id, Outcome::Later { why, after }));
                    continue;
                }
            };
            let message = message_id(&journal, &row.notice_key);
            let message = Message::new(message, &name, &row.parcel.notice, &self.redactor)
                .spelled(project.spelling);
            let post = message.post(&reached, now);
            let client = self.client.get_or_insert_with(client).clone();
            let (id, sender) = (row.id, self.sender.clone());
            let started = thread::Builder::new().spawn(move || {
                // If the host does not listen any more, the row is still open.
                let _unheard = sender.send((id, send(&client, &post, now)));
            });
            if started.is_err() {
                let why = "the machine has no room for another thread";
                self.ended.push((id, Outcome::later(why)));
            }
        }
    }
}

/// What an outcome makes of a row: a later try has a time, and what is too old has none.
pub(super) fn settle(mut row: Row, outcome: Outcome, now: Time) -> (Row, Outcome) {
    let Outcome::Later { why, after } = outcome else { return (row, outcome) };
    if now.since(row.parcel.notice.at) >= GIVE_UP_AFTER {
        let why = format!("{why}, for a day now");
        return (row, Outcome::Never { why });
    }
    let policy = Policy::of(Scope::Delivery);
    let key = format!("{}@{}", row.notice_key, row.parcel.target);
    let delay = match policy.after(row.parcel.attempts, FailureClass::Transient, &key) {
        Outlook::Again { delay } => delay,
        Outlook::GiveUp => policy.longest_delay,
    };
    // A host that names a time is not asked before it.
    let delay = after.map_or(delay, |after| after.max(Duration::from_secs(1)).min(GIVE_UP_AFTER));
    row.parcel.attempts += 1;
    row.parcel.why.clone_from(&why);
    row.due = Some(now.plus(delay));
    (row, Outcome::Later { why, after })
}

fn change(
    journal: &mut Journal,
    write: impl FnOnce(&mut waypost_store::journal::Transaction<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut tx = journal.transaction()?;
    write(&mut tx)?;
    tx.commit()
}

pub(super) fn redactor(project: &Project, targets: &[Target]) -> Redactor {
    let config = &project.configuration().values;
    let agents = config.agents.values().flat_map(|agent| &agent.environment);
    let given: Vec<String> = config.run.environment.iter().chain(agents).cloned().collect();
    let environment = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut values = secret_values(environment, &given);
    values.extend(targets.iter().flat_map(|target| target.secrets(variable)));
    Redactor::of(values)
}

pub(super) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Names a notice, for a target that receives it twice.
pub(super) fn message_id(journal: &str, key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{journal}-{key}").chars().map(plain).collect()
}

pub(super) fn counted(number: usize) -> String {
    format!("{number} notice{}", if number == 1 { "" } else { "s" })
}
