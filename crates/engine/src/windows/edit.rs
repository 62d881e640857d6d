//! A file that is not what we left: what it is, and what becomes of it.
//!
//! An edit is adopted as commands, never as state: one refusal refuses the whole file, which is
//! then kept, and the truth is shown again.

use super::{
    WindowFile,
    window::{CommandOf, MachineWindow, Translation},
};
use crate::{
    error::{EngineError, Problem},
    ledger::MachineCommand,
    project::Project,
};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::path::PathBuf;
use waypost_model::{
    actor::Actor,
    answer::Answer,
    code::Code,
    diagnostic::Diagnostic,
    id::StreamName,
    inbox::{self, Question, QuestionKind, Topic},
    layout,
    machine::{Cause, Rejected},
    next::{NextStep, Remark},
};
use waypost_store::{file, hash, parse};

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

/// What questions about a window's file are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WindowTopic {
    /// An edit that waits for a person, by the name under which it is kept.
    WaitingEdit(String),
    RefusedEdit,
}

impl WindowTopic {
    /// What a topic of a machine says about its window; about the one of this name, where it has many.
    pub(super) fn read(topic: &Topic, window: Option<&str>) -> Option<Self> {
        let topic = match window {
            Some(window) => topic.as_str().strip_prefix(window)?.strip_prefix('/')?,
            None => topic.as_str(),
        };
        match topic.split_once('/') {
            Some(("edit", name)) if name.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Some(Self::WaitingEdit(name.to_owned()))
            }
            _ => (topic == "refused-edit").then_some(Self::RefusedEdit),
        }
    }

    fn of_window(self, window: Option<&str>) -> Topic {
        let topic = match self {
            Self::WaitingEdit(name) => format!("edit/{name}"),
            Self::RefusedEdit => "refused-edit".to_owned(),
        };
        Topic::new(match window {
            Some(window) => format!("{window}/{topic}"),
            None => topic,
        })
    }
}

/// Finds out what `bytes` are, and does what follows from it.
pub(super) fn consider<W: MachineWindow>(
    project: &mut Project,
    window: &WindowFile,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let WindowFile { archive, stream, .. } = window;
    let Some((_, shown)) = window.text::<W>(project)? else { return Ok(()) };
    if shown.as_bytes() == bytes {
        return Ok(());
    }
    let Some((_, present)) = window.document::<W>(project)? else { return Ok(()) };
    let path = window.shown(project);
    let put_back = format!("an earlier {path} was put back; it shows the present state again");
    if archive.has_shown(bytes)? || was_shown_before_cut::<W>(project, window, |it| it == bytes)? {
        let is_newest = archive.kept()?.first().is_some_and(|newest| newest.is_of(bytes));
        if !is_newest {
            project.notice(put_back);
        }
        return Ok(());
    }
    let edited = match parse::parse::<W::Document>(bytes) {
        Ok(parsed) => parsed.value,
        Err(_) if is_torn::<W>(project, window, &shown, bytes)? => {
            project.notice(format!("{path} was empty or cut short and is shown again"));
            return Ok(());
        }
        Err(findings) => {
            let reasons = findings.iter().take(REASONS_MAX).map(reason);
            let reasons = reasons.map(|reason| Rejected::rule(Code::EditRefused, reason));
            let reasons: Vec<Rejected> = reasons.collect();
            if W::KEEPS_UNREADABLE && serde_json::from_slice::<IgnoredAny>(bytes).is_err() {
                keep_beside(project, window, bytes)?;
            }
            return refuse(project, window, bytes, &reasons);
        }
    };
    let mut base = base_of::<W>(project, window, &edited)?.unwrap_or_else(|| present.clone());
    let mut translated = translate::<W>(project, stream, &base, &edited)?;
    let says_nothing = translated.as_ref().is_ok_and(Vec::is_empty);
    let date = W::dated(&edited);
    let is_of_now = date.is_some() && date == W::dated(&present);
    if says_nothing && (is_of_now || date != W::dated(&base)) {
        // It says what an earlier rendering said, and not that it is that one: something was taken out.
        base = present.clone();
        translated = translate::<W>(project, stream, &base, &edited)?;
    }
    match translated {
        Err(reasons) => refuse(project, window, bytes, &reasons),
        Ok(commands) if commands.is_empty() => {
            // An earlier rendering in other words: what was meant by it cannot be told.
            if !translate::<W>(project, stream, &present, &edited)?.is_ok_and(|it| it.is_empty()) {
                project.notice(put_back);
            }
            Ok(())
        }
        Ok(commands) if W::waits_for_person(project)? => {
            let meaning = in_words::<W>(&commands);
            hold(project, window, &WaitingEdit { version: 1, base, edited }, &meaning)
        }
        Ok(commands) => {
            let meaning = in_words::<W>(&commands);
            match project.commit(&addressed::<W>(stream, commands)) {
                Ok(()) => {
                    project.notice(format!("took up an edit of {path}: {meaning}"));
                    Ok(())
                }
                // The attempt ended just now: the edit is left to the next command.
                Err(EngineError::Rejected(rejected)) if rejected.cause == Cause::Stale => {
                    Err(rejected.into())
                }
                Err(EngineError::Rejected(rejected)) => refuse(project, window, bytes, &[rejected]),
                Err(error) => Err(error),
            }
        }
    }
}

