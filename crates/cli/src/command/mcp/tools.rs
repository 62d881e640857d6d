//! The table of tools: name, manual, schemas, and the function that does it.

use super::{
    contract_tools as contract, inbox_tools as inbox, memory_tools as memory,
    memory_work_tools as work, run_tools as run, served_tools as served, session_tools as session,
    visit::Visit, workflow_tools as workflow,
};
use crate::{
    data::{
        ContextReport, ContractDiffReport, ContractPut, ContractText, FileValidity, KnowledgeNoted,
        KnowledgeReport, MemoryReport, MemoryTaskReport, NoteReport, SessionGatesReport,
        SessionNextReport, SessionPlanLine, SessionReport, StatusReport, TaskLine, WorkflowReport,
        schema_of,
    },
    error::CliError,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};
use waypost_mcp::ToolSpec;

/// What does a tool's work.
type Run = fn(&mut Visit<'_>, Map<String, Value>) -> Result<Map<String, Value>, CliError>;

/// A tool.
pub(super) struct ToolRow {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: Effect,
    input: fn() -> Value,
    output: fn() -> Value,
    pub(super) run: Run,
}

/// What a call changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Reads,
    /// Calling it twice is the same as once.
    Sets,
    Changes,
}

/// One line for each tool.
macro_rules! tools {
    ($($name:literal $title:literal $effect:ident ($input:ty) -> $output:expr, $run:path, $description:literal;)+) => {
        pub(super) const TOOLS: &[ToolRow] = &[$(ToolRow {
            name: $name,
            title: $title,
            description: $description,
            effect: Effect::$effect,
            input: schema::<$input>,
            output: $output,
            run: $run,
        }),+];
    };
}

