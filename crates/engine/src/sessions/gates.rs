//! Gates: looked at in their order on the tree as it is, once for each tree, and passed by a person.

use super::{apart, give, is_here, keep_base, next::report_path, place_of, take_up_design};
use crate::{
    contracts,
    error::{EngineError, Problem},
    given, pin,
    project::Project,
    session_gates::{self, ReportGiven},
};
use std::{
    io,
    path::{Path, PathBuf},
};
use waypost_git::content;
use waypost_model::{
    code::Code,
    document::{
        Kind, SessionTaskId, SubtaskId,
        session::{Status, SubtaskPhase},
    },
    machine::{Asked, Machine as _, Rejected},
    next::NextStep,
    session::{
        Command, Hold, Look, OpenGate, RequestState, SubtaskState,
        gate::{Gate, GateFinding, SubtaskSubject},
    },
};
use waypost_store::hash;

/// The largest report.
const REPORT_SIZE_MAX: u64 = 1 << 20;

/// What looking at gates came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCheck {
    pub subtask: SubtaskId,
    pub before: SubtaskPhase,
    pub after: SubtaskPhase,
    pub gates: Vec<CheckedGate>,
    /// Whether the task is in design again.
    pub is_in_design: bool,
    /// A person is asked.
    pub held: Option<Hold>,
}

impl GateCheck {
    /// Whether every gate that was looked at holds.
    pub fn holds(&self) -> bool {
        self.gates.iter().all(|it| it.holds)
    }
}

/// A gate that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedGate {
    pub gate: Gate,
    pub holds: bool,
    pub faults: Vec<String>,
    pub evidence: Vec<String>,
    /// The same files and contracts were looked at before, and nothing was looked at again.
    pub is_repeated: bool,
}

/// The subtask that is worked on.
struct Subject {
    request: RequestState,
    task: SessionTaskId,
    id: SubtaskId,
    state: SubtaskState,
}

/// Looks at the gates that are due, in their order, up to the first that does not hold. What the tests print
/// goes to `echo`.
pub fn check(
    project: &mut Project,
    named: Option<&SubtaskId>,
    report: Option<&Path>,
    echo: &mut dyn io::Write,
) -> Result<GateCheck, EngineError> {
    let report = report.map(|path| GivenReport::read(path, None)).transpose()?;
    check_with(project, named, report.as_ref(), echo)
}

/// The same with a report that was asked for by this gate, and by no other.
pub(super) fn check_confirmed(
    project: &mut Project,
    (id, gate): (&SubtaskId, Gate),
    report: &Path,
    echo: &mut dyn io::Write,
) -> Result<GateCheck, EngineError> {
    let report = GivenReport::read(report, Some(gate))?;
    check_with(project, Some(id), Some(&report), echo)
}

fn check_with(
    project: &mut Project,
    named: Option<&SubtaskId>,
    report: Option<&GivenReport>,
    echo: &mut dyn io::Write,
) -> Result<GateCheck, EngineError> {
    project.refuse_stale()?;
    is_here(project)?;
    take_up_design(project)?;
    match apart::workplace(project)? {
        Some(mut own) => check_here(&mut own, named, report, echo),
        None => check_here(project, named, report, echo),
    }
}

/// Looks at the gates in the work tree that the project is open in.
fn check_here(
    project: &mut Project,
    named: Option<&SubtaskId>,
    report: Option<&GivenReport>,
    echo: &mut dyn io::Write,
) -> Result<GateCheck, EngineError> {
    let subject = at_work(project, named)?;
    if let Some(hold) = held_gate(&subject.request, &subject.id) {
        let rejected = Rejected::rule(Code::PersonNeeded, format!("{hold} waits for a person"));
        return Err(rejected.next(NextStep::ShowInbox).into());
    }
    let before = subject.state.phase;
    let mut gates = Vec::new();
    for gate in subject.state.due() {
        let now = at_work(project, Some(&subject.id))?;
        let look = look_of(project, &now, *gate)?;
        // What is passed for this work is not asked again: a report may have confirmed it.
        let is_settled = *gate == Gate::Gate3 || *gate == Gate::Gate4;
        if is_settled && now.state.has_passed(*gate, &look.work) {
            continue;
        }
        let checked = check_gate(project, &now, (*gate, look), (report, &mut *echo))?;
        let holds = checked.holds;
        gates.push(checked);
        if !holds {
            break;
        }
    }
    let request = project.session()?.request().cloned();
    let request = request.expect("there is a request");
    let after = request.subtask(&subject.id).map_or(before, |it| it.phase);
    Ok(GateCheck {
        is_in_design: request.in_design().is_some_and(|(task, _)| *task == subject.task),
        held: held_gate(&request, &subject.id).cloned(),
        subtask: subject.id,
        before,
        after,
        gates,
    })
}

