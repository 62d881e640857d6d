//! What follows from the dependencies: which task is pending, ready or blocked.
//!
//! Nodes are the tasks, and one more per phase that stands for all of its tasks, so that "depends on
//! the whole phase before" costs one edge per task instead of one per pair. Each node counts the
//! dependencies that are not completed and those that never will be; a change is passed on only
//! along edges whose answer changes.

use crate::{
    id::TaskId,
    image::{NumberReader, NumberWriter, Numbers},
    run::{Depends, Plan, Priority, TaskStatus, positions::Positions, state::Progress},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

/// How many nodes are kept together in an image.
const NODES_TOGETHER: usize = if cfg!(test) { 4 } else { 1_024 };

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
    /// Who waits for each node.
    edges: Edges,
    /// What each task says that it depends on, as the file has it.
    stated: Edges,
    nodes: Vec<Node>,
    /// Which runs of nodes are not as the image has them.
    changed: BTreeSet<usize>,
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

/// A list of nodes for each node: that of node `i` is `targets[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, PartialEq, Eq)]
struct Edges {
    offsets: Numbers,
    targets: Numbers,
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
        let positions = Positions::new(plan.tasks.iter().map(|task| &task.id));
        let task_count = plan.tasks.len();
        let phase_nodes: BTreeMap<u32, u32> =
            plan.phases.keys().zip(task_count..).map(|(number, at)| (*number, node(at))).collect();
        let stated = stated(plan, &positions);
        let edges = edges(plan, &stated, &phase_nodes);
        let node_count = task_count + phase_nodes.len();
        let fresh =
            Node { standing: Standing::Open, missing: 0, spoiled: 0, told: Told::default() };
        let mut nodes = vec![fresh; node_count];
        for (_, to) in &edges {
            nodes[*to as usize].missing += 1;
        }
        let edges = Edges::new(node_count, &edges);
        let phase_of = plan.tasks.iter().map(|task| task.phase).collect();
        let priority_of = plan.tasks.iter().map(|task| task.priority).collect();
        Self::of(positions, (edges, stated), nodes, (phase_of, priority_of))
    }

    /// With everything that can be counted.
    fn of(
        positions: Positions,
        (edges, stated): (Edges, Edges),
        nodes: Vec<Node>,
        (phase_of, priority_of): (Vec<u32>, Vec<Priority>),
    ) -> Self {
        let task_count = phase_of.len();
        let changed = (0..nodes.len().div_ceil(NODES_TOGETHER)).collect();
        let (mut tasks_of, mut progress) = (BTreeMap::<u32, Vec<u32>>::new(), BTreeMap::new());
        let (mut running, mut at, current) = (0, 0, None);
        // Tasks of a phase mostly stand together: each such run is counted at once.
        for run in phase_of.chunk_by(|one, next| one == next) {
            let (phase, end) = (run[0], at + run.len());
            tasks_of.entry(phase).or_default().extend(node(at)..node(end));
            let counted: &mut Progress = progress.entry(phase).or_default();
            counted.total += run.len();
            nodes[at..end].iter().for_each(|node| node.count(counted, &mut running));
            at = end;
        }
        let ready = BTreeSet::new();
        Self {
            positions,
            edges,
            stated,
            nodes,
            changed,
            task_count,
            phase_of,
            priority_of,
            tasks_of,
            progress,
            running,
            current,
            ready,
        }
    }

    pub(super) fn task_count(&self) -> usize {
        self.task_count
    }

    pub(super) fn position(&self, id: &TaskId) -> Option<usize> {
        self.positions.find(id)
    }

    pub(super) fn dependents(&self, position: usize) -> impl Iterator<Item = usize> {
        let targets = self.edges.of(position);
        targets.map(|at| at as usize).filter(|at| *at < self.task_count)
    }

    /// What a task says that it depends on, as the file has it.
    pub(super) fn stated(&self, position: usize) -> impl Iterator<Item = usize> {
        self.stated.of(position).map(|at| at as usize)
    }

    /// The text of a task's id.
    #[inline]
    pub(super) fn id_text(&self, position: usize) -> &str {
        self.positions.text_of(position)
    }

    /// The id of a task.
    pub(super) fn id(&self, position: usize) -> TaskId {
        self.positions.id(position)
    }

    /// The tasks of one status, as they stand in the file.
    pub(super) fn with(&self, status: TaskStatus) -> impl Iterator<Item = usize> {
        (0..self.task_count).filter(move |position| self.status(*position) == status)
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
        self.change(position).standing = standing;
        self.count_standing(position, standing, usize::wrapping_add);
        let mut changed = vec![position];
        while let Some(node) = changed.pop() {
            self.pass_on(node, &mut changed);
        }
    }

    /// A node that is about to change.
    fn change(&mut self, node: usize) -> &mut Node {
        self.changed.insert(node / NODES_TOGETHER);
        &mut self.nodes[node]
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
        self.change(node).told = now;
        for edge in self.edges.range(node) {
            let target = self.edges.targets.at(edge) as usize;
            let was_blocked = self.is_blocked(target);
            let entry = self.change(target);
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

/// The positions of what each task says that it depends on.
fn stated(plan: &Plan, positions: &Positions) -> Edges {
    let (mut offsets, mut targets) = (vec![0], Vec::new());
    for task in plan.tasks.iter() {
        let found = task.stated().iter().map(|id| positions.find(id));
        let found = found.map(|it| node(it.expect("a plan has what its tasks depend on")));
        targets.extend(found);
        offsets.push(node(targets.len()));
    }
    Edges::of_lists(&offsets, &targets)
}

/// All edges, from what is waited for to what waits.
fn edges(plan: &Plan, stated: &Edges, phase_nodes: &BTreeMap<u32, u32>) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for (task, at) in plan.tasks.iter().zip(0u32..) {
        edges.push((at, phase_nodes[&task.phase]));
        match &task.depends {
            Depends::On(_) => {
                let unique: BTreeSet<u32> = stated.of(at as usize).collect();
                edges.extend(unique.into_iter().map(|wanted| (wanted, at)));
            }
            Depends::PhaseBefore => {
                let before = phase_nodes.range(..task.phase).next_back();
                edges.extend(before.map(|(_, node)| (*node, at)));
            }
        }
    }
    edges
}

impl Edges {
    fn new(node_count: usize, edges: &[(u32, u32)]) -> Self {
        let mut offsets = vec![0u32; node_count + 1];
        for (from, _) in edges {
            offsets[*from as usize + 1] += 1;
        }
        for at in 0..node_count {
            offsets[at + 1] += offsets[at];
        }
        let (mut fill, mut targets) = (offsets.clone(), vec![0u32; edges.len()]);
        for (from, to) in edges {
            targets[fill[*from as usize] as usize] = *to;
            fill[*from as usize] += 1;
        }
        Self::of_lists(&offsets, &targets)
    }

    fn of_lists(offsets: &[u32], targets: &[u32]) -> Self {
        Self { offsets: offsets.into(), targets: targets.into() }
    }

    fn range(&self, node: usize) -> Range<usize> {
        self.offsets.at(node) as usize..self.offsets.at(node + 1) as usize
    }

    fn of(&self, node: usize) -> impl Iterator<Item = u32> {
        self.range(node).map(|at| self.targets.at(at))
    }

    fn write(&self, out: &mut NumberWriter) {
        out.numbers(&self.offsets);
        out.numbers(&self.targets);
    }

    /// None if these are no lists for `from` nodes of `to` nodes.
    fn read(numbers: &mut NumberReader<'_>, (from, to): (usize, usize)) -> Option<Self> {
        let (offsets, targets) = (numbers.numbers()?, numbers.numbers()?);
        let is_sound = offsets.len() == from + 1
            && offsets.iter().is_sorted()
            && offsets.iter().next_back().is_none_or(|end| end as usize == targets.len())
            && targets.iter().all(|target| (target as usize) < to);
        is_sound.then_some(Self { offsets, targets })
    }
}

/// As an image keeps it: what follows from the plan, and the nodes.
impl Graph {
    /// What follows from the plan and never changes.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = NumberWriter::default();
        out.number(node(self.task_count));
        out.number(node(self.nodes.len()));
        self.positions.write(&mut out);
        self.edges.write(&mut out);
        self.stated.write(&mut out);
        out.numbers(&self.phase_of.as_slice().into());
        let priorities: Vec<u8> = self.priority_of.iter().map(|it| *it as u8).collect();
        out.text(&priorities);
        out.bytes
    }

    /// The runs of nodes with their numbers: all, or those that changed since they were taken last.
    pub(super) fn take_nodes(&mut self, all: bool) -> Vec<(u32, Vec<u8>)> {
        let runs = self.nodes.chunks(NODES_TOGETHER).enumerate();
        let wanted = runs.filter(|(number, _)| all || self.changed.contains(number));
        let written = wanted.map(|(number, run)| {
            let mut out = NumberWriter::default();
            run.iter().for_each(|node| node.write(&mut out));
            (node(number), out.bytes)
        });
        let written = written.collect();
        self.changed.clear();
        written
    }

    /// Reads what was written; none if it is not what was.
    pub(super) fn read(
        fixed: &Arc<Vec<u8>>,
        mut nodes: impl FnMut(u32) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let mut from = NumberReader::new(fixed);
        let (task_count, node_count) = (from.number()? as usize, from.number()? as usize);
        let positions = Positions::read(&mut from, task_count)?;
        let edges = Edges::read(&mut from, (node_count, node_count))?;
        let stated = Edges::read(&mut from, (task_count, task_count))?;
        let phase_of: Vec<u32> = from.numbers()?.iter().collect();
        let priority_of: Option<Vec<Priority>> =
            from.text()?.iter().map(|it| Priority::from_number(*it)).collect();
        let priority_of = priority_of?;
        let is_sound = task_count <= node_count
            && phase_of.len() == task_count
            && priority_of.len() == task_count
            && from.is_done();
        if !is_sound {
            return None;
        }
        let mut read = Vec::with_capacity(node_count);
        for number in 0..node_count.div_ceil(NODES_TOGETHER) {
            let bytes = Arc::new(nodes(node(number))?);
            let mut from = NumberReader::new(&bytes);
            while !from.is_done() {
                read.push(Node::read(&mut from)?);
            }
        }
        if read.len() != node_count {
            return None;
        }
        let mut graph = Self::of(positions, (edges, stated), read, (phase_of, priority_of));
        graph.changed.clear();
        Some(graph)
    }
}

impl Node {
    /// Counts a task among those that do as it does.
    fn count(&self, phase: &mut Progress, running: &mut usize) {
        match self.standing {
            Standing::Running => *running += 1,
            Standing::Completed => phase.completed += 1,
            Standing::Failed => phase.failed += 1,
            Standing::Open => phase.blocked += usize::from(self.spoiled > 0),
        }
    }

    /// Two bits for the standing, one for each thing it told, and both counts.
    fn write(&self, out: &mut NumberWriter) {
        let told = u32::from(self.told.is_complete) | u32::from(self.told.is_spoiled) << 1;
        out.number(self.standing as u32 | told << 2);
        out.number(self.missing);
        out.number(self.spoiled);
    }

    fn read(from: &mut NumberReader<'_>) -> Option<Self> {
        let word = from.number()?;
        let standing = match word & 3 {
            0 => Standing::Open,
            1 => Standing::Running,
            2 => Standing::Completed,
            _ => Standing::Failed,
        };
        let told = Told { is_complete: word & 4 != 0, is_spoiled: word & 8 != 0 };
        Some(Self { standing, missing: from.number()?, spoiled: from.number()?, told })
    }
}