tools! {
    "status" "Where everything stands" Reads (Nothing) -> schema_of::<StatusReport<'static>>, workflow::status,
        "The workflow with its gates and checkpoints, the run with its phases, what waits in the inbox, and how far the wall reaches. Call it first.";
    "task_next" "Tasks that can be started" Reads (run::NextInput) -> schema::<run::ReadyTasks<'static>>, run::next,
        "Tasks of TASKS.md that may be started now, the most urgent first. Empty: what runs has to end first, or the run is over.";
    "task_list" "Tasks of the run" Reads (run::ListInput) -> schema::<run::ListedTasks<'static>>, run::list,
        "All tasks of TASKS.md with how each stands, in the order of the plan, or those of one status.";
    "task_start" "Start a task" Changes (run::TaskInput) -> schema_of::<TaskLine<'static>>, run::start,
        "Claims a task for you and begins the run if there is none. Work where `worktree` says, if it says so; remember `attempt`.";
    "task_done" "Complete a task" Changes (run::DoneInput) -> schema_of::<TaskLine<'static>>, run::done,
        "Runs the task's verify commands and completes it if all pass. An older attempt is refused.";
    "task_fail" "Say that a task failed" Changes (run::FailInput) -> schema_of::<TaskLine<'static>>, run::fail,
        "Records that an attempt failed and why. It is tried again until its retries are used up.";
    "task_why" "What holds a task" Reads (run::TaskInput) -> schema::<run::Explained>, run::why,
        "What a task waits for, each reason with the event that made it so.";
    "workflow_start" "Begin a feature" Changes (workflow::StartInput) -> schema_of::<WorkflowReport<'static>>, workflow::start,
        "Begins a feature in DESIGN. Writing, committing and pushing open as its gates are passed.";
    "workflow_advance" "Go on to the next phase" Changes (workflow::AdvanceInput) -> schema_of::<WorkflowReport<'static>>, workflow::advance,
        "Goes on to the next phase if its gate is passed. Out of DESIGN it takes the checkpoints, by id or as a contract file.";
    "workflow_back" "Go back a phase" Changes (Nothing) -> schema_of::<WorkflowReport<'static>>, workflow::back,
        "Goes back to the phase before. Gates that depend on it close.";
    "gate_pass" "Pass a gate" Changes (workflow::GateInput) -> schema_of::<WorkflowReport<'static>>, workflow::pass_gate,
        "Runs what the gate needs (a check, a review, a report with `Blocking: 0`) and passes it if everything holds. What needs a person's word is asked for in the inbox.";
    "gate_reset" "Close a gate again" Sets (workflow::GateName) -> schema_of::<WorkflowReport<'static>>, workflow::reset_gate,
        "Closes a gate, because what it was passed for does not hold any more.";
    "checkpoint_start" "Start a checkpoint" Changes (workflow::CheckpointInput) -> schema_of::<WorkflowReport<'static>>, workflow::start_checkpoint,
        "Begins work on a checkpoint of the implementation.";
    "checkpoint_pass" "Pass a checkpoint" Changes (workflow::CheckpointInput) -> schema_of::<WorkflowReport<'static>>, workflow::pass_checkpoint,
        "Runs the checkpoint's validation and passes it if that holds.";
    "checkpoint_fail" "Count a failed try" Changes (workflow::CheckpointFailure) -> schema_of::<WorkflowReport<'static>>, workflow::fail_checkpoint,
        "Counts a failed try at a checkpoint; past the limit it goes to a person.";
    "checkpoint_escalate" "Hand a checkpoint to a person" Sets (workflow::CheckpointInput) -> schema_of::<WorkflowReport<'static>>, workflow::escalate_checkpoint,
        "Stops trying a checkpoint and asks a person how to go on.";
    "question_ask" "Ask the human" Changes (inbox::AskInput) -> schema::<inbox::QuestionState>, inbox::ask,
        "Asks the person something that you cannot decide, and waits for the answer as long as you let it. Without an answer by then you get the question's id: go on with other work and call question_answer later. The question survives you.";
    "question_answer" "Read a person's answer" Reads (inbox::AnswerInput) -> schema::<inbox::QuestionState>, inbox::answer,
        "How a question stands, and its answer if there is one; may wait for it.";
    "inbox_list" "What waits for a person" Reads (Nothing) -> schema::<inbox::OpenEntries<'static>>, inbox::list,
        "Everything that waits for a person. Only a person can answer.";
    "memory_search" "Search the memory" Reads (memory::SearchInput) -> schema::<memory::FoundEntries<'static>>, memory::search,
        "Full text over decisions, lessons, notes, history, context, contracts, knowledge, transitions and transcripts. Search before you decide something again.";
    "memory_get" "Read a value of the memory" Reads (memory::GetInput) -> schema::<memory::KeptValue>, memory::get,
        "A value of the context that all agents share, or of one agent's own memory.";
    "memory_set" "Keep a value" Sets (memory::SetInput) -> schema::<memory::KeptValue>, memory::set,
        "Keeps a value in the context that all agents share, or in one agent's own memory.";
    "memory_note" "Note a decision or lesson" Changes (memory::NoteInput) -> schema_of::<NoteReport<'static>>, memory::note,
        "Notes what was explored, decided or learnt, with the commit and the files, so that it is found again.";
    "memory_state" "The memory's tasks and history" Reads (Nothing) -> schema_of::<MemoryReport>, work::state,
        "The current task of the memory with its steps, the tasks that wait, and the history.";
    "memory_task" "Make or move a task of the memory" Changes (work::MemoryTaskInput) -> schema_of::<MemoryTaskReport<'static>>, work::task,
        "Makes a task in the memory, starts, pauses or ends it. One is current; what has ended is in the history with its lessons.";
    "memory_step" "Add or move a step" Changes (work::MemoryStepInput) -> schema_of::<MemoryTaskReport<'static>>, work::step,
        "Adds a step to a task of the memory, or starts, completes or fails one, so that work goes on there after a compaction.";
    "server_task_list" "Tasks of the server" Reads (served::ServedListInput) -> schema::<served::ServedTasks<'static>>, served::list,
        "Tasks that were handed in for agents of the server, the newest first.";
    "server_task_show" "One task of the server" Reads (served::ServedInput) -> schema::<served::ServedTaskText<'static>>, served::show,
        "How a task of the server stands, and what is to be done.";
    "server_task_new" "Hand in a task" Changes (served::NewInput) -> schema::<served::ServedTaskText<'static>>, served::new,
        "Writes a task for an agent of the server, as a draft or handed in at once. Use it for work that is not yours to do now.";
    "server_task_submit" "Hand in a draft" Changes (served::ServedInput) -> schema::<served::ServedTaskText<'static>>, served::submit,
        "Hands in a draft; what it lacks is named.";
    "context" "What you should know now" Reads (memory::ContextInput) -> schema_of::<ContextReport<'static>>, memory::context,
        "The state of your part, open questions and answers, decisions and pitfalls that concern your files, and what the memory has about your task, within a budget. Call it when you begin and after a compaction.";
    "session_status" "How the session stands" Reads (Nothing) -> schema_of::<SessionReport>, session::status,
        "The request of the session, its tasks and subtasks with phases and gates, and what waits for a person.";
    "session_request" "Begin a request" Changes (session::RequestInput) -> schema_of::<SessionReport>, session::request,
        "Begins a request of the user's, and a session for it if none is active. There is one request at a time.";
    "session_resume" "Go on with a session" Sets (Nothing) -> schema_of::<SessionReport>, session::resume,
        "Goes on with a session that was stopped; a subtask that lacks a contract goes one phase back.";
    "session_stop" "Stop the session" Sets (Nothing) -> schema_of::<SessionReport>, session::stop,
        "Ends the session and its request before everything is done. It can be resumed.";
    "session_complete" "End the session" Sets (Nothing) -> schema_of::<SessionReport>, session::complete,
        "Ends a session whose request is complete.";
    "session_list" "Sessions on disk" Reads (Nothing) -> schema::<session::FoundSessions<'static>>, session::list,
        "Every session whose files are here, this project's first.";
    "session_relocate" "Take a session along" Sets (session::RelocateInput) -> schema_of::<SessionReport>, session::relocate,
        "Gives the session of a project that was moved the folder that fits its path.";
    "session_next" "What comes next in the session" Changes (Nothing) -> schema_of::<SessionNextReport>, session::next,
        "Who does what next: role, files to read, contract to write, and what follows. A design that is there is taken up. The whole loop can be driven by calling it again and again.";
    "session_plan" "Take up the plan" Changes (session::PlanInput) -> schema_of::<SessionPlanLine>, session::plan,
        "Takes up the plan that the contracts describe, or sends it back to the planner if half of its assumptions or more are wrong.";
    "session_gate_check" "Look at the gates of a subtask" Changes (session::GatesInput) -> schema_of::<SessionGatesReport<'static>>, session::check,
        "Looks at the gates that are due, on the files as they are; GATE-2 runs the tests. Each is looked at once for a tree and its contracts.";
    "contract_put" "Hand in a contract" Sets (contract::ContractPutInput) -> schema_of::<ContractPut<'static>>, contract::put,
        "Checks a contract of a session strictly and puts it in its place; what is not valid is refused with the place of every finding, and nothing is changed.";
    "contract_get" "Read a contract" Reads (contract::ContractGetInput) -> schema_of::<ContractText<'static>>, contract::get,
        "A contract of the session, as text and with its fields: exploration, breakdown, brief, design, tests or results.";
    "contract_diff" "Compare versions of a contract" Reads (contract::ContractDiffInput) -> schema_of::<ContractDiffReport<'static>>, contract::diff,
        "What has changed between two versions of a contract, field by field.";
    "contract_list" "Contracts of the session" Reads (Nothing) -> schema::<contract::ContractList<'static>>, contract::list,
        "All contracts of the session by request, task and subtask, each with whether it is valid.";
    "knowledge_show" "What is known about the project" Reads (Nothing) -> schema_of::<KnowledgeReport<'static>>, contract::known,
        "Patterns, decisions and pitfalls of the project, with the files that each stands on and which of them have changed since.";
    "knowledge_add" "Write down a pattern, decision or pitfall" Sets (contract::KnowledgeAddInput) -> schema_of::<KnowledgeNoted<'static>>, contract::add,
        "Writes down how something is done here, what was decided, or what to look out for. A decision about the same topic takes the place of the earlier one.";
    "knowledge_remove" "Take out what does not hold" Sets (contract::KnowledgeRemoveInput) -> schema_of::<KnowledgeReport<'static>>, contract::remove,
        "Takes out a pattern, a decision or a pitfall that does not hold any more. The journal keeps it.";
    "knowledge_learn" "Learn from finished work" Sets (Nothing) -> schema::<contract::LearnedList<'static>>, contract::learn,
        "Learns from finished contracts of sessions and from subtasks that passed after retries; what is new is told.";
    "validate" "Check a file" Reads (memory::ValidateInput) -> schema_of::<FileValidity<'static>>, memory::validate,
        "Checks a file of the project (state, memory, contract, knowledge, TASKS.md, waypost.toml) against its strict schema, with the place of every finding.";
}

