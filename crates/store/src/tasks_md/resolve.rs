//! Looks up what dependencies and graphs name among all tasks of the file.

use super::{
    depends::{DEPENDS_FORMS, DependsFault, Wanted, What},
    draft::Draft,
    few::Few,
    findings::{Findings, MISSING_DEP, PARSE_FAIL, TOO_LARGE},
    ids,
    mermaid::{Chain, Graph, Link, MermaidNode},
};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap},
    ops::Range,
};
use waypost_model::{
    diagnostic::Diagnostic,
    id::TaskId,
    run::{Depends, PlanError},
};

/// How many dependencies phases, ranges and graphs may spell out in one file. They multiply: half
/// of 100,000 tasks waiting for the other half by name would be more than a machine holds.
pub(super) const LINKS_MAX: usize = 1_000_000;

/// For how many missing ids the nearest one is looked up; each look-up goes through all ids.
const HINTS_MAX: usize = 10;

/// The dependencies of one task and where each was stated.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) depends: Depends,
    pub(super) spans: Vec<Range<usize>>,
}

impl Resolved {
    /// The ids that `spans` belong to.
    pub(super) fn stated(&self) -> &[TaskId] {
        match &self.depends {
            Depends::PhaseBefore => &[],
            Depends::On(ids) => ids,
        }
    }
}

/// What orders tasks besides what they state themselves.
pub(super) struct Named<'d> {
    pub(super) graphs: &'d [Graph],
    /// Groups of tasks, by their places, that others follow.
    pub(super) groups: &'d [Vec<usize>],
}

/// Turns names into dependencies, one entry for each draft, of which `keep` keeps what is needed.
///
/// What the drafts want is taken from them, so that each text gives way to what it means.
pub(super) fn resolve<T>(
    drafts: &mut [Draft],
    named: &Named<'_>,
    findings: &mut Findings,
    keep: impl Fn(Resolved) -> T,
) -> Vec<T> {
    let wanted: Vec<Option<Few<Wanted>>> =
        drafts.iter_mut().map(|draft| draft.wanted.take()).collect();
    let drafts = &*drafts;
    let mut resolver = Resolver {
        drafts,
        index: Index::new(drafts),
        stems: OnceCell::new(),
        incoming: HashMap::new(),
        last_seen: vec![usize::MAX; drafts.len()],
        spelled_out: 0,
        hints: 0,
        groups: named.groups,
        findings,
    };
    for graph in named.graphs {
        resolver.graph(graph);
    }
    wanted.into_iter().enumerate().map(|(at, wanted)| keep(resolver.task(at, wanted))).collect()
}

/// Finds tasks by what a dependency can say.
struct Index<'d> {
    by_id: HashMap<&'d str, usize>,
    by_phase: HashMap<u32, Vec<usize>>,
}

/// Tasks by the beginning of the id and its last number.
type Stems<'d> = HashMap<&'d str, BTreeMap<u64, Vec<usize>>>;

impl<'d> Index<'d> {
    fn new(drafts: &'d [Draft]) -> Self {
        let mut index =
            Self { by_id: HashMap::with_capacity(drafts.len()), by_phase: HashMap::new() };
        for (at, draft) in drafts.iter().enumerate() {
            index.by_id.entry(draft.id.as_str()).or_insert(at);
            index.by_phase.entry(draft.phase).or_default().push(at);
        }
        index
    }
}

fn stems(drafts: &[Draft]) -> Stems<'_> {
    let mut stems = Stems::new();
    for (at, draft) in drafts.iter().enumerate() {
        if let Some((stem, number)) = ids::stem(&draft.id) {
            stems.entry(stem).or_default().entry(number).or_default().push(at);
        }
    }
    stems
}

/// A task that another one waits for, and where that was stated.
#[derive(Clone, Debug)]
struct Edge {
    to: usize,
    span: Range<usize>,
}

/// What a node of a graph stands for.
enum Meaning {
    Task(usize),
    Missing(TaskId),
    Nothing,
}

struct Resolver<'d> {
    drafts: &'d [Draft],
    index: Index<'d>,
    /// Made for the first range; most files have none.
    stems: OnceCell<Stems<'d>>,
    /// What graphs add to each task.
    incoming: HashMap<usize, Vec<Edge>>,
    /// For each task, the task that it was last found to be a dependency of; tells repetitions.
    last_seen: Vec<usize>,
    spelled_out: usize,
    hints: usize,
    groups: &'d [Vec<usize>],
    findings: &'d mut Findings,
}

