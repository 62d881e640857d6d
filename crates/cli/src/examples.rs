//! Examples for `--help`, the manual pages and the reference: command lines that can be typed.

use clap::Command;
use std::fmt::Write as _;

/// A command line, and what it does.
type Example = (&'static str, &'static str);

/// By command, as it is typed after `waypost`.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "init",
        &[
            ("waypost init", "register the hook for this project"),
            ("waypost init --git-hooks", "hold commits and pushes at git itself too"),
            ("waypost init --remove", "take everything out again"),
        ],
    ),
    (
        "run",
        &[
            ("waypost run --dry-run", "show phases and waves; nothing is run"),
            ("waypost run", "work through TASKS.md"),
            (
                "waypost run --agent claude --budget 20",
                "let Claude Code work, for 20 dollars at most",
            ),
            ("waypost run --resume", "go on after Ctrl-C, a crash or a reboot"),
            ("waypost run --detach", "go on in the background"),
            ("waypost run --rehearse --faults 20", "try the graph with simulated agents"),
            ("waypost run docs/TASKS.md --phase 2", "only phase 2 of another file"),
        ],
    ),
    (
        "run status",
        &[
            ("waypost run status", "how far each phase is"),
            ("waypost run status --wait", "watch the run that another process works on"),
        ],
    ),
    (
        "run logs",
        &[
            ("waypost run logs T1.3 --follow", "what the task prints, while it runs"),
            ("waypost run logs T1.3 --attempt 1", "what its first attempt printed"),
        ],
    ),
    ("run retry", &[("waypost run retry T1.3", "open a failed task again")]),
    (
        "task",
        &[
            (
                "waypost task new 'A tea shop' --type create_app --file brief.md --submit",
                "hand in work",
            ),
            ("waypost task list --state review", "what waits for your review"),
            ("waypost task show task_k3v9x2ab", "one task in full"),
            (
                "waypost task retry task_k3v9x2ab",
                "try a failed one again from its newest checkpoint",
            ),
        ],
    ),
    ("why", &[("waypost why T2.1", "what holds the task, and since which event")]),
    (
        "inbox",
        &[
            ("waypost inbox", "everything that waits for you"),
            ("waypost inbox show q3", "one question in full"),
            ("waypost inbox answer q3", "choose an answer at the terminal"),
            ("waypost inbox answer q3 allow", "answer it at once"),
            ("waypost inbox approve q4 --version 2", "approve a review as you have seen it"),
            ("waypost inbox changes q4 --file notes.md", "ask for changes"),
            ("waypost inbox provide q5", "type a value that is not shown"),
        ],
    ),
    (
        "develop",
        &[
            ("waypost develop start 'Rate limits'", "begin a feature, in DESIGN"),
            ("waypost develop advance --checkpoint cp-1", "go on to REVIEW with a checkpoint"),
            ("waypost develop gate pass review_clean_pass --report review.md", "pass a gate"),
            ("waypost develop advance", "go on to the next phase"),
        ],
    ),
    (
        "log",
        &[
            ("waypost log", "the newest events"),
            ("waypost log T1.3", "events about one task"),
            ("waypost log --refused", "what the hook refused, to which agent and why"),
            ("waypost log --follow", "go on printing as more happens"),
        ],
    ),
    (
        "context",
        &[
            ("waypost context --for worker --task T1.3", "what an agent at a task should know"),
            ("waypost context --for reviewer --budget 500", "the most important in 500 tokens"),
        ],
    ),
    (
        "session request",
        &[
            ("waypost session request 'add a cart'", "begin a request"),
            (
                "waypost session request --stop-current 'add a list'",
                "instead of the one that is active",
            ),
        ],
    ),
    (
        "session plan",
        &[
            ("waypost session plan", "take up the plan, or send it back"),
            ("waypost session plan --assumption 2=held", "with what became of an assumption"),
        ],
    ),
    (
        "session next",
        &[
            ("waypost session next", "who does what next, with which files"),
            ("waypost session next --json", "the same for a program"),
        ],
    ),
    (
        "session run",
        &[
            ("waypost session run", "with the agents that are configured for its roles"),
            ("waypost session run --agent claude", "with one agent for all of them"),
        ],
    ),
    (
        "session gate check",
        &[
            ("waypost session gate check", "look at the gates that are due"),
            ("waypost session gate check --report REPORT.md", "with what confirms open points"),
        ],
    ),
    (
        "session gate override",
        &[("waypost session gate override GATE-3 --reason 'generated'", "as a person")],
    ),
    (
        "memory search",
        &[
            ("waypost memory search 'retry policy'", "everything about it, the best first"),
            ("waypost memory search --kind decision --since 30d cache", "what was decided lately"),
            ("waypost memory search --file src/cart.rs price", "what concerns a file"),
        ],
    ),
    (
        "contract",
        &[
            ("waypost contract validate", "check all contracts of the session"),
            (
                "waypost contract put design-brief --task T1",
                "hand in a contract from standard input",
            ),
            (
                "waypost contract diff test-result --subtask T1-S2",
                "what changed since the last one",
            ),
        ],
    ),
    (
        "knowledge",
        &[
            ("waypost knowledge show", "what is known about the project"),
            (
                "waypost knowledge add decision Login JWT --ref src/login.rs",
                "write down what was decided",
            ),
            ("waypost knowledge learn", "learn from finished contracts"),
        ],
    ),
    (
        "open",
        &[
            ("waypost open T1.3", "take over the conversation of the task's agent"),
            ("waypost open T1.3 --print", "only print the command that would do it"),
        ],
    ),
    (
        "agents",
        &[
            ("waypost agents", "which agents there are"),
            ("waypost agents check claude", "try whether the hook holds Claude Code"),
        ],
    ),
    ("worktree", &[("waypost worktree list", "work trees and snapshots of runs")]),
    (
        "validate",
        &[("waypost validate TASKS.md waypost.toml", "check files; errors name line and column")],
    ),
    (
        "completions",
        &[
            (
                "waypost completions bash > ~/.local/share/bash-completion/completions/waypost",
                "for bash",
            ),
            ("waypost completions fish > ~/.config/fish/completions/waypost.fish", "for fish"),
        ],
    ),
    ("man", &[("waypost man ~/.local/share/man/man1", "manual pages for every command")]),
    (
        "demo",
        &[
            ("waypost demo", "in a new folder below /tmp"),
            ("waypost demo --yes tour", "in the folder tour, without a question"),
        ],
    ),
];

