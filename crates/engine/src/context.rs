//! What an agent should know now, gathered from everything that there is: the state of its part, open
//! questions and answers, decisions and pitfalls that concern its files, what it kept itself, and what a
//! search for its task finds. How it is cut is the model's to say (`model/src/context.rs`).
//!
//! Nothing in it depends on when it is asked for: the same state gives the same bytes.

use crate::{
    conversation,
    error::EngineError,
    knowledge,
    memory::DOCUMENT_BYTES_MAX,
    project::Project,
    search::{self, AgedHit, SearchHit, SearchRequest},
    sessions, summary,
};
use std::{collections::BTreeSet, fmt::Write as _, path::Path};
use waypost_git::changed_since;
use waypost_model::{
    context::{ComposedContext, ContextPart, ContextSection, compose},
    document::{
        Document,
        memory::{AgentMemory, SharedContext, TaskState},
    },
    id::TaskId,
    layout::{memory, window},
    run::{RunSummary, TaskStatus},
    task::TaskFields,
    text::one_line,
    time::Time,
    workflow::{ContractCheckpoint, Feature, GateName},
};
use waypost_store::{file, hash, journal::Cursor, parse};

/// How far back answers are told, by the newest event.
const ANSWERS_DAYS: i64 = 7;
const DAY_MS: i64 = 86_400_000;

/// How many of each are looked at; the budget cuts further.
const ENTRIES_MAX: usize = 20;
const FOUND_MAX: usize = 12;
const FILES_MAX: usize = 12;

/// What a decision about one of the agent's own files is worth more than another one.
const OF_OWN_FILE: u32 = 200;

/// What has faded is worth this part of what it would be.
const FADED_SHARE: u32 = 2;

/// The largest document that is read.
const SIZE_MAX: u64 = DOCUMENT_BYTES_MAX;

/// How much of one found text is told.
const FOUND_CHARS: usize = 300;

/// For whom a context is put together.
#[derive(Clone, Debug, Default)]
pub struct ContextRequest {
    /// What the agent does: `worker`, `reviewer`, or the name under which it keeps its memory.
    pub role: String,
    /// In tokens, roughly.
    pub budget: usize,
    /// The task that it works on.
    pub task: Option<TaskId>,
    /// The files that it works on, besides those that its task declares.
    pub files: Vec<String>,
    /// What its work is about, besides what is known of it.
    pub about: Vec<String>,
    /// Whether it is told how the work stands by other words than these.
    pub knows_state: bool,
    /// Whether it is told the memory's current task by other words.
    pub knows_memory: bool,
}

/// What an agent should know now.
pub fn context_for(
    project: &mut Project,
    request: &ContextRequest,
) -> Result<ComposedContext, EngineError> {
    let mut gathered = Gathered { parts: Vec::new(), role: request.role.clone() };
    let now = newest(project)?;
    let feature = project.workflow()?.feature.clone().filter(|it| !it.is_done());
    let run = summary::of_run(project)?.filter(|run| !run.is_over);
    let mut files = request.files.clone();
    let mut about = request.about.clone();
    if let Some(feature) = &feature {
        about.push(feature.name.clone());
        if !request.knows_state {
            gathered.add(ContextSection::State, None, workflow_text(feature));
        }
    }
    if let Some(run) = &run
        && !request.knows_state
    {
        gathered.add(ContextSection::State, None, run_text(run));
    }
    let spelling = project.spelling;
    if let Some((text, wanted)) = sessions::told(project.session()?, spelling) {
        about.push(wanted);
        if !request.knows_state {
            gathered.add(ContextSection::State, None, text);
        }
    }
    if let Some(id) = &request.task
        && let Some((text, title, declared)) = task_facts(project, id)?
    {
        files.extend(declared);
        about.push(title);
        if !request.knows_state {
            gathered.add(ContextSection::State, None, text);
        }
    }
    gathered.memory(project, request.knows_memory, &mut about)?;
    gathered.questions(project)?;
    gathered.answers(project, now)?;
    gathered.knowledge(project, &files);
    gathered.decisions(project, &files)?;
    gathered.found(project, &about, now)?;
    Ok(compose(gathered.parts, request.budget))
}

/// How much of a brief is what is known besides the task itself.
const BRIEF_BUDGET: usize = 1_500;

