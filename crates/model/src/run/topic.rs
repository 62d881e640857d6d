//! What a run asks a person about, and what the answers mean.

use crate::{
    answer::{Answer, Consequence, GrantedPermit},
    id::TaskId,
    inbox::{Reply, Topic},
    permission::Grant,
    run::{Command, Run},
    trouble::Trouble,
};

/// What a question of a run is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunTopic {
    /// A question of a task's agent, by its key.
    Task { id: TaskId, key: String },
    /// The end of a phase.
    Phase(u32),
    /// The account of an agent.
    Account(String),
    /// A trouble of the machine.
    Trouble(Trouble),
}

impl RunTopic {
    pub fn read(topic: &Topic) -> Option<Self> {
        let (word, rest) = topic.as_str().split_once('/')?;
        match word {
            "task" => {
                let (id, key) = rest.split_once('/')?;
                Some(Self::Task { id: id.parse().ok()?, key: key.to_owned() })
            }
            "phase" => rest.parse().ok().map(Self::Phase),
            "account" => Some(Self::Account(rest.to_owned())),
            "trouble" => Trouble::from_word(rest).map(Self::Trouble),
            _ => None,
        }
    }
}

impl From<RunTopic> for Topic {
    fn from(topic: RunTopic) -> Self {
        Self::new(match topic {
            RunTopic::Task { id, key } => format!("task/{id}/{key}"),
            RunTopic::Phase(phase) => format!("phase/{phase}"),
            RunTopic::Account(agent) => format!("account/{agent}"),
            RunTopic::Trouble(trouble) => format!("trouble/{}", trouble.word()),
        })
    }
}

impl Run {
    pub(super) fn consequence_of(&self, answer: &Answer<'_>) -> Consequence<Command> {
        match RunTopic::read(answer.topic) {
            Some(RunTopic::Phase(phase)) if answer.is("continue") => {
                Consequence::command(Command::ApprovePhase { phase })
            }
            Some(RunTopic::Phase(_)) if matches!(answer.reply, Reply::Retry(_)) => {
                Consequence::command(Command::JoinAgain)
            }
            Some(RunTopic::Account(agent)) => Consequence::command(Command::WakeAccount { agent }),
            Some(RunTopic::Trouble(trouble)) => {
                Consequence::command(Command::WakeTrouble { trouble })
            }
            Some(RunTopic::Task { id, key }) => {
                let permit = self.permit_of(&id, &key, answer.text);
                let text = answer.text.to_owned();
                Consequence { commands: vec![Command::Answer { id, key, text }], permit }
            }
            Some(RunTopic::Phase(_)) | None => Consequence::nothing(),
        }
    }

    /// What the answer to an agent's question allows for the whole project.
    fn permit_of(&self, id: &TaskId, key: &str, text: &str) -> Option<GrantedPermit> {
        if Grant::from_word(text) != Some(Grant::Project) {
            return None;
        }
        let prompt = self.active()?.task(id)?.trail?.prompts.get(key)?;
        Some(GrantedPermit { id: prompt.permit.clone()?, text: prompt.text.clone() })
    }
}
