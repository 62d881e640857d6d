//! What follows from the dependencies: which task is pending, ready or blocked.
//!
//! Nodes are the tasks, and one more per phase that stands for all of its tasks, so that "depends on
//! the whole phase before" costs one edge per task instead of one per pair. Each node counts the
//! dependencies that are not completed and those that never will be; a change is passed on only
//! along edges whose answer changes.

use crate::{
    id::TaskId,
    run::{Depends, Plan, Priority, TaskStatus, positions::Positions, state::Progress},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// What is known of a task itself, without its dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Open,
    Running,
    Completed,
    Failed,
}

/// The graph with its counters.
#[derive(Debug)]
pub(super) struct Graph {
    positions: Positions,
    /// Who waits for node `i`: `targets[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<u32>,
    targets: Vec<u32>,
    nodes: Vec<Node>,
    task_count: usize,
    phase_of: Vec<u32>,
    priority_of: Vec<Priority>,
    tasks_of: BTreeMap<u32, Vec<u32>>,
    progress: BTreeMap<u32, Progress>,
    running: usize,
    /// The phase whose tasks may be ready; none while its end is under way.
    current: Option<u32>,
    ready: BTreeSet<(Reverse<Priority>, u32)>,
}

#[derive(Clone, Debug)]
struct Node {
    standing: Standing,
    /// Dependencies that are not completed.
    missing: u32,
    /// Dependencies that cannot be completed as things stand.
    spoiled: u32,
    /// What this node last told its dependents.
    told: Told,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    is_complete: bool,
    is_spoiled: bool,
}

impl Graph {
    pub(super) fn new(plan: &Plan) -> Self {
        let positions = Positions::new(&plan.tasks);
        let task_count = plan.tasks.len();
        let phase_nodes: BTreeMap<u32, u32> =
            plan.phases.keys().zip(task_count..).map(|(number, at)| (*number, node(at))).collect();
        let edges = edges(plan, &positions, &phase_nodes);
        let node_count = task_count + phase_nodes.len();
        let fresh =
            Node { standing: Standing::Open, missing: 0, spoiled: 0, told: Told::default() };
        let mut nodes = vec![fresh; node_count];
        let mut offsets = vec![0u32; node_count + 1];
        for (from, to) in &edges {
            offsets[*from as usize + 1] += 1;
            nodes[*to as usize].missing += 1;
        }
        for at in 0..node_count {
            offsets[at + 1] += offsets[at];
        }
        let (mut fill, mut targets) = (offsets.clone(), vec![0u32; edges.len()]);
        for (from, to) in edges {
            targets[fill[from as usize] as usize] = to;
            fill[from as usize] += 1;
        }
        let mut progress: BTreeMap<u32, Progress> = BTreeMap::new();
        let mut tasks_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (task, at) in plan.tasks.iter().zip(0..) {
            progress.entry(task.phase).or_default().total += 1;
            tasks_of.entry(task.phase).or_default().push(at);
        }
        Self {
            positions,
            offsets,
            targets,
            nodes,
            task_count,
            phase_of: plan.tasks.iter().map(|task| task.phase).collect(),
            priority_of: plan.tasks.iter().map(|task| task.priority).collect(),
            tasks_of,
            progress,
            running: 0,
            current: None,
            ready: BTreeSet::new(),
        }
    }

    pub(super) fn position(&self, id: &TaskId) -> Option<usize> {
        self.positions.find(id)
    }

    pub(super) fn dependents(&self, position: usize) -> impl Iterator<Item = usize> {
        let targets = &self.targets[self.edges_of(position)];
        targets.iter().map(|at| *at as usize).filter(|at| *at < self.task_count)
    }

    fn edges_of(&self, node: usize) -> Range<usize> {
        self.offsets[node] as usize..self.offsets[node + 1] as usize
    }

    /// The tasks of one phase as they stand in the file.
    pub(super) fn tasks_of(&self, phase: u32) -> &[u32] {
        self.tasks_of.get(&phase).map_or(&[], Vec::as_slice)
    }

    pub(super) fn ready(&self) -> impl Iterator<Item = usize> {
        self.ready.iter().map(|(_, position)| *position as usize)
    }

    pub(super) fn progress(&self, phase: u32) -> Progress {
        self.progress.get(&phase).copied().unwrap_or_default()
    }

    /// The lowest phase in which something can still happen.
    pub(super) fn first_unsettled(&self) -> Option<u32> {
        self.progress.iter().find(|(_, progress)| !progress.is_settled()).map(|(number, _)| *number)
    }

    pub(super) fn running(&self) -> usize {
        self.running
    }

    pub(super) fn count(&self, status: TaskStatus) -> usize {
        let sum = |part: fn(&Progress) -> usize| self.progress.values().map(part).sum::<usize>();
        match status {
            TaskStatus::Completed => sum(|phase| phase.completed),
            TaskStatus::Failed => sum(|phase| phase.failed),
            TaskStatus::Blocked => sum(|phase| phase.blocked),
            TaskStatus::InProgress => self.running,
            TaskStatus::Ready => self.ready.len(),
            TaskStatus::Pending => {
                sum(|phase| phase.total - phase.completed - phase.failed - phase.blocked)
                    - self.running
                    - self.ready.len()
            }
        }
    }

