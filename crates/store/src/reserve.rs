//! Space that is kept beside the journal for the moment when the disk is full: given up, it lets the
//! journal take what is at hand. A convenience: a project without it loses nothing but that.

use crate::file::{self, Mark};
use std::path::Path;
use waypost_model::layout;

/// Enough for some hundreds of events with the pages that they touch.
const SIZE: usize = 1 << 20;

/// Makes sure that the space is kept, as far as there is any.
pub fn keep(folder: &Path) {
    let path = folder.join(layout::state::RESERVE);
    let is_kept = Mark::of(&path).is_ok_and(|mark| mark.is_some_and(|it| it.size == SIZE as u64));
    if !is_kept {
        // Without space there is none to keep. Bytes that are not zero take space everywhere.
        let _full = file::replace_volatile(&path, &vec![0xa5; SIZE], file::PRIVATE);
    }
}

/// Gives the space up; false: none was kept.
pub fn give_up(folder: &Path) -> bool {
    let path = folder.join(layout::state::RESERVE);
    let is_kept = Mark::of(&path).is_ok_and(|mark| mark.is_some());
    is_kept && file::remove(&path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_given_up_once() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(!give_up(folder));
        keep(folder);
        keep(folder);
        assert!(give_up(folder));
        assert!(!give_up(folder));
    }
}
