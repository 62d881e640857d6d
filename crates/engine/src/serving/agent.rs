//! The process of an attempt at a task: started or taken over, heard, spoken with, made to stand still
//! and ended. What its words mean is decided by the task.

use super::{folder::TaskFolder, signals::spoken};
use crate::{
    accounts,
    agent::{
        self, Adoption, Agent, AgentEnd, Allowance, Bounds, Call, Halt, Meter, Purse, Remains,
        Slot, Supervised, Told, inherited, job_bounds,
    },
    clock::offset_at,
    context,
    error::EngineError,
    execute::usual_environment,
    guest::Waits,
    init,
    project::Project,
    values,
};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use waypost_agent::{
    launch::{Conversation, Order, Prompts},
    limits,
    protocol::{Spoken, Window},
};
use waypost_model::{
    run::{self, Budget, Usage},
    task::{AttemptPlan, Command, SignalLimits, TaskFile, TaskSignal},
    time::Time,
};
use waypost_proc::{Keeper, Report};
use waypost_redact::Secret;

/// An attempt at work.
#[derive(Debug)]
pub(super) struct TaskAgent {
    pub(super) attempt: u32,
    process: Supervised,
    /// Its right to work; one that stands still has none.
    pub(super) slot: Option<Slot>,
    /// The conversation that is recorded.
    noted: Option<String>,
    /// What was heard and is not recorded.
    heard: Window,
    /// The messages up to this number were handed over.
    pub(super) told: u32,
    /// How often it was reminded that it has not said how it stands.
    pub(super) reminders: u32,
    /// Since when it stands still.
    pub(super) still_since: Option<Time>,
    /// Whether its end is wanted, for no fault of its own.
    pub(super) is_dismissed: bool,
}

/// What an attempt is started with.
pub(super) struct Launching<'a> {
    pub(super) file: &'a TaskFile,
    pub(super) plan: &'a AttemptPlan,
    pub(super) agent: &'a Agent,
    pub(super) folder: &'a TaskFolder,
    pub(super) workspace: PathBuf,
    /// In the conversation that it names, or in a new one.
    pub(super) conversation: Conversation,
    pub(super) told: Told,
    /// Values that a person has provided, by the names of their variables.
    pub(super) given: Vec<(String, Secret)>,
    pub(super) keeper: &'a [OsString],
}

/// What was spent in a conversation before, as its program counts it.
fn counted(file: &TaskFile) -> Usage {
    file.trail.conversation.as_ref().map(|it| it.counted).unwrap_or_default()
}

/// What a process may use up: of what the task may, and of what all agents may today.
fn allowance(
    project: &mut Project,
    file: &TaskFile,
    meter: Meter,
) -> Result<Allowance, EngineError> {
    let day = accounts::day_left(project, project.clock.now())?;
    let usual = job_bounds(&project.setup);
    let own = match file.fields.budget {
        Budget::Cents(cents) => Some(cents.saturating_mul(10_000)),
        Budget::Unlimited => None,
        Budget::Unset => match project.configuration().values.task.budget() {
            Budget::Cents(cents) => Some(cents.saturating_mul(10_000)),
            Budget::Unset | Budget::Unlimited => None,
        },
    };
    let own = own.map(|micros| micros.saturating_sub(file.spent_micros()));
    let (micros, purse) = match (own, day) {
        (own, Some(day)) if own.is_none_or(|own| day < own) => (Some(day), Purse::Day),
        (own, _) => (own, Purse::Work),
    };
    Ok(Allowance { meter, bounds: Bounds { micros, purse, ..usual }, share: None })
}

/// What an agent has in place of values that were not given, as variables.
fn defaults_of(file: &TaskFile) -> impl Iterator<Item = (String, String)> {
    file.defaults.iter().filter_map(|(name, default)| {
        let variable = values::variable_of(name).ok()?;
        // Two lines are no value of a variable; its agent was told of it in words.
        let is_one = !default.contains(['\n', '\r', '\0']);
        is_one.then(|| (variable, default.clone()))
    })
}