/// Puts the examples below the help of their commands.
pub(crate) fn equip(command: Command) -> Command {
    below(command, "")
}

/// Every subcommand is visited, also one without examples: a change moves it to the end.
fn below(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    let examples = EXAMPLES.iter().find(|(known, _)| *known == path);
    let mut command = match examples {
        Some((_, examples)) => command.after_help(text(examples)),
        None => command,
    };
    for name in names {
        let path = format!("{path} {name}");
        command = command.mut_subcommand(name, |inner| below(inner, path.trim_start()));
    }
    command
}

/// The comment stands beside the command where both are short, else above it.
fn text(examples: &[Example]) -> String {
    const COMMAND_WIDTH_MAX: usize = 42;
    let mut text = "Examples:".to_owned();
    let is_short = examples.iter().all(|(line, _)| line.len() <= COMMAND_WIDTH_MAX);
    let width = examples.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    for (line, about) in examples {
        let _infallible = match is_short {
            true => write!(text, "\n  {line:width$}  # {about}"),
            false => write!(text, "\n  # {about}\n  {line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    #[test]
    fn every_example_is_a_command_line() {
        let known = command();
        for (path, examples) in EXAMPLES {
            let mut inner = &known;
            for name in path.split(' ') {
                inner = inner.find_subcommand(name).unwrap_or_else(|| panic!("no `{path}`"));
            }
            for (line, _) in *examples {
                let line = line.split(" > ").next().unwrap_or_default();
                let words = line.split_whitespace().map(|word| word.trim_matches('\''));
                let parsed = command().try_get_matches_from(words);
                // The quoted word of `develop start` is split here, and that is the only one.
                assert!(parsed.is_ok() || line.contains('\''), "{line}: {parsed:?}");
            }
        }
    }
}
