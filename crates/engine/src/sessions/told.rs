//! A session in words, for an agent that has to know where the work stands.

use crate::spelling::Spelling;
use std::fmt::Write as _;
use waypost_model::{
    document::session::{GlobalPhase, Status},
    next::NextStep,
    session::{RequestState, Session},
    text::one_line,
};

/// How much of a request's text is told; the whole of it is in the session's files.
const TEXT_CHARS: usize = 400;

/// Where the active request stands, and what it was asked for; nothing where none is active.
pub(crate) fn told(session: &Session, spelling: Spelling) -> Option<(String, String)> {
    let request = session.active_request()?;
    let mut text = format!(
        "Session: request {} is in {}: {}",
        request.id,
        match request.phase {
            GlobalPhase::GlobalDiscovery => "global_discovery",
            GlobalPhase::TaskLoop => "task_loop",
            GlobalPhase::Complete => "complete",
        },
        one_line(&request.text, TEXT_CHARS)
    );
    for (id, task) in request.tasks.iter() {
        let word = match task.status {
            Status::Pending => "pending",
            Status::InProgress => "in progress",
            Status::Completed => "completed",
        };
        let _infallible = write!(text, "\n{id} {}: {word}", task.name);
    }
    at_work(request, &mut text);
    for held in &request.held {
        let _infallible = write!(text, "\n{} waits for a person: {}", held.hold, held.why);
    }
    let _infallible =
        write!(text, "\nWhat comes next is said by: {}", spelling(&NextStep::NextOfSession));
    Some((text, request.text.clone()))
}

fn at_work(request: &RequestState, text: &mut String) {
    if let Some((id, _)) = request.in_design() {
        let _infallible = write!(text, "\n{id} is in design.");
    }
    let Some((_, id, subtask)) = request.at_work() else { return };
    let gates: Vec<String> = subtask.due().iter().map(ToString::to_string).collect();
    let _infallible = write!(
        text,
        "\n{id} {} is worked on; {} lead{} on from its phase.",
        subtask.name,
        gates.join(", "),
        if gates.len() == 1 { "s" } else { "" }
    );
    for fault in &subtask.faults {
        let _infallible = write!(text, "\na gate did not hold: {fault}");
    }
    for point in subtask.open.iter().flat_map(|open| &open.points) {
        let _infallible = write!(text, "\na report has to confirm: {point}");
    }
}
