//! What a test does that finds no wall: it skips itself, unless the wall has to be there.
//!
//! `cargo xtask` tries bubblewrap and Landlock without our programs and names in
//! `WAYPOST_WALL_REQUIRED` what this machine can build. All test programs that need a wall read it
//! here.

use std::env;

/// Says aloud that a test is skipped because it found only `found` where one of `levels` would do; fails
/// where one of them has to be there.
#[track_caller]
pub(crate) fn skip(levels: &[&str], found: &str) {
    let required = env::var("WAYPOST_WALL_REQUIRED").unwrap_or_default();
    let wanted = levels.join(" or ");
    assert!(
        !is_required(&required, levels),
        "WAYPOST_WALL_REQUIRED={required}, and no wall of level {wanted} is found: {found:?}"
    );
    println!("skipped: there is no wall of level {wanted} here: {found:?}");
}

/// Whether one of these levels is among those that have to be there.
pub(crate) fn is_required(required: &str, levels: &[&str]) -> bool {
    required.split(',').any(|it| levels.contains(&it.trim()))
}
