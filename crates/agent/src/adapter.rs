//! The ways in which we talk to agent programs.
//!
//! An adapter is a handle: what it does is its dialect, which is written in the folder of its program
//! and nowhere else. So nothing outside of that folder can tell adapters apart but by their word.

use crate::{
    answer::{Answer, Unanswerable},
    endpoint::Pointed,
    launch::{Access, FirstStart, Launch, Order},
    prices::Models,
    product::Product,
    programs::BUILT_IN,
    registration::{BadSettings, HookProgram},
    settings::{Around, NamedVariables},
    stream::{Ask, Listener},
};
use serde_json::Value;
use std::{fmt, net::SocketAddr, ops::Deref};
use waypost_model::permission::Want;

/// How programs of one kind are started, fed and understood. What a program does not have needs no
/// word.
pub trait Dialect: fmt::Debug + Sync {
    /// The word for it in configurations and records.
    fn word(&self) -> &'static str;

    fn capabilities(&self) -> &'static [Capability];

    /// How the program learns of our hook when we start it.
    fn hook_way(&self) -> HookWay {
        HookWay::OwnSettings
    }

    /// Who is asked before a tool is used, as far as the program's stream can prove that.
    fn call_guard(&self) -> CallGuard {
        CallGuard::None
    }

    /// Whether the guard is asked before every use of this tool, under the name that the stream has
    /// for it.
    fn is_guarded(&self, _tool: &str) -> bool {
        true
    }

    /// Variables by which a person signs in at the program's service or finds a way to it. They are
    /// secrets in part, and for the program alone.
    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// The product that a program with this command line is, if it is one that has a hook.
    fn product(&self, _command: &[String]) -> Option<Product> {
        None
    }

    /// The models of the vendor whose programs speak so; none where any vendor's do.
    fn models(&self) -> Option<&'static Models> {
        None
    }

    /// The command line, environment and first input for an order.
    fn launch(&self, order: &Order) -> Launch;

    /// The words behind the program's own by which a person opens a conversation at a terminal; none
    /// where the program cannot.
    fn opening_words(&self, _conversation: &str) -> Option<Vec<String>> {
        None
    }

    /// The first start of a program whose first starts must not happen at once.
    fn first_start(&self) -> Option<FirstStart> {
        None
    }

    /// What is said to a program that has forgotten a conversation, so that it begins another in the
    /// same process; none where a forgotten conversation ends the process.
    fn fresh(&self, _folder: &str) -> Option<String> {
        None
    }

    /// One who understands the output of one process.
    fn listener(&self) -> Box<dyn Listener>;

    /// The question in a line that was stored.
    fn ask(&self, _line: &Value, _raw: &str) -> Option<Ask> {
        None
    }

    /// The line of a further message; none if the program takes only one.
    fn message(&self, _session: &str, _number: u32, _text: &str) -> Option<String> {
        None
    }

    /// The line that ends a turn; none if the program can only be stopped by a signal.
    fn interrupt(&self, _session: &str, _turn: Option<&str>, _number: u32) -> Option<String> {
        None
    }

    /// Why the question in `line` cannot be answered with a yes by any person.
    fn impossible(&self, _: &Ask, _line: &Value) -> Option<&'static str> {
        None
    }

    /// The line that answers the question in `line`.
    fn answer_line(&self, _: &Ask, _line: &Value, _: &Answer) -> Result<String, Unanswerable> {
        Err(Unanswerable::Deaf)
    }

    /// What the permission in `line` is for.
    fn want(&self, _ask: &Ask, _line: &Value) -> Want {
        Want::Other
    }

    /// The variables that the configuration of the program names.
    fn named_variables(&self, _around: &Around<'_>) -> NamedVariables {
        NamedVariables::default()
    }

    /// The settings file that the program is given on its command line: its name, and its text with
    /// our hook. None for programs that are given none.
    fn given_settings(&self, _hook: &HookProgram<'_>) -> Option<GivenSettings> {
        None
    }

    /// How the program is pointed to the model server at an address; none where that is not known.
    fn pointed(&self, _server: SocketAddr) -> Option<Pointed> {
        None
    }

    /// The tool by which a model runs a shell command, and its input as JSON.
    fn shell_call(&self, _command: &str) -> Option<(&'static str, String)> {
        None
    }
}

