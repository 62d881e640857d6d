//! A project in a folder of its own, and the program run in it.
//!
//! The program is run without a terminal, so it takes itself for an agent's; `terminal` plays the
//! person.

use crate::printed;
use serde_json::{Value, json};
use std::{
    fmt::{self, Write as _},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

/// The built program.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_waypost");

/// The person's own configuration, from the project's folder. Which programs are agents, and where
/// notices go, can only stand here.
pub(crate) const USER_CONFIG: &str = "../home/.config/waypost/config.toml";

/// The PIN of a person in a test.
pub(crate) const PIN: &str = "2468";

/// What is kept of it, with a hash that takes no time.
pub(crate) const PIN_KEPT: &str = r#"{"version":1,"salt":"73616c74","rounds":1,"hash":"138d142b18e69629bba7b537b0edc8e6772fb22dd96850f04c3a7414decfc368","wrong":0,"until":0}"#;

/// A window of the workflow, below the project's folder.
pub(crate) const WORKFLOW: &str = ".develop-workflow/state.json";

/// A window of the run.
pub(crate) const RUN: &str = ".claude/orchestrate-state.json";

/// Two phases: the second depends on the first, and T1.2 on T1.1.
pub(crate) const TASKS: &str = "\
# Tasks: shop

## Phase 0: Ground

- [ ] T0.1: Lay the ground
- [ ] T0.2: Choose the tools

## Phase 1: Cart

- [ ] T1.1: Put things into the cart
- [ ] T1.2: Pay for them
  - depends: T1.1
- [ ] T1.3: Count them
";

/// A project with a home beside it; gone when dropped.
pub(crate) struct Project {
    folder: TempDir,
    pub(crate) root: PathBuf,
    variables: Vec<(String, String)>,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// Has an agent `smith`, which speaks as programs of an adapter do and follows a script.
    pub(crate) fn set_script(&self, adapter: &str, script: &Value) {
        let (path, sessions) = (self.base().join("script.json"), self.base().join("sessions"));
        fs::write(&path, script.to_string()).unwrap();
        let (path, sessions) = (path.to_str().unwrap(), sessions.to_str().unwrap());
        let options = ["--speak", adapter, "--script", path, "--sessions", sessions, "--"];
        let command: Vec<&str> = [BINARY, "sim", "agent"].into_iter().chain(options).collect();
        let agent = format!("adapter = \"{adapter}\"\ncommand = {}\n", json!(command));
        let config = format!("[run]\nagent = \"smith\"\n\n[agents.smith]\n{agent}");
        self.write(USER_CONFIG, &config);
    }

    /// A folder outside git.
    pub(crate) fn plain() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("shop");
        for each in [&root, &base.join("home")] {
            fs::create_dir(each).unwrap();
        }
        let project = Self { folder, root, variables: Vec::new() };
        project.write("../home/.local/state/waypost/pin", PIN_KEPT);
        project
    }

    /// An empty repository.
    pub(crate) fn git() -> Self {
        let project = Self::plain();
        project.git_command("init -q -b main .");
        project
    }

    /// A repository with the usual TASKS.md.
    pub(crate) fn with_tasks() -> Self {
        let project = Self::git();
        project.write("TASKS.md", TASKS);
        project
    }

    /// A workflow in IMPLEMENT: cp-1 is in progress, cp-2 and cp-3 are pending.
    pub(crate) fn implementing() -> Self {
        let project = Self::git();
        project.write("review.md", "Blocking: 0\n");
        for line in [
            "develop start 'Live chat'",
            "develop advance --checkpoint cp-1 --checkpoint cp-2 --checkpoint cp-3",
            "develop gate pass review_clean_pass --report review.md",
            "develop advance",
            "develop checkpoint start cp-1",
        ] {
            project.must(line);
        }
        project
    }

    /// A run in phase 1: T0.1 and T0.2 are completed, T1.1 has failed and blocks T1.2.
    pub(crate) fn running() -> Self {
        let project = Self::with_tasks();
        for line in [
            "run start T0.1",
            "run done T0.1",
            "run start T0.2",
            "run done T0.2",
            "run start T1.1",
            "run fail T1.1 --class critical --reason 'no disk'",
        ] {
            project.must(line);
        }
        project
    }

    /// Installs programs with the names of the agents, which only tell a version.
    pub(crate) fn with_programs(self) -> Self {
        for name in ["claude", "codex", "gemini"] {
            self.program(name, "echo 0.0.0");
        }
        self
    }

    /// Puts a shell script on the path.
    pub(crate) fn program(&self, name: &str, script: &str) {
        self.write(&format!("../programs/{name}"), &format!("#!/bin/sh\n{script}\n"));
        let path = self.base().join("programs").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Puts a shell script into the project.
    pub(crate) fn program_in(&self, name: &str, script: &str) {
        self.write(name, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Sets a variable for every command from here on.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The folder that holds the project and its home.
    pub(crate) fn base(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.base().join("home")
    }

    /// The journal's folder of a repository.
    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join(".git/waypost")
    }

    /// Runs a line such as `develop start 'Live chat'`, as an agent.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.run_in(&self.root, line)
    }

    pub(crate) fn run_in(&self, folder: &Path, line: &str) -> Ran {
        let ran: Ran = self.command(BINARY, folder).args(words(line)).output().unwrap().into();
        if words(line).iter().any(|word| word == "--json") {
            // Whatever a test looks at: it has to be what the schemas say.
            printed::check(line, &ran);
        }
        ran
    }

    /// As `run`, with something at its standard input.
    pub(crate) fn run_with_input(&self, line: &str, input: &str) -> Ran {
        let mut command = self.command(BINARY, &self.root);
        command.args(words(line)).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that has not read all of it has said why.
        let _unread = std::io::Write::write_all(&mut stdin, input.as_bytes());
        drop(stdin);
        let ran: Ran = child.wait_with_output().unwrap().into();
        if words(line).iter().any(|word| word == "--json") {
            printed::check(line, &ran);
        }
        ran
    }

    /// As `run`; anything but success is a failure of the test.
    #[track_caller]
    pub(crate) fn must(&self, line: &str) -> Ran {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "waypost {line}\n{ran}");
        ran
    }

    /// The data that a command prints with `--json`.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> Value {
        let ran = self.must(&format!("--json {line}"));
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{line}: {error}\n{ran}"))
    }

    /// The same of a command that prints an object on each line.
    #[track_caller]
    pub(crate) fn json_lines(&self, line: &str) -> Vec<Value> {
        let lines = self.must(&format!("--json {line}")).stdout;
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Every event of the journal.
    pub(crate) fn log(&self) -> Vec<Value> {
        self.json_lines("log -n 1000000")
    }

    /// A program in a clean environment, and in a session of its own: the process that runs the tests may
    /// have a terminal.
    pub(crate) fn command(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new("setsid");
        command.arg(program).current_dir(folder).env_clear().stdin(Stdio::null());
        command.env("HOME", self.home());
        let programs = self.base().join("programs");
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()));
        command.env("LANG", "C.UTF-8").env("TZ", "UTC").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Mina");
            command.env(format!("GIT_{role}_EMAIL"), "mina@example.org");
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs git in the project.
    #[track_caller]
    pub(crate) fn git_command(&self, line: &str) -> String {
        self.git_in(&self.root, line)
    }

    pub(crate) fn git_in(&self, folder: &Path, line: &str) -> String {
        let ran: Ran = self.command("git", folder).args(words(line)).output().unwrap().into();
        assert_eq!(ran.code, 0, "git {line}\n{ran}");
        ran.stdout
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Writes in place, as a simple program does.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes another file and renames it into place, as editors do.
    pub(crate) fn save(&self, name: &str, text: &str) {
        let aside = self.path("saved.tmp");
        fs::write(&aside, text).unwrap();
        fs::rename(aside, self.path(name)).unwrap();
    }

    /// Replaces a part of a file that has to be there.
    #[track_caller]
    pub(crate) fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} lacks {from:?}:\n{text}");
        self.save(name, &text.replacen(from, to, 1));
    }

    /// Changes a JSON file as `jq` does.
    pub(crate) fn edit(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_str(&self.read(name)).unwrap();
        change(&mut value);
        self.save(name, &serde_json::to_string_pretty(&value).unwrap());
    }

    /// Moves a task from one list of the run's window to another.
    pub(crate) fn move_task(&self, id: &str, from: &str, to: &str) {
        self.edit(RUN, |state| {
            let list = state["tasks"][from].as_array_mut().unwrap();
            list.retain(|each| each != id);
            state["tasks"][to].as_array_mut().unwrap().push(id.into());
        });
    }

    /// A window as data.
    pub(crate) fn window(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Output with everything replaced that differs from run to run.
    pub(crate) fn redact(&self, text: &str) -> String {
        let base = self.base();
        let text = text.replace(&base.display().to_string(), "[BASE]").replace("\r\n", "\n");
        redact_days(&redact_wall(&redact_words(&redact_times(&redact_runs(&text)))))
    }

    /// Runs lines one after another as an agent, and tells what could be seen.
    pub(crate) fn transcript(&self, lines: &[&str]) -> String {
        let told = lines.iter().map(|line| self.tell(line, &self.run(line)));
        told.collect::<Vec<_>>().join("\n")
    }

    /// A command and what came of it, for a snapshot: what went to stderr has `! ` in front.
    pub(crate) fn tell(&self, line: &str, ran: &Ran) -> String {
        let mut told = format!("$ waypost {line}\n{}", ran.stdout);
        for said in ran.stderr.lines() {
            writeln!(told, "{}", format!("! {said}").trim_end()).unwrap();
        }
        if ran.code != 0 {
            writeln!(told, "(exit {})", ran.code).unwrap();
        }
        self.redact(&told)
    }

    /// The data of several commands, one after another.
    pub(crate) fn data(&self, lines: &[&str]) -> String {
        let told = lines.iter().map(|line| {
            let value = serde_json::to_string_pretty(&self.json(line)).unwrap();
            self.redact(&format!("$ waypost --json {line}\n{value}\n"))
        });
        told.collect::<Vec<_>>().join("\n")
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {}\n-- stdout\n{}-- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// Splits a line at spaces; single quotes hold words together, as in a shell.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut is_open, mut is_quoted) = (false, false);
    for c in line.chars() {
        match c {
            '\'' => (is_quoted, is_open) = (!is_quoted, is_open || start(&mut words)),
            ' ' if !is_quoted => is_open = false,
            c => {
                is_open = is_open || start(&mut words);
                words.last_mut().unwrap().push(c);
            }
        }
    }
    words
}

fn start(words: &mut Vec<String>) -> bool {
    words.push(String::new());
    true
}

/// Replaces the day in the id of a task of the memory that was recorded.
fn redact_days(text: &str) -> String {
    const BEFORE: &str = "memory recorded task-";
    let mut parts = text.split(BEFORE);
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        redacted.push_str(BEFORE);
        redacted.push_str("[DAY]");
        redacted.push_str(part.get("2026-11-17".len()..).unwrap_or_default());
    }
    redacted
}

