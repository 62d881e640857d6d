//! Random sequences of operations against a journal in memory that is obviously right.
//!
//! Whatever is done, dropped, refused or reopened, both must look the same afterwards, in each
//! store.

use crate::common::{NOW, Project, stream};
use proptest::prelude::*;
use std::collections::BTreeMap;
use waypost_model::{actor::Actor, time::Time};
use waypost_store::{
    StoreError,
    journal::{Append, Cursor, Journal, NewEffect, NewEvent, OpenEffect, Snapshot},
};

const STREAMS: [&str; 3] = ["run", "inbox", "workflow:main"];

#[derive(Clone, Debug)]
enum Step {
    /// Appends so many events, having seen so many fewer than there are.
    Append {
        stream: usize,
        count: usize,
        behind: u64,
    },
    Queue {
        stream: usize,
        key: u8,
        due: Option<i64>,
    },
    Finish {
        key: u8,
    },
    Snapshot {
        stream: usize,
        body: u8,
    },
}

#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    Drop,
    CommitAndReopen,
}

fn step() -> impl Strategy<Value = Step> {
    let stream = 0..STREAMS.len();
    prop_oneof![
        (stream.clone(), 0..4_usize, prop_oneof![5 => Just(0), 1 => 1..3_u64])
            .prop_map(|(stream, count, behind)| Step::Append { stream, count, behind }),
        (stream.clone(), 0..5_u8, proptest::option::of(-3..3_i64))
            .prop_map(|(stream, key, due)| Step::Queue { stream, key, due }),
        (0..5_u8).prop_map(|key| Step::Finish { key }),
        (stream, any::<u8>()).prop_map(|(stream, body)| Step::Snapshot { stream, body }),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Commit), Just(End::Drop), Just(End::CommitAndReopen)]
}

/// All that a journal shows, in plain collections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    entries: Vec<(String, u64, String)>,
    heads: BTreeMap<String, u64>,
    /// Key to due time and whether it is open.
    effects: BTreeMap<String, (Option<i64>, bool)>,
    snapshots: BTreeMap<String, (u64, u8)>,
}

impl Model {
    /// Does a step; `false`: it is refused.
    fn take(&mut self, step: &Step) -> bool {
        match *step {
            Step::Append { stream, count, behind } => {
                let name = STREAMS[stream].to_owned();
                let head = self.heads.get(&name).copied().unwrap_or(0);
                if behind.min(head) != 0 {
                    return false;
                }
                for number in 1..=count as u64 {
                    self.entries.push((name.clone(), head + number, format!("event {number}")));
                    self.heads.insert(name.clone(), head + number);
                }
            }
            Step::Queue { stream, key, due } => {
                self.heads.entry(STREAMS[stream].to_owned()).or_insert(0);
                self.effects.entry(key.to_string()).or_insert((due, true));
            }
            Step::Finish { key } => {
                if let Some((_, open)) = self.effects.get_mut(&key.to_string()) {
                    *open = false;
                }
            }
            Step::Snapshot { stream, body } => {
                let name = STREAMS[stream];
                let head = self.heads.get(name).copied().unwrap_or(0);
                if head == 0 {
                    return false;
                }
                self.snapshots.insert(name.to_owned(), (head, body));
            }
        }
        true
    }

    fn due_effects(&self, now: i64) -> Vec<String> {
        let is_due = |due: &Option<i64>| due.is_some_and(|due| due <= now);
        let open = self.effects.iter().filter(|(_, (due, open))| *open && is_due(due));
        open.map(|(key, _)| key.clone()).collect()
    }

    fn open_effects(&self) -> Vec<String> {
        let open = self.effects.iter().filter(|(_, (_, open))| *open);
        open.map(|(key, _)| key.clone()).collect()
    }
}