/// The gate of a subtask that waits for a person.
fn held_gate<'a>(request: &'a RequestState, id: &SubtaskId) -> Option<&'a Hold> {
    let mut holds = request.held.iter().map(|held| &held.hold);
    holds.find(|hold| matches!(hold, Hold::Gate { subtask, .. } if subtask == id))
}

/// A report that confirms what prose leaves open.
struct GivenReport {
    path: PathBuf,
    hash: String,
    /// The gate that it is about; none: the one that has left something open.
    only: Option<Gate>,
}

impl GivenReport {
    /// The points that it was asked about, where this gate has left some open for this work; none otherwise. A report that
    /// was taken before is about other points, unless it is what stands where one about these belongs.
    fn points(
        &self,
        project: &Project,
        subject: &Subject,
        (gate, work): (Gate, &str),
    ) -> Result<Vec<String>, EngineError> {
        let is_open = |it: &&OpenGate| it.gate == gate && it.work == work;
        let open = subject.state.open.as_ref().filter(is_open);
        let Some(open) = open.filter(|_| self.only.is_none_or(|only| only == gate)) else {
            return Ok(Vec::new());
        };
        let subtasks = subject.request.tasks.values().flat_map(|task| task.subtasks.values());
        let mut taken = subtasks.flat_map(|subtask| &subtask.reports);
        if taken.any(|known| *known == self.hash) {
            let named = report_path(project, &subject.request, (&subject.id, gate))?;
            let real = |path: &Path| path.canonicalize().ok();
            if named.and_then(|named| real(&named)).is_none_or(|it| Some(it) != real(&self.path)) {
                let message = format!("{} was taken before, for other points", self.path.display());
                return Err(Problem::new(Code::ReportTaken, message)
                    .hint(format!("now a report has to say: {}", open.points.join("; ")))
                    .next(NextStep::NextOfSession)
                    .into());
            }
        }
        Ok(open.points.clone())
    }
}

impl GivenReport {
    fn read(path: &Path, only: Option<Gate>) -> Result<Self, EngineError> {
        let bytes = given::read(path, REPORT_SIZE_MAX)?.ok_or_else(|| Problem::no_file(path))?;
        Ok(Self { path: path.to_owned(), hash: hash::sha256_hex(&bytes), only })
    }
}

/// The subtask that is worked on, which has to be the one that is named.
fn at_work(project: &mut Project, named: Option<&SubtaskId>) -> Result<Subject, EngineError> {
    let request = project.session()?.find_request()?.clone();
    if let Some(named) = named.filter(|id| request.subtask(id).is_none()) {
        let message = format!("{} has no subtask {named}", request.id);
        let rejected = Rejected::unknown(Code::SubtaskUnknown, message);
        return Err(rejected.next(NextStep::ShowSession).into());
    }
    let Some((task, id, state)) = request.at_work() else {
        let message = match request.in_design() {
            Some((task, _)) => format!("{task} has no design yet"),
            None => "no subtask is worked on".to_owned(),
        };
        let rejected = Rejected::rule(Code::GateNotDue, message);
        return Err(rejected.next(NextStep::NextOfSession).into());
    };
    if let Some(named) = named.filter(|named| *named != id) {
        let message = format!("{id} is worked on, not {named}");
        let rejected = Rejected::rule(Code::GateNotDue, message);
        return Err(rejected.next(NextStep::NextOfSession).into());
    }
    let (task, id, state) = (task.clone(), id.clone(), state.clone());
    Ok(Subject { request, task, id, state })
}

