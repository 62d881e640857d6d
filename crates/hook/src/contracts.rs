//! Contracts and reports of sessions, which agents write into a folder that their program asks a person about.
//!
//! Nothing runs what stands there, and every contract is checked before it counts. What may be written at all was judged
//! before: a program asks its person after the hook.

use std::path::{Component, Path};
use waypost_agent::hook::ToolCall;
use waypost_model::{document::contract::CONTRACTS, layout::session};

/// How a tool names the file that it writes.
const FILE: &str = "file_path";

/// Whether a call writes a contract, and leads nowhere else by a link.
pub fn is_contract(call: &ToolCall) -> bool {
    let file = call.fields.iter().find(|(name, _)| name == FILE);
    file.is_some_and(|(_, path)| is_contract_path(Path::new(path)))
}

fn is_contract_path(path: &Path) -> bool {
    let is_plain = |it: Component<'_>| matches!(it, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(is_plain) {
        return false;
    }
    // The folders down to the file: of the session, of its contracts, and a request's at least.
    let home = path.ancestors().find(|it| it.ends_with(session::SESSIONS));
    let Some(rest) = home.and_then(|home| path.strip_prefix(home).ok()) else { return false };
    let words: Vec<&str> = rest.iter().filter_map(|it| it.to_str()).collect();
    let [hash, folder, request, .., file] = words.as_slice() else { return false };
    let is_hash = hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_request = request.strip_prefix('R').is_some_and(|it| it.parse::<u32>().is_ok());
    // A report is text that Waypost reads one line of.
    let is_text = match *folder {
        CONTRACTS => file.ends_with(".yaml"),
        session::REPORTS => file.ends_with(".md"),
        _ => false,
    };
    is_hash && is_request && is_text && leads_nowhere_else(path)
}

/// Whether the file is where its name says, as far as it is there.
fn leads_nowhere_else(path: &Path) -> bool {
    let there = path.ancestors().find(|it| it.symlink_metadata().is_ok());
    there.is_some_and(|there| there.canonicalize().is_ok_and(|real| real == there))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn only_contracts_are_contracts() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let sessions = root.join(session::SESSIONS);
        let is = |path: &str| is_contract_path(&sessions.join(path));
        assert!(is("0a1b2c3d/contracts/R1/explored.yaml"));
        assert!(is("0a1b2c3d/contracts/R1/T1/T1-S1/test-result.yaml"));
        assert!(is("0a1b2c3d/reports/R1/T1-S1-GATE-3-1.md"));
        for path in [
            "0a1b2c3d/session.json",
            "0a1b2c3d/contracts/explored.yaml",
            "0a1b2c3d/contracts/R1/run.sh",
            "0a1b2c3d/contracts/R1/CLAUDE.md",
            "0a1b2c3d/reports/R1/explored.yaml",
            "0a1b2c3d/reports/mine.md",
            "0a1b2c3d/contracts/R1/../../../../settings.yaml",
            "0a1b2c3d/other/R1/explored.yaml",
            "elsewhere/contracts/R1/explored.yaml",
            "0a1b2c3d/contracts/Rx/explored.yaml",
        ] {
            assert!(!is(path), "{path}");
        }
        assert!(!is_contract_path(Path::new(
            ".claude/orchestrator/sessions/0a1b2c3d/contracts/R1/a.yaml"
        )));
        assert!(!is_contract_path(&root.join(".claude/settings.yaml")));
        // A link on the way leads elsewhere.
        fs::create_dir_all(sessions.join("0a1b2c3d/contracts")).unwrap();
        fs::create_dir(root.join("other")).unwrap();
        symlink(root.join("other"), sessions.join("0a1b2c3d/contracts/R1")).unwrap();
        assert!(!is("0a1b2c3d/contracts/R1/explored.yaml"));
    }
}
