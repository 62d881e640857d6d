//! The chain from a task to what holds it, as the run and its surroundings tell it.
//!
//! Pure: the events that made it so are looked up by `why` itself. A task that waits leads to what
//! it waits for, across phases, until something is reached that holds by itself: a failure, an
//! attempt that is under way, a time, a limit, a person.

use crate::{execute::agent_of, ledger::run_stream};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};
use waypost_model::{
    declared::are_disjoint,
    id::{EntryId, TaskId},
    inbox::Subject,
    next::NextStep,
    run::{
        Active, Budget, Depends, EndStep, Isolation, ParkCause, Parked, PhaseStage, RunTopic,
        TaskStatus, TaskView,
    },
    time::Time,
};

/// The most reasons of one kind that are named; a task may wait for a whole phase.
const REASONS_MAX: usize = 5;

/// How many tasks a chain leads over at most; a longer one is cut, and its end is still told.
const HOPS_MAX: usize = 20;

/// What a question about the end of a phase is about.
pub(super) fn phase_subject(phase: u32) -> Subject {
    Subject::of(&run_stream(), &RunTopic::Phase(phase).into())
}

/// What holds tasks beside the run itself.
#[derive(Debug, Default)]
pub(super) struct Around {
    pub(super) now: Time,
    pub(super) has_engine: bool,
    /// The engine died and has left what it started.
    pub(super) is_left: bool,
    /// What waits in the inbox, by its subject.
    pub(super) inbox: BTreeMap<Subject, EntryId>,
    /// How many model agents may work at once.
    pub(super) max_agents: usize,
    /// Whether as many agents work on this machine as may.
    pub(super) is_machine_full: bool,
    /// What trouble the machine is in: the disks as they are now, all else as the run's engine has told it.
    pub(super) trouble: Option<String>,
    /// What the agents of one phase may spend.
    pub(super) phase_cents: Option<u64>,
    /// Whether agents have spent what they may today.
    pub(super) is_day_used_up: bool,
}

/// A reason before its event was looked up.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) about: Option<About>,
    pub(super) next: Option<NextStep>,
    /// Whether it keeps the task from being started.
    holds: bool,
}

/// Whose last event of one of these kinds tells more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum About {
    Task(TaskId, &'static [&'static str]),
    Phase(u32, &'static [&'static str]),
    Entry(EntryId),
}

impl Draft {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), about: None, next: None, holds: true }
    }

    fn about(self, id: &TaskId, kinds: &'static [&'static str]) -> Self {
        Self { about: Some(About::Task(id.clone(), kinds)), ..self }
    }

    fn phase(self, phase: u32, kinds: &'static [&'static str]) -> Self {
        Self { about: Some(About::Phase(phase, kinds)), ..self }
    }

    fn next(self, step: NextStep) -> Self {
        Self { next: Some(step), ..self }
    }
}

/// Everything there is to say about one task.
pub(super) struct Chain<'a> {
    pub(super) active: &'a Active,
    pub(super) around: &'a Around,
}

impl<'a> Chain<'a> {
    /// Why a task stands as it does, the nearest reason first, and whether anything holds it that
    /// could be started.
    pub(super) fn of(&self, view: &TaskView<'a>) -> (Vec<Draft>, bool) {
        let drafts = self.explain(view, "it");
        let is_held = view.status == TaskStatus::Ready && drafts.iter().any(|draft| draft.holds);
        (drafts, is_held)
    }

    /// `who` is the task in a sentence: "it" for the one that was asked about, else its id.
    fn explain(&self, view: &TaskView<'a>, who: &str) -> Vec<Draft> {
        let id = &view.planned.id;
        match view.status {
            TaskStatus::Completed => vec![completed(view, who)],
            TaskStatus::InProgress => self.in_progress(view, who),
            TaskStatus::Failed => {
                let mut drafts = vec![failed(view, who)];
                if let Some(tree) = self.active.task_tree(id) {
                    let text = format!("what {who} did is in {tree}, or kept from there");
                    drafts.push(Draft::new(text).next(NextStep::ShowChanges { id: id.clone() }));
                }
                drafts
            }
            TaskStatus::Ready => self.ready(view, who),
            TaskStatus::Blocked => self.blocked(view, who),
            TaskStatus::Pending => self.pending(view, who),
        }
    }

