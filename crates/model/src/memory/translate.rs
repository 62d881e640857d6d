//! Edits of the memory's files as commands, as an agent of the seed makes them.
//!
//! Times, `current_step` and `retries` are Waypost's: what a file says of them is passed over, and the
//! file is shown again with what they are. Everything else becomes a command or refuses the file.

use super::{
    state::Memory,
    words::{Amendment, Command, Ending, StepAct, StepDraft, StepFailure, TaskAct, TaskDraft},
};
use crate::{
    code::Code,
    document::{
        MemoryTaskId,
        memory::{
            HistoryEntry, MemoryTask, MemoryTaskStatus as Status, Step, StepStatus, TaskHistory,
            TaskResult, TaskState,
        },
    },
    machine::Rejected,
    next::NextStep,
    retry::FailureClass,
};
use std::collections::{BTreeSet, HashMap};

type Translated = Result<Vec<Command>, Vec<Rejected>>;

/// Commands and refusals, as they come together.
#[derive(Default)]
struct Edits {
    commands: Vec<Command>,
    refused: Vec<Rejected>,
}

/// What an edit of `task-state.json` means.
pub fn translate_state(base: &TaskState, edited: &TaskState) -> Translated {
    let mut edits = Edits::default();
    match (&base.current_task, &edited.current_task) {
        (None, None) => {}
        (None, Some(new)) => edits.new_task(new, base),
        (Some(was), None) => edits.refuse(format!(
            "{} was taken out; set its status to `completed` or `cancelled` instead, and it goes \
             into the history",
            was.id
        )),
        (Some(was), Some(is)) if was.id != is.id => {
            edits.refuse(format!("the id of the current task {} was changed to {}", was.id, is.id));
        }
        (Some(was), Some(is)) => edits.task(was, is),
    }
    for is in &edited.pending_tasks {
        let was = base.pending_tasks.iter().find(|it| it.id == is.id);
        match was {
            Some(was) => edits.task(was, is),
            None => edits.new_task(is, base),
        }
    }
    let is_left = |was: &&MemoryTask| edited.pending_tasks.iter().any(|it| it.id == was.id);
    for was in base.pending_tasks.iter().filter(|was| !is_left(was)) {
        edits.refuse(format!(
            "{} was taken out of the tasks that wait; set its status to `cancelled` instead",
            was.id
        ));
    }
    edits.order(base, edited);
    edits.done()
}

/// What an edit of `task-history.json` means: a new entry may end a task that has not ended.
pub fn translate_history(memory: &Memory, base: &TaskHistory, edited: &TaskHistory) -> Translated {
    let mut edits = Edits::default();
    for was in &base.tasks {
        match edited.tasks.iter().find(|it| it.id == was.id) {
            Some(is) if is == was => {}
            Some(_) => edits.rewritten(&was.id, "was changed"),
            None => edits.rewritten(&was.id, "was taken out"),
        }
    }
    let known = |id: &MemoryTaskId| base.tasks.iter().any(|entry| entry.id == *id);
    let new: Vec<&HistoryEntry> = edited.tasks.iter().filter(|it| !known(&it.id)).collect();
    if new.is_empty() && edited.statistics != base.statistics {
        edits.refuse("the statistics are counted, not written".to_owned());
    }
    for entry in new {
        match memory.task(&entry.id) {
            Some(kept) => edits.ended(entry, kept.task.status),
            None => edits.rewritten(&entry.id, "is no task that could end"),
        }
    }
    edits.done()
}

impl Edits {
    fn refuse(&mut self, why: String) {
        self.refused.push(Rejected::rule(Code::EditRefused, why).next(NextStep::ShowMemory));
    }

    fn rewritten(&mut self, id: &MemoryTaskId, how: &str) {
        self.refuse(format!("the history is not rewritten: {id} {how}"));
    }

    fn done(self) -> Translated {
        if self.refused.is_empty() { Ok(self.commands) } else { Err(self.refused) }
    }