/// Whether such a rendering was shown and a power cut has made us forget it: hashes of the newest ones are
/// not synced one by one.
fn was_shown_before_cut<W: MachineWindow>(
    project: &mut Project,
    window: &WindowFile,
    is_it: impl Fn(&[u8]) -> bool,
) -> Result<bool, EngineError> {
    let head = window.head(project)?;
    let unsure = window.archive.unsure(head)?;
    let is_it =
        |machine: &W::Machine| W::render_text(machine).is_some_and(|text| is_it(text.as_bytes()));
    project.any_version::<W::Machine>(&window.stream, unsure, is_it)
}

/// Whether `bytes` are what a power cut may leave of a rendering, which is not synced: nothing, or its
/// beginning, with zeros after it.
fn is_torn<W: MachineWindow>(
    project: &mut Project,
    window: &WindowFile,
    present: &str,
    bytes: &[u8],
) -> Result<bool, EngineError> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let rest = &bytes[..end];
    if rest.is_empty() || present.as_bytes().starts_with(rest) {
        return Ok(true);
    }
    for kept in window.archive.kept()? {
        if window.rendering::<W>(project, &kept)?.is_some_and(|whole| whole.starts_with(rest)) {
            return Ok(true);
        }
    }
    was_shown_before_cut::<W>(project, window, |whole| whole.starts_with(rest))
}

/// What an edit means to the machine as it stands now.
fn translate<W: MachineWindow>(
    project: &mut Project,
    stream: &StreamName,
    base: &W::Document,
    edited: &W::Document,
) -> Result<Translation<W>, EngineError> {
    let Some(loaded) = project.machine::<W::Machine>(stream)? else { return Ok(Ok(Vec::new())) };
    let mut translated = W::translate(&loaded.state, base, edited);
    if let Ok(commands) = &mut translated {
        W::find_out(project, commands)?;
    }
    Ok(translated)
}

/// Commands on their way to the machine that the window shows.
fn addressed<W: MachineWindow>(
    stream: &StreamName,
    commands: Vec<CommandOf<W>>,
) -> Vec<MachineCommand> {
    let addressed = |command| MachineCommand::of::<W::Machine>(stream.clone(), command);
    commands.into_iter().map(addressed).collect()
}

/// Commands in a few words.
fn in_words<W: MachineWindow>(commands: &[CommandOf<W>]) -> String {
    commands.iter().map(W::describe).collect::<Vec<_>>().join(", ")
}

/// A finding about a file, in a line.
fn reason(finding: &Diagnostic) -> String {
    let place = finding.place.map(|at| format!("line {}, column {}: ", at.line, at.column));
    let expected = finding.expected.as_ref().map(|text| format!(", expected {text}"));
    let hint = finding.hint.as_ref().map(|text| format!(", {text}"));
    let part = Option::unwrap_or_default;
    format!("{}{}{}{}", part(place), finding.message, part(expected), part(hint))
}

/// The rendering that an edit was made from: the newest of the same date, else the one with the smallest
/// difference, the newest on a tie.
fn base_of<W: MachineWindow>(
    project: &mut Project,
    window: &WindowFile,
    edited: &W::Document,
) -> Result<Option<W::Document>, EngineError> {
    let date = W::dated(edited);
    let mut best: Option<((bool, usize), W::Document)> = None;
    for kept in window.archive.kept()? {
        let Some(bytes) = window.rendering::<W>(project, &kept)? else { continue };
        let Ok(parsed) = parse::parse::<W::Document>(&bytes) else { continue };
        let is_same = date.is_some() && W::dated(&parsed.value) == date;
        let difference = match is_same {
            true => (false, 0),
            false => (true, W::difference(&parsed.value, edited)),
        };
        if best.as_ref().is_none_or(|(least, _)| difference < *least) {
            best = Some((difference, parsed.value));
        }
    }
    Ok(best.map(|(_, document)| document))
}

