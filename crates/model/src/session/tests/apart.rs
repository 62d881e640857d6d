//! Requests whose tasks have work trees, and what gates leave open.

use super::*;
use crate::{
    code::Code,
    document::session::{GlobalPhase, SessionStatus},
    inbox::QuestionKind,
};

/// A plan whose first task has no tree yet.
pub(super) const APART: &str = "start; request cart; apart main; plan p h";

/// The same with the first task done and not joined.
pub(super) fn task_done() -> String {
    let (one, two) = (subtask_done("T1-S1"), subtask_done("T1-S2"));
    format!("{APART}; place T1 c; design T1 d; {one}; {two}")
}

/// The same with all tasks joined and nothing landed.
pub(super) fn all_joined() -> String {
    let three = subtask_done("T2-S1");
    format!("{}; join T1 j1; place T2 c2; design T2 e; {three}; join T2 j2", task_done())
}

fn step(walk: &Walk) -> Option<TreeStep> {
    walk.request().tree_step()
}

fn refused(walk: &Walk, line: &str) -> Code {
    walk.ask(line).unwrap_err().code
}

#[test]
fn a_task_gets_a_tree_and_is_joined_before_the_next_one_begins() {
    let mut walk = Walk::of(APART);
    let task = |id: &str| id.parse().unwrap();
    assert_eq!(step(&walk), Some(TreeStep::Place(task("T1"))));
    assert_eq!(refused(&walk, "design T1 d"), Code::TaskStatus, "it has no place to work in");
    walk.all("place T1 c1; design T1 d");
    assert_eq!(walk.request().open_tree(&task("T1")).unwrap(), "worktree/request-R1--T1-1");
    assert_eq!(walk.request().trees_at_work().len(), 2);
    assert_eq!(step(&walk), None);
    assert_eq!(refused(&walk, "join T1 j"), Code::TaskStatus, "it is not done");
    walk.all(&format!("{}; {}", subtask_done("T1-S1"), subtask_done("T1-S2")));
    assert_eq!(step(&walk), Some(TreeStep::Join(task("T1"))));
    assert_eq!(walk.request().current_task, Some(task("T1")), "it is completed when it is joined");
    walk.give("join T1 j1").unwrap();
    assert_eq!(step(&walk), Some(TreeStep::Place(task("T2"))));
    assert!(walk.give("join T1 j1").unwrap().events.is_empty(), "told twice, it counts once");
    walk.all(&format!("place T2 c2; design T2 e; {}; join T2 -", subtask_done("T2-S1")));
    assert_eq!(step(&walk), Some(TreeStep::Land));
    assert_eq!(refused(&walk, "close"), Code::TaskStatus);
    walk.give("land m").unwrap();
    assert_eq!(step(&walk), Some(TreeStep::Close));
    assert_eq!(walk.request().phase, GlobalPhase::TaskLoop, "its trees go first");
    walk.give("close").unwrap();
    assert_eq!(walk.request().status, SessionStatus::Completed);
    assert!(walk.request().trees_at_work().is_empty());
    assert_eq!(walk.request().trees.as_ref().unwrap().base.as_deref(), Some("c1"));
}

#[test]
fn a_merge_that_is_held_asks_a_person_and_is_tried_again_without_one() {
    for (script, bad, hold) in
        [(task_done(), "join T1 bad", "join/T1"), (all_joined(), "land bad", "landing")]
    {
        let mut walk = Walk::of(&script);
        let due = step(&walk);
        walk.give(bad).unwrap();
        let open = walk.inbox.open();
        assert_eq!(open.len(), 1, "{bad}");
        assert_eq!(open[0].question.kind, QuestionKind::HeldMerge);
        assert_eq!(step(&walk), None);
        assert!(walk.give(bad).unwrap().events.is_empty(), "it is asked once");
        walk.give(&format!("waypost: retry {hold}")).unwrap();
        assert!(walk.inbox.open().is_empty());
        assert_eq!(step(&walk), due);
    }
}

#[test]
fn what_has_begun_stays_where_it_is() {
    let walk = Walk::of(TEST_FIRST);
    assert_eq!(refused(&walk, "apart main"), Code::TaskStatus);
    let mut walk =
        Walk::of(&format!("{APART}; place T1 c; design T1 d; stop; resume; apart other"));
    assert_eq!(walk.request().trees.as_ref().unwrap().target, "main");
    // A plan that is made again leaves a task its tree.
    walk.all("resume plan; plan q h");
    assert_eq!(step(&walk), None);
    assert!(walk.request().open_tree(&"T1".parse().unwrap()).is_some());
}

#[test]
fn work_that_comes_after_a_merge_is_merged_as_well() {
    let mut walk = Walk::of(&format!("{}; land m", all_joined()));
    let mut tasks = planned();
    tasks[1].subtasks.push(("T2-S2".parse().unwrap(), "more".into()));
    let draft = PlanDraft {
        contract: "more".into(),
        tasks,
        assumptions: assumptions("h"),
        briefs: Vec::new(),
    };
    let agent = parse("start").0;
    walk.command(&agent, &Command::Plan { draft: Box::new(draft) }).unwrap();
    let two = "T2".parse().unwrap();
    assert_eq!(step(&walk), Some(TreeStep::Place("T2".parse().unwrap())));
    assert_eq!(walk.request().task_tree_name(&two).unwrap(), "worktree/request-R1--T2-2");
    walk.all(&format!("place T2 c3; design T2 f; {}; join T2 j3", subtask_done("T2-S2")));
    assert_eq!(step(&walk), Some(TreeStep::Land));
}

#[test]
fn what_a_gate_leaves_open_is_known_until_it_is_settled() {
    let mut walk = Walk::of(IMPLEMENTATION);
    walk.give("judge T1-S1 3 open a").unwrap();
    let open = walk.subtask("T1-S1").open.clone().unwrap();
    assert_eq!((open.gate, open.work.as_str(), open.points.len()), (Gate::Gate3, "a", 1));
    assert_eq!(refused(&walk, "judge T1-S1 3 open a"), Code::ProofMissing, "it was said before");
    assert_eq!(walk.subtask("T1-S1").tries, SubtaskTries::default(), "no try was spent");
    walk.give("judge T1-S1 3 ok a report").unwrap();
    assert_eq!(walk.subtask("T1-S1").open, None);
    walk.give("judge T1-S1 4 open a").unwrap();
    walk.give("judge T1-S1 4 bad a report").unwrap();
    assert_eq!(walk.subtask("T1-S1").open, None);
    for (text, role) in
        [("confirm/T1-S1/GATE-3", Role::QaEngineer), ("confirm/T1-S1/GATE-4", Role::Architect)]
    {
        assert_eq!((call(text).to_string().as_str(), call(text).role()), (text, role));
        let hold = Hold::Call { call: call(text) };
        assert_eq!(Hold::read(&hold.topic()), Some(hold));
    }
}
