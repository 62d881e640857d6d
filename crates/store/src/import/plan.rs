//! Tasks that were read from another tool, and how they are written.

use super::ImportError;
use crate::tasks_md;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};
use waypost_model::{id::TaskId, run::Depends};

/// More remarks than that help no one.
const REMARKS_MAX: usize = 200;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The whole file.
    pub text: String,
    pub tasks: usize,
    /// What has no place of its own in a TASKS.md, and what was done with it.
    pub remarks: Vec<String>,
}

/// Whether a task is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForeignStanding {
    Open,
    Done,
    /// Not to be done: it is kept as text.
    Aside,
}

/// A task as another tool has it.
#[derive(Clone, Debug)]
pub(super) struct ForeignTask {
    /// The numbers of its id, which stay: `5.2` becomes `T1.5.2`.
    pub numbers: Vec<u32>,
    pub title: String,
    pub standing: ForeignStanding,
    /// The ids that it waits for, by their numbers.
    pub depends: Vec<Vec<u32>>,
    pub priority: Option<&'static str>,
    pub owner: Option<String>,
    /// Everything else, by its name.
    pub parts: Vec<(String, String)>,
}

/// A list of tasks; a phase of the file.
#[derive(Clone, Debug)]
pub(super) struct ForeignList {
    pub name: String,
    pub tasks: Vec<ForeignTask>,
    /// What has an id of another series, or one that was given again: text, and never waited for.
    pub shelved: Vec<ShelvedTask>,
}

/// A draft or an archived task.
#[derive(Clone, Debug)]
pub(super) struct ShelvedTask {
    /// Its id as the other tool writes it.
    pub own: String,
    pub title: String,
    pub parts: Vec<(String, String)>,
}

/// A task and one below it, by their numbers.
pub(super) struct ForeignFamily {
    pub parent: Vec<u32>,
    pub child: Vec<u32>,
}

/// Lets tasks wait for those below them, and these for what their task waits for. What would make a
/// circle is left out: there the tasks themselves already say in which order they come.
pub(super) fn join_families(tasks: &mut [ForeignTask], families: &[ForeignFamily]) {
    let places: BTreeMap<Vec<u32>, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.numbers.clone(), at)).collect();
    for family in families {
        let (Some(&parent), Some(&child)) = (places.get(&family.parent), places.get(&family.child))
        else {
            continue;
        };
        for wanted in tasks[parent].depends.clone() {
            let is_sibling =
                families.iter().any(|other| other.parent == family.parent && other.child == wanted);
            if !is_sibling && !waits_for(tasks, &places, &wanted, &family.child) {
                add_once(&mut tasks[child].depends, wanted);
            }
        }
        // What is done waits for nothing any more.
        let is_done = tasks[parent].standing == ForeignStanding::Done;
        if !is_done && !waits_for(tasks, &places, &family.child, &family.parent) {
            add_once(&mut tasks[parent].depends, family.child.clone());
        }
    }
}

fn add_once(list: &mut Vec<Vec<u32>>, numbers: Vec<u32>) {
    if !list.contains(&numbers) {
        list.push(numbers);
    }
}

/// Whether a task is another one or waits for it, directly or not.
fn waits_for(
    tasks: &[ForeignTask],
    places: &BTreeMap<Vec<u32>, usize>,
    from: &[u32],
    to: &[u32],
) -> bool {
    let (mut open, mut seen) = (vec![from], BTreeSet::new());
    while let Some(next) = open.pop() {
        if next == to {
            return true;
        }
        let task = places.get(next).map(|at| &tasks[*at]);
        if let Some(task) = task.filter(|_| seen.insert(next)) {
            open.extend(task.depends.iter().map(Vec::as_slice));
        }
    }
    false
}

/// Writes lists down as one file, and reads it back.
pub(super) fn convert(
    project: &str,
    lists: &[ForeignList],
    remarks: Vec<String>,
) -> Result<Converted, ImportError> {
    let mut writing = PlanWriting { remarks };
    // Titles that would mean something are written as their words alone, and in full below.
    let mut plain: BTreeSet<String> = BTreeSet::new();
    loop {
        let before = writing.remarks.clone();
        let text = writing.text(project, lists, &plain);
        let found = match misread(&text, lists) {
            // A title may even be a fault where it is read; which one is not told by what is found.
            Err(_) if plain != all_ids(lists) => all_ids(lists),
            found => found?,
        };
        if found.is_subset(&plain) {
            let tasks = lists.iter().flat_map(|list| &list.tasks);
            let tasks = tasks.filter(|task| task.standing != ForeignStanding::Aside).count();
            writing.remarks.truncate(REMARKS_MAX);
            return Ok(Converted { text, tasks, remarks: writing.remarks });
        }
        writing.remarks = before;
        plain.extend(found);
    }
}

/// The ids of all tasks, also of those that are set aside.
fn all_ids(lists: &[ForeignList]) -> BTreeSet<String> {
    let tasks =
        (1..).zip(lists).flat_map(|(number, list)| list.tasks.iter().map(move |it| (number, it)));
    tasks.map(|(number, task)| id(number, &task.numbers)).collect()
}

#[derive(Default)]
struct PlanWriting {
    remarks: Vec<String>,
}