/// Replaces `2026-02-16T10:00:00Z` and the like by `[TIME]`.
fn redact_times(text: &str) -> String {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let fits = |at: usize| {
        bytes.get(at..at + SHAPE.len()).is_some_and(|part| {
            part.iter().zip(SHAPE).all(|(c, shape)| match shape {
                b'0' => c.is_ascii_digit(),
                mark => c == mark,
            })
        })
    };
    let mut redacted = String::new();
    let mut rest = 0;
    let mut at = 0;
    while at < bytes.len() {
        if fits(at) {
            redacted.push_str(&text[rest..at]);
            redacted.push_str("[TIME]");
            at += SHAPE.len();
            at += text[at..].chars().take_while(|c| "Z.:+".contains(*c)).count();
            rest = at;
        } else {
            at += 1;
        }
    }
    redacted.push_str(&text[rest..]);
    redacted
}

/// Replaces the user's name, how long ago something was, and how many values can be configured.
fn redact_words(text: &str) -> String {
    // As data, the words stand in quotes.
    let is_count = |word: &str| {
        let word = word.trim_start_matches('"');
        !word.is_empty() && word.bytes().all(|c| c.is_ascii_digit())
    };
    let mut redacted = String::new();
    for line in text.split_inclusive('\n') {
        let words: Vec<&str> = line.split(' ').collect();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).map_or("", |word| word.trim_end());
            let after = words.get(at + 2).map_or("", |word| word.trim_end());
            let is_age = is_count(word) && after == "ago";
            let is_values = is_count(word) && next.starts_with("values");
            let space = if at + 1 < words.len() { " " } else { "" };
            let shown = match is_age || is_values {
                true => {
                    format!("{}#", &word[..word.find(|c: char| c.is_ascii_digit()).unwrap_or(0)])
                }
                false => redact_user(word),
            };
            redacted.push_str(&shown);
            redacted.push_str(space);
        }
    }
    redacted
}

