//! A session as data.

use crate::{error::CliError, spelling};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use waypost_engine::{
    Project,
    sessions::{
        self, CheckedGate, FoundSession, GateCheck, NextCall, PastRequest, PlanOutcome,
        SessionBegun, SessionNext,
    },
};
use waypost_model::{
    document::session::{SessionFile, SessionState, SubtaskPhase},
    session::{Assumption, AssumptionFate, RequestState, Role, Session},
};

/// How the session stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionReport {
    /// Where its files are; none: there is no work tree.
    pub(crate) folder: Option<PathBuf>,
    /// What `session.json` shows; none: no session has begun.
    pub(crate) session: Option<SessionFile>,
    /// What `state.json` shows; none: nothing was requested.
    pub(crate) state: Option<SessionState>,
    /// The path that the project had when its session was last here; none: it is the same.
    pub(crate) moved_from: Option<String>,
    /// Where the present task is worked on, if that is a work tree of its own.
    pub(crate) work_tree: Option<PathBuf>,
    /// What waits for a person.
    pub(crate) held: Vec<HeldLine>,
    pub(crate) assumptions: Vec<AssumptionLine>,
    pub(crate) subtasks_completed: u32,
    pub(crate) subtasks_total: u32,
}

/// Something that waits for a person.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HeldLine {
    pub(crate) what: String,
    pub(crate) why: String,
}

/// What became of an assumption of the plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AssumptionLine {
    pub(crate) number: usize,
    pub(crate) text: String,
    pub(crate) verdict: AssumptionFate,
    pub(crate) how: String,
}

fn assumptions(found: &[Assumption]) -> Vec<AssumptionLine> {
    let line = |(at, it): (usize, &Assumption)| AssumptionLine {
        number: at + 1,
        text: it.text.clone(),
        verdict: it.verdict,
        how: it.how.clone(),
    };
    found.iter().enumerate().map(line).collect()
}

impl SessionReport {
    pub(crate) fn of(project: &mut Project) -> Result<Self, CliError> {
        let folder = sessions::folder(project).ok();
        let here = sessions::facts(project).ok();
        let work_tree = sessions::task_folder(project)?;
        let here = here.map(|facts| facts.path);
        Ok(Self { work_tree, ..Self::new(project.session()?, folder, here) })
    }

    fn new(session: &Session, folder: Option<PathBuf>, here: Option<String>) -> Self {
        let request = session.request();
        let held = |request: &RequestState| {
            let line = |it: &waypost_model::session::HeldUp| HeldLine {
                what: it.hold.to_string(),
                why: it.why.clone(),
            };
            request.held.iter().map(line).collect()
        };
        let (subtasks_completed, subtasks_total) =
            request.map(RequestState::progress).unwrap_or_default();
        let path = session.facts().map(|facts| facts.project.path.clone());
        Self {
            folder,
            session: session.render_session(),
            state: session.render_state(),
            work_tree: None,
            moved_from: path.filter(|path| here.as_ref().is_some_and(|here| here != path)),
            held: request.map(held).unwrap_or_default(),
            assumptions: request.map(|it| assumptions(&it.assumptions)).unwrap_or_default(),
            subtasks_completed,
            subtasks_total,
        }
    }
}

/// A session that was begun, goes on or was moved.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionBegunLine<'a> {
    pub(crate) folder: &'a Path,
    /// Files that were there and are the beginning now.
    pub(crate) taken_over: Vec<&'a Path>,
    /// Whether a session was active before.
    pub(crate) was_active: bool,
    /// Files of other sessions that were active and are stopped now.
    pub(crate) stopped: Vec<&'a Path>,
}

impl<'a> From<&'a SessionBegun> for SessionBegunLine<'a> {
    fn from(begun: &'a SessionBegun) -> Self {
        Self {
            folder: &begun.folder,
            taken_over: begun.taken_over.iter().map(PathBuf::as_path).collect(),
            was_active: begun.was_active,
            stopped: begun.stopped.iter().map(PathBuf::as_path).collect(),
        }
    }
}

/// A session on disk.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionFoundLine<'a> {
    pub(crate) hash: &'a str,
    pub(crate) folder: &'a Path,
    /// Whether it is the one of this project.
    pub(crate) here: bool,
    /// What its `session.json` says; none: it is missing or cannot be read.
    pub(crate) session: Option<&'a SessionFile>,
    /// What is wrong with it.
    pub(crate) fault: Option<&'a str>,
}

impl<'a> From<&'a FoundSession> for SessionFoundLine<'a> {
    fn from(found: &'a FoundSession) -> Self {
        Self {
            hash: found.hash.as_str(),
            folder: &found.folder,
            here: found.is_here,
            session: found.file.as_ref(),
            fault: found.fault.as_deref(),
        }
    }
}

/// A request as it is, or as it was left.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionRequestLine {
    /// The number of the session that it was made in.
    pub(crate) session: u32,
    /// As `state.json` shows or showed it.
    pub(crate) state: SessionState,
    pub(crate) assumptions: Vec<AssumptionLine>,
    /// What was learned on the way.
    pub(crate) lessons: Vec<String>,
    /// How often something was tried again.
    pub(crate) retries: u32,
}

impl From<&PastRequest> for SessionRequestLine {
    fn from(past: &PastRequest) -> Self {
        Self {
            session: past.session,
            state: past.state.render(),
            assumptions: assumptions(&past.state.assumptions),
            lessons: past.state.lessons.clone(),
            retries: past.state.retries,
        }
    }
}

