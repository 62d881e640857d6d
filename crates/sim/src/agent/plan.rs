//! Where an agent is in its script, and what it fills its texts with.

use super::ProgramOptions;
use super::script::Step;
use super::sessions::{Asked, Conversation};
use super::voice::Message;
use std::collections::VecDeque;

/// What an agent without a task calls it.
const NO_TASK: &str = "task";

/// The steps of one process.
#[derive(Debug)]
pub(super) struct Plan {
    task: String,
    attempt: u32,
    steps: Vec<Step>,
    next: usize,
    /// Steps that come before the next one, because a permission was refused.
    inserted: VecDeque<Step>,
    /// What was answered last.
    pub(super) answer: String,
    /// What the present turn began with.
    pub(super) told: String,
}

impl Plan {
    /// The script for the task that the first message is about. A conversation that waits for the
    /// answer to a question goes on behind it.
    pub(super) fn new(
        options: &ProgramOptions,
        message: &Message,
        conversation: &Conversation,
    ) -> Self {
        let task = options.task.clone().or_else(|| task_in(&message.text));
        let task = task.unwrap_or_else(|| NO_TASK.to_owned());
        let Asked { attempt, step } =
            conversation.asked.unwrap_or(Asked { attempt: options.attempt, step: 0 });
        let steps = options.script.steps(&task, attempt);
        let (inserted, answer, told) = (VecDeque::new(), String::new(), String::new());
        Self { task, attempt, steps, next: step, inserted, answer, told }
    }

    pub(super) fn next(&mut self) -> Option<Step> {
        if let Some(step) = self.inserted.pop_front() {
            return Some(step);
        }
        let step = self.steps.get(self.next).cloned()?;
        self.next += 1;
        Some(step)
    }

    pub(super) fn insert(&mut self, steps: Vec<Step>) {
        for step in steps.into_iter().rev() {
            self.inserted.push_front(step);
        }
    }

    /// Whether the program is to ignore the wish that it ends. It is so from its first turn on, so
    /// that no test has to guess when it has become deaf.
    pub(super) fn is_deaf(&self) -> bool {
        fn has_deaf(steps: &[Step]) -> bool {
            steps.iter().any(|step| match step {
                Step::Hang { is_deaf } => *is_deaf,
                Step::Permission { otherwise, .. } => otherwise.as_deref().is_some_and(has_deaf),
                Step::When { then, otherwise, .. } => has_deaf(then) || has_deaf(otherwise),
                _ => false,
            })
        }
        has_deaf(&self.steps)
    }

    /// Where another process goes on. What was inserted is over then.
    pub(super) fn asked(&self) -> Asked {
        Asked { attempt: self.attempt, step: self.next }
    }

    /// A text with all placeholders filled in; what is filled in is not looked at again.
    pub(super) fn filled(&self, text: &str) -> String {
        let attempt = self.attempt.to_string();
        fill(text, &[("{task}", &self.task), ("{attempt}", &attempt), ("{answer}", &self.answer)])
    }

    /// A text with those placeholders filled in that cannot hold anything but a name.
    pub(super) fn named(&self, text: &str) -> String {
        fill(text, &[("{task}", &self.task), ("{attempt}", &self.attempt.to_string())])
    }
}

fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

/// The task that a line of the message names.
fn task_in(message: &str) -> Option<String> {
    let named = message.lines().find_map(|line| line.trim().strip_prefix("TASK_ID:"))?.trim();
    let is_part = |c: char| c.is_alphanumeric() || "._-".contains(c);
    (!named.is_empty() && named.chars().all(is_part)).then(|| named.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_is_named_by_a_line_of_its_own() {
        let table = [
            ("TASK_ID: T1.2", Some("T1.2")),
            ("Do it.\n  TASK_ID:T2\nTASK_ID: T3", Some("T2")),
            ("the TASK_ID: T1", None),
            ("TASK_ID: $(reboot)", None),
            ("TASK_ID:", None),
        ];
        for (message, want) in table {
            assert_eq!(task_in(message).as_deref(), want, "{message}");
        }
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        let values = [("{task}", "{answer}"), ("{answer}", "{task}")];
        assert_eq!(
            fill("{task} {answer} {x} { {{task}}", &values),
            "{answer} {task} {x} { {{answer}}"
        );
    }
}