impl TaskAgent {
    pub(super) fn start(
        project: &mut Project,
        by: Launching<'_>,
        slot: Slot,
    ) -> Result<Self, EngineError> {
        let Launching { file, plan, agent, folder, workspace, conversation, told, given, keeper } =
            by;
        let meter = match &conversation {
            Conversation::Resume { .. } => Meter::new(counted(file)),
            Conversation::New { .. } => Meter::default(),
        };
        let noted = match &conversation {
            Conversation::New { .. } if !agent.adapter.takes_conversation_id() => None,
            Conversation::New { id } | Conversation::Resume { id } => Some(id.clone()),
        };
        let allowance = allowance(project, file, meter)?;
        let known = context::for_served(project, &agent.name, &file.fields);
        // A conversation that goes on was told when it began.
        let is_new = matches!(conversation, Conversation::New { .. });
        let message = if is_new { told.message + &known } else { told.message };
        context::keep_brief(&folder.log(plan.number), &message);
        let order = Order {
            task: message,
            prompts: if agent.adapter.can_ask() { Prompts::Asked } else { Prompts::Refused },
            budget_cents: allowance.bounds.micros.map(|micros| micros.div_ceil(10_000)),
            ..agent.order(told.folder, conversation)
        };
        let order = agent::with_hook(&project.setup, agent, init::hook_program()?, order)?;
        let allowed = project.configuration().values.run.environment.clone();
        let mut environment = usual_environment(&project.caller.environment, &allowed);
        environment.extend(inherited(agent, &workspace, &project.caller.environment));
        let (names, secrets): (Vec<String>, Vec<Secret>) = given.into_iter().unzip();
        let given = names.into_iter().zip(secrets.iter().map(|it| it.expose().to_owned()));
        // What a person gave comes last, so that it counts.
        environment.extend(defaults_of(file));
        environment.extend(given);
        environment.extend(folder.raise_fence(plan.number)?);
        let call = Call {
            id: folder.child(plan.number),
            agent,
            order: &order,
            folder: workspace,
            environment,
            log: folder.log(plan.number),
            afresh: told.afresh + &known,
            secrets,
        };
        let now = project.clock.now();
        let process = Supervised::start(&folder.keepers(), keeper, call, allowance, now)?;
        let mut started = Self::new(plan.number, process, file);
        (started.slot, started.noted) = (Some(slot), noted);
        started.told = file.message_count;
        Ok(started)
    }

    /// Takes over an attempt that another engine started.
    pub(super) fn adopt(
        project: &mut Project,
        (file, agent): (&TaskFile, &Agent),
        folder: &TaskFolder,
        keeper: (Keeper, Vec<Report>),
        told: Told,
    ) -> Result<Self, EngineError> {
        let (attempt, now) = (file.attempt_number(), project.clock.now());
        let log = folder.log(attempt);
        let known = Adoption {
            id: folder.child(attempt),
            agent: agent.clone(),
            log: &log,
            told,
            since: now,
        };
        let allowance = allowance(project, file, Meter::new(counted(file)))?;
        let process = Supervised::adopt(keeper, known, allowance, now)?;
        Ok(Self::new(attempt, process, file))
    }

    fn new(attempt: u32, process: Supervised, file: &TaskFile) -> Self {
        Self {
            attempt,
            process,
            slot: None,
            noted: file.trail.conversation.as_ref().map(|it| it.id.clone()),
            heard: Window::default(),
            told: file.delivered,
            reminders: 0,
            still_since: None,
            is_dismissed: false,
        }
    }

    pub(super) fn life(&mut self) -> &mut agent::Supervision {
        &mut self.process.life
    }

    pub(super) fn is_over(&self) -> bool {
        self.process.life.is_over()
    }

    /// Whether its turn is over, and it can be told something.
    pub(super) fn has_ended_turn(&self) -> bool {
        self.process.life.heard().end.is_some()
    }

    /// Whether its program runs: it has said something.
    pub(super) fn has_said_something(&self) -> bool {
        let heard = self.process.life.heard();
        heard.has_begun || heard.session.is_some() || heard.end.is_some()
    }

