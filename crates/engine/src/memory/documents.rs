//! The shared context and the memory of each agent: documents, read and changed by a path inside.
//!
//! A file that cannot be read is replaced by its newest good backup, and kept beside it; where there
//! is no backup it begins again, empty. Which of the two it was is said.

use super::{DOCUMENT_BYTES_MAX, cache, folder};
use crate::{
    error::{EngineError, Problem},
    init,
    ledger::MachineCommand,
    project::Project,
};
use serde::{Serialize, de::IgnoredAny};
use std::path::{Path, PathBuf};
use waypost_model::{
    code::Code,
    document::{
        Document, MemorySessionId,
        memory::{AgentMemory, ContextSession, SharedContext},
    },
    json::{Json, JsonPath},
    layout::memory::{AGENTS, BACKUPS, SHARED_CONTEXT},
    memory::Command,
    time::{Stamp, Time},
};
use waypost_store::{documents, parse};

/// A document of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryDocument {
    Context,
    /// The memory of the agent of this name.
    Agent(String),
}

impl MemoryDocument {
    /// The document of an agent, whose name has to be one that a file can have.
    pub fn of_agent(name: &str) -> Result<Self, EngineError> {
        let memory = blank_agent(name);
        match memory.check().into_iter().next() {
            None if name.len() <= 100 => Ok(Self::Agent(name.to_owned())),
            None => {
                Err(Problem::new(Code::BadArgument, "the name of the agent is too long").into())
            }
            Some(finding) => {
                let expected = finding.expected.unwrap_or_default();
                Err(Problem::new(Code::BadArgument, finding.message).hint(expected).into())
            }
        }
    }

    /// Its path below the memory's folder.
    pub(super) fn file(&self) -> String {
        match self {
            Self::Context => SHARED_CONTEXT.to_owned(),
            Self::Agent(name) => format!("{AGENTS}/{name}.json"),
        }
    }

    pub(super) fn place(&self, project: &Project) -> Result<(PathBuf, PathBuf), EngineError> {
        let folder = folder(project)?;
        let backups = match self {
            Self::Context => folder.join(BACKUPS),
            Self::Agent(_) => folder.join(BACKUPS).join(AGENTS),
        };
        Ok((folder.join(self.file()), backups))
    }
}

fn blank_agent(name: &str) -> AgentMemory {
    AgentMemory {
        version: Default::default(),
        agent: name.to_owned(),
        preferences: Default::default(),
        cache: Default::default(),
        statistics: Default::default(),
        last_updated: None,
    }
}

/// What is at `path` inside a document. A document that is not there has nothing.
pub fn read(
    project: &mut Project,
    document: &MemoryDocument,
    path: &JsonPath,
) -> Result<Json, EngineError> {
    let bytes = load(project, document)?;
    let value = whole(document, bytes.as_deref())?;
    let found = path.find(&value).cloned().ok_or_else(|| unknown(document, path))?;
    if let MemoryDocument::Agent(name) = document {
        cache::note_use(project, name, path, &value);
    }
    Ok(found)
}

fn unknown(document: &MemoryDocument, path: &JsonPath) -> EngineError {
    Problem::new(Code::PathUnknown, format!("{} has nothing at `{path}`", document.file())).into()
}

/// Puts a value at `path` inside a document; the document is made if there is none.
pub fn set(
    project: &mut Project,
    document: &MemoryDocument,
    path: &JsonPath,
    value: &Json,
) -> Result<(), EngineError> {
    change(project, document, |json| {
        path.set(json, value.clone())
            .map_err(|bad| Problem::new(Code::PathUnknown, bad.to_string()).into())
    })
}

/// Takes out what is at `path` inside a document.
pub fn unset(
    project: &mut Project,
    document: &MemoryDocument,
    path: &JsonPath,
) -> Result<(), EngineError> {
    change(project, document, |json| match path.unset(json) {
        Ok(_) => Ok(()),
        Err(bad) => Err(Problem::new(Code::PathUnknown, bad.to_string()).into()),
    })
}

/// Makes the shared context if there is none.
pub(super) fn ensure_context(project: &mut Project) -> Result<(), EngineError> {
    let known = project.memory()?.document_hash(SHARED_CONTEXT).is_some();
    let (path, _) = MemoryDocument::Context.place(project)?;
    match path.symlink_metadata() {
        Ok(_) if known => Ok(()),
        _ => change(project, &MemoryDocument::Context, |_| Ok(())),
    }
}

