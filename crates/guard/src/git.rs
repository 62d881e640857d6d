//! What a git command does: pushes, commits, changes of the work tree, aliases and configuration.

use crate::deed::{Branch, Push};
use crate::options::{has, positionals, value};
use crate::protected::joined;
use crate::walk::Walk;
use crate::word::UNKNOWN;

/// Global options that take the next argument.
const GLOBAL_VALUED: &[&str] =
    &["--git-dir", "--work-tree", "--namespace", "--super-prefix", "--exec-path", "--attr-source"];

/// Settings whose value git runs as a command.
const RUN_SETTINGS: &[&str] = &[
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.fsmonitor",
    "core.askpass",
    "sequence.editor",
    "diff.external",
    "credential.helper",
    "gpg.program",
];

impl Walk<'_> {
    pub(crate) fn git(&mut self, arguments: &[String], words: &str) {
        let folder = self.shell.folder.clone();
        let mut at = 0;
        while let Some(argument) = arguments.get(at) {
            let next = arguments.get(at + 1).map(String::as_str);
            match argument.as_str() {
                "-C" => self.shell.folder = joined(&self.shell.folder, next.unwrap_or("\0")),
                "-c" => self.setting(next.unwrap_or_default(), words),
                "--config-env" => self.unknowable("git takes a setting from the environment"),
                it if GLOBAL_VALUED.contains(&it) => {}
                it if it.starts_with("--config-env=") => {
                    self.unknowable("git takes a setting from the environment");
                    at += 1;
                    continue;
                }
                it if it.starts_with('-') => {
                    at += 1;
                    continue;
                }
                _ => break,
            }
            at += 2;
        }
        if let Some((command, rest)) = arguments.get(at..).and_then(<[String]>::split_first) {
            self.git_command(command, rest, words);
        }
        self.shell.folder = folder;
    }

    fn git_command(&mut self, command: &str, rest: &[String], words: &str) {
        if command.contains([UNKNOWN, '*', '?', '[']) {
            return self.unknowable(&format!("what `{words}` does is only known at run time"));
        }
        match command {
            "push" => self.push(rest, words),
            "send-pack" | "http-push" => self.note_push(Branch::Unknown, words),
            "commit" if has(rest, &["--dry-run"]) => {}
            "commit" | "commit-tree" | "fast-import" | "filter-branch" | "filter-repo"
            | "update-ref" => self.note_commit(words),
            "merge" | "pull" | "rebase" | "am" | "cherry-pick" | "revert" => {
                self.history(command, rest, words);
            }
            "subtree" | "lfs" | "svn" | "p4" => self.foreign(rest, words),
            "config" => self.config(rest, words),
            "submodule" if rest.first().is_some_and(|it| it == "foreach") => {
                let start = 1 + crate::options::skip(&rest[1..], &[]);
                self.text(&rest[start..].join(" "));
            }
            "bisect" if rest.first().is_some_and(|it| it == "run") => self.program(&rest[1..]),
            "difftool" | "mergetool" => {
                let line = value(rest, &["-x", "--extcmd"]).map(str::to_owned);
                line.iter().for_each(|line| self.text(line));
            }
            _ if self.work_tree(command, rest, words) => {}
            _ => self.git_alias(command, rest, words),
        }
    }

    pub(crate) fn note_commit(&mut self, words: &str) {
        self.deed.commits.get_or_insert_with(|| words.to_owned());
    }

    pub(crate) fn note_push(&mut self, branch: Branch, words: &str) {
        let push = Push { branch, words: words.to_owned() };
        if self.deed.pushes.last() != Some(&push) {
            self.deed.pushes.push(push);
        }
    }

    fn push(&mut self, rest: &[String], words: &str) {
        const VALUED: &[&str] = &["-o", "--push-option", "--receive-pack", "--exec", "--repo"];
        if has(rest, &["--dry-run"]) || rest.iter().any(|it| it == "-n") {
            return;
        }
        let named = positionals(rest, VALUED);
        let is_many = ["--all", "--mirror", "--branches", "--tags", "--follow-tags", "--prune"]
            .iter()
            .any(|option| has(rest, &[option]));
        if is_many {
            self.note_push(Branch::Unknown, words);
        }
        match named.get(1..) {
            Some(specs) if !specs.is_empty() => {
                specs.iter().for_each(|spec| self.note_push(pushed(spec), words));
            }
            _ if is_many => {}
            _ if named.first().is_some_and(|it| it.contains(UNKNOWN)) => {
                self.note_push(Branch::Unknown, words);
            }
            _ => self.note_push(Branch::Current, words),
        }
    }

    /// Commands that bring other commits in: they write the work tree and mostly commit.
    fn history(&mut self, command: &str, rest: &[String], words: &str) {
        if let Some(line) = value(rest, &["--exec", "-x"]).filter(|_| command == "rebase") {
            let line = line.to_owned();
            self.text(&line);
        }
        self.write_unknown(words);
        let only_writes = ["--abort", "--quit", "--ff-only", "--no-commit", "--squash"];
        let is_short =
            rest.iter().any(|it| it == "-n") && matches!(command, "cherry-pick" | "revert");
        if !has(rest, &only_writes) && !is_short {
            self.note_commit(words);
        }
    }

    /// Commands that push by another name.
    fn foreign(&mut self, rest: &[String], words: &str) {
        match rest.first().map(String::as_str) {
            Some("push" | "dcommit" | "submit") => self.note_push(Branch::Unknown, words),
            Some("add" | "merge" | "pull" | "split") => {
                self.write_unknown(words);
                self.note_commit(words);
            }
            Some(it) if it.contains(UNKNOWN) => {
                self.unknowable(&format!("what `{words}` does is only known at run time"));
            }
            _ => {}
        }
    }

    /// Commands that change files; false if this is none of them.
    fn work_tree(&mut self, command: &str, rest: &[String], words: &str) -> bool {
        let sub = rest.first().map(String::as_str);
        let writes = match command {
            "checkout" | "switch" => {
                let makes_branch = has(rest, &["-b", "-B", "-c", "--create", "--orphan"]);
                !(makes_branch && positionals(rest, &[]).len() <= 1)
            }
            "restore" => !has(rest, &["--staged", "-S"]) || has(rest, &["--worktree", "-W"]),
            "reset" => has(rest, &["--hard", "--merge", "--keep"]),
            "clean" => !has(rest, &["-n", "--dry-run"]),
            "rm" => !has(rest, &["--cached", "--dry-run", "-n"]),
            "mv" => !has(rest, &["--dry-run", "-n"]),
            "apply" => !has(rest, &["--check", "--stat", "--numstat", "--summary", "--cached"]),
            "stash" => {
                !matches!(sub, Some("list" | "show" | "drop" | "clear" | "create" | "store"))
            }
            "bisect" => !matches!(sub, Some("log" | "view" | "visualize")),
            "worktree" => matches!(sub, Some("add" | "remove" | "move")),
            "submodule" => !matches!(sub, None | Some("status" | "summary")),
            "clone" | "read-tree" | "checkout-index" | "merge-file" | "sparse-checkout" => true,
            "format-patch" => !has(rest, &["--stdout"]),
            "archive" => has(rest, &["-o", "--output"]),
            "bundle" => sub == Some("create"),
            _ => return false,
        };
        if writes {
            self.written_paths(command, rest, words);
        }
        true
    }

    /// Notes the paths that a command names; where it names none, it chooses them itself.
    fn written_paths(&mut self, command: &str, rest: &[String], words: &str) {
        const VALUED: &[&str] = &["-s", "--source", "--pathspec-from-file", "--conflict"];
        let after = rest.iter().position(|it| it == "--").map(|at| &rest[at + 1..]);
        let paths = match (command, after) {
            ("checkout", Some(paths)) => positionals(paths, &[]),
            // The last of these may be a branch or a path; taken as a path it is at least looked at.
            ("checkout" | "restore" | "rm" | "mv", _) => positionals(rest, VALUED),
            _ => Vec::new(),
        };
        if paths.is_empty() || command == "checkout" && after.is_none() {
            self.write_unknown(words);
        }
        let removes = command == "rm" || command == "mv";
        for path in paths {
            self.write(path, words, removes);
        }
    }

    /// `-c name=value`, which can make an alias or name a program.
    fn setting(&mut self, setting: &str, words: &str) {
        let (name, text) = setting.split_once('=').unwrap_or((setting, ""));
        self.set(name, text, words);
    }

    fn set(&mut self, name: &str, text: &str, words: &str) {
        let name = name.to_ascii_lowercase();
        if name == "core.hookspath" || name.starts_with("include") {
            return self.write(".git/hooks", words, false);
        }
        if name.contains(UNKNOWN) {
            return self.unknowable("which setting of git changes is only known at run time");
        }
        if let Some(alias) = name.strip_prefix("alias.") {
            self.git_aliases.insert(alias.to_owned(), text.to_owned());
        }
        if RUN_SETTINGS.contains(&name.as_str()) && !text.is_empty() {
            self.apart(|walk| walk.text(text.trim_start_matches('!')));
        }
    }

    fn config(&mut self, rest: &[String], words: &str) {
        const VALUED: &[&str] = &["-f", "--file", "--blob", "--type", "--default", "--comment"];
        if has(rest, &["-e", "--edit"]) {
            return self.write(".git/config", words, false);
        }
        if rest.iter().any(|it| it.starts_with("--get") || it == "-l" || it == "--list") {
            return;
        }
        let named = positionals(rest, VALUED);
        let is_removal = rest.iter().any(|it| it.starts_with("--unset") || it.starts_with("--re"));
        match named.as_slice() {
            ["get" | "list", ..] => {}
            ["edit", ..] => self.write(".git/config", words, false),
            ["set", name, text, ..] => self.set(name, text, words),
            ["unset" | "remove-section" | "rename-section", name, ..] => {
                self.removed_setting(name, words);
            }
            [name, ..] if is_removal => self.removed_setting(name, words),
            [name, text, ..] => self.set(name, text, words),
            _ => {}
        }
    }

    fn removed_setting(&mut self, name: &str, words: &str) {
        let section = name.to_ascii_lowercase();
        if section == "core" || section == "core.hookspath" {
            self.write(".git/hooks", words, false);
        }
    }

    fn git_alias(&mut self, command: &str, rest: &[String], words: &str) {
        let own = self.git_aliases.get(&command.to_ascii_lowercase()).cloned();
        let Some(text) = own.or_else(|| self.context.look.git_alias(command)) else { return };
        if text.contains(UNKNOWN) {
            return self.unknowable(&format!("the alias in `{words}` is only known at run time"));
        }
        self.deeper(|walk| match text.strip_prefix('!') {
            Some(line) => walk.apart(|walk| walk.text_with(line, rest)),
            None => walk.apart(|walk| walk.text_with(&format!("git {text}"), rest)),
        });
    }
}

/// The branch of the other side that a refspec moves.
fn pushed(spec: &str) -> Branch {
    let spec = spec.trim_start_matches('+');
    let target = spec.rsplit_once(':').map_or(spec, |(_, target)| target);
    let name = target.strip_prefix("refs/heads/").unwrap_or(target);
    match name {
        "HEAD" | "@" => Branch::Current,
        "" => Branch::Unknown,
        _ if name.contains([UNKNOWN, '*']) => Branch::Unknown,
        _ => Branch::Named(name.to_owned()),
    }
}
