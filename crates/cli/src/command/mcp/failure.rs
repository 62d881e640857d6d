//! Errors as an agent over MCP reads them: a code, a sentence, and the tool that leads on.

use crate::error::CliError;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use waypost_mcp::ToolFailure;
use waypost_model::next::NextStep;

pub(super) fn told(error: &CliError) -> ToolFailure {
    let line = error.line();
    let body = &line.error;
    let mut text = format!("{}: {}", body.kind, body.message);
    for hint in body.hints {
        let _infallible = write!(text, "\nhint: {hint}");
    }
    let steps: Vec<Value> = error.next_steps().iter().map(step).collect();
    for step in error.next_steps() {
        let _infallible = write!(text, "\nnext: {}", spelled(step));
    }
    for file in &body.files {
        for finding in file.findings {
            let place =
                finding.place.map_or(String::new(), |it| format!(":{}:{}", it.line, it.column));
            let _infallible = write!(text, "\n{}{place}: {}", file.file.display(), finding.message);
        }
    }
    let mut data = Map::new();
    data.insert("code".into(), json!(body.kind));
    data.insert("exit_code".into(), json!(body.code));
    data.insert("message".into(), json!(body.message));
    data.insert("hints".into(), json!(body.hints));
    data.insert("next_steps".into(), Value::Array(steps));
    data.insert("files".into(), serde_json::to_value(&body.files).unwrap_or_default());
    ToolFailure { text, data }
}

/// A step in words: a call of ours where there is one, else what is typed.
fn spelled(step: &NextStep) -> String {
    match call(step) {
        Some((tool, arguments)) => format!("{tool} {arguments}"),
        None => waypost_hook::spelling::advice(step),
    }
}

fn step(step: &NextStep) -> Value {
    let mut told = serde_json::to_value(step).unwrap_or_default();
    told["command"] = json!(waypost_hook::spelling::command_line(step));
    told["reserved_for_a_person"] = json!(step.is_reserved());
    if let Some((tool, arguments)) = call(step) {
        told["tool"] = json!(tool);
        told["arguments"] = arguments;
    }
    told
}

/// The tool that does a step, with what it is told.
fn call(step: &NextStep) -> Option<(&'static str, Value)> {
    work_call(step).or_else(|| memory_call(step)).or_else(|| session_call(step))
}

/// A step of the workflow or the run, or one about the inbox.
fn work_call(step: &NextStep) -> Option<(&'static str, Value)> {
    use NextStep as S;
    Some(match step {
        S::ShowStatus | S::ShowRun | S::ShowWorkflow => ("status", json!({})),
        S::ShowReady | S::BeginRun => ("task_next", json!({})),
        S::StartTask { id } => ("task_start", json!({ "id": id })),
        S::CompleteTask { id } => ("task_done", json!({ "id": id })),
        S::FailTask { id } => ("task_fail", json!({ "id": id, "reason": "…" })),
        S::ExplainTask { id } => ("task_why", json!({ "id": id })),
        S::StartFeature => ("workflow_start", json!({ "feature": "…" })),
        S::Advance => ("workflow_advance", json!({})),
        S::AdvanceWithCheckpoints => ("workflow_advance", json!({ "checkpoints": ["cp-1"] })),
        S::GoBack => ("workflow_back", json!({})),
        S::PassGate { gate } => ("gate_pass", json!({ "gate": gate })),
        S::PassGateOrReport { gate } | S::ReportGate { gate } => {
            ("gate_pass", json!({ "gate": gate, "report": "review.md" }))
        }
        S::ResetGate { gate } => ("gate_reset", json!({ "gate": gate })),
        S::StartCheckpoint { id } => ("checkpoint_start", json!({ "id": id })),
        S::PassCheckpoint { id } => ("checkpoint_pass", json!({ "id": id })),
        S::FailCheckpoint { id } => ("checkpoint_fail", json!({ "id": id })),
        S::ShowInbox => ("inbox_list", json!({})),
        S::ShowEntry { id } => ("question_answer", json!({ "id": id })),
        S::ValidateFile { file } => ("validate", json!({ "file": file })),
        S::NewServedTask => ("server_task_new", json!({ "title": "…" })),
        S::ListServedTasks => ("server_task_list", json!({})),
        S::ShowServedTask { task } => ("server_task_show", json!({ "id": task })),
        S::SubmitServedTask { task } => ("server_task_submit", json!({ "id": task })),
        _ => return None,
    })
}

