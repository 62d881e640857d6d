//! What a task asks a person, in words.

use super::{
    item::{ItemKey, ItemWant},
    pause::PersonPause,
    review::{PhaseClaim, TaskReport, TaskReview},
    signal::{MalformedBlock, SpokenProblem},
    state::{LostCause, TaskFile},
    topic::TaskTopic,
};
use crate::{
    document::ServerTaskId,
    inbox::{PhaseReview, Question, QuestionKind, Reply, ReviewedDiff, Topic, WantedValue},
    next::NextStep,
    run::{ParkCause, Parked, TRY_AGAIN},
    text::one_line,
};
use std::time::Duration;

/// The longest title of a question, in characters.
const TITLE_LENGTH: usize = 100;

/// The answers to what became of a named task.
pub(super) const DROP: &str = "go on without it";
pub(super) const CANCEL: &str = "cancel";

/// The answers to an attempt that had to be stopped.
pub(super) const RESUME: &str = "resume";
pub(super) const FAIL: &str = "fail";

type Asks = Question<Topic>;

fn asks(kind: QuestionKind, topic: TaskTopic, (title, text): (String, String)) -> Asks {
    Question::new(kind, topic.into(), one_line(&title, TITLE_LENGTH), text)
}

/// A question or a value that the agent waits for.
pub(super) fn item(
    task: &ServerTaskId,
    key: ItemKey,
    (want, optional_wait): (&ItemWant, Duration),
) -> Asks {
    let topic = TaskTopic::Item(key);
    let asked = match want {
        ItemWant::Answer(question) => {
            let title = format!("{task}: {}", question.question);
            let texts = (title, question.question.clone());
            asks(QuestionKind::AgentQuestion, topic, texts).choices(question.options.clone())
        }
        ItemWant::Value(value) => {
            let title = format!("{task} needs {}", value.name);
            let (name, kind) = (value.name.clone(), value.kind);
            // One that is required has to be given by a person.
            let default = value.default.clone().filter(|_| !value.is_required);
            let offered = default.as_ref().map(|it| format!("`decline` lets it go on with: {it}"));
            let text = [Some(value.description.clone()), offered].into_iter().flatten();
            let text: Vec<String> = text.filter(|it| !it.is_empty()).collect();
            asks(QuestionKind::Value, topic, (title, text.join("\n"))).value(WantedValue {
                name,
                kind,
                default,
            })
        }
    };
    if want.is_required() {
        return asked;
    }
    // The default of a value is not given by a person: its agent has it in its environment when it is declined.
    let default = match want {
        ItemWant::Answer(question) => question.default.clone().map(Reply::Answer),
        ItemWant::Value(_) => None,
    };
    let reply = default.unwrap_or_else(|| Reply::Decline(String::new()));
    Question { is_required: false, ..asked }.otherwise(reply, optional_wait)
}

pub(super) fn malformed(task: &ServerTaskId, block: &MalformedBlock) -> Asks {
    let title = format!("{task}: {} could not be read: {}", block.block, block.why);
    let text = format!(
        "The agent wrote something that could not be understood: {}\nIt was told so; nothing came \
         of it.\n\n{}",
        block.why, block.text
    );
    let topic = TaskTopic::Malformed;
    Question { is_required: false, ..asks(QuestionKind::MalformedBlock, topic, (title, text)) }
}

/// An error that the agent wants a person to know of; it goes on meanwhile.
pub(super) fn notice(task: &ServerTaskId, key: ItemKey, problem: &SpokenProblem) -> Asks {
    let title = format!("{task} reports: {}", problem.message);
    let text = format!(
        "{}\n\n{}\nThe agent goes on. What you answer is told to it.",
        problem.message, problem.details
    );
    let topic = TaskTopic::Notice(key);
    Question { is_required: false, ..asks(QuestionKind::AgentQuestion, topic, (title, text)) }
}

