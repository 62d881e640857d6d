//! The hook, as agent programs call it: an event on standard input, an answer in their form.
//!
//! Both programs are asked where it matters: `waypost-hook`, which answers from the gate record,
//! and `waypost hook`, which reads the journal. They have to agree.

mod events;
mod faults;
mod fence;
mod finishing;
mod holes;
mod matrix;
mod places;
mod walled;

use crate::harness::{BINARY, Project, Ran};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};

/// The small program.
pub(crate) const HOOK: &str = env!("CARGO_BIN_EXE_waypost-hook");

/// A program of ours in a folder without `waypost-shell`: there is no wall then, whatever the machine
/// could build, and the guide is as strict as it is alone.
pub(crate) fn alone(program: &str) -> PathBuf {
    let path = Path::new(program);
    let mark = |program: &str| Path::new(program).metadata().unwrap().mtime_nsec();
    let folder = format!("alone-{}-{}", mark(HOOK), mark(BINARY));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    for name in ["waypost", "waypost-hook"] {
        let (from, to) = (path.with_file_name(name), folder.join(name));
        if !to.exists() {
            let aside = folder.join(format!("{name}.{}", std::process::id()));
            fs::copy(from, &aside).unwrap();
            fs::rename(aside, &to).unwrap();
        }
    }
    folder.join(path.file_name().unwrap())
}

/// Which of the two programs is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Small,
    Whole,
}

pub(crate) const BOTH: [Asked; 2] = [Asked::Small, Asked::Whole];

/// What was answered to a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allowed,
    Refused(String),
}

impl Project {
    /// Gives an event to the hook, for the program `product`.
    pub(crate) fn hook_in(&self, asked: Asked, folder: &Path, product: &str, input: &[u8]) -> Ran {
        let program = match asked {
            Asked::Small => HOOK,
            Asked::Whole => BINARY,
        };
        let mut command = self.command(alone(program).to_str().unwrap(), folder);
        if asked == Asked::Whole {
            command.arg("hook");
        }
        command.args(Some(product).filter(|word| !word.is_empty()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that answers without reading everything closes the pipe.
        let _closed = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap().into()
    }

    /// Gives an event of Claude Code's to the hook in the project's folder.
    pub(crate) fn hook(&self, asked: Asked, event: &Value) -> Ran {
        self.hook_in(asked, &self.root, "claude", event.to_string().as_bytes())
    }

    /// An event of Claude Code's before a tool call.
    pub(crate) fn tool_event(&self, tool: &str, input: &Value) -> Value {
        json!({
            "session_id": "s1",
            "transcript_path": "/nowhere.jsonl",
            "cwd": self.root,
            "permission_mode": "acceptEdits",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": input,
            "tool_use_id": "toolu_1",
        })
    }

    /// Asks whether a tool call is allowed.
    #[track_caller]
    pub(crate) fn may(&self, asked: Asked, tool: &str, input: &Value) -> Answer {
        answer(&self.hook(asked, &self.tool_event(tool, input)))
    }

    #[track_caller]
    pub(crate) fn may_write(&self, asked: Asked, name: &str) -> Answer {
        self.may(asked, "Write", &json!({ "file_path": self.path(name), "content": "x" }))
    }

    #[track_caller]
    pub(crate) fn may_run(&self, asked: Asked, command: &str) -> Answer {
        self.may(asked, "Bash", &json!({ "command": command }))
    }

    /// Both programs' answers, which have to be the same.
    #[track_caller]
    pub(crate) fn both(&self, ask: impl Fn(&Self, Asked) -> Answer) -> Answer {
        let [small, whole] = BOTH.map(|asked| ask(self, asked));
        assert_eq!(small, whole, "the two programs do not agree");
        small
    }

    /// The files around the journal that the hook reads and writes.
    pub(crate) fn record(&self) -> PathBuf {
        self.journal().join("gate/main")
    }
}

impl Answer {
    pub(crate) fn is_allowed(&self) -> bool {
        *self == Self::Allowed
    }

    #[track_caller]
    pub(crate) fn refused(&self) -> &str {
        match self {
            Self::Refused(reason) => reason,
            Self::Allowed => panic!("it was allowed"),
        }
    }
}

/// What Claude Code makes of an answer: exit 0 and silence let the call pass, a deny in JSON and
/// exit 2 stop it. Any other exit code would let it pass too, and is a failure of the test.
#[track_caller]
pub(crate) fn answer(ran: &Ran) -> Answer {
    match ran.code {
        0 if ran.stdout.is_empty() => Answer::Allowed,
        0 => {
            let output: Value = serde_json::from_str(&ran.stdout).unwrap();
            let output = &output["hookSpecificOutput"];
            assert_eq!(output["hookEventName"], "PreToolUse", "{ran}");
            assert_eq!(output["permissionDecision"], "deny", "{ran}");
            Answer::Refused(output["permissionDecisionReason"].as_str().unwrap().to_owned())
        }
        2 => Answer::Refused(ran.stderr.trim().to_owned()),
        _ => panic!("an answer that agent programs take for a yes\n{ran}"),
    }
}
