//! The memory's rules: which command is legal when, and what it leads to.
//!
//! What can be done with a task is in `tasks`, with a step in `steps`; here is all else.

use super::{
    apply::apply,
    history::History,
    state::{KeptTask, Memory, NUMBER_MAX, day_and_number},
    topic::{MemoryTopic, consequence_of},
    words::{Command, Event, StepAct, TaskDraft},
};
use crate::{
    answer::{Answer, Consequence, OutsideFacts},
    code::Code,
    diagnostic::Severity,
    document::{
        Document as _, MemoryTaskId,
        memory::{MemoryTask, MemoryTaskStatus, TaskHistory, TaskPlan, TaskState},
    },
    inbox::Topic,
    machine::{Asked, Decision, Machine, Rejected},
    memory::FinishedWork,
    next::NextStep,
    time::Time,
};
use std::time::Duration;

/// So many tasks wait at most.
const PENDING_MAX: usize = 1_000;

/// How far the clock of an agent that chooses ids may be from ours.
const OTHER_DAYS: Duration = Duration::from_secs(24 * 3_600);

impl Machine for Memory {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "memory";
    const FORMAT: u32 = 1;

    fn start() -> Self {
        Self::default()
    }

    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        match command {
            Command::Open if self.is_open => Ok(Decision::nothing()),
            Command::Open => Ok(Decision::events([Event::Opened])),
            Command::TakeOver { state, history } => self.take_over(state, history),
            Command::Restore { state, history } => {
                if !asked.by.is_person() {
                    return Err(Rejected::reserved("restoring the memory from a backup"));
                }
                let (state, history) = (state.clone(), history.clone());
                Ok(self.forget_questions(Decision::events([Event::Restored { state, history }])))
            }
            Command::NewTask { draft } => self.make_task(draft, asked.now),
            Command::Task { id, act } => self.act_on_task(id.as_ref(), act, asked),
            Command::AddStep { task, draft } => self.add_step(task.as_ref(), draft),
            Command::Step { task, step, act } => self.act_on_step(task.as_ref(), *step, act, asked),
            Command::Record { work } => Ok(self.record(work, asked.now)),
            Command::Note { text, .. } if text.trim().is_empty() => {
                Err(Rejected::rule(Code::NameMissing, "a note needs a text"))
            }
            Command::Note { kind, text, commit, files } => {
                let id = format!("n{}", self.notes_made + 1);
                let (text, commit, files) = (text.trim().to_owned(), commit.clone(), files.clone());
                Ok(Decision::events([Event::Noted { id, kind: *kind, text, commit, files }]))
            }
            Command::NoteDocument { file, hash } => {
                let is_known = self.documents.get(file) == Some(hash);
                let (file, hash) = (file.clone(), hash.clone());
                let noted = (!is_known).then_some(Event::DocumentNoted { file, hash });
                Ok(Decision::events(noted))
            }
            Command::Prune => {
                let pruned = self.history.has_excess(asked.now).then_some(Event::Pruned);
                Ok(Decision::events(pruned))
            }
            Command::Mend => {
                let ended = self.contradictions().cloned();
                Ok(Decision::events(ended.map(|id| Event::TaskDropped { id })))
            }
        }
    }

    fn apply(&mut self, event: &Event, at: Time) {
        apply(self, event, at);
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Opened => "opened",
            Event::TakenOver { .. } => "taken_over",
            Event::Restored { .. } => "restored",
            Event::TaskMade { .. } => "task_made",
            Event::TaskStarted { .. } => "task_started",
            Event::TaskPaused { .. } => "task_paused",
            Event::TaskResumed { .. } => "task_resumed",
            Event::TaskFailed { .. } => "task_failed",
            Event::TaskRecovered { .. } => "task_recovered",
            Event::TaskAmended { .. } => "task_amended",
            Event::TaskEnded { .. } => "task_ended",
            Event::ReplanCalled { .. } => "replan_called",
            Event::Replanned { .. } => "replanned",
            Event::StepAdded { .. } => "step_added",
            Event::StepChanged { .. } => "step_changed",
            Event::StepRemoved { .. } => "step_removed",
            Event::StepStarted { .. } => "step_started",
            Event::StepCompleted { .. } => "step_completed",
            Event::OutputSet { .. } => "output_set",
            Event::StepFailed { .. } => "step_failed",
            Event::StepRetried { .. } => "step_retried",
            Event::StepEscalated { .. } => "step_escalated",
            Event::Recorded { .. } => "recorded",
            Event::Noted { .. } => "noted",
            Event::DocumentNoted { .. } => "document_noted",
            Event::Pruned => "pruned",
            Event::TaskDropped { .. } => "task_dropped",
        }
    }

    fn answered<F: OutsideFacts>(
        &self,
        answer: &Answer<'_>,
        _facts: &F,
    ) -> Result<Consequence<Command>, F::Error> {
        Ok(consequence_of(self, answer))
    }

    fn due(&self, topic: &Topic) -> Option<Command> {
        let MemoryTopic::Step { task, step } = MemoryTopic::read(topic)?;
        Some(Command::Step { task: Some(task), step, act: StepAct::Overdue })
    }

    fn size(&self) -> usize {
        let steps = self.tasks().map(|kept| kept.task.plan.steps.len() + 1).sum::<usize>();
        1 + steps + self.history.entries.len() + self.notes.len()
    }
}

