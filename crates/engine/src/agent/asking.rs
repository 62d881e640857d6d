//! What an agent asks of a person while it is at work: answered at once where its access level, a
//! permission or an earlier answer says what to say, else put to the inbox by the one who gave the
//! work. The same for every kind of work.

use super::{Supervision, ask};
use crate::error::EngineError;
use std::{fmt::Display, path::Path};
use waypost_agent::{
    answer::{Answer, impossible},
    protocol::{self, Signal},
    stream::{Ask, AskKind},
};
use waypost_model::{
    inbox::{Question, Topic},
    permission::Grant,
    run::{Prompt, Trail},
};

/// By what an agent's questions are answered.
pub(crate) struct Asking<'a> {
    /// What its work is called in the inbox.
    pub(crate) work: &'a dyn Display,
    /// Where it works.
    pub(crate) folder: &'a Path,
    /// What was answered before.
    pub(crate) trail: Option<&'a Trail>,
    /// The ways in which a permission can be given.
    pub(crate) grants: &'a [Grant],
    /// Whether it may go on if there is an answer: others may have taken its slot.
    pub(crate) may_go_on: bool,
}

/// Questions that have no answer, or one that cannot be told yet.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions {
    pub(crate) is_waiting: bool,
    /// There are answers, and no slot to go on with them.
    pub(crate) is_held: bool,
    /// All that wait for a person, those too that the inbox has already.
    pub(crate) open: Vec<(Prompt, Question<Topic>)>,
}

/// Whether a person has allowed all of it before.
pub(crate) type IsPermitted<'a> = dyn FnMut(&[Prompt]) -> Result<bool, EngineError> + 'a;

impl Asking<'_> {
    /// Tells the agent the answers that are there, and says what is still to be asked.
    pub(crate) fn attend(
        &self,
        life: &mut Supervision,
        is_permitted: &mut IsPermitted<'_>,
    ) -> Result<OpenQuestions, EngineError> {
        match life.heard().end.is_some() {
            true => Ok(self.attend_text(life)),
            false => self.attend_requests(life, is_permitted),
        }
    }

    /// Questions of the program, which hold it up in the middle of a turn.
    fn attend_requests(
        &self,
        life: &mut Supervision,
        is_permitted: &mut IsPermitted<'_>,
    ) -> Result<OpenQuestions, EngineError> {
        let mut questions = OpenQuestions::default();
        let asks: Vec<Ask> = life.heard().asks.values().cloned().collect();
        for asked in asks {
            if !life.can_answer(&asked) {
                life.halt(super::Halt::Unanswerable);
                return Ok(questions);
            }
            if asked.kind == AskKind::Unknown || asked.items.is_empty() {
                let reason = "Waypost does not know this request".to_owned();
                life.answer(&asked, &Answer::Deny { reason });
                continue;
            }
            // No person is asked for a yes that could not be told.
            if let Some(reason) = impossible(life.agent.adapter, &asked) {
                life.answer(&asked, &Answer::Deny { reason: reason.to_owned() });
                continue;
            }
            if let Some(answer) = ask::by_access(&life.agent, self.folder, &asked) {
                life.answer(&asked, &answer);
                continue;
            }
            let prompts = ask::prompts(&life.agent, self.folder, &asked);
            let answer = match is_permitted(&prompts)? {
                true => Some(Answer::Allow),
                false => ask::answer(&asked, self.trail),
            };
            match answer {
                Some(answer) if self.may_go_on => {
                    life.answer(&asked, &answer);
                    continue;
                }
                Some(_) => questions.is_held = true,
                None => {}
            }
            questions.is_waiting = true;
            let all = ask::questions(&asked, &self.work, &life.agent.name, self.grants);
            let all = prompts.into_iter().zip(all);
            questions.open.extend(all.filter(|(prompt, _)| self.answer(&prompt.key).is_none()));
        }
        Ok(questions)
    }

    /// Questions in the agent's own words, for which it has ended its turn.
    fn attend_text(&self, life: &mut Supervision) -> OpenQuestions {
        let mut questions = OpenQuestions::default();
        let wanted = text_questions(&life.heard().signals);
        if wanted.is_empty() {
            return questions;
        }
        match self.told(&wanted) {
            Some(_) if !self.may_go_on => {
                (questions.is_waiting, questions.is_held) = (true, true);
            }
            Some(told) => {
                if !life.say(&told) {
                    // It hears the answer when its conversation is taken up again.
                    life.halt(super::Halt::Given);
                }
            }
            None => {
                questions.is_waiting = true;
                questions.open = self.open_text(&wanted, &life.agent.name);
            }
        }
        questions
    }

    /// The answers to questions in an agent's own words, once all of them are there.
    pub(crate) fn told(&self, wanted: &[protocol::Question]) -> Option<String> {
        let told = wanted.iter().map(|question| {
            let answer = self.answer(&ask::text_key(question))?;
            Some(ask::told(&question.question, answer))
        });
        Some(told.collect::<Option<Vec<_>>>()?.join("\n\n"))
    }

    /// Questions in the words of the agent `name` that have no answer.
    pub(crate) fn open_text(
        &self,
        wanted: &[protocol::Question],
        name: &str,
    ) -> Vec<(Prompt, Question<Topic>)> {
        let open = wanted.iter().filter(|it| self.answer(&ask::text_key(it)).is_none());
        let entry = |it| (ask::text_prompt(it), ask::text_question(it, &self.work, name));
        open.map(entry).collect()
    }

    fn answer(&self, key: &str) -> Option<&str> {
        self.trail?.answers.get(key).map(String::as_str)
    }
}

/// What an agent has to know before it can go on, in its own words.
pub(crate) fn text_questions(signals: &[Signal]) -> Vec<protocol::Question> {
    let wanted = signals.iter().filter_map(|signal| match signal {
        Signal::Question(question) if question.is_required => Some(question.clone()),
        _ => None,
    });
    wanted.collect()
}
