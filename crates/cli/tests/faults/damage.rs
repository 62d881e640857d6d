//! A journal that was damaged on disk: row A10.
//!
//! It is never taken for a new one, every command says what is wrong, and the doctor puts the
//! newest backup in its place, keeping the damaged file.

use crate::{
    process::{self, Ended},
    scenario::IMPLEMENT,
    site::{Site, WAYPOST, remove},
};
use std::{fs, path::Path};

const JOURNAL: &str = ".git/waypost/journal.db";

/// Where a database keeps the version of its tables.
const USER_VERSION: usize = 60;
const PAGE: u64 = 4096;

/// A way to damage a journal, and a word of the message about it.
type Damage = (&'static str, fn(&Path), &'static str);

const DAMAGES: &[Damage] = &[
    ("empty", |path| fs::write(path, "").unwrap(), "empty"),
    ("no database", |path| fs::write(path, "hello\n".repeat(4096)).unwrap(), "not a database"),
    ("cut inside its header", |path| cut(path, 50), "journal"),
    ("cut after its header", |path| cut(path, 100), "journal"),
    ("cut inside its first page", |path| cut(path, PAGE - 1), "journal"),
    ("cut after its first page", |path| cut(path, PAGE), "journal"),
    ("cut inside a later page", |path| cut(path, 3 * PAGE + 17), "journal"),
    ("cut after a later page", |path| cut(path, 4 * PAGE), "journal"),
    ("an entry changed", |path| flip(path, b"\"Feature\"", 3), "checksum"),
    ("a whole page inverted", |path| invert_page_of(path, b"\"Feature\""), "journal"),
];

/// A journal with five entries, of which the first is in a backup.
fn site() -> Site {
    let site = Site::after(IMPLEMENT);
    fold_log(&site.path(JOURNAL));
    site.save();
    site
}

/// Moves the log into the journal itself: entries that are still in the log hide its damage.
fn fold_log(journal: &Path) {
    let db = rusqlite::Connection::open(journal).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

#[test]
fn a_damaged_journal_is_named_and_restored_from_its_backup() {
    let site = site();
    for (name, damage, word) in DAMAGES {
        site.put_back();
        damage(&site.path(JOURNAL));
        let damaged = fs::read(site.path(JOURNAL)).unwrap();
        for command in [&["status"][..], &["init"], &["develop", "checkpoint", "start", "cp-1"]] {
            let ended = site.waypost(command);
            assert_eq!(ended.code, Some(5), "{name}: {command:?}: {ended:#?}");
            assert!(ended.stderr.contains(word), "{name}: {ended:#?}");
        }
        assert!(fs::read(site.path(JOURNAL)).unwrap() == damaged, "{name}: it was written to");
        let ended = site.waypost(&["doctor"]);
        assert_eq!(ended.code, Some(1), "{name}: {ended:#?}");
        assert!(ended.stdout.contains("bad  journal"), "{name}: {ended:#?}");
        assert!(ended.stdout.contains("doctor --fix"), "{name}: {ended:#?}");
        let Some(ended) = mend(&site) else { return };
        assert_eq!(ended.code, Some(0), "{name}: {ended:#?}");
        assert!(ended.stdout.contains("restored the journal up to entry 1"), "{name}: {ended:#?}");
        let kept = site.path(".git/waypost/journal.db.corrupt-1");
        assert!(fs::read(kept).unwrap() == damaged, "{name}: the damaged journal is kept");
        assert_eq!(crate::judge::log(&site), ["started"], "{name}");
        site.waypost(&["develop", "advance", "--checkpoint", "cp-9"]).expect_code(0);
    }
}

/// The PIN 2468, as it is kept.
const PIN_KEPT: &str = r#"{"version":1,"salt":"73616c74","rounds":1,"hash":"138d142b18e69629bba7b537b0edc8e6772fb22dd96850f04c3a7414decfc368","wrong":0,"until":0}"#;

/// Restores the journal as a person, which is who may; all that is printed is in `stdout`.
///
/// `None`, said aloud, where no person can be played: below an agent program, or without `script`.
fn mend(site: &Site) -> Option<Ended> {
    let line = format!("{WAYPOST} doctor --fix");
    let state = site.home().join(".local/state/waypost");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("pin"), PIN_KEPT).unwrap();
    let keys = site.home().join("keys");
    fs::write(&keys, "2468\n").unwrap();
    let mut command = site.command("script");
    command.args(["-q", "-e", "-c", &line, "/dev/null"]);
    let ended = process::run_with(&mut command, fs::File::open(keys).unwrap().into());
    let is_agent = ended.code == Some(3) && ended.stdout.contains("reserved for a person");
    let nobody = is_agent || ended.stderr.contains("failed to execute script");
    if nobody {
        process::say("skipped: no user here counts as a person");
    }
    (!nobody).then_some(ended)
}

