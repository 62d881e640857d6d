//! Values come back for the task that they were given for, and for nothing else.

use super::*;
use crate::place::TreeName;
use std::os::unix::fs::MetadataExt as _;
use tempfile::TempDir;

const CANARY: &str = "canary-4711-value";

struct VaultSite {
    folder: TempDir,
}

impl VaultSite {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn vault(&self, journal: &str) -> Vault {
        let root = self.folder.path().join("project");
        let place = Place {
            root: root.clone(),
            git_common: None,
            state: root.join(".waypost"),
            tree: TreeName::main(),
        };
        Vault::of(&place, journal, &self.folder.path().join("home"))
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("home").join(layout::user_state::VALUES_KEY)
    }

    fn value(&self, task: &str, name: &str) -> PathBuf {
        self.folder.path().join("project/.waypost/values").join(task).join(name)
    }
}

fn opened(vault: &Vault, task: &str) -> Vec<(String, String)> {
    let values = vault.open(task).unwrap().into_iter();
    values.map(|(name, value)| (name, value.expose().to_owned())).collect()
}

#[test]
fn values_come_back_by_task_and_are_forgotten_with_it() {
    let site = VaultSite::new();
    let vault = site.vault("j1");
    assert_eq!(vault.examine().unwrap(), VaultHealth::Empty);
    assert_eq!(opened(&vault, "t-1"), []);
    vault.keep("t-1", "STRIPE_KEY", &"before".into()).unwrap();
    vault.keep("t-1", "STRIPE_KEY", &CANARY.into()).unwrap();
    vault.keep("t-1", "A", &"한글".into()).unwrap();
    vault.keep("t-2", "A", &"other".into()).unwrap();
    let want = [("A", "한글"), ("STRIPE_KEY", CANARY)];
    assert_eq!(opened(&vault, "t-1"), want.map(|(n, v)| (n.to_owned(), v.to_owned())));
    assert_eq!(vault.names("t-1").unwrap(), ["A", "STRIPE_KEY"]);
    assert_eq!(vault.examine().unwrap(), VaultHealth::Good { values: 3 });
    vault.forget("t-1").unwrap();
    vault.forget("t-1").unwrap();
    assert_eq!((opened(&vault, "t-1"), vault.tasks().unwrap()), (vec![], vec!["t-2".to_owned()]));
}

#[test]
fn no_file_holds_a_value_and_all_are_private() {
    let site = VaultSite::new();
    site.vault("j1").keep("t-1", "KEY", &CANARY.into()).unwrap();
    for path in [site.key(), site.value("t-1", "KEY")] {
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("canary"), "{}", path.display());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_value_opens_only_where_it_was_sealed_for() {
    let site = VaultSite::new();
    let vault = site.vault("j1");
    vault.keep("t-1", "ONE", &CANARY.into()).unwrap();
    vault.keep("t-2", "ONE", &"mine".into()).unwrap();
    fs::copy(site.value("t-1", "ONE"), site.value("t-2", "ONE")).unwrap();
    fs::copy(site.value("t-1", "ONE"), site.value("t-1", "TWO")).unwrap();
    let is_damaged =
        |vault: &Vault, task| matches!(vault.open(task), Err(StoreError::Corrupt { .. }));
    assert!(is_damaged(&vault, "t-2"), "another task");
    assert!(is_damaged(&vault, "t-1"), "another name");
    fs::remove_file(site.value("t-1", "TWO")).unwrap();
    assert!(is_damaged(&site.vault("j2"), "t-1"), "another journal");
    assert_eq!(opened(&vault, "t-1").len(), 1);
    let mut bytes = fs::read(site.value("t-1", "ONE")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    file::replace(&site.value("t-1", "ONE"), &bytes, file::PRIVATE).unwrap();
    assert!(is_damaged(&vault, "t-1"), "changed");
}

#[test]
fn a_lost_key_is_told_and_no_other_is_made_for_what_is_there() {
    let site = VaultSite::new();
    let vault = site.vault("j1");
    vault.keep("t-1", "ONE", &CANARY.into()).unwrap();
    fs::remove_file(site.key()).unwrap();
    assert!(matches!(vault.open("t-1"), Err(StoreError::KeyLost { .. })));
    assert!(!site.key().exists());
    let locked = VaultHealth::Locked { values: 1, tasks: vec!["t-1".to_owned()] };
    assert_eq!(vault.examine().unwrap(), locked);
    // With another key the old value stays shut, and a new one can be given in its place.
    vault.keep("t-2", "ONE", &"new".into()).unwrap();
    assert!(matches!(vault.open("t-1"), Err(StoreError::KeyLost { .. })));
    assert_eq!(vault.examine().unwrap(), locked);
    vault.keep("t-1", "ONE", &"again".into()).unwrap();
    assert_eq!(vault.examine().unwrap(), VaultHealth::Good { values: 2 });
}

#[test]
fn a_key_that_others_may_read_is_told() {
    let site = VaultSite::new();
    let vault = site.vault("j1");
    vault.keep("t-1", "ONE", &CANARY.into()).unwrap();
    fs::set_permissions(site.key(), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(vault.examine().unwrap(), VaultHealth::Exposed { key: site.key() });
}

#[test]
fn names_lead_nowhere_else() {
    let vault = VaultSite::new().vault("j1");
    let long = "x".repeat(NAME_LENGTH_MAX + 1);
    for name in ["", "..", ".hidden", "a/b", "a b", "a\0", "../../key", long.as_str()] {
        assert!(vault.keep("t-1", name, &CANARY.into()).is_err(), "{name:?}");
        assert!(vault.keep(name, "KEY", &CANARY.into()).is_err(), "{name:?}");
        assert!(vault.forget(name).is_err(), "{name:?}");
    }
}
