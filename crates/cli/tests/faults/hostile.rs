//! Hostile things in every place that is read: rows A6 and A9.
//!
//! Whatever stands there, a command ends in bounded time and memory with a documented exit code,
//! a refusal names the file, nothing outside of the project is touched, and what another user put
//! there is either left alone or kept.

use crate::{
    process::{self, Ended, say},
    sample,
    site::{Site, WAYPOST, remove, words},
};
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink},
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// How many pairs of a place and a form are tried when not all are.
const CASES: usize = 180;
/// Address space of a command, in KiB; several times the largest file that is ever read.
const MEMORY: u64 = 1 << 19;
const MIB: usize = 1 << 20;
/// What must never change: the target of links that lead out of the project.
const VICTIM: &str = "a file of somebody else\n";

/// What may become of a thing that was planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// A person wrote it for us to read: it is left alone.
    Theirs,
    /// A window: a regular file is replaced and kept, anything else is left alone.
    Window,
    /// Our own small files: they may be written again.
    Ours,
}

/// A place that is read, and a command that reads it.
#[derive(Clone, Copy, Debug)]
struct Place {
    path: &'static str,
    command: &'static str,
    owner: Owner,
}

const fn place(path: &'static str, command: &'static str, owner: Owner) -> Place {
    Place { path, command, owner }
}

/// The entry of the site's project in the user's list; its name depends on the path.
const LISTED: &str = "../home/.local/state/waypost/projects/";

const PLACES: &[Place] = &[
    place(".develop-workflow/state.json", "status", Owner::Window),
    place(".claude/orchestrate-state.json", "status", Owner::Window),
    place(".claude/orchestrate-state.json.bak", "run done T1.1", Owner::Ours),
    place("TASKS.md", "validate TASKS.md", Owner::Theirs),
    place("TASKS.md", "resolve", Owner::Theirs),
    place("waypost.toml", "config show", Owner::Theirs),
    place("../home/.config/waypost/config.toml", "config show", Owner::Theirs),
    place("review.md", "develop gate pass review_clean_pass --report review.md", Owner::Theirs),
    place("contract.yaml", "develop contract contract.yaml", Owner::Theirs),
    place("contract.yaml", "validate contract.yaml", Owner::Theirs),
    place(".git/info/exclude", "init", Owner::Ours),
    place(".git/waypost/journal.db", "status", Owner::Theirs),
    place(".git/waypost/journal.lock", "develop checkpoint start cp-1", Owner::Ours),
    place(".git/waypost/journal.open", "develop checkpoint start cp-1", Owner::Ours),
    place(".git/waypost/engine.lock", "status", Owner::Ours),
    place(".git/waypost/engine.sock", "develop checkpoint start cp-1", Owner::Ours),
    place(".git/waypost/seed.lock", "run done T1.1", Owner::Ours),
    place(".git/waypost/windows/workflow-main.stamp", "develop checkpoint start cp-1", Owner::Ours),
    place(".git/waypost/windows/workflow-main.lock", "develop checkpoint start cp-1", Owner::Ours),
    place(".git/waypost/windows/workflow-main", "develop checkpoint start cp-1", Owner::Ours),
    place(
        ".git/waypost/windows/workflow-main.hashes",
        "develop checkpoint start cp-1",
        Owner::Ours,
    ),
    place(".git/waypost/run.summary", "status", Owner::Ours),
    place(".git/waypost/run.image", "run done T1.1", Owner::Ours),
    place(".git/waypost/tasks.stamp", "run done T1.1", Owner::Ours),
    place(LISTED, "status", Owner::Theirs),
    place(".git", "status", Owner::Theirs),
];

