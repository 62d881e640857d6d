//! What is known about a project: `knowledge.yaml`, changed by commands, and given to agents by what it is about.
//!
//! The file is a document: the truth is what stands in it, by a person or an agent. What was known before stays in the
//! journal, with the files that an entry stands on, so that it can be said of one that these have changed since.

mod learn;
mod moved;
mod relevance;

pub use learn::{Learned, learn};
pub(crate) use moved::{examine, left_behind, relocate};
pub(crate) use relevance::{is_of_knowledge, told_for};

use crate::{
    contracts::{home, project_hash},
    error::{EngineError, Problem},
    init,
    ledger::MachineCommand,
    memory::{self, Freshness},
    project::Project,
};
use std::{collections::BTreeMap, path::PathBuf};
use waypost_model::{
    code::Code,
    document::{
        DateOrTime, ProjectHash,
        knowledge::{Knowledge, KnowledgeDecision, Pitfall},
        session,
    },
    json::{Json, JsonPath},
    knowledge::{Command, Ground, KnowledgeLog},
    layout,
    next::NextStep,
    time::Time,
};
use waypost_store::{documents, file, parse};

/// The knowledge as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownThings {
    pub path: PathBuf,
    pub document: Knowledge,
    /// What has changed since, of what an entry stands on; by its id, or the path of a pattern.
    pub changed: BTreeMap<String, Vec<String>>,
    /// The files that entries stand on.
    pub stands_on: BTreeMap<String, Vec<String>>,
}

/// A decision that is to be known.
#[derive(Clone, Debug, Default)]
pub struct NewDecision {
    pub topic: String,
    pub decision: String,
    pub rationale: Option<String>,
    /// The files in which it can be seen.
    pub refs: Vec<String>,
}

/// A pitfall that is to be known.
#[derive(Clone, Debug, Default)]
pub struct NewPitfall {
    pub description: String,
    pub reason: Option<String>,
    pub learned_from: Option<String>,
    /// The files that it is about; the file of the knowledge has no place for them.
    pub files: Vec<String>,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Its id, or the path of a pattern.
    pub entry: String,
    /// Whether it took the place of another.
    pub is_replaced: bool,
    /// Whether anything has changed.
    pub is_changed: bool,
}

/// Where the knowledge of this project is, whether there is any or not.
pub fn path(project: &Project) -> Result<PathBuf, EngineError> {
    let hash = project_hash(project)?;
    let folder = home(project)?.join(layout::session::KNOWLEDGE).join(hash.as_str());
    Ok(folder.join(layout::session::KNOWLEDGE_FILE))
}

/// What is known, and what of it may not hold any more.
pub fn show(project: &mut Project) -> Result<KnownThings, EngineError> {
    let path = path(project)?;
    let document = read(project)?.unwrap_or_else(blank);
    let (mut changed, mut stands_on) = (BTreeMap::new(), BTreeMap::new());
    let grounds = grounds(project, &document)?;
    let mut ages = memory::NoteAges::default();
    for (entry, ground) in grounds {
        let files: Vec<String> = ground.files.iter().map(|it| it.path.clone()).collect();
        if let Freshness::Faded { changed: since } = ages.of_ground(project, &ground) {
            changed.insert(entry.clone(), since);
        }
        if !files.is_empty() {
            stands_on.insert(entry, files);
        }
    }
    Ok(KnownThings { path, document, changed, stands_on })
}

/// What the entries of a document stand on, as far as that was written down.
fn grounds(
    project: &mut Project,
    document: &Knowledge,
) -> Result<BTreeMap<String, Ground>, EngineError> {
    let decisions = document.decisions.iter().map(|it| it.id.to_string());
    let pitfalls = document.pitfalls.iter().map(|it| it.id.to_string());
    let patterns = pattern_paths(document).into_iter().map(|(path, _)| path);
    let entries: Vec<String> = decisions.chain(pitfalls).chain(patterns).collect();
    let log = project.knowledge()?;
    let found = entries.into_iter().filter_map(|entry| {
        let ground = log.ground(&entry)?.clone();
        Some((entry, ground))
    });
    Ok(found.collect())
}

/// The patterns of what is known, by their paths.
pub fn patterns(known: &KnownThings) -> Vec<(String, Json)> {
    pattern_paths(&known.document)
}

/// The patterns that say something, by their paths.
fn pattern_paths(document: &Knowledge) -> Vec<(String, Json)> {
    fn below(path: &str, value: &Json, found: &mut Vec<(String, Json)>) {
        match value.as_object() {
            Some(fields) => {
                for (name, value) in fields.iter() {
                    let dot = if path.is_empty() { "" } else { "." };
                    below(&format!("{path}{dot}{name}"), value, found);
                }
            }
            None => found.push((path.to_owned(), value.clone())),
        }
    }
    let mut found = Vec::new();
    below("", &Json::from(document.patterns.clone()), &mut found);
    found
}

