//! The words with which an agent program starts a hook.

use waypost_agent::{hook::Product, registration::JOURNAL_OPTION};

/// Who asks, and what the registration says beside that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub product: Option<Product>,
    /// The journal that this project has had since the hook was registered.
    pub journal: Option<String>,
    /// The words as they were, to be handed on.
    pub words: Vec<String>,
}

impl Asked {
    pub fn of(words: Vec<String>) -> Self {
        let product = words.first().and_then(|word| Product::from_word(word));
        let at = words.iter().position(|word| word == JOURNAL_OPTION);
        let journal = at.and_then(|at| words.get(at + 1).cloned());
        Self { product, journal, words }
    }
}
