//! One process of an agent in words: what it says comes in as bytes, what is said to it goes out.
//!
//! Nothing here reads, writes or waits. What has to be done to the process is left as acts, in
//! order, for its owner to take.

use crate::agent::Heard;
use waypost_agent::{
    Adapter,
    answer::{self, Answer},
    stream::{Ask, Reader},
};
use waypost_proc::{Lease, Stop};

/// Something to be done to an agent's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Add a line to its input.
    Write(String),
    /// Close its input behind all that was written.
    HangUp,
    /// End it and all that it started; after its grace by force.
    Stop(Stop),
    /// Say what it may do without a further word.
    Renew(Lease),
    /// Make all of its tree stand still.
    Pause,
    Resume,
}

/// What an agent is told first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) message: String,
    /// The same if its program has forgotten the conversation.
    pub(crate) afresh: String,
    /// Where it works.
    pub(crate) folder: String,
}

/// How a conversation takes the place of one that the program has forgotten.
#[derive(Debug)]
struct Afresh {
    /// The request for it.
    request: String,
    message: String,
}

impl Afresh {
    fn new(adapter: Adapter, folder: &str, message: String) -> Option<Self> {
        adapter.fresh(folder).map(|request| Self { request, message })
    }
}

/// What was heard from one process of an agent, and what is still to be said to it.
#[derive(Debug)]
pub(crate) struct Dialogue {
    adapter: Adapter,
    reader: Reader,
    pub(crate) heard: Heard,
    /// The first message, while it waits for the conversation to have a name.
    opening: Option<String>,
    afresh: Option<Afresh>,
    messages: u32,
    is_hung_up: bool,
    acts: Vec<Act>,
}

impl Dialogue {
    /// With a process that has just been started. `waits`: its first message is said once the
    /// conversation has a name.
    pub(crate) fn begin(adapter: Adapter, told: Told, waits: bool) -> Self {
        let mut dialogue = Self::silent(adapter);
        dialogue.expect(told, waits);
        dialogue
    }

    /// With a process that another engine has started, which has said all of `said` by now.
    pub(crate) fn take_over(
        adapter: Adapter,
        told: Told,
        said: impl IntoIterator<Item = Vec<u8>>,
    ) -> Self {
        let mut dialogue = Self::silent(adapter);
        for bytes in said {
            dialogue.listen(&bytes);
        }
        // Once it does something it must have been told what.
        let heard = &dialogue.heard;
        let is_silent = !heard.has_begun && heard.end.is_none();
        let waits = adapter.names_conversation_first() && is_silent;
        let message = if heard.is_forgotten { told.afresh.clone() } else { told.message };
        dialogue.expect(Told { message, ..told }, waits);
        dialogue.open();
        dialogue
    }

    fn silent(adapter: Adapter) -> Self {
        Self {
            adapter,
            reader: Reader::new(adapter),
            heard: Heard::default(),
            opening: None,
            afresh: None,
            messages: 0,
            is_hung_up: false,
            acts: Vec::new(),
        }
    }

    fn expect(&mut self, told: Told, waits: bool) {
        let Told { message, afresh, folder } = told;
        self.opening = waits.then_some(message).filter(|message| !message.is_empty());
        self.afresh = Afresh::new(self.adapter, &folder, afresh);
    }

    /// What is to be done now, in order.
    pub(crate) fn take_acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }

    pub(crate) fn is_hung_up(&self) -> bool {
        self.is_hung_up
    }

    fn listen(&mut self, bytes: &[u8]) {
        for said in self.reader.read_placed(bytes) {
            self.heard.take_placed(said);
        }
    }

    /// The program is quiet: hears what was held back for lines that need not come.
    pub(crate) fn settle(&mut self) {
        for said in self.reader.settle() {
            self.heard.take_placed(said);
        }
    }

    /// Whether anything was held back so.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.reader.is_unsettled()
    }

    /// Hears more of what it says, in whatever pieces.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.listen(bytes);
        self.open();
    }

    /// Nothing more will come.
    pub(crate) fn finish(&mut self) {
        for said in self.reader.finish_placed() {
            self.heard.take_placed(said);
        }
    }

    /// Says the first message once the conversation has a name, and asks for a new one where the
    /// program has forgotten it.
    fn open(&mut self) {
        if self.heard.is_forgotten
            && self.heard.session.is_none()
            && let Some(Afresh { request, message }) = self.afresh.take()
        {
            self.opening = Some(message);
            self.acts.push(Act::Write(request));
        }
        if let Some(session) = self.heard.session.clone()
            && let Some(text) = self.opening.take()
        {
            self.speak(&session, &text);
        }
    }

    /// Says something further. Says whether its program takes that.
    pub(crate) fn say(&mut self, text: &str) -> bool {
        let Some(session) = self.heard.session.clone() else { return false };
        self.heard.signals.clear();
        self.heard.end = None;
        self.speak(&session, text)
    }

    fn speak(&mut self, session: &str, text: &str) -> bool {
        self.messages += 1;
        let line = answer::message(self.adapter, session, self.messages, text);
        self.acts.extend(line.clone().map(Act::Write));
        line.is_some()
    }

    /// Answers a question; it is not open any more then. A program that does not offer what was
    /// answered is refused what it wants. Says whether there was any way to answer: a question
    /// that was cut off has none.
    pub(crate) fn answer(&mut self, ask: &Ask, given: &Answer) -> bool {
        self.heard.asks.remove(&ask.request);
        let line = answer::answer(self.adapter, ask, given);
        let line = line.or_else(|_| answer::answer(self.adapter, ask, &refusal())).ok();
        self.acts.extend(line.clone().map(Act::Write));
        line.is_some()
    }

    /// Whether there is any way to answer a question.
    pub(crate) fn can_answer(&self, ask: &Ask) -> bool {
        answer::answer(self.adapter, ask, &refusal()).is_ok()
    }

    /// Nothing more will be said: a program that ends with its input ends now, others are stopped.
    pub(crate) fn hang_up(&mut self) {
        self.is_hung_up = true;
        self.acts.push(match self.adapter.ends_with_input() {
            true => Act::HangUp,
            false => Act::Stop(Stop::Asked),
        });
    }

    /// Asks the program to end its turn and to keep the conversation. Says whether it can be asked.
    pub(crate) fn interrupt(&mut self) -> bool {
        let Some(session) = self.heard.session.as_deref().filter(|_| !self.is_hung_up) else {
            return false;
        };
        let turn = self.heard.turn.as_deref();
        let line = answer::interrupt(self.adapter, session, turn, 1);
        self.acts.extend(line.clone().map(Act::Write));
        line.is_some()
    }

    pub(crate) fn stop(&mut self, why: Stop) {
        self.acts.push(Act::Stop(why));
    }

    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.acts.push(if is_paused { Act::Pause } else { Act::Resume });
    }

    pub(crate) fn renew(&mut self, lease: Lease) {
        self.acts.push(Act::Renew(lease));
    }
}

/// The answer where the one that was given cannot be told.
fn refusal() -> Answer {
    Answer::Deny { reason: "this answer cannot be given here".to_owned() }
}
