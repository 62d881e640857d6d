//! How the engine comes by words that it does not know: the spelling of next steps.
//!
//! What a step looks like is for the program around the engine to say, which hands its spelling in.
//! It is needed here where a text leaves the machine, as notices do.

use waypost_model::next::NextStep;

/// Spells a step for the people and programs that read it.
pub type Spelling = fn(&NextStep) -> String;

/// The words of the steps themselves, as long as no spelling was handed in.
pub(crate) fn plain(step: &NextStep) -> String {
    step.to_string()
}

/// Steps that follow each other.
pub(crate) fn in_order(steps: &[NextStep], spelling: Spelling) -> String {
    let spelled: Vec<String> = steps.iter().map(spelling).collect();
    spelled.join(", then ")
}
