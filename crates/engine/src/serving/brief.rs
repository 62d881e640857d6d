//! What the agent of a task is told: the work of a phase, what a person has answered, what a
//! verification has found, and how to say how it stands.

use super::order::PhaseOrder;
use crate::{agent::told, values::variable_of};
use std::{fmt::Write as _, path::Path};
use waypost_agent::protocol::FIELD_LENGTH_MAX;
use waypost_model::{
    document::task_type::{TypeStep, fill},
    task::{MessageBody, TaskFile, TaskMessage},
};

/// A task as its agent is told of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskBrief<'a> {
    pub(super) file: &'a TaskFile,
    /// The work of the present phase.
    pub(super) order: &'a PhaseOrder,
    pub(super) workspace: &'a Path,
    /// What an end of a phase has to name, where that is demanded.
    pub(super) nonce: Option<&'a str>,
}

impl TaskBrief<'_> {
    /// The first message of a conversation.
    pub(super) fn first(&self) -> String {
        let mut text = self.head();
        let fields = &self.file.fields;
        if !self.order.kind.prompt.contains("{description}") {
            let (title, description) = (&fields.title, fields.description.trim());
            let _infallible = writeln!(text, "# {title}\n\n{description}\n");
        }
        if self.file.attempt_number() > 1 || self.file.retry_of.is_some() {
            text.push_str(
                "Work on this was begun before, in a conversation that is not this one. Look at what \
                 is there (`git log`, `git status`) before you change anything, and go on from \
                 there.\n\n",
            );
        }
        self.task(&mut text);
        self.phase(&mut text);
        for message in &self.file.messages {
            if !matches!(message.body, MessageBody::BeginPhase { .. }) {
                let _infallible = writeln!(text, "\n{}", self.message(message));
            }
        }
        self.ending(&mut text);
        text
    }

    /// The message with which a conversation goes on in another process.
    pub(super) fn again(&self) -> String {
        let mut text = self.head();
        match self.messages() {
            messages if messages.is_empty() => text.push_str(
                "Your work was interrupted. Look at how things stand, and go on from there.\n",
            ),
            messages => text.push_str(&messages),
        }
        self.ending(&mut text);
        text
    }

    /// All that it was not told yet.
    pub(super) fn messages(&self) -> String {
        let messages = self.file.undelivered().map(|message| self.message(message));
        messages.collect::<Vec<_>>().join("\n\n")
    }

    /// What it is told when it ends its turn without having said how it stands.
    pub(super) fn reminder(&self) -> String {
        let mut text = self.head();
        text.push_str(
            "You have ended your turn and not said how the work stands. Go on with it.\n",
        );
        self.ending(&mut text);
        text
    }

    fn head(&self) -> String {
        let Self { file, order, workspace, .. } = self;
        let (number, total) = (order.number, order.total());
        let meta = match number {
            0 => "one piece of work".to_owned(),
            _ => format!("phase {number} of {total}: {}", order.name()),
        };
        format!(
            "TASK_ID: {}.{number}\nWORKTREE: {}\nMETA: {meta}, attempt {}\n\n",
            file.id,
            workspace.display(),
            file.attempt_number()
        )
    }

    /// What its type tells of the task as a whole.
    fn task(&self, text: &mut String) {
        let told = self.filled(&self.order.kind.prompt);
        if !told.trim().is_empty() {
            let _infallible = writeln!(text, "{}\n", told.trim());
        }
    }

    fn phase(&self, text: &mut String) {
        let Some(phase) = self.order.phase() else { return };
        let _infallible = writeln!(text, "## Phase {}: {}\n", self.order.number, phase.name);
        let _infallible = writeln!(text, "{}\n", self.filled(&phase.prompt).trim());
    }

    /// A prompt of the type with its names filled in.
    fn filled(&self, prompt: &str) -> String {
        fill(prompt, |name| {
            Some(match name {
                "title" => self.file.fields.title.clone(),
                "description" => self.file.fields.description.clone(),
                "phase" => self.order.number.to_string(),
                "phases" => self.order.total().to_string(),
                "name" => self.order.name().to_owned(),
                "steps" => self.steps(),
                "marker" => self.marker(),
                _ => return None,
            })
        })
    }

    fn steps(&self) -> String {
        let steps = self.order.phase().map(|phase| phase.steps.as_slice()).unwrap_or_default();
        let step = |(at, step): (usize, &TypeStep)| {
            let TypeStep { name, deliverable, min_characters, about } = step;
            let about = if about.is_empty() { String::new() } else { format!(": {about}") };
            let number = at + 1;
            format!(
                "- {number:02}_{name} in {deliverable}, {min_characters} characters or more{about}"
            )
        };
        steps.iter().enumerate().map(step).collect::<Vec<_>>().join("\n")
    }

    /// What the agent says at the end.
    fn marker(&self) -> String {
        let nonce = self.nonce.map(|nonce| format!(" {nonce}")).unwrap_or_default();
        match self.order.number {
            0 => format!("=== CUSTOM TASK COMPLETE{nonce} ==="),
            number => format!("=== PHASE {number} COMPLETE{nonce} ==="),
        }
    }

    fn message(&self, message: &TaskMessage) -> String {
        match &message.body {
            MessageBody::BeginPhase { .. } => {
                let mut text = self.head();
                self.phase(&mut text);
                self.ending(&mut text);
                text
            }
            MessageBody::Answered { question, answer, is_default, .. } => {
                let answer = told(question, answer);
                match is_default {
                    true => format!("{answer}\n(No answer came in time; this is the default.)"),
                    false => answer,
                }
            }
            MessageBody::Unanswered { question, why, .. } => {
                let why = because(why);
                format!("There is no answer to this{why}; decide it yourself: {question}")
            }
            MessageBody::ValueProvided { name, .. } => {
                let told = match variable_of(name) {
                    Ok(variable) if variable != *name => {
                        format!("{name} is in your environment now, as the variable {variable}.")
                    }
                    _ => format!("{name} is in your environment now."),
                };
                format!("{told} Do not print it, and do not store it.")
            }
            MessageBody::ValueDeclined { name, default: Some(default), why, .. } => {
                let why = because(why);
                let set = match variable_of(name) {
                    Ok(variable) => format!("; it is in your environment as {variable}"),
                    Err(_) => String::new(),
                };
                format!("{name} is not given{why}; go on with the default: {default}{set}")
            }
            MessageBody::Cut { fields } => format!(
                "What you wrote was too long: {} lost what is beyond {FIELD_LENGTH_MAX} characters. \
                 Put long texts into a file and name that.",
                fields.join(", ")
            ),
            MessageBody::ValueDeclined { name, default: None, why, .. } => {
                format!("{name} is not available{}; go on without it.", because(why))
            }
            MessageBody::Rework { phase, findings, rework, limit } => {
                let findings = listed(findings);
                format!(
                    "Phase {phase} does not hold yet (rework {rework} of {limit}):\n{findings}\n\
                     Mend this, then say again that the phase is complete."
                )
            }
            MessageBody::Changes { phase, text, comments } => {
                let comments =
                    comments.iter().map(|it| format!("{}:{}: {}", it.file, it.line, it.text));
                let comments = listed(&comments.collect::<Vec<_>>());
                format!(
                    "A person has reviewed phase {phase} and wants changes:\n{text}\n{comments}\n\
                     Make them, then say again that the phase is complete."
                )
            }
            MessageBody::Malformed { block, why } => {
                format!("What you said could not be understood ({block}): {why}. Say it again.")
            }
            MessageBody::Note { text } => format!("A person says: {text}"),
            MessageBody::Restored { checkpoint, .. } => format!(
                "A person has put the workspace back to checkpoint {checkpoint}. What you did after \
                 it is gone: look at what is there, and go on from it."
            ),
        }
    }

    /// How to say how it stands.
    fn ending(&self, text: &mut String) {
        let end = self.marker();
        let _infallible = write!(
            text,
            "\n## How to say how it stands\n\nEach as lines of their own, outside of a code block.\n\
             When all of it is done, end your turn with:\n\n{end}\n\n\
             When you need to know something, ask, and end your turn; the answer comes:\n\n\
             [USER_QUESTION]\ncategory: clarification\nquestion: …\noptions:\n- …\nrequired: true\n\
             [/USER_QUESTION]\n\n\
             When you need a key, an account or a file, ask for it by name, and end your turn:\n\n\
             [DEPENDENCY_REQUEST]\ntype: api_key\nname: THE_VARIABLE\ndescription: …\nrequired: true\n\
             [/DEPENDENCY_REQUEST]\n\n\
             When it cannot be done at all:\n\n[ERROR]\ntype: fatal\nmessage: …\n[/ERROR]\n"
        );
    }
}

/// What a person has said with a no.
fn because(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(" ({why})") }
}

fn listed(entries: &[String]) -> String {
    entries.iter().map(|entry| format!("- {entry}\n")).collect()
}
