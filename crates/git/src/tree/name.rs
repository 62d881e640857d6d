//! The names of work trees: `worktree/phase-1-cart`, `worktree/phase-1-cart--T1.2-3`, and of a session
//! `worktree/request-R1`, `worktree/request-R1--T1-1`.
//!
//! A name is the folder below the project's root and the branch at once.

use crate::{
    command,
    error::{GitError, Mistake},
};

/// Where work trees are, below the project's root.
pub const FOLDER: &str = "worktree";

/// How the last part of each of them begins.
const BEGINNINGS: [&str; 2] = ["phase-", "request-"];

/// Whether the last part of a name is one of ours.
pub(crate) fn is_short(name: &str) -> bool {
    BEGINNINGS.iter().any(|start| name.starts_with(start))
}

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
    rest.is_some_and(|rest| is_short(rest) && !rest.contains('/')) && command::is_safe_ref(name)
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

/// The request of a session.
pub fn request(name: &str) -> Option<&str> {
    let rest = short(name).strip_prefix("request-")?;
    Some(rest.split_once("--").map_or(rest, |(request, _)| request))
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
        let of_task = "worktree/request-R2--T1-3";
        assert_eq!(parts(of_task), (true, None, Some(("T1", 3))));
        assert_eq!(request(of_task), Some("R2"));
        assert_eq!(
            (request("worktree/request-R2"), request("worktree/phase-1")),
            (Some("R2"), None)
        );
        for name in ["worktree/x", "phase-1-x", "worktree/phase-1/x", "worktree/phase-1 x", "", "-"]
        {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