    fn in_progress(&self, view: &TaskView<'a>, who: &str) -> Vec<Draft> {
        let id = &view.planned.id;
        let place = self.active.task_tree(id).map_or_else(String::new, |it| format!(" in {it}"));
        let text = format!("attempt {} of {who} is under way{place}", view.attempts);
        let text = text.replace(" of it ", " ");
        let mut drafts = self.person(view, who);
        let under_way = Draft::new(text).about(id, &["task_started"]);
        drafts.push(under_way.next(NextStep::FollowOutput { id: id.clone() }));
        if self.around.is_left {
            drafts.push(engine_gone());
        }
        drafts
    }

    /// Everything that keeps a task from being started whose dependencies are met.
    fn ready(&self, view: &TaskView<'a>, who: &str) -> Vec<Draft> {
        let id = &view.planned.id;
        let mut drafts = self.person(view, who);
        drafts.extend(self.delays(view, who));
        let trouble = self.around.trouble.as_ref();
        drafts.extend(trouble.map(|it| Draft::new(format!("nothing new is begun: {it}"))));
        drafts.extend(self.money(view, who));
        drafts.extend(self.slots(view, who));
        drafts.extend(self.entry(self.active.current_phase()));
        match (self.around.has_engine, self.around.is_left) {
            (true, _) => {}
            (false, true) => drafts.push(engine_gone()),
            (false, false) => {
                let text = "no run is at work, so no task is started";
                drafts.push(Draft { holds: false, ..Draft::new(text) }.next(NextStep::ResumeRun));
            }
        }
        if drafts.iter().all(|draft| !draft.holds) {
            let ready = Draft { holds: false, ..Draft::new(format!("{who} is ready")) };
            drafts.insert(0, ready.next(NextStep::StartTask { id: id.clone() }));
        }
        drafts
    }