    fn on_task(&mut self, task: &MemoryTask, act: TaskAct) {
        self.commands.push(Command::Task { id: Some(task.id.clone()), act });
    }

    fn on_step(&mut self, task: &MemoryTask, step: u32, act: StepAct) {
        self.commands.push(Command::Step { task: Some(task.id.clone()), step, act });
    }

    /// Tasks wait in the order in which they were made.
    fn order(&mut self, base: &TaskState, edited: &TaskState) {
        let ids = |state: &TaskState, of: &TaskState| -> Vec<MemoryTaskId> {
            let ids = state.pending_tasks.iter().map(|task| task.id.clone());
            ids.filter(|id| of.pending_tasks.iter().any(|task| task.id == *id)).collect()
        };
        if ids(base, edited) != ids(edited, base) {
            self.refuse("tasks wait in the order in which they were made".to_owned());
        }
    }

    fn new_task(&mut self, task: &MemoryTask, base: &TaskState) {
        let known = base.current_task.iter().chain(&base.pending_tasks);
        if known.clone().any(|it| it.id == task.id) {
            return self.refuse(format!("{} was moved; the next task follows by itself", task.id));
        }
        let draft = TaskDraft {
            id: Some(task.id.clone()),
            name: task.name.clone(),
            goal: task.plan.goal.clone(),
            success_criteria: task.plan.success_criteria.clone(),
            orchestrator: Some(task.orchestrator.clone()),
            context: task.context.clone(),
        };
        self.commands.push(Command::NewTask { draft: Box::new(draft) });
        let was = MemoryTask {
            status: Status::Pending,
            artifacts: Vec::new(),
            issues: Vec::new(),
            plan: crate::document::memory::TaskPlan { steps: Vec::new(), ..task.plan.clone() },
            ..task.clone()
        };
        self.task(&was, task);
    }

    /// What was done to a task that is still there.
    fn task(&mut self, was: &MemoryTask, is: &MemoryTask) {
        let Some((opening, ending)) = acts_between(was, is) else {
            let (before, after) = (was.status.as_str(), is.status.as_str());
            return self.refuse(format!("{} was {before} and cannot become {after}", was.id));
        };
        opening.into_iter().for_each(|act| self.on_task(is, act));
        let order = in_order(&is.plan.steps);
        self.added_steps(was, is, &order);
        self.amended(was, is);
        for step in &order {
            if let Some(before) = was.plan.steps.iter().find(|it| it.id == step.id) {
                self.changed_step(is, before, step);
            }
        }
        self.removed_steps(was, is);
        for step in &order {
            let before = was.plan.steps.iter().find(|it| it.id == step.id);
            self.moved_step(is, before, step);
        }
        ending.into_iter().for_each(|act| self.on_task(is, act));
    }

    fn added_steps(&mut self, was: &MemoryTask, is: &MemoryTask, order: &[&Step]) {
        for step in order {
            if was.plan.steps.iter().any(|it| it.id == step.id) {
                continue;
            }
            let gone = was.plan.steps.iter().find(|it| {
                it.name == step.name && !is.plan.steps.iter().any(|other| other.id == it.id)
            });
            if let Some(gone) = gone {
                self.refuse(format!("the id of step {} was changed to {}", gone.id, step.id));
                continue;
            }
            let (task, draft) = (Some(is.id.clone()), Box::new(draft_of(step)));
            self.commands.push(Command::AddStep { task, draft });
        }
    }

    fn removed_steps(&mut self, was: &MemoryTask, is: &MemoryTask) {
        let is_gone = |step: &&Step| !is.plan.steps.iter().any(|it| it.id == step.id);
        let gone: Vec<&Step> = was.plan.steps.iter().filter(is_gone).collect();
        for step in in_order_of(&gone).into_iter().rev() {
            match step.status {
                StepStatus::Pending => self.on_step(is, step.id, StepAct::Remove),
                status => self.refuse(format!(
                    "step {} is {} and was taken out; what has begun stays",
                    step.id,
                    status.as_str()
                )),
            }
        }
    }

