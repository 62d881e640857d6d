//! Renderings, refused files and stamps of a window.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]

use super::{
    hashes::{FREE_LINE, FREE_LINES, HASHES_KEPT, LINE_LENGTH, UNSYNCED_MAX},
    *,
};
use crate::place::TreeName;
use std::fs;
use tempfile::TempDir;

fn archive() -> (TempDir, PathBuf, WindowArchive) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let state = root.join(".waypost");
    let place = Place { root: root.clone(), git_common: None, state, tree: TreeName::main() };
    let archive = WindowArchive::of(&place, "workflow-main");
    (folder, root, archive)
}

fn keep(archive: &WindowArchive, version: u64, bytes: &[u8]) -> KeptRendering {
    let rendering = KeptRendering::of(version, bytes);
    archive.keep(&rendering, bytes).unwrap();
    rendering
}

#[test]
fn the_newest_renderings_are_kept_and_all_are_remembered() {
    let (_folder, _, archive) = archive();
    let kept: Vec<KeptRendering> =
        (1..=40).map(|version| keep(&archive, version, format!("v{version}").as_bytes())).collect();
    let newest: Vec<KeptRendering> = kept.iter().rev().take(RENDERINGS_KEPT).cloned().collect();
    assert_eq!(archive.kept().unwrap(), newest);
    assert_eq!(archive.load(&kept[39]).unwrap(), Some(b"v40".to_vec()));
    assert_eq!(archive.load(&kept[0]).unwrap(), None);
    for rendering in &kept {
        assert!(archive.has_shown(format!("v{}", rendering.version).as_bytes()).unwrap());
    }
    assert!(!archive.has_shown(b"an edit").unwrap());
}

#[test]
fn room_for_hashes_is_made_for_many_at_once() {
    let (_folder, _, archive) = archive();
    let kept: Vec<KeptRendering> =
        (0..600).map(|it| keep(&archive, it, &it.to_le_bytes())).collect();
    let lines = fs::metadata(archive.hashes().lines).unwrap().len() / LINE_LENGTH as u64;
    assert_eq!(lines, 3 * FREE_LINES as u64);
    assert_eq!(archive.hashes().all().unwrap().len(), 600);
    assert!(kept.iter().all(|it| archive.has_shown(&it.version.to_le_bytes()).unwrap()));
    assert!(!archive.hashes().all().unwrap().contains(&FREE_LINE.to_owned()));
    // A program that only adds lines finds and leaves what it expects.
    let mut text = fs::read_to_string(archive.hashes().lines).unwrap();
    text.push_str(&hash::sha256_hex(b"added"));
    text.push('\n');
    fs::write(archive.hashes().lines, &text).unwrap();
    keep(&archive, 601, b"after");
    // What was added is named by the hash of earlier versions.
    assert!([b"added".as_slice(), b"after"].iter().all(|it| archive.has_shown(it).unwrap()));
    assert_eq!(fs::metadata(archive.hashes().lines).unwrap().len(), text.len() as u64);
}

#[test]
fn keeping_the_same_rendering_twice_changes_nothing() {
    let (_folder, _, archive) = archive();
    let first = keep(&archive, 7, b"same");
    assert_eq!(keep(&archive, 7, b"same"), first);
    assert_eq!(archive.kept().unwrap(), [first]);
    assert_eq!(archive.hashes().all().unwrap().len(), 1);
}

#[test]
fn a_damaged_rendering_is_as_if_never_kept() {
    let (_folder, _, archive) = archive();
    let kept = keep(&archive, 1, b"whole");
    for damage in ["", "whol", "whole "] {
        fs::write(archive.path_of(&kept), damage).unwrap();
        assert_eq!(archive.load(&kept).unwrap(), None, "{damage:?}");
    }
}

#[test]
fn old_hashes_are_forgotten_at_a_limit() {
    let (_folder, _, archive) = archive();
    make_private_folder(&archive.shelf).unwrap();
    let hash = |n: usize| format!("{n:064}");
    let lines: String = (0..HASHES_KEPT).map(|n| hash(n) + "\n").collect();
    fs::write(archive.hashes().lines, &lines).unwrap();
    archive.hashes().note(1, &hash(HASHES_KEPT)).unwrap();
    let hashes = archive.hashes().all().unwrap();
    assert_eq!(hashes.len(), HASHES_KEPT / 5 * 4 + 1);
    assert_eq!(hashes.first(), Some(&hash(HASHES_KEPT / 5)));
    assert_eq!(hashes.last(), Some(&hash(HASHES_KEPT)));
}

