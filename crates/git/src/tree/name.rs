//! The names of work trees: `worktree/phase-1-cart`, `worktree/phase-1-cart--T1.2-3`.
//!
//! A name is the folder below the project's root and the branch at once.

use crate::{
    command,
    error::{GitError, Mistake},
};

/// Where work trees are, below the project's root.
pub const FOLDER: &str = "worktree";

/// Refuses a name that is none of ours.
pub fn check(name: &str) -> Result<(), GitError> {
    match is_name(name) {
        true => Ok(()),
        false => Err(Mistake::TreeName { name: name.to_owned() }.into()),
    }
}

/// Whether Waypost would name a work tree like this.
pub fn is_name(name: &str) -> bool {
    let rest = name.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/'));
    rest.is_some_and(|rest| rest.starts_with("phase-") && !rest.contains('/'))
        && command::is_safe_ref(name)
}

/// The last part: the folder's own name, which snapshots are kept under.
pub fn short(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The task and the attempt that an attempt's tree is for; none of a phase's.
pub fn attempt(name: &str) -> Option<(&str, u32)> {
    let (task, attempt) = short(name).rsplit_once("--")?.1.rsplit_once('-')?;
    Some((task, attempt.parse().ok()?))
}

/// The number of the phase.
pub fn phase(name: &str) -> Option<u32> {
    let rest = short(name).strip_prefix("phase-")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_phase_task_and_attempt() {
        let parts = |name| (is_name(name), phase(name), attempt(name));
        assert_eq!(parts("worktree/phase-12-cart"), (true, Some(12), None));
        assert_eq!(parts("worktree/phase-1-x--P2-S1-V-3"), (true, Some(1), Some(("P2-S1-V", 3))));
        assert_eq!(parts("worktree/phase-0-사용자--T1.2-10").2, Some(("T1.2", 10)));
        for name in ["worktree/x", "phase-1-x", "worktree/phase-1/x", "worktree/phase-1 x", "", "-"]
        {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
