//! What the memory asks a person about or sets a timer for, and what the answers mean.

use super::{
    state::Memory,
    words::{Command, StepAct, TaskAct},
};
use crate::{
    answer::{Answer, Consequence},
    document::{MemoryTaskId, memory::MemoryTaskStatus},
    inbox::Topic,
};

/// What a question or a timer of the memory is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryTopic {
    /// A step that cannot go on by itself, or that should be done by then.
    Step { task: MemoryTaskId, step: u32 },
}

impl MemoryTopic {
    pub fn read(topic: &Topic) -> Option<Self> {
        let (task, step) = topic.as_str().strip_prefix("step/")?.split_once('/')?;
        Some(Self::Step { task: task.parse().ok()?, step: step.parse().ok()? })
    }
}

impl From<MemoryTopic> for Topic {
    fn from(topic: MemoryTopic) -> Self {
        let MemoryTopic::Step { task, step } = topic;
        Self::new(format!("step/{task}/{step}"))
    }
}

pub(super) fn consequence_of(memory: &Memory, answer: &Answer<'_>) -> Consequence<Command> {
    let Some(MemoryTopic::Step { task, step }) = MemoryTopic::read(answer.topic) else {
        return Consequence::nothing();
    };
    let Some(kept) = memory.task(&task) else { return Consequence::nothing() };
    let status = kept.task.status;
    let on_task = |act| Command::Task { id: Some(task.clone()), act };
    let retry = StepAct::Retry { agent: None };
    let retry = Command::Step { task: Some(task.clone()), step, act: retry };
    let how = "a person let it go on".to_owned();
    let commands = match status {
        _ if answer.is("fail") => {
            let message = format!("a person gave up step {step}");
            vec![on_task(TaskAct::Fail { message })]
        }
        MemoryTaskStatus::Failed => vec![on_task(TaskAct::Recover { how }), retry],
        MemoryTaskStatus::Paused => vec![on_task(TaskAct::Resume), retry],
        _ => vec![retry],
    };
    Consequence { commands, permit: None }
}
