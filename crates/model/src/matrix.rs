//! What the printed matrices of all machines share (tests only): every command has a row, and a
//! command that gets none is noticed.

use crate::{
    accounts::Command,
    machine::{Decision, Effect, Rejected},
    next::NextStep,
};
use std::{collections::BTreeSet, fmt::Write as _};

/// Names every variant of a machine's `Command`. One that is missing here does not compile; one
/// that has no row in the matrix fails `Matrix::assert_shows_all`.
macro_rules! command_variants {
    ($command:ident: $($variant:ident),+ $(,)?) => {
        const VARIANTS: &[&str] = &[$(stringify!($variant)),+];

        fn variant_of(command: &$command) -> &'static str {
            match command {
                $($command::$variant { .. } => stringify!($variant),)+
            }
        }
    };
}
pub(crate) use command_variants;

/// A page with a section for each state and a row for each command.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    pub(crate) page: String,
    shown: BTreeSet<&'static str>,
}

impl Matrix {
    pub(crate) fn state(&mut self, name: &str) {
        if !self.page.is_empty() {
            self.page.push('\n');
        }
        writeln!(self.page, "{name}").unwrap();
    }

    /// A row: a command as it is written, its variant, and what it leads to.
    pub(crate) fn row(&mut self, (written, width): (&str, usize), variant: &'static str, to: &str) {
        self.shown.insert(variant);
        writeln!(self.page, "  {written:<width$} {to}").unwrap();
    }

    /// Fails unless each of `variants` has a row in one of the matrices of a machine.
    pub(crate) fn assert_shows_all(matrices: &[Self], variants: &[&str]) {
        let shown: BTreeSet<&str> = matrices.iter().flat_map(|it| it.shown.clone()).collect();
        let missing: Vec<&&str> = variants.iter().filter(|it| !shown.contains(**it)).collect();
        assert!(missing.is_empty(), "these commands have no row: {missing:?}");
    }
}

/// What a command led to, in one line: events, then effects, or the refusal.
pub(crate) fn outcome<E>(
    result: &Result<Decision<E>, Rejected>,
    event_line: impl Fn(&E) -> String,
) -> String {
    match result {
        Err(rejected) => format!("refused: {}{}", rejected.message, steps(&rejected.next)),
        Ok(decision) if decision.events.is_empty() && decision.effects.is_empty() => {
            "nothing".to_owned()
        }
        Ok(decision) => {
            let events = decision.events.iter().map(event_line);
            let effects = decision.effects.iter().map(effect_line);
            events.chain(effects).collect::<Vec<_>>().join("; ")
        }
    }
}

fn effect_line(effect: &Effect) -> String {
    match effect {
        Effect::Ask(question) => format!("ask: {}", question.title),
        Effect::Settle { topic } => format!("settle {topic}"),
        Effect::Account(Command::Spend { agent, micros }) => format!("spend {agent} {micros}"),
        Effect::Account(Command::Hold { parked }) => format!("hold account {}", parked.agent),
        Effect::Account(Command::Wake { agent }) => format!("wake account {agent}"),
        Effect::Remember(work) => format!("remember {}", work.source),
        Effect::Notify(notice) => format!("notify {}", notice.kind),
        Effect::SetTimer { topic, at } => format!("timer {topic} at {at}"),
        Effect::CancelTimer { topic } => format!("no timer {topic}"),
    }
}

/// What leads on, as a tail of a line.
pub(crate) fn steps(next: &[NextStep]) -> String {
    let words: Vec<String> = next.iter().map(ToString::to_string).collect();
    if words.is_empty() { String::new() } else { format!(" → {}", words.join(" | ")) }
}
