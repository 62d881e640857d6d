//! What goes wrong in the demo on purpose, and where the journal shows that it was survived.

use crate::{
    error::CliError,
    output::{CYAN, DIM, GREEN, styled},
};
use waypost_engine::{Project, Recorded};
use waypost_model::{code::Code, id::TaskId, run::Event};

/// One thing that goes wrong, as `agents.json` stages it.
pub(super) struct Fault {
    /// The tasks that may meet it; one of them does.
    tasks: &'static [&'static str],
    /// What happens to it.
    staged: &'static str,
    /// How the run gets over it.
    survived: &'static str,
    /// How it is seen in the journal.
    sign: Sign,
}

/// What an event tells about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Failed,
    Parked,
    Asked,
    Completed,
}

/// In the order in which they happen.
const FAULTS: &[Fault] = &[
    Fault {
        tasks: &["T0.4"],
        staged: "the agent's process dies",
        survived: "it is started again and continues the same conversation",
        sign: Sign::Failed,
    },
    Fault {
        tasks: &["T1.1"],
        staged: "the agent says it is done, its verify command says no",
        survived: "it is told why and tries again",
        sign: Sign::Failed,
    },
    Fault {
        tasks: &["T1.4"],
        staged: "the agent reaches its usage limit",
        survived: "it waits until the limit resets; no retry is spent",
        sign: Sign::Parked,
    },
    Fault {
        tasks: &["T2.4", "T2.5"],
        staged: "two agents change the same file",
        survived: "the second one does its work again on top of the first",
        sign: Sign::Failed,
    },
    Fault {
        tasks: &["T3.2"],
        staged: "the agent asks a person",
        survived: "the question waits in the inbox, its answer resumes the agent",
        sign: Sign::Asked,
    },
];

/// The list that is shown before anything is done.
pub(super) fn announced() -> Vec<String> {
    let line = |fault: &Fault| format!("  {}  {}", styled(CYAN, names(fault)), fault.staged);
    FAULTS.iter().map(line).collect()
}

fn names(fault: &Fault) -> String {
    format!("{:10}", fault.tasks.join(", "))
}

/// Where each fault happened and was survived, by the numbers of events; what cannot be shown is a
/// failure of the demo.
pub(super) fn survived(project: &mut Project) -> Result<Vec<String>, CliError> {
    let events = project.log(usize::MAX, |entry| entry.stream == Project::run_stream())?;
    FAULTS.iter().map(|fault| proof(fault, &events)).collect()
}

fn proof(fault: &Fault, events: &[Recorded]) -> Result<String, CliError> {
    let found = fault.tasks.iter().find_map(|task| {
        let signs = events.iter().filter_map(|entry| Some((entry.seq, sign(entry)?)));
        let mut signs = signs.filter(|(_, (id, _))| id.as_str() == *task);
        let mut find = |wanted| signs.find(|(_, (_, sign))| *sign == wanted).map(|(seq, _)| seq);
        Some((task, find(fault.sign)?, find(Sign::Completed)?))
    });
    let Some((task, staged, done)) = found else {
        let tasks = fault.tasks.join(", ");
        let message = format!("the journal does not show how {tasks} was survived");
        return Err(CliError::new(Code::DemoFault, message).hint(fault.staged));
    };
    let events = styled(DIM, format!("(events {staged} to {done})"));
    Ok(format!(
        "  {}  {}\n        {} {events}",
        styled(CYAN, task),
        fault.staged,
        styled(GREEN, fault.survived)
    ))
}

/// The task that an event is about, and what it tells.
fn sign(entry: &Recorded) -> Option<(TaskId, Sign)> {
    match serde_json::from_str(&entry.body).ok()? {
        Event::AttemptFailed { id, .. } => Some((id, Sign::Failed)),
        Event::AttemptParked { id, .. } => Some((id, Sign::Parked)),
        Event::AgentAsked { id, .. } => Some((id, Sign::Asked)),
        Event::TaskCompleted { id, .. } => Some((id, Sign::Completed)),
        _ => None,
    }
}
