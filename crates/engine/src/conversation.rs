//! Questions of conversations that Waypost does not run: asked over MCP, answered in the inbox.
//!
//! No process of ours attends such a conversation, so nothing waits here. The question is in the inbox's
//! stream like every other; its answer is read from there by the next call, the next process or the next
//! start of the conversation, whichever comes first. The same question is the same entry.

use crate::{error::EngineError, ledger::MachineCommand, mentions, project::Project};
use waypost_model::{
    code::Code,
    id::{EntryId, StreamName},
    inbox::{self, Entry, Question, QuestionKind, Subject, Topic},
    machine::Rejected,
    next::NextStep,
    text::one_line,
    time::Time,
};
use waypost_store::{hash, journal::Recorded};

/// Begins the name of what asks: there is no machine of this kind, so an answer has no consequence.
const KIND: &str = "conversation";

/// How much of a question is its title.
const TITLE_MAX: usize = 100;

/// How far back answers are looked for.
const ANSWERS_LOOKED_AT: usize = 64;

/// What a conversation wants to know.
#[derive(Clone, Debug)]
pub struct ConversationQuestion<'a> {
    /// The conversation's id, where its program tells it.
    pub conversation: Option<&'a str>,
    pub text: &'a str,
    /// The answers that mean something; empty: any text.
    pub choices: &'a [String],
}

/// How a question stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionStanding {
    /// It waits for a person.
    Open,
    Answered {
        text: String,
    },
    /// It was taken back without an answer.
    TakenBack,
}

/// A question of a conversation with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredQuestion {
    pub id: EntryId,
    pub question: String,
    pub answer: String,
    pub at: Time,
    /// The conversation that asked, where that is known.
    pub conversation: Option<String>,
}

/// Puts a question into the inbox; one that waits there already is not asked twice.
pub fn ask(
    project: &mut Project,
    question: &ConversationQuestion<'_>,
) -> Result<EntryId, EngineError> {
    project.refuse_stale()?;
    let text = question.text.trim();
    if text.is_empty() {
        return Err(Rejected::rule(Code::AnswerMissing, "a question needs a text").into());
    }
    let subject = subject(project, question);
    let (kind, title) = (QuestionKind::AgentQuestion, one_line(text, TITLE_MAX));
    let asked = Question::new(kind, subject.clone(), title, text);
    let asked = asked.choices(question.choices.iter().cloned());
    project.command(&[MachineCommand::inbox(inbox::Command::Ask(asked))])?;
    let inbox = project.inbox()?;
    let entry = inbox.about(&subject);
    let lost = || Rejected::unknown(Code::EntryUnknown, "the question was answered at once");
    Ok(entry.map(|entry| entry.id.clone()).ok_or_else(lost)?)
}

/// How a question stands.
pub fn standing(project: &mut Project, id: &EntryId) -> Result<QuestionStanding, EngineError> {
    if project.inbox()?.entry(id).is_some() {
        return Ok(QuestionStanding::Open);
    }
    let is_end = |entry: &Recorded| matches!(entry.kind.as_str(), "answered" | "settled");
    let end = mentions::newest_about(project, id.as_str(), is_end)?;
    match end.and_then(|entry| serde_json::from_str(&entry.body).ok()) {
        Some(inbox::Event::Answered { reply, .. }) => {
            Ok(QuestionStanding::Answered { text: reply.told() })
        }
        Some(_) => Ok(QuestionStanding::TakenBack),
        None => {
            let message = format!("there is no question {id}");
            Err(Rejected::unknown(Code::EntryUnknown, message).next(NextStep::ShowInbox).into())
        }
    }
}

/// The newest answers to questions of conversations in this work tree, newest first.
pub fn answers(
    project: &mut Project,
    since: Time,
    limit: usize,
) -> Result<Vec<AnsweredQuestion>, EngineError> {
    let stream: StreamName = "inbox".parse().expect("it is the name of a stream");
    let is_wanted = |entry: &Recorded| entry.kind == "answered" && entry.at >= since;
    let newest = mentions::entries_of_stream(project, &stream, ANSWERS_LOOKED_AT, is_wanted)?;
    let mut found = Vec::new();
    for entry in newest.into_iter().rev() {
        let Ok(inbox::Event::Answered { id, reply, .. }) = serde_json::from_str(&entry.body) else {
            continue;
        };
        let is_question = |entry: &Recorded| matches!(entry.kind.as_str(), "asked" | "reworded");
        let asked = mentions::newest_about(project, id.as_str(), is_question)?;
        let asked = asked.and_then(|entry| serde_json::from_str(&entry.body).ok());
        let Some(inbox::Event::Asked { question, .. } | inbox::Event::Reworded { question, .. }) =
            asked
        else {
            continue;
        };
        if let Some(conversation) = asker(project, &question.subject) {
            let (question, at) = (question.text, entry.at);
            found.push(AnsweredQuestion { id, question, answer: reply.told(), at, conversation });
        }
        if found.len() == limit {
            break;
        }
    }
    Ok(found)
}

/// Whether an entry of the inbox is a question of a conversation in this work tree.
pub fn is_of_conversation(project: &Project, entry: &Entry) -> bool {
    asker(project, &entry.question.subject).is_some()
}

fn stream(project: &Project) -> StreamName {
    let name = format!("{KIND}:{}", project.place().tree.as_str());
    name.parse().expect("a work tree's name makes a stream's, as for workflows")
}

fn subject(project: &Project, question: &ConversationQuestion<'_>) -> Subject {
    let hash = hash::sha256_hex(question.text.trim().as_bytes());
    let conversation = question.conversation.unwrap_or_default();
    let topic = Topic::new(format!("{conversation}/{}", &hash[..16]));
    Subject::of(&stream(project), &topic)
}

/// The conversation behind a question of this work tree, known or not; none: another machine asked.
#[expect(clippy::option_option, reason = "a conversation may ask without telling its id")]
fn asker(project: &Project, subject: &Subject) -> Option<Option<String>> {
    let (asker, topic) = subject.read()?;
    let conversation = topic.as_str().split_once('/')?.0;
    let is_ours = asker == stream(project);
    is_ours.then(|| (!conversation.is_empty()).then(|| conversation.to_owned()))
}
