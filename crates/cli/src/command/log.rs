//! `waypost log`: what happened, from the journal.

use super::open;
use crate::{
    Context,
    data::LogLine,
    error::CliError,
    output::{CYAN, DIM, styled},
};
use serde_json::{Value, value::RawValue};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    process::ExitCode,
    time::Duration,
};
use waypost_engine::{BadCursor, Cursor, Follower, Project, Recorded, mentions};
use waypost_model::{
    code::Code,
    verdict::{Verdict, VerdictOutcome},
};

/// How often a followed log is looked at where the system does not tell of commits.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The stream of what the hook answered.
const VERDICTS: &str = "verdicts";

/// Fields of an event that are too long for a line.
const LONG_FIELDS: [&str; 4] = ["plan", "contract", "feature", "settings"];

/// Show what happened
///
/// Events of every machine with their number, their time and who caused them, oldest first: the
/// newest 50, with `--all` every one of them.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Only events about this task, checkpoint, inbox entry or stream
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// How many of the newest events
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,

    /// All events, not only the newest
    #[arg(long, conflicts_with_all = ["limit", "after"])]
    all: bool,

    /// Only what the hook refused: when, to whom, why
    #[arg(long)]
    refused: bool,

    /// Go on printing as more happens
    #[arg(long, short)]
    follow: bool,

    /// Everything after this cursor, as `--json` prints one with each event; `1.0` is the beginning
    #[arg(long, value_name = "CURSOR", conflicts_with = "limit")]
    after: Option<String>,
}

pub(crate) fn run(context: &Context, args: &LogArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let is_refusal =
        |entry: &Recorded| entry.stream.as_str() == VERDICTS && entry.kind == "refused";
    let wanted = |entry: &Recorded| {
        (is_refusal(entry) || !args.refused)
            && args.id.as_ref().is_none_or(|id| mentions::is_about(entry, id))
    };
    if let Some(after) = &args.after {
        let after = after.parse().map_err(|error: BadCursor| {
            CliError::new(Code::CursorUnknown, error.to_string())
                .hint("take it from `log --json` as it is")
        })?;
        let follower = Follower::new(&project, after);
        return read_on(context, args, (project, follower), wanted);
    }
    let mut last = Cursor::START;
    let limit = if args.all { usize::MAX } else { args.limit };
    let entries = match &args.id {
        Some(id) => mentions::entries_about(&mut project, id, limit, wanted)?,
        None if args.refused => {
            let verdicts = VERDICTS.parse().expect("it is the name of a stream");
            mentions::entries_of_stream(&mut project, &verdicts, limit, wanted)?
        }
        None => project.log(limit, wanted)?,
    };
    for entry in entries {
        last = entry.cursor();
        print(context, &entry)?;
    }
    if last == Cursor::START && !args.follow {
        context.out.note(match &args.id {
            _ if args.refused => "nothing was refused".to_owned(),
            Some(id) => format!("nothing in the journal is about {id}"),
            None => "nothing has happened yet".to_owned(),
        });
    }
    if !args.follow {
        return Ok(ExitCode::SUCCESS);
    }
    let follower = Follower::new(&project, last);
    read_on(context, args, (project, follower), wanted)
}

/// Prints what was recorded after the follower's place, and with `--follow` what comes.
fn read_on(
    context: &Context,
    args: &LogArgs,
    (mut project, mut follower): (Project, Follower),
    wanted: impl Fn(&Recorded) -> bool,
) -> Result<ExitCode, CliError> {
    loop {
        let news = follower.take(&mut project)?;
        for entry in news.iter().filter(|entry| wanted(entry)) {
            print(context, entry)?;
        }
        if news.is_empty() && !args.follow {
            return Ok(ExitCode::SUCCESS);
        }
        if news.is_empty() {
            follower.wait(LOOK_INTERVAL);
        }
    }
}

/// What an event says: `{"task_started": {…}}` without the word that is its kind, as it is written.
fn raw_body(entry: &Recorded) -> Option<&RawValue> {
    let event: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(&entry.body).ok()?;
    event.get(entry.kind.as_str()).copied()
}

