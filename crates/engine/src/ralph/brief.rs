//! What the agents of a checkpoint are told: the contract's part, how it failed before, and how to
//! end. Each try is told more than the one before it.

use std::{fmt::Write as _, path::Path};
use waypost_model::workflow::{ContractCheckpoint, Feature};

/// How much of what a validation printed is told.
const OUTPUT_SIZE_MAX: usize = 6 << 10;

/// How a validation failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Failed {
    /// How it ended, or what stands against it, in a line.
    pub(super) outcome: String,
    pub(super) output: String,
}

impl Failed {
    pub(super) fn new(outcome: impl Into<String>, output: &[u8]) -> Self {
        Self { outcome: outcome.into(), output: String::from_utf8_lossy(output).into_owned() }
    }

    /// What kind of failure it looks like.
    fn class(&self) -> &'static str {
        let has = |marks: &[&str]| marks.iter().any(|mark| self.output.contains(mark));
        if self.outcome.contains("status: 127") || has(&["command not found", "No such file"]) {
            "something that it needs is missing"
        } else if self.outcome.contains("lacks `") {
            "its output lacks what is expected"
        } else if has(&["error[E", "SyntaxError", "error TS", "cannot find symbol"]) {
            "it does not compile"
        } else if has(&["panicked at", "FAILED", "AssertionError", "assert", "✕"]) {
            "a test fails"
        } else {
            "it fails"
        }
    }
}

/// One try at a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Try<'a> {
    pub(super) feature: &'a Feature,
    pub(super) checkpoint: &'a ContractCheckpoint,
    pub(super) iteration: u32,
    pub(super) limit: u32,
    pub(super) root: &'a Path,
    /// How its validation fails now; none: it does not.
    pub(super) failed: Option<&'a Failed>,
    /// What the test oracle says.
    pub(super) oracle: Option<&'a str>,
}

impl Try<'_> {
    fn head(&self) -> String {
        let Self { feature, checkpoint, iteration, limit, root, .. } = self;
        let id = &checkpoint.id;
        let mut text = format!(
            "TASK_ID: {id}\nWORKTREE: {}\nMETA: try {iteration} of {limit}, feature: {}\n\n\
             # {id}: {}\n\n",
            root.display(),
            feature.name,
            checkpoint.description
        );
        for (word, entries) in [("interface", &checkpoint.interface), ("tests", &checkpoint.tests)]
        {
            for entry in entries {
                let _infallible = writeln!(text, "- {word}: {entry}");
            }
        }
        for before in &checkpoint.dependencies {
            let _infallible = writeln!(text, "- stands on: {before}, which has passed");
        }
        text
    }

    fn failure(&self, text: &mut String) {
        let command = &self.checkpoint.validation.command;
        let _infallible = writeln!(text, "\n## Validation\n\n    {command}\n");
        if let Some(expected) = &self.checkpoint.validation.expected {
            let _infallible = writeln!(text, "Its output has to contain: {expected}\n");
        }
        match self.failed {
            None => text.push_str(
                "It ends well already, before anything was done: make sure that it shows what it \
                 should.\n",
            ),
            Some(failed) => {
                let _infallible = writeln!(
                    text,
                    "How it stands now: {} ({}).\n\n{}",
                    failed.class(),
                    failed.outcome,
                    quoted(&failed.output)
                );
            }
        }
    }

    /// The message to the agent that does the work.
    pub(super) fn message(&self) -> String {
        let mut text = self.head();
        self.failure(&mut text);
        text.push_str(
            "\n## How to work\n\nRead the contract, the tests and the code. Analyze why the \
             validation fails. Learn what that means before you change anything. Then patch the \
             smallest thing that makes it right, in the files of this checkpoint only; leave tests \
             as strict as they are. Waypost runs the validation itself when you have ended.\n",
        );
        if self.iteration >= 2 {
            text.push_str(
                "\nAn earlier try has not sufficed. Widen the analysis: look at the callers and \
                 what is called, at the other checkpoints' interfaces, at what the earlier try has \
                 changed; name at least two possible causes and rule out all but one before you \
                 patch.\n",
            );
        }
        if let Some(oracle) = self.oracle {
            let _infallible = writeln!(
                text,
                "\nAn agent that was shown only the contract and the tests says what is right \
                 here:\n\n{}",
                quoted(oracle)
            );
        }
        let id = &self.checkpoint.id;
        let _infallible = writeln!(
            text,
            "\n## How to end\n\nWhen it is done, end your last message with one sentence on what \
             you did and, on a line of its own:\n\nDONE:{id}\n\nIf it cannot be done as agreed, say \
             so instead:\n\nFAIL:{id}:DESIGN_MISMATCH why the contract itself is wrong\n\
             FAIL:{id}:ENV_ISSUE what this machine lacks\nFAIL:{id}:any other reason"
        );
        text
    }

    /// The message to the agent that says what is right, and changes nothing.
    pub(super) fn oracle_message(&self) -> String {
        let mut text = self.head();
        self.failure(&mut text);
        text.push_str(
            "\n## What is asked\n\nYou are the test oracle of this checkpoint. Others have tried to \
             make its validation pass and have failed. Change nothing. Read the contract and the \
             tests, and say for each test that fails: what behaviour the contract demands, whether \
             the test demands the same, which of both is wrong if they differ, and what exactly the \
             code does instead. End with the one thing that has to be changed.\n",
        );
        text
    }

    pub(super) fn again(&self) -> String {
        format!(
            "TASK_ID: {0}\n\nYour work on {0} was interrupted. Look at how things stand, and go on \
             from there.\n",
            self.checkpoint.id
        )
    }
}

/// The end of a text, set off from ours.
fn quoted(text: &str) -> String {
    let start = text.len().saturating_sub(OUTPUT_SIZE_MAX);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let lines: Vec<String> = text[start..].trim().lines().map(|it| format!("    {it}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_by_what_it_looks_like() {
        let table = [
            ("exit status: 127", "sh: 1: cargo: not found", "something that it needs is missing"),
            ("its output lacks `ok`", "", "its output lacks what is expected"),
            ("exit status: 101", "error[E0425]: cannot find value", "it does not compile"),
            ("exit status: 101", "thread 'a' panicked at src/a.rs", "a test fails"),
            ("exit status: 1", "", "it fails"),
        ];
        for (outcome, output, want) in table {
            assert_eq!(Failed::new(outcome, output.as_bytes()).class(), want, "{outcome} {output}");
        }
    }

    #[test]
    fn only_the_end_of_a_long_output_is_told() {
        let text = format!("first\n{}\nlast", "ä".repeat(OUTPUT_SIZE_MAX));
        let told = quoted(&text);
        assert!(told.ends_with("    last") && !told.contains("first"));
    }
}
