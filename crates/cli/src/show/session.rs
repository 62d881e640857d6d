//! A session in words: the request, its tasks and subtasks with their gates.

use super::one_line;
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW, styled};
use std::fmt::Write as _;
use waypost_model::{
    document::session::{GateStatus, GlobalPhase, SessionStatus, Status, SubtaskPhase},
    session::{RequestState, Session, SessionTaskState, SubtaskState},
};

/// The longest name on a line.
const NAME_LENGTH: usize = 70;

pub(crate) fn status_word(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Active => "active",
        SessionStatus::Completed => "completed",
        SessionStatus::Stopped => "stopped",
    }
}

pub(crate) fn phase_word(phase: SubtaskPhase) -> &'static str {
    match phase {
        SubtaskPhase::TestFirst => "test_first",
        SubtaskPhase::Implementation => "implementation",
        SubtaskPhase::Verification => "verification",
        SubtaskPhase::Complete => "complete",
    }
}

fn global_word(phase: GlobalPhase) -> &'static str {
    match phase {
        GlobalPhase::GlobalDiscovery => "global_discovery",
        GlobalPhase::TaskLoop => "task_loop",
        GlobalPhase::Complete => "complete",
    }
}

/// How the session stands, in a few lines.
pub(crate) fn text(session: &Session) -> String {
    let Some(facts) = session.facts() else { return String::new() };
    let name = &facts.project.name;
    let mut text = format!("{}  {}\n", styled(BOLD, name), status_word(facts.status));
    match session.request() {
        Some(found) => text.push_str(&request(found)),
        None => text.push_str("  nothing is requested\n"),
    }
    text
}

/// One request with its tasks.
pub(crate) fn request(request: &RequestState) -> String {
    let (completed, total) = request.progress();
    let counts = if total > 0 { format!(" ({completed}/{total} subtasks)") } else { String::new() };
    let phase = match request.status {
        SessionStatus::Active => global_word(request.phase),
        status => status_word(status),
    };
    let (id, words) = (styled(BOLD, &request.id), one_line(&request.text, NAME_LENGTH));
    let mut text = format!("{id}  {phase}{counts}  {words}\n");
    for (id, task) in request.tasks.iter() {
        text.push_str(&task_text(id.as_str(), task));
        if let Some(tree) = request.open_tree(id) {
            let _infallible = writeln!(text, "{}", styled(DIM, format!("    in {tree}")));
        }
    }
    for held in &request.held {
        let why = format!("  {} waits for a person: {}", held.hold, held.why);
        let _infallible = writeln!(text, "{}", styled(YELLOW, one_line(&why, 200)));
    }
    text
}

fn word_of(status: Status) -> String {
    match status {
        Status::Pending => format!("{:11}", "pending"),
        Status::InProgress => styled(YELLOW, format!("{:11}", "in_progress")),
        Status::Completed => styled(GREEN, format!("{:11}", "completed")),
    }
}

fn task_text(id: &str, task: &SessionTaskState) -> String {
    let is_in_design = task.status == Status::InProgress && task.current_subtask.is_none();
    let design = if is_in_design { styled(DIM, "  in design") } else { String::new() };
    let name = one_line(&task.name, NAME_LENGTH);
    let mut text = format!("  {} {id}  {name}{design}\n", word_of(task.status));
    for (id, subtask) in task.subtasks.iter() {
        text.push_str(&subtask_text(id.as_str(), subtask));
    }
    text
}

fn subtask_text(id: &str, subtask: &SubtaskState) -> String {
    let name = one_line(&subtask.name, NAME_LENGTH);
    let mut more = String::new();
    if subtask.status == Status::InProgress {
        let gates = subtask.gates;
        let numbered = [gates.tests_written, gates.tests_pass, gates.in_scope, gates.design_kept];
        let shown = numbered.iter().enumerate().filter_map(|(at, gate)| {
            let word = match (*gate)? {
                GateStatus::Pending => return None,
                GateStatus::Passed => styled(GREEN, format!("GATE-{}", at + 1)),
                GateStatus::Failed => styled(RED, format!("GATE-{} failed", at + 1)),
            };
            Some(word)
        });
        let shown: Vec<String> = shown.collect();
        more = format!("  {}  {}", styled(DIM, phase_word(subtask.phase)), shown.join(" "));
    }
    let mut text = format!("    {} {id}  {name}{}\n", word_of(subtask.status), more.trim_end());
    for fault in &subtask.faults {
        let _infallible = writeln!(text, "                  {}", one_line(fault, 200));
    }
    text
}
