//! Questions of a checkpoint's agent to a person.
//!
//! The job of the agent asks, and has the answers: an agent that was stopped meanwhile asks the same
//! again, and is told.

use super::{AtWork, Ralph};
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

impl Ralph {
    /// Puts questions that hold the agent up into the inbox, and tells it the answers.
    pub(super) fn attend_questions(
        &mut self,
        project: &mut Project,
        id: &CheckpointId,
        work: &mut AtWork,
    ) -> Result<(), EngineError> {
        let now = project.clock.now();
        work.waits.clear();
        let was_waiting = work.job.life().is_some_and(|life| life.waits());
        let is_asking = |work: &AtWork| {
            let heard = work.job.heard();
            heard.is_some_and(|it| it.end.is_some() || !it.asks.is_empty())
        };
        if !was_waiting && !is_asking(work) {
            return Ok(());
        }
        let (trail, folder) = (work.job.trail(project)?, project.root().to_owned());
        // Others may have taken the slot of one that waited.
        let may_go_on = !was_waiting || work.job.take_slot(project)?;
        let Some(life) = work.job.life() else { return Ok(()) };
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
            work.job.give_slot_back();
        }
        for (prompt, question) in found.open {
            self.put(project, work, (prompt, question))?;
        }
        Ok(())
    }

    /// What a person says to the questions in the last words of an agent that has ended; none if
    /// it asked nothing. As long as an answer is missing, the lane waits for it.
    pub(super) fn text_answers(
        &mut self,
        project: &mut Project,
        id: &CheckpointId,
        work: &mut AtWork,
    ) -> Result<Option<String>, EngineError> {
        work.waits.clear();
        let wanted = work.job.heard().map(|it| text_questions(&it.signals)).unwrap_or_default();
        if wanted.is_empty() {
            return Ok(None);
        }
        let (trail, folder) = (work.job.trail(project)?, project.root().to_owned());
        let asking = Asking {
            work: id,
            folder: &folder,
            trail: Some(&trail),
            grants: &[Grant::Once],
            may_go_on: true,
        };
        for (prompt, question) in asking.open_text(&wanted, &work.job.order.agent.name) {
            self.put(project, work, (prompt, question))?;
        }
        Ok(asking.told(&wanted))
    }

    /// Puts a question into the inbox, once.
    fn put(
        &mut self,
        project: &mut Project,
        work: &mut AtWork,
        (prompt, question): (Prompt, Question<Topic>),
    ) -> Result<(), EngineError> {
        let title = question.title.clone();
        let (entry, is_new) = work.job.ask(project, prompt, question)?;
        if is_new {
            self.onlooker.tell(&format!("{title} (in the inbox as {entry})"));
        }
        work.waits.push(entry);
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
