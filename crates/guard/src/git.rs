//! What a git command does: pushes, commits, changes of the work tree, aliases and configuration.

use crate::deed::{Branch, Push};
use crate::options::{has, positionals, value};
use crate::protected::joined;
use crate::walk::Walk;
use crate::word::UNKNOWN;

/// Global options that take the next argument.
const GLOBAL_VALUED: &[&str] =
    &["--git-dir", "--work-tree", "--namespace", "--super-prefix", "--exec-path", "--attr-source"];

/// Settings whose value git runs as a command: the section, and the key that ends the name.
const RUN_SETTINGS: &[(&str, &str)] = &[
    ("browser", "cmd"),
    ("core", "alternaterefscommand"),
    ("core", "askpass"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("credential", "helper"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("difftool", "cmd"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("gpg", "program"),
    ("interactive", "difffilter"),
    ("man", "cmd"),
    ("merge", "driver"),
    ("mergetool", "cmd"),
    ("pager", ""),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("sendemail", "sendmailcmd"),
    ("sequence", "editor"),
    ("tar", "command"),
    ("trailer", "cmd"),
    ("trailer", "command"),
    ("uploadpack", "packobjectshook"),
];

/// Commands that only look, or change nothing that a gate is about. Git takes no alias of such a
/// name, so that none has to be looked for.
#[rustfmt::skip]
const READING: &[&str] = &[
    "add", "annotate", "blame", "branch", "bugreport", "cat-file", "check-attr", "check-ignore", "check-mailmap",
    "check-ref-format", "cherry", "column", "commit-graph", "count-objects", "credential", "credential-cache",
    "credential-store", "daemon", "describe", "diagnose", "diff", "diff-files", "diff-index", "diff-tree", "fast-export",
    "fetch", "fetch-pack", "fmt-merge-msg", "for-each-ref", "fsck", "gc", "get-tar-commit-id", "grep", "hash-object",
    "help", "hook", "index-pack", "init", "init-db", "interpret-trailers", "log", "ls-files", "ls-remote", "ls-tree",
    "mailinfo", "mailsplit", "maintenance", "merge-base", "merge-tree", "mktag", "mktree", "multi-pack-index", "name-rev",
    "notes", "pack-objects", "pack-refs", "patch-id", "pickaxe", "prune", "prune-packed", "range-diff", "reflog", "refs",
    "remote", "repack", "replace", "request-pull", "rerere", "rev-list", "rev-parse", "shortlog", "show", "show-branch",
    "show-index", "show-ref", "stage", "status", "stripspace", "symbolic-ref", "tag", "unpack-objects", "update-index",
    "update-server-info", "upload-archive", "upload-pack", "var", "verify-commit", "verify-pack", "verify-tag", "version",
    "whatchanged", "write-tree",
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
                it if it.starts_with("--exec-path=") => {
                    self.unknowable("git is told to take its commands from elsewhere");
                    at += 1;
                    continue;
                }
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
        self.transport(command, rest);
        self.outputs(command, rest, words);
        match command {
            "push" => self.push(rest, words),
            "send-pack" | "http-push" => self.note_push(Branch::Unknown, words),
            "commit" if has(rest, &["--dry-run"]) => {}
            "hash-object" if has(rest, &["-w"]) && value(rest, &["-t"]) == Some("commit") => {
                self.note_commit(words);
            }
            "commit" | "commit-tree" | "fast-import" | "filter-branch" | "filter-repo"
            | "replay" | "update-ref" => self.note_commit(words),
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
            "for-each-repo" => {
                let start = crate::options::skip(rest, &["--config"]);
                self.git(rest.get(start..).unwrap_or_default(), words);
            }
            "merge-index" => {
                let start = crate::options::skip(rest, &[]);
                self.program(rest.get(start..).unwrap_or_default());
            }
            "remote-ext" => rest.iter().skip(1).for_each(|line| self.text(line)),
            "difftool" | "mergetool" => {
                let line = value(rest, &["-x", "--extcmd"]).map(str::to_owned);
                line.iter().for_each(|line| self.text(line));
            }
            _ if READING.contains(&command) => {}
            _ if self.work_tree(command, rest, words) => {}
            _ => self.git_alias(command, rest, words),
        }
    }

    /// Judges the programs that a command is told to start on the way to the other side.
    fn transport(&mut self, command: &str, rest: &[String]) {
        let names: &[&str] = match command {
            "fetch" | "pull" | "ls-remote" | "fetch-pack" => &["--upload-pack"],
            "clone" => &["--upload-pack", "-u"],
            "push" | "send-pack" => &["--receive-pack", "--exec"],
            "archive" => &["--exec"],
            "grep" => &["-O", "--open-files-in-pager"],
            _ => &[],
        };
        for line in crate::options::values(rest, names) {
            self.apart(|walk| walk.text(line));
        }
        for (_, line) in rest.iter().filter_map(|it| it.split_once("ext::")) {
            self.apart(|walk| walk.text(line));
        }
    }

    /// Notes the files that commands write which otherwise only look.
    fn outputs(&mut self, command: &str, rest: &[String], words: &str) {
        let names: &[&str] = match command {
            "archive" => &["--output", "-o"],
            "diff" | "log" | "show" | "diff-tree" | "diff-index" | "diff-files" | "range-diff"
            | "whatchanged" | "format-patch" | "shortlog" => &["--output"],
            _ => return,
        };
        let own: Vec<String> = rest.iter().take_while(|it| *it != "--").cloned().collect();
        for path in crate::options::values(&own, names) {
            self.write(path, words, false);
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
        if command == "rebase" {
            for line in crate::options::values(rest, &["--exec", "-x"]) {
                self.apart(|walk| walk.text(line));
            }
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
            "apply" => {
                let writes =
                    !has(rest, &["--check", "--stat", "--numstat", "--summary", "--cached"]);
                let files =
                    positionals(rest, &["-p", "-C", "--exclude", "--include", "--directory"]);
                if writes {
                    self.patched(&files, words);
                }
                writes
            }
            "stash" => {
                !matches!(sub, Some("list" | "show" | "drop" | "clear" | "create" | "store"))
            }
            "bisect" => !matches!(sub, Some("log" | "view" | "visualize")),
            "worktree" => matches!(sub, Some("add" | "remove" | "move")),
            "submodule" => !matches!(sub, None | Some("status" | "summary")),
            "clone" | "read-tree" | "checkout-index" | "merge-file" | "sparse-checkout"
            | "merge-recursive" | "merge-ours" | "merge-subtree" | "unpack-file" => true,
            "format-patch" => !has(rest, &["--stdout"]),
            "archive" => has(rest, &["-o", "--output"]),
            "bundle" => {
                let path = positionals(rest, &[]).get(1).copied();
                path.iter().for_each(|path| self.touched(path, words));
                sub == Some("create")
            }
            _ => return false,
        };
        if writes {
            self.written_paths(command, rest, words);
        }
        // The hooks' settings are ignored files.
        let takes_ignored = match command {
            "clean" => has(rest, &["-x", "-X"]),
            "stash" => has(rest, &["-a", "--all"]),
            _ => false,
        };
        if writes && takes_ignored {
            self.take_ignored(command, rest, words);
        }
        true
    }

    /// Notes what goes where ignored files go too: everything, unless paths are named.
    fn take_ignored(&mut self, command: &str, rest: &[String], words: &str) {
        let named = positionals(rest, &["-e", "--exclude", "-m", "--message"]);
        let paths = match named.as_slice() {
            ["push" | "save", paths @ ..] if command == "stash" => paths,
            paths => paths,
        };
        if paths.is_empty() {
            let settings = self.context.look.agent_settings();
            settings.iter().for_each(|file| self.write(file.path, words, false));
        }
        paths.iter().for_each(|path| self.write(path, words, true));
    }

    /// Notes the paths that a command names; where it names none, it chooses them itself.
    fn written_paths(&mut self, command: &str, rest: &[String], words: &str) {
        const VALUED: &[&str] = &["-s", "--source", "--pathspec-from-file", "--conflict"];
        let after = rest.iter().position(|it| it == "--").map(|at| &rest[at + 1..]);
        let paths = match (command, after) {
            ("checkout", Some(paths)) => positionals(paths, &[]),
            // The last of these may be a branch or a path; taken as a path it is at least looked
            // at.
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
        let section = name.split('.').next().unwrap_or_default();
        let key = name.rsplit('.').next().unwrap_or_default();
        let is_run =
            |(one, other): &(&str, &str)| *one == section && (*other == key || other.is_empty());
        if RUN_SETTINGS.iter().any(is_run) && !text.is_empty() {
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
        let is_question = matches!(named.as_slice(), [] | ["get" | "list", ..]);
        if let Some(path) = value(rest, &["-f", "--file"])
            && !is_question
            && (named.len() > 1 || is_removal)
        {
            self.write(path, words, false);
        }
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
        if own.is_none() && !self.look_once() {
            return;
        }
        let Some(text) = own.or_else(|| self.context.look.git_alias(command)) else {
            // Then it is a program of the user's own, of the name `git-…`.
            return self
                .unknowable(&format!("`git {command}` is no command that git has by itself"));
        };
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
