//! Playing the person: the program below a pseudo-terminal, through `script` of util-linux.
//!
//! Only a user at a terminal without an agent program above counts as a person. Where that
//! cannot be played (no `script`, or the tests themselves run below an agent program), tests that
//! need it say so and pass.

use crate::harness::{BINARY, PIN, Project, Ran};
use std::{env, fs, io::Write as _, process::Stdio, sync::OnceLock};

/// What a person is asked for the PIN for.
const OPENING: &[&str] = &[
    "gate pass",
    "inbox answer",
    "inbox approve",
    "suspend",
    "--restart",
    "doctor --fix",
    "--fresh",
    "--remove",
    "adopt",
];

/// Says aloud that a test cannot show anything here.
pub(crate) fn no_person_is_here() -> bool {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let reason = REASON.get_or_init(|| {
        let project = Project::plain();
        let script = project.command("script", &project.root).arg("--version").output();
        if !script.is_ok_and(|script| script.status.success()) {
            return Some("`script` of util-linux is not here".into());
        }
        if env::home_dir().is_some_and(|home| home.join(".local/state/waypost/pin").exists()) {
            return Some("the user who runs the tests has a PIN".into());
        }
        project.as_person("develop start probe");
        let actor = project.log()[0]["actor"].as_str().unwrap_or_default().to_owned();
        (!actor.starts_with("user:")).then(|| format!("below a terminal this is {actor}"))
    });
    if let Some(reason) = reason {
        println!("skipped: {reason}");
    }
    reason.is_some()
}

/// The PIN as it is typed for a line, if that may ask for it.
pub(crate) fn pin_for(line: &str) -> String {
    let opens = OPENING.iter().any(|word| line.contains(word));
    if opens { format!("{PIN}\n") } else { String::new() }
}

impl Project {
    /// Runs a line as a person; nothing is typed.
    pub(crate) fn as_person(&self, line: &str) -> Ran {
        self.typing(line, "")
    }

    /// Runs a line as a person who types `answers`. Output goes to files, so that both streams
    /// can be told apart; the terminal is there all the same.
    pub(crate) fn typing(&self, line: &str, answers: &str) -> Ran {
        let (out, err) = (self.base().join("person.out"), self.base().join("person.err"));
        let shell = format!("{BINARY} {line} >{} 2>{}", out.display(), err.display());
        let code = self.below_terminal(&shell, answers).code;
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Ran { code, stdout: read(out), stderr: read(err) }
    }

    /// As `as_person`; anything but success is a failure of the test.
    #[track_caller]
    pub(crate) fn person_must(&self, line: &str) -> Ran {
        let ran = self.as_person(line);
        assert_eq!(ran.code, 0, "waypost {line}, by a person\n{ran}");
        ran
    }

    /// Runs a shell command below a terminal; all it prints is in `stdout`. The PIN is typed after all else
    /// where it may be asked for.
    pub(crate) fn below_terminal(&self, shell: &str, typed: &str) -> Ran {
        self.at_keyboard(shell, &format!("{typed}{}", pin_for(shell)))
    }

    /// As `below_terminal`, with nothing typed but this.
    pub(crate) fn at_keyboard(&self, shell: &str, typed: &str) -> Ran {
        let mut command = self.command("script", &self.root);
        command.args(["-q", "-e", "-c", shell, "/dev/null"]).env("TERM", "xterm-256color");
        command.env("SHELL", "/bin/sh");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut keyboard = child.stdin.take().unwrap();
        // A command that asks for nothing may be over before anything is typed.
        let _unread = keyboard.write_all(typed.as_bytes());
        drop(keyboard);
        child.wait_with_output().unwrap().into()
    }
}
