//! `session run`: the loop of a session, driven with agents in its roles.
//!
//! What comes next is asked of `next` each time, so nothing has to be remembered here: a process that
//! comes after a crash asks the same. Each call of a role is one job, whose agent outlives this process;
//! it is forgotten when what came of it is in the journal. Gates are looked at in a thread of their own,
//! because tests take long.

use super::{GateCheck, GivenVerdicts, NextCall, SessionNext, check, next, plan};
use crate::{
    accounts,
    agent::{self, Agent, HookSource, Job, JobEnd, JobOrder, Onlooker, Trouble},
    context,
    error::EngineError,
    gate,
    guest::{Attended, Guest, Waits},
    host,
    ledger::MachineCommand,
    project::Project,
    threaded::Threaded,
    validate::validate_file,
};
use std::{ffi::OsString, fmt::Write as _, io, path::Path};
use waypost_agent::launch::Prompts;
use waypost_model::{
    code::Code,
    diagnostic::Severity,
    document::{Kind, SubtaskId},
    next::NextStep,
    run::ParkCause,
    session::{AssumptionFate, Call, Command, RequestState},
    time::Time,
};

/// Who works.
#[derive(Clone, Debug)]
pub struct SessionRunOptions {
    /// In place of what is configured for roles; none: as configured.
    pub agent: Option<String>,
    /// The program that keeps children: `waypost keeper`.
    pub keeper: Vec<OsString>,
}

/// Why nothing is done any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRunEnd {
    /// The request is complete.
    Done,
    /// A person has to say something first: what, and why.
    Waits(String),
    /// A limit of the agents' service was met.
    Limited(String),
    Stopped,
}

/// A session at work.
pub(crate) struct SessionRun {
    options: SessionRunOptions,
    calls: Vec<Calling>,
    checking: Option<Checking>,
    /// Nothing is begun before.
    until: Option<Time>,
    ending: Option<SessionRunEnd>,
    /// Whether something has come to its end, so that something else may begin.
    has_moved: bool,
    onlooker: Box<dyn Onlooker + Send>,
}

/// An agent that was called.
struct Calling {
    next: NextCall,
    job: Job,
    /// Whether it was told already that its contract is not valid.
    is_corrected: bool,
}

/// Gates that are looked at, perhaps after an agent has ended.
struct Checking {
    done: Threaded<Result<GateCheck, EngineError>>,
    calling: Option<Calling>,
}

/// Drives the session until its request is complete, or nothing can be done without a person. The project
/// comes back in every case but one in which no host could be begun.
pub fn run(
    project: Project,
    options: SessionRunOptions,
    onlooker: Box<dyn Onlooker + Send>,
) -> Result<(Project, Result<SessionRunEnd, EngineError>), EngineError> {
    host::work(project, "session run", move |project| SessionRun::begin(project, options, onlooker))
}

impl SessionRun {
    fn begin(
        project: &mut Project,
        options: SessionRunOptions,
        onlooker: Box<dyn Onlooker + Send>,
    ) -> Result<Self, EngineError> {
        project.refuse_stale()?;
        super::is_here(project)?;
        if !matches!(next(project)?, SessionNext::Done) {
            project.session()?.find_request()?;
        }
        let (calls, checking, until, ending) = (Vec::new(), None, None, None);
        Ok(Self { options, calls, checking, until, ending, has_moved: false, onlooker })
    }

    fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.checking.is_none()
    }

    /// Begins what comes next.
    fn begin_next(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let now = project.clock.now();
        if self.until.is_some_and(|until| until > now) {
            return Ok(());
        }
        self.until = None;
        match next(project)? {
            SessionNext::Call(calls) => {
                let waits = |call: &NextCall| call.not_before.filter(|at| *at > now);
                let (later, due): (Vec<_>, Vec<_>) =
                    calls.into_iter().partition(|call| waits(call).is_some());
                if due.is_empty() {
                    self.until = later.iter().filter_map(waits).min();
                    return Ok(());
                }
                for call in due {
                    let calling = self.call(project, call)?;
                    self.calls.push(calling);
                }
                self.has_moved = true;
            }
            SessionNext::Do { step, assumptions, .. } => self.give(project, &step, &assumptions)?,
            SessionNext::Wait { hold, why } => {
                self.end(SessionRunEnd::Waits(format!("{hold} waits for a person: {why}")));
            }
            SessionNext::Done => self.end(SessionRunEnd::Done),
        }
        Ok(())
    }

    fn end(&mut self, end: SessionRunEnd) {
        self.ending.get_or_insert(end);
        self.has_moved = true;
    }

    /// Gives the command that comes next.
    fn give(
        &mut self,
        project: &mut Project,
        step: &NextStep,
        assumptions: &[(usize, String)],
    ) -> Result<(), EngineError> {
        match step {
            NextStep::PlanSession | NextStep::PlanWithAssumption => {
                // No person is there to say what became of the others.
                let given: GivenVerdicts = assumptions
                    .iter()
                    .map(|(number, _)| (*number, AssumptionFate::Unknown))
                    .collect();
                let outcome = plan(project, &given)?;
                self.onlooker.tell(&match outcome.is_sent_back {
                    true => "the plan goes back to the planner".to_owned(),
                    false => format!("planned: {} tasks", outcome.tasks),
                });
                self.has_moved = true;
                Ok(())
            }
            NextStep::CheckGates => self.check(project, None),
            _ => {
                // The session was stopped or completed by another actor.
                project.session()?.find_request()?;
                self.end(SessionRunEnd::Stopped);
                Ok(())
            }
        }
    }

    /// Looks at the gates that are due, in a thread of its own with a project of its own.
    fn check(&mut self, project: &Project, calling: Option<Calling>) -> Result<(), EngineError> {
        let root = project.root().to_owned();
        let (actor, environment) = (project.actor().clone(), project.caller.environment.clone());
        let programs = project.setup.programs.clone();
        let done = Threaded::begin(move || {
            let mut own = Project::open_for(&root, actor, environment, &programs)?;
            check(&mut own, None, None, &mut io::sink())
        })?;
        self.checking = Some(Checking { done, calling });
        self.has_moved = true;
        Ok(())
    }

    /// Calls an agent, or takes up the one that was called.
    fn call(&mut self, project: &mut Project, next: NextCall) -> Result<Calling, EngineError> {
        let agent = self.agent_for(project, &next)?;
        let request = project.session()?.find_request()?.clone();
        let attempt = attempt(&request, &next.call);
        let words = next.call.to_string().replace('/', "-");
        let prompt = project.configuration().values.roles.get(next.role.as_str());
        let prompt = prompt.map(|role| role.prompt.clone()).unwrap_or_default();
        let known = context::for_brief(project, next.role.as_str(), None);
        let message = message(project.root(), (&request, &words), &next, &prompt) + &known;
        let again = "Go on with what you were asked to do; what you have done is still there.";
        let order = JobOrder {
            name: format!("session-{words}"),
            key: format!("{} {} {attempt}", request.id, request.since.millis()),
            access: agent.access(),
            prompts: Prompts::Refused,
            agent,
            hook: HookSource::Given,
            schema: None,
            folder: None,
            environment: None,
            secrets: Vec::new(),
            attempt,
            message,
            again: again.to_owned(),
            bounds: agent::job_bounds(&project.setup),
        };
        self.onlooker.tell(&format!("{words}: {} {}", next.role, order.agent.name));
        let job = Job::begin(project, &self.options.keeper, order)?;
        Ok(Calling { next, job, is_corrected: false })
    }

    /// The agent of a role, with what the configuration says of that.
    fn agent_for(&self, project: &Project, next: &NextCall) -> Result<Agent, EngineError> {
        let role = project.configuration().values.roles.get(next.role.as_str());
        let configured = role.map(|role| role.agent.trim()).filter(|name| !name.is_empty());
        let name = self.options.agent.as_deref().or(configured);
        let mut agent = agent::for_job(&project.setup, name, "agent")?;
        if let Some(role) = role {
            if !role.model.trim().is_empty() {
                agent.config.model = role.model.trim().to_owned();
            }
            agent.config.allowed_tools.extend(role.tools.iter().cloned());
        }
        Ok(agent)
    }

    /// Looks at every agent once.
    fn look(&mut self, project: &mut Project) -> Result<(), EngineError> {
        for mut calling in std::mem::take(&mut self.calls) {
            let Calling { next, job, is_corrected } = &mut calling;
            let end = job.attend_alone(project, self.onlooker.as_mut(), &mut |_| {
                if *is_corrected {
                    return None;
                }
                *is_corrected = true;
                correction(next)
            })?;
            match end {
                Some(end) => self.conclude(project, calling, &end)?,
                None => self.calls.push(calling),
            }
        }
        Ok(())
    }

    /// Takes the end of an agent.
    fn conclude(
        &mut self,
        project: &mut Project,
        calling: Calling,
        end: &JobEnd,
    ) -> Result<(), EngineError> {
        self.has_moved = true;
        match end.trouble(&calling.job.order.name, project.clock.now()) {
            Some(Trouble::Interrupted) => {
                self.end(SessionRunEnd::Stopped);
                Ok(())
            }
            Some(Trouble::Parked(parked))
                if parked.cause != ParkCause::Budget || parked.until.is_some() =>
            {
                self.end(SessionRunEnd::Limited(accounts::in_words(&parked)));
                Ok(())
            }
            Some(Trouble::Parked(parked)) => self.failed(project, &calling, &parked.why),
            Some(Trouble::Failed { text, .. }) => self.failed(project, &calling, &text),
            // It is not forgotten: the next time it is found to be over, and what it did is taken then.
            None if self.ending.is_some() => Ok(()),
            None if calling.next.then == NextStep::CheckGates => self.check(project, Some(calling)),
            None => self.take(project, &calling),
        }
    }

    /// Takes what an agent has written, if it has.
    fn take(&mut self, project: &mut Project, calling: &Calling) -> Result<(), EngineError> {
        let wanted = &calling.next.call;
        let still = match next(project)? {
            SessionNext::Call(calls) => calls.into_iter().find(|call| call.call == *wanted),
            _ => None,
        };
        match still {
            Some(call) => {
                let output = call.output.as_deref().unwrap_or_else(|| Path::new("it"));
                let why = match call.faults.as_slice() {
                    [] => format!("it has not written {}", super::shown(project, output)),
                    faults => faults.join("; "),
                };
                self.failed(project, calling, &why)
            }
            None => {
                by_waypost(project, Command::EndCall { call: wanted.clone() })?;
                calling.job.forget(project)
            }
        }
    }

    fn failed(
        &mut self,
        project: &mut Project,
        calling: &Calling,
        why: &str,
    ) -> Result<(), EngineError> {
        let call = calling.next.call.clone();
        self.onlooker.tell(&format!("{call}: {why}"));
        by_waypost(project, Command::FailCall { call, why: why.to_owned() })?;
        calling.job.forget(project)
    }

    /// Takes what gates have shown.
    fn look_at_gates(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let Some(Checking { mut done, calling }) = self.checking.take() else { return Ok(()) };
        let Some(checked) = done.take()? else {
            self.checking = Some(Checking { done, calling });
            return Ok(());
        };
        self.has_moved = true;
        let rejected = match checked {
            Ok(checked) => return self.checked(project, calling.as_ref(), &checked),
            Err(EngineError::Rejected(rejected)) => rejected,
            Err(error) => return Err(error),
        };
        match rejected.code {
            // It is looked at again when its time has come; the agent is not called for that.
            Code::TaskDelayed => {
                let request = project.session()?.request();
                self.until = request.and_then(|it| it.at_work()?.2.not_before);
                Ok(())
            }
            Code::ProofMissing | Code::PersonNeeded => {
                self.end(SessionRunEnd::Waits(rejected.message));
                Ok(())
            }
            // Another actor has decided about it meanwhile.
            Code::GateNotDue | Code::SubtaskUnknown | Code::NoRequest | Code::NoSession => {
                calling.map_or(Ok(()), |calling| calling.job.forget(project))
            }
            _ => Err(rejected.into()),
        }
    }

    fn checked(
        &mut self,
        project: &mut Project,
        calling: Option<&Calling>,
        checked: &GateCheck,
    ) -> Result<(), EngineError> {
        for gate in &checked.gates {
            let word = if gate.holds { "holds" } else { "does not hold" };
            let why = gate.faults.first().map(|fault| format!(": {fault}")).unwrap_or_default();
            self.onlooker.tell(&format!("{}: {} {word}{why}", checked.subtask, gate.gate));
        }
        let Some(calling) = calling else { return Ok(()) };
        // Nothing was decided: the agent has left everything as it was.
        let is_idle = !checked.holds() && checked.gates.iter().any(|it| it.is_repeated);
        match is_idle {
            true => self.failed(project, calling, "it has changed nothing"),
            false => calling.job.forget(project),
        }
    }
}

