//! What an agent says by the text protocol, in the words of its task.

use crate::values::variable_of;
use waypost_agent::protocol::{
    self, DependencyKind, QuestionKind, Recovery, Severity, Signal, Spoken,
};
use waypost_model::{
    inbox::WantedKind,
    task::{
        MalformedBlock, ProblemRecovery, QuestionCategory, SpokenProblem, SpokenQuestion,
        SpokenSignal, TaskSignal, ValueRequest,
    },
};

/// How much of a block that cannot be understood is kept.
const TEXT_LENGTH_MAX: usize = 2_000;

/// What was said at one moment, in the order in which it counts. `nonce` is what an end of a phase
/// has to name, where one is demanded. Signals of runs and of verifications mean nothing here.
pub(super) fn spoken(said: Vec<Spoken>, nonce: Option<&str>) -> Vec<SpokenSignal> {
    let mut found: Vec<SpokenSignal> = said
        .into_iter()
        .filter_map(|Spoken { offset, signal }| {
            let cut = cut(&signal).iter().map(|field| (*field).to_owned()).collect();
            Some(SpokenSignal { offset, signal: task_signal(signal, nonce)?, cut })
        })
        .collect();
    found.sort_by_key(|it| rank(&it.signal));
    found
}

/// Errors first, then ends, then what is asked for.
fn rank(signal: &TaskSignal) -> u8 {
    match signal {
        TaskSignal::Problem(_) => 0,
        TaskSignal::PhaseComplete { .. } | TaskSignal::CustomComplete {} => 1,
        TaskSignal::ValueWanted(_) => 2,
        TaskSignal::Question(_) => 3,
        TaskSignal::Malformed(_) => 4,
    }
}

fn task_signal(signal: Signal, nonce: Option<&str>) -> Option<TaskSignal> {
    let is_named = |said: &Option<String>| nonce.is_none() || said.as_deref() == nonce;
    Some(match signal {
        Signal::PhaseComplete { nonce: said, .. } | Signal::CustomComplete { nonce: said }
            if !is_named(&said) =>
        {
            let nonce = nonce.unwrap_or_default();
            let why =
                format!("it has to end with the word that you were given: COMPLETE {nonce} ===");
            let (block, text) = ("COMPLETE".to_owned(), said.unwrap_or_default());
            TaskSignal::Malformed(MalformedBlock { block, why, text })
        }
        Signal::PhaseComplete { phase, lists, .. } => {
            let count: usize = lists.iter().map(|(_, entries)| entries.len()).sum();
            TaskSignal::PhaseComplete {
                phase,
                deliverables: u32::try_from(count).unwrap_or(u32::MAX),
            }
        }
        Signal::CustomComplete { .. } => TaskSignal::CustomComplete {},
        Signal::Dependency(wanted) => value(wanted),
        Signal::Question(asked) => TaskSignal::Question(question(asked)),
        Signal::Problem(problem) => TaskSignal::Problem(self::problem(problem)),
        Signal::Malformed(protocol::Malformed { block, why, text }) => {
            let text = text.chars().take(TEXT_LENGTH_MAX).collect();
            TaskSignal::Malformed(MalformedBlock { block, why, text })
        }
        Signal::Done { .. } | Signal::Failed { .. } | Signal::Verification(_) => return None,
    })
}

/// The fields of a block that lost their end.
fn cut(signal: &Signal) -> &[&'static str] {
    match signal {
        Signal::Dependency(wanted) => &wanted.cut,
        Signal::Question(asked) => &asked.cut,
        Signal::Problem(problem) => &problem.cut,
        _ => &[],
    }
}

/// What is asked for by name, if it is a name that a value may have.
fn value(wanted: protocol::Dependency) -> TaskSignal {
    let protocol::Dependency { kind, name, description, is_required, default, .. } = wanted;
    if let Err(error) = variable_of(&name) {
        let (block, why) = ("DEPENDENCY_REQUEST".to_owned(), error.to_string());
        return TaskSignal::Malformed(MalformedBlock { block, why, text: description });
    }
    let kind = match kind {
        DependencyKind::ApiKey => WantedKind::ApiKey,
        DependencyKind::EnvVariable => WantedKind::EnvVariable,
        DependencyKind::Service => WantedKind::Service,
        DependencyKind::File => WantedKind::File,
        DependencyKind::Permission => WantedKind::Permission,
        DependencyKind::Package => WantedKind::Package,
    };
    TaskSignal::ValueWanted(ValueRequest { kind, name, description, is_required, default })
}

