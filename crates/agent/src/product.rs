//! The agent programs whose hooks are answered.
//!
//! As with adapters, a product is a handle: what is known of its hook is in the folder of its program.

use crate::{
    hook::EventKind,
    programs::BUILT_IN,
    registration::{Handler, LocalServers, ServerSettings, Sharing, Subscription},
    settings::{Around, Obstacle},
};
use serde_json::{Map, Value};
use std::{fmt, ops::Deref, panic::RefUnwindSafe, path::PathBuf};

/// How a program asks its hook, and where it learns of one. Plain knowledge, without state: a hook that
/// panics still has to refuse in the form of its program.
pub trait Hooked: fmt::Debug + Sync + RefUnwindSafe {
    /// The word for it in commands and arguments.
    fn word(&self) -> &'static str;

    /// Its name as people say it.
    fn title(&self) -> &'static str;

    /// What a person still has to do before a hook in a settings file is heard.
    fn trust(&self) -> Option<&'static str> {
        None
    }

    /// The names of its events, and what they are.
    fn events(&self) -> &'static [(&'static str, EventKind)];

    /// Whether an event looks like one of this program, where the program is not named.
    fn is_sender(&self, event: &str, fields: &Map<String, Value>) -> bool;

    /// The answer that refuses a tool at an event; none where the exit code has to say it.
    fn refusal(&self, event: &str, reason: &str) -> Option<Value>;

    /// The word that keeps the program from what it is about to do.
    fn block_word(&self) -> &'static str {
        "block"
    }

    /// The settings file that takes the hook, below the project's root.
    fn settings_file(&self, sharing: Sharing) -> &'static str;

    /// What the hook is registered for.
    fn subscriptions(&self) -> &'static [Subscription];

    /// What it is registered for besides where Waypost itself starts the program.
    fn given_subscriptions(&self) -> &'static [Subscription] {
        &[]
    }

    /// The answer with which a call goes on that the program would ask a person about; none for events at which it
    /// asks nothing.
    fn permission(&self, _event: &str) -> Option<Value> {
        None
    }

    /// Where it is told of servers of tools (MCP); none where it knows none.
    fn server_settings(&self) -> Option<ServerSettings> {
        None
    }

    /// Where it keeps the servers that one person has in this project; none where it has no such place.
    fn local_servers(&self, _around: &Around<'_>) -> Option<LocalServers> {
        None
    }

    /// The variable in which it is told the program that its shell calls are wrapped in.
    fn shell_variable(&self) -> Option<&'static str> {
        None
    }

    /// Whether a hook can be registered with arguments of its own, so that no shell starts it.
    fn takes_arguments(&self) -> bool {
        false
    }

    /// The answer that has a shell call run as `command` instead; `input` is the call's own.
    fn rewritten(
        &self,
        _event: &str,
        _input: &Map<String, Value>,
        _command: &str,
    ) -> Option<Value> {
        None
    }

    /// What is said of the hook's command at an event.
    fn handler(&self, event: &str) -> Handler;

    /// Every file of settings that the program reads here, those that win last.
    fn files(&self, around: &Around<'_>) -> Vec<PathBuf>;

    /// What keeps the hook from being asked in this project.
    fn obstacles(&self, around: &Around<'_>) -> Vec<Obstacle>;

    /// The file that enables our plugin, if one does.
    fn plugin(&self, _around: &Around<'_>) -> Option<PathBuf> {
        None
    }

    /// The variable that a hook of a plugin finds set, and no other.
    fn plugin_variable(&self) -> Option<&'static str> {
        None
    }

    /// Arguments with which the program leaves what its person trusts as it is.
    fn trust_arguments(&self, _around: &Around<'_>) -> Vec<String> {
        Vec::new()
    }
}

/// An agent program that asks a hook before it acts.
#[derive(Clone, Copy)]
pub struct Product(&'static dyn Hooked);

impl Product {
    pub const fn of(hooked: &'static dyn Hooked) -> Self {
        Self(hooked)
    }

    /// All that Waypost knows.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        BUILT_IN.products()
    }

    /// The word for it in commands and arguments.
    pub fn as_str(self) -> &'static str {
        self.0.word()
    }

    pub fn from_word(word: &str) -> Option<Self> {
        BUILT_IN.product(word)
    }

    /// What an event of this program's is.
    pub fn kind_of(self, event: &str) -> Option<EventKind> {
        self.events().iter().find(|(name, _)| *name == event).map(|(_, kind)| *kind)
    }
}

impl Deref for Product {
    type Target = dyn Hooked;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

/// Words are unique, so a product is known by its own.
impl PartialEq for Product {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Product {}

impl PartialOrd for Product {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Product {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Debug for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
