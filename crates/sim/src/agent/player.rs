//! Plays a script: hears what is said to the program, takes step after step, and says it in the
//! voice of the program.

use super::ear::{Ear, Event};
use super::plan::Plan;
use super::script::{Spent, Step};
use super::sessions::{Conversation, Sessions};
use super::voice::{Call, End, Heard, Lines, Message, Reply, Report, Voice};
use super::{Exit, ProgramOptions};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the agent says once the script has ended.
const END_TEXT: &str = "The script has no more steps.";

/// What the program ends with when it is told to.
pub(super) const TERMINATED: u8 = 143;

/// The ids of a process begin behind those of earlier ones in the same conversation.
const NUMBERS_PER_TURN: u64 = 1_000;

/// Why the steps do not go on.
#[derive(Debug)]
pub(super) enum Stop {
    Turn(End),
    Exit(Exit),
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What a wait ended with.
#[derive(Debug)]
pub(super) enum Came {
    Reply(Reply),
    /// The program that would answer has closed its side.
    Closed,
    Elapsed,
}

pub(super) struct Player<'a> {
    pub(super) options: &'a ProgramOptions,
    pub(super) voice: Box<dyn Voice>,
    pub(super) ear: Ear,
    pub(super) output: &'a mut dyn Write,
    pub(super) sessions: Sessions,
    /// Whether the program ignores the wish that it ends.
    is_deaf: &'a AtomicBool,
    pub(super) conversation: Option<Conversation>,
    pub(super) plan: Option<Plan>,
    waiting: VecDeque<Message>,
    is_closed: bool,
    pub(super) number: u64,
    /// The call that is being made.
    pub(super) open: Option<Call>,
    pub(super) last_text: String,
    pub(super) steps: u64,
    pub(super) spent: Option<Spent>,
}

impl<'a> Player<'a> {
    pub(super) fn new(
        options: &'a ProgramOptions,
        voice: Box<dyn Voice>,
        ear: Ear,
        output: &'a mut dyn Write,
        is_deaf: &'a AtomicBool,
    ) -> io::Result<Self> {
        Ok(Self {
            options,
            voice,
            ear,
            output,
            sessions: Sessions::open(&options.sessions)?,
            is_deaf,
            conversation: None,
            plan: None,
            waiting: VecDeque::new(),
            is_closed: false,
            number: 0,
            open: None,
            last_text: String::new(),
            steps: 0,
            spent: None,
        })
    }

    /// Takes messages until the input is closed.
    pub(super) fn play(&mut self) -> Result<(), Stop> {
        loop {
            while let Some(message) = self.waiting.pop_front() {
                self.turn(&message)?;
            }
            if self.is_closed {
                return Err(Stop::Exit(Exit::Code(self.voice.exit_code())));
            }
            if let Some(Heard::Interrupt(lines)) = self.hear(None)? {
                self.say(lines)?;
            }
        }
    }

    /// All of the input, for programs that take one message in plain text.
    pub(super) fn whole_input(&mut self) -> Result<String, Stop> {
        let mut lines = Vec::new();
        loop {
            match self.ear.wait(None) {
                Some(Event::Line(line)) => lines.push(String::from_utf8_lossy(&line).into_owned()),
                Some(Event::Terminate) => return Err(Stop::Exit(Exit::Code(TERMINATED))),
                Some(Event::Closed) | None => break,
            }
        }
        self.is_closed = true;
        Ok(lines.join("\n"))
    }

    pub(super) fn say(&mut self, lines: Lines) -> io::Result<()> {
        for line in lines {
            writeln!(self.output, "{}", self.voice.write(&line))?;
        }
        self.output.flush()
    }

    /// Takes over a conversation and says that it did.
    pub(super) fn open(&mut self, request: &Value, conversation: Conversation) -> io::Result<()> {
        self.number = conversation.turns.saturating_mul(NUMBERS_PER_TURN);
        let lines = self.voice.opened(request, Ok(&conversation));
        self.conversation = Some(conversation);
        self.say(lines)
    }