/// Does one transaction's steps on both; refused steps change nothing on either side.
fn transact(journal: &mut Journal, model: &mut Model, steps: &[Step], end: End) {
    let mut after = model.clone();
    let mut transaction = journal.transaction().unwrap();
    for step in steps {
        let accepted = after.take(step);
        let done = match *step {
            Step::Append { stream: index, count, behind } => {
                let name = stream(STREAMS[index]);
                let bodies: Vec<String> = (1..=count).map(|n| format!("event {n}")).collect();
                let events: Vec<NewEvent<'_>> = bodies
                    .iter()
                    .map(|body| NewEvent { kind: "noted", format: 1, body: body.into() })
                    .collect();
                let seen = transaction.head(&name).unwrap().saturating_sub(behind);
                let actor = Actor::Waypost;
                let append =
                    Append { stream: &name, seen, actor: &actor, at: NOW, events: events.to_vec() };
                transaction.append(append).map(drop)
            }
            Step::Queue { stream: index, key, due } => {
                let (name, key) = (stream(STREAMS[index]), key.to_string());
                let due = due.map(Time::from_millis);
                let effect = NewEffect {
                    key: &key,
                    stream: &name,
                    stream_seq: 0,
                    kind: "spawn",
                    body: "",
                    due,
                };
                transaction.queue(&[effect]).map(drop)
            }
            Step::Finish { key } => transaction.mark_key_done(&key.to_string(), NOW).map(drop),
            Step::Snapshot { stream: index, body } => {
                let name = stream(STREAMS[index]);
                let stream_seq = transaction.head(&name).unwrap();
                let snapshot = Snapshot { stream_seq, format: 1, body: vec![body] };
                transaction.save_snapshot(&name, &snapshot)
            }
        };
        match done {
            Ok(()) => assert!(accepted, "{step:?}"),
            Err(error) => assert!(!accepted && error.is_conflict(), "{step:?}: {error}"),
        }
    }
    if !matches!(end, End::Drop) {
        transaction.commit().unwrap();
        *model = after;
    }
}

/// What the journal shows now.
fn look(journal: &mut Journal, model: &Model) -> Result<Model, StoreError> {
    let view = journal.view()?;
    let entries = view.feed(Cursor::START, usize::MAX)?.into_iter();
    let heads = view.streams()?.into_iter();
    let mut snapshots = BTreeMap::new();
    for name in STREAMS {
        if let Some(found) = view.snapshot(&stream(name))? {
            snapshots.insert(name.to_owned(), (found.stream_seq, found.body[0]));
        }
    }
    let keys = |found: Vec<OpenEffect>| {
        let mut keys: Vec<String> = found.into_iter().map(|effect| effect.key).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(view.open_effects_of("spawn", usize::MAX)?), model.open_effects());
    for now in -3..=3 {
        let due = view.due_effects("spawn", Time::from_millis(now), usize::MAX)?;
        assert_eq!(keys(due), model.due_effects(now), "at {now}");
    }
    Ok(Model {
        entries: entries.map(|it| (it.stream.to_string(), it.stream_seq, it.body)).collect(),
        heads: heads.map(|it| (it.name.to_string(), it.head)).collect(),
        effects: model.effects.clone(),
        snapshots,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_journal_on_disk_does_what_its_model_does(transactions in transactions()) {
        behaves_as_its_model(&Project::new(), transactions);
    }

    #[test]
    fn a_journal_in_memory_does_what_its_model_does(transactions in transactions()) {
        behaves_as_its_model(&Project::in_memory(), transactions);
    }
}

fn transactions() -> impl Strategy<Value = Vec<(Vec<Step>, End)>> {
    proptest::collection::vec((proptest::collection::vec(step(), 0..6), end()), 1..12)
}

fn behaves_as_its_model(project: &Project, transactions: Vec<(Vec<Step>, End)>) {
    let mut journal = project.create();
    let mut model = Model::default();
    for (steps, end) in transactions {
        transact(&mut journal, &mut model, &steps, end);
        if matches!(end, End::CommitAndReopen) {
            drop(journal);
            journal = project.open().unwrap();
        }
        assert_eq!(look(&mut journal, &model).unwrap(), model);
        assert_eq!(look(&mut project.read().unwrap(), &model).unwrap(), model);
    }
    journal.verify().unwrap();
}
