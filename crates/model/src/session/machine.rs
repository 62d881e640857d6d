//! The session's rules: which command is legal when, and what it leads to.
//!
//! What a plan leads to is in `planning`, what a gate leads to in `judging`; here is all else.

use super::{
    apply::apply,
    call::Call,
    state::{RequestState, Session, SessionFacts},
    topic::{Hold, consequence_of},
    words::{Command, Event, Lead, MissingContract, Named, ProjectFacts},
};
use crate::{
    actor::Actor,
    answer::{Answer, Consequence, OutsideFacts},
    code::Code,
    document::{
        RequestId, SessionTaskId,
        memory::TaskResult,
        session::{GlobalPhase, Manifest, SessionStatus, Status, SubtaskPhase},
    },
    inbox::{Question, QuestionKind, Topic},
    machine::{Asked, Decision, Effect, Machine, Rejected},
    next::NextStep,
    retry::{FailureClass, Outlook, Policy, Scope},
    time::Time,
};

/// A request is a text of a person's; what is longer belongs into a file that it names.
const REQUEST_BYTES_MAX: usize = 64 << 10;

impl Machine for Session {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "session";
    const FORMAT: u32 = 2;

    fn start() -> Self {
        Self::default()
    }

    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        match command {
            Command::Start { project, manifest } => self.begin(project, manifest),
            Command::TakeOver { session, state, base } => {
                self.take_over(session, state.as_deref(), base.as_ref(), asked.by)
            }
            Command::Request { text, stop_current, above } => {
                self.make_request(text, (*stop_current, *above), asked)
            }
            Command::Plan { draft } => self.plan(draft, asked),
            Command::Design { task, contract, base } => self.design(task, contract, base.as_ref()),
            Command::Judge { subtask, finding, look, base } => {
                self.judge((subtask, look), finding, base.as_ref(), asked)
            }
            Command::Override { subtask, gate, reason, work, base } => {
                let passed = (reason.as_str(), work.as_ref());
                self.override_gate((subtask, *gate), passed, base.as_ref(), asked)
            }
            Command::SetApart { target } => self.set_apart(target),
            Command::PlaceTask { task, base } => self.place_task(task, base),
            Command::JoinTask { task, result } => self.join_task(task, result),
            Command::Land { result } => self.land(result),
            Command::CloseTrees => self.close_trees(),
            Command::FailCall { call, why } => self.fail_call(call, why, asked.now),
            Command::EndCall { call } => self.end_call(call),
            Command::Retry { hold } => self.retry(hold, asked.by),
            Command::Resume { missing } => self.resume(missing),
            Command::GoOn => Ok(self.go_on(asked.now)),
            Command::Rename { what, name } => self.rename(what, name),
            Command::Amend { name, manifest } => self.amend(name.as_ref(), manifest.as_ref()),
            Command::Relocate { project } => self.relocate(project),
            Command::Stop => self.stop(asked.now),
            Command::Complete => self.complete(),
        }
    }

    fn apply(&mut self, event: &Event, at: Time) {
        apply(self, event, at);
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Started { .. } => "started",
            Event::TakenOver { .. } => "taken_over",
            Event::Amended { .. } => "amended",
            Event::Relocated { .. } => "relocated",
            Event::Stopped => "stopped",
            Event::Completed => "completed",
            Event::Resumed => "resumed",
            Event::RequestMade { .. } => "request_made",
            Event::RequestStopped { .. } => "request_stopped",
            Event::RequestCompleted { .. } => "request_completed",
            Event::PlanSentBack { .. } => "plan_sent_back",
            Event::Planned { .. } => "planned",
            Event::DiscoveryReopened { .. } => "discovery_reopened",
            Event::TaskBegun { .. } => "task_begun",
            Event::Designed { .. } => "designed",
            Event::DesignReopened { .. } => "design_reopened",
            Event::DesignLost { .. } => "design_lost",
            Event::TaskCompleted { .. } => "task_completed",
            Event::SubtaskBegun { .. } => "subtask_begun",
            Event::SubtaskResumed { .. } => "subtask_resumed",
            Event::TestsLost { .. } => "tests_lost",
            Event::PhaseMoved { .. } => "phase_moved",
            Event::SubtaskCompleted { .. } => "subtask_completed",
            Event::GatePassed { .. } => "gate_passed",
            Event::GateOverridden { .. } => "gate_overridden",
            Event::GateFailed { .. } => "gate_failed",
            Event::GateLeftOpen { .. } => "gate_left_open",
            Event::SetApart { .. } => "set_apart",
            Event::TaskPlaced { .. } => "task_placed",
            Event::TaskJoined { .. } => "task_joined",
            Event::RequestLanded { .. } => "request_landed",
            Event::TreesClosed { .. } => "trees_closed",
            Event::CallFailed { .. } => "call_failed",
            Event::CallEnded { .. } => "call_ended",
            Event::Escalated { .. } => "escalated",
            Event::Retried { .. } => "retried",
            Event::Renamed { .. } => "renamed",
        }
    }

    fn follow_up(&self) -> Option<Command> {
        let request = self.active_request()?;
        let is_over = match request.current() {
            // Its work is joined first.
            Some((_, task)) => task.is_done() && task.open_tree().is_none(),
            // The last of them are merged first.
            None => {
                let goes_on = request.is_any_open() || !request.is_unmerged();
                request.phase == GlobalPhase::TaskLoop && goes_on
            }
        };
        is_over.then_some(Command::GoOn)
    }

    fn answered<F: OutsideFacts>(
        &self,
        answer: &Answer<'_>,
        _facts: &F,
    ) -> Result<Consequence<Command>, F::Error> {
        Ok(consequence_of(self, answer))
    }

    fn holds(&self, topic: &Topic) -> Option<usize> {
        let request = self.active_request()?;
        request.held(&Hold::read(topic)?)?;
        let open = request.tasks.values().filter(|task| task.status != Status::Completed);
        Some(open.count().max(1))
    }

    fn size(&self) -> usize {
        let tasks = self.request.iter().flat_map(|request| request.tasks.values());
        1 + tasks.map(|task| 1 + 2 * task.subtasks.len()).sum::<usize>()
    }
}

