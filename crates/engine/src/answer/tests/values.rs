//! Values on their way into the vault, and nowhere else.

use super::{ask, folder, heard, open, question};
use crate::{
    answer::{give, provide, wanted_value},
    project::Project,
    values,
};
use std::fs;
use tempfile::TempDir;
use waypost_model::{
    actor::Actor,
    inbox::{Question, QuestionKind, Reply, Topic, WantedKind, WantedValue},
};
use waypost_redact::Secret;

const CANARY: &str = "canary-4711-sk-test";

fn key(topic: &str) -> Question<Topic> {
    let kind = WantedKind::ApiKey;
    question(QuestionKind::Value, topic).value(WantedValue {
        name: "STRIPE_KEY".into(),
        kind,
        default: None,
    })
}

#[test]
fn a_value_goes_into_the_vault_and_nowhere_else() {
    let folder = folder();
    let mut project = with_home(&folder);
    let id = ask(&mut project, key("item/1-2"));
    assert_eq!(wanted_value(&mut project, &id, None).unwrap(), ("STRIPE_KEY".to_owned(), 1));
    // Without a value nothing is recorded.
    assert!(give(&mut project, &id, Reply::Provide).is_err());
    provide(&mut project, &id, &Secret::new(format!("{CANARY}\n")), Some(1)).unwrap();
    assert_eq!(heard(&mut project), ["user:mina: Provide"]);
    let kept = values::environment_of(&mut project, "a").unwrap();
    let kept: Vec<(&str, &str)> =
        kept.iter().map(|(name, it)| (name.as_str(), it.expose())).collect();
    assert_eq!(kept, [("STRIPE_KEY", CANARY)]);
    let mut folders = vec![folder.path().to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                let is_there = bytes.windows(CANARY.len()).any(|it| it == CANARY.as_bytes());
                assert!(!is_there, "{}", path.display());
            }
        }
    }
}

#[test]
fn a_bad_value_a_stale_version_or_an_agent_leaves_the_entry_open() {
    let folder = folder();
    let mut project = with_home(&folder);
    let id = ask(&mut project, key("item/1-2"));
    for (value, version) in [("", Some(1)), ("two\nlines", Some(1)), (CANARY, Some(2))] {
        assert!(
            provide(&mut project, &id, &Secret::new(value.to_owned()), version).is_err(),
            "{value:?}"
        );
    }
    let other = ask(&mut project, question(QuestionKind::Review, "review/1"));
    assert!(provide(&mut project, &other, &Secret::new(CANARY.to_owned()), None).is_err());
    project.caller.actor = Actor::Agent { id: "T1".into(), attempt: 1 };
    assert!(provide(&mut project, &id, &Secret::new(CANARY.to_owned()), None).is_err());
    assert_eq!(project.inbox().unwrap().open().len(), 2);
    assert_eq!(heard(&mut project), [""; 0]);
    assert!(values::environment_of(&mut project, "a").unwrap().is_empty());
}

/// A project whose user has a folder of their own, in which the key of values is kept.
fn with_home(folder: &TempDir) -> Project {
    let mut project = open(folder);
    project.setup.home.state = Some(folder.path().join("home"));
    project
}
