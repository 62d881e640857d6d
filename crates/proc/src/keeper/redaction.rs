//! What a child's output must not show, as a search that children with the same values share.

use std::sync::Arc;
use waypost_redact::{Searcher, Secret};

/// The last search that was made. Shell tasks of a run are given the same values by the thousand.
#[derive(Debug, Default)]
pub(super) struct Redaction {
    known: Vec<Secret>,
    searcher: Arc<Searcher>,
}

impl Redaction {
    /// The search for these values.
    pub(super) fn searcher(&mut self, secrets: &[Secret]) -> Arc<Searcher> {
        if self.known != secrets {
            self.searcher = Arc::new(Searcher::of(secrets.iter().map(Secret::expose)));
            self.known = secrets.to_vec();
        }
        Arc::clone(&self.searcher)
    }
}