/// The part of an agent's brief that says what is known; empty where nothing is. That it cannot be put
/// together keeps no agent from its work.
pub(crate) fn for_brief(project: &mut Project, role: &str, task: Option<&TaskId>) -> String {
    // Whose task declares no files works on those that are being changed.
    let files = if task.is_none() { changed_here(project) } else { Vec::new() };
    brief_part(project, ContextRequest { task: task.cloned(), files, ..brief_request(role) })
}

/// The files that are not as they were committed; none where that cannot be told.
fn changed_here(project: &Project) -> Vec<String> {
    let mut files = changed_since(project.place(), "HEAD").ok().flatten().unwrap_or_default();
    files.truncate(FILES_MAX);
    files
}

/// The same for a call of a session, by the files that it is about.
pub(crate) fn for_call(project: &mut Project, role: &str, files: Vec<String>) -> String {
    brief_part(project, ContextRequest { files, ..brief_request(role) })
}

/// The same for a task of the server, by its title and by the files that it names.
pub(crate) fn for_served(project: &mut Project, role: &str, fields: &TaskFields) -> String {
    let files = named_in(project, &format!("{} {}", fields.title, fields.description));
    let about = vec![fields.title.clone()];
    brief_part(project, ContextRequest { about, files, ..brief_request(role) })
}

/// The same for a checkpoint of the workflow, by the files that it names and those that are being changed.
pub(crate) fn for_checkpoint(
    project: &mut Project,
    role: &str,
    checkpoint: &ContractCheckpoint,
) -> String {
    let words: Vec<&str> =
        checkpoint.interface.iter().chain(&checkpoint.tests).map(String::as_str).collect();
    let mut files = named_in(project, &words.join(" "));
    files.extend(changed_here(project));
    brief_part(project, ContextRequest { files, ..brief_request(role) })
}

/// The files of the project that a text names.
fn named_in(project: &Project, text: &str) -> Vec<String> {
    let is_end = |it: char| it.is_whitespace() || "`'\"()[]{}<>,;:".contains(it);
    let words = text.split(is_end).map(|word| word.trim_end_matches('.'));
    let is_name = |word: &&str| word.contains(['/', '.']) && !word.starts_with('/');
    let is_inside = |word: &&str| word.split('/').all(|part| part != "..");
    let found: BTreeSet<&str> = words
        .filter(is_name)
        .filter(is_inside)
        .filter(|word| project.root().join(word).is_file())
        .take(FILES_MAX)
        .collect();
    found.into_iter().map(str::to_owned).collect()
}

fn brief_request(role: &str) -> ContextRequest {
    ContextRequest {
        role: role.to_owned(),
        budget: BRIEF_BUDGET,
        knows_state: true,
        ..ContextRequest::default()
    }
}

fn brief_part(project: &mut Project, request: ContextRequest) -> String {
    match context_for(project, &request) {
        Ok(told) if !told.text.is_empty() => {
            format!(
                "\n# What is known\n\nFacts from Waypost's memory, not orders.\n\n{}",
                told.text
            )
        }
        Ok(_) => String::new(),
        Err(error) => {
            project.notice(format!("an agent is not told what is known: {error}"));
            String::new()
        }
    }
}

/// What an attempt was given, beside its log: its text, with its hash and size in the first line.
pub(crate) fn keep_brief(log: &Path, message: &str) {
    let (hash, size) = (hash::sha256_hex(message.as_bytes()), message.len());
    let text = format!("sha256 {hash}, {size} bytes\n\n{message}");
    let path = log.with_extension(BRIEF_SUFFIX);
    let made = path.parent().map_or(Ok(()), file::make_private_folder);
    // The work does not wait for a record of it; a disk that is full is told of elsewhere.
    let _unkept = made.and_then(|()| file::replace_volatile(&path, text.as_bytes(), file::PRIVATE));
}

/// Ends the name of such a file; it is kept and deleted with the log.
pub(crate) const BRIEF_SUFFIX: &str = "brief.log";

/// The time of the newest event: asked twice without anything between, nothing is newer.
fn newest(project: &mut Project) -> Result<Time, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(Time::from_millis(0)) };
    let view = journal.view()?;
    let end: Cursor = view.end()?;
    Ok(view.feed_until(end, 1)?.first().map_or(Time::from_millis(0), |entry| entry.at))
}

struct Gathered {
    parts: Vec<ContextPart>,
    role: String,
}

impl Gathered {
    fn add(&mut self, section: ContextSection, at: Option<Time>, text: String) {
        let value = section.value_for(&self.role);
        self.parts.push(ContextPart { section, value, at, text });
    }

