//! `session run`: the loop of a session, driven with agents in its roles.
//!
//! What comes next is asked of `next` each time, so nothing has to be remembered here: a process that
//! comes after a crash asks the same. Each call of a role is one job, whose agent outlives this process;
//! it is forgotten when what came of it is in the journal. Gates are looked at in a thread of their own,
//! because tests take long.

use super::{
    GateCheck, GivenVerdicts, NextCall, SessionNext, apart,
    apart::by_waypost,
    called::{attempt, correction, message, report_fault},
    check, concerned,
    gates::check_confirmed,
    next, plan,
};
use crate::{
    accounts,
    agent::{self, Agent, HookSource, Job, JobEnd, JobOrder, Onlooker, Trouble},
    context, contracts,
    error::{EngineError, Problem},
    guest::{Attended, Guest, Waits},
    host, mending,
    project::Project,
    threaded::Threaded,
};
use std::{ffi::OsString, io, mem, path::Path};
use waypost_agent::launch::Prompts;
use waypost_model::{
    code::Code,
    next::NextStep,
    run::{Isolation, ParkCause},
    session::{AssumptionFate, Call, Command, Role},
    time::Time,
};
use waypost_store::lock::FileLock;

/// How the names of the jobs begin that calls are.
const JOB: &str = "session-";

/// Held by the process that calls agents.
const LOCK: &str = "session-run.lock";

