//! What waits in the inbox, as a person sees it: with what each entry holds up, the most first.
//!
//! How many tasks wait behind an entry follows from the state of the machine that asked. It is found
//! out when the list is looked at: what was true when the question was asked would soon be wrong.

use crate::{error::EngineError, machines, project::Project, served};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};
use waypost_model::{
    document::ServerTaskId, inbox::Entry, machine::Machine as _, task::ServedTask,
};

/// An entry that waits, with the number of tasks behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingEntry {
    pub entry: Entry,
    /// How many tasks wait for its answer, directly or not.
    pub holds: usize,
}

/// All that waits: what holds up the most tasks first, then the oldest.
pub fn waiting(project: &mut Project) -> Result<Vec<WaitingEntry>, EngineError> {
    let open: Vec<Entry> = project.inbox()?.open().to_vec();
    let mut waiting = Vec::with_capacity(open.len());
    let mut behind = None;
    for entry in open {
        let holds = held_by_with(project, &entry, &mut behind)?;
        waiting.push(WaitingEntry { entry, holds });
    }
    // Entries are in the order in which they were asked, and the sort keeps that.
    waiting.sort_by_key(|it| Reverse(it.holds));
    Ok(waiting)
}

/// How many tasks wait behind an entry.
pub fn held_by(project: &mut Project, entry: &Entry) -> Result<usize, EngineError> {
    held_by_with(project, entry, &mut None)
}

/// The same, for one of many entries: what waits for what is found out once.
fn held_by_with(
    project: &mut Project,
    entry: &Entry,
    behind: &mut Option<Dependents>,
) -> Result<usize, EngineError> {
    let Some((stream, topic)) = entry.question.subject.read() else { return Ok(0) };
    let own = machines::held_by(project, &stream, &topic)?;
    let task = stream.instance().filter(|_| stream.kind() == ServedTask::KIND);
    let Some(task) = task.and_then(|it| it.parse().ok()).filter(|_| own > 0) else {
        return Ok(own);
    };
    if behind.is_none() {
        *behind = Some(dependents(project)?);
    }
    Ok(own + behind.as_ref().map_or(0, |behind| count_behind(behind, &task)))
}

/// The tasks of the server that name another one, by that one.
type Dependents = BTreeMap<ServerTaskId, Vec<ServerTaskId>>;

/// Which pending tasks wait for which others.
fn dependents(project: &mut Project) -> Result<Dependents, EngineError> {
    let mut found = Dependents::new();
    for row in served::pending(project)? {
        for named in row.dependencies {
            found.entry(named).or_default().push(row.id.clone());
        }
    }
    Ok(found)
}

/// How many tasks wait for one, directly or not.
fn count_behind(behind: &Dependents, task: &ServerTaskId) -> usize {
    let mut known = BTreeSet::from([task]);
    let mut left = vec![task];
    while let Some(task) = left.pop() {
        let direct = behind.get(task).into_iter().flatten();
        left.extend(direct.filter(|it| known.insert(it)));
    }
    known.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_behind_a_task_is_counted_once_and_also_where_it_is_named_in_a_circle() {
        let id = |name: &str| format!("task_{name}").parse::<ServerTaskId>().unwrap();
        let names = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "a")];
        let mut behind = Dependents::new();
        for (named, by) in names {
            behind.entry(id(named)).or_default().push(id(by));
        }
        let counts = ["a", "b", "d", "x"].map(|it| count_behind(&behind, &id(it)));
        assert_eq!(counts, [3, 3, 3, 0]);
    }
}
