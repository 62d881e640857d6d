//! The order that GitHub's spec-kit means by its task lists.
//!
//! A list is spec-kit's if a task with an id such as `T012`, which names no phase, has a tag `[P]` or
//! `[US1]`, or if a heading explains the tag (`[P?]`). There
//!
//! - phases run in the order in which they stand, also those with a dotted number and those without
//!   one (`Phase 3.10`, `Final Phase: Polish`); they get other numbers where they have to;
//! - a task without `[P]` waits for everything above it in its phase. `[P]` tasks that follow each
//!   other under the same heading are a **group**: they wait for what stands above all of them;
//! - what a task states is added. `depends: none`, and whatever a `[P]` task states, counts alone;
//!   such a task is waited for like its neighbours above.
//!
//! Other lists are left as they are, whatever their tags. Ids with a phase in them (`T1.3`) have no
//! part in the order of a list that mixes both.

use super::{
    depends::{Wanted, What},
    draft::Draft,
    few::Few,
    form::Number,
    ids,
    walk::{self, Walked},
};
use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};
use waypost_model::diagnostic::Diagnostic;

/// What spec-kit writes into the heading that explains its format.
const FORMAT_SIGN: &str = "[P?]";

/// The number of a first phase that states none.
const PHASE_FIRST: u32 = 1;

/// A heading that is no task.
#[derive(Debug)]
pub(super) struct Heading {
    level: u8,
    /// Its number, and how it is written.
    number: Option<(Number, String)>,
    name: String,
    span: Range<usize>,
}

impl Heading {
    pub(super) fn numbered(level: u8, number: Number, label: &str, name: String) -> Self {
        Self { level, number: Some((number, label.to_owned())), name, span: 0..0 }
    }

    pub(super) fn plain(level: u8, name: String) -> Self {
        Self { level, number: None, name, span: 0..0 }
    }

    pub(super) fn at(self, span: Range<usize>) -> Self {
        Self { span, ..self }
    }

    /// Whether it calls what is below it a phase, without a number.
    fn says_phase(&self) -> bool {
        let mut words = self.name.split(|c: char| !c.is_alphanumeric());
        words.any(|word| word.eq_ignore_ascii_case("phase") || word == "단계")
    }

