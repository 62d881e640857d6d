//! What is told to a person who is not looking.

use super::{Command, Isolation, Mode, Settings, Walk, agent, plain, plan, steps};
use crate::{
    actor::Actor,
    inbox::{self, Inbox, Question, QuestionKind},
    machine::{Asked, Effect, Machine as _},
    time::Time,
};
use std::fmt::Write as _;

/// Every notice with what it is about, its lines set apart by `|`.
fn told(walk: &Walk) -> String {
    let mut lines = String::new();
    for notice in &walk.notices {
        let task = notice.task.as_ref().map_or(String::new(), |id| format!(" {id}"));
        let phase = notice.phase.map_or(String::new(), |phase| format!(" {phase}"));
        let text = notice.text.lines().fold(String::new(), |text, line| text + " | " + line);
        writeln!(lines, "{}{task}{phase}: {}{text}", notice.kind, notice.title).unwrap();
    }
    lines
}

fn hopeless() -> Settings {
    Settings { retry_limit: 0, ..plain() }
}

#[test]
fn a_run_that_goes_well_tells_its_start_its_phases_and_its_end() {
    let walk =
        Walk::of("1: T1 -; T2 - [x]\n2: T3", plain(), "start T1; done T1; start T3; done T3");
    insta::assert_snapshot!(told(&walk), @r"
    start: run started: 3 tasks in 2 phases | 1 of them completed before
    phase_done 1: phase 1 (phase-1) is done: 2/2 completed
    phase_done 2: phase 2 (phase-2) is done: 1/1 completed
    all_done: all done: 3 tasks completed
    ");
}

#[test]
fn a_failure_is_told_when_it_is_final_and_named_again_at_each_end() {
    let settings = Settings { retry_limit: 1, ..plain() };
    let walk = Walk::of(
        "1: T1 -; T2 T1; T3 -\n2: T4 -",
        settings,
        "start T1; fail T1; wait; start T1; fail T1; skip T3; start T4; done T4",
    );
    insta::assert_snapshot!(told(&walk), @r"
    start: run started: 4 tasks in 2 phases
    task_failed T1 1: T1 failed: the work of T1 | it broke
    phase_done 1: PHASE_FAILED:1 phase 1 (phase-1) has ended: 0/3 completed, 2 failed, 1 blocked | failed: T1 the work of T1 | failed: T3 the work of T3
    phase_done 2: phase 2 (phase-2) is done: 1/1 completed
    all_done: the run is over: 1/4 completed, 2 failed, 1 blocked | failed: T1 the work of T1 | failed: T3 the work of T3
    ");
}

#[test]
fn a_phase_that_waits_for_its_join_or_for_a_person_is_not_done() {
    let normal = Settings { mode: Mode::Normal, ..plain() };
    let joining = Settings { isolation: Isolation::Task, ..plain() };
    for settings in [normal, joining] {
        let walk = Walk::of("1: T1 -\n2: T2", settings, "start T1; done T1");
        let kinds: Vec<_> = walk.notices.iter().map(|notice| notice.kind.word()).collect();
        assert_eq!(kinds, ["start"]);
    }
}

#[test]
fn when_everything_fails_only_the_first_failures_are_told_one_by_one() {
    let names: Vec<String> = (1..=25).map(|number| format!("T{number} -")).collect();
    let mut walk = Walk::default();
    let begin =
        Command::Begin { plan: plan(&format!("1: {}", names.join("; "))), settings: hopeless() };
    walk.give(&begin, &agent()).unwrap();
    for number in 1..=25 {
        walk.go(&format!("start T{number}; fail T{number}"));
    }
    let kinds: Vec<_> = walk.notices.iter().map(|notice| notice.kind.word()).collect();
    let mut want = vec!["start"];
    want.extend(["task_failed"; 20]);
    want.extend(["phase_done", "all_done"]);
    assert_eq!(kinds, want);
    assert!(walk.notices[20].text.ends_with("What else fails is told with its phase."));
    assert!(walk.notices[21].text.ends_with("\nand 15 more"), "{}", walk.notices[21].text);
}

#[test]
fn a_question_of_a_run_is_told_once_and_a_workflows_is_not() {
    let mut inbox = Inbox::default();
    let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(7_000) };
    let mut ask = |subject: &str, text: &str| -> Vec<String> {
        let subject = serde_json::from_value(subject.into()).unwrap();
        let question = Question::new(QuestionKind::AgentQuestion, subject, "which port?", text)
            .choices(["80", "443"]);
        let decision = inbox.decide(&inbox::Command::Ask(question), &asked).unwrap();
        decision.events.iter().for_each(|event| inbox.apply(event, asked.now));
        let told = decision.effects.into_iter().map(|effect| match effect {
            Effect::Notify(it) => {
                let about =
                    it.task.map(|id| id.to_string()).or_else(|| it.phase.map(|it| it.to_string()));
                format!("{} {about:?} {} // {}{}", it.kind, it.title, it.text, steps(&it.next))
            }
            Effect::SetTimer { topic, at } => format!("timer {topic} at {at}"),
            other => panic!("{other:?}"),
        });
        told.collect()
    };
    let next = |id: &str| format!(" → show_entry {id} | answer_entry {id} 80|443");
    assert_eq!(
        ask("run/task/T1.2/port", "It is free."),
        [
            format!("needs_you Some(\"T1.2\") which port? // It is free.{}", next("q1")),
            "timer reminder/q1 at 1970-01-02T00:00:07Z".to_owned()
        ]
    );
    assert_eq!(ask("run/task/T1.2/port", "It is free."), [""; 0]);
    assert_eq!(ask("run/task/T1.2/port", "Another wording."), [""; 0]);
    assert_eq!(
        ask("run/phase/3", ""),
        [
            format!("needs_you Some(\"3\") which port? // {}", next("q2")),
            "timer reminder/q2 at 1970-01-02T00:00:07Z".to_owned()
        ]
    );
    assert_eq!(ask("workflow:main/gate/review", "Look."), [""; 0]);
}