/// Who works.
#[derive(Clone, Debug)]
pub struct SessionRunOptions {
    /// In place of what is configured for roles; none: as configured.
    pub agent: Option<String>,
    /// In place of what is configured for runs; none: as configured. A request that has begun stays where it is.
    pub isolation: Option<Isolation>,
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
    /// Work trees that are made, joined or landed; before that, what a process before this one has left is ended.
    aside: Option<Threaded<Result<Vec<String>, EngineError>>>,
    /// Whether git of a process before this one was waited for.
    has_merged: bool,
    /// Nothing is begun before.
    until: Option<Time>,
    ending: Option<SessionRunEnd>,
    /// Whether something has come to its end, so that something else may begin.
    has_moved: bool,
    onlooker: Box<dyn Onlooker + Send>,
    /// One process at a time calls agents for the session.
    _lock: FileLock,
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
        mut onlooker: Box<dyn Onlooker + Send>,
    ) -> Result<Self, EngineError> {
        project.refuse_stale()?;
        super::is_here(project)?;
        let lock = FileLock::try_acquire(&project.place().state.join(LOCK))?.ok_or_else(busy)?;
        if !matches!(next(project)?, SessionNext::Done) {
            // What a role lacks is said before any agent works.
            for role in Role::ALL {
                agent_for(project, &options, role)?;
            }
            project.session()?.find_request()?;
            if let Some(told) = apart::decide(project, options.isolation)? {
                onlooker.tell(&told);
            }
            mending::mend_if_idle(project)?;
            apart::try_merges_again(project)?;
        }
        Ok(Self {
            options,
            calls: Vec::new(),
            checking: None,
            aside: None,
            has_merged: false,
            until: None,
            ending: None,
            has_moved: false,
            onlooker,
            _lock: lock,
        })
    }

    fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.checking.is_none() && self.aside.is_none()
    }

    /// Begins what comes next.
    fn begin_next(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let now = project.clock.now();
        if self.until.is_some_and(|until| until > now) {
            return Ok(());
        }
        self.until = None;
        if self.clear_left(project)? {
            return Ok(());
        }
        if apart::is_due(project)? {
            return self.merge(project);
        }
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
                self.onlooker.tell(&match (outcome.is_sent_back, outcome.goes_on) {
                    (true, false) => "the plan goes back to the planner".to_owned(),
                    (true, true) => {
                        "the plan has changed and does not hold: work goes on by the one before"
                            .to_owned()
                    }
                    (false, _) => format!("planned: {} tasks", outcome.tasks),
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

    /// Ends agents of a process that was killed whose call has come to its end, perhaps only now: they are in the way
    /// of what comes next. Says whether there are any.
    fn clear_left(&mut self, project: &mut Project) -> Result<bool, EngineError> {
        let wanted = match next(project)? {
            SessionNext::Call(calls) => calls,
            // What else is to be done is not told while a person is waited for.
            SessionNext::Wait { .. } => return Ok(false),
            SessionNext::Do { .. } | SessionNext::Done => Vec::new(),
        };
        let mut left = Job::left(project, JOB)?;
        left.retain(|name| wanted.iter().all(|it| job_name(&words(&it.call)) != *name));
        if left.is_empty() {
            return Ok(false);
        }
        self.aside = Some(apart_from(project, move |own| {
            left.iter().try_for_each(|name| Job::give_up(own, name))?;
            Ok(Vec::new())
        })?);
        self.has_moved = true;
        Ok(true)
    }

    /// Does what is due with work trees.
    fn merge(&mut self, project: &Project) -> Result<(), EngineError> {
        let is_first = !mem::replace(&mut self.has_merged, true);
        self.aside = Some(apart_from(project, move |own| {
            if is_first {
                apart::wait_for_git(own)?;
            }
            apart::go_on(own, &mut io::sink())
        })?);
        self.has_moved = true;
        Ok(())
    }

    /// Takes what came of it.
    fn look_aside(&mut self) -> Result<(), EngineError> {
        let Some(mut aside) = self.aside.take() else { return Ok(()) };
        match aside.take()? {
            None => self.aside = Some(aside),
            Some(done) => {
                self.has_moved = true;
                done?.iter().for_each(|line| self.onlooker.tell(line));
            }
        }
        Ok(())
    }

    /// Looks at the gates that are due.
    fn check(&mut self, project: &Project, calling: Option<Calling>) -> Result<(), EngineError> {
        let report = calling.as_ref().and_then(|calling| match &calling.next.call {
            Call::Confirm(id, gate) => Some((id.clone(), *gate, calling.next.output.clone()?)),
            _ => None,
        });
        let done = apart_from(project, move |own| match &report {
            Some((id, gate, path)) => check_confirmed(own, (id, *gate), path, &mut io::sink()),
            None => check(own, None, None, &mut io::sink()),
        })?;
        self.checking = Some(Checking { done, calling });
        self.has_moved = true;
        Ok(())
    }

    /// Calls an agent, or takes up the one that was called.
    fn call(&mut self, project: &mut Project, next: NextCall) -> Result<Calling, EngineError> {
        let agent = agent_for(project, &self.options, next.role)?;
        let request = project.session()?.find_request()?.clone();
        let attempt = attempt(&request, &next.call);
        let words = words(&next.call);
        let prompt = project.configuration().values.roles.get(next.role.as_str());
        let prompt = prompt.map(|role| role.prompt.clone()).unwrap_or_default();
        let files = concerned::files(project, &request, &next.call);
        let known = context::for_call(project, next.role.as_str(), files);
        let folder = next.folder.as_deref().unwrap_or_else(|| project.root());
        let message = message(folder, (&request, &words), &next, &prompt) + &known;
        make_room(&next)?;
        let again = "Go on with what you were asked to do; what you have done is still there.";
        let order = JobOrder {
            name: job_name(&words),
            key: format!("{} {} {attempt}{}", request.id, request.since.millis(), about(&next)),
            access: agent.access(),
            prompts: Prompts::Refused,
            agent,
            hook: HookSource::Given,
            schema: None,
            folder: next.folder.clone(),
            // Contracts are in the repository's own work tree.
            more_folders: match &next.folder {
                Some(_) => vec![contracts::session_folder(project)?],
                None => Vec::new(),
            },
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

    /// Looks at every agent once.
    fn look(&mut self, project: &mut Project) -> Result<(), EngineError> {
        for mut calling in mem::take(&mut self.calls) {
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
            None if calling.next.then == NextStep::ReportGates => {
                match report_fault(&calling.next) {
                    Some(fault) => self.failed(project, &calling, &fault),
                    None => self.check(project, Some(calling)),
                }
            }
            None if calling.next.then == NextStep::CheckGates => self.check(project, Some(calling)),
            None => self.take(project, &calling),
        }
    }

    /// Takes what an agent has written, if it has.
    fn take(&mut self, project: &mut Project, calling: &Calling) -> Result<(), EngineError> {
        let wanted = &calling.next.call;
        let still = match next(project)? {
            SessionNext::Call(calls) => calls.into_iter().find(|call| call.call == *wanted),
            // Whether it is still due is told when a person has answered.
            SessionNext::Wait { .. } => return calling.job.forget(project),
            SessionNext::Do { .. } | SessionNext::Done => None,
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
            // What it leaves open is found out by another agent; what has changed meanwhile is looked at again.
            Code::ProofMissing | Code::FilesChanged => match calling {
                Some(calling) if is_asked_again(project, &calling.next.call)? => {
                    let why = "what it was to report on has changed since it was called";
                    self.failed(project, &calling, why)
                }
                Some(calling) => calling.job.forget(project),
                None => Ok(()),
            },
            Code::PersonNeeded => {
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

/// Whether the gate that an agent was called to report on has left something open still.
fn is_asked_again(project: &mut Project, call: &Call) -> Result<bool, EngineError> {
    let Call::Confirm(id, gate) = call else { return Ok(false) };
    let request = project.session()?.request();
    let open = request.and_then(|request| request.subtask(id)?.open.as_ref());
    Ok(open.is_some_and(|open| open.gate == *gate))
}

/// The agent of a role, with what the configuration says of that.
fn agent_for(
    project: &Project,
    options: &SessionRunOptions,
    role: Role,
) -> Result<Agent, EngineError> {
    let role = project.configuration().values.roles.get(role.as_str());
    let configured = role.map(|role| role.agent.trim()).filter(|name| !name.is_empty());
    let name = options.agent.as_deref().or(configured);
    let mut agent = agent::for_job(&project.setup, name, "agent")?;
    if let Some(role) = role {
        if !role.model.trim().is_empty() {
            agent.config.model = role.model.trim().to_owned();
        }
        agent.config.allowed_tools.extend(role.tools.iter().cloned());
    }
    Ok(agent)
}

fn busy() -> EngineError {
    let message = "another process calls the agents of this session";
    let hint = "it goes on; stop it there first";
    Problem::new(Code::Busy, message).hint(hint).next(NextStep::ShowSession).into()
}

/// Does something that takes long in a thread of its own, with a project of its own.
fn apart_from<T: Send + 'static>(
    project: &Project,
    work: impl FnOnce(&mut Project) -> Result<T, EngineError> + Send + 'static,
) -> Result<Threaded<Result<T, EngineError>>, EngineError> {
    let root = project.root().to_owned();
    let (actor, environment) = (project.actor().clone(), project.caller.environment.clone());
    let programs = project.setup.programs.clone();
    Threaded::begin(move || {
        let mut own = Project::open_for(&root, actor, environment, &programs)?;
        work(&mut own)
    })
}

/// A call in one word.
fn words(call: &Call) -> String {
    call.to_string().replace('/', "-")
}

/// What the job of a call is named.
fn job_name(words: &str) -> String {
    format!("{JOB}{words}")
}

/// What a report is about, which is part of what its job is about.
fn about(next: &NextCall) -> String {
    let name = next.output.as_ref().filter(|_| next.kind.is_none());
    let name = name.and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    name.map(|name| format!(" {name}")).unwrap_or_default()
}

/// Makes the folder of a report: an agent has a file to write, not folders to make.
fn make_room(next: &NextCall) -> Result<(), EngineError> {
    let report = next.output.as_ref().filter(|_| next.kind.is_none());
    match report.and_then(|path| path.parent()) {
        Some(folder) => Ok(waypost_store::file::make_private_folder(folder)?),
        None => Ok(()),
    }
}

impl Guest for SessionRun {
    type End = SessionRunEnd;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.calls.iter().for_each(|calling| calling.job.waits(waits));
        if let Some(checking) = &self.checking {
            checking.done.waits(waits);
        }
        if let Some(aside) = &self.aside {
            aside.waits(waits);
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
            self.look_aside()?;
            if !self.has_moved {
                return Ok(Attended::GoesOn);
            }
        }
    }
}
