//! Which tasks are claimed next.

use super::attempt::TaskWork;
use std::collections::BTreeMap;
use waypost_model::{
    declared::are_disjoint,
    id::TaskId,
    run::{Active, Isolation, Run, Settings, TaskStatus, TaskView},
    time::Time,
};

/// What there is room for.
#[derive(Debug)]
pub(super) struct Room {
    /// Free slots for commands, and some ahead of them while tasks end quickly.
    pub(super) commands: usize,
    /// How many more agents may work.
    pub(super) agents: usize,
    /// Free slots for both together.
    pub(super) slots: usize,
    /// Only this phase.
    pub(super) phase: Option<u32>,
    /// Until when agents of a name are not started.
    pub(super) limited: BTreeMap<String, Time>,
    /// The files that attempts declare which are still in the work tree of their phase, whatever
    /// has become of their tasks meanwhile.
    pub(super) occupied: Vec<Vec<String>>,
    pub(super) now: Time,
}

/// What is claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) ids: Vec<TaskId>,
    /// When another task may be started that there is room for now.
    pub(super) next: Option<Time>,
}

impl Room {
    /// The most urgent of the ready tasks that there is room for. One that was taken away from an
    /// earlier attempt waits until its process is gone.
    pub(super) fn claims(&self, run: &Run, has_process: impl Fn(&TaskId) -> bool) -> Claims {
        let mut claims = Claims::default();
        let Some(active) = run.active() else { return claims };
        let isolation = active.settings().isolation;
        if isolation.has_trees() && active.base(active.current_phase()).is_none() {
            // The phase has no branch yet.
            return claims;
        }
        let mut company =
            (isolation == Isolation::Phase).then(|| Company::of(active, &self.occupied));
        let (mut commands, mut agents, mut slots) = (self.commands, self.agents, self.slots);
        for view in active.ready() {
            // There is no room for any other; there may be thousands more.
            if commands == 0 && (agents == 0 || slots == 0) {
                break;
            }
            if let Some(time) = self.starts_at(&view, active.settings()) {
                claims.next = claims.next.into_iter().chain([time]).min();
            }
            if !self.may_start(&view) || view.attempts > 0 && has_process(&view.planned.id) {
                continue;
            }
            if company.as_ref().is_some_and(|company| !company.admits(&view)) {
                continue;
            }
            match TaskWork::of(view.planned, active.settings()) {
                TaskWork::Agent(agent) if slots == 0 || agents == 0 || self.is_limited(agent) => {
                    continue;
                }
                TaskWork::Agent(_) => {
                    agents -= 1;
                    // Beside an agent no command is claimed ahead.
                    commands = commands.min(slots);
                }
                TaskWork::Command(_) | TaskWork::Nobody(_) if commands == 0 => continue,
                TaskWork::Command(_) | TaskWork::Nobody(_) => {}
            }
            commands = commands.saturating_sub(1);
            slots = slots.saturating_sub(1);
            company.iter_mut().for_each(|company| company.0.push(files(&view).to_vec()));
            claims.ids.push(view.planned.id.clone());
        }
        claims
    }

    fn may_start(&self, view: &TaskView<'_>) -> bool {
        self.phase.is_none_or(|phase| view.planned.phase == phase)
            && view.not_before().is_none_or(|not_before| not_before <= self.now)
            && !view.waits_for_person()
    }

    /// When a task may be started that waits for nothing but a time.
    fn starts_at(&self, view: &TaskView<'_>, settings: &Settings) -> Option<Time> {
        let limit = match TaskWork::of(view.planned, settings) {
            TaskWork::Agent(agent) => self.limited.get(agent).copied(),
            TaskWork::Command(_) | TaskWork::Nobody(_) => None,
        };
        let times = view.not_before().into_iter().chain(limit);
        times.max().filter(|time| *time > self.now && !view.waits_for_person())
    }

    fn is_limited(&self, agent: &str) -> bool {
        self.limited.get(agent).is_some_and(|until| *until > self.now)
    }
}

/// Tasks that work in one folder: the files that each of them declares.
struct Company(Vec<Vec<String>>);

impl Company {
    fn of(active: &Active, occupied: &[Vec<String>]) -> Self {
        let working = active.tasks().filter(|view| view.status == TaskStatus::InProgress);
        let working = working.map(|view| files(&view).to_vec());
        Self(working.chain(occupied.iter().cloned()).collect())
    }

    /// One at a time, unless it is known that they do not touch the same files.
    fn admits(&self, view: &TaskView<'_>) -> bool {
        self.0.iter().all(|others| are_disjoint(others, files(view)))
    }
}

fn files<'a>(view: &TaskView<'a>) -> &'a [String] {
    view.planned.details.as_deref().map_or(&[], |details| &details.files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use waypost_model::{
        actor::Actor,
        machine::Asked,
        run::{Command, Depends, Details, Plan, PlannedTask, Priority},
    };

    const NOW: Time = Time::from_millis(1_000);

    /// Four commands, the third of which waits for the first, and two tasks of an agent.
    fn run() -> Run {
        let task = |id: &str, depends: &[&str], details: Details| PlannedTask {
            id: id.parse().unwrap(),
            title: id.into(),
            phase: 1,
            depends: Depends::On(depends.iter().map(|id| id.parse().unwrap()).collect()),
            ticked: false,
            priority: Priority::default(),
            line: 1,
            details: Some(Box::new(details)),
        };
        let command = || Details { command: Some("true".into()), ..Details::default() };
        let agent = || Details { agent: Some("codex".into()), ..Details::default() };
        let tasks = vec![
            task("T1", &[], command()),
            task("T2", &[], agent()),
            task("T3", &["T1"], command()),
            task("T4", &[], command()),
            task("T5", &[], agent()),
            task("T6", &[], command()),
        ];
        let plan = Plan::new("demo".into(), BTreeMap::new(), tasks).unwrap();
        let begin = Command::Begin { plan, settings: Settings::default() };
        Run::imagine([&begin], &Asked { by: &Actor::Waypost, now: NOW }).unwrap()
    }

    #[test]
    fn as_many_are_claimed_as_there_is_room_for() {
        let run = run();
        let room = |commands, agents| Room {
            commands,
            agents,
            slots: 9,
            phase: None,
            limited: BTreeMap::new(),
            occupied: Vec::new(),
            now: NOW,
        };
        let check = |room: Room, want: &[&str]| {
            let claims: Vec<String> =
                room.claims(&run, |_| false).ids.iter().map(ToString::to_string).collect();
            assert_eq!(claims, want, "{room:?}");
        };
        check(room(0, 0), &[]);
        check(room(2, 0), &["T1", "T4"]);
        check(room(0, 1), &["T2"]);
        check(room(9, 1), &["T1", "T2", "T4", "T6"]);
        check(room(9, 9), &["T1", "T2", "T4", "T5", "T6"]);
        check(Room { slots: 2, ..room(2, 9) }, &["T1", "T2"]);
        check(Room { slots: 0, ..room(3, 9) }, &["T1", "T4", "T6"]);
        check(Room { phase: Some(2), ..room(9, 9) }, &[]);
        let until = |millis| BTreeMap::from([("codex".to_owned(), Time::from_millis(millis))]);
        check(Room { limited: until(1_001), ..room(1, 9) }, &["T1"]);
        check(Room { limited: until(1_000), ..room(1, 9) }, &["T1", "T2", "T5"]);
    }
}
