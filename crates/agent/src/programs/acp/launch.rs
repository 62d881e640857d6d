//! A program that speaks the Agent Client Protocol: the first two requests.
//!
//! We offer neither files nor terminals: the agent has its own, in its own fence. What it may
//! change is a matter of the program's own options, and of how its requests are answered.

use crate::launch::{Conversation, Launch, Opening, Order};
use crate::rpc;
use serde_json::json;

/// The version of the protocol; an agent that speaks a later one answers with this one.
const VERSION: u32 = 1;

/// Gemini CLI starts itself a second time to have more memory; that takes as long as the first start,
/// and the first process does not pass on the signal to end.
const ONE_PROCESS: (&str, &str) = ("GEMINI_CLI_NO_RELAUNCH", "true");

/// The request for a new conversation.
pub(super) fn fresh(folder: &str) -> String {
    rpc::request(rpc::SESSION, "session/new", &json!({"cwd": folder, "mcpServers": []}))
}

pub(super) fn launch(order: &Order) -> Launch {
    let initialize = json!({
        "protocolVersion": VERSION,
        "clientInfo": {"name": "waypost", "title": "Waypost", "version": env!("CARGO_PKG_VERSION")},
        "clientCapabilities": {
            "fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false,
        },
    });
    let session = match &order.conversation {
        Conversation::New { .. } => fresh(&order.folder),
        Conversation::Resume { id } => {
            let params = json!({"sessionId": id, "cwd": order.folder, "mcpServers": []});
            rpc::request(&format!("{}{id}", rpc::LOAD), "session/load", &params)
        }
    };
    Launch {
        program: order.program.clone(),
        environment: vec![(ONE_PROCESS.0, ONE_PROCESS.1.to_owned())],
        without: Vec::new(),
        stdin: vec![rpc::request(rpc::INITIALIZE, "initialize", &initialize), session],
        opening: Opening::AfterSession,
    }
}
