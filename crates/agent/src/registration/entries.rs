//! What is registered with each program, and by what our entries are known again.

use super::{HookProgram, layout::Shape, scan::Node};
use crate::{product::Product, shell};

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

/// One entry of ours: what stands in the list of its event.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) event: &'static str,
    pub(super) group: Shape,
}

/// Everything that is registered with a program.
pub(super) fn wanted(product: Product, program: &HookProgram<'_>) -> Vec<Wanted> {
    let words = program.words.iter().map(String::as_str);
    let command = shell::join(words.chain([product.as_str()]));
    let entry = |&(event, matcher): &Subscription| {
        let matcher = matcher.map(|matcher| ("matcher", Shape::text(matcher)));
        let handlers = Shape::Array(vec![handler(product, event, &command)]);
        let group = matcher.into_iter().chain([("hooks", handlers)]).collect();
        Wanted { event, group: Shape::Object(group) }
    };
    product.subscriptions().iter().map(entry).collect()
}

fn handler(product: Product, event: &str, command: &str) -> Shape {
    let Handler { name, timeout, last } = product.handler(event);
    let mut members = vec![("type", Shape::text("command"))];
    members.extend(name.map(|name| ("name", Shape::text(name))));
    members.push(("command", Shape::text(command)));
    members.push(("timeout", Shape::Number(timeout)));
    members.extend(last.map(|(key, word)| (key, Shape::text(word))));
    Shape::Object(members)
}

/// The words of a handler's command if it is ours, whatever folder our program was in.
pub(super) fn ours(handler: &Node) -> Option<Vec<String>> {
    let mut words = shell::split(handler.member("command")?.as_text()?);
    let arguments = handler.member("args").map_or(&[][..], Node::items);
    words.extend(arguments.iter().filter_map(|it| it.value.as_text()).map(str::to_owned));
    let program = words.first()?.rsplit('/').next()?;
    let is_product = |word: &String| Product::from_word(word).is_some();
    let is_ours = match &words[1..] {
        [] => program == "waypost-hook",
        [word] => {
            program == "waypost-hook" && is_product(word) || is_full(program) && word == "hook"
        }
        [hook, word] => is_full(program) && hook == "hook" && is_product(word),
        _ => false,
    };
    is_ours.then_some(words)
}

/// Whether a program is the full one, by its own name or with a version behind it.
fn is_full(program: &str) -> bool {
    program.starts_with("waypost")
}
