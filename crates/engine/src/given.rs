//! Files that a command names.
//!
//! A command that the broker runs for a call behind a wall is outside, and can read more than the call. The
//! broker has looked at where each name leads; from then on no link may lead anywhere else. A person's
//! command reads what the person can read.

use std::{env, path::Path};
use waypost_model::layout::variable;
use waypost_store::{StoreError, file};

/// The bytes of a file that a command names, at most `max`; none if there is none.
pub(crate) fn read(path: &Path, max: u64) -> Result<Option<Vec<u8>>, StoreError> {
    match env::var_os(variable::BROKERED) {
        Some(_) => file::read_without_links(path, max),
        None => file::read_bounded(path, max),
    }
}
