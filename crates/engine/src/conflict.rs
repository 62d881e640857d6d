//! What is done when a decision was made on a state that is no longer the present one.
//!
//! A store whose writers do not wait for each other tells one of them that its stream has moved.
//! Nothing of its transaction has happened then, so everything is loaded and decided again. This is
//! the one place where that is done.

use crate::error::EngineError;
use waypost_store::StoreError;

/// How often a transaction is made before its conflict is told. Each one that fails means that
/// another has got through, so many in a row say that something else is wrong.
const TRIES_MAX: usize = 10;

/// Makes a transaction, from its beginning to its commit, until no other comes in between.
pub(crate) fn decide_again_if_moved<T>(
    mut transact: impl FnMut() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    for _ in 1..TRIES_MAX {
        match transact() {
            Err(EngineError::Store(StoreError::Moved { .. })) => {}
            other => return other,
        }
    }
    transact()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::Problem, ledger::MachineCommand, project::Project};
    use waypost_model::{actor::Actor, code::Code, verdict};
    use waypost_store::journal::{CommitFault, Journals, MemoryStore};

    fn moved() -> EngineError {
        let stream = "run".parse().unwrap();
        StoreError::Moved { stream, seen: 1, head: 2 }.into()
    }

    /// How often a transaction is made that fails `failures` times, and how that ends.
    fn try_with(failures: usize, failure: fn() -> EngineError) -> (usize, Option<String>) {
        let mut tries = 0;
        let ended = decide_again_if_moved(|| {
            tries += 1;
            if tries > failures { Ok(()) } else { Err(failure()) }
        });
        (tries, ended.err().map(|error| error.to_string()))
    }

    #[test]
    fn a_moved_stream_is_decided_on_again_within_a_limit() {
        let told = || Some("run is at version 2, not 1".to_owned());
        assert_eq!(try_with(0, moved), (1, None));
        assert_eq!(try_with(TRIES_MAX - 1, moved), (TRIES_MAX, None));
        assert_eq!(try_with(TRIES_MAX, moved), (TRIES_MAX, told()));
    }

    #[test]
    fn nothing_else_is_tried_again() {
        let unknown = || {
            let cause = Box::new(StoreError::Protocol { detail: "gone".into() });
            StoreError::CommitUnknown { cause }.into()
        };
        assert_eq!(try_with(1, unknown).0, 1, "it may have happened");
        let refused = || Problem::new(Code::HostGone, "refused").into();
        assert_eq!(try_with(1, refused).0, 1);
    }

    #[test]
    fn a_command_whose_answer_was_lost_has_happened_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = MemoryStore::at(&folder.path().join("state"));
        let mut project = Project::find(folder.path(), Actor::Waypost).unwrap();
        project.journals = Journals::over(store.clone());
        let table = [
            (CommitFault::AnswerLost, true, 1),
            (CommitFault::Refused, false, 1),
            (CommitFault::Unreachable, false, 1),
            (CommitFault::AnswerLost, true, 2),
        ];
        project.ensure_journal().unwrap();
        for (number, (fault, is_done, count)) in table.into_iter().enumerate() {
            store.fail_next_commit(fault);
            let source = format!("verdicts-{number}");
            let command = verdict::Command::TakeIn { source, verdicts: Vec::new() };
            let done = project.commit(&[MachineCommand::verdicts(command)]);
            assert_eq!(done.is_ok(), is_done, "{fault:?}");
            let entries = project.log(usize::MAX, |_| true).unwrap();
            assert_eq!(entries.len(), count, "{fault:?}");
        }
    }
}