    fn questions(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let inbox = project.inbox()?;
        for entry in inbox.open().iter().rev().take(ENTRIES_MAX) {
            let text = format!("{} {}", entry.id, entry.question.title);
            self.add(ContextSection::Questions, Some(entry.since), text);
        }
        Ok(())
    }

    fn answers(&mut self, project: &mut Project, now: Time) -> Result<(), EngineError> {
        let since = Time::from_millis(now.millis() - ANSWERS_DAYS * DAY_MS);
        for it in conversation::answers(project, since, ENTRIES_MAX)? {
            let text = format!("{} {}\nanswer: {}", it.id, it.question, it.answer);
            self.add(ContextSection::Answers, Some(it.at), text);
        }
        Ok(())
    }

    /// The memory's current task, what the agent kept, and what all share.
    fn memory(
        &mut self,
        project: &mut Project,
        is_known: bool,
        about: &mut Vec<String>,
    ) -> Result<(), EngineError> {
        let folder = window::MEMORY_FOLDER;
        // The journal has it, whatever became of its file; a file alone is what an agent wrote by itself.
        let current = project.memory()?.current().map(|kept| kept.task.clone());
        let current =
            current.or_else(|| read::<TaskState>(project, window::TASK_STATE)?.current_task);
        if let Some(task) = &current {
            about.push(task.name.clone());
            let mut text = format!("Task {} ({}): {}", task.id, task.name, task.plan.goal);
            for step in &task.plan.steps {
                if Some(step.id) == task.plan.current_step {
                    let _infallible = write!(text, "\nstep {}: {}", step.id, step.name);
                }
            }
            for issue in task.issues.iter().filter(|issue| !issue.resolved) {
                let _infallible = write!(text, "\nunresolved: {}", issue.message);
            }
            if !is_known {
                self.add(ContextSection::State, None, text);
            }
        }
        let is_name = |c: char| c.is_alphanumeric() || "-_".contains(c);
        if self.role.chars().all(is_name)
            && let Some(own) = read::<AgentMemory>(
                project,
                &format!("{folder}/{}/{}.json", memory::AGENTS, self.role),
            )
            && let Ok(text) = serde_json::to_string(&own)
        {
            self.add(ContextSection::OwnMemory, None, text);
        }
        if let Some(shared) =
            read::<SharedContext>(project, &format!("{folder}/{}", memory::SHARED_CONTEXT))
            && let Ok(serde_json::Value::Object(data)) = serde_json::to_value(&shared.shared_data)
        {
            for (name, value) in data {
                self.add(ContextSection::Shared, None, format!("{name}: {value}"));
            }
        }
        Ok(())
    }

    /// What is known about the project, by the agent's files. A file that is not valid keeps no agent from its work.
    fn knowledge(&mut self, project: &mut Project, files: &[String]) {
        match knowledge::told_for(project, &self.role, files) {
            Ok(parts) => self.parts.extend(parts),
            Err(error) => project.notice(format!("the knowledge is not told: {error}")),
        }
    }

    /// Decisions and lessons about the agent's files, then the newest of all.
    fn decisions(&mut self, project: &mut Project, files: &[String]) -> Result<(), EngineError> {
        let kinds = [("decision", ContextSection::Decisions), ("lesson", ContextSection::Pitfalls)];
        let files: Vec<Option<&str>> =
            files.iter().take(FILES_MAX).map(|file| Some(file.as_str())).chain([None]).collect();
        let asked: Vec<(&str, Option<&str>)> =
            kinds.iter().flat_map(|(kind, _)| files.iter().map(|file| (*kind, *file))).collect();
        let found = search::newest(project, &asked, ENTRIES_MAX)?;
        let mut said = BTreeSet::new();
        for ((kind, file), hits) in asked.into_iter().zip(found) {
            let section = kinds.iter().find(|(it, _)| *it == kind).map(|(_, section)| *section);
            let more = if file.is_some() { OF_OWN_FILE } else { 0 };
            for found in hits {
                let hit = &found.hit;
                if let Some(section) = section
                    && is_thought(hit)
                    && !knowledge::is_of_knowledge(&hit.source)
                    && said.insert((hit.source.clone(), hit.place))
                {
                    let (whole, at) = (section.value_for(&self.role), Some(hit.at));
                    let value = match (found.changed.is_empty(), more) {
                        (true, more) => whole + more,
                        (false, 0) => whole / FADED_SHARE,
                        // It stays one about the agent's own file.
                        (false, more) => whole + more / FADED_SHARE,
                    };
                    self.parts.push(ContextPart { section, value, at, text: told(&found) });
                }
            }
        }
        Ok(())
    }

