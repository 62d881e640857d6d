//! What a tool call would do, as values; and what the judge needs to know of the world.

use std::fmt;
use waypost_model::layout::SettingsFile;

/// Everything that a tool call would do, each with the words that led to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deed {
    /// Files that it writes, removes or replaces.
    pub writes: Vec<Write>,
    /// Protected files that it writes; they are among `writes` too.
    pub protected: Vec<Write>,
    /// The words that make a commit.
    pub commits: Option<String>,
    pub pushes: Vec<Push>,
    /// The words that open, ready, close, reopen or merge a pull request, or move its base.
    pub publishes: Option<String>,
    /// A `waypost` command that is reserved for a person.
    pub reserved: Option<String>,
    /// A tool of another maker that does not plainly read.
    pub foreign: Option<String>,
    /// Why it cannot be told what the call does.
    pub unknowable: Option<String>,
    /// Counted work, so that it can be shown to grow with the length of the input alone.
    pub steps: u64,
}

/// A file that is written, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub target: Target,
    pub words: String,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A path, joined with the folders that the command changes to.
    Path(String),
    /// Some file or other: the path is made at run time, or a program chooses it.
    Unknown,
}

/// A push, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    pub branch: Branch,
    pub words: String,
}

/// Which branch of the other side a push moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    Named(String),
    /// The one that is checked out, as git's configuration says.
    Current,
    /// Several, all, or one whose name is made at run time.
    Unknown,
}

/// What the judge asks of the disk; the answers decide what a script or an alias means.
pub trait Look: Sync {
    /// The script at a path, which is relative to the event's folder or absolute.
    fn script(&self, path: &str, reader: Reader) -> Script;
    /// What a git alias stands for, without the leading `alias.`; with a NUL in it, that is not
    /// known.
    fn git_alias(&self, name: &str) -> Option<String>;
    /// The shell lines behind the named target of a task runner.
    fn recipe(&self, recipe: &Recipe<'_>) -> Script;
    /// Whether writing a path touches a protected file beyond those that are known by name.
    fn is_protected(&self, path: &str, reach: Reach) -> bool;
    /// The files and folders in which agent programs are told what to run, and whom to ask before.
    fn agent_settings(&self) -> &[SettingsFile];
    /// The top of the work tree that the event's folder is in, as git prints it.
    fn top(&self) -> Option<String>;
}

/// A variable that no command can set: its value is never known. An answer of [`Look`] has it in
/// place of what only the run will tell.
pub const UNKNOWN_VARIABLE: &str = "WAYPOST_UNKNOWN";

/// Who reads a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// It is started like any program; its first line says what it is for.
    Kernel,
    /// A shell is told to read it, whatever its first line says.
    Shell,
}

/// What a write does to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It writes this file.
    File,
    /// It removes or moves it, with everything below.
    Below,
}

/// What a task runner is asked to do.
#[derive(Clone, Copy, Debug)]
pub struct Recipe<'a> {
    pub runner: Runner,
    /// Where it runs, relative to the event's folder or absolute; may be empty.
    pub folder: &'a str,
    /// The file that has the recipes, if it is named.
    pub file: Option<&'a str>,
    /// The target; empty for the one that the runner takes by itself.
    pub name: &'a str,
    /// Variables of the command line, as `NAME=VALUE`.
    pub settings: &'a [String],
}

/// A file that a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Script {
    Shell(String),
    /// A binary, a script for another interpreter, or something outside the project.
    Other,
    /// Longer than the judge reads.
    TooLong,
    Absent,
}

/// A program that runs named shell lines out of a file of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runner {
    Make,
    /// `package.json`, whichever of npm, pnpm, yarn and bun reads it.
    Npm,
    Just,
}

/// What surrounds a tool call.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub look: &'a dyn Look,
    /// MCP tools that write files, by their full names.
    pub writing_tools: &'a [String],
    /// MCP tools that no gate is about; `*` at the end stands for any rest.
    pub free_tools: &'a [String],
    /// Whether a shell call ends up behind the wall: then what scripts and recipes do is its matter.
    pub is_walled: bool,
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("writing_tools", &self.writing_tools)
            .finish_non_exhaustive()
    }
}

impl Deed {
    /// Whether nothing at all was found that a gate could be about.
    pub fn is_harmless(&self) -> bool {
        *self == Self { steps: self.steps, ..Self::default() }
    }
}
