//! Talks with a double as an engine would: starts it with what `launch` says, reads its stream,
//! answers, and hangs up when all is said.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{PipeWriter, Read as _, Write as _, pipe};
use std::path::Path;
use std::thread;
use tempfile::TempDir;
use waypost_agent::Adapter;
use waypost_agent::answer::{self, Answer};
use waypost_agent::launch::{Access, Conversation, Launch, Opening, Order, Prompts};
use waypost_agent::stream::{Reader, Said};
use waypost_model::time::Time;
use waypost_sim::agent::{AgentScript, Double, Exit, ProgramOptions, talk};

/// The id that Claude Code is told to use.
pub(crate) const ID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

/// When all of this happens.
pub(crate) const NOW: i64 = 1_800_000_000_000;

/// What the driver does when the agent has said something.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Interrupt,
    HangUp,
}

/// A conversation with a double.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) adapter: Adapter,
    pub(crate) script: Value,
    /// The first is the task.
    pub(crate) messages: Vec<&'static str>,
    /// What is done at each question, in order.
    pub(crate) answers: Vec<Answer>,
    /// What is done at the first text that has these words.
    pub(crate) at_text: Option<(&'static str, Act)>,
    pub(crate) resume: Option<String>,
    pub(crate) access: Access,
    pub(crate) prompts: Prompts,
    pub(crate) task: Option<&'static str>,
    pub(crate) attempt: u32,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) said: Vec<Said>,
    pub(crate) exit: Exit,
    pub(crate) errors: String,
}

/// A folder to work in and one for conversations.
#[derive(Debug)]
pub(crate) struct Site(TempDir);

impl Site {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self(folder)
    }

    pub(crate) fn work(&self) -> std::path::PathBuf {
        self.0.path().join("work")
    }

    /// A text of the double without the folder's name.
    fn plain(&self, text: &str) -> String {
        text.replace(&self.work().display().to_string(), "/work")
    }
}

impl Talk {
    pub(crate) fn new(adapter: Adapter, steps: Value) -> Self {
        Self {
            adapter,
            script: json!({"version": 1, "default": [{"steps": steps}]}),
            messages: vec!["go"],
            answers: Vec::new(),
            at_text: None,
            resume: None,
            access: Access::Edit,
            prompts: Prompts::Asked,
            task: Some("T1"),
            attempt: 1,
        }
    }

    fn launch(&self, folder: &Path) -> Launch {
        let conversation = match &self.resume {
            Some(id) => Conversation::Resume { id: id.clone() },
            None => Conversation::New { id: ID.to_owned() },
        };
        let order = Order {
            program: vec!["double".to_owned()],
            task: self.messages[0].to_owned(),
            conversation,
            model: None,
            turns_max: Some(50),
            budget_cents: Some(100),
            folder: folder.display().to_string(),
            more_folders: vec!["/more".to_owned()],
            access: self.access,
            allowed_tools: vec!["Bash(ls:*)".to_owned()],
            prompts: self.prompts,
            setting_sources: Some("user".to_owned()),
            has_mcp: false,
            settings: Some("/settings.json".to_owned()),
            hook: vec!["waypost-hook".to_owned()],
            schema: None,
        };
        self.adapter.launch(&order)
    }

    /// Talks until the double has ended.
    pub(crate) fn run(self, site: &Site) -> Heard {
        let folder = site.work();
        let start = self.launch(&folder);
        let script = AgentScript::parse(self.script.to_string().as_bytes()).unwrap();
        let options = ProgramOptions {
            speak: Double::of(self.adapter).unwrap(),
            arguments: start.program[1..].to_vec(),
            script,
            sessions: site.0.path().join("sessions"),
            task: self.task.map(str::to_owned),
            attempt: self.attempt,
            folder,
            clock: || Time::from_millis(NOW),
        };
        let (input, mut to_double) = pipe().unwrap();
        let (mut from_double, mut output) = pipe().unwrap();
        let double = thread::spawn(move || {
            let mut errors = Vec::new();
            let exit = talk(&options, input, &mut output, &mut errors).unwrap();
            (exit, String::from_utf8(errors).unwrap())
        });
        to_double.write_all(start.stdin.join("\n").as_bytes()).unwrap();
        to_double.write_all(b"\n").unwrap();
        let mut speaker = Speaker::new(&self, to_double, start.opening);
        let mut reader = Reader::new(self.adapter);
        let (mut said, mut bytes) = (Vec::new(), [0; 4096]);
        loop {
            let count = from_double.read(&mut bytes).unwrap();
            let new = if count == 0 { reader.finish() } else { reader.read(&bytes[..count]) };
            new.iter().for_each(|new| speaker.react(new));
            said.extend(new);
            if count == 0 {
                break;
            }
        }
        let (exit, errors) = double.join().unwrap();
        Heard { said, exit, errors }
    }
}