    pub(super) fn status(&self, position: usize) -> TaskStatus {
        let node = &self.nodes[position];
        match node.standing {
            Standing::Running => TaskStatus::InProgress,
            Standing::Completed => TaskStatus::Completed,
            Standing::Failed => TaskStatus::Failed,
            Standing::Open if node.spoiled > 0 => TaskStatus::Blocked,
            Standing::Open if self.is_ready(position) => TaskStatus::Ready,
            Standing::Open => TaskStatus::Pending,
        }
    }

    fn is_ready(&self, position: usize) -> bool {
        let node = &self.nodes[position];
        node.standing == Standing::Open
            && node.missing == 0
            && node.spoiled == 0
            && self.current == Some(self.phase_of[position])
    }

    /// Notes what a task itself does now, and passes on what follows.
    pub(super) fn set(&mut self, position: usize, standing: Standing) {
        let before = self.nodes[position].standing;
        if before == standing {
            return;
        }
        self.count_standing(position, before, usize::wrapping_sub);
        self.nodes[position].standing = standing;
        self.count_standing(position, standing, usize::wrapping_add);
        let mut changed = vec![position];
        while let Some(node) = changed.pop() {
            self.pass_on(node, &mut changed);
        }
    }

    fn count_standing(
        &mut self,
        position: usize,
        standing: Standing,
        by: fn(usize, usize) -> usize,
    ) {
        let is_blocked = standing == Standing::Open && self.nodes[position].spoiled > 0;
        let progress = self.progress.entry(self.phase_of[position]).or_default();
        match standing {
            Standing::Running => self.running = by(self.running, 1),
            Standing::Completed => progress.completed = by(progress.completed, 1),
            Standing::Failed => progress.failed = by(progress.failed, 1),
            Standing::Open if is_blocked => progress.blocked = by(progress.blocked, 1),
            Standing::Open => {}
        }
    }

    /// Tells the dependents of a node what has become of it, if that is news.
    fn pass_on(&mut self, node: usize, changed: &mut Vec<usize>) {
        self.refresh_ready(node);
        let (before, now) = (self.nodes[node].told, self.outlook(node));
        if before == now {
            return;
        }
        self.nodes[node].told = now;
        for edge in self.edges_of(node) {
            let target = self.targets[edge] as usize;
            let was_blocked = self.is_blocked(target);
            let entry = &mut self.nodes[target];
            if before.is_complete != now.is_complete {
                entry.missing = if now.is_complete { entry.missing - 1 } else { entry.missing + 1 };
            }
            if before.is_spoiled != now.is_spoiled {
                entry.spoiled = if now.is_spoiled { entry.spoiled + 1 } else { entry.spoiled - 1 };
            }
            self.count_blocked(target, was_blocked);
            changed.push(target);
        }
    }

    fn is_blocked(&self, node: usize) -> bool {
        let entry = &self.nodes[node];
        entry.standing == Standing::Open && entry.spoiled > 0
    }

    fn count_blocked(&mut self, node: usize, was_blocked: bool) {
        if node >= self.task_count || was_blocked == self.is_blocked(node) {
            return;
        }
        let progress = self.progress.entry(self.phase_of[node]).or_default();
        progress.blocked = if was_blocked { progress.blocked - 1 } else { progress.blocked + 1 };
    }

    fn outlook(&self, node: usize) -> Told {
        let entry = &self.nodes[node];
        if node >= self.task_count {
            return Told { is_complete: entry.missing == 0, is_spoiled: entry.spoiled > 0 };
        }
        Told {
            is_complete: entry.standing == Standing::Completed,
            is_spoiled: entry.standing == Standing::Failed || self.is_blocked(node),
        }
    }

    fn refresh_ready(&mut self, node: usize) {
        if node >= self.task_count {
            return;
        }
        let key = self.ready_key(node);
        if self.is_ready(node) {
            self.ready.insert(key);
        } else {
            self.ready.remove(&key);
        }
    }

    fn ready_key(&self, position: usize) -> (Reverse<Priority>, u32) {
        (Reverse(self.priority_of[position]), node(position))
    }

    /// Says which phase's tasks may be ready.
    pub(super) fn set_current(&mut self, phase: u32, is_open: bool) {
        self.current = is_open.then_some(phase);
        let ready = self.tasks_of(phase).iter().map(|position| *position as usize);
        let ready = ready.filter(|position| self.is_ready(*position));
        self.ready = ready.map(|position| self.ready_key(position)).collect();
    }
}

/// A position as it is kept.
fn node(position: usize) -> u32 {
    u32::try_from(position).expect("a plan has fewer than 2^32 tasks")
}

/// All edges, from what is waited for to what waits.
fn edges(plan: &Plan, positions: &Positions, phase_nodes: &BTreeMap<u32, u32>) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for (task, at) in plan.tasks.iter().zip(0u32..) {
        edges.push((at, phase_nodes[&task.phase]));
        match &task.depends {
            Depends::On(ids) => {
                let found = ids.iter().map(|id| positions.find(id));
                let found = found.map(|it| it.expect("a plan has what its tasks depend on"));
                let unique: BTreeSet<usize> = found.collect();
                edges.extend(unique.into_iter().map(|wanted| (node(wanted), at)));
            }
            Depends::PhaseBefore => {
                let before = phase_nodes.range(..task.phase).next_back();
                edges.extend(before.map(|(_, node)| (*node, at)));
            }
        }
    }
    edges
}
