//! `waypost knowledge`: patterns, decisions and pitfalls of the project.

use super::{open, say_notices};
use crate::{
    Context,
    data::{KnowledgeNoted, KnowledgeReport, LearnedLine},
    error::CliError,
    output::{BOLD, DIM, YELLOW, styled},
};
use std::process::ExitCode;
use waypost_engine::{
    Project,
    knowledge::{self, KnownThings, NewDecision, NewPitfall, Noted},
};
use waypost_model::json::{BadPath, Json, JsonPath};

/// Keep patterns, decisions and pitfalls of the project
///
/// They are in `.claude/orchestrator/knowledge/HASH/knowledge.yaml`, which may also be edited, and are
/// given to every agent by the files that its work is about.
#[derive(Debug, clap::Args)]
pub(crate) struct KnowledgeArgs {
    #[command(subcommand)]
    command: KnowledgeCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KnowledgeCommand {
    /// Show what is known, and what of it may not hold any more
    Show,
    Add(KnowledgeAddArgs),
    Remove(RemoveArgs),
    /// Learn from finished contracts and from subtasks that passed after retries
    ///
    /// Invariants of a finished task's design become decisions, tests that failed before they passed
    /// become pitfalls, and the command that ran the tests a pattern. Done twice, it learns nothing new.
    Learn,
}

/// Write something down
#[derive(Debug, clap::Args)]
struct KnowledgeAddArgs {
    #[command(subcommand)]
    what: AddCommand,
}

#[derive(Debug, clap::Subcommand)]
enum AddCommand {
    Pattern(PatternArgs),
    Decision(DecisionArgs),
    Pitfall(PitfallArgs),
}

/// Say how something is done here
#[derive(Debug, clap::Args)]
struct PatternArgs {
    /// Its name, as in `testing` or `naming.methods`
    name: String,
    /// A text, or JSON
    value: String,
    /// A file in which it can be seen; may be given more than once
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<String>,
}

/// Write down what was decided
///
/// A decision about the same topic takes the place of the earlier one, which stays in the journal.
#[derive(Debug, clap::Args)]
struct DecisionArgs {
    /// What it is about
    topic: String,
    /// What was decided
    decision: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    rationale: Option<String>,
    /// A file in which it can be seen; may be given more than once
    #[arg(long = "ref", value_name = "FILE")]
    refs: Vec<String>,
}

/// Write down what to look out for
#[derive(Debug, clap::Args)]
struct PitfallArgs {
    /// What to look out for
    description: String,
    /// Why it is so
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The task from which it was learned
    #[arg(long, value_name = "ID")]
    learned_from: Option<String>,
    /// A file that it is about; may be given more than once
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<String>,
}

/// Take an entry out; the journal keeps it
#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// D and a number, P and a number, or the name of a pattern
    entry: String,
}

pub(crate) fn run(context: &Context, args: &KnowledgeArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let project = &mut project;
    let done = match &args.command {
        KnowledgeCommand::Show => show(context, project),
        KnowledgeCommand::Add(args) => add(context, project, args),
        KnowledgeCommand::Remove(args) => remove(context, project, args),
        KnowledgeCommand::Learn => learn(context, project),
    };
    say_notices(context, project);
    done.map(|()| ExitCode::SUCCESS)
}

