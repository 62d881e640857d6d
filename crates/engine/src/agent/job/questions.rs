//! What the agent of a job asks of a person, and is answered. The job itself asks and has the answers.

use super::Job;
use crate::{
    answer,
    error::{EngineError, Problem},
    gate,
    ledger::MachineCommand,
    project::Project,
};
use waypost_model::{
    code::Code,
    id::EntryId,
    inbox::{self, Question, Subject, Topic},
    job,
    run::{Parked, Prompt, Trail},
};

impl Job {
    /// What its agent has left, with what a person has answered meanwhile.
    pub(crate) fn trail(&self, project: &mut Project) -> Result<Trail, EngineError> {
        let begun = super::recorded(project, &self.stream)?.begun();
        let mut trail = begun.map(|job| job.trail.clone()).unwrap_or_default();
        for (key, entry) in &self.record.asked {
            if project.inbox()?.entry(entry).is_none()
                && let Some(text) = answer::inbox_answer(project, entry)?
            {
                trail.answers.insert(key.clone(), text);
            }
        }
        Ok(trail)
    }

    /// Puts a question of its agent to a person. Returns its entry in the inbox, and whether it is new
    /// there.
    pub(crate) fn ask(
        &mut self,
        project: &mut Project,
        prompt: Prompt,
        question: Question<Topic>,
    ) -> Result<(EntryId, bool), EngineError> {
        if let Some(entry) = self.record.asked.get(&prompt.key) {
            return Ok((entry.clone(), false));
        }
        let subject = Subject::of(&self.stream, &Topic::new(prompt.key.clone()));
        let is_new = !self.record.trail.asked.contains(&prompt.key);
        if is_new {
            self.record(project, job::Command::Ask { prompt, question })?;
        }
        let entry = project.inbox()?.about(&subject).map(|entry| entry.id.clone());
        let entry = entry.ok_or_else(|| {
            Problem::new(Code::AnsweredMeanwhile, "a question was answered while it was asked")
                .hint("try again")
        })?;
        Ok((entry, is_new))
    }

    /// Asks a person to look at an agent whose gate did not hold; the answer lets it work again.
    pub(super) fn ask_about_proof(
        &mut self,
        project: &mut Project,
        parked: &Parked,
    ) -> Result<(), EngineError> {
        let key = job::unproven_key(self.record.process);
        let question = parked.question_about(Topic::new(key.clone()));
        let prompt = Prompt { key, permit: None, text: parked.why.clone() };
        self.record(project, job::Command::Ask { prompt, question })
    }

    /// Takes back what an earlier version has asked in the name of the workflow.
    pub(super) fn settle_earlier(&self, project: &mut Project) -> Result<(), EngineError> {
        let inbox = project.inbox()?;
        let open = self.record.asked.values().filter_map(|id| inbox.entry(id));
        let settle = |entry: &inbox::Entry| {
            let subject = entry.question.subject.clone();
            MachineCommand::inbox(inbox::Command::Settle { subject })
        };
        let commands: Vec<MachineCommand> = open.map(settle).collect();
        if commands.is_empty() { Ok(()) } else { gate::by_waypost(project, &commands) }
    }
}