impl Resolver<'_> {
    /// Gathers the dependencies of one task in the order in which they are stated.
    fn task(&mut self, at: usize, wanted: Option<Few<Wanted>>) -> Resolved {
        let incoming = self.incoming.remove(&at).unwrap_or_default();
        let follows = self.drafts[at].follows;
        if incoming.is_empty() && follows.is_none() && self.means_phase_before(at, wanted.as_ref())
        {
            return Resolved { depends: Depends::PhaseBefore, spans: Vec::new() };
        }
        let mut edges = Vec::new();
        for wanted in wanted.iter().flat_map(Few::iter) {
            self.wanted(at, wanted, &mut edges);
        }
        drop(wanted);
        // A task that is named in its own dependency is part of the sentence, unless it is all
        // that the sentence names.
        if edges.iter().any(|edge| edge.to != at) {
            edges.retain(|edge| edge.to != at);
        }
        edges.extend(incoming);
        if let Some(group) = follows {
            self.follow(at, group, &mut edges);
        }
        edges.retain(|edge| std::mem::replace(&mut self.last_seen[edge.to], at) != at);
        let ids = edges.iter().map(|edge| self.drafts[edge.to].id.clone()).collect();
        let spans = edges.into_iter().map(|edge| edge.span).collect();
        Resolved { depends: Depends::On(ids), spans }
    }

    /// Makes the task wait for a whole group; every other task of its own group does the same, so
    /// that large groups multiply.
    fn follow(&mut self, at: usize, group: u32, edges: &mut Vec<Edge>) {
        let groups = self.groups;
        let (group, span) = (&groups[group as usize], &self.drafts[at].id_span);
        if group.len() == 1 || self.may_spell_out(group.len(), span) {
            edges.extend(group.iter().map(|&to| Edge { to, span: span.clone() }));
        }
    }

    /// Whether nothing is stated, or exactly what holds then: the phase right before.
    ///
    /// That spares spelling out a whole phase for every task of the next one.
    fn means_phase_before(&self, at: usize, wanted: Option<&Few<Wanted>>) -> bool {
        match wanted.map(Few::only) {
            None => true,
            Some(Some(Wanted { what: What::Phase(phase), .. })) => {
                phase.checked_add(1) == Some(self.drafts[at].phase)
                    && self.index.by_phase.contains_key(phase)
            }
            Some(_) => false,
        }
    }

    fn wanted(&mut self, at: usize, wanted: &Wanted, edges: &mut Vec<Edge>) {
        let span = &wanted.span;
        match &wanted.what {
            What::Task(id) => {
                edges.extend(self.find(at, id, span).map(|to| Edge { to, span: span.clone() }));
            }
            What::Phase(phase) => match self.index.by_phase.get(phase) {
                Some(tasks) => {
                    let tasks = tasks.iter().copied().filter(|&to| to != at).collect();
                    self.spell_out(tasks, span, edges);
                }
                None => self.phase_missing(at, *phase, span),
            },
            What::Part(_) => {
                let error = Diagnostic::error(PARSE_FAIL, DependsFault::PhaseNumber.message())
                    .path(format!("{}.depends", self.drafts[at].id))
                    .expected(DEPENDS_FORMS)
                    .hint("name the tasks by their ids, or write `depends: none`");
                self.findings.add(span.clone(), error);
            }
            What::Range(from, to) => {
                let ends = (self.find(at, from, span), self.find(at, to, span));
                if let (Some(from), Some(to)) = ends {
                    self.range(at, (from, to), span, edges);
                }
            }
        }
    }

    fn range(
        &mut self,
        at: usize,
        ends: (usize, usize),
        span: &Range<usize>,
        edges: &mut Vec<Edge>,
    ) {
        let (from, to) = (ids::stem(&self.drafts[ends.0].id), ids::stem(&self.drafts[ends.1].id));
        let Some((stem, numbers)) = same_stem(from, to) else {
            let error =
                Diagnostic::error(PARSE_FAIL, "the ends of this range do not belong together")
                    .path(format!("{}.depends", self.drafts[at].id))
                    .expected("two ids that differ in their last number, as in T1.1~T1.3")
                    .hint("name the tasks one by one");
            return self.findings.add(span.clone(), error);
        };
        let stems = self.stems.get_or_init(|| stems(self.drafts));
        let tasks = stems[stem].range(numbers).flat_map(|(_, tasks)| tasks);
        let tasks = tasks.copied().filter(|&to| to != at).collect();
        self.spell_out(tasks, span, edges);
    }

    fn spell_out(&mut self, tasks: Vec<usize>, span: &Range<usize>, edges: &mut Vec<Edge>) {
        if self.may_spell_out(tasks.len(), span) {
            edges.extend(tasks.into_iter().map(|to| Edge { to, span: span.clone() }));
        }
    }

    /// Counts dependencies that one word multiplies; says so once when they are too many.
    fn may_spell_out(&mut self, count: usize, span: &Range<usize>) -> bool {
        let was_full = self.spelled_out > LINKS_MAX;
        self.spelled_out = self.spelled_out.saturating_add(count);
        let is_full = self.spelled_out > LINKS_MAX;
        if is_full && !was_full {
            let message = "phases, ranges, graphs and [P] tasks make too many dependencies";
            let error = Diagnostic::error(TOO_LARGE, message)
                .expected(format!("at most {LINKS_MAX} in one file"))
                .hint("leave the dependency out where it is the whole phase before");
            self.findings.add(span.clone(), error);
        }
        !is_full
    }

    fn find(&mut self, at: usize, id: &TaskId, span: &Range<usize>) -> Option<usize> {
        let found = self.index.by_id.get(id.as_str()).copied();
        if found.is_none() {
            let missing =
                PlanError::Missing { id: self.drafts[at].id.clone(), line: 0, missing: id.clone() };
            let path = format!("{}.depends", self.drafts[at].id);
            let error = Diagnostic::error(MISSING_DEP, missing.to_string()).path(path);
            let error = error.expected("the id of a task in this file");
            let error = self.with_nearest(error, id, Some(at));
            self.findings.add(span.clone(), error);
        }
        found
    }

    fn phase_missing(&mut self, at: usize, phase: u32, span: &Range<usize>) {
        let id = &self.drafts[at].id;
        let message = format!("{id} depends on phase {phase}, which has no task");
        let error = Diagnostic::error(MISSING_DEP, message)
            .path(format!("{id}.depends"))
            .expected(DEPENDS_FORMS)
            .hint("name a phase of this file, or write `depends: none`");
        self.findings.add(span.clone(), error);
    }

    /// Adds the id that may have been meant, which is never the one of the task `asking`.
    fn with_nearest(
        &mut self,
        error: Diagnostic,
        id: &TaskId,
        asking: Option<usize>,
    ) -> Diagnostic {
        self.hints += 1;
        let asking = asking.map(|at| &self.drafts[at].id);
        let mut nearest: Option<(usize, &TaskId)> = None;
        let count = if self.hints > HINTS_MAX { 0 } else { self.drafts.len() };
        for draft in self.drafts[..count].iter().filter(|draft| Some(&draft.id) != asking) {
            let best = nearest.map_or(usize::MAX, |(distance, _)| distance);
            if draft.id.as_str().len().abs_diff(id.as_str().len()) < best {
                let distance = distance(draft.id.as_str(), id.as_str());
                if distance < best {
                    nearest = Some((distance, &draft.id));
                }
            }
        }
        match nearest {
            Some((_, nearest)) => error.hint(format!("the nearest id in this file is {nearest}")),
            None => error.hint("add the task, or remove the dependency"),
        }
    }

    fn graph(&mut self, graph: &Graph) {
        for chain in &graph.chains {
            self.chain(graph, chain);
        }
        for span in &graph.unclear {
            let error =
                Diagnostic::error(PARSE_FAIL, "this line of the graph cannot be understood")
                    .expected("nodes and arrows, as in T1.1 --> T1.2 & T1.3")
                    .hint("write the edge with `-->`, or state it as `depends:` under the task");
            self.findings.add(span.clone(), error);
        }
    }

    fn chain(&mut self, graph: &Graph, chain: &Chain) {
        let meaning = |node: &MermaidNode| {
            let mut candidates = graph.candidates(node).peekable();
            let first = candidates.peek().cloned();
            let known = candidates.find_map(|id| self.index.by_id.get(id.as_str()).copied());
            match (known, first) {
                (Some(task), _) => Meaning::Task(task),
                (None, Some(id)) => Meaning::Missing(id),
                (None, None) => Meaning::Nothing,
            }
        };
        let meanings: Vec<Vec<Meaning>> =
            chain.groups.iter().map(|group| group.iter().map(meaning).collect()).collect();
        self.check_nodes(chain, &meanings);
        for (at, link) in chain.links.iter().enumerate() {
            let (left, right) = (at, at + 1);
            match link {
                Link::Forward => self.join(chain, &meanings, left, right),
                Link::Both => {
                    self.join(chain, &meanings, left, right);
                    self.join(chain, &meanings, right, left);
                }
                Link::Plain => self.warn_of_line(chain, &meanings, left),
                Link::Hidden => {}
            }
        }
    }

    /// Reports nodes that an arrow connects with a task and that are none themselves. Arrows among
    /// other things are some other picture.
    fn check_nodes(&mut self, chain: &Chain, meanings: &[Vec<Meaning>]) {
        let orders = |at: usize| matches!(chain.links.get(at), Some(Link::Forward | Link::Both));
        let names_tasks =
            |at: usize| meanings[at].iter().any(|meaning| !matches!(meaning, Meaning::Nothing));
        for (at, group) in chain.groups.iter().enumerate() {
            let before = at > 0 && orders(at - 1);
            let after = orders(at);
            let beside_task = (before && names_tasks(at - 1)) || (after && names_tasks(at + 1));
            for (node, meaning) in group.iter().zip(&meanings[at]) {
                let message = format!("the graph names {}, which is not in the file", node.name);
                let error = Diagnostic::error(MISSING_DEP, message)
                    .expected("nodes that are tasks, by their id or a label that starts with it");
                let error = match meaning {
                    Meaning::Missing(id) if before || after => self.with_nearest(error, id, None),
                    Meaning::Nothing if beside_task => {
                        error.hint("connect tasks only, or label the node with a task's id")
                    }
                    _ => continue,
                };
                self.findings.add(node.span.clone(), error);
            }
        }
    }

    /// Makes every task of the group `to` wait for every task of the group `from`.
    fn join(&mut self, chain: &Chain, meanings: &[Vec<Meaning>], from: usize, to: usize) {
        let count = meanings[from].len().saturating_mul(meanings[to].len());
        if !self.may_spell_out(count, &chain.groups[from][0].span) {
            return;
        }
        for target in &meanings[to] {
            let Meaning::Task(target) = target else { continue };
            for (node, meaning) in chain.groups[from].iter().zip(&meanings[from]) {
                if let Meaning::Task(task) = meaning {
                    self.incoming
                        .entry(*target)
                        .or_default()
                        .push(Edge { to: *task, span: node.span.clone() });
                }
            }
        }
    }

    fn warn_of_line(&mut self, chain: &Chain, meanings: &[Vec<Meaning>], left: usize) {
        let has_task = |at: usize| meanings[at].iter().any(|m| matches!(m, Meaning::Task(_)));
        if has_task(left) && has_task(left + 1) {
            let message = "a line without an arrow orders nothing";
            let warning = Diagnostic::warning("plain_edge", message).hint("write `-->`");
            self.findings.add(chain.groups[left][0].span.clone(), warning);
        }
    }
}

/// The beginning that two ids share and the numbers from one to the other.
fn same_stem<'i>(
    from: Option<(&'i str, u64)>,
    to: Option<(&'i str, u64)>,
) -> Option<(&'i str, std::ops::RangeInclusive<u64>)> {
    let ((stem, from), (other, to)) = (from?, to?);
    (stem == other).then(|| (stem, from.min(to)..=from.max(to)))
}

/// How many characters have to be changed, added or removed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distance_counts_edits() {
        let table = [
            ("", "", 0),
            ("T1.1", "T1.1", 0),
            ("T1.1", "T1.2", 1),
            ("T1", "T1.2", 2),
            ("", "T1", 2),
        ];
        for (a, b, want) in table {
            assert_eq!((distance(a, b), distance(b, a)), (want, want), "{a} {b}");
        }
    }
}
