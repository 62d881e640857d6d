//! What there is, and what is cleared up.

use super::{NAME, Repository, git, now, write};
use crate::tree::{
    PruneOrder, Pruned, has_space, list, list_snapshots, make, prune, retire, settle,
};
use std::{fs, time::Duration};

const OTHER: &str = "worktree/phase-1-cart--T1.2-1";

fn all() -> PruneOrder {
    PruneOrder { older_than: Some(Duration::ZERO), ..PruneOrder::default() }
}

#[test]
fn trees_are_listed_with_how_they_stand() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    repository.git("worktree add -q mine");
    repository.git("worktree add -q worktree/phase-9-mine");
    make(&trees, OTHER, "main").unwrap();
    write(&path.join("a.txt"), "changed\n");
    let listed = list(&trees).unwrap();
    let shown: Vec<_> = listed
        .iter()
        .map(|it| (it.name.as_str(), it.is_there, it.is_dirty, it.is_needed))
        .collect();
    assert_eq!(shown, [(NAME, true, true, true), (OTHER, true, false, false)]);
    assert_eq!(listed[0].branch.as_deref(), Some(NAME));
    assert_eq!(listed[0].head.as_deref(), Some(&*repository.head()));
    assert!(listed[0].used >= listed[0].made.map(waypost_model::time::Time::whole_seconds));
    fs::remove_dir_all(path).unwrap();
    assert!(!list(&trees).unwrap()[0].is_there);
}

#[test]
fn trees_of_others_are_not_cleared_up() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    make(&trees, OTHER, "main").unwrap();
    repository.git("worktree add -q mine");
    repository.git("worktree add -q worktree/phase-9-mine");
    repository.git("worktree add -q --detach gone");
    fs::remove_dir_all(repository.root.join("gone")).unwrap();
    repository.git("branch worktree/phase-1-cart--T9.9-1");
    write(&path.join("a.txt"), "changed\n");
    let now = now();
    let pruned = prune(&trees, &all(), |name| name == OTHER, now).unwrap();
    let snapshot = "refs/waypost/snapshots/phase-1-cart--T1.1-1/1".to_owned();
    let removed = vec![
        ("worktree/phase-1-cart--T9.9-1".to_owned(), None),
        (NAME.to_owned(), Some(snapshot.clone())),
    ];
    assert_eq!(pruned, Pruned { removed, ..Pruned::default() });
    let state = repository.state();
    for stays in ["./mine", "./gone", "./worktree/phase-9-mine", OTHER, &*snapshot] {
        assert!(state.contains(stays), "{stays}\n{state}");
    }
    assert!(!state.contains("T9.9") && !state.contains(&format!("heads/{NAME}")), "{state}");
}

#[test]
fn age_decides_unless_space_is_needed() {
    let repository = Repository::new();
    let (trees, _) = repository.made();
    let now = now();
    let day = Duration::from_secs(86_400);
    let by_age = PruneOrder { older_than: Some(7 * day), ..PruneOrder::default() };
    let never = |_: &str| false;
    assert_eq!(prune(&trees, &by_age, never, now).unwrap(), Pruned::default());
    let little = PruneOrder { need: Some(1), ..PruneOrder::default() };
    assert_eq!(prune(&trees, &little, never, now).unwrap(), Pruned::default());
    let later = now.plus(8 * day);
    let removed = vec![(NAME.to_owned(), None)];
    assert_eq!(
        prune(&trees, &by_age, never, later).unwrap(),
        Pruned { removed: removed.clone(), ..Pruned::default() }
    );
    make(&trees, NAME, "main").unwrap();
    let much = PruneOrder { need: Some(u64::MAX), ..PruneOrder::default() };
    assert_eq!(prune(&trees, &much, never, now).unwrap(), Pruned { removed, ..Pruned::default() });
}

#[test]
fn old_snapshots_are_deleted_only_when_asked_for() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    write(&path.join("a.txt"), "changed\n");
    retire(&trees, NAME, "test").unwrap();
    settle(&trees);
    let later = now().plus(Duration::from_secs(31 * 86_400));
    let never = |_: &str| false;
    assert_eq!(prune(&trees, &all(), never, later).unwrap(), Pruned::default());
    let month = Some(Duration::from_secs(30 * 86_400));
    let order = PruneOrder { snapshots_older_than: month, ..PruneOrder::default() };
    let now = now();
    assert_eq!(prune(&trees, &order, never, now).unwrap(), Pruned::default());
    let deleted = vec!["refs/waypost/snapshots/phase-1-cart--T1.1-1/1".to_owned()];
    let pruned = prune(&trees, &order, never, later).unwrap();
    assert_eq!(pruned, Pruned { deleted, ..Pruned::default() });
    assert_eq!(list_snapshots(&trees).unwrap(), []);
}

#[test]
fn a_tree_that_stays_says_why() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    let inner = path.join("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, "init -q -b main .");
    write(&inner.join("x"), "x");
    let now = now();
    let never = |_: &str| false;
    let reason = "the repository inner in it has changes that are not committed".to_owned();
    let stayed = vec![(NAME.to_owned(), reason)];
    assert_eq!(prune(&trees, &all(), never, now).unwrap(), Pruned { stayed, ..Pruned::default() });
    let pruned = prune(&trees, &PruneOrder { loses_strays: true, ..all() }, never, now).unwrap();
    assert_eq!(pruned.removed, [(NAME.to_owned(), None)]);
}

#[test]
fn space_is_compared_with_what_is_configured() {
    let mut repository = Repository::new();
    repository.config.min_free_mb = 0;
    assert!(has_space(&repository.trees()).unwrap());
    repository.config.min_free_mb = 1_000_000_000_000;
    assert!(!has_space(&repository.trees()).unwrap());
}
