//! Answers to what waits in the inbox: recorded, and given to the machine that asked.

use crate::{
    error::EngineError,
    ledger::{MachineCommand, inbox_stream},
    machines, permits,
    project::Project,
};
use waypost_model::{
    answer::Answer,
    id::EntryId,
    inbox::{self, Entry},
};
use waypost_store::journal::Recorded;

/// What a person has answered to a question that is not open any more; none: it was taken back.
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
        Some(inbox::Event::Answered { text, .. }) => Some(text),
        _ => None,
    })
}

/// Records an answer and carries out what it means to the machine that asked, in one
/// transaction.
pub fn give(project: &mut Project, id: &EntryId, text: &str) -> Result<(), EngineError> {
    let inbox = project.inbox()?;
    let answer = inbox::Command::Answer { id: id.clone(), text: text.to_owned() };
    let mut commands = vec![MachineCommand::inbox(answer)];
    let mut permit = None;
    // What is no answer to the question is refused by the inbox itself.
    if let Ok((Entry { question, .. }, text)) = inbox.read_answer(id, text)
        && let Some((stream, topic)) = question.subject.read()
    {
        let answer = Answer { stream: &stream, topic: &topic, question, text: &text };
        let consequence = machines::consequence_of(project, &answer)?;
        commands.extend(consequence.commands);
        permit = consequence.permit;
    }
    project.command(&commands)?;
    match permit {
        Some(permit) => permits::keep(project, &permit.id, &permit.text),
        None => Ok(()),
    }
}
