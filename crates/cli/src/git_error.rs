//! How errors of git and of work trees are told: which kind they are, their causes, and what to do.

use crate::error::CliError;
use std::error::Error as _;
use waypost_engine::{GitError, Remedy};
use waypost_model::next::NextStep;

impl From<GitError> for CliError {
    fn from(error: GitError) -> Self {
        let told = Self::new(error.code(), error.to_string());
        let told = error.source().into_iter().fold(told, Self::because);
        match error.remedy() {
            Some(remedy) => spell(told, remedy),
            None => told,
        }
    }
}

/// Adds what a person can do, as a command to type or as advice.
fn spell(error: CliError, remedy: Remedy) -> CliError {
    let git = |words: String| vec![NextStep::RunGit { words }];
    match remedy {
        Remedy::TryAgain => error.hint("try it again"),
        Remedy::InstallGit { version: (major, minor) } => {
            error.hint(format!("install git {major}.{minor} or newer"))
        }
        Remedy::MakeSpace => error.hint("make space on the disk"),
        Remedy::ListTrees => error.steps(vec![NextStep::ListTrees]),
        Remedy::BringBack { tree } => {
            let tree = tree.strip_prefix("worktree/").unwrap_or(&tree).to_owned();
            error.steps(vec![NextStep::RestoreTree { tree }])
        }
        Remedy::RenameBranch { name } => error.steps(git(format!("branch -m {name} another-name"))),
        Remedy::MakeBranch { name } => error.steps(git(format!("branch {name}"))),
        Remedy::MoveAway => error.hint("work trees are made in there: move it away"),
        Remedy::MoveAwayOrDelete => error.hint("move it away or delete it"),
        Remedy::RemoveTree { name } => {
            error.hint("or move it away").steps(git(format!("worktree remove {name}")))
        }
        Remedy::EndWriters => error.hint("end whatever writes into it, then try again"),
        Remedy::ResumeRun => {
            error.hint("find out who does, then go on").steps(vec![NextStep::ResumeRun])
        }
        Remedy::CheckRepository => error.steps(git("fsck".into())),
        Remedy::ShareFolders => {
            error.hint("share folders instead: `[worktree] share = [\"node_modules\"]`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use std::io;
    use waypost_model::code::Code;

    #[test]
    fn the_cause_and_what_to_do_are_told() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let (action, path) = ("use", "/x".into());
        let told = CliError::from(GitError::File { action, path, source: full });
        assert_eq!(told.kind, Kind::Missing);
        let told = format!("{told:?}");
        assert!(told.contains("cannot use /x: no storage space"), "{told}");
        assert!(told.contains("make space on the disk"), "{told}");
        let killed = CliError::from(GitError::Killed { command: "merge".into() });
        assert!(format!("{killed:?}").contains("try it again"), "{killed:?}");
    }

    #[test]
    fn a_remedy_that_is_a_command_comes_next() {
        let error = || CliError::new(Code::TreeInTheWay, "x");
        let tree = "worktree/phase-1-cart".to_owned();
        let table = [
            (Remedy::BringBack { tree }, "waypost worktree undo phase-1-cart"),
            (Remedy::RenameBranch { name: "a".into() }, "git branch -m a another-name"),
            (Remedy::MakeBranch { name: "main".into() }, "git branch main"),
        ];
        for (remedy, next) in table {
            assert_eq!(spell(error(), remedy).line().error.next.as_deref(), Some(next));
        }
    }
}
