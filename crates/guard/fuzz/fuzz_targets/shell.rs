//! Any bytes as a shell command: judging them neither panics nor takes more steps than the length
//! allows, and what is over 64 KB is not read.
//!
//! The same holds in `tests/properties.rs`, over the kept corpus and arbitrary text. An input that is
//! trouble goes to `tests/corpus/`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_guard::{Context, Look, Reach, Reader, Recipe, Script, judge_shell};
use waypost_model::layout::SettingsFile;

/// What the judge allows itself for each byte, and besides.
const STEPS_PER_BYTE: u64 = 64;
const STEPS_MORE: u64 = 30_000;

/// A disk on which every script is the same short one.
struct Disk;

impl Look for Disk {
    fn script(&self, _: &str, _: Reader) -> Script {
        Script::Shell("git push \"$@\"".to_owned())
    }

    fn git_alias(&self, name: &str) -> Option<String> {
        (name.len() == 1).then(|| "!git push".to_owned())
    }

    fn recipe(&self, _: &Recipe<'_>) -> Script {
        Script::Shell("make other".to_owned())
    }

    fn is_protected(&self, path: &str, _: Reach) -> bool {
        path.len() == 3
    }

    fn agent_settings(&self) -> &[SettingsFile] {
        const { &[SettingsFile { path: ".agent/hooks.json", is_known_by_name: true }] }
    }

    fn top(&self) -> Option<String> {
        Some("/top".to_owned())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let deed = judge_shell(&text, &Context { look: &Disk, writing_tools: &[], free_tools: &[], is_walled: false });
    let most = STEPS_PER_BYTE * text.len() as u64 + STEPS_MORE;
    // Scripts are short here, but each brings some steps of its own.
    assert!(deed.steps <= most + 100 * 1_000, "{} steps for {} bytes", deed.steps, text.len());
    if text.len() > 64 * 1024 {
        assert_eq!((deed.steps, deed.unknowable.is_some()), (0, true));
    }
});
