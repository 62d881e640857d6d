//! The two ways to run Codex.
//!
//! Hooks that were not confirmed by a person are skipped in silence, so ours is given with the
//! order to trust it. `exec` knows that order as an option, the server only as a setting of a
//! thread.

use crate::launch::{Access, Conversation, Launch, Opening, Order, Prompts};
use crate::product::Product;
use crate::registration::{self, HookProgram};
use crate::rpc;
use serde_json::{Map, Value, json};

const WITHOUT: &[&str] = &["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"];

/// `codex exec`, with the task as its whole input.
pub(super) fn exec(order: &Order) -> Launch {
    let mut program = order.program.clone();
    let mut add = |words: &[&str]| program.extend(words.iter().map(ToString::to_string));
    add(&["exec"]);
    if let Conversation::Resume { .. } = order.conversation {
        add(&["resume"]);
    }
    add(&["--json", "--skip-git-repo-check"]);
    if let Some(model) = &order.model {
        add(&[&format!("--model={model}")]);
    }
    // Given as settings, because `resume` lacks the options.
    add(&["-c", "approval_policy=\"never\""]);
    add(&["-c", &format!("sandbox_mode={}", toml(&json!(sandbox(order.access))))]);
    if let Some(folders) = writable(order) {
        add(&["-c", &format!("sandbox_workspace_write.writable_roots={}", toml(&folders))]);
    }
    if let Some(hooks) = hooks(&order.hook) {
        add(&["--dangerously-bypass-hook-trust"]);
        for (event, groups) in hooks {
            add(&["-c", &format!("hooks.{event}={}", toml(&groups))]);
        }
    }
    if let Conversation::Resume { id } = &order.conversation {
        add(&[id]);
    }
    add(&["-"]);
    Launch {
        program,
        environment: Vec::new(),
        without: WITHOUT.to_vec(),
        stdin: vec![order.task.clone()],
        opening: Opening::Closed,
    }
}

/// `codex app-server`; all that matters is in its first requests.
pub(super) fn server(order: &Order) -> Launch {
    let mut program = order.program.clone();
    program.push("app-server".to_owned());
    let client =
        json!({"name": "waypost", "title": "Waypost", "version": env!("CARGO_PKG_VERSION")});
    let capabilities = json!({"experimentalApi": true, "requestAttestation": false});
    let initialize = json!({"clientInfo": client, "capabilities": capabilities});
    let (method, params) = thread(order);
    Launch {
        program,
        environment: Vec::new(),
        without: WITHOUT.to_vec(),
        stdin: vec![
            rpc::request(rpc::INITIALIZE, "initialize", &initialize),
            rpc::notification("initialized", &json!({})),
            rpc::request(rpc::SESSION, method, &params),
        ],
        opening: Opening::AfterSession,
    }
}

fn thread(order: &Order) -> (&'static str, Value) {
    let policy = match (order.prompts, order.access) {
        (Prompts::Refused, _) | (_, Access::Unfenced) => "never",
        (Prompts::Asked, _) => "on-request",
    };
    let mut config = Map::new();
    if let Some(hooks) = hooks(&order.hook) {
        config.insert("bypass_hook_trust".to_owned(), json!(true));
        config.insert("hooks".to_owned(), Value::Object(hooks));
    }
    if order.prompts == Prompts::Asked {
        // Without it the model is offered the tool and told that it is unavailable.
        config.insert("features.default_mode_request_user_input".to_owned(), json!(true));
    }
    if let Some(folders) = writable(order) {
        config.insert("sandbox_workspace_write.writable_roots".to_owned(), folders);
    }
    let mut params = json!({
        "cwd": order.folder, "approvalPolicy": policy, "sandbox": sandbox(order.access),
        "config": config,
    });
    if let Some(model) = &order.model {
        params["model"] = json!(model);
    }
    match &order.conversation {
        Conversation::New { .. } => ("thread/start", params),
        Conversation::Resume { id } => {
            params["threadId"] = json!(id);
            // The history is the program's own business.
            params["excludeTurns"] = json!(true);
            ("thread/resume", params)
        }
    }
}

fn sandbox(access: Access) -> &'static str {
    match access {
        Access::Read => "read-only",
        Access::Edit => "workspace-write",
        Access::Unfenced => "danger-full-access",
    }
}

fn writable(order: &Order) -> Option<Value> {
    (order.access == Access::Edit && !order.more_folders.is_empty())
        .then(|| json!(order.more_folders))
}

/// The hook's entries, as they would stand in a settings file.
fn hooks(words: &[String]) -> Option<Map<String, Value>> {
    if words.is_empty() {
        return None;
    }
    let text = registration::register(Product::CODEX, None, &HookProgram::new(words));
    let text = text.expect("a new settings file can always be begun");
    let mut settings: Value = serde_json::from_str(&text).expect("our own settings are JSON");
    match settings["hooks"].take() {
        Value::Object(hooks) => Some(hooks),
        _ => None,
    }
}

/// A value on one line, as a setting on the command line wants it.
fn toml(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(items) => format!("[{}]", list(items.iter().map(toml).collect())),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| format!("{key} = {}", toml(value));
            format!("{{{}}}", list(fields.iter().map(field).collect()))
        }
        // Texts of JSON are texts of TOML, but for one escape that JSON writers need not use.
        other => other.to_string(),
    }
}