/// The document, if there is one; one that is not valid is an error with every finding.
pub(crate) fn read(project: &Project) -> Result<Option<Knowledge>, EngineError> {
    let path = path(project)?;
    let Some(bytes) = file::read_bounded(&path, parse::SIZE_MAX as u64)? else { return Ok(None) };
    parsed(&path, &bytes).map(Some)
}

fn parsed(path: &std::path::Path, bytes: &[u8]) -> Result<Knowledge, EngineError> {
    let read = parse::parse::<Knowledge>(bytes);
    read.map(|it| it.value).map_err(|found| EngineError::invalid(path, bytes, found))
}

fn blank() -> Knowledge {
    Knowledge {
        version: Default::default(),
        project: None,
        patterns: Default::default(),
        decisions: Vec::new(),
        pitfalls: Vec::new(),
        updated_at: None,
    }
}

/// Says how something is done here, by a path such as `naming.methods`.
pub fn set_pattern(
    project: &mut Project,
    path: &JsonPath,
    value: &Json,
    files: &[String],
) -> Result<Noted, EngineError> {
    if path.names().is_empty() {
        return Err(Problem::new(Code::PathUnknown, "a pattern needs a name").into());
    }
    let (entry, ground) = (path.names().join("."), ground_of(project, files)?);
    let mut before = None;
    let is_changed = change(project, |document, _, _| {
        let mut patterns = Json::from(document.patterns.clone());
        before = path.find(&patterns).cloned();
        let set = path.set(&mut patterns, value.clone());
        set.map_err(|bad| Problem::new(Code::PathUnknown, bad.to_string()))?;
        document.patterns = patterns.as_object().cloned().unwrap_or_default();
        Ok(())
    })?;
    let is_replaced = before.is_some();
    let command = Command::SetPattern { path: entry.clone(), value: value.clone(), before, ground };
    note(project, command)?;
    Ok(Noted { entry, is_replaced, is_changed })
}

/// Writes a decision down. One about the same topic takes the place of the earlier one, with its id.
pub fn decide(project: &mut Project, new: &NewDecision) -> Result<Noted, EngineError> {
    if new.topic.trim().is_empty() || new.decision.trim().is_empty() {
        let message = "a decision needs a topic and what was decided";
        return Err(Problem::new(Code::NameMissing, message).into());
    }
    let ground = ground_of(project, &new.refs)?;
    let refs: Vec<String> = ground.files.iter().map(|it| it.path.clone()).collect();
    let (mut before, mut made) = (None, None);
    let is_changed = change(project, |document, log, now| {
        let same = |it: &KnowledgeDecision| it.topic.trim() == new.topic.trim();
        let at = document.decisions.iter().position(same);
        before = at.map(|at| Box::new(document.decisions[at].clone()));
        let is_as_it_was = |it: &KnowledgeDecision| {
            it.decision == new.decision && it.rationale == new.rationale && it.refs == refs
        };
        let decision = match &before {
            Some(old) if is_as_it_was(old) => old.as_ref().clone(),
            old => KnowledgeDecision {
                id: old.as_ref().map_or_else(
                    || log.next_decision(document.decisions.iter().map(|it| &it.id)),
                    |old| old.id.clone(),
                ),
                topic: new.topic.trim().to_owned(),
                decision: new.decision.trim().to_owned(),
                rationale: new.rationale.clone(),
                refs: refs.clone(),
                created_at: Some(DateOrTime::Time(now.into())),
            },
        };
        match at {
            Some(at) => document.decisions[at] = decision.clone(),
            None => document.decisions.push(decision.clone()),
        }
        made = Some(Box::new(decision));
        Ok(())
    })?;
    let decision = made.expect("a change was made");
    let (entry, is_replaced) = (decision.id.to_string(), before.is_some());
    note(project, Command::Decide { decision, before, ground })?;
    Ok(Noted { entry, is_replaced, is_changed })
}

/// Writes a pitfall down. One with the same words is the same.
pub fn warn(project: &mut Project, new: &NewPitfall) -> Result<Noted, EngineError> {
    if new.description.trim().is_empty() {
        let message = "a pitfall needs a description";
        return Err(Problem::new(Code::NameMissing, message).into());
    }
    let ground = ground_of(project, &new.files)?;
    let (mut before, mut made) = (None, None);
    let is_changed = change(project, |document, log, _| {
        let same = |it: &Pitfall| it.description.trim() == new.description.trim();
        let at = document.pitfalls.iter().position(same);
        before = at.map(|at| Box::new(document.pitfalls[at].clone()));
        let pitfall = Pitfall {
            id: before.as_ref().map_or_else(
                || log.next_pitfall(document.pitfalls.iter().map(|it| &it.id)),
                |old| old.id.clone(),
            ),
            description: new.description.trim().to_owned(),
            reason: new.reason.clone().or_else(|| before.as_ref()?.reason.clone()),
            learned_from: new
                .learned_from
                .clone()
                .or_else(|| before.as_ref()?.learned_from.clone()),
        };
        match at {
            Some(at) => document.pitfalls[at] = pitfall.clone(),
            None => document.pitfalls.push(pitfall.clone()),
        }
        made = Some(Box::new(pitfall));
        Ok(())
    })?;
    let pitfall = made.expect("a change was made");
    let (entry, is_replaced) = (pitfall.id.to_string(), before.is_some());
    note(project, Command::Warn { pitfall, before, ground })?;
    Ok(Noted { entry, is_replaced, is_changed })
}