/// A step of the memory.
fn memory_call(step: &NextStep) -> Option<(&'static str, Value)> {
    use NextStep as S;
    let task = |action: &str| ("memory_task", json!({ "action": action }));
    let of_step =
        |action: &str, number: &u32| ("memory_step", json!({ "action": action, "step": number }));
    Some(match step {
        S::ShowMemory | S::ShowStep { .. } => ("memory_state", json!({})),
        S::NewMemoryTask => ("memory_task", json!({ "action": "new", "name": "…" })),
        S::StartMemoryTask => task("start"),
        S::ResumeMemoryTask => task("resume"),
        S::RecoverMemoryTask => task("recover"),
        S::CompleteMemoryTask => task("complete"),
        S::CompletePartially => ("memory_task", json!({ "action": "complete", "partial": true })),
        S::Replan => task("replan"),
        S::AddStep => ("memory_step", json!({ "action": "add", "name": "…" })),
        S::StartStep { number } => of_step("start", number),
        S::CompleteStep { number } => of_step("complete", number),
        S::RetryStep { number } => of_step("retry", number),
        S::RetryStepWith { number } => {
            ("memory_step", json!({ "action": "retry", "step": number, "agent": "…" }))
        }
        S::EscalateStep { number } => of_step("escalate", number),
        _ => return None,
    })
}

/// A step of the session, or one about contracts and knowledge.
fn session_call(step: &NextStep) -> Option<(&'static str, Value)> {
    use NextStep as S;
    Some(match step {
        S::ShowSession => ("session_status", json!({})),
        S::ListSessions => ("session_list", json!({})),
        // It begins a session where there is none.
        S::StartSession | S::RequestWork => ("session_request", json!({ "text": "…" })),
        S::RequestInstead => ("session_request", json!({ "text": "…", "stop_current": true })),
        S::ResumeSession => ("session_resume", json!({})),
        S::StopSession => ("session_stop", json!({})),
        S::CompleteSession => ("session_complete", json!({})),
        S::RelocateSession => ("session_relocate", json!({})),
        S::PlanSession => ("session_plan", json!({})),
        S::PlanWithAssumption => ("session_plan", json!({ "assumptions": ["1=held"] })),
        S::NextOfSession => ("session_next", json!({})),
        S::CheckGates => ("session_gate_check", json!({})),
        S::ReportGates => ("session_gate_check", json!({ "report": "report.md" })),
        S::ListContracts => ("contract_list", json!({})),
        S::ShowKnowledge => ("knowledge_show", json!({})),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::mcp::tools::TOOLS;

    #[test]
    fn every_call_is_one_that_there_is_a_tool_for() {
        let mut told = 0;
        for step in NextStep::examples() {
            let Some((tool, arguments)) = call(&step) else { continue };
            let row = TOOLS.iter().find(|row| row.name == tool);
            let schema = row.unwrap_or_else(|| panic!("there is no tool {tool}")).spec().input;
            let given = arguments.as_object().unwrap();
            for name in given.keys() {
                assert!(schema["properties"].get(name).is_some(), "{tool} takes no {name}");
            }
            let required = schema.get("required").and_then(Value::as_array);
            for name in required.into_iter().flatten().filter_map(Value::as_str) {
                assert!(given.contains_key(name), "{tool} needs {name}");
            }
            told += 1;
        }
        assert!(told > 40, "{told}");
    }
}