    /// Waits for an event and deals with all that is no interrupt and no answer; none if nothing
    /// came within the limit.
    fn hear(&mut self, limit: Option<Duration>) -> Result<Option<Heard>, Stop> {
        let line = match self.ear.wait(limit) {
            None => return Ok(None),
            Some(Event::Terminate) => return Err(Stop::Exit(Exit::Code(TERMINATED))),
            Some(Event::Closed) => {
                self.is_closed = true;
                if self.voice.is_server() {
                    return Err(Stop::Exit(Exit::Code(self.voice.exit_code())));
                }
                return Ok(Some(Heard::Other(Vec::new())));
            }
            Some(Event::Line(line)) => line,
        };
        let line = self.voice.read(&line);
        match self.voice.hear(&line) {
            Heard::Open { resume, request } => self.open_asked(resume.as_deref(), &request)?,
            Heard::Message(message) => self.waiting.push_back(message),
            Heard::Other(lines) => self.say(lines)?,
            heard => return Ok(Some(heard)),
        }
        Ok(Some(Heard::Other(Vec::new())))
    }

    fn open_asked(&mut self, resume: Option<&str>, request: &Value) -> io::Result<()> {
        let found = match resume {
            None => Some(self.sessions.begin()?),
            Some(id) => self.sessions.find(id)?,
        };
        match (found, resume) {
            (Some(conversation), _) => self.open(request, conversation),
            (None, id) => {
                let lines = self.voice.opened(request, Err(id.unwrap_or_default()));
                self.say(lines)
            }
        }
    }

    /// Waits for the answer to a request, or for a while.
    pub(super) fn wait(
        &mut self,
        request: Option<&str>,
        limit: Option<Duration>,
    ) -> Result<Came, Stop> {
        let began = (self.options.clock)();
        loop {
            if request.is_some() && self.is_closed {
                return Ok(Came::Closed);
            }
            let passed = (self.options.clock)().since(began);
            let left = limit.map(|limit| limit.saturating_sub(passed));
            match self.hear(left)? {
                Some(Heard::Interrupt(lines)) => {
                    self.say(lines)?;
                    return Err(Stop::Turn(End::Interrupted(self.open.take())));
                }
                Some(Heard::Answer { request: name, reply }) if Some(name.as_str()) == request => {
                    return Ok(Came::Reply(reply));
                }
                Some(_) => {}
                None => return Ok(Came::Elapsed),
            }
        }
    }

    pub(super) fn turn(&mut self, message: &Message) -> Result<(), Stop> {
        self.begin(message)?;
        let end = match self.steps() {
            Ok(()) => End::Done,
            Err(Stop::Turn(end)) => end,
            Err(stop) => return Err(stop),
        };
        self.end(end)?;
        Ok(())
    }

    fn begin(&mut self, message: &Message) -> io::Result<()> {
        let mut conversation = match self.conversation.take() {
            Some(conversation) => conversation,
            None => self.sessions.begin()?,
        };
        let plan = self.plan.get_or_insert_with(|| Plan::new(self.options, message, &conversation));
        plan.told.clone_from(&message.text);
        self.is_deaf.store(plan.is_deaf(), Ordering::SeqCst);
        if conversation.asked.take().is_some() {
            plan.answer.clone_from(&message.text);
        }
        conversation.turns += 1;
        self.sessions.note(&conversation)?;
        let lines = self.voice.began(message, conversation.turns);
        self.conversation = Some(conversation);
        (self.steps, self.spent) = (0, None);
        self.last_text.clear();
        self.say(lines)
    }

    fn steps(&mut self) -> Result<(), Stop> {
        let mut is_idle = true;
        loop {
            // A program that wants something gets a hearing between any two steps, and none is lost by it.
            self.wait(None, Some(Duration::ZERO))?;
            let Some(step) = self.next_step() else { break };
            is_idle = false;
            self.perform(step)?;
        }
        if is_idle {
            self.text(END_TEXT)?;
        }
        Ok(())
    }

    fn next_step(&mut self) -> Option<Step> {
        self.plan.as_mut()?.next()
    }

    fn end(&mut self, end: End) -> io::Result<()> {
        let small = if end == End::Done { Spent::SMALL } else { Spent::default() };
        let spent = self.spent.unwrap_or(small);
        let Some(conversation) = &mut self.conversation else { return Ok(()) };
        conversation.spent = conversation.spent.plus(spent);
        self.sessions.note(conversation)?;
        let report = Report {
            end,
            last_text: std::mem::take(&mut self.last_text),
            spent,
            total: conversation.spent,
            steps: self.steps + 1,
        };
        let lines = self.voice.ended(&report);
        self.say(lines)
    }
}
