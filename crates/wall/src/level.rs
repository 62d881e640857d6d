//! How far a wall reaches on this machine, found by a real try.
//!
//! The try builds a small enclosure and writes from inside: where it may, where it may not, and to
//! a process outside. What is said of a level is what came of that. It is kept with the conditions
//! under which it was found, and made again when one of them is another.

use crate::{
    call::{Attendant, Call, Ending, Tools, finish},
    enclosure::{Enclosure, What},
};
use std::{
    ffi::OsString,
    fmt, fs, io, iter,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process,
};
use waypost_model::{config::WallLevel, layout};

/// How far a wall reaches; more is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// There is no wall: the guide alone judges, strictly.
    None,
    /// Landlock only: files, signals, abstract sockets.
    C,
    /// Each call in namespaces of its own.
    B,
    /// The whole agent in namespaces.
    A,
}

/// The Debian package that brings namespaces within reach.
pub const PACKAGE: &str = "bubblewrap";

/// The level of this machine, and why it is not a higher one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub level: Level,
    /// Whether our own program can make the mounts inside, which takes less time.
    pub has_mounter: bool,
    /// What stands against namespaces, or against any wall.
    pub obstacle: Option<String>,
}

impl Level {
    pub const ALL: [Self; 4] = [Self::None, Self::C, Self::B, Self::A];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::C => "c",
            Self::B => "b",
            Self::A => "a",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }

    /// Whether this is as much as is required. Where calls have namespaces, whole agents can have
    /// them too.
    pub fn is_enough(self, required: WallLevel) -> bool {
        let least = match required {
            WallLevel::None => Self::None,
            WallLevel::C => Self::C,
            WallLevel::B | WallLevel::A => Self::B,
        };
        self >= least
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::None => "none",
            Self::C => "C",
            Self::B => "B",
            Self::A => "A",
        })
    }
}

/// Stands between two levels that are kept.
const BETWEEN: &str = "\n---\n";

/// So many conditions are come back to: calls inside and outside of other walls, with other paths.
const KEPT: usize = 8;

/// Stands behind the word of a level at which a program of ours makes the mounts.
const WITH_MOUNTER: &str = " with mounter";

/// The level that was found before under the same conditions, else that of a try. `state` is the
/// user's own folder of states.
pub fn level(tools: &Tools, state: Option<&Path>) -> Level {
    usable(tools.clone(), state).0
}

/// The same, and those of the tools that it takes.
pub fn usable(tools: Tools, state: Option<&Path>) -> (Level, Tools) {
    let conditions = conditions(&tools);
    let path = state.map(|state| state.join(layout::user_state::LEVEL));
    let kept = path.as_ref().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let of_these = |one: &str| {
        let (word, found_under) = one.split_once('\n')?;
        let plain = word.strip_suffix(WITH_MOUNTER);
        let level = Level::from_word(plain.unwrap_or(word)).filter(|_| found_under == conditions);
        level.map(|level| (level, plain.is_some()))
    };
    let (level, has_mounter) = kept.split(BETWEEN).find_map(of_these).unwrap_or_else(|| {
        let Found { level, has_mounter, .. } = try_levels(&tools);
        if let Some(path) = &path {
            let with = if has_mounter { WITH_MOUNTER } else { "" };
            let newest = format!("{}{with}\n{conditions}", level.as_str());
            let all: Vec<&str> =
                iter::once(&*newest).chain(kept.split(BETWEEN)).take(KEPT).collect();
            // What cannot be kept is tried again.
            let _unkept = keep(path, &all.join(BETWEEN));
        }
        (level, has_mounter)
    });
    let mounter = tools.mounter.filter(|_| has_mounter);
    (level, Tools { mounter, ..tools })
}

#[expect(clippy::disallowed_methods, reason = "a cache of one machine, small and whole")]
fn keep(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let aside = path.with_extension(process::id().to_string());
    fs::write(&aside, text)?;
    fs::rename(&aside, path)
}

/// What a level depends on: the machine's start, its kernel, who we are, what we are inside of, and
/// the program itself.
fn conditions(tools: &Tools) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let link =
        |path: &str| fs::read_link(path).map(|it| it.display().to_string()).unwrap_or_default();
    let status = read("/proc/self/status");
    let mark = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.unwrap_or_default().to_owned()
    };
    let program = |path: &Option<PathBuf>| {
        let Some(path) = path else { return String::new() };
        match path.metadata() {
            Ok(found) => format!("{} {} {}", path.display(), found.ino(), found.mtime()),
            Err(_) => path.display().to_string(),
        }
    };
    let parts = [
        read("/proc/sys/kernel/random/boot_id"),
        read("/proc/sys/kernel/osrelease"),
        read("/proc/sys/user/max_user_namespaces"),
        link("/proc/self/ns/user"),
        mark("Uid:"),
        mark("Seccomp:"),
        program(&tools.bubblewrap),
        program(&tools.mounter),
    ];
    parts.map(|part| part.trim().to_owned()).join("\n")
}

