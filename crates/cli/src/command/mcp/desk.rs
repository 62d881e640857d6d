//! The desk of one project: every call opens it again, so that it stands as it does now.

use super::{documents, failure, prompts, tools::TOOLS, visit::Visit};
use crate::error::CliError;
use serde_json::{Map, Value};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use waypost_engine::{Project, conversation, identify, own_conversation};
use waypost_mcp::{
    About, Call, Desk, PromptSpec, ResourceSpec, ResourceText, TemplateSpec, ToolFailure,
    ToolResult, ToolSpec,
};
use waypost_model::{code::Code, id::EntryId, time::Time};

/// How many answers are told with one call.
const ANSWERS_TOLD: usize = 5;

/// Answers that are older than that when the server begins were told by another one.
const ANSWERS_OLDEST_MS: i64 = 7 * 86_400_000;

const INSTRUCTIONS: &str = "\
Waypost keeps the state of the work in this project: a workflow with gates, a run of tasks, what waits \
for a person, and what was decided and learnt. Call `status` first. Take work with `task_next` and \
`task_start`, end it with `task_done` or `task_fail`. A refusal names the next step; do that, not \
something like it. What you cannot decide, ask with `question_ask`. Look for earlier decisions with \
`memory_search` before you decide again.";

/// Serves one client in one project.
pub(super) struct ProjectDesk {
    folder: PathBuf,
    tools: Vec<ToolSpec>,
    prompts: Vec<PromptSpec>,
    /// Answers that this client has been told.
    told: Mutex<BTreeSet<EntryId>>,
}

impl ProjectDesk {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            tools: TOOLS.iter().map(|row| row.spec()).collect(),
            prompts: prompts::specs(),
            told: Mutex::new(BTreeSet::new()),
        }
    }

    fn try_call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        call: &Call,
    ) -> Result<ToolResult, CliError> {
        let row = TOOLS.iter().find(|row| row.name == tool);
        let row = row.ok_or_else(|| CliError::bad_input(format!("there is no tool `{tool}`")))?;
        refuse_long(&arguments)?;
        let mut visit = Visit::open(&self.folder, call)?;
        let data = (row.run)(&mut visit, arguments)?;
        let mut remarks = visit.remarks();
        remarks.extend(self.answers(&mut visit.project, &data)?);
        Ok(ToolResult { data, remarks })
    }

    /// Answers that have come to questions of this conversation, each told once by this server.
    fn answers(
        &self,
        project: &mut Project,
        data: &Map<String, Value>,
    ) -> Result<Vec<String>, CliError> {
        let since = Time::from_millis(project.clock().now().millis() - ANSWERS_OLDEST_MS);
        let own = own_conversation();
        let found = conversation::answers(project, since, ANSWERS_TOLD)?;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        // The call itself has just said it.
        if let Some(Ok(id)) = data.get("id").and_then(Value::as_str).map(str::parse)
            && data.get("answer").is_some_and(|answer| !answer.is_null())
        {
            told.insert(id);
        }
        let is_ours = |asker: &Option<String>| match (asker, &own) {
            (Some(asker), Some(own)) => asker == own,
            _ => true,
        };
        let new = found.into_iter().filter(|it| is_ours(&it.conversation));
        let new = new.filter(|it| told.insert(it.id.clone()));
        let line = |it: conversation::AnsweredQuestion| {
            format!("A person has answered {} ({}): {}", it.id, it.question, it.answer)
        };
        Ok(new.map(line).collect())
    }
}

/// How much a call may say: what goes into the journal or a document is read again and again.
const ARGUMENTS_BYTES_MAX: usize = 512 << 10;

fn refuse_long(arguments: &Map<String, Value>) -> Result<(), CliError> {
    let size = serde_json::to_string(arguments).map_or(0, |it| it.len());
    if size <= ARGUMENTS_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the arguments have {size} bytes");
    Err(CliError::new(Code::BadArgument, message)
        .hint(format!("at most {ARGUMENTS_BYTES_MAX}: say less, or several times")))
}

impl Desk for ProjectDesk {
    fn about(&self) -> About {
        About {
            name: "waypost",
            title: "Waypost",
            version: env!("CARGO_PKG_VERSION"),
            instructions: INSTRUCTIONS.to_owned(),
        }
    }

    fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        call: &Call,
    ) -> Result<ToolResult, ToolFailure> {
        self.try_call(tool, arguments, call).map_err(|error| failure::told(&error))
    }

    fn resources(&self) -> Result<Vec<ResourceSpec>, ToolFailure> {
        let project = Project::find(&self.folder, identify());
        let project = project.map_err(|error| failure::told(&error.into()))?;
        Ok(documents::list(project.root(), &project.setup().shared_root()))
    }

    fn templates(&self) -> &[TemplateSpec] {
        documents::TEMPLATES
    }

    fn read(&self, uri: &str) -> Result<Option<ResourceText>, ToolFailure> {
        documents::read(&self.folder, uri)
    }

    fn prompts(&self) -> &[PromptSpec] {
        &self.prompts
    }

    fn prompt(&self, name: &str, arguments: &Map<String, Value>) -> Result<String, String> {
        prompts::fill(name, arguments)
    }
}