    fn amended(&mut self, was: &MemoryTask, is: &MemoryTask) {
        fn changed<T: PartialEq + Clone>(was: &T, is: &T) -> Option<T> {
            (was != is).then(|| is.clone())
        }
        let amendment = Amendment {
            name: changed(&was.name, &is.name),
            goal: changed(&was.plan.goal, &is.plan.goal),
            success_criteria: changed(&was.plan.success_criteria, &is.plan.success_criteria),
            orchestrator: changed(&was.orchestrator, &is.orchestrator),
            context: changed(&was.context, &is.context),
            artifacts: changed(&was.artifacts, &is.artifacts),
            issues: changed(&was.issues, &is.issues),
        };
        if amendment != Amendment::default() {
            self.on_task(is, TaskAct::Amend { amendment: Box::new(amendment) });
        }
    }

    fn changed_step(&mut self, task: &MemoryTask, was: &Step, is: &Step) {
        let (before, after) = (draft_of(was), draft_of(is));
        if before != after {
            self.on_step(task, is.id, StepAct::Change { draft: Box::new(after) });
        }
    }

    /// A step's status moved forward, and its output.
    fn moved_step(&mut self, task: &MemoryTask, was: Option<&Step>, is: &Step) {
        let before = was.map_or(StepStatus::Pending, |step| step.status);
        let Some(acts) = acts_of_step(before, is) else {
            let (before, after) = (before.as_str(), is.status.as_str());
            return self.refuse(format!("step {} was {before} and cannot become {after}", is.id));
        };
        if acts.iter().any(|act| matches!(act, StepAct::Fail { .. })) {
            let class = is.error.as_ref().map(|error| error.class.as_str());
            if let Some(class) = class.filter(|class| FailureClass::from_word(class).is_none()) {
                self.refuse(format!("step {} failed with `{class}`, which is no class", is.id));
            }
        }
        let is_told = acts.iter().any(|act| matches!(act, StepAct::Complete { .. }));
        acts.into_iter().for_each(|act| self.on_step(task, is.id, act));
        let is_same = was.map_or_else(|| is.output.is_null(), |step| step.output == is.output);
        if !is_told && !is_same {
            self.on_step(task, is.id, StepAct::SetOutput { output: is.output.clone() });
        }
    }

    /// An entry for a task that has not ended ends it.
    fn ended(&mut self, entry: &HistoryEntry, status: Status) {
        let ending = Ending {
            summary: entry.summary.clone(),
            lessons: entry.lessons.clone(),
            artifacts: entry.artifacts.clone(),
            tokens_used: entry.metrics.tokens_used,
        };
        let mut on = |act| self.commands.push(Command::Task { id: Some(entry.id.clone()), act });
        match entry.result {
            TaskResult::Success => on(TaskAct::Complete { partial: false, ending }),
            TaskResult::Partial => on(TaskAct::Complete { partial: true, ending }),
            TaskResult::Cancelled => on(TaskAct::Cancel { ending }),
            TaskResult::Failure => {
                if status != Status::Failed {
                    let said = entry.summary.trim();
                    let message = if said.is_empty() { "an agent gave it up" } else { said };
                    on(TaskAct::Fail { message: message.to_owned() });
                }
                on(TaskAct::Close { ending });
            }
        }
    }
}