/// Tries what this machine lets us build, the best first.
pub fn try_levels(tools: &Tools) -> Found {
    let by_itself = Tools { mounter: None, ..tools.clone() };
    let found = |level, has_mounter, obstacle| Found { level, has_mounter, obstacle };
    if tools.mounter.is_some() && Trial::make(Level::B, tools.clone()).is_ok() {
        return found(Level::B, true, None);
    }
    let obstacle = match &tools.bubblewrap {
        None => format!("`bwrap` is not on the path; on Debian it is in the package `{PACKAGE}`"),
        Some(_) => match Trial::make(Level::B, by_itself) {
            Ok(()) => return found(Level::B, false, None),
            Err(reason) => format!("namespaces cannot be had: {reason}"),
        },
    };
    match Trial::make(Level::C, Tools::default()) {
        Ok(()) => found(Level::C, false, Some(obstacle)),
        Err(reason) => {
            let obstacle = format!("{obstacle}; Landlock does not hold: {reason}");
            found(Level::None, false, Some(obstacle))
        }
    }
}

/// A folder in which a try is made; it goes with the try.
struct Trial {
    folder: PathBuf,
}

impl Drop for Trial {
    fn drop(&mut self) {
        // It is in /tmp and holds a word.
        let _left = fs::remove_dir_all(&self.folder);
    }
}

impl Trial {
    fn make(level: Level, tools: Tools) -> Result<(), String> {
        let told = |error: io::Error| error.to_string();
        let folder = std::env::temp_dir().canonicalize().map_err(told)?;
        let folder = folder.join(format!("waypost-try-{}-{}", process::id(), level.as_str()));
        // What a dead process has left under this name is no answer.
        let _left = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(told)?;
        let trial = Self { folder };
        for name in ["open", "closed"] {
            fs::create_dir(trial.folder.join(name)).map_err(told)?;
        }
        trial.run(level, tools)?;
        trial.judge(level)
    }

    fn run(&self, level: Level, tools: Tools) -> Result<(), String> {
        let mut enclosure = Enclosure::bare();
        enclosure.set(self.folder.join("open"), What::Write);
        enclosure.set(self.folder.join("closed"), What::Read);
        let text = format!(
            "echo $$ >open/in; echo x >closed/in; mv closed moved; kill -0 {} && echo x >open/signal",
            process::id()
        );
        let call = Call {
            program: OsString::from("/bin/sh"),
            arguments: vec!["-c".into(), format!("exec 2>/dev/null; {text}").into()],
            variables: Vec::new(),
            folder: self.folder.clone(),
            level,
            enclosure,
            tools,
            is_quiet: true,
        };
        let walled = call.start().map_err(|error| chain(&error))?;
        let mut patience = Patience { looks: 0 };
        finish(walled, &mut [&mut patience], &|_| {}).map(drop).map_err(|error| chain(&error))
    }

    fn judge(&self, level: Level) -> Result<(), String> {
        let has = |name: &str| self.folder.join(name).exists();
        let pid = fs::read_to_string(self.folder.join("open/in")).ok();
        let Some(pid) = pid.and_then(|text| text.trim().parse::<u32>().ok()) else {
            return Err("nothing runs inside".into());
        };
        if has("closed/in") || has("moved") {
            return Err("files that are closed can be written".into());
        }
        if has("open/signal") {
            return Err("processes outside can be signalled".into());
        }
        // In a namespace of their own, processes are counted from one.
        let is_apart = level == Level::C || pid < 10;
        is_apart.then_some(()).ok_or_else(|| "processes are not apart".into())
    }
}

/// Ends a try that does not end by itself: every command that says the level would wait with it.
struct Patience {
    looks: u32,
}

/// It is looked after once a second, and a try takes some milliseconds.
const LOOKS_MAX: u32 = 5;

impl Attendant for Patience {
    fn attend(&mut self) -> Option<Ending> {
        self.looks += 1;
        let ending = || Ending { reason: "it did not end".to_owned() };
        (self.looks >= LOOKS_MAX).then(ending)
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes what an earlier call has kept")]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_under_each_of_several_conditions_is_kept() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join(layout::user_state::LEVEL);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Found here and now, and more than this machine would give without its program.
        let none = Tools::default();
        let here = format!("a\n{}", conditions(&none));
        let kept = format!("c\nelsewhere{BETWEEN}{here}");
        fs::write(&path, &kept).unwrap();
        assert_eq!(level(&none, Some(state.path())), Level::A);
        assert_eq!(fs::read_to_string(&path).unwrap(), kept);
        // Under conditions that are new there is a try, and those that were known stay so.
        let other = Tools { bubblewrap: Some(state.path().join("bwrap")), mounter: None };
        let found = level(&other, Some(state.path()));
        let newest = format!("{}\n{}", found.as_str(), conditions(&other));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{newest}{BETWEEN}{kept}"));
        assert_eq!(level(&none, Some(state.path())), Level::A);
    }

    #[test]
    fn conditions_that_are_not_come_back_to_are_forgotten() {
        let state = tempfile::tempdir().unwrap();
        for number in 0..2 * KEPT {
            let bubblewrap = Some(state.path().join(number.to_string()));
            level(&Tools { bubblewrap, mounter: None }, Some(state.path()));
        }
        let kept = fs::read_to_string(state.path().join(layout::user_state::LEVEL)).unwrap();
        assert_eq!(kept.split(BETWEEN).count(), KEPT);
        assert!(kept.split(BETWEEN).next().unwrap().trim_end().ends_with("/15"), "{kept}");
    }
}
