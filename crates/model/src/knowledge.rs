//! What became of the knowledge of a project: the history of `knowledge.yaml`, and what each entry stands on.
//!
//! The file is the truth about what is known now. It has no place for what was known before, nor for how the files
//! looked that an entry is about; both are here. An id that was given once is not given again.

use crate::{
    document::{
        DecisionId, PitfallId,
        knowledge::{KnowledgeDecision, Pitfall},
    },
    json::Json,
    machine::{Asked, Decision, Machine, Rejected},
    memory::NotedFile,
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an entry stands on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    /// The commit that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The files that it is about, as they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<NotedFile>,
}

/// The history of a project's knowledge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnowledgeLog {
    /// What entries stand on, by their ids; of patterns by their paths.
    grounds: BTreeMap<String, Ground>,
    /// The highest numbers that were given.
    decisions: u32,
    pitfalls: u32,
}

/// A change of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Something was decided; the same topic may have been before.
    Decide {
        decision: Box<KnowledgeDecision>,
        before: Option<Box<KnowledgeDecision>>,
        ground: Ground,
    },
    /// Something is to be looked out for.
    Warn { pitfall: Box<Pitfall>, before: Option<Box<Pitfall>>, ground: Ground },
    /// How something is done.
    SetPattern { path: String, value: Json, before: Option<Json>, ground: Ground },
    /// An entry is not known any more; what it said stays here.
    Forget { entry: String, said: Json },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Decided {
        decision: Box<KnowledgeDecision>,
        /// What was decided about it before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Box<KnowledgeDecision>>,
        #[serde(default)]
        ground: Ground,
    },
    Warned {
        pitfall: Box<Pitfall>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Box<Pitfall>>,
        #[serde(default)]
        ground: Ground,
    },
    PatternSet {
        path: String,
        value: Json,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Json>,
        #[serde(default)]
        ground: Ground,
    },
    Forgotten {
        entry: String,
        said: Json,
    },
}

impl KnowledgeLog {
    /// Nothing has become of any.
    pub const fn none() -> Self {
        Self { grounds: BTreeMap::new(), decisions: 0, pitfalls: 0 }
    }

    /// What an entry stands on, by its id or its path.
    pub fn ground(&self, entry: &str) -> Option<&Ground> {
        self.grounds.get(entry)
    }

    /// The next id of a decision, where a file has these.
    pub fn next_decision<'a>(&self, there: impl Iterator<Item = &'a DecisionId>) -> DecisionId {
        let highest = there.map(|id| number(id.as_str())).max().unwrap_or(0).max(self.decisions);
        format!("D{}", highest.saturating_add(1)).parse().expect("a number makes an id")
    }

    /// The next id of a pitfall.
    pub fn next_pitfall<'a>(&self, there: impl Iterator<Item = &'a PitfallId>) -> PitfallId {
        let highest = there.map(|id| number(id.as_str())).max().unwrap_or(0).max(self.pitfalls);
        format!("P{}", highest.saturating_add(1)).parse().expect("a number makes an id")
    }
}

