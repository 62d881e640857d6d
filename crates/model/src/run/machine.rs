//! The run's rules: when a task may start, what its end leads to, and how phases follow each other.
//!
//! `ready` and `blocked` follow from the graph and are never set. How a run begins and changes its
//! plan is in `planning`, how phases follow each other in `phases`.

use crate::{
    actor::Actor,
    answer::{Answer, Consequence, OutsideFacts},
    code::Code,
    evidence::Evidence,
    id::TaskId,
    image::{Codec, Image, TakenParts},
    inbox::Topic,
    machine::{Asked, Decision, Effect, Machine, Rejected},
    next::NextStep,
    permission::Grant,
    retry::{Outlook, Policy, Scope},
    run::{
        Active, Command, Depends, EndStep, Event, FailReason, Failure, Isolation, LastFailure,
        Mode, PhaseStage, Progress, Run, TaskStatus, TaskView, notices,
        planning::{adopt, begin, begin_new, completed_event},
        remembered,
        state::{Completion, Core, Stage, Task},
    },
    time::Time,
};

/// Where to look when there is nothing to do but to look.
pub(super) const STATUS: NextStep = NextStep::ShowRun;

impl Machine for Run {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "run";
    const FORMAT: u32 = 4;

    fn start() -> Self {
        Self::default()
    }

    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let decision = match (&self.active, command) {
            (found, Command::Begin { plan, settings }) => begin(found.as_ref(), plan, settings),
            (found, Command::BeginNew { plan, settings, earlier }) => {
                begin_new(found.as_ref(), plan, settings, *earlier)
            }
            (found, Command::Adopt { .. }) => adopt(found.as_ref(), command, asked.by),
            (None, _) => {
                Err(Rejected::rule(Code::NoRun, "no run has begun").next(NextStep::BeginRun))
            }
            (Some(active), _) => active.decide(command, asked),
        }?;
        let active = self.active.iter();
        let settled: Vec<Effect> =
            active.flat_map(|active| active.settled_questions(&decision.events)).collect();
        let notices = notices::of(self.active.as_ref(), &decision.events, asked.now);
        let remembered = remembered::of(self.active.as_ref(), &decision.events, asked.now);
        let remembered = remembered.map(|work| Effect::Remember(Box::new(work)));
        let notices = notices.into_iter().map(Effect::Notify);
        let effects = settled.into_iter().chain(notices).chain(remembered);
        Ok(effects.fold(decision, Decision::with))
    }

    fn apply(&mut self, event: &Event, at: Time) {
        match event {
            Event::Begun { plan, settings } => {
                let core = Core::new(plan.clone(), settings.clone(), at);
                let core = match self.active.take() {
                    Some(before) => before.succeeded(core),
                    None => core,
                };
                self.active = Some(Active::new(core));
            }
            Event::Replanned { plan } => {
                self.active = self.active.take().map(|active| active.replanned(plan.clone()));
            }
            _ => {}
        }
        if let Some(active) = &mut self.active {
            active.core.updated_at = at;
            active.apply(event, at);
        }
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Begun { .. } => "begun",
            Event::Replanned { .. } => "replanned",
            Event::Restored { .. } => "restored",
            Event::Configured { .. } => "configured",
            Event::TaskStarted { .. } => "task_started",
            Event::TaskCompleted { .. } => "task_completed",
            Event::AttemptFailed { .. } => "attempt_failed",
            Event::AttemptInterrupted { .. } => "attempt_interrupted",
            Event::AttemptEngaged { .. } => "attempt_engaged",
            Event::AttemptAccounted { .. } => "attempt_accounted",
            Event::AttemptParked { .. } => "attempt_parked",
            Event::TaskWoken { .. } => "task_woken",
            Event::AgentAsked { .. } => "agent_asked",
            Event::AgentAnswered { .. } => "agent_answered",
            Event::TaskTaken { .. } => "task_taken",
            Event::TaskReturned { .. } => "task_returned",
            Event::TaskFailed { .. } => "task_failed",
            Event::TaskReopened { .. } => "task_reopened",
            Event::PhaseOpened { .. } => "phase_opened",
            Event::PhaseBased { .. } => "phase_based",
            Event::PhaseSettled { .. } => "phase_settled",
            Event::PhaseClosed { .. } => "phase_closed",
        }
    }

    fn follow_up(&self) -> Option<Command> {
        let active = self.active.as_ref()?;
        active.next_phase_step().map(|_| Command::Follow)
    }

    fn answered<F: OutsideFacts>(
        &self,
        answer: &Answer<'_>,
        _facts: &F,
    ) -> Result<Consequence<Command>, F::Error> {
        Ok(self.consequence_of(answer))
    }

    fn holds(&self, topic: &Topic) -> Option<usize> {
        self.held_by(topic)
    }

    fn take_image<C: Codec>(&mut self, all: bool) -> Option<TakenParts> {
        self.active.as_mut().map(|active| active.take_image::<C>(all))
    }

    fn of_image<C: Codec>(image: &Image) -> Option<Self> {
        Some(Self { active: Some(Active::of_image::<C>(image)?) })
    }

    fn size(&self) -> usize {
        self.active.as_ref().map_or(1, |active| active.core.tasks.len())
    }
}