/// The same with objects in its long fields left out: a plan may have a hundred thousand tasks.
fn short_body(entry: &Recorded) -> Value {
    let raw = raw_body(entry).map_or("null", RawValue::get);
    let fields: Option<BTreeMap<String, &RawValue>> = serde_json::from_str(raw).ok();
    let Some(fields) = fields else { return serde_json::from_str(raw).unwrap_or(Value::Null) };
    let short = |(name, raw): (String, &RawValue)| {
        let is_long = LONG_FIELDS.contains(&name.as_str()) && raw.get().starts_with('{');
        let value = match is_long {
            true => Value::Object(serde_json::Map::new()),
            false => serde_json::from_str(raw.get()).unwrap_or(Value::Null),
        };
        (name, value)
    };
    Value::Object(fields.into_iter().map(short).collect())
}

fn print(context: &Context, entry: &Recorded) -> Result<(), CliError> {
    if context.out.json {
        return Ok(context.out.json(&LogLine {
            seq: entry.seq,
            cursor: entry.cursor(),
            stream: &entry.stream,
            stream_seq: entry.stream_seq,
            at: entry.at.to_string(),
            actor: &entry.actor,
            kind: &entry.kind,
            body: raw_body(entry),
        })?);
    }
    let number = styled(DIM, format!("{:>6} {}", entry.seq, entry.at));
    let kind = styled(CYAN, &entry.kind);
    let body = short_body(entry);
    if let Ok(verdict) = serde_json::from_value::<Verdict>(body.clone()) {
        let number = styled(DIM, format!("{:>6} {}", entry.seq, verdict.at));
        return Ok(context.out.line(format!(
            "{number} {} {kind} {}",
            entry.stream,
            told(&verdict)
        ))?);
    }
    let details = details(&body);
    let actor = styled(DIM, format!("by {}", entry.actor));
    Ok(context.out.line(format!("{number} {} {kind} {details}{actor}", entry.stream))?)
}

/// A verdict in a line: who was told what.
fn told(verdict: &Verdict) -> String {
    let what = match &verdict.outcome {
        VerdictOutcome::Refused { tool, rule, message, .. } => {
            format!("{tool} ({rule}): {message}")
        }
        VerdictOutcome::Allowed { tool, .. } => tool.clone(),
        VerdictOutcome::Started { source } => source.clone(),
        VerdictOutcome::Compacted { trigger } => trigger.clone(),
        VerdictOutcome::Held { message } => message.clone(),
    };
    let mut whom = verdict.program.clone();
    let parts = [("session", &verdict.session), ("subagent", &verdict.subagent)];
    for (name, id) in parts.into_iter().filter_map(|(name, id)| Some((name, id.as_ref()?))) {
        let _infallible = write!(whom, " {name} {id}");
    }
    format!("{}: {what}", styled(DIM, whom))
}

/// The short fields of an event as `name=value`.
fn details(body: &Value) -> String {
    let Value::Object(fields) = body else { return String::new() };
    let shown = |value: &Value| match value {
        // What an agent has written could look like lines of ours.
        Value::String(text) if text.contains(|c: char| c.is_whitespace() || c.is_control()) => {
            format!("{text:?}")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| match value {
            Value::Object(_) if LONG_FIELDS.contains(&name.as_str()) => format!("{name}=… "),
            Value::Object(question) if name == "question" => {
                format!("{} ", shown(question.get("title").unwrap_or(&Value::Null)))
            }
            Value::Object(it) if name == "conversation" => {
                let [agent, id] =
                    ["agent", "id"].map(|key| shown(it.get(key).unwrap_or(&Value::Null)));
                format!("agent={agent} conversation={id} {}", behind(it.get("wall")))
            }
            Value::Object(evidence) if evidence.contains_key("kind") => {
                format!("{name}={} ", shown(&evidence["kind"]))
            }
            value => format!("{name}={} ", shown(value)),
        })
        .collect()
}

/// The wall that an agent was behind as a whole; nothing where it was not recorded.
fn behind(wall: Option<&Value>) -> String {
    match wall.and_then(Value::as_str) {
        None => String::new(),
        Some("none") => "without a wall ".to_owned(),
        Some(level) => format!("behind the wall, level {} ", level.to_uppercase()),
    }
}
