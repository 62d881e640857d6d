//! Takes what the hook wrote down into the journal.
//!
//! The hook appends to `verdicts.jsonl` under a shared lock. Here the file is moved aside under
//! the exclusive one, so that no process writes to it any more, read, committed, and removed. A hook
//! that finds it locked writes a file of its own, which is taken in likewise. A file that was
//! committed and not removed is known by its name and not counted twice.

use crate::{
    error::{EngineError, Problem},
    gate,
    ledger::{MachineCommand, verdicts_stream},
    project::Project,
};
use std::{
    collections::{HashSet, VecDeque},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};
use waypost_model::verdict::{self, Event, Verdict, VerdictOutcome, Verdicts};
use waypost_model::{code::Code, layout};
use waypost_store::{file, journal::Recorded, lock::FileLock};

/// Where the hook writes.
const FILE: &str = layout::state::VERDICTS;

/// How the files are called that were moved aside.
const ASIDE: &str = "verdicts-";

/// The most that is read of one file; the hook stops long before that.
const FILE_SIZE_MAX: u64 = 64 << 20;

/// How many judged calls are remembered; older ones are looked up in the journal.
const JUDGED_MAX: usize = 100_000;

/// How many entries of the journal are read at once when calls are looked up.
const PAGE: u64 = 256;

/// As much of a file as tells it from every other: its first verdict has a time and a call.
const START_LENGTH: u64 = 256;

/// From this size on the hook's file is taken in, so that it is never full while a host works.
const TAKEN_IN_FROM: u64 = 1 << 20;

/// Calls that the hook has judged, as far as its file and the journal were read.
#[derive(Debug, Default)]
pub(crate) struct JudgedCalls {
    calls: HashSet<String>,
    /// The same, oldest first.
    order: VecDeque<String>,
    /// How the hook's file begins that was read last, and up to where it was. A file that takes the place of
    /// one that was moved may have its number, but never its first line.
    file: (Vec<u8>, u64),
    /// How many events of the hook's stream were read; none: it was not looked at.
    read: Option<u64>,
}

impl JudgedCalls {
    fn note(&mut self, call: &str) {
        if self.calls.insert(call.to_owned()) {
            self.order.push_back(call.to_owned());
        }
        while self.order.len() > JUDGED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }

    fn note_lines(&mut self, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n') {
            let verdict = serde_json::from_slice::<Verdict>(line).ok();
            verdict.iter().filter_map(call_of).for_each(|call| self.note(call));
        }
    }

    /// Reads what the hook has written since, up to the last whole line. Says how large its file is.
    fn read_file(&mut self, path: &Path) -> io::Result<u64> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let mut start = Vec::new();
        file.by_ref().take(START_LENGTH).read_to_end(&mut start)?;
        let is_same = !self.file.0.is_empty() && start.starts_with(&self.file.0);
        let from = if is_same { self.file.1.min(length) } else { 0 };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.take(FILE_SIZE_MAX).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.note_lines(&bytes[..whole]);
        self.file = (start, from + whole as u64);
        Ok(length)
    }
}

/// The call that a verdict is about.
fn call_of(verdict: &Verdict) -> Option<&str> {
    match &verdict.outcome {
        VerdictOutcome::Allowed { call, .. } | VerdictOutcome::Refused { call, .. } => {
            call.as_deref()
        }
        VerdictOutcome::Started { .. }
        | VerdictOutcome::Compacted { .. }
        | VerdictOutcome::Held { .. } => None,
    }
}

/// The calls that a recorded event is about.
fn calls_in(recorded: &Recorded) -> Vec<String> {
    match serde_json::from_str(&recorded.body) {
        Ok(Event::Taken { allowed, .. }) => allowed,
        Ok(Event::Refused(verdict)) => call_of(&verdict).map(str::to_owned).into_iter().collect(),
        Ok(Event::Started(_) | Event::Compacted(_) | Event::Held(_)) | Err(_) => Vec::new(),
    }
}

/// Those of these calls that the hook has not judged.
///
/// A verdict goes from the hook's file to one that was moved aside and from there into the journal. They
/// are read in this order, so that none is missed on its way.
pub(crate) fn unjudged<'a>(
    project: &mut Project,
    calls: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<String>, EngineError> {
    let mut left: Vec<String> = calls.into_iter().map(str::to_owned).collect();
    let known = |project: &Project, left: &mut Vec<String>| {
        left.retain(|call| !project.judged.calls.contains(call));
        left.is_empty()
    };
    if known(project, &mut left) {
        return Ok(left);
    }
    let path = project.setup.place.state.join(FILE);
    let size = project.judged.read_file(&path).map_err(|error| {
        Problem::new(Code::AgentSilent, "cannot read what the hook has written")
            .hint("try again")
            .because(error)
    })?;
    for source in file::list(&project.setup.place.state)? {
        if source.starts_with(ASIDE)
            && let Some(bytes) =
                file::read_bounded(&project.setup.place.state.join(&source), FILE_SIZE_MAX)?
        {
            project.judged.note_lines(&bytes);
        }
    }
    if !known(project, &mut left) {
        read_news(project)?;
    }
    if !known(project, &mut left) {
        look_back(project, &mut left)?;
    }
    if size > TAKEN_IN_FROM {
        take_in(project)?;
    }
    Ok(left)
}