impl Session {
    /// The session that goes on.
    pub(super) fn active(&self) -> Result<&SessionFacts, Rejected> {
        match &self.facts {
            Some(facts) if facts.status == SessionStatus::Active => Ok(facts),
            Some(facts) => {
                let word =
                    if facts.status == SessionStatus::Stopped { "stopped" } else { "completed" };
                let step = match facts.status {
                    SessionStatus::Stopped => NextStep::ResumeSession,
                    _ => NextStep::StartSession,
                };
                Err(Rejected::rule(Code::NoSession, format!("the session is {word}")).next(step))
            }
            None => Err(Rejected::rule(Code::NoSession, "no session has begun")
                .next(NextStep::StartSession)),
        }
    }

    /// The request that is worked on.
    pub fn find_request(&self) -> Result<&RequestState, Rejected> {
        self.active()?;
        self.active_request().ok_or_else(|| {
            let message = match &self.request {
                Some(request) if request.status == SessionStatus::Completed => {
                    format!("{} is complete", request.id)
                }
                Some(request) => format!("{} is stopped", request.id),
                None => "nothing was requested yet".to_owned(),
            };
            Rejected::rule(Code::NoRequest, message).next(NextStep::RequestWork)
        })
    }

    /// The task of this id.
    pub(super) fn find_task<'a>(
        request: &'a RequestState,
        id: &SessionTaskId,
    ) -> Result<&'a super::SessionTaskState, Rejected> {
        request.tasks.get(id).ok_or_else(|| {
            let message = format!("{} has no task {id}", request.id);
            Rejected::unknown(Code::TaskUnknown, message).next(NextStep::ShowSession)
        })
    }

    fn begin(
        &self,
        project: &ProjectFacts,
        manifest: &Manifest,
    ) -> Result<Decision<Event>, Rejected> {
        if self.is_active() {
            self.is_here(project)?;
            return self.amend(None, Some(manifest));
        }
        let (number, project) = (self.sessions + 1, project.clone());
        Ok(Decision::events([Event::Started { number, project, manifest: manifest.clone() }]))
    }

    /// Whether the project is where the session knows it to be.
    pub fn is_here(&self, project: &ProjectFacts) -> Result<(), Rejected> {
        match &self.facts {
            Some(facts) if facts.project.hash != project.hash => {
                let message = format!("the session belongs to {}", facts.project.path);
                Err(Rejected::rule(Code::SessionMoved, message).next(NextStep::RelocateSession))
            }
            _ => Ok(()),
        }
    }

    fn make_request(
        &self,
        text: &str,
        (stop_current, above): (bool, u32),
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        self.active()?;
        let text = text.trim();
        if text.is_empty() {
            return Err(Rejected::rule(Code::NameMissing, "a request needs a text"));
        }
        if text.len() > REQUEST_BYTES_MAX {
            let message = format!(
                "a request has at most {REQUEST_BYTES_MAX} bytes, and this one has {}; put what is long into a file \
                 of the project and name it",
                text.len()
            );
            return Err(Rejected::unknown(Code::RequestTooLong, message));
        }
        let mut decision = match self.active_request() {
            Some(request) if !stop_current => {
                let message = format!("{} is active; there is one request at a time", request.id);
                return Err(Rejected::rule(Code::RequestActive, message)
                    .next(NextStep::NextOfSession)
                    .next(NextStep::RequestInstead));
            }
            Some(request) => self.stop_request(request, asked.now),
            None => Decision::nothing(),
        };
        let number = self.requests.max(above).saturating_add(1);
        let request: RequestId = format!("R{number}")
            .parse()
            .map_err(|_| Rejected::rule(Code::IdTaken, "no number for a request is left"))?;
        decision.events.push(Event::RequestMade { request, text: text.to_owned() });
        Ok(decision)
    }

    /// Ends a request before everything is done.
    fn stop_request(&self, request: &RequestState, now: Time) -> Decision<Event> {
        let is_any_done = request.tasks.values().any(|task| task.status == Status::Completed);
        let result = if is_any_done { TaskResult::Partial } else { TaskResult::Cancelled };
        let stopped = Event::RequestStopped { request: request.id.clone() };
        let stopped = request.held.iter().fold(Decision::events([stopped]), |decision, held| {
            decision.with(Effect::Settle { topic: held.hold.topic() })
        });
        stopped.with(self.remembered(request, result, now))
    }

    fn stop(&self, now: Time) -> Result<Decision<Event>, Rejected> {
        match &self.facts {
            Some(facts) if facts.status == SessionStatus::Stopped => Ok(Decision::nothing()),
            _ => {
                self.active()?;
                let mut decision = self
                    .active_request()
                    .map_or_else(Decision::nothing, |request| self.stop_request(request, now));
                decision.events.push(Event::Stopped);
                Ok(decision)
            }
        }
    }

    fn complete(&self) -> Result<Decision<Event>, Rejected> {
        match &self.facts {
            Some(facts) if facts.status == SessionStatus::Completed => Ok(Decision::nothing()),
            _ => {
                self.active()?;
                if let Some(request) = self.active_request() {
                    let message = format!("{} is not complete", request.id);
                    return Err(Rejected::rule(Code::RequestActive, message)
                        .next(NextStep::NextOfSession)
                        .next(NextStep::StopSession));
                }
                Ok(Decision::events([Event::Completed]))
            }
        }
    }

    /// A session that was stopped goes on; what lacks a contract goes back.
    fn resume(&self, missing: &[MissingContract]) -> Result<Decision<Event>, Rejected> {
        let Some(facts) = &self.facts else {
            return Err(Rejected::rule(Code::NothingToResume, "no session has begun")
                .next(NextStep::StartSession));
        };
        let mut events = Vec::new();
        match facts.status {
            SessionStatus::Active => {}
            SessionStatus::Stopped => events.push(Event::Resumed),
            SessionStatus::Completed => {
                let message = "the session is completed";
                return Err(
                    Rejected::rule(Code::NothingToResume, message).next(NextStep::StartSession)
                );
            }
        }
        let goes_on = |request: &&RequestState| request.status != SessionStatus::Completed;
        if let Some(request) = self.request.as_ref().filter(goes_on) {
            events.extend(stepped_back(request, missing));
        }
        Ok(Decision::events(events))
    }

    fn relocate(&self, project: &ProjectFacts) -> Result<Decision<Event>, Rejected> {
        let Some(facts) = &self.facts else {
            return Err(Rejected::rule(Code::NoSession, "no session has begun")
                .next(NextStep::StartSession));
        };
        let is_new = facts.project != *project;
        Ok(Decision::events(is_new.then(|| Event::Relocated { project: project.clone() })))
    }

    fn amend(
        &self,
        name: Option<&String>,
        manifest: Option<&Manifest>,
    ) -> Result<Decision<Event>, Rejected> {
        let Some(facts) = &self.facts else {
            return Err(Rejected::rule(Code::NoSession, "no session has begun")
                .next(NextStep::StartSession));
        };
        if name.is_some_and(|name| name.trim().is_empty()) {
            return Err(Rejected::rule(Code::NameMissing, "a project needs a name"));
        }
        let name = name.filter(|name| facts.project.name != **name).cloned();
        let manifest = manifest.filter(|manifest| facts.manifest != **manifest).cloned();
        let is_new = name.is_some() || manifest.is_some();
        Ok(Decision::events(is_new.then_some(Event::Amended { name, manifest })))
    }

    fn rename(&self, what: &Named, name: &str) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        let name = name.trim();
        if name.is_empty() {
            return Err(Rejected::rule(Code::NameMissing, "a task needs a name"));
        }
        let present = match what {
            Named::Task { task } => Self::find_task(request, task)?.name.as_str(),
            Named::Subtask { subtask } => match request.subtask(subtask) {
                Some(found) => found.name.as_str(),
                None => return Err(unknown_subtask(request, subtask.as_str())),
            },
        };
        let is_new = present != name;
        let renamed = || Event::Renamed { what: what.clone(), name: name.to_owned() };
        Ok(Decision::events(is_new.then(renamed)))
    }

    /// A task that is over ends, the next one begins, and with the last one the request is complete.
    fn go_on(&self, now: Time) -> Decision<Event> {
        let Some(request) = self.active_request() else { return Decision::nothing() };
        match request.current() {
            Some((id, task)) if task.is_done() && task.open_tree().is_none() => {
                Decision::events([Event::TaskCompleted { task: id.clone() }])
            }
            Some(_) => Decision::nothing(),
            None if request.phase != GlobalPhase::TaskLoop => Decision::nothing(),
            None => {
                let mut open = request.tasks.iter();
                match open.find(|(_, task)| task.status != Status::Completed) {
                    Some((id, _)) => Decision::events([Event::TaskBegun { task: id.clone() }]),
                    None if request.is_unmerged() => Decision::nothing(),
                    None => {
                        let completed = Event::RequestCompleted { request: request.id.clone() };
                        let remembered = self.remembered(request, TaskResult::Success, now);
                        Decision::events([completed]).with(remembered)
                    }
                }
            }
        }
    }

    fn fail_call(&self, call: &Call, why: &str, now: Time) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        let hold = Hold::Call { call: call.clone() };
        if request.held(&hold).is_some() {
            return Ok(Decision::nothing());
        }
        let used = request.call_clock(call).failures;
        let key = call.to_string();
        let policy = Policy::of(Scope::AgentCall);
        let outlook = policy.after(used, FailureClass::Transient, &key);
        let not_before = again_at(outlook, now);
        let (call, why) = (call.clone(), why.trim().to_owned());
        let failed = Event::CallFailed { call, why: why.clone(), not_before };
        Ok(match not_before {
            Some(_) => Decision::events([failed]),
            None => escalated(vec![failed], hold, Lead::Stay, (&why, used + 1)),
        })
    }

    fn end_call(&self, call: &Call) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        if !request.calls.contains_key(call) {
            return Ok(Decision::nothing());
        }
        let ended = Decision::events([Event::CallEnded { call: call.clone() }]);
        let hold = Hold::Call { call: call.clone() };
        let is_held = request.held(&hold).is_some();
        Ok(match is_held {
            true => ended.with(Effect::Settle { topic: hold.topic() }),
            false => ended,
        })
    }

    fn retry(&self, hold: &Hold, by: &Actor) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() && !hold.is_merge() {
            return Err(Rejected::reserved("letting go on what waits for a person")
                .next(NextStep::ShowInbox));
        }
        let request = self.find_request()?;
        let Some(held) = request.held(hold) else {
            let message = format!("{hold} does not wait for a person");
            return Err(Rejected::rule(Code::NotAsked, message).next(NextStep::ShowSession));
        };
        let mut events = vec![Event::Retried { hold: hold.clone() }];
        if let Hold::Gate { subtask, .. } = hold {
            events.extend(request.led(subtask, held.lead));
        }
        Ok(Decision::events(events).with(Effect::Settle { topic: hold.topic() }))
    }
}