fn number(id: &str) -> u32 {
    id.get(1..).and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

impl Machine for KnowledgeLog {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "knowledge";
    const FORMAT: u32 = 1;

    fn start() -> Self {
        Self::default()
    }

    fn decide(&self, command: &Command, _asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let event = match command.clone() {
            Command::Decide { decision, before, ground } => {
                let is_same = before.as_ref() == Some(&decision);
                (!is_same || self.ground(decision.id.as_str()) != Some(&ground))
                    .then_some(Event::Decided { decision, before, ground })
            }
            Command::Warn { pitfall, before, ground } => {
                let is_same = before.as_ref() == Some(&pitfall);
                (!is_same || self.ground(pitfall.id.as_str()) != Some(&ground))
                    .then_some(Event::Warned { pitfall, before, ground })
            }
            Command::SetPattern { path, value, before, ground } => {
                let is_same = before.as_ref() == Some(&value);
                (!is_same || self.ground(&path) != Some(&ground)).then_some(Event::PatternSet {
                    path,
                    value,
                    before,
                    ground,
                })
            }
            Command::Forget { entry, said } => Some(Event::Forgotten { entry, said }),
        };
        Ok(Decision::events(event))
    }

    fn apply(&mut self, event: &Event, _at: Time) {
        match event {
            Event::Decided { decision, ground, .. } => {
                self.decisions = self.decisions.max(number(decision.id.as_str()));
                self.grounds.insert(decision.id.to_string(), ground.clone());
            }
            Event::Warned { pitfall, ground, .. } => {
                self.pitfalls = self.pitfalls.max(number(pitfall.id.as_str()));
                self.grounds.insert(pitfall.id.to_string(), ground.clone());
            }
            Event::PatternSet { path, ground, .. } => {
                self.grounds.insert(path.clone(), ground.clone());
            }
            Event::Forgotten { entry, .. } => {
                self.grounds.remove(entry);
            }
        }
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Decided { .. } => "decided",
            Event::Warned { .. } => "warned",
            Event::PatternSet { .. } => "pattern_set",
            Event::Forgotten { .. } => "forgotten",
        }
    }

    fn size(&self) -> usize {
        1 + self.grounds.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        actor::Actor,
        matrix::{Matrix, command_variants, outcome},
    };

    command_variants!(Command: Decide, Warn, SetPattern, Forget);

    fn decision(id: &str, text: &str) -> Box<KnowledgeDecision> {
        Box::new(KnowledgeDecision {
            id: id.parse().unwrap(),
            topic: "store".into(),
            decision: text.into(),
            rationale: None,
            refs: vec!["src/store.rs".into()],
            created_at: None,
        })
    }

    fn pitfall(id: &str) -> Box<Pitfall> {
        Box::new(Pitfall {
            id: id.parse().unwrap(),
            description: "no Lombok".into(),
            reason: None,
            learned_from: None,
        })
    }

    fn ground(hash: &str) -> Ground {
        let file = NotedFile { path: "src/store.rs".into(), hash: Some(hash.into()) };
        Ground { commit: None, files: vec![file] }
    }

    fn commands() -> Vec<(&'static str, Command)> {
        let decide = |text: &str, before: Option<&str>, hash: &str| Command::Decide {
            decision: decision("D1", text),
            before: before.map(|text| decision("D1", text)),
            ground: ground(hash),
        };
        let warn = |before| Command::Warn { pitfall: pitfall("P2"), before, ground: ground("a") };
        let set = |value: &str, before: Option<&str>| Command::SetPattern {
            path: "testing".into(),
            value: value.into(),
            before: before.map(Json::from),
            ground: Ground::default(),
        };
        vec![
            ("decide sqlite", decide("sqlite", None, "a")),
            ("decide sqlite again", decide("sqlite", Some("sqlite"), "a")),
            ("decide sqlite, its file changed", decide("sqlite", Some("sqlite"), "b")),
            ("decide files instead", decide("files", Some("sqlite"), "a")),
            ("warn", warn(None)),
            ("warn again", warn(Some(pitfall("P2")))),
            ("set pattern", set("JUnit 5", None)),
            ("set pattern again", set("JUnit 5", Some("JUnit 5"))),
            ("forget D1", Command::Forget { entry: "D1".into(), said: "sqlite".into() }),
        ]
    }

    fn give(log: &mut KnowledgeLog, command: &Command) -> String {
        let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(0) };
        let decided = log.decide(command, &asked);
        let told = outcome(&decided, |event| KnowledgeLog::event_kind(event).to_owned());
        decided.unwrap().events.iter().for_each(|event| log.apply(event, asked.now));
        told
    }

    #[test]
    fn knowledge_by_commands() {
        let mut matrix = Matrix::default();
        for (state, made) in [("nothing is known", 0), ("a decision, a pitfall, a pattern", 9)] {
            matrix.state(state);
            for (written, command) in commands() {
                let mut log = KnowledgeLog::start();
                for (_, earlier) in commands().iter().take(made).filter(|(it, _)| it.len() <= 13) {
                    if !matches!(earlier, Command::Forget { .. }) {
                        give(&mut log, earlier);
                    }
                }
                let told = give(&mut log, &command);
                matrix.row((written, 32), variant_of(&command), &told);
            }
        }
        insta::assert_snapshot!(matrix.page);
        Matrix::assert_shows_all(&[matrix], VARIANTS);
    }

    #[test]
    fn ids_are_not_given_twice() {
        let mut log = KnowledgeLog::start();
        for (_, command) in commands() {
            give(&mut log, &command);
        }
        assert_eq!(log.ground("D1"), None);
        assert_eq!(log.next_decision([].iter()).as_str(), "D2");
        let there = ["D7".parse().unwrap()];
        assert_eq!(log.next_decision(there.iter()).as_str(), "D8");
        assert_eq!(log.next_pitfall([].iter()).as_str(), "P3");
    }
}