/// Reads what was recorded of the hook since the last look.
fn read_news(project: &mut Project) -> Result<(), EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(()) };
    let (view, stream) = (journal.view()?, verdicts_stream());
    let head = view.head(&stream)?;
    let mut read = project.judged.read.unwrap_or(head);
    while read < head {
        let page = view.events(&stream, read, PAGE as usize)?;
        let Some(last) = page.last() else { break };
        read = last.stream_seq;
        for call in page.iter().flat_map(calls_in) {
            project.judged.note(&call);
        }
    }
    project.judged.read = Some(read);
    Ok(())
}

/// Looks for calls among all that was ever recorded of the hook, newest first.
fn look_back(project: &mut Project, left: &mut Vec<String>) -> Result<(), EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(()) };
    let (view, stream) = (journal.view()?, verdicts_stream());
    let mut until = view.head(&stream)?;
    while until > 0 && !left.is_empty() {
        let from = until.saturating_sub(PAGE);
        let count = usize::try_from(until - from).unwrap_or(usize::MAX);
        let page = view.events(&stream, from, count)?;
        let found: HashSet<String> = page.iter().flat_map(calls_in).collect();
        left.retain(|call| !found.contains(call));
        until = from;
    }
    Ok(())
}

/// What the journal knows of the hook.
pub fn list(project: &mut Project) -> Result<Verdicts, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(Verdicts::default()) };
    Ok(project.ledger.get::<Verdicts>(&journal.view()?, &verdicts_stream())?.state.clone())
}

/// Takes everything in that the hook has written since; quick where there is nothing.
pub(crate) fn take_in(project: &mut Project) -> Result<(), EngineError> {
    let path = project.setup.place.state.join(FILE);
    if project.journal.is_none() {
        return Ok(());
    }
    if file::Mark::of(&path)?.is_some_and(|mark| mark.size > 0) {
        move_aside(project, &path)?;
    }
    for source in file::list(&project.setup.place.state)? {
        if source.starts_with(ASIDE) {
            take_file(project, &source)?;
        }
    }
    Ok(())
}

fn move_aside(project: &Project, path: &Path) -> Result<PathBuf, EngineError> {
    let _alone = FileLock::acquire(path)?;
    let name = format!("{ASIDE}{}-{}.jsonl", project.clock.now().millis(), std::process::id());
    let aside = project.setup.place.state.join(name);
    file::rename(path, &aside)?;
    Ok(aside)
}

fn take_file(project: &mut Project, source: &str) -> Result<(), EngineError> {
    let path = project.setup.place.state.join(source);
    let Some(bytes) = file::read_bounded(&path, FILE_SIZE_MAX)? else { return Ok(()) };
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let read: Vec<Option<Verdict>> = lines.map(|line| serde_json::from_str(line).ok()).collect();
    let lost = read.iter().filter(|verdict| verdict.is_none()).count();
    if lost > 0 {
        project.notice(format!("{lost} lines of the hook's log could not be read"));
    }
    let verdicts = read.into_iter().flatten().collect();
    let command = verdict::Command::TakeIn { source: source.to_owned(), verdicts };
    gate::by_waypost(project, &[MachineCommand::verdicts(command)])?;
    Ok(file::remove(&path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use waypost_model::time::Time;

    fn line(call: &str) -> String {
        let verdict = Verdict {
            v: Verdict::FORMAT,
            at: Time::from_millis(1),
            tree: "main".into(),
            program: "claude".into(),
            session: None,
            subagent: None,
            outcome: VerdictOutcome::Allowed { tool: "Bash".into(), call: Some(call.into()) },
        };
        serde_json::to_string(&verdict).unwrap() + "\n"
    }

    /// The hook's file is moved away and begun again at any time; a file system gives the new one the number
    /// of the old one.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test plays the part of the hook")]
    fn a_file_that_takes_the_place_of_another_is_read_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("verdicts.jsonl");
        let mut judged = JudgedCalls::default();
        let mut has = |text: &str, call: &str| {
            // In place, so that the number stays.
            fs::write(&path, text).unwrap();
            judged.read_file(&path).unwrap();
            judged.calls.contains(call)
        };
        assert!(has(&line("a"), "a"));
        assert!(has(&(line("a") + &line("b")), "b"), "what was added");
        assert!(has(&(line("c") + &line("d") + &line("e")), "c"), "what stands in a new file");
        let torn = line("f");
        assert!(!has(&torn[..torn.len() - 1], "f"), "a line is taken as a whole");
        assert!(has(&torn, "f"));
    }
}
