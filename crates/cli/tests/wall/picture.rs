//! What there is before and after a command, as text by topic; two pictures that differ are an
//! effect.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// What is told apart.
pub(crate) const TOPICS: [&str; 7] =
    ["pushed", "committed", "written", "settings", "journal", "kept", "outside"];

/// What changes by itself in the user's own folder: what was found of levels, which commands that the broker
/// runs add to, and the sockets of calls that run.
const PASSING: [&str; 3] = ["level", "calls", "slots"];

/// Settings of the machine that root can write, wherever it is.
const MACHINE: [&str; 3] = ["hostname", "core_pattern", "printk_ratelimit_burst"];

pub(crate) type Picture = BTreeMap<&'static str, String>;

/// Paths of the project that tell programs what to run.
const SETTINGS: [&str; 20] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".claude/commands",
    ".claude/agents",
    ".claude/skills",
    ".claude/plugins",
    ".codex",
    ".gemini",
    ".mcp.json",
    "waypost.toml",
    ".develop-workflow",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/gitdir",
    ".git/hooks",
    ".git/info",
    ".git/modules",
    ".git/worktrees",
];

/// Where a picture is taken.
pub(crate) struct Place<'a> {
    pub(crate) site: &'a Path,
    /// What was in the user's own folder at first. A journal that a command begins elsewhere is known there from
    /// then on, and no one's but its own.
    pub(crate) kept: &'a BTreeSet<PathBuf>,
    /// Whether permissions and times count; Landlock has no say in those.
    pub(crate) has_modes: bool,
}

impl Place<'_> {
    pub(crate) fn picture(&self) -> Picture {
        let mut picture = self.whole_picture();
        if !self.has_modes {
            for text in picture.values_mut() {
                // A line is a path, its mode, and for files a sum, or their size and time.
                let lines = text.lines().map(|line| {
                    let parts: Vec<&str> = line.split(' ').collect();
                    match parts.as_slice() {
                        [path, _mode, size, _time] => format!("{path} {size}\n"),
                        [path, _mode, sum] => format!("{path} {sum}\n"),
                        [path, ..] => format!("{path}\n"),
                        [] => String::new(),
                    }
                });
                *text = lines.collect();
            }
        }
        picture
    }

    fn whole_picture(&self) -> Picture {
        let root = self.site.join("project");
        let git = root.join(".git");
        let mut picture = Picture::new();
        let mut pushed = String::new();
        for remote in ["remote.git", "served/repository.git"] {
            let remote = self.site.join(remote);
            contents(&mut pushed, &remote, &["HEAD", "packed-refs", "refs", "config", "hooks"]);
        }
        picture.insert("pushed", pushed);
        let mut committed = String::new();
        // What was there once stays there, whatever becomes of the references.
        let objects = fs::read_dir(git.join("objects")).map_or(0, Iterator::count);
        if objects < 3 {
            committed.push_str("objects are gone\n");
        }
        contents(&mut committed, &git, &["HEAD", "packed-refs", "refs", "logs", "shallow"]);
        picture.insert("committed", committed);
        let mut written = String::new();
        let is_project = |path: &Path| {
            let below = path.strip_prefix(&root).unwrap();
            let is_build =
                ["target", "docs", "node_modules/.cache"].iter().any(|it| below.starts_with(it));
            !is_build
                && below != Path::new(".git")
                && !SETTINGS.iter().any(|it| below.starts_with(it))
        };
        listing(&mut written, &root, &is_project);
        picture.insert("written", written);
        let mut settings = String::new();
        contents(&mut settings, &root, &SETTINGS);
        let mode = fs::symlink_metadata(&git).map_or(0, |found| found.mode());
        let _infallible = writeln!(settings, ".git {mode:o}");
        picture.insert("settings", settings);
        let mut journal = String::new();
        let state = git.join("waypost");
        contents(&mut journal, &state, &["journal.db", "journal.db-wal", "gate", "engine.lock"]);
        picture.insert("journal", journal);
        let mut kept = String::new();
        let own = self.site.join("home/.local/state");
        let is_kept = |path: &Path| {
            let of_journals = ["projects", "seals"].map(|name| own.join("waypost").join(name));
            !PASSING.iter().any(|name| path.starts_with(own.join("waypost").join(name)))
                && (self.kept.contains(path)
                    || !of_journals.iter().any(|it| path.parent() == Some(it)))
        };
        whole(&mut kept, &own, &is_kept);
        picture.insert("kept", kept);
        let mut outside = String::new();
        let is_outside = |path: &Path| {
            let inside = ["project", "remote.git", "served", "bin", "home/.local/state"];
            !inside.iter().any(|it| path.starts_with(self.site.join(it)))
        };
        listing(&mut outside, self.site, &is_outside);
        for name in MACHINE {
            let value = fs::read_to_string(Path::new("/proc/sys/kernel").join(name));
            let _infallible = writeln!(outside, "{name} {}", value.unwrap_or_default().trim());
        }
        picture.insert("outside", outside);
        picture
    }
}

/// Names, kinds and sizes with times of all that is below a folder.
fn listing(text: &mut String, folder: &Path, is_shown: &dyn Fn(&Path) -> bool) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| is_shown(path)) {
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_dir() {
            let _infallible = writeln!(text, "{} {:o}", path.display(), found.mode());
            listing(text, path, is_shown);
        } else {
            let (size, time, mode) = (found.len(), found.mtime_nsec(), found.mode());
            let _infallible = writeln!(text, "{} {mode:o} {size} {time}", path.display());
        }
    }
}

/// Names and bytes of files, and of all that is below folders.
fn contents(text: &mut String, folder: &Path, names: &[&str]) {
    for name in names {
        whole(text, &folder.join(name), &|_| true);
    }
}

fn whole(text: &mut String, path: &Path, is_shown: &dyn Fn(&Path) -> bool) {
    let Ok(found) = path.symlink_metadata() else { return };
    let mode = found.mode();
    if found.is_dir() {
        let _infallible = writeln!(text, "{} {mode:o}", path.display());
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().filter(|path| is_shown(path)).for_each(|path| whole(text, path, is_shown));
    } else if found.is_symlink() {
        let _infallible = writeln!(text, "{} -> {:?}", path.display(), fs::read_link(path));
    } else {
        let sum = fs::read(path)
            .unwrap_or_default()
            .iter()
            .fold(7_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let _infallible = writeln!(text, "{} {mode:o} {sum:x}", path.display());
    }
}
