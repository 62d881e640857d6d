//! A run as an image: in parts, of which a command reads those that it looks at.
//!
//! Derived like a snapshot, and as little the truth. What follows from the plan alone is written when
//! the plan changes; after that a command writes the pages of the tasks that it has changed, the
//! nodes of the graph that followed, and the head.

use crate::{
    id::TaskId,
    image::{Codec, Counts, Image, Part, PartKey, TakenParts},
    paged::{Paged, TakenPage},
    run::{
        Active, PhaseStage, Plan, PlanSource, PlannedTask, Settings,
        graph::Graph,
        sequence::{Away, Past, RunBrief},
        state::{Core, Task},
        trail::Usage,
    },
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What is not about single tasks.
const HEAD: u32 = 1;
/// What was before this plan: tasks that it leaves out, and earlier runs.
const EARLIER: u32 = 2;
/// What follows from the plan.
const GRAPH: u32 = 3;
const NODES: u32 = 4;
const PLANNED: u32 = 5;
const TASKS: u32 = 6;

#[derive(Serialize, Deserialize)]
struct Head {
    number: u32,
    project: String,
    phase_names: BTreeMap<u32, String>,
    source: Option<PlanSource>,
    task_count: usize,
    settings: Settings,
    started_at: Time,
    updated_at: Time,
    current_phase: u32,
    phases: BTreeMap<u32, PhaseStage>,
    usage: Usage,
    bases: BTreeMap<u32, String>,
    permits: BTreeSet<String>,
}

type EarlierParts = (BTreeMap<TaskId, Away>, BTreeMap<TaskId, Past>, Vec<RunBrief>);

impl Active {
    pub(super) fn take_image<C: Codec>(&mut self, all: bool) -> TakenParts {
        let is_whole = all || self.is_new;
        self.is_new = false;
        let Self { core, graph, .. } = self;
        let mut parts = vec![plain(HEAD, 0, C::encode(&core.head()))];
        if is_whole {
            let earlier = C::encode(&(&core.away, &core.past, &core.earlier));
            parts.push(plain(EARLIER, 0, earlier));
            parts.push(plain(GRAPH, 0, graph.write()));
            parts.extend(core.plan.tasks.pages::<C>().into_iter().map(|it| page(PLANNED, it)));
        }
        let nodes = graph.take_nodes(is_whole).into_iter();
        parts.extend(nodes.map(|(number, bytes)| plain(NODES, number, bytes)));
        parts.extend(core.tasks.take_pages::<C>(is_whole).into_iter().map(|it| page(TASKS, it)));
        TakenParts { is_whole, parts }
    }

    /// None if it is no image of a run.
    pub(super) fn of_image<C: Codec>(image: &Image) -> Option<Self> {
        let head: Head = C::decode(&image.part(HEAD, 0)?)?;
        let (away, past, earlier): EarlierParts = C::decode(&image.part(EARLIER, 0)?)?;
        let fixed = Arc::new(image.part(GRAPH, 0)?);
        let mut graph = Graph::read(&fixed, |number| image.part(NODES, number))?;
        let count = head.task_count;
        let planned = Paged::kept::<C>(count, |number| image.later(PLANNED, number))?;
        let tasks = Paged::kept::<C>(count, |number| image.later(TASKS, number))?;
        if graph.task_count() != count {
            return None;
        }
        let core = head.into_core(planned, tasks, (away, past, earlier));
        graph.set_current(core.current_phase, core.current_is_open());
        Some(Self { core, graph, is_new: false })
    }
}

/// A part over which nothing is counted.
fn plain(kind: u32, number: u32, bytes: Vec<u8>) -> Part {
    Part { key: PartKey { kind, number }, counts: Counts::default(), bytes }
}

fn page(kind: u32, (number, page): (u32, TakenPage)) -> Part {
    let TakenPage { counts, bytes } = page;
    Part { key: PartKey { kind, number }, counts, bytes }
}

impl Core {
    fn head(&self) -> Head {
        Head {
            number: self.number,
            project: self.plan.project.clone(),
            phase_names: self.plan.phases.clone(),
            source: self.plan.source.clone(),
            task_count: self.tasks.len(),
            settings: self.settings.clone(),
            started_at: self.started_at,
            updated_at: self.updated_at,
            current_phase: self.current_phase,
            phases: self.phases.clone(),
            usage: self.usage,
            bases: self.bases.clone(),
            permits: self.permits.clone(),
        }
    }
}

impl Head {
    fn into_core(
        self,
        planned: Paged<PlannedTask>,
        tasks: Paged<Task>,
        (away, past, earlier): EarlierParts,
    ) -> Core {
        Core {
            number: self.number,
            plan: Plan {
                project: self.project,
                phases: self.phase_names,
                tasks: Arc::new(planned),
                source: self.source,
            },
            settings: self.settings,
            started_at: self.started_at,
            updated_at: self.updated_at,
            current_phase: self.current_phase,
            phases: self.phases,
            tasks,
            away,
            past,
            earlier,
            usage: self.usage,
            bases: self.bases,
            permits: self.permits,
        }
    }
}