/// A thing that does not belong where it stands.
type Form = (&'static str, fn(&Site, &Path));

const FORMS: &[Form] = &[
    ("100,000 brackets", |_, path| fs::write(path, "[".repeat(100_000)).unwrap()),
    ("100,000 braces", |_, path| fs::write(path, "{\"a\":".repeat(100_000)).unwrap()),
    ("a string of 70 MiB", |_, path| long_string(path, 70 * MIB)),
    ("a string of 60 MiB", |_, path| long_string(path, 60 * MIB)),
    ("duplicate keys", |_, path| fs::write(path, "{\"phase\": 1, \"phase\": 2}").unwrap()),
    ("a byte order mark", |_, path| fs::write(path, "\u{feff}{}").unwrap()),
    ("zero bytes", |_, path| fs::write(path, [0_u8; 300]).unwrap()),
    ("invalid UTF-8", |_, path| fs::write(path, b"{\"phase\": \"\xff\xfe\"}").unwrap()),
    ("nothing", |_, path| fs::write(path, "").unwrap()),
    ("a link to somebody's file", |site, path| symlink(site.outside("victim"), path).unwrap()),
    ("a link to /etc/passwd", |_, path| symlink("/etc/passwd", path).unwrap()),
    ("a link to itself", |_, path| symlink(path, path).unwrap()),
    ("a link to nowhere", |site, path| symlink(site.outside("nowhere"), path).unwrap()),
    ("a link to /dev/zero", |_, path| symlink("/dev/zero", path).unwrap()),
    ("a named pipe", |_, path| make_pipe(path)),
    ("a folder", |_, path| fs::create_dir(path).unwrap()),
    ("a sparse file of 1 GiB", |_, path| {
        fs::File::create(path).unwrap().set_len(1 << 30).unwrap();
    }),
];

#[test]
fn hostile_files_are_refused_by_name_in_bounded_time_and_memory() {
    let next = AtomicUsize::new(0);
    let cases: Vec<(Place, Form)> =
        PLACES.iter().flat_map(|place| FORMS.iter().map(|form| (*place, *form))).collect();
    let cases = sample::sample(&cases, CASES, |(place, _)| place.path);
    let failures = Mutex::new(Vec::new());
    let tally: Mutex<BTreeMap<Option<i32>, usize>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let site = site();
                while let Some((place, form)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tried = panic::catch_unwind(AssertUnwindSafe(|| check(&site, place, form)));
                    match tried {
                        Ok(code) => *tally.lock().unwrap().entry(code).or_default() += 1,
                        Err(cause) => {
                            let cause = cause.downcast_ref::<String>().cloned();
                            failures
                                .lock()
                                .unwrap()
                                .push(format!("- {}", cause.unwrap_or_default()));
                        }
                    }
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    let count = |(code, count): (&Option<i32>, &usize)| format!("{count} exit {}", code.unwrap());
    let tally: Vec<String> = tally.iter().map(count).collect();
    let (count, how) = (cases.len(), sample::described());
    say(&format!("hostile files: {count} cases ({how}): {}", tally.join(", ")));
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

/// A project in which every place is read.
fn site() -> Site {
    let site = Site::after(crate::scenario::IMPLEMENT);
    site.waypost(&["run", "start", "T1.1"]).expect_code(0);
    fs::create_dir_all(site.home().join(".config/waypost")).unwrap();
    fs::write(site.outside("victim"), VICTIM).unwrap();
    site.save();
    site
}

/// Plants one thing and looks at what becomes of it; returns what the command exited with.
fn check(site: &Site, place: &Place, (form, plant): &Form) -> Option<i32> {
    let case = format!("{form} at {} and `{}`", place.path, place.command);
    site.put_back();
    site.waypost(&["status"]).expect_code(0);
    let path = planted_path(site, place);
    remove(&path);
    plant(site, &path);
    let before = described(&path);
    let bounded = |line: &str| {
        let ended = limited(site, line);
        let code = ended.code.unwrap_or(-1);
        assert!((0..=5).contains(&code), "{case}: `{line}`: {ended:#?}");
        assert!(!ended.stderr.contains("panicked"), "{case}: `{line}`: {ended:#?}");
        ended
    };
    let ended = bounded(place.command);
    let must_close = place.path == LISTED || place.path.ends_with("journal.db");
    assert!(!must_close || ended.code != Some(0), "{case}: taken for a new project: {ended:#?}");
    let name = path.file_name().unwrap().to_str().unwrap();
    let is_named = ended.code == Some(0) || ended.stderr.contains(name) || ended.code == Some(3);
    assert!(is_named, "{case}: the message does not name it: {ended:#?}");
    bounded("doctor");
    assert_eq!(fs::read_to_string(site.outside("victim")).unwrap(), VICTIM, "{case}");
    assert!(!site.outside("nowhere").exists(), "{case}: a link was written through");
    let is_left = described(&path) == before;
    match place.owner {
        Owner::Theirs => assert!(is_left, "{case}: it was overwritten"),
        // What a power cut may leave of a window counts as gone, and holds nothing to keep.
        Owner::Window => assert!(
            is_left || was_kept(site, &before) || ["zero bytes", "nothing"].contains(form),
            "{case}: it is lost"
        ),
        Owner::Ours => {}
    }
    remove(&path);
    if place.path.ends_with("journal.db") || place.path == ".git" || place.path == LISTED {
        return ended.code;
    }
    site.waypost(&["doctor"]).expect_code(0);
    ended.code
}

/// The place in this site; the list is only looked at when the journal is gone.
fn planted_path(site: &Site, place: &Place) -> PathBuf {
    if place.path != LISTED {
        return site.path(place.path);
    }
    remove(&site.path(".git/waypost"));
    let mut entries = fs::read_dir(site.path(LISTED)).unwrap();
    entries.next().unwrap().unwrap().path()
}

/// Runs a command with a limit on its memory.
fn limited(site: &Site, line: &str) -> Ended {
    let script = format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"");
    process::run(site.command("/bin/sh").args(["-c", &script, WAYPOST]).args(words(line)))
}

/// Enough to tell whether a thing is still the same: its kind, identity, size and first bytes.
fn described(path: &Path) -> (String, u64, u64, Vec<u8>) {
    let Ok(found) = path.symlink_metadata() else { return Default::default() };
    let kind = found.file_type();
    let start = match kind.is_file() {
        true => {
            let mut bytes = Vec::new();
            let file = fs::File::open(path).unwrap();
            std::io::Read::read_to_end(&mut std::io::Read::take(file, 4096), &mut bytes).unwrap();
            bytes
        }
        false => Vec::new(),
    };
    let name = format!("{kind:?} fifo={}", kind.is_fifo());
    (name, found.ino(), found.len(), start)
}

/// Whether a file with that size and start is among the refused ones.
fn was_kept(site: &Site, before: &(String, u64, u64, Vec<u8>)) -> bool {
    let Ok(kept) = fs::read_dir(site.path(".git/waypost/refused")) else { return false };
    kept.map(|entry| described(&entry.unwrap().path()))
        .any(|kept| kept.2 == before.2 && kept.3 == before.3)
}

fn long_string(path: &Path, size: usize) {
    let mut file = fs::File::create(path).unwrap();
    file.write_all(b"{\"feature\": \"").unwrap();
    let chunk = vec![b'a'; MIB];
    for _ in 0..size / MIB {
        file.write_all(&chunk).unwrap();
    }
    file.write_all(b"\"}").unwrap();
}

fn make_pipe(path: &Path) {
    process::run(Command::new("mkfifo").arg(path)).expect_code(0);
}

#[test]
fn a_file_that_may_not_be_read_is_named() {
    let site = site();
    let path = site.path("waypost.toml");
    fs::write(&path, "").unwrap();
    process::run(Command::new("chmod").arg("000").arg(&path)).expect_code(0);
    if fs::read(&path).is_ok() {
        say("SKIPPED: files without permissions: this user may read everything");
        return;
    }
    let ended = site.waypost(&["status"]).expect_code(5);
    assert!(ended.stderr.contains("waypost.toml"), "{ended:#?}");
}

/// A linked work tree: `.git` is a file, and what it leads to is read as well.
#[test]
fn a_hostile_gitfile_or_commondir_leads_nowhere() {
    let site = Site::new();
    let tree = site.path("repo/worktrees/wt");
    fs::create_dir_all(&tree).unwrap();
    fs::rename(site.path(".git"), site.path("store")).unwrap();
    fs::rename(site.path("store"), site.path("repo/git")).unwrap();
    fs::write(site.path(".git"), format!("gitdir: {}\n", tree.display())).unwrap();
    fs::write(tree.join("commondir"), "../../git\n").unwrap();
    fs::write(site.outside("victim"), VICTIM).unwrap();
    site.waypost(&["init"]).expect_code(0);
    site.waypost(&["develop", "start", "Feature"]).expect_code(0);
    assert!(site.path("repo/git/waypost/journal.db").is_file());
    site.save();
    for name in [".git", "repo/worktrees/wt/commondir"] {
        for (form, plant) in FORMS {
            site.put_back();
            let path = site.path(name);
            remove(&path);
            plant(&site, &path);
            let before = described(&path);
            let ended = limited(&site, "status");
            let code = ended.code.unwrap_or(-1);
            assert!((0..=5).contains(&code), "{form} at {name}: {ended:#?}");
            assert_eq!(described(&path), before, "{form} at {name}");
            assert_eq!(fs::read_to_string(site.outside("victim")).unwrap(), VICTIM);
        }
    }
}