/// What a plan came to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionPlanLine {
    /// Whether the planner makes another one.
    pub(crate) sent_back: bool,
    /// Why it cannot be worked on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) faults: Vec<String>,
    pub(crate) assumptions: Vec<AssumptionLine>,
    pub(crate) tasks: usize,
    pub(crate) subtasks: usize,
}

impl From<&PlanOutcome> for SessionPlanLine {
    fn from(outcome: &PlanOutcome) -> Self {
        Self {
            sent_back: outcome.is_sent_back,
            faults: outcome.faults.clone(),
            assumptions: assumptions(&outcome.assumptions),
            tasks: outcome.tasks,
            subtasks: outcome.subtasks,
        }
    }
}

/// What comes next.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionNextReport {
    /// Whether agents are called, a command is given, a person is asked, or nothing is left.
    pub(crate) what: NextWord,
    /// The agents that are called; several at the same time.
    pub(crate) calls: Vec<SessionCallLine>,
    /// The command that is given, where one is.
    pub(crate) command: Option<String>,
    /// Why, where no agent is called.
    pub(crate) why: Option<String>,
    /// What waits for a person.
    pub(crate) hold: Option<String>,
    /// Assumptions of the plan whose outcome has to be said with the command.
    pub(crate) assumptions: Vec<OpenAssumption>,
}

/// What kind of thing comes next.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NextWord {
    Call,
    Command,
    Wait,
    Done,
}

/// An assumption whose outcome has to be said.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OpenAssumption {
    pub(crate) number: usize,
    pub(crate) text: String,
}

/// An agent that is called.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionCallLine {
    /// Names the call, as in `design/T1`.
    pub(crate) call: String,
    pub(crate) role: Role,
    /// What it is to do.
    pub(crate) task: String,
    /// The folder that it works in; none: the project's own.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) inputs: Vec<PathBuf>,
    /// The contract or the report that it writes; none: it writes code.
    pub(crate) output: Option<PathBuf>,
    /// The kind of that contract, whose schema `waypost schema KIND` prints; none: a report.
    pub(crate) kind: Option<&'static str>,
    pub(crate) not_before: Option<String>,
    /// Why what it did before does not do, or what a report has to confirm.
    pub(crate) faults: Vec<String>,
    /// The command that is given when it is done.
    pub(crate) then: String,
}

impl From<&NextCall> for SessionCallLine {
    fn from(call: &NextCall) -> Self {
        Self {
            call: call.call.to_string(),
            role: call.role,
            task: call.task.clone(),
            folder: call.folder.clone(),
            inputs: call.inputs.clone(),
            output: call.output.clone(),
            kind: call.kind.map(waypost_model::document::Kind::name),
            not_before: call.not_before.map(|at| at.to_string()),
            faults: call.faults.clone(),
            then: spelling::command_line(&call.then),
        }
    }
}

impl SessionNextReport {
    pub(crate) fn of(next: &SessionNext) -> Self {
        let nothing = Self {
            what: NextWord::Done,
            calls: Vec::new(),
            command: None,
            why: None,
            hold: None,
            assumptions: Vec::new(),
        };
        match next {
            SessionNext::Call(calls) => Self {
                what: NextWord::Call,
                calls: calls.iter().map(SessionCallLine::from).collect(),
                ..nothing
            },
            SessionNext::Do { step, why, assumptions } => Self {
                what: NextWord::Command,
                command: Some(spelling::command_line(step)),
                why: Some(why.clone()),
                assumptions: assumptions
                    .iter()
                    .map(|(number, text)| OpenAssumption { number: *number, text: text.clone() })
                    .collect(),
                ..nothing
            },
            SessionNext::Wait { hold, why } => Self {
                what: NextWord::Wait,
                hold: Some(hold.to_string()),
                why: Some(why.clone()),
                command: Some("waypost inbox".to_owned()),
                ..nothing
            },
            SessionNext::Done => nothing,
        }
    }
}

/// What looking at gates came to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionGatesReport<'a> {
    pub(crate) subtask: &'a str,
    /// Whether every gate that was looked at holds.
    pub(crate) holds: bool,
    pub(crate) before: SubtaskPhase,
    pub(crate) after: SubtaskPhase,
    /// Whether the task is in design again.
    pub(crate) in_design: bool,
    /// What waits for a person now.
    pub(crate) hold: Option<String>,
    pub(crate) gates: Vec<SessionGateLine<'a>>,
}

/// A gate that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionGateLine<'a> {
    pub(crate) gate: &'static str,
    pub(crate) holds: bool,
    pub(crate) faults: &'a [String],
    pub(crate) evidence: &'a [String],
    /// The same was looked at before, and nothing was looked at again.
    pub(crate) repeated: bool,
}

impl<'a> From<&'a GateCheck> for SessionGatesReport<'a> {
    fn from(checked: &'a GateCheck) -> Self {
        let line = |it: &'a CheckedGate| SessionGateLine {
            gate: it.gate.name(),
            holds: it.holds,
            faults: &it.faults,
            evidence: &it.evidence,
            repeated: it.is_repeated,
        };
        Self {
            subtask: checked.subtask.as_str(),
            holds: checked.holds(),
            before: checked.before,
            after: checked.after,
            in_design: checked.is_in_design,
            hold: checked.held.as_ref().map(ToString::to_string),
            gates: checked.gates.iter().map(line).collect(),
        }
    }
}