pub(super) fn unknown_subtask(request: &RequestState, id: &str) -> Rejected {
    let message = format!("{} has no subtask {id}", request.id);
    Rejected::unknown(Code::SubtaskUnknown, message).next(NextStep::ShowSession)
}

/// When something is tried again; none: it is not.
pub(super) fn again_at(outlook: Outlook, now: Time) -> Option<Time> {
    match outlook {
        Outlook::Again { delay } => Some(now.plus(delay)),
        Outlook::GiveUp => None,
    }
}

/// Waypost has not got so far.
pub(super) fn is_out_of_order(message: String) -> Rejected {
    Rejected::rule(Code::TaskStatus, message).next(NextStep::NextOfSession)
}

/// A merge that cannot be made goes to a person, who puts right what is in its way.
pub(super) fn held_merge(request: &RequestId, hold: Hold, why: &str) -> Decision<Event> {
    let title = match &hold {
        Hold::Join { task } => format!("the work of {task} could not be joined"),
        _ => format!("{request} could not be merged"),
    };
    let text = format!("{request}: {why} Put it right, then let the session go on.");
    let question = Question::new(QuestionKind::HeldMerge, hold.topic(), title, text);
    let escalated = Event::Escalated { hold, lead: Lead::Stay, why: why.to_owned() };
    Decision::events([escalated]).with(Effect::Ask(question.next(NextStep::RunSession)))
}