fn check_gate(
    project: &mut Project,
    subject: &Subject,
    (gate, look): (Gate, Look),
    (report, echo): (Option<&GivenReport>, &mut dyn io::Write),
) -> Result<CheckedGate, EngineError> {
    let points = match report {
        Some(report) => report.points(project, subject, (gate, &look.work))?,
        None => Vec::new(),
    };
    let before = look.inputs.clone();
    let look = match report.filter(|_| !points.is_empty()) {
        Some(report) => with_report(look, &report.hash),
        None => look,
    };
    let is_overridden = subject.state.is_overridden(gate, &look.work);
    if subject.state.looks.get(&gate) == Some(&look) && !is_overridden {
        let holds = subject.state.has_passed(gate, &look.work);
        let faults = if holds { Vec::new() } else { unchanged(&subject.state) };
        return Ok(CheckedGate { gate, holds, faults, evidence: Vec::new(), is_repeated: true });
    }
    is_time(project, subject, gate, &look)?;
    keep_judged(project, subject, gate)?;
    let finding = match is_overridden {
        true => passed_by_person(gate, &look),
        false => {
            let report = report.map(|it| ReportGiven { path: &it.path, points: &points });
            evaluate(project, (subject, gate), report, echo)?
        }
    };
    let after = look_of(project, subject, gate)?;
    let is_same = match gate {
        // What Waypost's own run of the tests showed was written into the result.
        Gate::Gate2 => after.work == look.work,
        Gate::Gate1 | Gate::Gate3 | Gate::Gate4 => after.inputs == before,
    };
    if !is_same || finding.tree != after.tree {
        // The verdict is about files that are not there any more.
        let message = format!("files have changed while {gate} of {} was looked at", subject.id);
        return Err(Rejected::rule(Code::FilesChanged, message).next(NextStep::CheckGates).into());
    }
    let look = if gate == Gate::Gate2 { after } else { look };
    let base = match gate {
        Gate::Gate2 if finding.holds => next_base(project, subject)?,
        _ => None,
    };
    let (holds, faults) = (finding.holds, finding.faults.clone());
    let evidence = finding.evidence.clone();
    let (id, work) = (subject.id.clone(), look.work.clone());
    let open = finding.is_only_open().then(|| finding.unproven(&id));
    let finding = Box::new(finding);
    give(project, Command::Judge { subtask: id, finding, look, base })?;
    if let Some(open) = open {
        return Err(open.into());
    }
    let is_sent_back = subject.state.sent_back.as_ref() == Some(&work);
    if holds && is_sent_back {
        let faults = unchanged(&subject.state);
        return Ok(CheckedGate { gate, holds: false, faults, evidence, is_repeated: true });
    }
    Ok(CheckedGate { gate, holds, faults, evidence, is_repeated: false })
}

/// With a report the same work is looked at again.
fn with_report(look: Look, report: &str) -> Look {
    let inputs = hash::sha256_hex(format!("{} {report}", look.inputs).as_bytes());
    Look { inputs, report: Some(report.to_owned()), ..look }
}

/// What a person has passed for this work is not looked at again.
fn passed_by_person(gate: Gate, look: &Look) -> GateFinding {
    GateFinding {
        gate,
        holds: true,
        faults: Vec::new(),
        open: Vec::new(),
        evidence: vec!["a person has passed it for this work".to_owned()],
        tree: look.tree.clone(),
        leads_to: None,
    }
}

/// What an agent wrote for this gate stays readable after it is written over: knowledge is learned from it.
fn keep_judged(project: &Project, subject: &Subject, gate: Gate) -> Result<(), EngineError> {
    let kind = match gate {
        Gate::Gate1 => Kind::TestContract,
        Gate::Gate2 => Kind::TestResult,
        Gate::Gate3 | Gate::Gate4 => return Ok(()),
    };
    let place = place_of(&subject.request, Some(&subject.task), Some(&subject.id));
    contracts::keep(project, kind, &place)
}

/// Nothing was changed since it did not hold.
fn unchanged(state: &SubtaskState) -> Vec<String> {
    let said = state.faults.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    vec![format!("nothing was changed since it did not hold{said}")]
}

/// Refuses before anything is run what would be refused after it.
fn is_time(
    project: &mut Project,
    subject: &Subject,
    gate: Gate,
    look: &Look,
) -> Result<(), EngineError> {
    let (actor, now) = (project.actor().clone(), project.clock().now());
    let finding = GateFinding {
        gate,
        holds: true,
        faults: Vec::new(),
        open: Vec::new(),
        evidence: Vec::new(),
        tree: None,
        leads_to: None,
    };
    let (subtask, look) = (subject.id.clone(), look.clone());
    let command = Command::Judge { subtask, finding: Box::new(finding), look, base: None };
    let asked = Asked { by: &actor, now };
    project.session()?.decide(&command, &asked)?;
    Ok(())
}

/// What the configuration says about how tests are run.
fn how_tests_run(project: &Project) -> String {
    let values = &project.configuration().values;
    let session = &values.session;
    format!(
        "{:?}",
        (
            session.test_command(),
            &session.test_env,
            session.test_timeout_seconds,
            values.worktree.setup()
        )
    )
}