/// Takes an entry out: a decision or a pitfall by its id, a pattern by its path. The journal keeps it.
pub fn remove(project: &mut Project, entry: &str) -> Result<(), EngineError> {
    let mut said = None;
    change(project, |document, _, _| {
        let decision = document.decisions.iter().position(|it| it.id.as_str() == entry);
        let pitfall = document.pitfalls.iter().position(|it| it.id.as_str() == entry);
        let path: Option<JsonPath> = entry.parse().ok();
        let mut patterns = Json::from(document.patterns.clone());
        if let Some(at) = decision {
            said = Some(memory::as_json(&document.decisions.remove(at)));
        } else if let Some(at) = pitfall {
            said = Some(memory::as_json(&document.pitfalls.remove(at)));
        } else if let Some(found) = path.and_then(|path| path.unset(&mut patterns).ok()) {
            document.patterns = patterns.as_object().cloned().unwrap_or_default();
            said = Some(found);
        } else {
            let message = format!("the knowledge has no `{entry}`");
            return Err(Problem::new(Code::KnowledgeUnknown, message)
                .next(NextStep::ShowKnowledge)
                .into());
        }
        Ok(())
    })?;
    let said = said.expect("a change was made");
    note(project, Command::Forget { entry: entry.to_owned(), said })
}

/// What an entry about these files stands on, as things are.
fn ground_of(project: &Project, files: &[String]) -> Result<Ground, EngineError> {
    let named = files.iter().map(|it| memory::noted(project, it)).collect::<Result<Vec<_>, _>>()?;
    let commit = match named.is_empty() {
        true => None,
        false => memory::checked_out(project)?,
    };
    Ok(Ground { commit, files: named })
}

/// What the document says of its project.
fn about(project: &Project) -> Result<session::Project, EngineError> {
    let root = home(project)?;
    let name = root.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let (path, hash) = (root.display().to_string(), project_hash(project)?);
    Ok(session::Project { path, name, hash })
}

/// Where earlier contents of the knowledge with a hash are.
pub(crate) fn versions_folder(project: &Project, hash: &ProjectHash) -> PathBuf {
    let documents = project.place().state.join(layout::state::DOCUMENTS);
    documents.join("knowledge").join(hash.as_str())
}

/// Changes the document, whatever other processes do to it; whether that made a difference.
fn change(
    project: &mut Project,
    change: impl FnMut(&mut Knowledge, &KnowledgeLog, Time) -> Result<(), EngineError>,
) -> Result<bool, EngineError> {
    project.refuse_stale()?;
    moved::refuse_moved(project)?;
    rewrite(project, change)
}

/// The same for a project that is just being moved.
fn rewrite(
    project: &mut Project,
    mut change: impl FnMut(&mut Knowledge, &KnowledgeLog, Time) -> Result<(), EngineError>,
) -> Result<bool, EngineError> {
    project.ensure_journal()?;
    let (path, now) = (path(project)?, project.clock().now());
    let about = about(project)?;
    let backups = versions_folder(project, &about.hash);
    let is_new = path.parent().is_none_or(|folder| !folder.exists());
    let log = project.knowledge()?.clone();
    let on_disk =
        documents::Document { place: &project.setup.place, path: &path, backups: &backups };
    let saved = on_disk.update(now, |old| -> Result<Vec<u8>, EngineError> {
        let before = old.map(|bytes| parsed(&path, bytes)).transpose()?;
        let mut after = before.clone().unwrap_or_else(blank);
        change(&mut after, &log, now)?;
        match (old, &before) {
            (Some(old), Some(before)) if *before == after => Ok(old.to_vec()),
            _ => {
                after.project = Some(about.clone());
                after.updated_at = Some(now.into());
                Ok(rendered(old, before.as_ref(), &after).into_bytes())
            }
        }
    })?;
    if is_new {
        init::hide_windows(project);
    }
    Ok(saved.is_some())
}

/// What has changed, in the text as it was written: comments elsewhere stay.
fn rendered(old: Option<&[u8]>, before: Option<&Knowledge>, after: &Knowledge) -> String {
    let (Some(text), Some(before)) = (old.and_then(|it| std::str::from_utf8(it).ok()), before)
    else {
        return parse::render(after);
    };
    let changes = [
        ("project", before.project != after.project),
        ("updated_at", before.updated_at != after.updated_at),
        ("patterns", before.patterns != after.patterns),
        ("decisions", before.decisions != after.decisions),
        ("pitfalls", before.pitfalls != after.pitfalls),
    ];
    let changed = changes.into_iter().filter(|(_, is_other)| *is_other).map(|(field, _)| field);
    parse::with_fields(text, after, &changed.collect::<Vec<_>>())
}

fn note(project: &mut Project, command: Command) -> Result<(), EngineError> {
    project.command(&[MachineCommand::knowledge(command)])
}