/// Begins a new session in the shared context; says its id.
pub fn new_session(project: &mut Project) -> Result<MemorySessionId, EngineError> {
    let now = project.clock().now();
    let path: JsonPath = "/session".parse().expect("it is a pointer");
    let mut made = None;
    change(project, &MemoryDocument::Context, |json| {
        let before = path.find(json).and_then(|it| it.as_object()?.get("id")?.as_str());
        let session = session_after(before, now);
        made = Some(session.id.clone());
        path.set(json, as_json(&session))
            .map_err(|bad| Problem::new(Code::PathUnknown, bad.to_string()).into())
    })?;
    Ok(made.expect("a change was made"))
}

/// Begins a new session if the one of the shared context is of an earlier day. Nothing is made where
/// there is no shared context.
pub fn renew_session(project: &mut Project) -> Result<(), EngineError> {
    let Ok((path, _)) = MemoryDocument::Context.place(project) else { return Ok(()) };
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let Some(bytes) = load(project, &MemoryDocument::Context)? else { return Ok(()) };
    let Ok(parsed) = parse::parse::<SharedContext>(&bytes) else { return Ok(()) };
    let clock = project.clock();
    let began = parsed.value.session.and_then(|session| session.started_at);
    let is_old = |began: Stamp| clock.resolve(began).day() < clock.now().day();
    if began.is_none_or(is_old) {
        new_session(project)?;
    }
    Ok(())
}

/// The session that follows one with this id: of this day, counted.
fn session_after(before: Option<&str>, now: Time) -> ContextSession {
    let day: String = now.day().to_string().chars().take(10).collect();
    let number = before
        .and_then(|id| id.strip_prefix(&format!("session-{day}-"))?.parse::<u32>().ok())
        .map_or(1, |number| number.saturating_add(1));
    let id = format!("session-{day}-{number:03}");
    let id = id.parse().expect("a day and a number make an id");
    ContextSession { id, started_at: Some(now.into()) }
}

/// The content of a document that can be read.
pub(super) fn load(
    project: &mut Project,
    document: &MemoryDocument,
) -> Result<Option<Vec<u8>>, EngineError> {
    let (path, backups) = document.place(project)?;
    let on_disk =
        documents::Document { place: &project.setup.place, path: &path, backups: &backups };
    let Some((bytes, _)) = on_disk.load()? else { return Ok(None) };
    if is_readable(&bytes) {
        return Ok(Some(bytes));
    }
    let shown =
        |path: &Path| path.strip_prefix(project.root()).unwrap_or(path).display().to_string();
    let name = shown(&path);
    let is_good = |bytes: &[u8]| is_valid(document, bytes);
    match on_disk.restore(is_good) {
        Ok(restored) => {
            let kept = restored.damaged.as_deref().map(shown).unwrap_or_default();
            let from = shown(&restored.from);
            let noted = project.memory()?.document_hash(&document.file()).map(str::to_owned);
            let lacks = match noted.is_some_and(|noted| noted != restored.hash) {
                true => "; the last change to it is not in there",
                false => "",
            };
            project.notice(format!(
                "{name} could not be read: its backup {from} is in its place{lacks}, the bad file is {kept}"
            ));
        }
        Err(waypost_store::StoreError::Missing { .. }) => {
            let kept = on_disk.put_aside()?;
            let kept = kept.as_deref().map(shown).unwrap_or_default();
            project.notice(format!(
                "{name} could not be read and has no backup: it begins again, empty, the bad file is {kept}"
            ));
        }
        Err(error) => return Err(error.into()),
    }
    let (path, backups) = document.place(project)?;
    let on_disk =
        documents::Document { place: &project.setup.place, path: &path, backups: &backups };
    Ok(on_disk.load()?.map(|(bytes, _)| bytes))
}

