//! Files in every state that a hostile or unlucky folder can be in.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]

use super::{
    exchange::{Way, exchange_by},
    *,
};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Every name in a folder, so that a test sees what was left lying about.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Each kind of thing that is not a regular file, by the words that refuse it.
fn special_files(folder: &Path) -> Vec<(PathBuf, &'static str)> {
    let at = |name: &str| folder.join(name);
    fs::write(at("target"), "outside").unwrap();
    symlink(at("target"), at("link")).unwrap();
    symlink(at("nowhere"), at("dangling")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    rustix::fs::mkfifoat(CWD, at("fifo"), Mode::from_raw_mode(0o600)).unwrap();
    drop(std::os::unix::net::UnixListener::bind(at("socket")).unwrap());
    vec![
        (at("link"), "a symbolic link"),
        (at("dangling"), "a symbolic link"),
        (at("folder"), "a folder"),
        (at("fifo"), "a named pipe"),
        (at("socket"), "a socket"),
        (PathBuf::from("/dev/zero"), "a device"),
    ]
}

#[test]
fn only_regular_files_are_read() {
    let folder = folder();
    for (path, what) in special_files(folder.path()) {
        let error = read_bounded(&path, 100).unwrap_err().to_string();
        assert_eq!(error, format!("{} is {what}, not a regular file", path.display()));
    }
}

#[test]
fn rewriting_keeps_the_permissions() {
    let folder = folder();
    let path = folder.path().join("below/settings.json");
    rewrite(&path, b"one").unwrap();
    for mode in [0o600, 0o664, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        rewrite(&path, format!("{mode:o}").as_bytes()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{mode:o}"));
    }
    assert_eq!(names(path.parent().unwrap()), ["settings.json"]);
    for (path, what) in special_files(folder.path()) {
        let error = rewrite(&path, b"x").unwrap_err().to_string();
        assert_eq!(error, format!("{} is {what}, not a regular file", path.display()));
    }
}

#[test]
fn only_regular_files_are_replaced() {
    let folder = folder();
    let special = special_files(folder.path());
    let before = names(folder.path());
    for (path, what) in special {
        let refused = format!("{} is {what}, not a regular file", path.display());
        assert_eq!(replace(&path, b"new", SHARED).unwrap_err().to_string(), refused);
        assert_eq!(exchange(&path, b"new").unwrap_err().to_string(), refused);
    }
    assert_eq!(names(folder.path()), before);
    assert_eq!(fs::read(folder.path().join("target")).unwrap(), b"outside");
}

#[test]
fn reads_are_bounded() {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, "12345").unwrap();
    assert_eq!(read_bounded(&path, 5).unwrap(), Some(b"12345".to_vec()));
    assert!(matches!(read_bounded(&path, 4), Err(StoreError::TooLarge { max: 4, .. })));
    // A sparse file of a terabyte costs neither memory nor time.
    File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(read_bounded(&path, 1 << 20), Err(StoreError::TooLarge { .. })));
    // Files of the system say that they are empty and are not.
    assert!(read_bounded(Path::new("/proc/self/stat"), 1 << 20).unwrap().unwrap().len() > 10);
    assert!(matches!(
        read_bounded(Path::new("/proc/self/stat"), 3),
        Err(StoreError::TooLarge { .. })
    ));
}

#[test]
fn a_missing_file_is_not_an_error() {
    let folder = folder();
    assert_eq!(read_bounded(&folder.path().join("a/b/c"), 1).unwrap(), None);
    assert_eq!(Mark::of(&folder.path().join("a")).unwrap(), None);
    remove(&folder.path().join("a")).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let below_a_file = read_bounded(&folder.path().join("file/x"), 1);
    assert!(matches!(below_a_file, Err(StoreError::File { action: "look at", .. })));
}