/// Keeps a file that cannot be taken up, says why, and leaves a trace in the inbox.
fn refuse(
    project: &mut Project,
    window: &WindowFile,
    bytes: &[u8],
    refused: &[Rejected],
) -> Result<(), EngineError> {
    let kept = window.archive.refuse(bytes, project.clock.now())?;
    let path = window.shown(project);
    let reasons = joined(refused);
    let next: Vec<NextStep> = refused.iter().flat_map(|it| it.next.clone()).collect();
    let text = format!("an edit of {path} was refused: {reasons} (kept as {})", kept.display());
    project.notice(Remark { next: next.clone(), ..Remark::from(text) });
    let text = format!(
        "An edit of {path} was refused and the present state is shown again. {reasons}. The \
         edited file is kept as {}.",
        kept.display()
    );
    let topic = WindowTopic::RefusedEdit.of_window(window.name);
    let title = format!("an edit of {path} was refused");
    let question = Question::new(QuestionKind::RefusedEdit, topic, title, text);
    let question = Question { next, ..question.choices(["seen"]) };
    ask(project, question.asked_by(&window.stream))
}

/// Keeps a file that cannot be read beside its place, once.
fn keep_beside(
    project: &mut Project,
    window: &WindowFile,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let kept = file::keep_damaged(&window.path, bytes)?;
    let (path, kept) = (window.shown(project), super::shown(project, &kept));
    project.notice(format!(
        "{path} could not be read: what the journal has is shown again, the bad file is {kept}"
    ));
    Ok(())
}

/// All reasons in a line.
fn joined(refused: &[Rejected]) -> String {
    let reasons: Vec<&str> = refused.iter().map(|it| it.message.as_str()).collect();
    reasons.join("; ")
}

/// Lets an edit wait for a person.
fn hold<D: Serialize>(
    project: &mut Project,
    window: &WindowFile,
    waiting: &WaitingEdit<D>,
    meaning: &str,
) -> Result<(), EngineError> {
    let bytes = serde_json::to_vec(waiting).expect("documents are plain data");
    let name = hash::sha256_hex(&bytes)[..16].to_owned();
    file::replace(&waiting_path(project, &name), &bytes, file::PRIVATE)?;
    let path = window.shown(project);
    project.notice(format!("an edit of {path} waits in the inbox for a person"));
    let text = format!(
        "{path} was edited while an agent was at work. Taken up, it means: {meaning}. `accept` \
         does that, recorded as forced; `decline` leaves everything as it is."
    );
    let topic = WindowTopic::WaitingEdit(name).of_window(window.name);
    let title = format!("{path} was edited: take it up?");
    let question =
        Question::new(QuestionKind::WaitingEdit, topic, title, text).choices(["accept", "decline"]);
    ask(project, question.asked_by(&window.stream))
}

fn waiting_path(project: &Project, name: &str) -> PathBuf {
    project.setup.place.state.join(layout::state::WAITING_EDITS).join(format!("{name}.json"))
}

/// What a person accepts by saying yes to the edit that is kept under `name`.
pub(super) fn accept<W: MachineWindow>(
    project: &mut Project,
    answer: &Answer<'_>,
    name: &str,
) -> Result<Vec<MachineCommand>, EngineError> {
    let path = waiting_path(project, name);
    let bytes = file::read_bounded(&path, WAITING_SIZE_MAX)?.ok_or_else(|| {
        Problem::new(Code::EditGone, format!("the edit in {} is gone", path.display()))
            .hint("answer `decline`, and make the edit again")
    })?;
    let waiting: WaitingEdit<W::Document> = serde_json::from_slice(&bytes).map_err(|error| {
        Problem::new(Code::EditUnreadable, format!("{} cannot be read", path.display()))
            .because(error)
    })?;
    match translate::<W>(project, answer.stream, &waiting.base, &waiting.edited)? {
        Ok(commands) => Ok(addressed::<W>(answer.stream, commands)),
        Err(refused) => Err(Problem::new(Code::EditUnreadable, joined(&refused)).into()),
    }
}

/// Puts a question into the inbox, on behalf of Waypost.
fn ask(project: &mut Project, question: Question) -> Result<(), EngineError> {
    let actor = std::mem::replace(&mut project.caller.actor, Actor::Waypost);
    let asked = project.commit(&[MachineCommand::inbox(inbox::Command::Ask(question))]);
    project.caller.actor = actor;
    asked
}