/// The side that reacts.
#[derive(Debug)]
struct Speaker {
    adapter: Adapter,
    /// None once it has hung up.
    input: Option<PipeWriter>,
    messages: VecDeque<&'static str>,
    answers: VecDeque<Answer>,
    at_text: Option<(&'static str, Act)>,
    session: String,
    turn: Option<String>,
    number: u32,
}

impl Speaker {
    fn new(talk: &Talk, input: PipeWriter, opening: Opening) -> Self {
        let mut messages: VecDeque<_> = talk.messages.clone().into();
        if opening != Opening::AfterSession {
            messages.pop_front();
        }
        Self {
            adapter: talk.adapter,
            input: Some(input).filter(|_| opening != Opening::Closed),
            messages,
            answers: talk.answers.clone().into(),
            at_text: talk.at_text.clone(),
            session: String::new(),
            turn: None,
            number: 0,
        }
    }

    fn react(&mut self, said: &Said) {
        match said {
            Said::Session { id } => {
                self.session.clone_from(id);
                if self.adapter.names_conversation_first() {
                    self.next_message();
                }
            }
            // Who wants another conversation has to ask for it.
            Said::Forgotten => self.input = None,
            Said::TurnBegan { id } => self.turn.clone_from(id),
            Said::Asked(ask) => match self.answers.pop_front() {
                Some(given) => self.send(&answer::answer(self.adapter, ask, &given).unwrap()),
                None => self.act(&Act::Interrupt),
            },
            Said::Text(text) | Said::ToolCall { input: text, .. } => {
                if let Some((_, act)) = self.at_text.take_if(|(words, _)| text.contains(*words)) {
                    self.act(&act);
                }
            }
            Said::Ended(_) => self.next_message(),
            _ => {}
        }
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::HangUp => self.input = None,
            Act::Interrupt => {
                let turn = self.turn.as_deref();
                let line = answer::interrupt(self.adapter, &self.session, turn, 1);
                self.send(&line.unwrap());
            }
        }
    }

    /// Says what is left to say, or hangs up.
    fn next_message(&mut self) {
        let Some(text) = self.messages.pop_front() else {
            self.input = None;
            return;
        };
        self.number += 1;
        let line = answer::message(self.adapter, &self.session, self.number, text);
        self.send(&line.unwrap());
    }

    fn send(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            // The double may have ended.
            let _gone = writeln!(input, "{line}");
        }
    }
}

/// What was said, a line for each; of lines that say nothing to us only that they were there.
pub(crate) fn shown(site: &Site, heard: &Heard) -> String {
    let mut text = String::new();
    for said in &heard.said {
        match said.clone() {
            Said::Other(raw) => {
                let value: Value = serde_json::from_str(&raw).unwrap_or_default();
                let keys = ["type", "subtype", "method", "id"];
                let kinds: Vec<&str> = keys.iter().filter_map(|key| value[key].as_str()).collect();
                writeln!(text, "  ({})", kinds.join(" ")).unwrap();
            }
            Said::Asked(mut ask) => {
                // The line itself is what an answer was made from.
                ask.raw.clear();
                writeln!(text, "{ask:?}").unwrap();
            }
            said => writeln!(text, "{said:?}").unwrap(),
        }
    }
    write!(text, "{:?} {:?}", heard.exit, heard.errors).unwrap();
    site.plain(&text)
}

/// Those that tell in words of their own what they do; plain text has a file of its own.
pub(crate) fn structured() -> impl Iterator<Item = Adapter> {
    Adapter::all().filter(|adapter| *adapter != Adapter::PLAIN)
}

/// All four, one after the other, each at a site of its own.
pub(crate) fn all(make: impl Fn(Adapter) -> Talk) -> String {
    of(&structured().collect::<Vec<_>>(), make)
}

pub(crate) fn of(adapters: &[Adapter], make: impl Fn(Adapter) -> Talk) -> String {
    let mut text = String::new();
    for adapter in adapters {
        let site = Site::new();
        let heard = make(*adapter).run(&site);
        writeln!(text, "## {adapter}\n{}\n", shown(&site, &heard)).unwrap();
    }
    text
}
