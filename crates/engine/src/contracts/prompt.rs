//! The request to write a contract again, as it is handed back to the agent that wrote it.

use crate::{spelling::Spelling, validate::Validity};
use std::fmt::Write as _;
use waypost_model::{diagnostic::Severity, next::NextStep};

/// What an agent is told whose contract is not valid; nothing for one that is.
pub fn regenerate_prompt(validity: &Validity, spell: Spelling) -> Option<String> {
    if validity.is_valid() {
        return None;
    }
    let path = validity.file.path.display();
    let mut text = format!(
        "{path} is not valid and was not taken. Write the whole file again, so that nothing of this holds any \
         more, and change nothing else:\n"
    );
    let errors = validity.file.diagnostics.iter().filter(|it| it.severity == Severity::Error);
    for finding in errors {
        let place =
            finding.place.map_or_else(String::new, |it| format!("{}:{}", it.line, it.column));
        let _infallible = write!(text, "\n- {place}");
        if !finding.path.is_empty() {
            let _infallible = write!(text, " `{}`", finding.path);
        }
        let _infallible = write!(text, " {} ({})", finding.message, finding.code);
        for (word, said) in [("expected", &finding.expected), ("hint", &finding.hint)] {
            if let Some(said) = said {
                let _infallible = write!(text, "; {word}: {said}");
            }
        }
    }
    text.push_str(
        "\n\nOnly the fields that the format defines may stand in it, with their types; no other top-level object. ",
    );
    let schema = spell(&NextStep::ShowSchema { kind: validity.kind.to_owned() });
    let check = spell(&NextStep::ValidateFile { file: path.to_string() });
    let _infallible =
        write!(text, "The format is what `{schema}` prints; `{check}` says whether it is kept to.");
    text.push('\n');
    Some(text)
}
