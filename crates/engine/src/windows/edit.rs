//! A file that is not what we left: what it is, and what becomes of it.
//!
//! An edit is adopted as commands, never as state: one refusal refuses the whole file, which is
//! then kept, and the truth is shown again.

use super::{face::Face, face::RunFace, shown};
use crate::{
    error::{EngineError, Problem},
    ledger::MachineCommand,
    project::Project,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use waypost_model::{
    actor::Actor,
    code::Code,
    diagnostic::Diagnostic,
    inbox::{self, Question, QuestionKind},
    layout,
    machine::{Cause, Rejected},
    next::{NextStep, Remark},
    run::{self, Run, RunState},
    workflow::{self, CheckpointStep, Workflow},
};
use waypost_store::{StoreError, file, hash, parse, windows::WindowArchive};

/// How many findings about a file are told; more do not help.
const REASONS_MAX: usize = 3;

/// Larger than two state files.
const WAITING_SIZE_MAX: u64 = 192 << 20;

/// An edit that waits for a person, with the rendering it came from.
#[derive(Serialize, Deserialize)]
struct WaitingEdit<D> {
    version: u32,
    base: D,
    edited: D,
}

/// Finds out what `bytes` are, and does what follows from it.
pub(super) fn consider<F: Face>(
    project: &mut Project,
    archive: &WindowArchive,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let hash = hash::sha256_hex(bytes);
    let Some((_, present)) = F::document(project)? else { return Ok(()) };
    if parse::render(&present).as_bytes() == bytes {
        return Ok(());
    }
    let path = F::path(project).map(|path| shown(project, &path)).unwrap_or_default();
    let put_back = format!("an earlier {path} was put back; it shows the present state again");
    if archive.contains(&hash)? {
        let is_newest = archive.kept()?.first().is_some_and(|newest| newest.hash == hash);
        if !is_newest {
            project.notice(put_back);
        }
        return Ok(());
    }
    let edited = match parse::parse::<F::Document>(bytes) {
        Ok(parsed) => parsed.value,
        Err(findings) => {
            let reasons = findings.iter().take(REASONS_MAX).map(reason);
            let reasons = reasons.map(|reason| Rejected::rule(Code::EditRefused, reason));
            let reasons: Vec<Rejected> = reasons.collect();
            return refuse::<F>(project, archive, bytes, &reasons);
        }
    };
    let base = base_of::<F>(archive, &edited)?.unwrap_or_else(|| present.clone());
    match F::translate(project, &base, &edited)? {
        Err(reasons) => refuse::<F>(project, archive, bytes, &reasons),
        Ok(commands) if commands.is_empty() => {
            // An earlier rendering in other words: what was meant by it cannot be told.
            if !F::translate(project, &present, &edited)?.is_ok_and(|it| it.is_empty()) {
                project.notice(put_back);
            }
            Ok(())
        }
        Ok(_) if F::waits_for_person(project)? => hold::<F>(project, &path, base, edited),
        Ok(commands) => match project.commit(&commands) {
            Ok(()) => {
                project.notice(format!("took up an edit of {path}: {}", summary(&commands)));
                Ok(())
            }
            // The attempt ended just now: the edit is left to the next command.
            Err(EngineError::Rejected(rejected)) if rejected.cause == Cause::Stale => {
                Err(rejected.into())
            }
            Err(EngineError::Rejected(rejected)) => {
                refuse::<F>(project, archive, bytes, &[rejected])
            }
            Err(error) => Err(error),
        },
    }
}

/// A finding about a file, in a line.
fn reason(finding: &Diagnostic) -> String {
    let place = finding.place.map(|at| format!("line {}, column {}: ", at.line, at.column));
    let expected = finding.expected.as_ref().map(|text| format!(", expected {text}"));
    let hint = finding.hint.as_ref().map(|text| format!(", {text}"));
    let part = Option::unwrap_or_default;
    format!("{}{}{}{}", part(place), finding.message, part(expected), part(hint))
}

/// The rendering with the smallest difference, the newest on a tie.
fn base_of<F: Face>(
    archive: &WindowArchive,
    edited: &F::Document,
) -> Result<Option<F::Document>, StoreError> {
    let mut best: Option<(usize, F::Document)> = None;
    for kept in archive.kept()? {
        let Some(bytes) = archive.load(&kept)? else { continue };
        let Ok(parsed) = parse::parse::<F::Document>(&bytes) else { continue };
        let difference = F::difference(&parsed.value, edited);
        if best.as_ref().is_none_or(|(least, _)| difference < *least) {
            best = Some((difference, parsed.value));
        }
    }
    Ok(best.map(|(_, document)| document))
}

/// Keeps a file that cannot be taken up, says why, and leaves a trace in the inbox.
fn refuse<F: Face>(
    project: &mut Project,
    archive: &WindowArchive,
    bytes: &[u8],
    refused: &[Rejected],
) -> Result<(), EngineError> {
    let kept = archive.refuse(bytes, project.clock.now())?;
    let path = F::path(project).map(|path| shown(project, &path)).unwrap_or_default();
    let reasons = joined(refused);
    let next: Vec<NextStep> = refused.iter().flat_map(|it| it.next.clone()).collect();
    let text = format!("an edit of {path} was refused: {reasons} (kept as {})", kept.display());
    project.notice(Remark { text, next: next.clone() });
    let question = Question {
        kind: QuestionKind::RefusedEdit,
        subject: format!("{}/refused-edit", F::PART),
        title: format!("an edit of {path} was refused"),
        text: format!(
            "An edit of {path} was refused and the present state is shown again. {reasons}. The \
             edited file is kept as {}.",
            kept.display()
        ),
        choices: vec!["seen".into()],
        next,
    };
    ask(project, question)
}

/// All reasons in a line.
fn joined(refused: &[Rejected]) -> String {
    let reasons: Vec<&str> = refused.iter().map(|it| it.message.as_str()).collect();
    reasons.join("; ")
}

/// Lets an edit wait for a person.
fn hold<F: Face>(
    project: &mut Project,
    path: &str,
    base: F::Document,
    edited: F::Document,
) -> Result<(), EngineError> {
    let waiting = WaitingEdit { version: 1, base, edited };
    let bytes = serde_json::to_vec(&waiting).expect("documents are plain data");
    let name = hash::sha256_hex(&bytes)[..16].to_owned();
    file::replace(&waiting_path(project, &name), &bytes, file::PRIVATE)?;
    project.notice(format!("an edit of {path} waits in the inbox for a person"));
    let commands = F::translate(project, &waiting.base, &waiting.edited)?.unwrap_or_default();
    let question = Question {
        kind: QuestionKind::WaitingEdit,
        subject: format!("{}/edit/{name}", F::PART),
        title: format!("{path} was edited: take it up?"),
        text: format!(
            "{path} was edited while an agent was at work. Taken up, it means: {}. `accept` does \
             that, recorded as forced; `decline` leaves everything as it is.",
            summary(&commands)
        ),
        choices: vec!["accept".into(), "decline".into()],
        next: Vec::new(),
    };
    ask(project, question)
}

fn waiting_path(project: &Project, name: &str) -> PathBuf {
    project.place.state.join(layout::state::WAITING_EDITS).join(format!("{name}.json"))
}

/// What a person accepts by answering the question about `subject`.
pub(crate) fn accept_edit(
    project: &mut Project,
    subject: &str,
) -> Result<Vec<MachineCommand>, EngineError> {
    let name = subject.rsplit('/').next().unwrap_or_default();
    let path = waiting_path(project, name);
    let bytes = file::read_bounded(&path, WAITING_SIZE_MAX)?.ok_or_else(|| {
        Problem::new(Code::EditGone, format!("the edit in {} is gone", path.display()))
            .hint("answer `decline`, and make the edit again")
    })?;
    let waiting: WaitingEdit<RunState> = serde_json::from_slice(&bytes).map_err(|error| {
        Problem::new(Code::EditUnreadable, format!("{} cannot be read", path.display()))
            .because(error)
    })?;
    let commands = RunFace::translate(project, &waiting.base, &waiting.edited)?;
    commands.map_err(|refused| Problem::new(Code::EditUnreadable, joined(&refused)).into())
}

/// Puts a question into the inbox, on behalf of Waypost.
fn ask(project: &mut Project, question: Question) -> Result<(), EngineError> {
    let actor = std::mem::replace(&mut project.actor, Actor::Waypost);
    let asked = project.commit(&[MachineCommand::inbox(inbox::Command::Ask(question))]);
    project.actor = actor;
    asked
}

/// Commands in a few words.
fn summary(commands: &[MachineCommand]) -> String {
    let words = commands.iter().map(|command| {
        let run = command.wanted_of::<Run>().map(run_words);
        let workflow = command.wanted_of::<Workflow>().map(workflow_words);
        run.or(workflow).unwrap_or_else(|| "change the state".to_owned())
    });
    words.collect::<Vec<_>>().join(", ")
}

fn run_words(command: &run::Command) -> String {
    use waypost_model::run::Command as R;
    match command {
        R::Satisfy { id } | R::Done { id, .. } => format!("complete {id}"),
        R::Fail { id, .. } => format!("fail {id}"),
        R::Skip { id } => format!("skip {id}"),
        R::Retry { id } => format!("retry {id}"),
        R::Start { id } => format!("start {id}"),
        R::Configure { .. } => "change the settings".to_owned(),
        _ => "change the state".to_owned(),
    }
}

fn workflow_words(command: &workflow::Command) -> String {
    match command {
        workflow::Command::Checkpoint { id, step } => format!("{} {id}", step_word(step)),
        _ => "change the state".to_owned(),
    }
}

fn step_word(step: &CheckpointStep) -> &'static str {
    match step {
        CheckpointStep::Start { .. } => "start",
        CheckpointStep::Pass { .. } => "pass",
        CheckpointStep::Fail { .. } => "fail",
        CheckpointStep::Escalate => "escalate",
        CheckpointStep::Reopen => "reopen",
    }
}
