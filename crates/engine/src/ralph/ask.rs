//! Questions of a checkpoint's agent to a person.
//!
//! The job of the agent asks, and has the answers: an agent that was stopped meanwhile asks the same
//! again, and is told.

use super::{Lane, Ralph};
use crate::{
    agent::{Asking, text_questions},
    error::EngineError,
    permits,
    project::Project,
};
use waypost_model::{
    id::CheckpointId,
    inbox::{Question, Topic},
    permission::Grant,
    run::Prompt,
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
        let (trail, folder) = (lane.job.trail(project)?, project.root().to_owned());
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
            self.put(project, lane, (prompt, question))?;
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
        let (trail, folder) = (lane.job.trail(project)?, project.root().to_owned());
        let asking = Asking {
            work: id,
            folder: &folder,
            trail: Some(&trail),
            grants: &[Grant::Once],
            may_go_on: true,
        };
        for (prompt, question) in asking.open_text(&wanted, &lane.job.order.agent.name) {
            self.put(project, lane, (prompt, question))?;
        }
        Ok(asking.told(&wanted))
    }

    /// Puts a question into the inbox, once.
    fn put(
        &mut self,
        project: &mut Project,
        lane: &mut Lane,
        (prompt, question): (Prompt, Question<Topic>),
    ) -> Result<(), EngineError> {
        let title = question.title.clone();
        let (entry, is_new) = lane.job.ask(project, prompt, question)?;
        if is_new {
            self.onlooker.tell(&format!("{title} (in the inbox as {entry})"));
        }
        lane.waits.push(entry);
        Ok(())
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
