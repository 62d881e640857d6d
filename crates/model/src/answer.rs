//! What a person's answer in the inbox means to the machine that asked.
//!
//! The inbox records the answer; the machine turns it into commands of its own, which are decided
//! in the same transaction.

use crate::{
    id::StreamName,
    inbox::{Question, Reply, Topic},
};

/// An answer on its way to the machine that asked.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The stream of that machine.
    pub stream: &'a StreamName,
    /// What it asked about.
    pub topic: &'a Topic,
    pub question: &'a Question,
    /// What was said. A verb that stands for a choice is told as that choice.
    pub reply: &'a Reply,
    /// The reply as a text: where there are choices, one of them, in the words in which it was
    /// offered.
    pub text: &'a str,
}

impl Answer<'_> {
    pub fn is(&self, word: &str) -> bool {
        matches!(self.reply, Reply::Answer(text) if text.eq_ignore_ascii_case(word))
    }
}

/// What follows from an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Consequence<C> {
    pub commands: Vec<C>,
    /// What the person has allowed for the project, until it is revoked.
    pub permit: Option<GrantedPermit>,
}

/// Something that agents may do from now on without asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedPermit {
    /// Names what is allowed.
    pub id: String,
    /// What was asked, in brief.
    pub text: String,
}

impl<C> Consequence<C> {
    /// The answer is recorded, and that is all.
    pub fn nothing() -> Self {
        Self { commands: Vec::new(), permit: None }
    }

    pub fn command(command: C) -> Self {
        Self { commands: vec![command], permit: None }
    }

    /// The same, with other commands.
    pub fn map<D>(self, wrap: impl FnMut(C) -> D) -> Consequence<D> {
        let Self { commands, permit } = self;
        Consequence { commands: commands.into_iter().map(wrap).collect(), permit }
    }
}

/// What a machine may have to know of the world before it can tell what an answer means.
pub trait OutsideFacts {
    type Error;

    /// All files of a work tree as one hash; none where there is no git.
    fn content_of_tree(&self, tree: &str) -> Result<Option<String>, Self::Error>;
}