fn show(context: &Context, project: &mut Project) -> Result<(), CliError> {
    let known = knowledge::show(project)?;
    if context.out.json {
        return Ok(context.out.json(&KnowledgeReport::from(&known))?);
    }
    let document = &known.document;
    let patterns = knowledge::patterns(&known);
    if patterns.is_empty() && document.decisions.is_empty() && document.pitfalls.is_empty() {
        context.out.note("nothing is known here yet");
        return Ok(());
    }
    if !patterns.is_empty() {
        context.out.line(styled(BOLD, "patterns"))?;
    }
    for (path, value) in patterns {
        let value = value
            .as_str()
            .map_or_else(|| serde_json::to_string(&value).unwrap_or_default(), str::to_owned);
        context.out.line(format!("  {path}: {value}"))?;
        stand(context, &known, &path, &[])?;
    }
    if !document.decisions.is_empty() {
        context.out.line(styled(BOLD, "decisions"))?;
    }
    for it in &document.decisions {
        context.out.line(format!("  {} {}: {}", it.id, it.topic, it.decision))?;
        if let Some(why) = &it.rationale {
            context.out.line(styled(DIM, format!("     {why}")))?;
        }
        stand(context, &known, it.id.as_str(), &it.refs)?;
    }
    if !document.pitfalls.is_empty() {
        context.out.line(styled(BOLD, "pitfalls"))?;
    }
    for it in &document.pitfalls {
        let why = it.reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        context.out.line(format!("  {} {}{why}", it.id, it.description))?;
        stand(context, &known, it.id.as_str(), &[])?;
    }
    Ok(())
}

/// What an entry stands on, and what of that has changed.
fn stand(
    context: &Context,
    known: &KnownThings,
    entry: &str,
    refs: &[String],
) -> Result<(), CliError> {
    let on = known.stands_on.get(entry).map_or(refs, Vec::as_slice);
    if !on.is_empty() {
        context.out.line(styled(DIM, format!("     {}", on.join(", "))))?;
    }
    if let Some(changed) = known.changed.get(entry) {
        let text = format!("     changed since: {}", changed.join(", "));
        context.out.line(styled(YELLOW, text))?;
    }
    Ok(())
}

fn add(context: &Context, project: &mut Project, args: &KnowledgeAddArgs) -> Result<(), CliError> {
    let noted = match &args.what {
        AddCommand::Pattern(it) => {
            let path: JsonPath =
                it.name.parse().map_err(|bad: BadPath| CliError::bad_input(bad.to_string()))?;
            // What is no JSON is a text.
            let value: Json =
                serde_json::from_str(&it.value).unwrap_or_else(|_| Json::from(it.value.as_str()));
            knowledge::set_pattern(project, &path, &value, &it.files)?
        }
        AddCommand::Decision(it) => {
            let (topic, decision) = (it.topic.clone(), it.decision.clone());
            let (rationale, refs) = (it.rationale.clone(), it.refs.clone());
            knowledge::decide(project, &NewDecision { topic, decision, rationale, refs })?
        }
        AddCommand::Pitfall(it) => {
            let new = NewPitfall {
                description: it.description.clone(),
                reason: it.reason.clone(),
                learned_from: it.learned_from.clone(),
                files: it.files.clone(),
            };
            knowledge::warn(project, &new)?
        }
    };
    print_noted(context, &noted)
}

fn print_noted(context: &Context, noted: &Noted) -> Result<(), CliError> {
    if context.out.json {
        return Ok(context.out.json(&KnowledgeNoted::from(noted))?);
    }
    let word = match (noted.is_replaced, noted.is_changed) {
        (_, false) => "is as it was",
        (true, true) => "is replaced; the journal keeps what it was",
        (false, true) => "is written down",
    };
    context.out.done(format!("{} {word}", noted.entry));
    Ok(())
}

fn remove(context: &Context, project: &mut Project, args: &RemoveArgs) -> Result<(), CliError> {
    knowledge::remove(project, &args.entry)?;
    if context.out.json {
        let line = KnowledgeNoted { entry: &args.entry, replaced: false, removed: true };
        return Ok(context.out.json(&line)?);
    }
    context.out.done(format!("{} is taken out; the journal keeps it", args.entry));
    Ok(())
}

fn learn(context: &Context, project: &mut Project) -> Result<(), CliError> {
    let learned = knowledge::learn(project)?;
    if context.out.json {
        let lines: Vec<LearnedLine<'_>> = learned.iter().map(LearnedLine::from).collect();
        return Ok(context.out.json_list(&lines)?);
    }
    if learned.is_empty() {
        context.out.note("nothing new was learned");
    }
    for it in &learned {
        context.out.line(format!("{} {} ({})", it.noted.entry, it.text, it.from))?;
    }
    Ok(())
}
