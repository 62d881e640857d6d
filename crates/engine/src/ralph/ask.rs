//! Questions of a checkpoint's agent to a person.
//!
//! They wait in the inbox, and what was answered is read back from the journal. An agent that was
//! stopped meanwhile asks the same again, and is given the answer.

use super::{Lane, Ralph};
use crate::{
    agent::{Asking, text_questions},
    answer,
    error::{EngineError, Problem},
    gate,
    ledger::MachineCommand,
    permits,
    project::Project,
};
use waypost_model::{
    code::Code,
    id::{CheckpointId, EntryId},
    inbox::{self, Question, Topic},
    permission::Grant,
    run::{Prompt, Trail},
};

impl Ralph<'_> {
    /// Puts questions that hold the agent up into the inbox, and tells it the answers.
    pub(super) fn attend_questions(
        &mut self,
        project: &mut Project,
        id: &CheckpointId,
        lane: &mut Lane,
    ) -> Result<(), EngineError> {
        let now = project.clock.now();
        lane.waits.clear();
        let was_waiting = lane.job.life().is_some_and(|life| life.waits());
        let is_asking = |lane: &Lane| {
            let heard = lane.job.heard();
            heard.is_some_and(|it| it.end.is_some() || !it.asks.is_empty())
        };
        if !was_waiting && !is_asking(lane) {
            return Ok(());
        }
        let (trail, folder) = (trail(project, lane)?, project.root().to_owned());
        // Others may have taken the slot of one that waited.
        let may_go_on = !was_waiting || lane.job.take_slot(project)?;
        let Some(life) = lane.job.life() else { return Ok(()) };
        let asking = Asking {
            work: id,
            folder: &folder,
            trail: Some(&trail),
            grants: &[Grant::Once],
            may_go_on,
        };
        let found = asking.attend(life, &mut |prompts| is_permitted(project, prompts))?;
        life.set_waits(found.is_waiting, now);
        if found.is_waiting {
            lane.job.give_slot_back();
        }
        for (prompt, question) in found.open {
            let entry = self.put(project, id, lane, (prompt.key, question))?;
            lane.waits.push(entry);
        }
        Ok(())
    }

    /// What a person says to the questions in the last words of an agent that has ended; none if
    /// it asked nothing. As long as an answer is missing, the lane waits for it.
    pub(super) fn text_answers(
        &mut self,
        project: &mut Project,
        id: &CheckpointId,
        lane: &mut Lane,
    ) -> Result<Option<String>, EngineError> {
        lane.waits.clear();
        let wanted = lane.job.heard().map(|it| text_questions(&it.signals)).unwrap_or_default();
        if wanted.is_empty() {
            return Ok(None);
        }
        let (trail, folder) = (trail(project, lane)?, project.root().to_owned());
        let asking = Asking {
            work: id,
            folder: &folder,
            trail: Some(&trail),
            grants: &[Grant::Once],
            may_go_on: true,
        };
        for (prompt, question) in asking.open_text(&wanted, &lane.job.order.agent.name) {
            let entry = self.put(project, id, lane, (prompt.key, question))?;
            lane.waits.push(entry);
        }
        Ok(asking.told(&wanted))
    }

    /// Puts a question into the inbox, once.
    fn put(
        &mut self,
        project: &mut Project,
        id: &CheckpointId,
        lane: &mut Lane,
        (key, question): (String, Question<Topic>),
    ) -> Result<EntryId, EngineError> {
        if let Some(entry) = lane.job.asked().get(&key) {
            return Ok(entry.clone());
        }
        let title = question.title.clone();
        let topic = Topic::new(format!("ralph/{id}/{key}"));
        let question = Question { subject: topic, ..question };
        let question = question.asked_by(&project.workflow_stream());
        let subject = question.subject.clone();
        gate::by_waypost(project, &[MachineCommand::inbox(inbox::Command::Ask(question))])?;
        let inbox = project.inbox()?;
        let entry = inbox.about(&subject).map(|entry| entry.id.clone()).ok_or_else(|| {
            Problem::new(Code::AnsweredMeanwhile, "a question was answered while it was asked")
                .hint("try again")
        })?;
        lane.job.note_asked(project, key, entry.clone())?;
        self.onlooker.tell(&format!("{title} (in the inbox as {entry})"));
        Ok(entry)
    }
}

/// Whether a person has allowed all of it for the project.
fn is_permitted(project: &Project, prompts: &[Prompt]) -> Result<bool, EngineError> {
    for prompt in prompts {
        let Some(permit) = &prompt.permit else { return Ok(false) };
        if !permits::is_allowed(&project.setup, permit)? {
            return Ok(false);
        }
    }
    Ok(!prompts.is_empty())
}

/// What was answered to the agent of a lane.
fn trail(project: &mut Project, lane: &Lane) -> Result<Trail, EngineError> {
    let mut trail = Trail::default();
    for (key, entry) in lane.job.asked() {
        if project.inbox()?.entry(entry).is_none()
            && let Some(text) = answer::inbox_answer(project, entry)?
        {
            trail.answers.insert(key.clone(), text);
        }
    }
    Ok(trail)
}

/// Takes back what needs no answer any more.
pub(super) fn settle(project: &mut Project, lane: &Lane) -> Result<(), EngineError> {
    let inbox = project.inbox()?;
    let open = lane.job.asked().values().filter_map(|id| inbox.entry(id));
    let settle = |entry: &inbox::Entry| {
        let subject = entry.question.subject.clone();
        MachineCommand::inbox(inbox::Command::Settle { subject })
    };
    let commands: Vec<MachineCommand> = open.map(settle).collect();
    if commands.is_empty() { Ok(()) } else { gate::by_waypost(project, &commands) }
}