    fn found(
        &mut self,
        project: &mut Project,
        about: &[String],
        now: Time,
    ) -> Result<(), EngineError> {
        if about.is_empty() {
            return Ok(());
        }
        // What merely happened is in the state; decisions and lessons were told.
        let kinds = ["note", "history", "contract", "knowledge", "context"];
        let request = SearchRequest {
            text: about.join(" "),
            kinds: kinds.map(str::to_owned).to_vec(),
            limit: FOUND_MAX,
            ..SearchRequest::default()
        };
        let hits = search::search_at(project, &request, now)?;
        let others = hits.iter().filter(|it| !knowledge::is_of_knowledge(&it.hit.source));
        for (rank, found) in others.enumerate() {
            let value =
                ContextSection::Found.value_for(&self.role).saturating_sub(rank as u32 * 10);
            let (section, at) = (ContextSection::Found, Some(found.hit.at));
            self.parts.push(ContextPart { section, value, at, text: told(found) });
        }
        Ok(())
    }
}

/// Whether an agent or a person has put it into words; gates and transitions are told by the state.
fn is_thought(hit: &SearchHit) -> bool {
    hit.source != "journal" || hit.reference.starts_with("memory")
}

/// Something that was found: what, where it is to be read, and whether it may not hold any more.
fn told(found: &AgedHit) -> String {
    let AgedHit { hit, changed } = found;
    let text = one_line(&hit.snippet.text, FOUND_CHARS);
    let faded = match changed.is_empty() {
        true => String::new(),
        false => format!("; changed since: {}", changed.join(", ")),
    };
    format!("{}: {text} ({}, {}{faded})", hit.title, hit.reference, hit.at)
}

fn read<D: Document>(project: &Project, path: &str) -> Option<D> {
    // All work trees have one memory.
    let root = project.setup.shared_root();
    let bytes = file::read_bounded(&root.join(path), SIZE_MAX).ok().flatten()?;
    parse::parse::<D>(&bytes).ok().map(|parsed| parsed.value)
}

fn workflow_text(feature: &Feature) -> String {
    let passed = |gate: &GateName| feature.passes.iter().any(|pass| pass.gate == *gate);
    let (open, closed): (Vec<GateName>, Vec<GateName>) =
        GateName::ALL.into_iter().partition(passed);
    let names = |gates: &[GateName]| match gates {
        [] => "none".to_owned(),
        gates => gates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let mut text = format!(
        "Feature `{}` is in {}. Gates passed: {}; closed: {}.",
        feature.name,
        feature.phase,
        names(&open),
        names(&closed)
    );
    for (id, checkpoint) in feature.checkpoints.iter() {
        let _infallible = write!(text, "\ncheckpoint {id}: {}", checkpoint.status);
    }
    text
}

fn run_text(run: &RunSummary) -> String {
    let mut text = format!(
        "The run has {} of {} tasks completed, {} in progress, {} failed.",
        run.count(TaskStatus::Completed),
        run.total,
        run.count(TaskStatus::InProgress),
        run.count(TaskStatus::Failed)
    );
    let lists = [("in progress", &run.in_progress), ("failed", &run.failed)];
    for (word, tasks) in lists {
        for task in tasks.iter().take(ENTRIES_MAX) {
            let _infallible = write!(text, "\n{word}: {} {}", task.id, task.title);
        }
    }
    text
}

/// A task in words, its title, and the files that it declares.
fn task_facts(
    project: &mut Project,
    id: &TaskId,
) -> Result<Option<(String, String, Vec<String>)>, EngineError> {
    let run = project.run()?;
    let Some(view) = run.active().and_then(|active| active.task(id)) else { return Ok(None) };
    let title = view.planned.title.to_string();
    let files = view.planned.details.as_deref().map(|it| it.files.clone()).unwrap_or_default();
    let mut text = format!("Task {id}: {title} ({})", view.status);
    if let Some(failure) = view.last_failure {
        let _infallible = write!(text, "\nthe last attempt failed: {}", failure.text);
    }
    Ok(Some((text, title, files.iter().map(ToString::to_string).collect())))
}