fn by_waypost(project: &mut Project, command: Command) -> Result<(), EngineError> {
    gate::by_waypost(project, &[MachineCommand::session(command)])
}

/// Which try a call is: what has failed since the last one that came to something.
fn attempt(request: &RequestState, call: &Call) -> u32 {
    let of_call = request.call_clock(call).failures;
    let redesigns = |subtask: &SubtaskId| {
        let owner = request.owner(subtask).and_then(|owner| request.tasks.get(owner));
        owner.map_or(0, |task| task.redesigns)
    };
    let before = match call {
        Call::Explore | Call::Brief(_) => 0,
        Call::Plan => request.plans_wrong,
        Call::Design(task) => request.tasks.get(task).map_or(0, |task| task.redesigns),
        Call::WriteTests(id) | Call::Implement(id) | Call::Verify(id) => {
            let tries = request.subtask(id).map(|subtask| {
                let tries = &subtask.tries;
                tries.gates.values().sum::<u32>() + tries.test_runs + tries.test_rewrites
            });
            tries.unwrap_or(0) + redesigns(id)
        }
    };
    1 + of_call + before
}

/// What an agent is told whose contract is missing or not valid.
fn correction(next: &NextCall) -> Option<String> {
    let (output, kind) = (next.output.as_ref()?, next.kind?);
    let shown = output.display();
    let Ok(validity) = validate_file(output, Some(kind)) else {
        return Some(format!("{shown} is not there. Write it."));
    };
    if validity.is_valid() {
        return None;
    }
    let mut text = format!("{shown} is not valid. Correct it:\n");
    let is_error = |it: &&waypost_model::diagnostic::Diagnostic| it.severity == Severity::Error;
    for finding in validity.file.diagnostics.iter().filter(is_error).take(20) {
        let at = finding.place.map(|at| format!("{}:{}: ", at.line, at.column)).unwrap_or_default();
        let _infallible = writeln!(text, "- {at}{}", finding.message);
    }
    Some(text)
}

