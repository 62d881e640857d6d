//! TASKS.md while a run is at work: an edit is taken up before the next claim, or it is said why not.
//!
//! What is taken up is decided by the model (`Active::at_work_with`). Here it is found out that there is
//! something to take up. A look costs one `stat`; the file is read when that tells of a change, or when
//! something has ended that an earlier look had to wait for.

use super::{PlanChange, fingerprint, note_warnings, read};
use crate::{
    error::EngineError,
    ledger::{MachineCommand, run_stream},
    project::Project,
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_model::{
    id::TaskId,
    inbox::{self, Question, QuestionKind, Subject, Topic},
    next::{NextStep, Remark},
    run::{self, PlanAtWork, TaskStatus},
    time::Time,
};
use waypost_store::file::Mark;

/// A file that is being saved may be read half. So long after its last change it is whole, and only then
/// tasks that are not in it any more count as gone.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// How many tasks a message names.
const NAMED_MAX: usize = 5;

/// What a run at work knows of its TASKS.md.
#[derive(Debug, Default)]
pub(crate) struct LiveTasks {
    /// The file at the last look.
    mark: Option<Mark>,
    /// Tasks in progress for whose ends a part of the file waits.
    waits_for: Vec<TaskId>,
    /// When to look again though nothing tells of a change.
    again_at: Option<Time>,
    /// What was said last of something that is not taken up.
    said: String,
}

/// What follows from an edit.
#[derive(Debug, Default)]
pub(crate) struct TasksEdit {
    /// Takes the plan up; empty if there is nothing to take up.
    pub(crate) replan: Vec<MachineCommand>,
    /// What the inbox has to ask, or need not ask any more.
    pub(crate) inbox: Vec<MachineCommand>,
    pub(crate) words: Vec<Remark>,
}

impl LiveTasks {
    pub(crate) fn again_at(&self) -> Option<Time> {
        self.again_at
    }

    /// Looks whether the file has changed; none: nothing follows from it.
    pub(crate) fn look(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Option<TasksEdit>, EngineError> {
        let Some(active) = project.run_seen()?.active().filter(|active| !active.is_over()) else {
            return Ok(None);
        };
        let Some(source) = &active.plan().source else { return Ok(None) };
        let in_progress =
            |id: &TaskId| active.task(id).is_some_and(|it| it.status == TaskStatus::InProgress);
        let has_ended = self.waits_for.iter().any(|id| !in_progress(id));
        let name = source.path.clone();
        let path = project.root().join(&name);
        let mark = Mark::of(&path).ok().flatten();
        if mark == self.mark && !has_ended && self.again_at.is_none_or(|at| now < at) {
            return Ok(None);
        }
        (self.mark, self.again_at) = (mark, None);
        self.waits_for.clear();
        // A file that is gone leaves the run as it is.
        let Some(mark) = mark else { return Ok(None) };
        let changed_ns = mark.mtime_ns.max(mark.ctime_ns);
        let age_ns = i128::from(now.millis()) * 1_000_000 - changed_ns;
        let is_settled = age_ns > i128::try_from(SETTLED_AFTER.as_nanos()).unwrap_or(i128::MAX);
        if !is_settled {
            self.again_at = Some(now.plus(SETTLED_AFTER));
        }
        if matches!(fingerprint::of(project, &path), Ok(Some(hash)) if !is_news(project, &hash)) {
            let had_asked = !std::mem::take(&mut self.said).is_empty();
            let inbox: Vec<MachineCommand> = had_asked.then(settle).into_iter().collect();
            return Ok(had_asked.then(|| TasksEdit { inbox, ..TasksEdit::default() }));
        }
        self.changed(project, (&path, &name), is_settled)
    }

    fn changed(
        &mut self,
        project: &mut Project,
        (path, name): (&Path, &str),
        is_settled: bool,
    ) -> Result<Option<TasksEdit>, EngineError> {
        let read = match read(project, Some(path)) {
            Ok(read) => read,
            Err(_) if !is_settled => return Ok(None),
            Err(error) => return Ok(self.refused(name, &reason(&error))),
        };
        let Some(active) = project.run_seen()?.active() else { return Ok(None) };
        let Some(at_work) = active.at_work_with(&read.plan) else {
            let running = active.tasks().filter(|view| view.status == TaskStatus::InProgress);
            self.waits_for = running.map(|view| view.planned.id.clone()).collect();
            let text = format!("{name} has changed; it is taken up when what is at work has ended");
            return Ok(self.say_once(text).map(|word| TasksEdit::saying([word])));
        };
        let PlanChange { added, gone, kept, .. } = PlanChange::of(active, &at_work.plan);
        if gone > 0 && !is_settled {
            return Ok(None);
        }
        let is_same = active.plan().is_same_work(&at_work.plan);
        let mut edit = TasksEdit::default();
        if !is_same {
            let text =
                format!("{name} has changed: {added} tasks added, {gone} removed, {kept} kept");
            edit.words.push(Remark::from(text));
        }
        self.say_what_waits(name, &at_work, &mut edit);
        self.waits_for = at_work.in_progress;
        if !is_same {
            note_warnings(project, &read);
            let replan = run::Command::Replan { plan: at_work.plan, keep_done: false };
            edit.replan.push(MachineCommand::run(replan));
        }
        Ok(Some(edit))
    }

    /// What of the file is not taken up now.
    fn say_what_waits(&mut self, name: &str, at_work: &PlanAtWork, edit: &mut TasksEdit) {
        let PlanAtWork { in_progress, completed, .. } = at_work;
        if !in_progress.is_empty() {
            let text = format!(
                "{name} says something else about what is in progress ({}): that counts when its \
                 attempt has ended",
                names(in_progress)
            );
            edit.words.extend(self.say_once(text));
        }
        if completed.is_empty() {
            edit.inbox.push(settle());
            return;
        }
        let text = format!(
            "{name} says something else about what is completed ({}): it stays completed until \
             you say what to do",
            names(completed)
        );
        let next = vec![NextStep::StopRun, NextStep::BeginKeepingDone, NextStep::BeginAfresh];
        if let Some(word) = self.say_once(text) {
            edit.inbox.push(ask(name, &word.text, next.clone()));
            edit.words.push(Remark { next, ..word });
        }
    }

    /// The file, or a run with it, cannot be used: a person has to do something about it.
    pub(crate) fn refused(&mut self, name: &str, why: &str) -> Option<TasksEdit> {
        let text = format!(
            "{name} has changed and cannot be taken up ({why}); the run goes on with what it has"
        );
        let word = self.say_once(text)?;
        let next = vec![NextStep::ValidateFile { file: name.to_owned() }];
        Some(TasksEdit {
            inbox: vec![ask(name, &word.text, next.clone())],
            words: vec![Remark { next, ..word }],
            ..TasksEdit::default()
        })
    }

    fn say_once(&mut self, text: String) -> Option<Remark> {
        if self.said.contains(&text) {
            return None;
        }
        self.said.push_str(&text);
        Some(Remark::from(text))
    }
}

impl TasksEdit {
    fn saying(words: impl IntoIterator<Item = Remark>) -> Self {
        Self { words: words.into_iter().collect(), ..Self::default() }
    }
}

/// What the file of a run that is over asks for and the run has not done, for its last words.
pub(crate) fn left_over(project: &mut Project) -> Result<Option<Remark>, EngineError> {
    let Some(active) = project.run_seen()?.active().filter(|active| active.is_over()) else {
        return Ok(None);
    };
    let Some(source) = active.plan().source.clone() else { return Ok(None) };
    let path: PathBuf = project.root().join(&source.path);
    if matches!(fingerprint::of(project, &path), Ok(Some(hash)) if is_news(project, &hash))
        && let Ok(read) = read(project, Some(&path))
        && let Some(active) = project.run_seen()?.active()
    {
        let news = active.news(&read.plan);
        if !news.is_empty() {
            let (name, names) = (&source.path, names(&news));
            let text = format!("{name} has what this run has not done: {names}");
            return Ok(Some(Remark::from(text).next(NextStep::BeginRun)));
        }
    }
    Ok(None)
}

/// Whether the text with this hash may ask for something else than the run's plan does.
fn is_news(project: &Project, hash: &str) -> bool {
    let active = project.run_known().and_then(|run| run.active());
    active.is_some_and(|active| {
        let plan = active.plan();
        let is_source = plan.source.as_ref().is_some_and(|source| source.hash == hash);
        !is_source && !project.tasks.reads_as(hash, plan)
    })
}

/// The first ids, and how many more there are.
fn names(ids: &[TaskId]) -> String {
    let named: Vec<&str> = ids.iter().take(NAMED_MAX).map(TaskId::as_str).collect();
    match ids.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn reason(error: &EngineError) -> String {
    match error {
        EngineError::Invalid(invalid) => {
            invalid.diagnostics.first().map_or_else(String::new, |finding| {
                let line =
                    finding.place.map_or_else(String::new, |at| format!("line {}: ", at.line));
                format!("{line}{}", finding.message)
            })
        }
        error => error.to_string(),
    }
}

/// What the inbox has about the file; there is one entry.
fn subject() -> Subject {
    Subject::of(&run_stream(), &topic())
}

fn topic() -> Topic {
    Topic::new("tasks/changed".to_owned())
}

fn ask(name: &str, text: &str, next: Vec<NextStep>) -> MachineCommand {
    let title = format!("{name} has changed, and the run has not taken up all of it");
    let question = Question::new(QuestionKind::RefusedEdit, topic(), title, text);
    let question = Question { next, ..question.choices(["seen"]) };
    MachineCommand::inbox(inbox::Command::Ask(question.asked_by(&run_stream())))
}

/// Nothing of the file has to be decided any more.
pub(super) fn settle() -> MachineCommand {
    MachineCommand::inbox(inbox::Command::Settle { subject: subject() })
}