    /// Times that have to come first: of its own limit or retry, or of another's limit.
    fn delays(&self, view: &TaskView<'a>, who: &str) -> Vec<Draft> {
        let (id, now) = (&view.planned.id, self.around.now);
        let retry = || NextStep::RetryTask { id: id.clone() };
        let mut drafts = Vec::new();
        if let Some(parked) = view.parked(now) {
            drafts.push(self.parked(parked, id, who));
        } else if let Some(agent) = agent_of(view.planned, self.active.settings()) {
            let mut others = self.active.parked().filter_map(|it| Some((it, it.parked(now)?)));
            let same = |(_, parked): &(TaskView<'_>, &Parked)| parked.agent == agent;
            if let Some((other, parked)) = others.find(same) {
                let other = &other.planned.id;
                drafts.push(Draft::new(format!("{who} waits for {agent} as {other} does")));
                drafts.push(self.parked(parked, other, other.as_str()));
            }
        }
        if let Some(failure) = view.last_failure.filter(|failure| failure.not_before > now) {
            let seconds = failure.not_before.since(now).as_secs() + 1;
            let text = format!(
                "its next try is due at {} (in {seconds} s); attempt {} failed: {}",
                failure.not_before, view.attempts, failure.text
            );
            drafts.push(Draft::new(text).about(id, &["attempt_failed"]).next(retry()));
        }
        drafts
    }

    /// What a parked task waits for, how long, and what can be done about it.
    fn parked(&self, parked: &Parked, id: &TaskId, who: &str) -> Draft {
        let Parked { cause, why, agent, until, .. } = parked;
        let time = until.map_or_else(
            || "until a person has done something".to_owned(),
            |until| format!("until {until} (in {} s)", until.since(self.around.now).as_secs() + 1),
        );
        let next = match cause {
            // No option of the command gives a phase more: the configuration does.
            ParkCause::Budget if self.used_up_phase().is_some() => NextStep::ResumeRun,
            ParkCause::Budget => NextStep::ResumeWithBudget,
            cause if cause.is_unavailable() => {
                let entry = self.entry_about(RunTopic::Account(agent.clone()));
                entry.map_or(NextStep::ShowInbox, |id| NextStep::ShowEntry { id: id.clone() })
            }
            _ => NextStep::RetryTask { id: id.clone() },
        };
        let mut text = format!("{who} waits {time}: {}: {why}", parked.cause_in_words());
        if cause.is_unavailable() {
            let _infallible = write!(text, " ({})", cause.advice(agent));
        }
        let draft = Draft::new(text);
        draft.about(id, &["attempt_parked"]).next(next)
    }

    fn money(&self, view: &TaskView<'a>, who: &str) -> Option<Draft> {
        let agent = agent_of(view.planned, self.active.settings())?;
        let spent = self.active.usage().cost_micros;
        match self.active.settings().budget {
            Budget::Cents(cents) if spent >= cents.saturating_mul(10_000) => {
                let cents = dollars(cents);
                let text =
                    format!("{who} is for {agent}, and the budget of the run is used up ({cents})");
                Some(Draft::new(text).next(NextStep::ResumeWithBudget))
            }
            _ if let Some(cents) = self.used_up_phase() => {
                let (phase, cents) = (self.active.current_phase(), dollars(cents));
                let text = format!(
                    "{who} is for {agent}, and the budget of phase {phase} is used up ({cents}, \
                     phase_budget_usd)"
                );
                Some(Draft::new(text).next(NextStep::ResumeRun))
            }
            _ if self.around.is_day_used_up => {
                let next = self.around.now.next_day();
                Some(Draft::new(format!(
                    "{who} is for {agent}, and the budget of the day is used up \
                     (day_budget_usd); it goes on at {next}"
                )))
            }
            _ => None,
        }
    }

    /// What the present phase was given, if its agents have spent it.
    fn used_up_phase(&self) -> Option<u64> {
        let spent = self.active.spent_in(self.active.current_phase());
        self.around.phase_cents.filter(|cents| spent >= cents.saturating_mul(10_000))
    }

    /// Room that others have taken.
    fn slots(&self, view: &TaskView<'a>, who: &str) -> Option<Draft> {
        let settings = self.active.settings();
        let (limit, running) =
            (settings.max_parallel as usize, self.active.count(TaskStatus::InProgress));
        if limit > 0 && running >= limit {
            return Some(Draft::new(format!(
                "all slots are taken: {running} in progress, and max_parallel is {limit}"
            )));
        }
        let works: Vec<TaskView<'_>> = self.active.tasks_with(TaskStatus::InProgress).collect();
        let agent = agent_of(view.planned, settings);
        let agents = works.iter().filter(|it| agent_of(it.planned, settings).is_some()).count();
        if agent.is_some() && self.around.max_agents > 0 && agents >= self.around.max_agents {
            return Some(Draft::new(format!(
                "{agents} agents are at work, and max_agents is {}",
                self.around.max_agents
            )));
        }
        if agent.is_some() && self.around.is_machine_full {
            return Some(Draft::new(format!(
                "as many agents work on this machine as may, some of them elsewhere; max_agents \
                 is {}",
                self.around.max_agents
            )));
        }
        let other = works.iter().find(|it| !are_disjoint(files(it), files(view)));
        let other = other.filter(|_| settings.isolation == Isolation::Phase)?;
        let other = &other.planned.id;
        let text = format!("{other} works in the same work tree, and may touch what {who} touches");
        Some(Draft::new(text).about(other, &["task_started"]))
    }

    /// What failed, and how the task hangs on it.
    fn blocked(&self, view: &TaskView<'a>, who: &str) -> Vec<Draft> {
        let (mut drafts, mut at, mut who) = (Vec::new(), *view, who.to_owned());
        let mut seen = BTreeSet::new();
        let lost = [TaskStatus::Failed, TaskStatus::Blocked];
        while seen.insert(at.planned.id.clone()) {
            // The failure itself rather than another that is blocked by one.
            let wanted = self.wanted(&at);
            let find = |status| wanted.iter().find(|it: &&TaskView<'_>| it.status == status);
            let Some(next) = lost.into_iter().find_map(find) else { break };
            if drafts.len() < HOPS_MAX {
                let how =
                    if next.status == TaskStatus::Failed { "has failed" } else { "is blocked" };
                drafts.push(Draft::new(self.hop(&at, next, &who, how)));
            }
            (at, who) = (*next, next.planned.id.to_string());
            if at.status == TaskStatus::Failed {
                break;
            }
        }
        drafts.push(failed(&at, &who));
        let also = self.wanted(view).into_iter().filter(|it| it.status == TaskStatus::Failed);
        let also: Vec<TaskView<'_>> = also.filter(|it| it.planned.id != at.planned.id).collect();
        drafts.extend(also.iter().take(REASONS_MAX).map(|it| failed(it, it.planned.id.as_str())));
        drafts.extend(and_more(also.len()));
        drafts
    }

    /// What has to be completed first, down to what can go on now or is held.
    fn pending(&self, view: &TaskView<'a>, who: &str) -> Vec<Draft> {
        let (mut drafts, mut at, mut who) = (Vec::new(), *view, who.to_owned());
        let mut seen = BTreeSet::new();
        while at.status == TaskStatus::Pending && seen.insert(at.planned.id.clone()) {
            let unmet = self.wanted(&at).into_iter();
            let unmet: Vec<TaskView<'_>> =
                unmet.filter(|it| it.status != TaskStatus::Completed).collect();
            let Some(next) = unmet.iter().min_by_key(|it| nearness(it.status)) else { break };
            if drafts.len() < HOPS_MAX {
                let how = format!("is {}", next.status);
                let id = &next.planned.id;
                let hop = Draft::new(self.hop(&at, next, &who, &how));
                drafts.push(hop.next(NextStep::ExplainTask { id: id.clone() }));
            }
            let others = unmet.iter().filter(|it| it.planned.id != next.planned.id);
            let others: Vec<&str> = others.map(|it| it.planned.id.as_str()).collect();
            if !others.is_empty() && drafts.len() < HOPS_MAX {
                drafts.push(Draft::new(format!("{who} waits for {} as well", some_of(&others))));
            }
            (at, who) = (*next, next.planned.id.to_string());
        }
        match at.status {
            // Its dependencies are met: its phase is not reached, or is ending.
            TaskStatus::Pending => drafts.extend(self.phase(&at, &who)),
            _ if at.planned.id == view.planned.id => {}
            _ => drafts.extend(self.explain(&at, &who)),
        }
        drafts
    }

    /// Why a phase has not begun, or does not end.
    fn phase(&self, view: &TaskView<'a>, who: &str) -> Vec<Draft> {
        let current = self.active.current_phase();
        let progress = self.active.progress(current);
        let mut drafts = Vec::new();
        if view.planned.phase != current {
            drafts.push(
                Draft::new(format!(
                    "{who} is of phase {}, which begins when phase {current} is done ({}/{} \
                     completed)",
                    view.planned.phase, progress.completed, progress.total
                ))
                .phase(current, &["phase_opened"]),
            );
        }
        let settled = |text: String| Draft::new(text).phase(current, &["phase_settled"]);
        match self.active.phase(current) {
            Some(PhaseStage::Ending { step: EndStep::Joining, .. }) => {
                drafts.push(settled(format!("phase {current} is being merged")));
                if !self.around.has_engine {
                    drafts.push(Draft::new("no run is at work").next(NextStep::ResumeRun));
                }
            }
            Some(PhaseStage::Ending { step: EndStep::Stopped, .. }) => {
                drafts.push(settled(format!("phase {current} could not be merged")));
                drafts.extend(self.entry(current));
            }
            Some(PhaseStage::Ending { step: EndStep::Approval, .. }) => {
                let text =
                    format!("phase {current} is done, and a person has to let the run go on");
                drafts.push(settled(text));
                drafts.extend(self.entry(current));
            }
            _ => {
                let is_open = |it: &TaskView<'_>| {
                    matches!(it.status, TaskStatus::InProgress | TaskStatus::Ready)
                };
                let open = self.active.unfinished_in(current).filter(is_open);
                if let Some(next) = open.min_by_key(|it| nearness(it.status)) {
                    drafts.extend(self.explain(&next, next.planned.id.as_str()));
                }
            }
        }
        drafts
    }

    /// What a person has to do before the task can go on.
    fn person(&self, view: &TaskView<'_>, who: &str) -> Vec<Draft> {
        let id = &view.planned.id;
        let Some(trail) = view.trail else { return Vec::new() };
        let mut drafts = Vec::new();
        if !trail.asked.is_empty() {
            let entries = self.asked(id, trail.asked.iter());
            let text = match trail.asked.len() {
                1 => format!("a question of the agent at {who} waits in the inbox"),
                count => format!("{count} questions of the agent at {who} wait in the inbox"),
            };
            let mut text = text.replace("the agent at it ", "its agent ");
            if !entries.is_empty() {
                let names: Vec<&str> = entries.iter().map(|id| id.as_str()).collect();
                let _infallible = write!(text, " as {}", some_of(&names));
            }
            let next = match entries.as_slice() {
                [entry] => NextStep::ShowEntry { id: (*entry).clone() },
                _ => NextStep::ShowInbox,
            };
            drafts.push(Draft::new(text).about(id, &["agent_asked"]).next(next));
        }
        if let Some(name) = &trail.taken_by {
            let text = format!("{name} has the conversation of {id} open");
            let next = NextStep::OpenTask { id: id.clone() };
            drafts.push(Draft::new(text).about(id, &["task_taken"]).next(next));
        }
        drafts
    }

    /// The entries under which the questions of a task's agent wait.
    fn asked<'k>(&self, id: &TaskId, keys: impl Iterator<Item = &'k String>) -> Vec<&'a EntryId> {
        let topic = |key: &String| RunTopic::Task { id: id.clone(), key: key.clone() };
        keys.filter_map(|key| self.entry_about(topic(key))).collect()
    }

    /// The entry in which the run asks about this.
    fn entry_about(&self, topic: RunTopic) -> Option<&'a EntryId> {
        self.around.inbox.get(&Subject::of(&run_stream(), &topic.into()))
    }

    /// The question about a phase that waits for a person.
    fn entry(&self, phase: u32) -> Option<Draft> {
        let entry = self.around.inbox.get(&phase_subject(phase))?;
        let draft = Draft::new(format!("{entry} in the inbox asks about phase {phase}"));
        let about = Some(About::Entry(entry.clone()));
        Some(Draft { about, ..draft }.next(NextStep::ShowEntry { id: entry.clone() }))
    }

    /// How one task depends on another.
    fn hop(&self, from: &TaskView<'_>, to: &TaskView<'_>, who: &str, how: &str) -> String {
        let id = &to.planned.id;
        match from.planned.depends {
            Depends::On(_) => format!("{who} depends on {id}, which {how}"),
            Depends::PhaseBefore => {
                format!("{who} depends on all of phase {}, and {id} {how}", to.planned.phase)
            }
        }
    }

    /// What a task depends on: what its file names, else what is not completed of the phase before.
    fn wanted(&self, view: &TaskView<'_>) -> Vec<TaskView<'a>> {
        match &view.planned.depends {
            Depends::On(ids) => ids.iter().filter_map(|id| self.active.task(id)).collect(),
            Depends::PhaseBefore => {
                let phases = &self.active.plan().phases;
                let Some((before, _)) = phases.range(..view.planned.phase).next_back() else {
                    return Vec::new();
                };
                self.active.unfinished_in(*before).collect()
            }
        }
    }
}