impl Memory {
    /// The task that is meant, which has not ended.
    pub fn find(&self, id: Option<&MemoryTaskId>) -> Result<&KeptTask, Rejected> {
        let Some(id) = id else {
            return self.current.as_ref().ok_or_else(|| {
                Rejected::rule(Code::NoCurrentTask, "there is no current task")
                    .next(NextStep::NewMemoryTask)
            });
        };
        self.task(id).ok_or_else(|| match self.history.entry(id) {
            Some(entry) => {
                let message = format!("{id} has ended: {}", entry.result.as_str());
                Rejected::rule(Code::TaskStatus, message).next(NextStep::ShowMemory)
            }
            None => Rejected::unknown(Code::TaskUnknown, format!("there is no task {id}"))
                .next(NextStep::ShowMemory),
        })
    }

    /// What files say that were found: only where nothing is remembered that they would replace.
    fn take_over(
        &self,
        state: &TaskState,
        history: &TaskHistory,
    ) -> Result<Decision<Event>, Rejected> {
        if self.is_open || self.current.is_some() {
            let message = "the memory is in the journal already";
            return Err(Rejected::rule(Code::JournalExists, message).next(NextStep::ShowMemory));
        }
        let findings = state.check().into_iter().chain(history.check());
        let wrong =
            findings.filter(|it| it.severity == Severity::Error).map(|it| it.message).next();
        if let Some(wrong) = wrong {
            return Err(Rejected::rule(Code::EditRefused, wrong));
        }
        let (state, history) = (Box::new(state.clone()), Box::new(history.clone()));
        Ok(Decision::events([Event::TakenOver { state, history }]))
    }

    fn make_task(&self, draft: &TaskDraft, now: Time) -> Result<Decision<Event>, Rejected> {
        if draft.name.trim().is_empty() {
            return Err(Rejected::rule(Code::NameMissing, "a task needs a name"));
        }
        if self.pending.len() >= PENDING_MAX {
            let message = format!("{PENDING_MAX} tasks wait already");
            return Err(Rejected::rule(Code::CurrentTaskFirst, message).next(NextStep::ShowMemory));
        }
        let id = match &draft.id {
            Some(id) => self.fitting(id, now)?,
            None => self.next_id(now),
        };
        let plan = TaskPlan {
            goal: draft.goal.clone(),
            success_criteria: draft.success_criteria.clone(),
            ..TaskPlan::default()
        };
        let orchestrator = draft.orchestrator.clone();
        let task = MemoryTask {
            id: id.clone(),
            name: draft.name.trim().to_owned(),
            status: MemoryTaskStatus::Pending,
            started_at: Some(now.into()),
            updated_at: Some(now.into()),
            orchestrator: orchestrator.unwrap_or_else(|| "orchestrator".to_owned()),
            plan,
            context: draft.context.clone(),
            artifacts: Vec::new(),
            issues: Vec::new(),
        };
        Ok(Decision::events([Event::TaskMade { id, task: Box::new(task) }]))
    }

    /// An id that an agent has chosen: of these days, and not given out before.
    fn fitting(&self, id: &MemoryTaskId, now: Time) -> Result<MemoryTaskId, Rejected> {
        let refused =
            |why: String| Err(Rejected::rule(Code::IdTaken, why).next(NextStep::NewMemoryTask));
        let Some((day, number)) = day_and_number(id) else {
            return refused(format!("{id} is no id of a task"));
        };
        let is_near = day.since(now.day()).max(now.day().since(day)) <= OTHER_DAYS;
        let next = self.next_id(now);
        if !is_near || number > NUMBER_MAX {
            return refused(format!("{id} is none of today's ids; the next one is {next}"));
        }
        let is_used = self.numbers.get(&day).is_some_and(|highest| number <= *highest);
        if is_used || self.task(id).is_some() || self.history.entry(id).is_some() {
            return refused(format!("{id} was used before; the next one is {next}"));
        }
        Ok(id.clone())
    }

    /// What another machine has finished, as an entry; under the id that it had before, if any.
    fn record(&self, work: &FinishedWork, now: Time) -> Decision<Event> {
        let known = self.history.sources.get(&work.source);
        let id = known.cloned().unwrap_or_else(|| self.next_id(now));
        let entry = work.entry(id.clone());
        if known.and_then(|id| self.history.entry(id)) == Some(&entry) {
            return Decision::nothing();
        }
        let (source, entry) = (work.source.clone(), Box::new(entry));
        Decision::events([Event::Recorded { id, source, entry }])
    }

    /// Adds that what was asked about steps needs no answer any more.
    fn forget_questions(&self, decision: Decision<Event>) -> Decision<Event> {
        self.tasks().flat_map(KeptTask::settled).fold(decision, Decision::with)
    }
}

impl Memory {
    /// The state that files describe, each task as it stands there.
    pub(super) fn of_files(state: &TaskState, history: &TaskHistory) -> Self {
        let mut memory = Self { history: History::of(history), ..Self::default() };
        memory.replace_tasks(state);
        history.tasks.iter().for_each(|entry| memory.count_id(&entry.id));
        memory
    }

    /// Puts the tasks of a file in the place of those that are.
    pub(super) fn replace_tasks(&mut self, state: &TaskState) {
        let kept = |task: &MemoryTask| {
            let is_started = task.status != MemoryTaskStatus::Pending;
            let started = match task.started_at {
                Some(crate::time::Stamp::At(at)) if is_started => Some(at),
                _ => None,
            };
            KeptTask::new(task.clone(), started)
        };
        let mut all = state.current_task.iter().chain(&state.pending_tasks).map(kept);
        self.current = all.next();
        self.pending = all.collect();
        if let Some(crate::time::Stamp::At(at)) = state.last_updated {
            self.updated_at = at;
        }
        let ids: Vec<MemoryTaskId> = self.tasks().map(|kept| kept.task.id.clone()).collect();
        ids.iter().for_each(|id| self.count_id(id));
    }
}
