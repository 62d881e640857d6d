//! Servers of tools (MCP) that an agent program starts like a shell call.
//!
//! Such a server lives as long as the conversation, so it is not ended when a gate closes; what it could
//! do more than a call is what the person's configuration lists for it: variables that look like credentials.
//! It is known by its command line, as the agent program's own files have it.

use super::{answer::Answer, around::UserFolders};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};
use waypost_agent::programs::BUILT_IN;

/// The largest file of servers that is looked at.
const SIZE_MAX: u64 = 16 << 20;

/// A server that a call starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// The variables that it keeps.
    pub(super) variables: Vec<String>,
}

/// The server whose command line a text is, if it is one's.
pub(super) fn find(text: &OsStr, answer: &Answer, homes: &UserFolders) -> Option<Server> {
    let text = text.to_str()?;
    let roots = answer.projects.iter().map(|it| it.spot.root.as_path());
    let folders: Vec<&Path> = roots.chain(homes.all.iter().map(PathBuf::as_path)).collect();
    let files = BUILT_IN.all().flat_map(|program| program.server_files);
    for file in files {
        for folder in &folders {
            let Some(found) = read(&folder.join(file), text) else { continue };
            if let Some(name) = name_of(&found, text) {
                let kept = answer.servers.iter().find(|(known, _)| *known == name);
                let variables = kept.map(|(_, variables)| variables.clone()).unwrap_or_default();
                return Some(Server { variables });
            }
        }
    }
    None
}

/// A file of servers, unless it plainly has none with this command line: it may hold a person's whole history,
/// and each call looks at it.
fn read(path: &Path, text: &str) -> Option<Value> {
    let size = path.metadata().ok()?.len();
    let bytes = (size <= SIZE_MAX).then(|| fs::read(path).ok())??;
    may_name(&bytes, text).then(|| serde_json::from_slice(&bytes).ok())?
}

/// Whether a JSON text may have a string that begins with the first word of a command line. A word that JSON may
/// write in several ways may be there in any case.
fn may_name(json: &[u8], text: &str) -> bool {
    let word = text.split(' ').next().unwrap_or_default();
    let is_plain = word.bytes().all(|it| it.is_ascii_alphanumeric() || b"._-@+".contains(&it));
    let wanted = format!("\"{word}");
    !is_plain || json.windows(wanted.len()).any(|it| it == wanted.as_bytes())
}

/// The name of the server in a file whose command line a text is: for all projects, or for one.
fn name_of(file: &Value, text: &str) -> Option<String> {
    let projects = file["projects"].as_object().into_iter().flat_map(|it| it.values());
    let tables = std::iter::once(file).chain(projects);
    let mut servers = tables.filter_map(|it| it["mcpServers"].as_object()).flatten();
    let (name, _) = servers.find(|(_, server)| {
        let arguments = server["args"].as_array().into_iter().flatten();
        let words = std::iter::once(&server["command"]).chain(arguments).map(Value::as_str);
        let words: Option<Vec<&str>> = words.collect();
        words.is_some_and(|words| words.join(" ") == text)
    })?;
    Some(name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_server_is_known_by_its_command_line() {
        let file = json!({
            "mcpServers": {
                "tracker": {"command": "npx", "args": ["-y", "tracker"]},
                "remote": {"url": "https://example.org"},
            },
            "projects": {"/w": {"mcpServers": {"local": {"command": "./serve"}}}},
        });
        let table = [
            ("npx -y tracker", Some("tracker")),
            ("./serve", Some("local")),
            ("npx -y tracker; git push", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(name_of(&file, text).as_deref(), want, "{text}");
            assert!(want.is_none() || may_name(file.to_string().as_bytes(), text), "{text}");
        }
        for (text, want) in [("git status", false), ("remote", true), ("tools/x", true)] {
            assert_eq!(may_name(file.to_string().as_bytes(), text), want, "{text}");
        }
    }
}