pub(super) fn review(file: &TaskFile, review: &TaskReview, diff: Option<&ReviewedDiff>) -> Asks {
    let TaskReview { phase, report, version, .. } = review;
    let name = file.shape.phase(*phase).map_or("", |it| it.name.as_str()).to_owned();
    let total = file.shape.total();
    let title = format!("{}: review phase {phase} of {total}, {name}", file.id);
    let accepted = if review.is_accepted {
        "\nIts verification failed; it was accepted as it is."
    } else {
        ""
    };
    let text = format!(
        "{}\nPhase {phase} ({name}) is done and waits for a review.{accepted}",
        file.fields.title
    );
    let material = PhaseReview {
        phase: *phase,
        name,
        deliverables: report.deliverables.clone(),
        diff: diff.cloned(),
        findings: report.findings.clone(),
        comments: file.comments.clone(),
        left_out: 0,
    };
    asks(QuestionKind::Review, TaskTopic::Review(*version), (title, text)).review(material)
}

pub(super) fn escalation(
    file: &TaskFile,
    claim: &PhaseClaim,
    (why, report): (&str, &TaskReport),
    timeout: Option<Duration>,
) -> Asks {
    let title = format!("{}: {why}", file.id);
    let findings: String = report.told().iter().map(|it| format!("\n- {it}")).collect();
    let text = format!(
        "{}\n{why}.{findings}\n`retry` lets the agent try again, `accept` takes the phase to its \
         review as it is, `fail` ends the task.",
        file.fields.title
    );
    let topic = TaskTopic::Escalation(claim.number);
    let asked = asks(QuestionKind::Escalation, topic, (title, text));
    match timeout {
        Some(wait) => asked.otherwise(Reply::Fail("no decision came in time".to_owned()), wait),
        None => asked,
    }
}

pub(super) fn dependency(task: &ServerTaskId, lost: &ServerTaskId, cause: LostCause) -> Asks {
    let became = match cause {
        LostCause::Failed => "has failed",
        LostCause::Cancelled => "was cancelled",
        LostCause::Deleted => "was deleted",
    };
    let title = format!("{task} waits for {lost}, which {became}");
    let text = format!(
        "{title}.\n`{DROP}` lets it begin, `{CANCEL}` ends it. It can be given another dependency \
         as well."
    );
    asks(QuestionKind::Escalation, TaskTopic::Dependency(lost.clone()), (title, text))
        .choices([DROP, CANCEL])
        .next(NextStep::EditServedTask { task: task.clone() })
}

/// What stands in the way of an agent and is not the task's fault.
pub(super) fn limit(task: &ServerTaskId, parked: &Parked) -> Asks {
    let Parked { cause, agent, why, .. } = parked;
    let title = format!("{task} waits: {cause}");
    let text = format!(
        "{why}\nWhat to do: {}.\nThen answer `{TRY_AGAIN}`. No retry was spent.",
        cause.advice(agent)
    );
    let asked =
        asks(QuestionKind::Unavailable, TaskTopic::Limit, (title, text)).choices([TRY_AGAIN]);
    match cause {
        ParkCause::Budget => asked.next(NextStep::EditServedTask { task: task.clone() }),
        _ => asked,
    }
}

/// What a task cannot be set up with; `next` are the steps that fix it.
pub(super) fn hindrance(task: &ServerTaskId, parked: &Parked, next: &[NextStep]) -> Asks {
    let Parked { cause, why, .. } = parked;
    let title = format!("{task} waits: {why}");
    let text = format!(
        "{cause}: {why}\nWhat to do: {}.\n`{TRY_AGAIN}` tries it at once. No retry was spent.",
        cause.advice("")
    );
    let asked =
        asks(QuestionKind::Unavailable, TaskTopic::Limit, (title, text)).choices([TRY_AGAIN]);
    next.iter().cloned().fold(asked, Question::next)
}

pub(super) fn quarantine(task: &ServerTaskId, attempt: u32, pause: &PersonPause) -> Asks {
    let title = format!("{task}: attempt {attempt} was stopped: {}", pause.why);
    let kept = pause.kept.as_deref().unwrap_or("nothing of it could be kept");
    let text = format!(
        "Attempt {attempt} did something that Waypost was not asked about: {}\nIt was stopped. What \
         it left is kept at: {kept}\n`{RESUME}` goes on from the newest checkpoint, `{FAIL}` ends the \
         task.",
        pause.why
    );
    asks(QuestionKind::Escalation, TaskTopic::Quarantine(attempt), (title, text))
        .choices([RESUME, FAIL])
}