/// The message to an agent.
fn message(
    root: &Path,
    (request, words): (&RequestState, &str),
    next: &NextCall,
    prompt: &str,
) -> String {
    let mut text = format!(
        "TASK_ID: {words}\n\nYou are the {} of a session in {}. The request {} is: {}\n\n# {words}: {}\n\n",
        next.role,
        root.display(),
        request.id,
        request.text,
        next.task
    );
    if !next.inputs.is_empty() {
        text.push_str("Read first:\n");
    }
    for input in &next.inputs {
        let _infallible = writeln!(text, "- {}", input.display());
    }
    match (&next.output, next.kind) {
        (Some(output), Some(kind)) => {
            let _infallible = write!(text, "{}", contract_told(request, next, output, kind));
        }
        _ => text.push_str(
            "\nChange what the brief and the design cover, and nothing else. Leave the tests as they are. \
             Waypost looks at scope, layers and tests itself when you have ended.\n",
        ),
    }
    if !next.faults.is_empty() {
        text.push_str("\nWhat was there before does not do:\n");
    }
    for fault in &next.faults {
        let _infallible = writeln!(text, "- {fault}");
    }
    if !prompt.trim().is_empty() {
        let _infallible = writeln!(text, "\n{}", prompt.trim());
    }
    let _infallible = writeln!(
        text,
        "\nWhen it is done, end your last message with one sentence on what you did and, on a line of its \
         own:\n\nDONE:{words}\n"
    );
    text
}

fn contract_told(request: &RequestState, next: &NextCall, output: &Path, kind: Kind) -> String {
    let mut ids = format!("request_id: {}", request.id);
    if let Some(task) = next.call.task().cloned().or_else(|| next.call.subtask()?.task()) {
        let _infallible = write!(ids, ", task_id: {task}");
    }
    if let Some(subtask) = next.call.subtask() {
        let _infallible = write!(ids, ", subtask_id: {subtask}");
    }
    let more = match &next.call {
        Call::WriteTests(_) => {
            "Write the tests themselves, too, into the file that test_file_path names. "
        }
        Call::Verify(_) => "Run the tests, and change no file but this one. ",
        _ => "",
    };
    format!(
        "\n{more}Write {}: a YAML document with {ids}, version: 1, created_at and created_by: {}. `waypost \
         schema {}` prints its schema; a field that is not in there is refused.\n",
        output.display(),
        next.role,
        kind.name()
    )
}

impl Guest for SessionRun {
    type End = SessionRunEnd;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.calls.iter().for_each(|calling| calling.job.waits(waits));
        if let Some(checking) = &self.checking {
            checking.done.waits(waits);
        }
        if let Some(until) = self.until {
            waits.until(until);
        }
        waits.readable_too(self.onlooker.bell());
    }

    fn attend(
        &mut self,
        project: &mut Project,
        _now: Time,
    ) -> Result<Attended<SessionRunEnd>, EngineError> {
        loop {
            self.has_moved = false;
            if self.onlooker.wants_stop() {
                self.end(SessionRunEnd::Stopped);
                self.has_moved = false;
            }
            match (&self.ending, self.is_idle()) {
                (Some(_), true) => {
                    let end = self.ending.take().unwrap_or(SessionRunEnd::Stopped);
                    return Ok(Attended::Over(end));
                }
                (Some(_), false) => {
                    self.calls.iter_mut().try_for_each(|calling| calling.job.halt())?;
                }
                (None, true) => self.begin_next(project)?,
                (None, false) => {}
            }
            self.look(project)?;
            self.look_at_gates(project)?;
            if !self.has_moved {
                return Ok(Attended::GoesOn);
            }
        }
    }
}
