//! Replies to what waits in the inbox: recorded, and given to the machine that asked.

use crate::{
    error::{EngineError, Problem},
    ledger::{MachineCommand, inbox_stream},
    machines, permits,
    project::Project,
};
use waypost_model::{
    answer::{Answer, Consequence},
    code::Code,
    id::EntryId,
    inbox::{self, Entry, Inbox, Reply, Topic},
    next::NextStep,
    time::Time,
};
use waypost_store::journal::Recorded;

mod provide;
#[cfg(test)]
mod tests;

pub use provide::{provide, wanted_value};

/// What a person says to an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenReply {
    pub reply: Reply,
    /// The version of the entry that it is given for; none: whichever is there.
    pub version: Option<u32>,
}

impl From<Reply> for GivenReply {
    fn from(reply: Reply) -> Self {
        Self { reply, version: None }
    }
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedReply {
    /// As the machine that asked was told it.
    pub reply: Reply,
    /// What leads on, as the question said.
    pub next: Vec<NextStep>,
}

/// What was answered to a question that is not open any more; none: it was taken back.
pub(crate) fn inbox_answer(
    project: &mut Project,
    id: &EntryId,
) -> Result<Option<String>, EngineError> {
    let stream = inbox_stream();
    let read = |body: &str| serde_json::from_str::<inbox::Event>(body).ok();
    let is_answer = |entry: &Recorded| {
        entry.stream == stream
            && matches!(read(&entry.body), Some(inbox::Event::Answered { id: found, .. }) if found == *id)
    };
    let found = project.log(1, is_answer)?.pop();
    Ok(match found.and_then(|entry| read(&entry.body)) {
        Some(inbox::Event::Answered { reply, .. }) => Some(reply.told()),
        _ => None,
    })
}

/// Records a reply and carries out what it means to the machine that asked, in one transaction. A
/// value is not given here (`provide`).
pub fn give(
    project: &mut Project,
    id: &EntryId,
    given: impl Into<GivenReply>,
) -> Result<RecordedReply, EngineError> {
    let given = given.into();
    if given.reply == Reply::Provide {
        let message = format!("{id} wants a value, and none was given");
        let step = NextStep::ReplyToEntry { id: id.clone(), verb: given.reply.verb() };
        return Err(Problem::new(Code::AnswerMissing, message).next(step).into());
    }
    record(project, id, given)
}

fn record(
    project: &mut Project,
    id: &EntryId,
    given: GivenReply,
) -> Result<RecordedReply, EngineError> {
    let inbox = project.inbox()?;
    let GivenReply { reply, version } = given;
    // What is no reply to the question is refused by the inbox itself.
    let read = inbox.read_reply(id, reply.clone(), version);
    // What follows was found out for the entry as it is now.
    let version = read.as_ref().map_or(version, |(entry, _)| Some(entry.version));
    let answer = inbox::Command::Answer { id: id.clone(), reply: reply.clone(), version };
    let mut commands = vec![MachineCommand::inbox(answer)];
    let mut recorded = RecordedReply { reply, next: Vec::new() };
    let mut permit = None;
    if let Ok((entry, reply)) = read {
        let consequence = consequence_of(project, entry, &reply)?;
        commands.extend(consequence.commands);
        permit = consequence.permit;
        recorded = RecordedReply { reply, next: entry.question.next.clone() };
    }
    project.command(&commands)?;
    if let Some(permit) = permit {
        permits::keep(project, &permit.id, &permit.text)?;
    }
    Ok(recorded)
}

/// What a reply to an entry means to the machine that asked.
fn consequence_of(
    project: &mut Project,
    entry: &Entry,
    reply: &Reply,
) -> Result<Consequence<MachineCommand>, EngineError> {
    let question = &entry.question;
    let Some((stream, topic)) = question.subject.read() else {
        return Ok(Consequence::nothing());
    };
    let text = reply.told();
    let answer = Answer { stream: &stream, topic: &topic, question, reply, text: &text };
    machines::consequence_of(project, &answer)
}

/// What it means to the machine that asked when the default of an entry is taken now, because the
/// timer with this topic has come to its time.
pub(crate) fn consequence_of_default(
    project: &mut Project,
    topic: &Topic,
    now: Time,
) -> Result<Vec<MachineCommand>, EngineError> {
    let inbox: Inbox = project.inbox()?;
    let Some(entry) = inbox.due_entry(topic, now) else { return Ok(Vec::new()) };
    let Some(otherwise) = &entry.question.otherwise else { return Ok(Vec::new()) };
    Ok(consequence_of(project, entry, &otherwise.reply)?.commands)
}
