//! Locks whose holder lives, dies, or has its file taken away.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other tools")]

use super::*;
use crate::{
    journal::Journals,
    place::{Place, TreeName},
};
use std::{fs, sync::mpsc, thread, time::Duration};
use tempfile::TempDir;
use waypost_model::time::Time;

const NOW: Time = Time::from_millis(1_771_236_000_000);

fn place() -> (TempDir, Place) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let state = root.join(".waypost");
    (folder, Place { root, git_common: None, state, tree: TreeName::main() })
}

fn owner(runs: &str) -> Owner {
    Owner::this_process(runs, NOW)
}

#[test]
fn a_lock_is_held_by_one() {
    let (_folder, place) = place();
    let path = place.root.join("lock");
    let held = FileLock::acquire(&path).unwrap();
    assert!(FileLock::try_acquire(&path).unwrap().is_none());
    assert!(FileLock::try_acquire_shared(&path).unwrap().is_none());
    drop(held);
    let shared = FileLock::try_acquire_shared(&path).unwrap();
    assert!(FileLock::try_acquire_shared(&path).unwrap().is_some());
    assert!(FileLock::try_acquire(&path).unwrap().is_none());
    drop(shared);
    assert!(FileLock::try_acquire(&path).unwrap().is_some());
}

#[test]
fn a_waiter_does_not_get_a_deleted_file() {
    let (_folder, place) = place();
    let path = place.root.join("lock");
    let held = FileLock::acquire(&path).unwrap();
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| send.send(FileLock::acquire(&path).unwrap()).unwrap());
        // Whether the waiter has opened the file already or not, it must end with the new one.
        fs::remove_file(&path).unwrap();
        assert!(!held.still_holds());
        drop(held);
        let waited = receive.recv().unwrap();
        assert!(waited.still_holds());
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
    });
}

#[test]
fn a_lock_follows_no_link() {
    let (_folder, place) = place();
    let path = place.root.join("lock");
    std::os::unix::fs::symlink(place.root.join("elsewhere"), &path).unwrap();
    assert!(matches!(FileLock::acquire(&path), Err(StoreError::File { action: "open", .. })));
    assert!(!place.root.join("elsewhere").exists());
}

#[test]
fn a_second_engine_learns_who_holds_the_first() {
    let (_folder, place) = place();
    assert_eq!(Journals::of(&place).lease_holder().unwrap(), None);
    let long = owner("run a/very/long/path/to/TASKS.md");
    drop(Journals::of(&place).lease(&long).unwrap());
    assert_eq!(Journals::of(&place).lease_holder().unwrap(), None);

    let first = Journals::of(&place).lease(&owner("serve")).unwrap();
    assert_eq!(Journals::of(&place).lease_holder().unwrap(), Some(owner("serve")));
    let error = Journals::of(&place).lease(&long).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the engine of this project is in use by {}", owner("serve"))
    );
    assert_eq!(first.owner(), &owner("serve"));
    assert!(first.still_holds());
    fs::remove_file(place.state.join("engine.lock")).unwrap();
    assert!(!first.still_holds(), "a second engine could start now");
    drop(first);
    Journals::of(&place).lease(&long).unwrap();
}

#[test]
fn looking_at_the_engine_does_not_get_in_its_way() {
    let (_folder, place) = place();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..500 {
                    // Just begun and nameless, it is busy; else it is there or not.
                    drop(Journals::of(&place).lease_holder());
                }
            });
        }
        for _ in 0..200 {
            Journals::of(&place).lease(&owner("serve")).unwrap();
        }
    });
}

/// Asks for the seed's lock; time passes only by waiting, at most `patience`.
fn ask(place: &Place, patience: Duration) -> Result<(Option<String>, Duration), StoreError> {
    let path = place.root.join("state.json.lock");
    let mut waited = Duration::ZERO;
    let mut wait = |span| {
        waited += span;
        (waited <= patience).then(|| NOW.plus(waited))
    };
    let owner = owner("run");
    let request = SeedRequest { place, path: &path, owner: &owner, now: NOW };
    let lock = SeedLock::acquire(&request, &mut wait)?;
    let taken_over = lock.taken_over().map(str::to_owned);
    let inside: Owner = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(inside, owner);
    drop(lock);
    assert!(!path.exists());
    Ok((taken_over, waited))
}

#[test]
fn the_seeds_lock_exists_only_while_it_is_held() {
    let (_folder, place) = place();
    assert_eq!(ask(&place, Duration::ZERO).unwrap(), (None, Duration::ZERO));
}

#[test]
fn a_lock_without_a_name_counts_for_thirty_seconds() {
    let (_folder, place) = place();
    let path = place.root.join("state.json.lock");
    let why = Some("it names no owner and is older than 30 s".to_owned());
    for content in ["", "somebody", "{\"pid\":", "{}"] {
        // Its time is the real one, far from the test's: only our own waiting counts.
        fs::write(&path, content).unwrap();
        let busy = ask(&place, Duration::from_secs(29)).unwrap_err();
        assert!(matches!(busy, StoreError::Busy { .. }), "{content:?}");
        let (taken_over, waited) = ask(&place, Duration::from_secs(31)).unwrap();
        assert_eq!((taken_over, waited), (why.clone(), Duration::from_secs(30)), "{content:?}");
    }
    // Ten seconds old when we come, it has twenty left.
    fs::write(&path, "").unwrap();
    let ten_ago = Duration::from_millis(NOW.millis() as u64 - 10_000);
    let times = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + ten_ago);
    File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
    assert_eq!(ask(&place, Duration::from_secs(30)).unwrap(), (why, Duration::from_secs(20)));
}

#[test]
fn a_lock_with_a_name_counts_while_its_owner_lives() {
    let (_folder, place) = place();
    let path = place.root.join("state.json.lock");
    let ours = owner("another tool");
    let alive = [
        std::process::id().to_string(),
        format!("{{\"pid\":{}}}\n", ours.pid),
        serde_json::to_string(&ours).unwrap(),
    ];
    for content in alive {
        fs::write(&path, &content).unwrap();
        let busy = ask(&place, Duration::from_secs(60)).unwrap_err();
        assert!(matches!(busy, StoreError::Busy { .. }), "{content}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
    let dead = [
        "4194304999".into(),
        "4194303".into(),
        serde_json::to_string(&Owner { started: 1, ..ours.clone() }).unwrap(),
        serde_json::to_string(&Owner { boot_id: "before".into(), ..ours }).unwrap(),
    ];
    for content in dead {
        fs::write(&path, &content).unwrap();
        let (taken_over, waited) = ask(&place, Duration::ZERO).unwrap();
        assert!(taken_over.unwrap().contains("is gone"), "{content}");
        assert_eq!(waited, Duration::ZERO);
    }
}

#[test]
fn our_processes_take_turns_for_the_seeds_lock() {
    let (_folder, place) = place();
    let path = place.root.join("state.json.lock");
    let owner = owner("run");
    let request = SeedRequest { place: &place, path: &path, owner: &owner, now: NOW };
    let held = SeedLock::acquire(&request, &mut |_| None).unwrap();
    let busy = SeedLock::acquire(&request, &mut |_| None).unwrap_err();
    assert_eq!(busy.to_string(), format!("{} is in use by {owner}", path.display()));
    drop(held);
    SeedLock::acquire(&request, &mut |_| None).unwrap();
}
