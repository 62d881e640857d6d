//! What is registered with each program, and by what our entries are known again.

use super::{HookProgram, layout::Shape, scan::Node};
use crate::{product::Product, shell};

/// How long a program waits for its hook. All of them go on without an answer after that, so it
/// is long: the hook takes milliseconds, and a machine that is that busy should wait.
const TIMEOUT_SECONDS: u32 = 60;

/// Newer versions of Claude Code take it, older ones ignore it: a hook that fails to run then
/// blocks the tool instead of letting it through.
const ON_FAILURE: Option<&str> = Some("block");

/// The name under which Gemini CLI lists a hook.
const NAME: &str = "waypost";

/// An event that we want to hear of, and for which tools; `None`: for all.
type Subscription = (&'static str, Option<&'static str>);

const CLAUDE: &[Subscription] = &[
    ("PreToolUse", None),
    ("PostToolUse", Some("Write|Edit|MultiEdit|NotebookEdit|Bash")),
    ("SessionStart", None),
    ("PreCompact", None),
    ("Stop", None),
];

const CODEX: &[Subscription] = &[
    ("PreToolUse", None),
    ("PostToolUse", Some("Bash|apply_patch|Write|Edit")),
    ("SessionStart", None),
    ("PreCompact", None),
    ("Stop", None),
];

const GEMINI: &[Subscription] = &[
    ("BeforeTool", None),
    ("AfterTool", Some("write_file|replace|run_shell_command")),
    ("SessionStart", None),
    ("PreCompress", None),
    ("AfterAgent", None),
];

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
    let subscriptions = match product {
        Product::Claude => CLAUDE,
        Product::Codex => CODEX,
        Product::Gemini => GEMINI,
    };
    let entry = |&(event, matcher): &Subscription| {
        let matcher = matcher.map(|matcher| ("matcher", Shape::text(matcher)));
        let handlers = Shape::Array(vec![handler(product, event, &command)]);
        let group = matcher.into_iter().chain([("hooks", handlers)]).collect();
        Wanted { event, group: Shape::Object(group) }
    };
    subscriptions.iter().map(entry).collect()
}

fn handler(product: Product, event: &str, command: &str) -> Shape {
    let mut members = vec![("type", Shape::text("command"))];
    if product == Product::Gemini {
        members.push(("name", Shape::text(NAME)));
    }
    members.push(("command", Shape::text(command)));
    members.push((
        "timeout",
        Shape::Number(match product {
            Product::Claude | Product::Codex => TIMEOUT_SECONDS,
            Product::Gemini => TIMEOUT_SECONDS * 1_000,
        }),
    ));
    if let (Product::Claude, "PreToolUse", Some(word)) = (product, event, ON_FAILURE) {
        members.push(("onFailure", Shape::text(word)));
    }
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
