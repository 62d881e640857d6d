//! Git's own hooks: the same gates in any terminal.

use super::tool::{Ruled, ask};
use crate::output::say;
use std::{
    io::{self, Read as _},
    path::Path,
    process::ExitCode,
};
use waypost_engine::Clock;
use waypost_guard::{Branch, Deed, Push};
use waypost_hook::{fence, log};
use waypost_model::verdict::VerdictOutcome;

/// The most that git's list of what is pushed may be.
const REFS_SIZE_MAX: u64 = 8 << 20;

/// Answers `pre-commit` or `pre-push`: 0 lets git go on, 1 stops it.
pub(super) fn answer(words: &[String]) -> ExitCode {
    let deed = match words.first().map(String::as_str) {
        Some("pre-commit") => Some(Deed { commits: Some("git commit".into()), ..Deed::default() }),
        Some("pre-push") => pushed(),
        _ => {
            say("waypost: `waypost hook git` takes pre-commit or pre-push");
            return ExitCode::FAILURE;
        }
    };
    let Some(deed) = deed else { return ExitCode::SUCCESS };
    if let Some(reason) = fence::over() {
        say(&format!("waypost: {reason}"));
        return ExitCode::FAILURE;
    }
    let here = Path::new(".").canonicalize().unwrap_or_else(|_| ".".into());
    let (spot, ruled) = ask(&here, |case| case.judge_deed(&deed), &here);
    match ruled {
        Ruled::Free | Ruled::Allowed => ExitCode::SUCCESS,
        Ruled::Refused(refused) => {
            say(&format!("waypost: {}", refused.message));
            say("hint: a person may switch the gates off: `waypost develop suspend --reason TEXT`");
            let tool = if deed.commits.is_some() { "git commit" } else { "git push" };
            let outcome = VerdictOutcome::Refused {
                tool: tool.into(),
                call: None,
                rule: refused.rule.into(),
                message: refused.message,
            };
            let whom = log::Whom { program: "git", session: None, subagent: None };
            log::note(&spot, whom, Clock.now(), outcome);
            ExitCode::FAILURE
        }
    }
}

/// What git says it is about to push: `LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID` per line. None if
/// that is nothing.
fn pushed() -> Option<Deed> {
    let mut text = String::new();
    let is_read = io::stdin().take(REFS_SIZE_MAX).read_to_string(&mut text).is_ok();
    let push = |line: &str| {
        let remote = line.split(' ').nth(2).and_then(|name| name.strip_prefix("refs/heads/"));
        let branch = remote.map_or(Branch::Unknown, |name| Branch::Named(name.to_owned()));
        Push { branch, words: "git push".into() }
    };
    let mut pushes: Vec<Push> =
        text.lines().filter(|line| !line.trim().is_empty()).map(push).collect();
    if !is_read {
        pushes.push(Push { branch: Branch::Unknown, words: "git push".into() });
    }
    (!pushes.is_empty()).then(|| Deed { pushes, ..Deed::default() })
}