#[test]
fn a_damaged_journal_without_a_backup_is_never_made_anew() {
    let site = site();
    let check = |name: &str, word: &str| {
        remove(&site.path(".git/waypost/backups"));
        let before = fs::read(site.path(JOURNAL)).ok();
        for command in ["status", "init", "run start T1.1", "develop start Other"] {
            let ended = site.waypost(&crate::site::words(command));
            assert_eq!(ended.code, Some(5), "{name}: {command}: {ended:#?}");
            assert!(ended.stderr.contains(word), "{name}: {command}: {ended:#?}");
        }
        for command in ["doctor", "doctor --fix"] {
            let ended = site.waypost(&crate::site::words(command));
            assert_eq!(ended.code, Some(1), "{name}: {command}: {ended:#?}");
            assert!(ended.stdout.contains("there is no backup"), "{name}: {ended:#?}");
        }
        assert!(fs::read(site.path(JOURNAL)).ok() == before, "{name}: it was made anew");
    };
    for (name, damage, word) in DAMAGES {
        site.put_back();
        damage(&site.path(JOURNAL));
        check(name, word);
    }
    site.put_back();
    remove(&site.path(JOURNAL));
    check("removed", "vanished");
    site.put_back();
    remove(&site.path(".git/waypost"));
    check("removed with its folder", "vanished");
}

#[test]
fn a_journal_that_was_removed_comes_back_from_its_backup() {
    let site = site();
    remove(&site.path(JOURNAL));
    let ended = site.waypost(&["status"]).expect_code(5);
    assert!(ended.stderr.contains("waypost doctor"), "{ended:#?}");
    let Some(ended) = mend(&site) else { return };
    ended.expect_code(0);
    assert_eq!(crate::judge::log(&site), ["started"]);
}

#[test]
fn a_journal_of_a_newer_program_is_left_alone() {
    let site = site();
    let path = site.path(JOURNAL);
    let mut bytes = fs::read(&path).unwrap();
    bytes[USER_VERSION..USER_VERSION + 4].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    for command in [&["status"][..], &["init"], &["develop", "start", "Other"]] {
        let ended = site.waypost(command).expect_code(5);
        assert!(ended.stderr.contains("update waypost"), "{ended:#?}");
    }
    let ended = site.waypost(&["doctor", "--fix"]).expect_code(1);
    assert!(ended.stdout.contains("bad  journal"), "{ended:#?}");
    assert!(fs::read(&path).unwrap() == bytes, "it was written to");
}

/// The log of a process that was killed holds entries that are nowhere else.
#[test]
fn a_log_that_was_deleted_is_missed() {
    let site = Site::after(&["init"]);
    let mut command = site.command(WAYPOST);
    command.args(["log", "--follow", "--json"]).stdout(std::process::Stdio::piped());
    let mut follower = command.spawn().unwrap();
    site.waypost(&["develop", "start", "Feature"]).expect_code(0);
    // It has the journal open for certain once it has printed what happened beside it.
    let mut line = String::new();
    let out = follower.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    assert!(line.contains("started"), "{line}");
    site.waypost(&["develop", "advance", "--checkpoint", "cp-1"]).expect_code(0);
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert!(fs::metadata(site.path(".git/waypost/journal.db-wal")).unwrap().len() > 0);
    remove(&site.path(".git/waypost/journal.db-wal"));
    remove(&site.path(".git/waypost/journal.db-shm"));
    let ended = site.waypost(&["status"]).expect_code(5);
    assert!(ended.stderr.contains("gone"), "{ended:#?}");
    site.waypost(&["doctor"]).expect_code(1);
}

fn cut(path: &Path, size: u64) {
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(size).unwrap();
}

fn flip(path: &Path, needle: &[u8], offset: usize) {
    let mut bytes = fs::read(path).unwrap();
    let at = find(&bytes, needle) + offset;
    bytes[at] ^= 0x20;
    fs::write(path, bytes).unwrap();
}

fn invert_page_of(path: &Path, needle: &[u8]) {
    let mut bytes = fs::read(path).unwrap();
    let page = usize::try_from(PAGE).unwrap();
    let start = find(&bytes, needle) / page * page;
    bytes[start..start + page].iter_mut().for_each(|byte| *byte = !*byte);
    fs::write(path, bytes).unwrap();
}

fn find(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).position(|window| window == needle).unwrap()
}