/// The name and the text of a settings file.
pub type GivenSettings = Result<(&'static str, String), BadSettings>;

/// What some programs can do and others cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// It takes the id of a new conversation from us, so that it is known before the program exists.
    TakesConversationId,
    /// It can ask for permission while it works.
    Asks,
    /// It is told its task only after it has named the conversation.
    NamesConversationFirst,
    /// It ends by itself when its input is closed.
    EndsWithInput,
    /// It asks for each edit and each command, so that what its access level allows has to be
    /// answered for it. All others are told their access level at the start.
    AsksForAll,
    /// It knows nothing of an earlier process: what a conversation was about is said again.
    Forgets,
    /// It does not say which tools it uses.
    HidesTools,
    /// It ends by itself at the limits of turns and money that it is started with. For all others
    /// the engine keeps count.
    KeepsLimits,
    /// It holds its own commands in namespaces, unless it is unfenced; those cannot be made within others.
    OwnSandbox,
}

/// Who is asked before an agent uses a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallGuard {
    /// Our hook, by the id that the call has in the stream: a call without a verdict went past it.
    Hook,
    /// The one who answers the program's requests for permission; what it does not ask for is not judged.
    Requests,
    /// None that the stream could tell of.
    None,
}

/// How a program learns of our hook when we start it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookWay {
    /// By a settings file that its command line names.
    SettingsFile,
    /// By its command line itself.
    CommandLine,
    /// Only by settings that it finds by itself.
    OwnSettings,
}

/// A way to start a program, to feed it and to understand it.
#[derive(Clone, Copy)]
pub struct Adapter(&'static dyn Dialect);

impl Adapter {
    pub const fn of(dialect: &'static dyn Dialect) -> Self {
        Self(dialect)
    }

    /// All that Waypost brings along.
    pub fn all() -> impl Iterator<Item = Self> {
        BUILT_IN.adapters()
    }

    /// The adapter of a word, among those that Waypost brings along.
    pub fn from_word(word: &str) -> Option<Self> {
        BUILT_IN.adapter(word)
    }

    /// The word for it in configurations and records.
    pub fn as_str(self) -> &'static str {
        self.0.word()
    }

    fn has(self, capability: Capability) -> bool {
        self.0.capabilities().contains(&capability)
    }

    /// Whether the id of a new conversation is ours to choose.
    pub fn takes_conversation_id(self) -> bool {
        self.has(Capability::TakesConversationId)
    }

    /// Whether the program can ask for permission while it works.
    pub fn can_ask(self) -> bool {
        self.has(Capability::Asks)
    }

    /// Whether the program is told its task only after it has named the conversation.
    pub fn names_conversation_first(self) -> bool {
        self.has(Capability::NamesConversationFirst)
    }

    /// Whether the program ends by itself when its input is closed.
    pub fn ends_with_input(self) -> bool {
        self.has(Capability::EndsWithInput)
    }

    /// Whether what the program's access level allows has to be answered for it.
    pub fn asks_for_all(self) -> bool {
        self.has(Capability::AsksForAll)
    }

    /// Whether a conversation can be taken up by another process.
    pub fn can_resume(self) -> bool {
        !self.has(Capability::Forgets)
    }

    /// Whether the program says which tools it uses: then one that has used none has done nothing.
    pub fn tells_tools(self) -> bool {
        !self.has(Capability::HidesTools)
    }

    /// Whether the program itself ends at its limits of turns and money.
    pub fn keeps_limits(self) -> bool {
        self.has(Capability::KeepsLimits)
    }

    /// Whether it holds its own commands in a sandbox when it is started with this access level.
    pub fn brings_sandbox(self, access: Access) -> bool {
        self.has(Capability::OwnSandbox) && access != Access::Unfenced
    }
}

impl Deref for Adapter {
    type Target = dyn Dialect;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

/// Words are unique, so an adapter is known by its own.
impl PartialEq for Adapter {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Adapter {}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
