//! What is registered with each program, and by what our entries are known again.

use super::{HookProgram, layout::Shape, scan::Node, starter};
use crate::{hook::EventKind, product::Product, shell};

/// How long a program waits for its hook. All of them go on without an answer after that, so it
/// is long: the hook takes milliseconds, and a machine that is that busy should wait.
const TIMEOUT_SECONDS: u32 = 60;

/// An event that we want to hear of, and for which tools; `None`: for all.
pub type Subscription = (&'static str, Option<&'static str>);

/// What is said of the hook's command, beside the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The name under which the program lists it.
    pub name: Option<&'static str>,
    /// In the program's own unit, which is the second unless it says otherwise.
    pub timeout: u32,
    /// What stands behind all else.
    pub last: Option<(&'static str, &'static str)>,
}

impl Default for Handler {
    fn default() -> Self {
        Self { name: None, timeout: TIMEOUT_SECONDS, last: None }
    }
}

/// One entry of ours.
#[derive(Debug)]
pub(super) enum Wanted {
    /// What stands in the list of an event.
    Group { event: &'static str, group: Shape },
    /// A variable that the program sets for itself and all that it starts.
    Variable { name: &'static str, value: String },
}

/// The program that wraps shell calls, whatever folder it is in.
const SHELL_PROGRAM: &str = "waypost-shell";

/// The key below which a program's settings have its variables.
pub(super) const VARIABLES: &str = "env";

/// The option with which a hook is told its project's journal.
pub const JOURNAL_OPTION: &str = "--journal";

/// Everything that is registered with a program.
pub(super) fn wanted(product: Product, program: &HookProgram<'_>) -> Vec<Wanted> {
    let variable = product.shell_variable().zip(program.shell).map(|(name, shell)| {
        let value = shell.to_owned();
        Wanted::Variable { name, value }
    });
    groups(product, product.subscriptions(), program).into_iter().chain(variable).collect()
}

/// What stands in the lists of these events.
pub(super) fn groups(
    product: Product,
    subscriptions: &[Subscription],
    program: &HookProgram<'_>,
) -> Vec<Wanted> {
    let entry = |&(event, matcher): &Subscription| {
        let matcher = matcher.map(|matcher| ("matcher", Shape::text(matcher)));
        let handlers = Shape::Array(vec![handler(product, event, program)]);
        let group = matcher.into_iter().chain([("hooks", handlers)]).collect();
        Wanted::Group { event, group: Shape::Object(group) }
    };
    subscriptions.iter().map(entry).collect()
}

fn handler(product: Product, event: &str, program: &HookProgram<'_>) -> Shape {
    let Handler { name, timeout, last } = product.handler(event);
    let decides =
        matches!(product.kind_of(event), Some(EventKind::BeforeTool | EventKind::SettingsChange));
    let mut words = vec![starter::SHELL.to_owned(), "-c".to_owned(), starter::words(decides)];
    words.extend(program.words.iter().cloned());
    words.push(product.as_str().to_owned());
    words.extend(program.journal.iter().flat_map(|id| [JOURNAL_OPTION, id]).map(str::to_owned));
    let mut members = vec![("type", Shape::text("command"))];
    members.extend(name.map(|name| ("name", Shape::text(name))));
    if product.takes_arguments() {
        members.push(("command", Shape::text(&*words[0])));
        let arguments = words[1..].iter().map(|word| Shape::text(&**word)).collect();
        members.push(("args", Shape::Array(arguments)));
    } else {
        let command = shell::join(words.iter().map(String::as_str));
        members.push(("command", Shape::text(command)));
    }
    members.push(("timeout", Shape::Number(timeout)));
    members.extend(last.map(|(key, word)| (key, Shape::text(word))));
    Shape::Object(members)
}

/// The words of a handler's command if it is ours, whatever folder our program was in: without
/// those before the program, and without the product's and what follows it.
pub(super) fn ours(handler: &Node) -> Option<Ours> {
    let mut words = shell::split(handler.member("command")?.as_text()?);
    let arguments = handler.member("args").map_or(&[][..], Node::items);
    words.extend(arguments.iter().filter_map(|it| it.value.as_text()).map(str::to_owned));
    let mut words = starter::started(&words).to_vec();
    let journal = words.iter().position(|word| word == JOURNAL_OPTION).and_then(|at| {
        let id = words.get(at + 1).cloned();
        words.truncate(at);
        id
    });
    let program = words.first()?.rsplit('/').next()?.to_owned();
    if words.len() > 1 && words.last().is_some_and(|word| Product::from_word(word).is_some()) {
        words.pop();
    }
    let is_ours = match &words[1..] {
        [] => program == "waypost-hook",
        [word] => is_full(&program) && word == "hook",
        _ => false,
    };
    is_ours.then_some(Ours { words, journal })
}

/// A command of ours, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ours {
    /// The words that start the program.
    pub words: Vec<String>,
    /// The journal that it is told of.
    pub journal: Option<String>,
}

/// Whether a variable of a program's settings is one of ours.
pub(super) fn is_our_variable(name: &str, value: &Node) -> bool {
    let is_known = Product::all().any(|product| product.shell_variable() == Some(name));
    let program = value.as_text().and_then(|text| text.rsplit('/').next());
    is_known && program == Some(SHELL_PROGRAM)
}

/// Whether a program is the full one, by its own name or with a version behind it.
fn is_full(program: &str) -> bool {
    program.starts_with("waypost")
}
