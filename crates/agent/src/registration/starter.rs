//! The few shell words between an agent program and our hook: they answer where the hook cannot.
//!
//! Agent programs take a hook that is missing or dies for a yes, or stop all work for it. So the
//! hook has a parent. Whatever the hook's end, if it is not an answer, this looks by itself
//! whether a workflow may be active: then the tool call is refused, with the sentence that fixes
//! it; else there is silence, so that a person who has the hook registered and the program not
//! installed can work. It reads the gate record and believes it only where that is whole and names
//! no phase: a project whose record cannot be told counts as active. Where the program is gone that shell calls
//! are run by, they could only fail without a word: then this says what fixes it.
//!
//! Only what POSIX asks of a shell is used, and no other program.

use crate::hook::{project_variables, shell_variables};

/// What runs the words.
pub(crate) const SHELL: &str = "/bin/sh";

/// Marks our own words among those of others.
const MARK: &str = r#""$0" "$@""#;

/// The words before the hook where its answer decides.
const DECIDING: &str = include_str!("starter.sh");

/// The words before the hook where it only tells something: without it nothing is told.
const TELLING: &str = r#"command -v "$0" >/dev/null || exit 0; "$0" "$@" || exit 0"#;

/// The words before the hook at an event at which it `decides` whether something is done.
pub(crate) fn words(decides: bool) -> String {
    if !decides {
        return TELLING.to_owned();
    }
    let variables: Vec<String> = project_variables().map(|name| format!("\"${name}\"")).collect();
    let shells: Vec<String> = shell_variables().map(|name| format!("\"${name}\"")).collect();
    let words = DECIDING.trim_end().replace("PROJECTS", &variables.join(" "));
    words.replace("SHELLS", &shells.join(" "))
}

/// The words that our own ones start, out of a command; all of it where none stand before it.
pub(crate) fn started(words: &[String]) -> &[String] {
    match words {
        [shell, option, text, rest @ ..]
            if shell == SHELL && option == "-c" && text.contains(MARK) =>
        {
            rest
        }
        _ => words,
    }
}
