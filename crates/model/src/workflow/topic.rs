//! What a workflow asks a person about, and what the answers mean.

use crate::{
    answer::{Answer, Consequence, OutsideFacts},
    id::CheckpointId,
    inbox::Topic,
    workflow::{CheckpointStep, Command, GateName},
};

/// What a question of a workflow is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkflowTopic {
    /// A gate that wants a person's word.
    Gate(GateName),
    /// A checkpoint that is out of retries.
    Checkpoint(CheckpointId),
}

impl WorkflowTopic {
    pub fn read(topic: &Topic) -> Option<Self> {
        let (word, rest) = topic.as_str().split_once('/')?;
        match word {
            "gate" => GateName::from_word(rest).map(Self::Gate),
            "checkpoint" => rest.parse().ok().map(Self::Checkpoint),
            _ => None,
        }
    }
}

impl From<WorkflowTopic> for Topic {
    fn from(topic: WorkflowTopic) -> Self {
        Self::new(match topic {
            WorkflowTopic::Gate(gate) => format!("gate/{gate}"),
            WorkflowTopic::Checkpoint(id) => format!("checkpoint/{id}"),
        })
    }
}

pub(super) fn consequence_of<F: OutsideFacts>(
    answer: &Answer<'_>,
    facts: &F,
) -> Result<Consequence<Command>, F::Error> {
    Ok(match WorkflowTopic::read(answer.topic) {
        Some(WorkflowTopic::Gate(gate)) if answer.is("confirm") => {
            // A person confirms the files of the work tree that the workflow is in.
            let tree = facts.content_of_tree(answer.stream.instance().unwrap_or("main"))?;
            Consequence::command(Command::ConfirmGate { gate, tree })
        }
        Some(WorkflowTopic::Gate(gate)) => Consequence::command(Command::DeclineGate { gate }),
        Some(WorkflowTopic::Checkpoint(id)) if answer.is("reopen") => {
            Consequence::command(Command::Checkpoint { id, step: CheckpointStep::Reopen })
        }
        Some(WorkflowTopic::Checkpoint(_)) | None => Consequence::nothing(),
    })
}