impl PlanWriting {
    fn text(&mut self, project: &str, lists: &[ForeignList], plain: &BTreeSet<String>) -> String {
        let mut text = format!("# Tasks: {}\n", words(project));
        let mut aside = Vec::new();
        for (number, list) in (1..).zip(lists) {
            let _infallible = write!(text, "\n## Phase {number}: {}\n", words(&list.name));
            for task in &list.tasks {
                match task.standing {
                    ForeignStanding::Aside => {
                        aside.push((id(number, &task.numbers), &task.title, &task.parts));
                    }
                    _ => text.push_str(&self.task((number, list), task, plain)),
                }
            }
            aside.extend(list.shelved.iter().map(|it| (it.own.clone(), &it.title, &it.parts)));
        }
        if !aside.is_empty() {
            text.push_str("\n## Set aside\n");
            for (id, title, parts) in aside {
                self.remarks.push(format!("{id} is not to be done: it is text under `Set aside`"));
                let _infallible = write!(text, "\n> {id}: {}\n", one_line(title));
                text.push_str(&quoted(parts));
            }
        }
        text
    }

    fn task(
        &mut self,
        (number, list): (u32, &ForeignList),
        task: &ForeignTask,
        plain: &BTreeSet<String>,
    ) -> String {
        let own = id(number, &task.numbers);
        let mark = if task.standing == ForeignStanding::Done { 'x' } else { ' ' };
        let (title, is_plain) = match plain.contains(&own) {
            true => (words(&task.title), true),
            false => (one_line(&task.title), false),
        };
        let mut text = format!("\n### [{mark}] {own}: {title}\n\n");
        let depends = self.depends(number, list, task);
        let depends = if depends.is_empty() { "none".to_owned() } else { depends.join(", ") };
        let _infallible = writeln!(text, "- depends: {depends}");
        if let Some(priority) = task.priority {
            let _infallible = writeln!(text, "- priority: {priority}");
        }
        if let Some(owner) = &task.owner {
            let _infallible = writeln!(text, "- owner: {}", words(owner));
        }
        let mut parts = task.parts.clone();
        if is_plain {
            parts.insert(0, ("title".to_owned(), task.title.clone()));
        }
        text.push_str(&quoted(&parts));
        text
    }

    /// The ids that a task waits for. What is done with or not there holds nothing up.
    fn depends(&mut self, number: u32, list: &ForeignList, task: &ForeignTask) -> Vec<String> {
        let mut depends = Vec::new();
        for wanted in &task.depends {
            let found = list.tasks.iter().find(|other| other.numbers == *wanted);
            let (own, other) = (id(number, &task.numbers), id(number, wanted));
            match found.map(|other| other.standing) {
                Some(ForeignStanding::Aside) => self.remarks.push(format!(
                    "{own} waited for {other}, which is not to be done: it waits for it no more"
                )),
                None => self.remarks.push(format!(
                    "{own} waited for {other}, which is not there: it waits for it no more"
                )),
                Some(_) if !depends.contains(&other) && own != other => depends.push(other),
                Some(_) => {}
            }
        }
        depends
    }
}

/// The ids of tasks that are read with another title, box or dependency than was meant.
fn misread(text: &str, lists: &[ForeignList]) -> Result<BTreeSet<String>, ImportError> {
    let read = tasks_md::read(text, "").map_err(|found| {
        let why: Vec<String> = found.iter().map(|it| it.message.clone()).take(3).collect();
        ImportError(format!("these tasks make no plan: {}", why.join("; ")))
    })?;
    let found: BTreeMap<&str, _> =
        read.plan.tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let mut misread = BTreeSet::new();
    let mut meant = 0;
    for (number, list) in (1..).zip(lists) {
        for task in list.tasks.iter().filter(|task| task.standing != ForeignStanding::Aside) {
            meant += 1;
            let own = id(number, &task.numbers);
            let is_meant = found.get(own.as_str()).is_some_and(|read| {
                let stated: Vec<&TaskId> = match &read.depends {
                    Depends::On(ids) => ids.iter().collect(),
                    Depends::PhaseBefore => Vec::new(),
                };
                let is_asked = |id: &&TaskId| {
                    task.depends.iter().any(|it| self::id(number, it) == id.as_str())
                };
                read.title == one_line(&task.title)
                    && read.ticked == (task.standing == ForeignStanding::Done)
                    && read.phase == number
                    && stated.iter().all(is_asked)
            });
            if !is_meant {
                misread.insert(own);
            }
        }
    }
    if found.len() != meant {
        let message = format!("{meant} tasks were written and {} would be read", found.len());
        return Err(ImportError(message));
    }
    Ok(misread)
}

/// `T1.5.2`.
pub(super) fn id(phase: u32, numbers: &[u32]) -> String {
    numbers.iter().fold(format!("T{phase}"), |id, number| format!("{id}.{number}"))
}

/// A text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a text, without anything that could mean something in Markdown.
fn words(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let plain = one_line(&plain);
    if plain.is_empty() { "untitled".to_owned() } else { plain }
}

/// Named texts as quotes.
fn quoted(parts: &[(String, String)]) -> String {
    let mut text = String::new();
    for (name, part) in parts.iter().filter(|(_, part)| !part.trim().is_empty()) {
        let _infallible = write!(text, "\n> **{name}**\n>\n");
        for line in part.trim_end().lines() {
            text.push_str(format!("> {line}").trim_end());
            text.push('\n');
        }
    }
    text
}