fn question(asked: protocol::Question) -> SpokenQuestion {
    let protocol::Question { kind, question, options, default, is_required, .. } = asked;
    let category = match kind {
        QuestionKind::Business => QuestionCategory::Business,
        QuestionKind::Clarification => QuestionCategory::Clarification,
        QuestionKind::Choice => QuestionCategory::Choice,
        QuestionKind::Confirmation => QuestionCategory::Confirmation,
    };
    SpokenQuestion { category, question, options, default, is_required }
}

fn problem(problem: protocol::Problem) -> SpokenProblem {
    let protocol::Problem { severity, message, details, recovery, .. } = problem;
    let recovery = recovery.map(|it| match it {
        Recovery::PauseAndRetry => ProblemRecovery::PauseAndRetry,
        Recovery::CheckpointAndFail => ProblemRecovery::CheckpointAndFail,
        Recovery::NotifyUser => ProblemRecovery::NotifyUser,
    });
    SpokenProblem { is_fatal: severity == Severity::Fatal, message, details, recovery }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str, nonce: Option<&str>) -> Vec<(u64, String)> {
        let said = (100..).zip(protocol::read(text));
        let said = said.map(|(offset, signal)| Spoken { offset, signal }).collect();
        let name = |signal: &TaskSignal| match signal {
            TaskSignal::PhaseComplete { phase, deliverables } => format!("{phase} {deliverables}"),
            TaskSignal::Malformed(block) => block.block.clone(),
            other => format!("{other:?}").split(['(', ' ']).next().unwrap_or_default().to_owned(),
        };
        spoken(said, nonce).iter().map(|it| (it.offset, name(&it.signal))).collect()
    }

    #[test]
    fn errors_come_before_ends_and_these_before_questions_and_each_keeps_its_place() {
        let text = "[USER_QUESTION] category: business, question: Which?\n\
                    === PHASE 2 COMPLETE ===\nDeliverables:\n- a.md\n- b.md\n\n\
                    [ERROR] type: recoverable, message: slow, recovery: notify_user\n";
        let want = [(102, "Problem"), (101, "2 2"), (100, "Question")];
        let want: Vec<(u64, String)> = want.map(|(at, word)| (at, word.to_owned())).to_vec();
        assert_eq!(heard(text, None), want);
    }

    #[test]
    fn what_cannot_be_given_is_not_asked_of_a_person() {
        for name in ["LD_PRELOAD", "PATH", "WAYPOST_JOB", "GIT_DIR", "§"] {
            let text = format!("[DEPENDENCY_REQUEST] type: env_variable, name: {name}\n");
            let said = vec![Spoken { offset: 1, signal: protocol::read(&text).remove(0) }];
            let [SpokenSignal { signal: TaskSignal::Malformed(block), .. }] =
                &spoken(said, None)[..]
            else {
                panic!("{name} was asked for")
            };
            assert!(block.why.contains(name), "{}", block.why);
        }
        let plain = "[DEPENDENCY_REQUEST] type: env_variable, name: SHOP_KEY\n";
        assert_eq!(heard(plain, None), [(100, "ValueWanted".to_owned())]);
    }

    #[test]
    fn what_lost_its_end_is_named() {
        let long = "x".repeat(protocol::FIELD_LENGTH_MAX + 1);
        let text =
            format!("[USER_QUESTION]\ncategory: business\nquestion: {long}\n[/USER_QUESTION]\n");
        let said = vec![Spoken { offset: 1, signal: protocol::read(&text).remove(0) }];
        assert_eq!(spoken(said, None)[0].cut, ["question"]);
    }

    #[test]
    fn an_end_without_the_word_that_was_given_fires_nothing() {
        assert_eq!(heard("=== PHASE 1 COMPLETE ===", Some("k7")), [(100, "COMPLETE".to_owned())]);
        assert_eq!(heard("=== PHASE 1 COMPLETE k7 ===", Some("k7")), [(100, "1 0".to_owned())]);
        assert_eq!(heard("DONE:T1.2", None), []);
    }
}