/// A tool without arguments.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Arguments or results of our own, as a schema.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

impl ToolRow {
    pub(super) fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name,
            title: self.title,
            description: self.description,
            input: root((self.input)(), Nullable::LeftOut),
            output: root((self.output)(), Nullable::Branch),
            is_reading: self.effect == Effect::Reads,
            is_repeatable: self.effect != Effect::Changes,
        }
    }
}

/// How a value that may be null is written, because many programs take one type only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nullable {
    /// An argument that may be null may be left out: null is not mentioned.
    LeftOut,
    /// A result that may be null is one of two.
    Branch,
}

/// A schema as programs take it: an object, without formats that only Rust knows.
fn root(mut schema: Value, nullable: Nullable) -> Map<String, Value> {
    make_portable(&mut schema, nullable);
    let Value::Object(mut root) = schema else { return Map::new() };
    root.insert("type".into(), "object".into());
    root.entry("properties").or_insert_with(|| Map::new().into());
    root
}

fn make_portable(schema: &mut Value, nullable: Nullable) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            name_anything(fields);
            if let Some(Value::Array(types)) = fields.get("type") {
                let types = types.clone();
                split_types(fields, types, nullable);
            }
            fields.values_mut().for_each(|it| make_portable(it, nullable));
        }
        Value::Array(items) => items.iter_mut().for_each(|it| make_portable(it, nullable)),
        _ => {}
    }
}