/// What a gate is looked at: the tree, and the contracts that count for it.
fn look_of(project: &Project, subject: &Subject, gate: Gate) -> Result<Look, EngineError> {
    let tree = content(project.place())?;
    let named = tree.clone().unwrap_or_else(|| "no tree".to_owned());
    let of_task = place_of(&subject.request, Some(&subject.task), None);
    let of_subtask = place_of(&subject.request, Some(&subject.task), Some(&subject.id));
    let text = |kind, place| contracts::text(project, kind, place);
    let hashed = |bytes: Option<Vec<u8>>| bytes.map(|bytes| hash::sha256_hex(&bytes));
    let design = hashed(text(Kind::DesignContract, &of_task)?);
    let tests = hashed(text(Kind::TestContract, &of_subtask)?);
    let result = hashed(text(Kind::TestResult, &of_subtask)?);
    let brief = hashed(text(Kind::DesignBrief, &of_task)?);
    let join = |parts: &[&Option<String>]| {
        let parts = parts.iter().map(|part| part.as_deref().unwrap_or("-"));
        hash::sha256_hex(parts.collect::<Vec<_>>().join(" ").as_bytes())
    };
    let work = join(&[&Some(named), &brief, &design, &tests]);
    let (contract, more) = match gate {
        Gate::Gate1 => (tests, None),
        Gate::Gate2 => {
            // With another command the tests may say something else about the same work.
            let more = join(&[&result, &Some(how_tests_run(project))]);
            (result, Some(more))
        }
        Gate::Gate3 | Gate::Gate4 => (None, None),
    };
    let inputs = join(&[&Some(work.clone()), &None, &more]);
    Ok(Look { tree, work, inputs, contract, report: None })
}

fn evaluate(
    project: &mut Project,
    (subject, gate): (&Subject, Gate),
    report: Option<ReportGiven<'_>>,
    echo: &mut dyn io::Write,
) -> Result<GateFinding, EngineError> {
    let about = SubtaskSubject {
        request: subject.request.id.clone(),
        task: subject.task.clone(),
        subtask: subject.id.clone(),
        base: subject.state.base.clone(),
    };
    match gate {
        Gate::Gate1 => session_gates::judge_test_contract(project, &about),
        Gate::Gate2 => session_gates::judge_tests(project, &about, echo),
        Gate::Gate3 => session_gates::judge_scope(project, &about, report),
        Gate::Gate4 => session_gates::judge_layers(project, &about, report),
    }
}

/// Whether the files of a task are those that its last subtask has passed GATE-2 with, by a person or by
/// a look. The project is open in the task's work tree.
pub(super) fn is_as_judged(
    project: &Project,
    request: &RequestState,
    task: &SessionTaskId,
) -> Result<bool, EngineError> {
    let subtasks = request.tasks.get(task).map(|it| &it.subtasks);
    let Some((id, state)) = subtasks.and_then(|it| it.iter().last()) else { return Ok(true) };
    if state.overridden.contains(&Gate::Gate2) {
        return Ok(true);
    }
    let (request, task, id, state) = (request.clone(), task.clone(), id.clone(), state.clone());
    let subject = Subject { request, task, id, state };
    let now = look_of(project, &subject, Gate::Gate2)?;
    let by_person = subject.state.overrides.get(&Gate::Gate2);
    let judged = subject.state.looks.get(&Gate::Gate2).map(|judged| &judged.work);
    Ok(by_person.or(judged).is_none_or(|work| *work == now.work))
}

/// The tree as it is, for the subtask that begins when this one is completed.
fn next_base(project: &Project, subject: &Subject) -> Result<Option<String>, EngineError> {
    let task = subject.request.tasks.get(&subject.task);
    let pending = task.and_then(|task| {
        task.subtasks.iter().find(|(_, it)| it.status == Status::Pending).map(|(id, _)| id)
    });
    match pending {
        Some(id) => keep_base(project, project.place(), (&subject.request.id, id)),
        None => Ok(None),
    }
}

/// Passes a gate without evidence. By a person only, with a reason.
pub fn override_gate(
    project: &mut Project,
    named: Option<&SubtaskId>,
    gate: Gate,
    reason: &str,
) -> Result<(), EngineError> {
    project.refuse_stale()?;
    is_here(project)?;
    if !project.actor().is_person() {
        return Err(Rejected::reserved("overriding a gate").into());
    }
    match apart::workplace(project)? {
        Some(mut own) => override_here(&mut own, named, gate, reason),
        None => override_here(project, named, gate, reason),
    }
}

fn override_here(
    project: &mut Project,
    named: Option<&SubtaskId>,
    gate: Gate,
    reason: &str,
) -> Result<(), EngineError> {
    let subject = at_work(project, named)?;
    let (subtask, reason) = (subject.id.clone(), reason.to_owned());
    let work = look_of(project, &subject, gate)?.work;
    let command = |base| Command::Override {
        subtask: subtask.clone(),
        gate,
        reason: reason.clone(),
        work: Some(work.clone()),
        base,
    };
    // What is refused anyway asks for no PIN.
    let (actor, now) = (project.actor().clone(), project.clock().now());
    project.session()?.decide(&command(None), &Asked { by: &actor, now })?;
    pin::confirm(project, "overriding a gate")?;
    let base = match gate {
        Gate::Gate2 => next_base(project, &subject)?,
        _ => None,
    };
    give(project, command(base)).map(drop)
}
