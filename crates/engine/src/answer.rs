//! What an answer from the inbox means for the machine that asked.

use crate::{
    error::EngineError,
    ledger::{MachineCommand, inbox_stream},
    project::Project,
    windows, worktrees,
};
use waypost_model::{
    id::{EntryId, StreamName, TaskId},
    inbox::{self, Entry, QuestionKind},
    permission::Grant,
    run::{self, Prompt},
    workflow::{self, CheckpointStep, GateName},
};
use waypost_store::journal::Recorded;

impl Project {
    /// What a person has answered to a question that is not open any more; none: it was taken back.
    pub(crate) fn inbox_answer(&mut self, id: &EntryId) -> Result<Option<String>, EngineError> {
        let stream = inbox_stream();
        let read = |body: &str| serde_json::from_str::<inbox::Event>(body).ok();
        let is_answer = |entry: &Recorded| {
            entry.stream == stream
                && matches!(read(&entry.body), Some(inbox::Event::Answered { id: found, .. }) if found == *id)
        };
        let found = self.log(1, is_answer)?.pop();
        Ok(match found.and_then(|entry| read(&entry.body)) {
            Some(inbox::Event::Answered { text, .. }) => Some(text),
            _ => None,
        })
    }

    /// Records an answer and carries out what it means, in one transaction.
    pub fn answer(&mut self, id: &EntryId, text: &str) -> Result<(), EngineError> {
        let inbox = self.inbox()?;
        let answer = inbox::Command::Answer { id: id.clone(), text: text.to_owned() };
        let mut commands = vec![MachineCommand::inbox(answer)];
        let entry = inbox.entry(id);
        if let Some(entry) = entry {
            commands.extend(self.consequences(entry, text.trim())?);
        }
        let permit = match (entry, Grant::from_word(text)) {
            (Some(entry), Some(Grant::Project)) => self.permit_of(entry)?,
            _ => None,
        };
        self.command(&commands)?;
        match permit {
            Some(prompt) => self.keep_permit(&prompt.permit.unwrap_or_default(), &prompt.text),
            None => Ok(()),
        }
    }

    /// What a yes to an agent's question would allow.
    fn permit_of(&mut self, entry: &Entry) -> Result<Option<Prompt>, EngineError> {
        let Some((id, key)) = question_of(&entry.question.subject) else { return Ok(None) };
        let view = self.run()?.active().and_then(|active| active.task(&id));
        let prompt = view.and_then(|view| view.trail?.prompts.get(key));
        Ok(prompt.filter(|prompt| prompt.permit.is_some()).cloned())
    }

    fn consequences(
        &mut self,
        entry: &Entry,
        text: &str,
    ) -> Result<Vec<MachineCommand>, EngineError> {
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        let subject = entry.question.subject.as_str();
        Ok(match entry.question.kind {
            QuestionKind::Escalation if is("reopen") => reopen(subject).into_iter().collect(),
            QuestionKind::Gate if is("confirm") => {
                self.confirm_gate(subject)?.into_iter().collect()
            }
            QuestionKind::Gate => decline(subject).into_iter().collect(),
            QuestionKind::PhaseEnd if is("continue") => approve(subject).into_iter().collect(),
            QuestionKind::WaitingEdit if is("accept") => windows::accept_edit(self, subject)?,
            QuestionKind::Permission | QuestionKind::AgentQuestion => {
                tell_agent(subject, &entry.question.choices, text).into_iter().collect()
            }
            QuestionKind::Unavailable => wake(subject).into_iter().collect(),
            QuestionKind::Escalation
            | QuestionKind::PhaseEnd
            | QuestionKind::WaitingEdit
            | QuestionKind::RefusedEdit => Vec::new(),
        })
    }
}

impl Project {
    /// What a person confirms is about the files of the work tree that the workflow is in.
    fn confirm_gate(&self, subject: &str) -> Result<Option<MachineCommand>, EngineError> {
        let Some((stream, gate)) = gate_of(subject) else { return Ok(None) };
        let tree = stream.as_str().split_once(':').map_or("main", |(_, tree)| tree);
        let tree = worktrees::content_of_tree(self, tree)?;
        let command = workflow::Command::ConfirmGate { gate, tree };
        Ok(Some(MachineCommand::workflow(stream, command)))
    }
}

fn decline(subject: &str) -> Option<MachineCommand> {
    let (stream, gate) = gate_of(subject)?;
    Some(MachineCommand::workflow(stream, workflow::Command::DeclineGate { gate }))
}

/// `workflow:TREE/gate/NAME`
fn gate_of(subject: &str) -> Option<(StreamName, GateName)> {
    let (stream, gate) = subject.rsplit_once("/gate/")?;
    Some((stream.parse().ok()?, GateName::from_word(gate)?))
}

/// `workflow:TREE/checkpoint/ID`
fn reopen(subject: &str) -> Option<MachineCommand> {
    let (stream, id) = subject.rsplit_once("/checkpoint/")?;
    let (stream, id) = (stream.parse().ok()?, id.parse().ok()?);
    let command = workflow::Command::Checkpoint { id, step: CheckpointStep::Reopen };
    Some(MachineCommand::workflow(stream, command))
}

/// `run/phase/N`
fn approve(subject: &str) -> Option<MachineCommand> {
    let phase = subject.strip_prefix("run/phase/")?.parse().ok()?;
    Some(MachineCommand::run(run::Command::ApprovePhase { phase }))
}

/// `run/account/AGENT`
fn wake(subject: &str) -> Option<MachineCommand> {
    let agent = subject.strip_prefix("run/account/")?.to_owned();
    Some(MachineCommand::run(run::Command::WakeAccount { agent }))
}

/// `run/task/ID/KEY`
fn question_of(subject: &str) -> Option<(TaskId, &str)> {
    let (id, key) = subject.strip_prefix("run/task/")?.split_once('/')?;
    Some((id.parse().ok()?, key))
}

/// The agent hears a choice in the words in which it was offered.
fn tell_agent(subject: &str, choices: &[String], text: &str) -> Option<MachineCommand> {
    let (id, key) = question_of(subject)?;
    let same = |choice: &&String| choice.to_lowercase() == text.to_lowercase();
    let text = choices.iter().find(same).map_or(text, String::as_str).to_owned();
    let key = key.to_owned();
    Some(MachineCommand::run(run::Command::Answer { id, key, text }))
}