fn redact_user(word: &str) -> String {
    let Some((before, name)) = word.split_once("user:") else { return word.to_owned() };
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    format!("{before}user:[NAME]{}", name.trim_start_matches(is_name))
}

/// Replaces long runs of hexadecimal digits by `[HASH]`, and long decimal numbers by `[MILLIS]`.
fn redact_runs(text: &str) -> String {
    let mut redacted = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
        let (word, mark) = part.split_at(end);
        let all = |is: fn(&u8) -> bool| word.bytes().all(|c| is(&c));
        let shown = match word.len() {
            // A hash may happen to have no letter.
            13..=15 if all(u8::is_ascii_digit) => "[MILLIS]",
            16.. if all(u8::is_ascii_hexdigit) => "[HASH]",
            _ => word,
        };
        redacted.push_str(shown);
        redacted.push_str(mark);
    }
    redacted
}

#[test]
fn words_are_split_as_in_a_shell() {
    assert_eq!(
        words("run fail T1 --reason 'no disk' ''"),
        ["run", "fail", "T1", "--reason", "no disk", ""]
    );
}

#[test]
fn what_differs_from_run_to_run_is_redacted() {
    let project = Project::plain();
    let text = format!("{}/a 2026-02-16T10:00:00Z 001771236000000-x", project.base().display());
    assert_eq!(project.redact(&text), "[BASE]/a [TIME] [MILLIS]-x");
    assert_eq!(project.redact("kept as 0123456789abcdef."), "kept as [HASH].");
    assert_eq!(project.redact("kept as 0123456789012345."), "kept as [HASH].");
    assert_eq!(project.redact("3 s ago\n(by user:mina)"), "# s ago\n(by user:[NAME])");
}

/// How far the wall reaches is the machine's to say.
fn redact_wall(text: &str) -> String {
    let mut told = String::new();
    let mut is_hint = false;
    for line in text.split_inclusive('\n') {
        let is_wall = ["ok  ", "note"].iter().any(|word| {
            line.strip_prefix(word).is_some_and(|rest| rest.trim_start().starts_with("wall "))
        });
        if is_wall {
            told.push_str("[WALL]\n");
        } else if line.starts_with("Wall  level ") {
            told.push_str("Wall  level [LEVEL]\n");
        } else if !(is_hint && line.trim_start().starts_with("hint:")) {
            told.push_str(line);
        }
        is_hint = is_wall;
    }
    // In JSON it is one object among others.
    if let Some(at) = told.find("\"subject\": \"wall\"") {
        let start = told[..at].rfind('{').unwrap();
        let end = at + told[at..].find('}').unwrap() + 1;
        told.replace_range(start..end, "\"[WALL]\"");
    }
    ["b", "c", "none"].iter().fold(told, |told, level| {
        told.replace(&format!("\"wall\": \"{level}\""), "\"wall\": \"[LEVEL]\"")
    })
}