impl Active {
    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let is_ours = matches!(
            command,
            Command::Engage { .. }
                | Command::Account { .. }
                | Command::Park { .. }
                | Command::WakeTask { .. }
                | Command::ReportTrouble { .. }
                | Command::Ask { .. }
        );
        if is_ours && *asked.by != Actor::Waypost {
            return Err(Rejected::rule(
                Code::WaypostOnly,
                "agents are accounted for by Waypost alone",
            )
            .next(STATUS));
        }
        match command {
            Command::Replan { plan, keep_done } => self.replan(plan, *keep_done),
            Command::Rebuild { plan, completed, before } => {
                self.rebuild(plan, (completed, before), asked.by)
            }
            Command::Resume => Ok(self.resume()),
            Command::Configure { settings } if *settings == self.core.settings => {
                Ok(Decision::nothing())
            }
            Command::Configure { settings } => {
                self.keeps_place(settings)?;
                Ok(Decision::events([Event::Configured { settings: settings.clone() }]))
            }
            Command::Start { id } => self.start(id, asked.now),
            Command::Claim { id } => self.claim(id, asked),
            Command::Done { .. } => self.done(command, asked.by),
            Command::Fail { id, attempt, failure } => self.fail(id, *attempt, failure, asked.now),
            Command::Interrupt { id, attempt } => self.give_back(id, *attempt),
            Command::Retry { id } => self.retry(id),
            Command::Skip { id } => self.skip(id),
            Command::Satisfy { id } => self.satisfy(id, asked.by),
            Command::Revert { id } => self.revert(id),
            Command::Engage { id, attempt, conversation } => {
                self.engage(id, *attempt, conversation)
            }
            Command::Account { id, account } => self.account(id, account),
            Command::Park { id, attempt, parked } => self.park(id, *attempt, parked),
            Command::WakeAccount { agent } => self.wake_account(agent, asked.by),
            Command::WakeTask { id } => self.wake_task(id),
            Command::ReportTrouble { trouble, why } => self.report_trouble(*trouble, why),
            Command::WakeTrouble { trouble } => self.wake_trouble(*trouble, asked.by),
            Command::Ask { id, attempt, prompt, question } => {
                self.ask(id, *attempt, prompt, question)
            }
            Command::Answer { id, key, text } => self.answered(id, key, text, asked.by),
            Command::TakeOver { id } => self.take_over(id, asked.by),
            Command::HandBack { id } => self.hand_back(id, asked.by),
            Command::Follow => Ok(self.follow()),
            Command::BasePhase { phase, commit } => self.base_phase(*phase, commit, asked.by),
            Command::JoinAgain => Ok(self.join_again()),
            Command::PhaseJoined { phase, result } => self.joined(*phase, result),
            Command::ApprovePhase { phase } => self.approve(*phase, asked.by),
            Command::Begin { .. } | Command::BeginNew { .. } | Command::Adopt { .. } => {
                Err(Rejected::rule(Code::RunUnfinished, "a run is under way").next(STATUS))
            }
        }
    }

    pub(super) fn find(&self, id: &TaskId) -> Result<TaskView<'_>, Rejected> {
        self.task(id).ok_or_else(|| {
            Rejected::unknown(Code::TaskUnknown, format!("there is no task {id} in this run"))
                .next(STATUS)
        })
    }

    fn resume(&self) -> Decision<Event> {
        let joining = self.join_again();
        let mut decision = self.interrupt();
        decision.events.extend(joining.events);
        Decision { effects: joining.effects, ..decision }
    }

    /// Ends every attempt that is under way, without a result.
    pub(super) fn interrupt(&self) -> Decision<Event> {
        let interrupted = |view: TaskView<'_>| view.planned.id.clone();
        let running = self.running().map(interrupted);
        Decision::events(running.map(|id| Event::AttemptInterrupted { id }))
    }

    pub(super) fn running(&self) -> impl Iterator<Item = TaskView<'_>> {
        self.tasks_with(TaskStatus::InProgress)
    }

    fn start(&self, id: &TaskId, now: Time) -> Result<Decision<Event>, Rejected> {
        let limit = self.core.settings.max_parallel as usize;
        let view = self.find(id)?;
        if view.status == TaskStatus::Ready && limit > 0 && self.graph.running() >= limit {
            return Err(Rejected::rule(
                Code::ParallelLimit,
                format!(
                    "{} tasks are in progress, and max_parallel is {limit}",
                    self.graph.running()
                ),
            )
            .next(STATUS));
        }
        self.started(id, now)
    }

    fn claim(&self, id: &TaskId, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        if *asked.by != Actor::Waypost {
            return Err(Rejected::rule(Code::WaypostOnly, "tasks are claimed by Waypost alone")
                .next(NextStep::StartTask { id: id.clone() }));
        }
        self.started(id, asked.now)
    }

    fn started(&self, id: &TaskId, now: Time) -> Result<Decision<Event>, Rejected> {
        let view = self.find(id)?;
        if view.status != TaskStatus::Ready {
            return Err(self.not_ready(&view));
        }
        if view.waits_for_person() {
            return Err(Rejected::rule(Code::PersonNeeded, format!("{id} waits for a person"))
                .next(NextStep::ExplainTask { id: id.clone() }));
        }
        if self.is_delayed(id, now) {
            let until = view.not_before().unwrap_or(now);
            let seconds = until.since(now).as_secs() + 1;
            return Err(Rejected::rule(
                Code::TaskDelayed,
                format!("{id} waits {seconds} s before its next try"),
            )
            .next(NextStep::RetryTask { id: id.clone() }));
        }
        let attempt = view.attempts + 1;
        Ok(Decision::events([Event::TaskStarted { id: id.clone(), attempt }]))
    }

    /// Says why a task cannot start, and what would have to happen first.
    fn not_ready(&self, view: &TaskView<'_>) -> Rejected {
        let id = &view.planned.id;
        let why = match view.status {
            TaskStatus::InProgress => format!(" (attempt {})", view.attempts),
            TaskStatus::Failed | TaskStatus::Completed => String::new(),
            TaskStatus::Blocked | TaskStatus::Pending | TaskStatus::Ready => {
                let waits = self.waits_for(view);
                if waits.is_empty() { waits } else { format!(": it waits for {waits}") }
            }
        };
        Rejected::rule(Code::TaskStatus, format!("{id} is {}{why}", view.status))
            .next(self.next_for(view))
    }

    /// The step that leads a task on.
    fn next_for(&self, view: &TaskView<'_>) -> NextStep {
        let id = &view.planned.id;
        match view.status {
            TaskStatus::Ready => NextStep::StartTask { id: id.clone() },
            TaskStatus::InProgress => NextStep::CompleteTask { id: id.clone() },
            TaskStatus::Failed => NextStep::RetryTask { id: id.clone() },
            TaskStatus::Blocked => {
                let has_failed =
                    |id: &&TaskId| self.task(id).is_some_and(|it| it.status == TaskStatus::Failed);
                let failed = view.planned.stated().iter().find(has_failed);
                failed.map_or_else(
                    || NextStep::ExplainTask { id: id.clone() },
                    |id| NextStep::RetryTask { id: id.clone() },
                )
            }
            TaskStatus::Pending | TaskStatus::Completed => NextStep::ShowReady,
        }
    }

    /// The dependencies that hold a task, in words; at most five of them.
    pub fn waits_for(&self, view: &TaskView<'_>) -> String {
        const NAMED_MAX: usize = 5;
        let open =
            |id: &&TaskId| self.task(id).is_some_and(|it| it.status != TaskStatus::Completed);
        let named: Vec<String> = view
            .planned
            .stated()
            .iter()
            .filter(open)
            .map(|id| {
                format!("{id} ({})", self.task(id).map_or(TaskStatus::Pending, |it| it.status))
            })
            .collect();
        if named.is_empty() {
            return self.waits_for_phase(view);
        }
        let more = named.len().saturating_sub(NAMED_MAX);
        let list = named[..named.len().min(NAMED_MAX)].join(", ");
        if more > 0 { format!("{list} and {more} more") } else { list }
    }

    /// The phase that holds a task none of whose named dependencies does.
    fn waits_for_phase(&self, view: &TaskView<'_>) -> String {
        let phase = view.planned.phase;
        let before = self.core.phases.range(..phase).next_back();
        let before = before.map(|(number, _)| (*number, self.progress(*number)));
        match before {
            Some((number, Progress { completed, total, .. }))
                if view.planned.depends == Depends::PhaseBefore && completed < total =>
            {
                format!("phase {number} ({completed}/{total} completed)")
            }
            _ if phase != self.core.current_phase => format!("phase {phase}"),
            _ => String::new(),
        }
    }

    fn done(&self, command: &Command, by: &Actor) -> Result<Decision<Event>, Rejected> {
        let Command::Done { id, attempt, evidence, commit } = command else {
            return Err(Rejected::misrouted("end"));
        };
        let view = self.find(id)?;
        fence(&view, *attempt)?;
        self.joins_by_itself(id, by)?;
        let (evidence, commit) = (evidence.clone(), commit.clone());
        let is_joined = commit.is_some() && *by == Actor::Waypost;
        let completed = Event::TaskCompleted { id: id.clone(), evidence, commit };
        match view.status {
            TaskStatus::InProgress => Ok(Decision::events([completed])),
            // Its work is in the branch: whatever was said of it since, that is how it stands.
            status if is_joined && status != TaskStatus::Completed => {
                Ok(Decision::events([completed]))
            }
            // Said twice: the first time counted.
            TaskStatus::Completed => Ok(Decision::nothing()),
            _ => Err(self.not_started(&view)),
        }
    }

    fn fail(
        &self,
        id: &TaskId,
        attempt: Option<u32>,
        failure: &Failure,
        now: Time,
    ) -> Result<Decision<Event>, Rejected> {
        let view = self.find(id)?;
        fence(&view, attempt)?;
        if view.status != TaskStatus::InProgress {
            return Err(self.not_started(&view));
        }
        let (id, text) = (id.clone(), failure.text.clone());
        let give_up = |reason| {
            Decision::events([Event::TaskFailed { id: id.clone(), reason, text: text.clone() }])
        };
        if self.is_same_error(&view, failure) {
            return Ok(give_up(FailReason::SameError));
        }
        Ok(match self.policy().after(view.retries, failure.class, id.as_str()) {
            Outlook::GiveUp if failure.class.is_retryable() => give_up(FailReason::Exhausted),
            Outlook::GiveUp => give_up(FailReason::Hopeless),
            Outlook::Again { delay } => {
                let not_before = now.plus(delay);
                let (signature, resumes) = (failure.signature.clone(), failure.resumes);
                let failed = Event::AttemptFailed { id, text, signature, not_before, resumes };
                Decision::events([failed])
            }
        })
    }

    fn not_started(&self, view: &TaskView<'_>) -> Rejected {
        Rejected::rule(
            Code::TaskStatus,
            format!("{} is {}, not in progress", view.planned.id, view.status),
        )
        .next(self.next_for(view))
    }

    fn policy(&self) -> Policy {
        match self.core.settings.mode {
            // The first pass is not a retry.
            Mode::Ralph => Policy::of(Scope::RalphPass)
                .limit(self.core.settings.max_iterations.saturating_sub(1)),
            Mode::Normal | Mode::UltraThin => {
                Policy::of(Scope::Task).limit(self.core.settings.retry_limit)
            }
        }
    }

    /// Whether the same error came up as often as it may. Only attempts that were told of it count:
    /// the first one could not know.
    fn is_same_error(&self, view: &TaskView<'_>, failure: &Failure) -> bool {
        let limit = self.core.settings.same_error_limit;
        let before = view.last_failure.filter(|last| last.signature == failure.signature);
        let told = before.map_or(0, |last| last.in_a_row);
        limit > 0 && !failure.signature.is_empty() && told >= limit
    }

    fn give_back(&self, id: &TaskId, attempt: Option<u32>) -> Result<Decision<Event>, Rejected> {
        let view = self.find(id)?;
        fence(&view, attempt)?;
        // An attempt that has its result already keeps it.
        let is_running = view.status == TaskStatus::InProgress;
        Ok(Decision::events(is_running.then(|| Event::AttemptInterrupted { id: id.clone() })))
    }

    fn retry(&self, id: &TaskId) -> Result<Decision<Event>, Rejected> {
        let view = self.find(id)?;
        let is_held = view.not_before().is_some() || view.waits_for_person();
        let is_delayed = view.status == TaskStatus::Ready && is_held;
        match view.status {
            TaskStatus::Failed => Ok(Decision::events([Event::TaskReopened { id: id.clone() }])),
            _ if is_delayed => Ok(self.hurry(&view)),
            status => Err(Rejected::rule(
                Code::TaskStatus,
                format!("{id} is {status}; only a failed task is retried"),
            )
            .next(self.next_for(&view))),
        }
    }

    fn skip(&self, id: &TaskId) -> Result<Decision<Event>, Rejected> {
        let view = self.find(id)?;
        match view.status {
            TaskStatus::Completed => {
                Err(Rejected::rule(Code::TaskStatus, format!("{id} is completed"))
                    .next(self.next_for(&view)))
            }
            TaskStatus::InProgress => {
                Err(Rejected::rule(Code::TaskStatus, format!("{id} is in_progress"))
                    .next(NextStep::FailTask { id: id.clone() }))
            }
            _ if view.reason == Some(FailReason::Skipped) => Ok(Decision::nothing()),
            _ => Ok(Decision::events([Event::TaskFailed {
                id: id.clone(),
                reason: FailReason::Skipped,
                text: "skipped".into(),
            }])),
        }
    }

    fn satisfy(&self, id: &TaskId, by: &Actor) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("counting a task as completed"));
        }
        let view = self.find(id)?;
        if view.status == TaskStatus::Completed {
            return Ok(Decision::nothing());
        }
        Ok(Decision::events([completed_event(id, Evidence::Forced)]))
    }

    fn revert(&self, id: &TaskId) -> Result<Decision<Event>, Rejected> {
        let view = self.find(id)?;
        match view.status {
            TaskStatus::Completed => Ok(Decision::events([Event::TaskFailed {
                id: id.clone(),
                reason: FailReason::Reverted,
                text: "its work was taken out again".into(),
            }])),
            _ if view.reason == Some(FailReason::Reverted) => Ok(Decision::nothing()),
            status => {
                let message = format!("{id} is {status}; only a completed task is reverted");
                Err(Rejected::rule(Code::TaskStatus, message).next(self.next_for(&view)))
            }
        }
    }

    fn apply(&mut self, event: &Event, at: Time) {
        match event {
            Event::Configured { settings } => self.core.settings = settings.clone(),
            Event::PhaseBased { phase, commit } => {
                self.core.bases.insert(*phase, commit.clone());
            }
            Event::PhaseOpened { phase } => {
                self.core.current_phase = *phase;
                let since = self.phase(*phase).map_or(at, |stage| stage.since(at));
                self.core.phases.insert(*phase, PhaseStage::Open { since });
            }
            Event::PhaseSettled { phase, step, merge_commit } => {
                let since = self.phase(*phase).map_or(at, |stage| stage.since(at));
                if *step == EndStep::Approval {
                    // Should it be opened again, it begins with what was merged since.
                    self.core.bases.remove(phase);
                }
                let (step, merge_commit) = (*step, merge_commit.clone());
                self.core.phases.insert(*phase, PhaseStage::Ending { since, step, merge_commit });
            }
            Event::PhaseClosed { phase, merge_commit } => {
                let since = self.phase(*phase).map_or(at, |stage| stage.since(at));
                let merge_commit = merge_commit.clone();
                self.core.bases.remove(phase);
                let closed =
                    PhaseStage::Closed { since, at, merge_commit, merged_elsewhere: false };
                self.core.phases.insert(*phase, closed);
            }
            Event::Restored { before } => self.core.restore(before),
            Event::Begun { .. } | Event::Replanned { .. } => {}
            Event::TaskStarted { id, .. }
            | Event::TaskCompleted { id, .. }
            | Event::AttemptFailed { id, .. }
            | Event::AttemptInterrupted { id }
            | Event::TaskFailed { id, .. }
            | Event::TaskReopened { id }
            | Event::AttemptEngaged { id, .. }
            | Event::AttemptAccounted { id, .. }
            | Event::AttemptParked { id, .. }
            | Event::TaskWoken { id }
            | Event::AgentAsked { id, .. }
            | Event::AgentAnswered { id, .. }
            | Event::TaskTaken { id, .. }
            | Event::TaskReturned { id } => self.apply_to_task(id, event, at),
        }
        if matches!(
            event,
            Event::PhaseOpened { .. }
                | Event::PhaseSettled { .. }
                | Event::PhaseClosed { .. }
                | Event::Restored { .. }
        ) {
            let is_open = self.core.current_is_open();
            self.graph.set_current(self.core.current_phase, is_open);
        }
    }

    fn apply_to_task(&mut self, id: &TaskId, event: &Event, at: Time) {
        let Some(position) = self.graph.position(id) else { return };
        if let Event::AttemptAccounted { account, .. } = event {
            self.core.usage.add(&account.usage);
        }
        if let Event::AgentAnswered { key, text, .. } = event
            && matches!(Grant::from_word(text), Some(Grant::Run | Grant::Project))
        {
            self.core.permits.extend(self.core.tasks[position].permit(key).cloned());
        }
        let is_apart = self.core.settings.isolation == Isolation::Task;
        let Some(task) = self.core.tasks.get_mut(position) else { return };
        task.note_agents(event);
        let spent = match task.stage {
            Stage::Running { since } => u64::try_from(at.since(since).as_millis()).unwrap_or(0),
            _ => 0,
        };
        match event {
            Event::TaskStarted { attempt, .. } => {
                task.stage = Stage::Running { since: at };
                task.attempts = *attempt;
                if is_apart && !task.has_open_conversation() {
                    task.tree = *attempt;
                }
            }
            Event::TaskCompleted { evidence, commit, .. } => {
                let (evidence, commit) = (evidence.clone(), commit.as_deref().map(Box::from));
                task.stage = Stage::Completed(Box::new(Completion { evidence, commit }));
                task.last_failure = None;
            }
            Event::AttemptFailed { text, signature, not_before, .. } => {
                task.retries += 1;
                task.note_failure(text, signature, *not_before);
                task.stage = Stage::Open;
            }
            Event::AttemptInterrupted { .. } | Event::AttemptParked { .. } => {
                task.stage = Stage::Open;
            }
            Event::TaskFailed { reason, text, .. } => {
                task.note_failure(text, "", at);
                task.stage = Stage::Failed { reason: *reason };
            }
            Event::TaskReopened { .. } => {
                task.retries = 0;
                // The next attempt is told of it, and neither waits for it nor counts from it.
                if let Some(last) = &mut task.last_failure {
                    (last.not_before, last.in_a_row) = (at, 0);
                    last.signature.clear();
                }
                task.stage = Stage::Open;
            }
            _ => return,
        }
        task.spent_ms += spent;
        let standing = task.stage.standing();
        self.graph.set(position, standing);
    }
}

impl Task {
    fn note_failure(&mut self, text: &str, signature: &str, not_before: Time) {
        let before = self.last_failure.take().filter(|last| last.signature == signature);
        self.last_failure = Some(Box::new(LastFailure {
            text: text.to_owned(),
            signature: signature.to_owned(),
            in_a_row: before.map_or(0, |last| last.in_a_row) + 1,
            not_before,
            attempt: self.attempts,
        }));
    }
}

/// Refuses a caller that speaks for an attempt that is not the current one.
pub(super) fn fence(view: &TaskView<'_>, attempt: Option<u32>) -> Result<(), Rejected> {
    match attempt {
        Some(given) if given != view.attempts => Err(Rejected::fenced(format!(
            "attempt {given} of {} is not the current one, which is {}",
            view.planned.id, view.attempts
        ))),
        _ => Ok(()),
    }
}