#[test]
fn replacing_leaves_nothing_else_behind() {
    let folder = folder();
    let path = folder.path().join("a/b/file");
    replace(&path, b"one", PRIVATE).unwrap();
    replace(&path, b"two", PRIVATE).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(names(path.parent().unwrap()), ["file"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_folder_that_may_not_be_written_is_an_error_and_stays_as_it_is() {
    let folder = folder();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            // The superuser may write anywhere, so this thread alone becomes another user.
            let nobody = rustix::thread::Uid::from_raw(65_534);
            if rustix::process::geteuid().is_root() {
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            for result in [
                replace(&path, b"new", SHARED),
                exchange(&path, b"new").map(drop),
                create_new(&folder.path().join("other"), b"new", SHARED).map(drop),
                replace(&folder.path().join("deeper/file"), b"new", SHARED),
                remove(&path),
            ] {
                let Err(StoreError::File { source, .. }) = result else { panic!("{result:?}") };
                assert_eq!(source.kind(), io::ErrorKind::PermissionDenied);
            }
        });
    });
    assert_eq!(names(folder.path()), ["file"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn create_new_never_overwrites() {
    let folder = folder();
    let path = folder.path().join("file");
    assert!(create_new(&path, b"one", SHARED).unwrap());
    assert!(!create_new(&path, b"two", SHARED).unwrap());
    symlink("elsewhere", folder.path().join("link")).unwrap();
    assert!(!create_new(&folder.path().join("link"), b"two", SHARED).unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"one");
    assert_eq!(names(folder.path()), ["file", "link"]);
}

#[test]
fn exchange_hands_out_what_stood_there() {
    for way in [Way::Exchange, Way::Link, Way::Rename] {
        let folder = folder();
        let path = folder.path().join("deep/file");
        let first = exchange_by(&path, b"one", way).unwrap();
        assert!(first.displaced.is_none(), "{way:?}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let second = exchange_by(&path, b"two", way).unwrap();
        assert_eq!(second.mark, Mark::of(&path).unwrap(), "{way:?}");
        assert_eq!(second.displaced.unwrap().discard(), b"one", "{way:?}");
        assert_eq!(fs::read(&path).unwrap(), b"two", "{way:?}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640, "{way:?}");
        assert_eq!(names(path.parent().unwrap()), ["file"], "{way:?}");
    }
}

#[test]
fn what_was_displaced_survives_until_it_is_discarded() {
    for way in [Way::Exchange, Way::Link, Way::Rename] {
        let folder = folder();
        let path = folder.path().join("file");
        fs::write(&path, "an edit").unwrap();
        // The process dies right after the exchange.
        drop(exchange_by(&path, b"ours", way).unwrap());
        // Another one died before its exchange, and a third while it was writing.
        let never = fresh(&path, "swap-", b"never put in place");
        fs::write(&never, "never put in place").unwrap();
        fs::write(temp::fresh_name(&path, "new"), "half a fi").unwrap();
        sweep(&path).unwrap();
        let mut left = leftovers(&path).unwrap();
        assert_eq!(left.len(), 1, "{way:?}");
        assert_eq!(left.remove(0).discard(), b"an edit", "{way:?}");
        assert_eq!(names(folder.path()), ["file"], "{way:?}");
    }
}

fn fresh(path: &Path, kind: &str, bytes: &[u8]) -> PathBuf {
    temp::fresh_name(path, &format!("{kind}{}", crate::hash::short_hex(bytes)))
}

#[test]
fn a_mark_tells_even_the_quickest_edit() {
    let folder = folder();
    let path = folder.path().join("file");
    for _ in 0..200 {
        let mark = exchange(&path, b"ours").unwrap().mark;
        assert!(mark.is_some());
        assert_eq!(mark, Mark::of(&path).unwrap());
        // In the same tick of the clock, in place, and of the same length.
        fs::write(&path, "mine").unwrap();
        assert_ne!(mark, Mark::of(&path).unwrap());
    }
}

fn show_at(path: &Path, bytes: &[u8], expected: Option<&Mark>) -> Shown {
    show(path, (bytes, &crate::hash::blake3_hex(bytes)), expected).unwrap()
}

#[test]
fn a_second_name_takes_the_place_of_what_is_there() {
    let folder = folder();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    fs::write(&one, "first").unwrap();
    fs::write(&two, "other").unwrap();
    // The second time both are names of one file already.
    for _ in 0..2 {
        link_volatile(&one, &two, 100).unwrap();
        assert_eq!(fs::read(&two).unwrap(), b"first");
        assert_eq!(names(folder.path()), ["one", "two"]);
    }
}

#[test]
fn only_the_file_that_was_left_there_is_taken_unread() {
    let folder = folder();
    let (path, backup) = (folder.path().join("file"), folder.path().join("file.bak"));
    let left = show_at(&path, b"one", None).mark;
    let shown = show_at(&path, b"two", left.as_ref());
    let Some(Aside::Expected(before)) = shown.displaced else { panic!("{shown:?}") };
    before.move_to(&backup).unwrap();
    assert_eq!(fs::read(&backup).unwrap(), b"one");
    // In the same tick of the clock, in place, and of the same length.
    fs::write(&path, "TWO").unwrap();
    let edited = show_at(&path, b"six", shown.mark.as_ref());
    let Some(Aside::Other(edit)) = edited.displaced else { panic!("{edited:?}") };
    assert_eq!(edit.discard(), b"TWO");
    // Another file that was put there.
    fs::write(&backup, "SIX").unwrap();
    fs::rename(&backup, &path).unwrap();
    let replaced = show_at(&path, b"ten", edited.mark.as_ref());
    let Some(Aside::Other(other)) = replaced.displaced else { panic!("{replaced:?}") };
    assert_eq!(other.discard(), b"SIX");
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn no_content_is_lost_between_two_who_exchange() {
    let folder = folder();
    let path = folder.path().join("file");
    let done = AtomicBool::new(false);
    let play = |who: &str, count: usize, until: &AtomicBool| {
        let mut got = Vec::new();
        let mut put = Vec::new();
        for number in 0.. {
            if number >= count || until.load(Ordering::Relaxed) {
                break;
            }
            let text = format!("{who} {number}");
            if let Some(displaced) = exchange(&path, text.as_bytes()).unwrap().displaced {
                got.push(String::from_utf8(displaced.discard()).unwrap());
            }
            put.push(text);
        }
        (put, got)
    };
    let (ours, theirs) = thread::scope(|scope| {
        let theirs = scope.spawn(|| play("theirs", usize::MAX, &done));
        let ours = play("ours", 2_000, &AtomicBool::new(false));
        done.store(true, Ordering::Relaxed);
        (ours, theirs.join().unwrap())
    });
    let put: Vec<String> = [ours.0, theirs.0].concat();
    let mut got: Vec<String> = [ours.1, theirs.1].concat();
    got.push(fs::read_to_string(&path).unwrap());
    assert!(got.iter().any(|text| text.starts_with("theirs")));
    assert_eq!(got.len(), put.len());
    assert_eq!(BTreeSet::from_iter(got), BTreeSet::from_iter(put));
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn at_most_five_damaged_files_are_kept() {
    let folder = folder();
    let path = folder.path().join("file");
    for _ in 0..8 {
        let name = name_for_damaged(&path).unwrap();
        fs::write(&name, "").unwrap();
        fs::write(with_suffix(&name, "-wal"), "").unwrap();
    }
    let kept = names(folder.path());
    let numbers: BTreeSet<&str> = kept.iter().map(|name| name.split('-').nth(1).unwrap()).collect();
    assert_eq!(Vec::from_iter(numbers), ["4", "5", "6", "7", "8"]);
    assert_eq!(kept.len(), 10);
}

#[test]
fn a_long_name_still_gets_a_temporary() {
    let folder = folder();
    let path = folder.path().join("x".repeat(250));
    replace(&path, b"one", SHARED).unwrap();
    assert_eq!(exchange(&path, b"two").unwrap().displaced.unwrap().discard(), b"one");
}

#[test]
fn a_repository_that_is_gone_is_not_made_again() {
    let base = tempfile::tempdir().unwrap();
    for name in ["shop/.git", "shop.git"] {
        let git = base.path().join(name);
        let made = make_private_folder(&git.join("waypost/windows/run"));
        assert!(matches!(made, Err(StoreError::Missing { ref path }) if *path == git), "{made:?}");
        assert!(!base.path().join("shop").exists() && !git.exists());
        fs::create_dir_all(&git).unwrap();
        make_private_folder(&git.join("waypost/windows/run")).unwrap();
        assert!(git.join("waypost/windows/run").is_dir());
        fs::remove_dir_all(base.path().join("shop")).unwrap_or_default();
    }
}