/// What leads from one status of a task to another: what opens it, and what comes after its steps.
fn acts_between(was: &MemoryTask, is: &MemoryTask) -> Option<(Vec<TaskAct>, Vec<TaskAct>)> {
    let ending = Ending::default;
    let how = String::new();
    let opening = match (was.status, is.status) {
        (before, after) if before == after => return Some((Vec::new(), Vec::new())),
        (_, Status::Cancelled) => Vec::new(),
        (Status::Pending, Status::InProgress | Status::Paused | Status::Failed)
        | (Status::Pending, Status::Completed) => vec![TaskAct::Start],
        (Status::Paused, Status::InProgress | Status::Failed | Status::Completed) => {
            vec![TaskAct::Resume]
        }
        (Status::Failed, Status::InProgress | Status::Paused | Status::Completed) => {
            vec![TaskAct::Recover { how }]
        }
        (Status::InProgress, Status::Paused | Status::Failed | Status::Completed) => Vec::new(),
        _ => return None,
    };
    let last = match is.status {
        Status::Paused => vec![TaskAct::Pause],
        Status::Failed => {
            let new = is.issues.iter().rfind(|issue| !was.issues.contains(issue));
            let message = new.map_or("an agent set it to failed", |issue| issue.message.as_str());
            vec![TaskAct::Fail { message: message.to_owned() }]
        }
        Status::Completed => vec![TaskAct::Complete { partial: false, ending: ending() }],
        Status::Cancelled => vec![TaskAct::Cancel { ending: ending() }],
        Status::Pending | Status::InProgress => Vec::new(),
    };
    Some((opening, last))
}

/// What leads from one status of a step to that which it has now; none if nothing does.
fn acts_of_step(before: StepStatus, is: &Step) -> Option<Vec<StepAct>> {
    use StepStatus as S;
    let complete = || StepAct::Complete { output: is.output.clone(), artifacts: Vec::new() };
    let error = is.error.as_ref();
    let said = error.map_or("an agent set it to failed", |error| error.message.as_str());
    let fail = || StepAct::Fail {
        failure: StepFailure {
            class: error.and_then(|it| FailureClass::from_word(&it.class)).unwrap_or_default(),
            message: said.to_owned(),
            needs: Vec::new(),
        },
    };
    let retry = StepAct::Retry { agent: None };
    let escalate = StepAct::Escalate { why: said.to_owned() };
    Some(match (before, is.status) {
        (before, after) if before == after => Vec::new(),
        (S::Pending, S::InProgress) => vec![StepAct::Start],
        (S::Pending, S::Completed) => vec![StepAct::Start, complete()],
        (S::Pending, S::Failed) => vec![StepAct::Start, fail()],
        (S::InProgress, S::Completed) => vec![complete()],
        (S::InProgress, S::Failed) => vec![fail()],
        (S::InProgress, S::Escalated) => vec![fail(), escalate],
        (S::Failed | S::Escalated, S::InProgress) => vec![retry],
        (S::Failed | S::Escalated, S::Completed) => vec![retry, complete()],
        (S::Failed, S::Escalated) => vec![escalate],
        _ => return None,
    })
}

fn draft_of(step: &Step) -> StepDraft {
    StepDraft {
        id: Some(step.id),
        name: step.name.clone(),
        agent: step.agent.clone(),
        cluster: step.cluster.clone(),
        dependencies: step.dependencies.clone(),
        expected_seconds: step.expected_seconds,
    }
}

/// Steps so that each comes after those that it waits for; what waits in a circle comes last.
fn in_order(steps: &[Step]) -> Vec<&Step> {
    in_order_of(&steps.iter().collect::<Vec<_>>())
}

fn in_order_of<'a>(steps: &[&'a Step]) -> Vec<&'a Step> {
    let positions: HashMap<u32, usize> =
        steps.iter().enumerate().map(|(at, step)| (step.id, at)).collect();
    let mut waits = vec![0_usize; steps.len()];
    let mut followers = vec![Vec::new(); steps.len()];
    for (at, step) in steps.iter().enumerate() {
        for before in step.dependencies.iter().filter_map(|id| positions.get(id)) {
            waits[at] += 1;
            followers[*before].push(at);
        }
    }
    // The first in the file comes first among those that may.
    let mut free: BTreeSet<usize> = (0..steps.len()).filter(|at| waits[*at] == 0).collect();
    let mut order = Vec::new();
    while let Some(at) = free.pop_first() {
        order.push(at);
        for next in &followers[at] {
            waits[*next] -= 1;
            if waits[*next] == 0 {
                free.insert(*next);
            }
        }
    }
    order.extend((0..steps.len()).filter(|at| waits[*at] > 0));
    order.into_iter().map(|at| steps[at]).collect()
}
