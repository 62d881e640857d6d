//! A project in memory: the scripts, aliases and targets that the commands of the tests use.

use waypost_guard::{Context, Deed, Look, Runner, Script, judge_shell};

/// The project of the tests.
#[derive(Debug)]
pub(crate) struct World;

impl Look for World {
    fn script(&self, path: &str) -> Script {
        let text = match path {
            "release.sh" | "scripts/release" => "#!/bin/sh\nset -e\ngit push \"$@\"\n",
            "test.sh" => "#!/bin/bash\ncargo test\n",
            "deep1.sh" => "./deep2.sh",
            "deep2.sh" => "./deep3.sh",
            "deep3.sh" => "./deep4.sh",
            "deep4.sh" => "true",
            "outer.sh" => "bash release.sh",
            "loop.sh" => "./loop.sh",
            "args.sh" => "git \"$1\"",
            "env.sh" => "export TOOL=git",
            "huge.sh" => return Script::TooLong,
            "tool.py" | "target/debug/app" | "gradlew" => return Script::Other,
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

    fn recipe(&self, runner: Runner, name: &str) -> Script {
        let text = match (runner, name) {
            (Runner::Make, "deploy") | (Runner::Npm, "release") | (Runner::Just, "ship") => {
                "git push"
            }
            (Runner::Npm, "postbuild") => "gh pr create --fill",
            (Runner::Make, "" | "test") | (Runner::Npm, "test" | "build") => "cargo test",
            _ => return Script::Absent,
        };
        Script::Shell(text.to_owned())
    }

    fn is_protected(&self, path: &str) -> bool {
        path == "vault.db"
    }
}

/// The deed of a command in that project.
pub(crate) fn judged(command: &str) -> Deed {
    judge_shell(command, &Context { look: &World, writing_tools: &[] })
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
        (deed.unknowable.is_some(), "unknowable"),
    ];
    let words: Vec<&str> = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    if words.is_empty() { "ok".to_owned() } else { words.join(" ") }
}
