//! Tools around the inbox: what waits for a person, and questions to one.

use super::visit::{ToolAnswer, Visit, object, read};
use crate::{data::EntryReport, error::CliError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;
use waypost_engine::{
    conversation::{self, ConversationQuestion, QuestionStanding},
    entries, own_conversation,
};
use waypost_mcp::Call;
use waypost_model::id::{BadId, EntryId};

/// How long an answer is waited for unless said otherwise: usual clients give up after a minute.
const WAIT_USUAL: Duration = Duration::from_secs(50);

/// Nothing waits longer in one call.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// How often is looked for an answer.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// How often a client that listens is told that it still waits.
const TELL_INTERVAL: Duration = Duration::from_secs(10);

/// What a person is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskInput {
    /// The whole question, with what a person needs in order to answer it.
    question: String,
    /// The answers that mean something; none: any text.
    #[serde(default)]
    choices: Vec<String>,
    /// How long to wait for the answer; 50 unless said, 0: not at all.
    wait_seconds: Option<u64>,
}

/// Which question is meant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerInput {
    /// Its id, as question_ask told it.
    id: String,
    /// How long to wait for the answer; not at all unless said.
    wait_seconds: Option<u64>,
}

/// How a question stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct QuestionState {
    id: String,
    /// open, answered or taken_back.
    status: &'static str,
    /// The person's words, once there are some.
    answer: Option<String>,
}

/// What waits for a person.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OpenEntries<'a> {
    entries: Vec<EntryReport<'a>>,
}

pub(super) fn list(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: super::tools::Nothing = read(arguments)?;
    let waiting = entries::waiting(&mut visit.project)?;
    object(&OpenEntries { entries: waiting.iter().map(EntryReport::from).collect() })
}

pub(super) fn ask(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: AskInput = read(arguments)?;
    let own = own_conversation();
    let question = ConversationQuestion {
        conversation: own.as_deref(),
        text: &input.question,
        choices: &input.choices,
    };
    let id = conversation::ask(&mut visit.project, &question)?;
    visit.call.tell(format!("the question waits in the inbox as {id}"));
    await_answer(visit, &id, input.wait_seconds.map_or(WAIT_USUAL, Duration::from_secs))
}

pub(super) fn answer(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: AnswerInput = read(arguments)?;
    let id: EntryId =
        input.id.parse().map_err(|error: BadId| CliError::bad_input(error.to_string()))?;
    await_answer(visit, &id, Duration::from_secs(input.wait_seconds.unwrap_or_default()))
}

/// Waits until a question is answered, the time is over, or the client has given up.
fn await_answer(visit: &mut Visit<'_>, id: &EntryId, patience: Duration) -> ToolAnswer {
    let looks = patience.min(WAIT_MAX).as_millis() / LOOK_INTERVAL.as_millis();
    let told_every = TELL_INTERVAL.as_millis() / LOOK_INTERVAL.as_millis();
    let call: &Call = visit.call;
    for look in 0..=looks {
        let standing = conversation::standing(&mut visit.project, id)?;
        let (status, answer) = match standing {
            QuestionStanding::Open if look < looks && !call.wait(LOOK_INTERVAL) => {
                if look % told_every == told_every - 1 {
                    call.tell(format!("{id} still waits for a person"));
                }
                continue;
            }
            QuestionStanding::Open => ("open", None),
            QuestionStanding::Answered { text } => ("answered", Some(text)),
            QuestionStanding::TakenBack => ("taken_back", None),
        };
        return object(&QuestionState { id: id.to_string(), status, answer });
    }
    object(&QuestionState { id: id.to_string(), status: "open", answer: None })
}
