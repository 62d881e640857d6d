//! Command lines of other programs: shown as a person would type them, and run from the root.
//!
//! A child never reads our standard input unless it says so, because the gate also runs where
//! there is none and a program that waits for an answer would wait for ever.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail};

/// A program with its arguments and the variables that it needs on top of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    program: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    stdin: Input,
}

/// What a child reads as its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Nothing,
    /// Ours, for a program that asks a person at the terminal, such as `sudo`.
    Ours,
}

impl CommandLine {
    pub(crate) fn new<I, S>(program: &str, arguments: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Self {
            program: program.to_owned(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            variables: Vec::new(),
            stdin: Input::Nothing,
        }
    }

    /// A call of cargo, given as one line without quotes.
    pub(crate) fn cargo(line: &str) -> Self {
        Self::new("cargo", line.split_whitespace())
    }

    pub(crate) fn with<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn interactive(mut self) -> Self {
        self.stdin = Input::Ours;
        self
    }

    /// Runs it with our output; anything but success is an error.
    pub(crate) fn run(&self) -> Result<()> {
        let status = self.command().status().with_context(|| format!("cannot start `{self}`"))?;
        self.expect_success(status)
    }

    /// Runs it and returns what it printed; its standard error is ours.
    pub(crate) fn stdout(&self) -> Result<Vec<u8>> {
        let answer = self.answer()?;
        self.expect_success(answer.status)?;
        Ok(answer.stdout)
    }

    /// Runs it and returns status and standard output, whatever they are.
    pub(crate) fn answer(&self) -> Result<Answer> {
        let output = self
            .command()
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot start `{self}`"))?;
        Ok(Answer { status: output.status, stdout: output.stdout })
    }

    /// Whether it can be started and ends well; it prints nothing.
    pub(crate) fn succeeds(&self) -> bool {
        let mut command = self.command();
        let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
        silent.status().is_ok_and(|status| status.success())
    }

    fn expect_success(&self, status: ExitStatus) -> Result<()> {
        if !status.success() {
            bail!("`{self}` ended with {status}");
        }
        Ok(())
    }

    fn command(&self) -> Command {
        // Cargo names itself to its children; the one that runs us is the one to use.
        let program = match self.program.as_str() {
            "cargo" => std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()),
            other => other.to_owned(),
        };
        let mut command = Command::new(program);
        command.args(&self.arguments).current_dir(root());
        // Git tells its hooks which repository is meant. Our children choose theirs by folder, and
        // a test in a temporary repository must never touch the one whose hook started the gate.
        for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
            command.env_remove(name);
        }
        // Build scripts run again when such a variable changes: with ours, half of the dependencies
        // would be built twice, once for a person's cargo and once for the gate's.
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_our_package(name)) {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        match self.stdin {
            Input::Nothing => command.stdin(Stdio::null()),
            Input::Ours => command.stdin(Stdio::inherit()),
        };
        command
    }
}

/// Whether cargo has set a variable because it runs this very program.
fn is_of_our_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["CARGO_MANIFEST_", "CARGO_PKG_"].iter().any(|prefix| name.starts_with(prefix))
}

/// What a child that may fail answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&quoted(&self.program))?;
        for argument in &self.arguments {
            write!(f, " {}", quoted(argument))?;
        }
        Ok(())
    }
}

/// The word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The repository's top folder.
pub(crate) fn root() -> PathBuf {
    // The variable of the running cargo wins over the one of the build: a target folder that two
    // checkouts share would otherwise send us to the other one.
    let manifest = std::env::var("CARGO_MANIFEST_DIR")
        .unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let manifest = PathBuf::from(manifest);
    manifest.parent().map(Path::to_owned).unwrap_or(manifest)
}

/// The folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// Whether a program of this name can be started.
pub(crate) fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_executable(&folder.join(program)))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_as_a_shell_would_read_it() {
        let line = CommandLine::cargo("doc --no-deps")
            .with(["it's", "", "a/b.rs"])
            .variable("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            line.to_string(),
            r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s' '' a/b.rs"
        );
    }

    #[test]
    fn a_child_does_not_take_itself_for_this_package() {
        let answer = CommandLine::new("env", [""; 0]).answer().unwrap();
        let printed = String::from_utf8_lossy(&answer.stdout).into_owned();
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        assert!(
            !printed.contains("CARGO_PKG_") && !printed.contains("CARGO_MANIFEST_"),
            "{printed}"
        );
        assert!(printed.contains("PATH="), "{printed}");
    }

    #[test]
    fn a_failed_program_is_an_error_that_shows_its_command_line() {
        let error = CommandLine::new("sh", ["-c", "exit 3"]).run().unwrap_err();
        assert_eq!(format!("{error:#}"), "`sh -c 'exit 3'` ended with exit status: 3");
    }

    #[test]
    fn a_child_reads_nothing_and_sees_its_variables() {
        let script = "cat; printf %s \"$GREETING\"";
        let line = CommandLine::new("sh", ["-c", script]).variable("GREETING", "hello");
        assert_eq!(line.stdout().unwrap(), b"hello");
    }

    #[test]
    fn only_what_can_be_executed_is_on_the_path() {
        assert!(is_on_path("sh"));
        assert!(!is_on_path("no-such-program-anywhere"));
        assert!(!is_executable(Path::new(env!("CARGO_MANIFEST_DIR"))));
        assert!(!is_executable(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")));
    }
}
