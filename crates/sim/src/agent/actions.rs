//! The steps of a script, each as something that the player does.

use super::Exit;
use super::ear::Event;
use super::hooks::{HookSaid, Hooks};
use super::plan::Plan;
use super::player::{Came, Player, Stop, TERMINATED};
use super::script::{Condition, Crash, Step};
use super::tools::{self, Running};
use super::voice::{Asking, Call, Change, End, Limit, Outcome, Question, Reply};
use std::env;
use std::io;
use std::time::Duration;

/// How often is looked whether a command has ended.
const TICK: Duration = Duration::from_millis(5);

/// A piece of a flood.
const FLOOD_PIECE: usize = 64 * 1024;

/// What a call hears whose asker went away.
const STREAM_CLOSED: &str = "Tool permission request failed: AbortError: Tool permission stream \
                             closed before response received";

impl Player<'_> {
    pub(super) fn perform(&mut self, step: Step) -> Result<(), Stop> {
        match step {
            Step::Say(text) => self.text(&self.filled(&text))?,
            Step::Tool { name, input } => {
                if let Some(call) = self.call(&name, &self.filled(&input), None)? {
                    self.result(&call, &Outcome::ok("ok"))?;
                }
            }
            Step::Write { file, text, is_appended } => self.write(&file, &text, is_appended)?,
            Step::Run(command) => self.run(&command)?,
            Step::Permission { tool, input, otherwise } => {
                self.permission(&tool, &input, otherwise)?;
            }
            Step::Question { text, choices } => self.question(&text, choices)?,
            Step::When { condition, then, otherwise } => {
                let steps = if self.holds(&condition) { then } else { otherwise };
                self.plan.iter_mut().for_each(|plan| plan.insert(steps.clone()));
            }
            Step::Wait(span) => drop(self.wait(None, Some(span))?),
            Step::Crash(crash) => return Err(Stop::Exit(broken(crash))),
            Step::Hang { .. } => return Err(self.hang()),
            Step::Flood(bytes) => self.flood(bytes)?,
            Step::Garbage => {
                self.output.write_all(b"this is \xff\xfe no JSON {\n")?;
                self.output.flush()?;
            }
            Step::HookOff => self.voice.hooks().into_iter().for_each(Hooks::switch_off),
            Step::Limit { resets_in } => {
                let resets_at = (self.options.clock)().plus(resets_in);
                return Err(Stop::Turn(End::Limited(Limit { resets_in, resets_at })));
            }
            Step::Unavailable(trouble) => return Err(Stop::Turn(End::Unavailable(trouble))),
            Step::Usage(spent) => {
                self.spent = Some(self.spent.unwrap_or_default().plus(spent));
            }
            Step::Spend(spent) => {
                let turn = self.spent.unwrap_or_default().plus(spent);
                self.spent = Some(turn);
                let before = self.conversation.as_ref().map(|it| it.spent).unwrap_or_default();
                let number = self.next_number();
                let lines = self.voice.spent(number, spent, before.plus(turn));
                self.say(lines)?;
            }
            Step::TurnEnd => return Err(Stop::Turn(End::Done)),
            Step::Fail(reason) => return self.fail(&reason),
            Step::Done(text) => {
                self.text(self.filled(&format!("{text}\nDONE:{{task}}")).trim_start())?;
                return Err(Stop::Turn(End::Done));
            }
            Step::Exit(code) => return Err(Stop::Exit(Exit::Code(code))),
        }
        Ok(())
    }

    fn fail(&mut self, reason: &str) -> Result<(), Stop> {
        self.text(&self.filled(&format!("FAIL:{{task}}:{reason}")))?;
        Err(Stop::Turn(End::Done))
    }

    fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::File(file) => self.options.folder.join(self.filled(file)).exists(),
            Condition::Variable(name) => env::var_os(name).is_some_and(|value| !value.is_empty()),
            Condition::Told(text) => {
                self.plan.as_ref().is_some_and(|plan| plan.told.contains(text))
            }
        }
    }

    /// A text with its placeholders filled in.
    fn filled(&self, text: &str) -> String {
        self.plan.as_ref().map_or_else(|| text.to_owned(), |plan| plan.filled(text))
    }

    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        text.clone_into(&mut self.last_text);
        let number = self.next_number();
        let lines = self.voice.text(number, text);
        self.say(lines)
    }

    fn next_number(&mut self) -> u64 {
        let number = self.number;
        self.number += 1;
        number
    }

    /// Tells of a call and asks the hook about it; none if the hook has refused it.
    fn call(
        &mut self,
        tool: &str,
        input: &str,
        change: Option<Change>,
    ) -> io::Result<Option<Call>> {
        let (tool, input) = (tool.to_owned(), input.to_owned());
        let mut call = Call { number: self.next_number(), tool, input, change };
        self.steps += 1;
        if self.voice.asks_hook_first() {
            let said = self.ask_hook(&call)?;
            if let HookSaid::Refused(_) = said {
                return Ok(None);
            }
            self.tell_call(&call)?;
            rewrite(&mut call, said);
            return Ok(Some(call));
        }
        self.tell_call(&call)?;
        match self.ask_hook(&call)? {
            HookSaid::Refused(reason) => {
                self.open = None;
                let lines = self.voice.decided(&call, false, &reason);
                self.say(lines)?;
                Ok(None)
            }
            said => {
                rewrite(&mut call, said);
                Ok(Some(call))
            }
        }
    }

    fn tell_call(&mut self, call: &Call) -> io::Result<()> {
        self.open = Some(call.clone());
        let lines = self.voice.call(call);
        self.say(lines)
    }

    fn ask_hook(&mut self, call: &Call) -> io::Result<HookSaid> {
        let event = self.voice.hook_event(call);
        let folder = self.options.folder.clone();
        match self.voice.hooks().filter(|hooks| hooks.are_there()) {
            Some(hooks) => hooks.ask(&event, &folder),
            None => Ok(HookSaid::Nothing),
        }
    }

    fn result(&mut self, call: &Call, outcome: &Outcome) -> io::Result<()> {
        self.open = None;
        let lines = self.voice.result(call, outcome);
        self.say(lines)
    }

    fn write(&mut self, file: &str, text: &str, is_appended: bool) -> io::Result<()> {
        let (file, text) = (self.filled(file), self.filled(text));
        let path = self.options.folder.join(&file);
        let change = Change { is_new: !path.exists(), path, text: text.clone() };
        let Some(call) = self.call("Write", &file, Some(change))? else { return Ok(()) };
        let outcome = tools::write(&self.options.folder, &file, &text, is_appended);
        self.result(&call, &outcome)
    }

    fn run(&mut self, command: &str) -> Result<(), Stop> {
        // What a person answered is no part of a command.
        let command = self.plan.as_ref().map_or_else(String::new, |plan| plan.named(command));
        let Some(call) = self.call("Bash", &command, None)? else { return Ok(()) };
        let outcome = match Running::start(&call.input, &self.options.folder) {
            Ok(running) => self.watch(running)?,
            Err(error) => Outcome { output: error.to_string(), code: 127 },
        };
        Ok(self.result(&call, &outcome)?)
    }

    fn watch(&mut self, mut running: Running) -> Result<Outcome, Stop> {
        loop {
            if let Some(outcome) = running.poll()? {
                return Ok(outcome);
            }
            if let Err(stop) = self.wait(None, Some(TICK)) {
                running.kill();
                return Err(stop);
            }
        }
    }

    fn permission(
        &mut self,
        tool: &str,
        input: &str,
        otherwise: Option<Vec<Step>>,
    ) -> Result<(), Stop> {
        let Some(call) = self.call(tool, &self.filled(input), None)? else {
            return self.refused_permission(otherwise);
        };
        let refusal = match self.voice.permission(&call) {
            Asking::Granted => None,
            Asking::Refused { reason, lines } => {
                self.say(lines)?;
                Some(reason)
            }
            Asking::InText => Some("nobody can be asked".to_owned()),
            Asking::Asked { request, lines } => {
                self.say(lines)?;
                match self.wait(Some(&request), None)? {
                    Came::Reply(Reply::Denied(reason)) => Some(reason),
                    Came::Reply(_) => None,
                    Came::Closed | Came::Elapsed => Some(STREAM_CLOSED.to_owned()),
                }
            }
        };
        self.open = None;
        let told = refusal.as_deref().unwrap_or("ok");
        let lines = self.voice.decided(&call, refusal.is_none(), told);
        self.say(lines)?;
        let Some(reason) = refusal else { return Ok(()) };
        self.text(&format!("I may not: {reason}"))?;
        self.refused_permission(otherwise)
    }

    /// What is done in the place of a call that was refused.
    fn refused_permission(&mut self, otherwise: Option<Vec<Step>>) -> Result<(), Stop> {
        match (otherwise, &mut self.plan) {
            (Some(steps), Some(plan)) => {
                plan.insert(steps);
                Ok(())
            }
            _ => self.fail("denied"),
        }
    }

    fn question(&mut self, text: &str, choices: Vec<String>) -> Result<(), Stop> {
        let text = self.filled(text);
        let question = Question { number: self.next_number(), text, choices };
        let asking = self.voice.question(&question);
        if asking == Asking::InText {
            return self.question_in_text(&question);
        }
        self.steps += 1;
        let answer = match asking {
            Asking::Asked { request, lines } => {
                self.say(lines)?;
                self.ask_hook_of_question(&question)?;
                match self.wait(Some(&request), None)? {
                    Came::Reply(Reply::Answered(answer)) => Ok(answer),
                    Came::Reply(Reply::Denied(reason)) => Err(reason),
                    Came::Reply(Reply::Allowed) => Ok(String::new()),
                    Came::Closed | Came::Elapsed => Err(STREAM_CLOSED.to_owned()),
                }
            }
            Asking::Refused { reason, lines } => {
                self.say(lines)?;
                self.ask_hook_of_question(&question)?;
                Err(reason)
            }
            Asking::Granted | Asking::InText => Ok(String::new()),
        };
        let told = answer.as_deref().map_err(String::as_str);
        let lines = self.voice.answered(&question, told);
        self.say(lines)?;
        if let Some(plan) = &mut self.plan {
            plan.answer = answer.unwrap_or_default();
        }
        Ok(())
    }

    /// A question is a tool of some programs, and put to their hook like every other.
    fn ask_hook_of_question(&mut self, question: &Question) -> io::Result<()> {
        let Some(tool) = self.voice.question_tool() else { return Ok(()) };
        let (tool, input) = (tool.to_owned(), question.text.clone());
        let call = Call { number: question.number, tool, input, change: None };
        // No gate is about a question.
        self.ask_hook(&call).map(drop)
    }

    /// The next message will be the answer.
    fn question_in_text(&mut self, question: &Question) -> Result<(), Stop> {
        let asked = self.plan.as_ref().map(Plan::asked);
        if let Some(conversation) = &mut self.conversation {
            conversation.asked = asked;
        }
        self.text(&block(question))?;
        Err(Stop::Turn(End::Done))
    }

    fn flood(&mut self, bytes: u64) -> io::Result<()> {
        let piece = [b'x'; FLOOD_PIECE];
        let mut left = bytes;
        while left > 0 {
            let length = usize::try_from(left).map_or(FLOOD_PIECE, |left| left.min(FLOOD_PIECE));
            self.output.write_all(&piece[..length])?;
            left -= length as u64;
        }
        self.output.flush()
    }

    /// Neither a message nor the end of the input changes anything from here on.
    fn hang(&self) -> Stop {
        loop {
            if let Some(Event::Terminate) = self.ear.wait(None) {
                return Stop::Exit(Exit::Code(TERMINATED));
            }
        }
    }
}

/// A call is made with what the hook wants in the place of its own command.
fn rewrite(call: &mut Call, said: HookSaid) {
    if let HookSaid::Rewritten(command) = said {
        call.input = command;
    }
}

fn broken(crash: Crash) -> Exit {
    match crash {
        Crash::Code(code) => Exit::Crash(code),
        Crash::Kill => Exit::Kill,
    }
}

/// A question in the words of the text protocol.
fn block(question: &Question) -> String {
    // An indented line goes on with the field.
    let text = question.text.trim().replace('\n', "\n  ");
    let mut lines = vec!["[USER_QUESTION]".to_owned(), format!("question: {text}")];
    if !question.choices.is_empty() {
        lines.extend(["category: choice", "options:"].map(str::to_owned));
        lines.extend(question.choices.iter().map(|choice| format!("- {choice}")));
    }
    lines.push("[/USER_QUESTION]".to_owned());
    lines.join("\n")
}