    /// The phase's name; a dotted number stays in it, because that is how people call the phase.
    fn phase_name(&self) -> String {
        match &self.number {
            Some((Number::Fraction(_), label)) => format!("{label} {}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// Puts phases and tasks in spec-kit's order where the list is spec-kit's; the groups of tasks that
/// drafts follow.
pub(super) fn order(walked: &mut Walked) -> Vec<Vec<usize>> {
    if is_spec_kit(walked) {
        Numbering::run(walked);
        return groups(&mut walked.drafts);
    }
    for heading in &walked.headings {
        if let Some((Number::Fraction(number), _)) = heading.number {
            walked.findings.add(heading.span.clone(), walk::phase_fraction(number));
        }
    }
    Vec::new()
}

fn is_spec_kit(walked: &Walked) -> bool {
    let explained = || walked.headings.iter().any(|heading| heading.name.contains(FORMAT_SIGN));
    let mut plain = walked.drafts.iter().filter(|draft| is_plain(draft)).peekable();
    plain.peek().is_some() && (explained() || plain.any(|draft| draft.tagged))
}

/// Whether the id names no phase.
fn is_plain(draft: &Draft) -> bool {
    ids::phase_of(&draft.id) == Some(None)
}

/// What makes tasks belong to the same phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// The number as it is written.
    Label(String),
    /// A heading without a number.
    Heading(usize),
}

/// Gives phases their numbers, in the order in which their first tasks stand.
#[derive(Default)]
struct Numbering {
    given: HashMap<Key, u32>,
    last: Option<u32>,
    names: BTreeMap<u32, String>,
}

impl Numbering {
    fn run(walked: &mut Walked) {
        let owners = owners(walked);
        let mut numbering = Self::default();
        for at in 0..walked.drafts.len() {
            let draft = &walked.drafts[at];
            let owner = draft.heading.checked_sub(1).and_then(|heading| owners[heading]);
            walked.drafts[at].phase = numbering.phase(walked, owner, draft.phase);
        }
        for draft in &mut walked.drafts {
            if let Some(wanted) = draft.wanted.take() {
                draft.wanted = Some(numbering.translated(wanted));
            }
        }
        walked.phases = numbering.names;
    }

    /// The number of the phase of a task; `stated` is the one that it has outside of any section.
    fn phase(&mut self, walked: &mut Walked, owner: Option<usize>, stated: u32) -> u32 {
        let heading = owner.map(|at| &walked.headings[at]);
        let (key, wished) = match heading.map(|heading| &heading.number) {
            None => (Key::Label(stated.to_string()), Some(stated)),
            Some(Some((Number::Whole(number), _))) => {
                (Key::Label(number.to_string()), Some(*number))
            }
            Some(Some((Number::Fraction(number), label))) => {
                (Key::Label(label.clone()), Some(*number))
            }
            // That is an error, and has been said.
            Some(Some((Number::TooLarge, _))) => return stated,
            Some(None) => (Key::Heading(owner.unwrap_or_default()), None),
        };
        if let Some(given) = self.given.get(&key) {
            return *given;
        }
        let Some(number) = self.next(wished) else {
            let span = heading.map_or(0..0, |heading| heading.span.clone());
            walked.findings.add(span, walk::phase_too_large());
            return stated;
        };
        self.given.insert(key, number);
        self.last = Some(number);
        if let Some(heading) = heading {
            let name = heading.phase_name();
            if !name.is_empty() {
                self.names.insert(number, name);
            }
            let warning = renumbered(heading, number);
            let span = heading.span.clone();
            warning.into_iter().for_each(|warning| walked.findings.add(span.clone(), warning));
        }
        number
    }

    /// The number that is wished for if it comes behind all others, else the next one.
    fn next(&self, wished: Option<u32>) -> Option<u32> {
        match (self.last, wished) {
            (None, wished) => Some(wished.unwrap_or(PHASE_FIRST)),
            (Some(last), Some(wished)) if wished > last => Some(wished),
            (Some(last), _) => last.checked_add(1),
        }
    }

    /// Phases in a dependency are meant by the number that is written; `Phase 3` is all of `3.1`,
    /// `3.2` and so on where there is no other.
    fn translated(&self, wanted: Few<Wanted>) -> Few<Wanted> {
        let mut translated = Few::default();
        for Wanted { what, span } in wanted {
            let label = match &what {
                What::Phase(number) => number.to_string(),
                What::Part(label) => label.clone(),
                What::Task(_) | What::Range(..) => String::new(),
            };
            let mut phases: Vec<u32> = Vec::new();
            match self.given.get(&Key::Label(label.clone())) {
                Some(given) => phases.push(*given),
                None if !label.is_empty() => phases.extend(self.parts_of(&label)),
                None => {}
            }
            if phases.is_empty() {
                translated.push(Wanted { what, span });
                continue;
            }
            phases.sort_unstable();
            for phase in phases {
                translated.push(Wanted { what: What::Phase(phase), span: span.clone() });
            }
        }
        translated
    }

    fn parts_of<'n>(&'n self, label: &'n str) -> impl Iterator<Item = u32> + 'n {
        self.given.iter().filter_map(move |(key, given)| match key {
            Key::Label(part) => {
                part.strip_prefix(label).filter(|rest| rest.starts_with('.')).map(|_| *given)
            }
            Key::Heading(_) => None,
        })
    }
}

/// Says which number a phase has that is written otherwise.
fn renumbered(heading: &Heading, number: u32) -> Option<Diagnostic> {
    let (code, why) = match heading.number.as_ref()? {
        (Number::Whole(written), _) if *written == number => return None,
        (Number::Whole(_) | Number::TooLarge, _) => {
            ("phase_order", "phases run in the order of the file")
        }
        (Number::Fraction(_), _) => ("phase_fraction", "phases have whole numbers"),
    };
    let label = &heading.number.as_ref()?.1;
    let message = format!("{why}; phase {label} is run as phase {number}");
    Some(Diagnostic::warning(code, message))
}

/// For each heading, the one that gives its tasks their phase: one with a number, or one without that
/// stands as high as those with one do.
fn owners(walked: &Walked) -> Vec<Option<usize>> {
    let headings = &walked.headings;
    let phase_level = phase_level(walked);
    let title = headings.iter().position(|heading| heading.level == 1);
    let mut owners: Vec<Option<usize>> = Vec::with_capacity(headings.len());
    let mut open: Vec<usize> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        open.retain(|&above| headings[above].level < heading.level);
        let is_high = phase_level.is_some_and(|level| heading.level <= level) && Some(at) != title;
        let above = open.last().and_then(|&above| owners[above]);
        owners.push(if heading.number.is_some() || is_high { Some(at) } else { above });
        open.push(at);
    }
    owners
}

/// The highest level of a heading that makes a phase of tasks below it.
fn phase_level(walked: &Walked) -> Option<u8> {
    let headings = &walked.headings;
    let mut has_tasks = vec![false; headings.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut drafts = walked.drafts.iter().peekable();
    for (at, heading) in headings.iter().enumerate() {
        open.retain(|&above| headings[above].level < heading.level);
        open.push(at);
        let mut found = false;
        while drafts.next_if(|draft| draft.heading <= at + 1).is_some_and(|it| it.heading == at + 1)
        {
            found = true;
        }
        if found {
            open.iter().for_each(|&above| has_tasks[above] = true);
        }
    }
    let used = || headings.iter().zip(&has_tasks).filter(|(_, used)| **used).map(|(it, _)| it);
    let numbered = used().filter(|heading| heading.number.is_some()).map(|it| it.level).min();
    numbered.or_else(|| used().filter(|heading| heading.says_phase()).map(|it| it.level).min())
}

/// The group that the next task of a phase belongs to or follows.
struct OpenGroup {
    index: usize,
    follows: Option<u32>,
    /// The heading above it, if more `[P]` tasks may join it.
    joinable: Option<usize>,
}

/// How far the tasks of a phase are gathered.
#[derive(Default)]
struct PhaseOrder {
    open: Option<OpenGroup>,
    /// Tasks that wait for nothing in the phase and stand before its first group.
    early: Vec<usize>,
    /// `[P]` tasks that count alone, for the group of the neighbours below them; and their heading.
    pending: Vec<usize>,
    pending_heading: usize,
}

/// Gathers the tasks of each phase in groups that follow each other, and tells each task which one it
/// follows.
fn groups(drafts: &mut [Draft]) -> Vec<Vec<usize>> {
    let later = later_ones(drafts);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut phases: HashMap<u32, PhaseOrder> = HashMap::new();
    for (at, draft) in drafts.iter_mut().enumerate() {
        if !is_plain(draft) || later[at] {
            continue;
        }
        let phase = phases.entry(draft.phase).or_default();
        let is_parallel = draft.details.parallel;
        let joins =
            phase.open.as_ref().filter(|it| is_parallel && it.joinable == Some(draft.heading));
        let wanted = draft.wanted.as_ref();
        let counts_alone = wanted.is_some_and(|it| is_parallel || it.iter().next().is_none());
        match joins {
            Some(group) => {
                groups[group.index].push(at);
                draft.follows = group.follows.filter(|_| !counts_alone);
            }
            None if counts_alone => phase.stand_alone(at, draft, &mut groups),
            None => draft.follows = phase.begin_group(at, draft, &mut groups),
        }
    }
    groups
}

impl PhaseOrder {
    fn stand_alone(&mut self, at: usize, draft: &Draft, groups: &mut [Vec<usize>]) {
        let is_neighbour = self.pending_heading == draft.heading;
        if !draft.details.parallel || !is_neighbour {
            self.flush(groups);
        }
        if draft.details.parallel {
            self.pending.push(at);
            self.pending_heading = draft.heading;
            return;
        }
        match &self.open {
            Some(group) => groups[group.index].push(at),
            None => self.early.push(at),
        }
    }

    /// Begins the next group; the one that it follows.
    fn begin_group(
        &mut self,
        at: usize,
        draft: &Draft,
        groups: &mut Vec<Vec<usize>>,
    ) -> Option<u32> {
        let is_parallel = draft.details.parallel;
        if !is_parallel || self.pending_heading != draft.heading {
            self.flush(groups);
        }
        let follows = self.open.as_ref().and_then(|group| u32::try_from(group.index).ok());
        let joinable = is_parallel.then_some(draft.heading);
        self.open = Some(OpenGroup { index: groups.len(), follows, joinable });
        let mut members = std::mem::take(&mut self.early);
        members.append(&mut self.pending);
        members.push(at);
        groups.push(members);
        follows
    }

    /// What follows waits for `[P]` tasks that are no neighbours of it.
    fn flush(&mut self, groups: &mut [Vec<usize>]) {
        match &self.open {
            Some(group) => groups[group.index].append(&mut self.pending),
            None => self.early.append(&mut self.pending),
        }
    }
}

/// Which tasks state that they wait for one that stands below them in their phase: such a task has
/// left the order of the list, and what is above and below it does not wait for it.
fn later_ones(drafts: &[Draft]) -> Vec<bool> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, draft) in drafts.iter().enumerate() {
        places.entry(draft.id.as_str()).or_insert(at);
    }
    let is_later = |at: usize, id: &str| {
        places.get(id).is_some_and(|&other| other > at && drafts[other].phase == drafts[at].phase)
    };
    let states_later = |(at, draft): (usize, &Draft)| {
        draft.wanted.iter().flat_map(Few::iter).any(|wanted| match &wanted.what {
            What::Task(id) => is_later(at, id.as_str()),
            What::Range(from, to) => is_later(at, from.as_str()) || is_later(at, to.as_str()),
            What::Phase(_) | What::Part(_) => false,
        })
    };
    drafts.iter().enumerate().map(states_later).collect()
}