/// Whether it is JSON at all; what is wrong inside of that has a place and is a person's to fix.
pub(super) fn is_readable(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

fn is_valid(document: &MemoryDocument, bytes: &[u8]) -> bool {
    match document {
        MemoryDocument::Context => parse::parse::<SharedContext>(bytes).is_ok(),
        MemoryDocument::Agent(_) => parse::parse::<AgentMemory>(bytes).is_ok(),
    }
}

/// A document with every field that it has, by their names.
fn whole(document: &MemoryDocument, bytes: Option<&[u8]>) -> Result<Json, EngineError> {
    fn read<D: Document>(file: &str, bytes: &[u8]) -> Result<D, EngineError> {
        let parsed = parse::parse::<D>(bytes);
        let parsed = parsed.map_err(|found| EngineError::invalid(file, bytes, found))?;
        Ok(parsed.value)
    }
    let file = document.file();
    Ok(match document {
        MemoryDocument::Context => {
            let read = bytes.map(|bytes| read::<SharedContext>(&file, bytes)).transpose()?;
            as_json(&read.unwrap_or_default())
        }
        MemoryDocument::Agent(name) => {
            let read = bytes.map(|bytes| read::<AgentMemory>(&file, bytes)).transpose()?;
            as_json(&read.unwrap_or_else(|| blank_agent(name)))
        }
    })
}

pub(crate) fn as_json(value: &impl Serialize) -> Json {
    let text = serde_json::to_string(value).expect("documents are plain data");
    serde_json::from_str(&text).expect("what was written can be read")
}

/// A document after a change, as it is written; refused with the field if it is none any more.
fn written(document: &MemoryDocument, json: &Json, now: Time) -> Result<String, EngineError> {
    let text = serde_json::to_string_pretty(json).expect("values are plain data");
    let bytes = text.as_bytes();
    let file = document.file();
    let invalid = |found| EngineError::invalid(&file, bytes, found);
    match document {
        MemoryDocument::Context => {
            let mut context = parse::parse::<SharedContext>(bytes).map_err(invalid)?.value;
            let session = context.session.take();
            context.session = Some(session.unwrap_or_else(|| session_after(None, now)));
            context.last_updated = Some(now.into());
            Ok(parse::render(&context))
        }
        MemoryDocument::Agent(name) => {
            let mut memory = parse::parse::<AgentMemory>(bytes).map_err(invalid)?.value;
            if memory.agent != *name {
                let message =
                    format!("{file} is the memory of `{name}`, not of `{}`", memory.agent);
                return Err(Problem::new(Code::BadArgument, message).into());
            }
            memory.last_updated = Some(now.into());
            Ok(parse::render(&memory))
        }
    }
}

/// Changes a document, whatever other processes do to it, and notes in the journal that it was.
pub(super) fn change(
    project: &mut Project,
    document: &MemoryDocument,
    mut change: impl FnMut(&mut Json) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    project.refuse_stale()?;
    project.ensure_journal()?;
    super::begin_with_files(project)?;
    // One that cannot be read is restored first.
    load(project, document)?;
    let now = project.clock().now();
    let (path, backups) = document.place(project)?;
    let is_new = path.parent().is_none_or(|folder| !folder.exists());
    let on_disk =
        documents::Document { place: &project.setup.place, path: &path, backups: &backups };
    let saved = on_disk.update(now, |old| -> Result<Vec<u8>, EngineError> {
        let before = whole(document, old)?;
        let mut after = before.clone();
        change(&mut after)?;
        match old {
            Some(old) if before == after => Ok(old.to_vec()),
            _ => {
                let bytes = written(document, &after, now)?.into_bytes();
                refuse_growth(document, old, &bytes)?;
                Ok(bytes)
            }
        }
    })?;
    if is_new {
        init::hide_windows(project);
    }
    let hash = match saved {
        Some(saved) => saved.hash,
        // As it was; a process that died may have written it without noting that.
        None => match on_disk_hash(project, document)? {
            Some(hash) if project.memory()?.document_hash(&document.file()) != Some(&hash) => hash,
            _ => return Ok(()),
        },
    };
    if let MemoryDocument::Agent(name) = document {
        let bytes = load(project, document)?;
        let value = whole(document, bytes.as_deref())?;
        cache::note_use(project, name, &JsonPath::default(), &value);
    }
    let note = Command::NoteDocument { file: document.file(), hash };
    project.command(&[MachineCommand::memory(note)])
}

/// What is larger than its readers take would drop out of the context and the search. One that was larger before may
/// shrink.
fn refuse_growth(
    document: &MemoryDocument,
    old: Option<&[u8]>,
    new: &[u8],
) -> Result<(), EngineError> {
    let size = u64::try_from(new.len()).unwrap_or(u64::MAX);
    if size <= DOCUMENT_BYTES_MAX || old.is_some_and(|old| new.len() < old.len()) {
        return Ok(());
    }
    let message = format!("{} would have {size} bytes", document.file());
    let hint = format!(
        "at most {DOCUMENT_BYTES_MAX}: take something out first, or keep it in a file and name that here"
    );
    Err(Problem::new(Code::TooLarge, message).hint(hint).into())
}

/// The hash of a document as it is now.
fn on_disk_hash(
    project: &Project,
    document: &MemoryDocument,
) -> Result<Option<String>, EngineError> {
    let (path, backups) = document.place(project)?;
    let on_disk =
        documents::Document { place: &project.setup.place, path: &path, backups: &backups };
    Ok(on_disk.load()?.map(|(_, hash)| hash))
}