/// What is out of retries goes to a person.
pub(super) fn escalated(
    mut events: Vec<Event>,
    hold: Hold,
    lead: Lead,
    (why, tries): (&str, u32),
) -> Decision<Event> {
    let title = format!("{hold} does not come to an end by itself");
    let text = format!(
        "{hold} was tried {tries} times. {why}. `retry` lets it go on, counting from zero; `stop` \
         ends the session, which can be resumed."
    );
    let question = Question::new(QuestionKind::Escalation, hold.topic(), title, text);
    let question = question.choices(["retry", "stop"]).next(NextStep::ShowSession);
    events.push(Event::Escalated { hold, lead, why: why.to_owned() });
    Decision::events(events).with(Effect::Ask(question))
}

/// What goes back because it lacks a contract: one phase, and on from there while that lacks one too.
fn stepped_back(request: &RequestState, missing: &[MissingContract]) -> Vec<Event> {
    if request.phase != GlobalPhase::TaskLoop {
        return Vec::new();
    }
    if missing.contains(&MissingContract::Plan) {
        return vec![Event::DiscoveryReopened { request: request.id.clone() }];
    }
    let Some((id, task)) = request.current() else { return Vec::new() };
    let lacks_design = missing.contains(&MissingContract::Design { task: id.clone() });
    if lacks_design && task.current_subtask.is_some() {
        return vec![Event::DesignLost { task: id.clone() }];
    }
    let Some((_, subtask, found)) = request.at_work() else { return Vec::new() };
    if !missing.contains(&MissingContract::Tests { subtask: subtask.clone() }) {
        return Vec::new();
    }
    match found.phase {
        SubtaskPhase::TestFirst | SubtaskPhase::Complete => Vec::new(),
        // Implementation needs it as well, so that verification goes back two.
        SubtaskPhase::Implementation | SubtaskPhase::Verification => {
            vec![Event::TestsLost { subtask: subtask.clone() }]
        }
    }
}