/// `true` stands for any value; not every program reads it.
fn name_anything(fields: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for property in properties.values_mut().filter(|it| it.as_bool() == Some(true)) {
            *property = any_value(Map::new());
        }
        for property in properties.values_mut() {
            // A description alone says no more about the value.
            let words = property.as_object().filter(|it| it.keys().all(|key| key == "description"));
            if let Some(words) = words.cloned() {
                *property = any_value(words);
            }
        }
    }
    if fields.get("items").and_then(Value::as_bool) == Some(true) {
        fields.remove("items");
    }
}

fn any_value(mut schema: Map<String, Value>) -> Value {
    let types = ["string", "number", "boolean", "object", "array", "null"];
    schema.insert("type".into(), types.map(Value::from).to_vec().into());
    schema.into()
}

fn split_types(fields: &mut Map<String, Value>, mut types: Vec<Value>, nullable: Nullable) {
    if nullable == Nullable::LeftOut && types.len() == 2 {
        types.retain(|it| it != "null");
    }
    fields.remove("type");
    if let [only] = types.as_slice() {
        fields.insert("type".into(), only.clone());
        return;
    }
    let branch = |name: Value| Value::from(Map::from_iter([("type".to_owned(), name)]));
    fields.insert("anyOf".into(), types.into_iter().map(branch).collect::<Vec<_>>().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_manual_and_schemas_that_are_schemas() {
        for row in TOOLS {
            let spec = row.spec();
            assert!(
                spec.description.ends_with('.') && spec.description.len() > 40,
                "{}",
                spec.name
            );
            for schema in [spec.input, spec.output] {
                let schema = Value::Object(schema);
                assert!(jsonschema::meta::is_valid(&schema), "{} {schema}", spec.name);
                assert_eq!(schema["type"], "object", "{}", spec.name);
            }
        }
    }
}
