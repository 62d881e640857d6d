//! Next steps for people: as command lines, alone or in a sentence, and as data.

use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use waypost_hook::spelling::advice;
pub(crate) use waypost_hook::spelling::command_line;
use waypost_model::next::{NextStep, Remark};

/// Steps of which any one leads on, the most useful first; nothing if there are none.
pub(crate) fn any_of(steps: &[NextStep]) -> Option<String> {
    match steps {
        [] => None,
        [step] if step.is_reserved() => Some(advice(step)),
        [step] => Some(command_line(step)),
        steps => {
            let each = |step: &NextStep| match purpose(step) {
                Some(purpose) => format!("{} ({purpose})", bare(step)),
                None => bare(step),
            };
            Some(steps.iter().map(each).collect::<Vec<_>>().join(", or "))
        }
    }
}

/// A step among others.
fn bare(step: &NextStep) -> String {
    if step.is_reserved() { advice(step) } else { command_line(step) }
}

/// What a step is for, where it stands beside another.
fn purpose(step: &NextStep) -> Option<&'static str> {
    Some(match step {
        NextStep::ResumeRun => "goes on with it",
        NextStep::StopRun => "ends it",
        NextStep::WatchRun => "watches it",
        NextStep::RebuildRun => "makes its state again",
        NextStep::BeginKeepingDone => "leaves that completed",
        NextStep::BeginAfresh => "counts nothing as completed",
        NextStep::BeginFrom { .. } => "gives it up and begins another",
        NextStep::BeginWithoutTrees => "works in this folder itself",
        NextStep::AdoptFile { .. } => "starts from a state file",
        NextStep::RegisterAfresh => "starts empty",
        NextStep::Register => "puts it in place",
        NextStep::Unregister => "takes all of it out",
        _ => return None,
    })
}

/// A remark as one line.
pub(crate) fn line(remark: &Remark) -> String {
    match any_of(&remark.next) {
        Some(next) => format!("{}; next: {next}", remark.text),
        None => remark.text.clone(),
    }
}

/// A step as data, with its command line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Step<'a> {
    #[serde(flatten)]
    step: Cow<'a, NextStep>,
    /// As it is typed.
    command: String,
}

impl Step<'_> {
    pub(crate) fn into_owned(self) -> Step<'static> {
        Step { step: Cow::Owned(self.step.into_owned()), command: self.command }
    }
}

/// Steps as data.
pub(crate) fn data(steps: &[NextStep]) -> Vec<Step<'_>> {
    let each = |step| Step { step: Cow::Borrowed(step), command: command_line(step) };
    steps.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser as _;

    /// The words in capitals that a reader replaces, each with something that it may stand for.
    const STAND_INS: [(&str, &str); 7] = [
        ("FEATURE", "chat"),
        ("FILE", "file.md"),
        ("ID", "cp-1"),
        ("TEXT", "because"),
        ("USD", "5"),
        ("STRATEGY", "direct"),
        ("NAME", "name"),
    ];

    fn parses(line: &str) {
        let words = line.split(' ').map(|word| {
            let found = STAND_INS.iter().find(|(name, _)| *name == word);
            found.map_or(word, |(_, value)| value)
        });
        if let Err(error) = Cli::try_parse_from(words) {
            panic!("`{line}` is no command: {error}");
        }
    }

    #[test]
    fn every_step_is_a_command_that_there_is() {
        for step in NextStep::examples() {
            let line = command_line(&step);
            if matches!(step, NextStep::RunGit { .. }) {
                assert!(line.starts_with("git "), "{line}");
                continue;
            }
            // What is in brackets may be given or left out.
            parses(&line.replace(['[', ']'], ""));
            let without = line.split_once(" [").map_or(line.as_str(), |(before, _)| before);
            parses(without);
        }
    }

    #[test]
    fn one_step_is_bare_and_several_say_what_they_are_for() {
        let id: waypost_model::id::CheckpointId = "cp-1".parse().unwrap();
        let table: [(&[NextStep], Option<&str>); 5] = [
            (&[], None),
            (&[NextStep::GoBack], Some("waypost develop back")),
            (
                &[NextStep::ReopenCheckpoint { id }],
                Some("a person runs `waypost develop checkpoint reopen cp-1`"),
            ),
            (
                &[NextStep::ResumeRun, NextStep::StopRun],
                Some("waypost run --resume (goes on with it), or waypost run stop (ends it)"),
            ),
            (
                &[NextStep::AdoptFile { file: "my state.json".into() }],
                Some("a person runs `waypost adopt 'my state.json'`"),
            ),
        ];
        for (steps, want) in table {
            assert_eq!(any_of(steps).as_deref(), want);
        }
    }
}