/// How close a task is to being done: what is at work first, what waits for others last.
fn nearness(status: TaskStatus) -> u8 {
    match status {
        TaskStatus::InProgress => 0,
        TaskStatus::Ready => 1,
        _ => 2,
    }
}

fn completed(view: &TaskView<'_>, who: &str) -> Draft {
    let id = &view.planned.id;
    let evidence = view.evidence.map_or_else(String::new, |it| format!(": {it}"));
    let commit = view.commit.map(|it| it.get(..7).unwrap_or(it));
    let joined = commit.map_or_else(String::new, |it| format!(", joined by {it}"));
    let draft = Draft::new(format!("{who} is completed{evidence}{joined}"));
    let draft = draft.about(id, &["task_completed"]);
    match commit {
        Some(_) => draft.next(NextStep::ShowChanges { id: id.clone() }),
        None => draft,
    }
}

fn failed(view: &TaskView<'_>, who: &str) -> Draft {
    let id = &view.planned.id;
    let reason = view.reason.map_or_else(String::new, |it| format!(" ({it})"));
    let tail = view.last_failure.map_or_else(String::new, |it| format!(": {}", it.text));
    Draft::new(format!("{who} failed{reason}{tail}"))
        .about(id, &["task_failed"])
        .next(NextStep::RetryTask { id: id.clone() })
}

fn engine_gone() -> Draft {
    Draft::new("the run's engine is gone").next(NextStep::ResumeRun)
}

fn and_more(count: usize) -> Option<Draft> {
    let more = count.saturating_sub(REASONS_MAX);
    (more > 0).then(|| Draft::new(format!("and {more} more")))
}

fn dollars(cents: u64) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Names a few, and counts the others.
fn some_of(names: &[&str]) -> String {
    let shown = names[..names.len().min(REASONS_MAX)].join(", ");
    match names.len().saturating_sub(REASONS_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn files<'a>(view: &TaskView<'a>) -> &'a [String] {
    view.planned.details.as_deref().map_or(&[], |details| &details.files)
}
