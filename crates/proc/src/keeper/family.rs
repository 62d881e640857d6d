//! Whose a process is: every process below the keeper belongs to one of its children.
//!
//! While its parents live, that follows from them. An orphan is adopted by the keeper; then it is
//! known from an earlier look, or by its group, its session, its environment or its control group.
//! One that has wiped all of that belongs to a child that was there when it began; once there is no such child
//! left, it belongs to none, and is not let live.

use super::child::Child;
use crate::{
    process::{self, Identity, OwnChildren, Process},
    spec::{CHILD_VARIABLE, KEEPER_VARIABLE},
};
use std::{
    collections::{HashMap, HashSet},
    io,
};

/// Names a child for as long as its keeper lives.
pub(super) type Key = u64;

/// Everything that is alive below the keeper, by whose it is.
#[derive(Debug, Default)]
pub(super) struct Families {
    pub(super) members: HashMap<Key, Vec<Process>>,
    /// Of no child any more.
    pub(super) strays: Vec<Process>,
}

/// The top of a line of parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Top {
    Elsewhere,
    Stray,
    /// One of several children's; which one is not known yet.
    Unclear,
    Child(Key),
}

/// Who is whose, and what was found out about it earlier.
#[derive(Debug)]
pub(super) struct Kinship {
    keeper: String,
    own_pid: u32,
    own_children: OwnChildren,
    known: HashMap<Identity, Key>,
}

impl Kinship {
    pub(super) fn new(keeper: &str) -> Self {
        Self {
            keeper: keeper.to_owned(),
            own_pid: std::process::id(),
            own_children: OwnChildren::open(),
            known: HashMap::new(),
        }
    }

    /// The children of the keeper's own process, also those that it adopted.
    pub(super) fn own_children(&self) -> io::Result<Vec<u32>> {
        self.own_children.pids()
    }

    /// Looks at all processes. Nothing alive below the keeper is missed: what is born while the
    /// list is read has a parent in it or is an orphan, and orphans are looked at last.
    pub(super) fn look(&mut self, children: &HashMap<Key, Child>) -> io::Result<Families> {
        let mut processes = process::all()?;
        let seen: HashSet<u32> = processes.iter().map(|process| process.identity.pid).collect();
        // Not every kernel has the list; then a second look at everything serves as well.
        let adopted = match self.own_children() {
            Ok(pids) => pids,
            Err(_) => process::all()?.iter().map(|process| process.identity.pid).collect(),
        };
        for pid in adopted.into_iter().filter(|pid| !seen.contains(pid)) {
            processes.extend(Process::alive(pid)?);
        }
        Ok(self.sort(&processes, children))
    }

    fn sort(&mut self, processes: &[Process], children: &HashMap<Key, Child>) -> Families {
        let by_pid: HashMap<u32, &Process> =
            processes.iter().map(|process| (process.identity.pid, process)).collect();
        let mut tops = HashMap::with_capacity(processes.len());
        let mut families = Families::default();
        let mut known = HashMap::new();
        for process in processes {
            match self.top(process, &by_pid, children, &mut tops) {
                Top::Child(key) => {
                    known.insert(process.identity, key);
                    families.members.entry(key).or_default().push(*process);
                }
                Top::Stray => families.strays.push(*process),
                Top::Elsewhere | Top::Unclear => {}
            }
        }
        self.known = known;
        families
    }

    fn top(
        &self,
        process: &Process,
        by_pid: &HashMap<u32, &Process>,
        children: &HashMap<Key, Child>,
        tops: &mut HashMap<u32, Top>,
    ) -> Top {
        let (mut line, mut at) = (Vec::new(), process);
        let top = loop {
            if let Some(top) = tops.get(&at.identity.pid) {
                break *top;
            }
            // A list that is read while it changes may go in circles.
            let is_circle = line.contains(&at.identity.pid);
            line.push(at.identity.pid);
            match by_pid.get(&at.parent) {
                _ if at.parent == self.own_pid => break self.owner(at, children),
                Some(parent) if !is_circle => at = parent,
                _ => break Top::Elsewhere,
            }
        };
        tops.extend(line.into_iter().map(|pid| (pid, top)));
        top
    }

    /// Whose a child of the keeper's own process is.
    fn owner(&self, process: &Process, children: &HashMap<Key, Child>) -> Top {
        let key = |is_it: &dyn Fn(&Child) -> bool| {
            children.iter().find(|(_, child)| is_it(child)).map(|(key, _)| *key)
        };
        let known = self.known.get(&process.identity).copied();
        let found = known
            .filter(|key| children.contains_key(key))
            .or_else(|| key(&|child| child.identity == process.identity))
            .or_else(|| key(&|child| child.is_leader_of(process)))
            .or_else(|| self.by_environment(process).and_then(|id| key(&|child| child.id == id)))
            .or_else(|| key(&|child| child.is_group_of(process)));
        if let Some(key) = found {
            return Top::Child(key);
        }
        let mut possible = children
            .iter()
            .filter(|(_, child)| child.identity.start <= process.identity.start)
            .map(|(key, _)| *key);
        match (possible.next(), possible.next()) {
            (None, _) => Top::Stray,
            (Some(key), None) => Top::Child(key),
            (Some(_), Some(_)) => Top::Unclear,
        }
    }

    fn by_environment(&self, process: &Process) -> Option<String> {
        let pid = process.identity.pid;
        process::variable(pid, KEEPER_VARIABLE).filter(|id| id == self.keeper.as_bytes())?;
        process::variable(pid, CHILD_VARIABLE).and_then(|id| String::from_utf8(id).ok())
    }
}
