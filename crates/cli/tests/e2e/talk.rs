//! A conversation with Claude Code in one process, prompt by prompt: each is given when the one before is
//! answered.

use crate::harness::{Model, Site, Work};
use crate::program::{LIMIT, Ran};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
};

pub(crate) struct Talk {
    model: Model,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    said: String,
}

impl Talk {
    pub(crate) fn begin(site: &Site, script: &Value) -> Self {
        let model = Model::play(site, script);
        let mut command = site.claude_command(&model);
        command.args(["--input-format", "stream-json"]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            let _heard = lines.map(|line| sender.send(line)).take_while(Result::is_ok).count();
        });
        let input = child.stdin.take().unwrap();
        Self { model, child, input, lines, said: String::new() }
    }

    /// Gives a prompt and waits until it is answered.
    #[track_caller]
    pub(crate) fn say(&mut self, prompt: &str) {
        let message = json!({"type": "user", "message": {"role": "user", "content": prompt}});
        writeln!(self.input, "{message}").unwrap();
        loop {
            let line = self.lines.recv_timeout(LIMIT);
            let line = line.unwrap_or_else(|_| panic!("`{prompt}` has no answer\n{}", self.said));
            self.said.push_str(&line);
            self.said.push('\n');
            let value: Value = serde_json::from_str(&line).unwrap_or_default();
            if value["type"] == "result" {
                return;
            }
        }
    }

    /// Hangs up; what the model was asked, and what was said.
    #[track_caller]
    pub(crate) fn end(mut self) -> Work {
        drop(self.input);
        let ended = crate::program::wait_for("its end", || self.child.try_wait().unwrap());
        let ran = Ran { code: ended.code(), stdout: self.said, stderr: String::new() };
        assert_eq!(ran.code, Some(0), "{ran}");
        Work { requests: self.model.requests(), ran }
    }
}