    pub(super) fn doing(&self) -> &str {
        &self.process.life.heard().doing
    }

    /// Hears what is new. Says whether there was anything.
    pub(super) fn look(&mut self, now: Time) -> Result<bool, EngineError> {
        let is_news = self.process.look(now)?;
        self.heard.take(self.process.life.take_spoken(), now);
        Ok(is_news)
    }

    /// Stops it if it has done something that Waypost was not asked about. Says whether it is.
    pub(super) fn prove(&mut self, project: &mut Project) -> Result<bool, EngineError> {
        self.process.prove(project)?;
        Ok(!self.process.life.is_exposed())
    }

    /// What is to be recorded of what it has said by now.
    pub(super) fn news(&mut self, by: &Reading<'_>, now: Time) -> Vec<Command> {
        let mut commands: Vec<Command> = self.conversation().into_iter().collect();
        // Nothing can be added to the moment at the end of a turn or of the process.
        let heard = match self.has_ended_turn() || self.is_over() {
            true => self.heard.close(),
            false => self.heard.ready(now),
        };
        commands.extend(hear(self.attempt, heard, by, now));
        commands
    }

    fn conversation(&mut self) -> Option<Command> {
        let life = &self.process.life;
        let id = life.heard().session.clone().filter(|id| self.noted.as_ref() != Some(id))?;
        self.noted = Some(id.clone());
        let (agent, counted) = (life.agent.name.clone(), Usage::default());
        let wall = Some(life.agent.wall_with(life.agent.access()).level);
        let conversation = run::Conversation { agent, id, is_open: true, counted, wall };
        Some(Command::Converse { attempt: self.attempt, conversation })
    }

    /// Makes its tree stand still, or go on.
    pub(super) fn set_still(&mut self, is_still: bool, now: Time) {
        self.process.life.set_paused(is_still, now);
        match is_still {
            true => {
                self.still_since.get_or_insert(now);
                self.slot = None;
            }
            false => self.still_since = None,
        }
    }

    /// Tells it something. Says whether its program takes that.
    pub(super) fn say(&mut self, text: &str) -> bool {
        self.process.life.say(text)
    }

    /// Ends it, with its whole tree, for no fault of its own.
    pub(super) fn end(&mut self) {
        self.is_dismissed = true;
        self.process.life.halt(Halt::Given);
    }

    /// Lets it go after its turn.
    pub(super) fn dismiss(&mut self, now: Time) {
        self.process.life.dismiss(now);
    }

    /// Keeps its limits, and does to its process what was decided.
    pub(super) fn attend(&mut self, now: Time) -> Result<(), EngineError> {
        self.process.attend(now)
    }

    pub(super) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.process.waits(waits);
        self.heard.due().into_iter().for_each(|due| waits.until(due));
    }

    /// Takes leave of it once it is over.
    pub(super) fn close(self) -> Result<(AgentEnd, Remains), EngineError> {
        self.process.close()
    }
}

/// By what the words of an agent are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    /// How long something waits that it asks for and does not need.
    pub(super) optional_wait: Duration,
    /// What an end has to name, where that is demanded.
    pub(super) nonce: Option<&'a str>,
}

/// What an attempt has said, to be taken in by its task; none if that is nothing.
pub(super) fn hear(
    attempt: u32,
    said: Vec<Spoken>,
    by: &Reading<'_>,
    now: Time,
) -> Option<Command> {
    let (signals, optional_wait) = (spoken(said, by.nonce), by.optional_wait);
    // The words of an error may tell when a limit is over.
    let limit_until = signals.iter().find_map(|it| match &it.signal {
        TaskSignal::Problem(problem) => {
            let words = format!("{} {}", problem.message, problem.details);
            let resets = limits::read(&words)?.resets?;
            Some(resets.time(now, offset_at)).filter(|time| *time > now)
        }
        _ => None,
    });
    let limits = SignalLimits { optional_wait, limit_until };
    (!signals.is_empty()).then_some(Command::Hear { attempt, signals, limits })
}
