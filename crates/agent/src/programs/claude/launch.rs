//! The command line of Claude Code.

use super::answer;
use crate::launch::{Access, Conversation, Launch, Opening, Order, Prompts};

/// What a session leaves in the environment of its children, and what turns hooks off.
const WITHOUT: &[&str] = &[
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SAFE_MODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SIMPLE",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
];

/// Tools that change files, the one that leaves the mode in which nothing is changed, and those
/// that this mode lets pass although they leave a branch or a file in the project.
const WRITING_TOOLS: &[&str] = &[
    "Edit",
    "Write",
    "NotebookEdit",
    "ExitPlanMode",
    "EnterWorktree",
    "CronCreate",
    "CronDelete",
    "ScheduleWakeup",
];

pub(super) fn launch(order: &Order) -> Launch {
    let mut program = order.program.clone();
    let mut add = |words: &[&str]| program.extend(words.iter().map(ToString::to_string));
    add(&["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"]);
    match &order.conversation {
        Conversation::New { id } => add(&[&format!("--session-id={id}")]),
        Conversation::Resume { id } => add(&[&format!("--resume={id}")]),
    }
    add(&[match order.access {
        Access::Read => "--permission-mode=plan",
        Access::Edit => "--permission-mode=acceptEdits",
        Access::Unfenced => "--permission-mode=bypassPermissions",
    }]);
    add(&[match order.prompts {
        Prompts::Asked => "--permission-prompt-tool=stdio",
        Prompts::Refused => "--permission-prompts=none",
    }]);
    let options = [
        ("model", order.model.clone()),
        ("max-turns", order.turns_max.map(|turns| turns.to_string())),
        ("max-budget-usd", order.budget_cents.map(dollars)),
        ("settings", order.settings.clone()),
        ("setting-sources", order.setting_sources.clone()),
        ("json-schema", order.schema.clone()),
    ];
    for (name, value) in options {
        add(&value
            .map(|value| format!("--{name}={value}"))
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>());
    }
    if !order.has_mcp {
        add(&["--strict-mcp-config"]);
    }
    for folder in &order.more_folders {
        add(&["--add-dir", folder]);
    }
    // No tool begins with a dash: such a word would be read as an option, and a project's own
    // configuration may name tools.
    let is_tool = |tool: &&str| !tool.starts_with('-');
    let tools: Vec<&str> = order.allowed_tools.iter().map(String::as_str).filter(is_tool).collect();
    if !tools.is_empty() {
        add(&["--allowedTools"]);
        add(&tools);
    }
    if order.access == Access::Read {
        add(&["--disallowedTools"]);
        add(WRITING_TOOLS);
    }
    let message = Some(order.task.as_str()).filter(|task| !task.is_empty());
    Launch {
        program,
        environment: environment(order.access),
        without: WITHOUT.to_vec(),
        stdin: message.map(answer::said).into_iter().collect(),
        opening: Opening::Said,
    }
}

fn environment(access: Access) -> Vec<(&'static str, String)> {
    // A program that replaces itself is not the one whose gate was checked.
    let mut environment = vec![("DISABLE_AUTOUPDATER", "1".to_owned())];
    if access == Access::Unfenced {
        // As root, the program runs without permissions only where it is told of a sandbox.
        environment.push(("IS_SANDBOX", "1".to_owned()));
    }
    environment
}

fn dollars(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}
