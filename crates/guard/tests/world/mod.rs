//! A project in memory: the scripts, aliases and targets that the commands of the tests use.

use waypost_guard::{Context, Deed, Look, Reach, Reader, Recipe, Runner, Script, judge_shell};
use waypost_model::layout::SettingsFile;

/// What the agent programs of the tests read.
const SETTINGS: [SettingsFile; 7] = [
    SettingsFile { path: ".claude/settings.local.json", is_known_by_name: true },
    SettingsFile { path: ".claude/settings.json", is_known_by_name: true },
    SettingsFile { path: ".codex/hooks.json", is_known_by_name: true },
    SettingsFile { path: ".codex/config.toml", is_known_by_name: false },
    SettingsFile { path: ".gemini/settings.json", is_known_by_name: true },
    SettingsFile { path: ".claude/skills", is_known_by_name: false },
    SettingsFile { path: ".claude/commands", is_known_by_name: false },
];

/// The project of the tests.
#[derive(Debug)]
pub(crate) struct World;

impl Look for World {
    fn script(&self, path: &str, reader: Reader) -> Script {
        let text = match path {
            "release.sh" | "scripts/release" | "sub/run.sh" => {
                "#!/bin/sh\nset -e\ngit push \"$@\"\n"
            }
            "test.sh" => "#!/bin/bash\ncargo test\n",
            "deep1.sh" => "./deep2.sh",
            "deep2.sh" => "./deep3.sh",
            "deep3.sh" => "./deep4.sh",
            "deep4.sh" => "true",
            "outer.sh" => "bash release.sh",
            "loop.sh" => "./loop.sh",
            "args.sh" => "git \"$1\"",
            "env.sh" => "export TOOL=git",
            "evil.patch" => {
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a/waypost.toml\n+++ b/waypost.toml\n"
            }
            "fix.patch" => "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            "run.sed" => "1e git push\n",
            "plain.sed" => "# We write\ns/a/b/\n",
            "run.awk" => "BEGIN { system(\"git push\") }\n",
            "huge.sh" => return Script::TooLong,
            "trick.py" if reader == Reader::Shell => "#!/usr/bin/python3\ngit push",
            "tool.py" | "trick.py" | "target/debug/app" => return Script::Other,
            "gradlew" => "exec \"$JAVACMD\" \"$@\"",
            "/dev/null" => return Script::Other,
            _ if path.starts_with("/usr/") || path.starts_with('~') => return Script::Other,
            _ => return Script::Absent,
        };
        Script::Shell(text.to_owned())
    }

    fn git_alias(&self, name: &str) -> Option<String> {
        let text = match name {
            "p" => "push",
            "ship" => "!git push origin HEAD",
            "st" => "status",
            "ci" => "commit -v",
            "again" => "again",
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn recipe(&self, recipe: &Recipe<'_>) -> Script {
        let text = match (recipe.runner, recipe.folder, recipe.name) {
            _ if recipe.file.is_some_and(|file| file != "tools/dev.just") => return Script::Absent,
            (Runner::Make, "." | "sub", "deploy") => "git push",
            (Runner::Make, ".", "set") if recipe.settings == ["A=b"] => "git push",
            (Runner::Make, ".", "below") => "make -C sub here",
            (Runner::Make, "sub", "here") => "./run.sh",
            (Runner::Npm, "." | "web" | "packages/app", "release") => "git push",
            (Runner::Just, ".", "ship") => "git push",
            (Runner::Just, "sub", "") => "git push",
            (Runner::Npm, ".", "postbuild" | "pretest:ci") => "gh pr create --fill",
            (Runner::Npm, "fresh", "prepare") => "git push",
            (Runner::Make, _, "" | "test" | "set")
            | (Runner::Npm, _, "test" | "build" | "test:ci") => "cargo test",
            _ => return Script::Absent,
        };
        Script::Shell(text.to_owned())
    }

    fn is_protected(&self, path: &str, reach: Reach) -> bool {
        path == "vault.db" || (path == "vault" && reach == Reach::Below)
    }

    fn agent_settings(&self) -> &[SettingsFile] {
        &SETTINGS
    }

    fn top(&self) -> Option<String> {
        Some("/p".to_owned())
    }
}

/// The deed of a command in that project.
pub(crate) fn judged(command: &str) -> Deed {
    let context = Context { look: &World, writing_tools: &[], free_tools: &[], is_walled: false };
    judge_shell(command, &context)
}

/// A deed in the words of `commands.txt`.
pub(crate) fn verdict(deed: &Deed) -> String {
    let words = [
        (!deed.writes.is_empty(), "write"),
        (!deed.protected.is_empty(), "protected"),
        (deed.commits.is_some(), "commit"),
        (!deed.pushes.is_empty(), "push"),
        (deed.publishes.is_some(), "publish"),
        (deed.reserved.is_some(), "reserved"),
        (deed.foreign.is_some(), "tool"),
        (deed.unknowable.is_some(), "unknowable"),
    ];
    let words: Vec<&str> = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    if words.is_empty() { "ok".to_owned() } else { words.join(" ") }
}