#[test]
fn a_hash_that_a_crash_cut_short_spoils_no_other() {
    let (_folder, _, archive) = archive();
    make_private_folder(&archive.shelf).unwrap();
    let hash = |n: usize| format!("{n:064}");
    for cut in [1, 30, 64] {
        let torn = format!("{}\n{}", hash(1), &hash(2)[..cut]);
        fs::write(archive.hashes().lines, torn).unwrap();
        archive.hashes().note(1, &hash(3)).unwrap();
        let found = archive.hashes().all().unwrap();
        assert_eq!((found.first(), found.last()), (Some(&hash(1)), Some(&hash(3))), "{cut}");
    }
}

#[test]
fn only_the_versions_after_the_last_sync_are_unsure() {
    let (_folder, _, archive) = archive();
    let check = |head: u64, want: Range<u64>| assert_eq!(archive.unsure(head).unwrap(), want);
    // A program that knows no marks has synced everything.
    check(9, 0..0);
    keep(&archive, 5, b"five");
    check(5, 5..6);
    keep(&archive, 6, b"six");
    check(8, 5..9);
    // One that is further on is synced, and so are all before it.
    let far = 5 + UNSYNCED_MAX;
    keep(&archive, far - 1, b"near");
    check(far, 5..far);
    keep(&archive, far, b"far");
    check(far + 1, far..far + 2);
    // A journal that was restored has fewer versions.
    keep(&archive, 2, b"two");
    check(2, 2..3);
    fs::write(archive.hashes().mark, "torn").unwrap();
    check(100, 100 - UNSYNCED_MAX..101);
}

#[test]
fn refused_files_are_kept_up_to_a_limit() {
    let (_folder, _, archive) = archive();
    let refuse = |n: i64| archive.refuse(format!("edit {n}").as_bytes(), Time::from_millis(n));
    let paths: Vec<PathBuf> = (1..=105).map(|n| refuse(n).unwrap()).collect();
    let there: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
    assert_eq!(there, [vec![false; 5], vec![true; 100]].concat());
    assert_eq!(fs::read(&paths[104]).unwrap(), b"edit 105");
}

#[test]
fn an_untouched_file_is_known_by_its_stamp() {
    let (_folder, root, archive) = archive();
    let path = root.join("state.json");
    assert_eq!(archive.untouched(&path).unwrap(), None);
    let mark = file::exchange(&path, b"ours").unwrap().mark.unwrap();
    let stamp = WindowStamp { version: 3, hash: hash::sha256_hex(b"ours"), mark };
    archive.stamp(&stamp).unwrap();
    assert_eq!(archive.untouched(&path).unwrap(), Some(stamp));

    let touches: [(&str, &dyn Fn()); 4] = [
        ("in place", &|| fs::write(&path, "mine").unwrap()),
        ("by rename", &|| file::replace(&path, b"ours", 0o644).unwrap()),
        ("removed", &|| fs::remove_file(&path).unwrap()),
        ("a folder", &|| fs::create_dir(&path).unwrap()),
    ];
    for (how, touch) in touches {
        touch();
        assert_eq!(archive.untouched(&path).unwrap(), None, "{how}");
    }
    fs::write(archive.stamp_path(), "{").unwrap();
    assert_eq!(archive.untouched(&path).unwrap(), None);
}

#[test]
fn odd_names_stay_inside_the_folder() {
    let (_folder, root, archive) = archive();
    let place = Place {
        root: root.clone(),
        git_common: None,
        state: root.join(".waypost"),
        tree: TreeName::main(),
    };
    for name in ["../../outside", "", ".", "a/b", "엔진"] {
        let odd = WindowArchive::of(&place, name);
        keep(&odd, 1, b"x");
        assert_eq!(odd.folder().parent(), archive.folder().parent(), "{name:?}");
    }
}
