//! Questions of a checkpoint's agent to a person.
//!
//! They wait in the inbox, and what was answered is read back from the journal. An agent that was
//! stopped meanwhile asks the same again, and is given the answer.

use super::{Lane, Ralph};
use crate::{
    agent::{Agent, Onlooker},
    error::{EngineError, Problem},
    execute::ask,
    ledger::MachineCommand,
};
use std::collections::BTreeMap;
use waypost_agent::{
    answer::Answer,
    protocol::{self, Signal},
    stream::{Ask, AskKind},
};
use waypost_model::{
    code::Code,
    id::{CheckpointId, EntryId},
    inbox::{self, Question},
    permission::Grant,
    run::{Prompt, Trail},
};

impl Ralph<'_> {
    /// Puts questions that hold the program up into the inbox, and tells it the answers.
    pub(super) fn attend_questions(
        &mut self,
        id: &CheckpointId,
        lane: &mut Lane,
        onlooker: &mut dyn Onlooker,
    ) -> Result<(), EngineError> {
        let asks: Vec<Ask> =
            lane.errand.heard().map(|it| it.asks.values().cloned().collect()).unwrap_or_default();
        let mut waits = Vec::new();
        for asked in asks {
            if asked.kind == AskKind::Unknown || asked.items.is_empty() {
                let reason = "Waypost does not know this request".to_owned();
                lane.errand.answer(&asked, &Answer::Deny { reason })?;
                continue;
            }
            let (agent, folder) = (lane.errand.mission.agent.clone(), self.project.root());
            let prompts = ask::prompts(&agent, folder, &asked);
            if let Some(answer) = self.answer_without_person(&agent, &asked, &prompts)? {
                lane.errand.answer(&asked, &answer)?;
                continue;
            }
            let keys = ask::keys(&asked);
            let answers = self.answers(lane, &keys)?;
            let trail = Trail { answers, ..Trail::default() };
            if let Some(answer) = ask::answer(&asked, Some(&trail)) {
                lane.errand.answer(&asked, &answer)?;
                continue;
            }
            let questions = ask::questions(&asked, id, &agent.name, &[Grant::Once]);
            for (key, question) in keys.into_iter().zip(questions) {
                if !trail.answers.contains_key(&key) {
                    waits.push(self.put(id, lane, key, question, onlooker)?);
                }
            }
        }
        lane.errand.set_waits(!waits.is_empty(), self.project.clock.now());
        lane.waits = waits;
        Ok(())
    }

    /// What the agent's access level or a permission for the project says to a request.
    fn answer_without_person(
        &self,
        agent: &Agent,
        asked: &Ask,
        prompts: &[Prompt],
    ) -> Result<Option<Answer>, EngineError> {
        if let Some(answer) = ask::by_access(agent, self.project.root(), asked) {
            return Ok(Some(answer));
        }
        for prompt in prompts {
            let Some(permit) = &prompt.permit else { return Ok(None) };
            if !self.project.has_permit(permit)? {
                return Ok(None);
            }
        }
        Ok((!prompts.is_empty()).then_some(Answer::Allow))
    }

    /// What a person says to the questions in an agent's last words; none if it asked nothing. As
    /// long as an answer is missing, the lane waits for it.
    pub(super) fn text_answers(
        &mut self,
        id: &CheckpointId,
        lane: &mut Lane,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Option<String>, EngineError> {
        let signals = lane.errand.heard().map(|it| it.signals.clone()).unwrap_or_default();
        let wanted: Vec<protocol::Question> = signals
            .into_iter()
            .filter_map(|signal| match signal {
                Signal::Question(question) if question.is_required => Some(question),
                _ => None,
            })
            .collect();
        lane.waits.clear();
        let keys: Vec<String> = wanted.iter().map(ask::text_key).collect();
        let answers = self.answers(lane, &keys)?;
        let mut told = Vec::new();
        for (key, question) in keys.into_iter().zip(wanted) {
            match answers.get(&key) {
                Some(answer) => told.push(ask::told(&question.question, answer)),
                None => {
                    let agent = lane.errand.mission.agent.name.clone();
                    let asked = ask::text_question(&question, id, &agent);
                    let entry = self.put(id, lane, key, asked, onlooker)?;
                    lane.waits.push(entry);
                }
            }
        }
        Ok((!told.is_empty()).then(|| told.join("\n\n")))
    }

    /// The answers that are there.
    fn answers(
        &mut self,
        lane: &Lane,
        keys: &[String],
    ) -> Result<BTreeMap<String, String>, EngineError> {
        let mut answers = BTreeMap::new();
        let inbox = self.project.inbox()?;
        for (key, entry) in lane.errand.asked().iter().filter(|(key, _)| keys.contains(key)) {
            if inbox.entry(entry).is_none()
                && let Some(text) = self.project.inbox_answer(entry)?
            {
                answers.insert(key.clone(), text);
            }
        }
        Ok(answers)
    }

    /// Puts a question into the inbox, once.
    fn put(
        &mut self,
        id: &CheckpointId,
        lane: &mut Lane,
        key: String,
        question: Question,
        onlooker: &mut dyn Onlooker,
    ) -> Result<EntryId, EngineError> {
        if let Some(entry) = lane.errand.asked().get(&key) {
            return Ok(entry.clone());
        }
        let subject = format!("{}/ralph/{id}/{key}", self.project.workflow_stream());
        let title = question.title.clone();
        let question = Question { subject: subject.clone(), ..question };
        self.project.by_waypost(&[MachineCommand::inbox(inbox::Command::Ask(question))])?;
        let inbox = self.project.inbox()?;
        let entry = inbox.open().iter().find(|entry| entry.question.subject == subject);
        let entry = entry.map(|entry| entry.id.clone()).ok_or_else(|| {
            Problem::new(Code::AnsweredMeanwhile, "a question was answered while it was asked")
                .hint("try again")
        })?;
        lane.errand.note_asked(key, entry.clone())?;
        onlooker.tell(&format!("{title} (in the inbox as {entry})"));
        Ok(entry)
    }

    /// Takes back what nobody needs to answer any more.
    pub(super) fn settle(&mut self, lane: &Lane) -> Result<(), EngineError> {
        let inbox = self.project.inbox()?;
        let open = lane.errand.asked().values().filter_map(|id| inbox.entry(id));
        let settle = |entry: &inbox::Entry| {
            let subject = entry.question.subject.clone();
            MachineCommand::inbox(inbox::Command::Settle { subject })
        };
        let commands: Vec<MachineCommand> = open.map(settle).collect();
        if commands.is_empty() { Ok(()) } else { self.project.by_waypost(&commands) }
    }
}
