//! What is told of a task in every state, and the event that each reason leads to.

use super::chain::{About, Around, Chain, phase_subject};
use crate::ledger::run_stream;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use waypost_model::{
    actor::Actor,
    evidence::Evidence,
    id::TaskId,
    inbox::{Question, QuestionKind, Subject, Topic},
    machine::Asked,
    retry::FailureClass,
    run::{
        Account, Budget, Command, Depends, Details, Failure, Isolation, Mode, ParkCause, Parked,
        Plan, PlannedTask, Priority, Prompt, Run, RunTopic, Settings, Usage,
    },
    time::Time,
};

const NOW: Time = Time::from_millis(0);

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

/// Phase 1: two commands, one after the other, and two tasks of an agent. Phases 2 and 3 wait for
/// the whole phase before them.
fn plan() -> Plan {
    let task = |name: &str, depends: Option<&[&str]>, details: Details| PlannedTask {
        id: id(name),
        title: name.into(),
        phase: name[1..2].parse().unwrap(),
        depends: depends.map_or(Depends::PhaseBefore, |ids| {
            Depends::On(ids.iter().map(|name| id(name)).collect())
        }),
        ticked: false,
        priority: Priority::default(),
        line: 1,
        details: Some(Box::new(details)),
    };
    let command = || Details { command: Some("true".into()), ..Details::default() };
    let agent = || Details { agent: Some("codex".into()), ..Details::default() };
    let tasks = vec![
        task("T1.1", None, command()),
        task("T1.2", Some(&["T1.1"]), command()),
        task("T1.3", None, agent()),
        task("T1.4", None, agent()),
        task("T2.1", None, command()),
        task("T2.2", Some(&["T2.1"]), command()),
        task("T3.1", None, command()),
    ];
    Plan::new("demo".into(), BTreeMap::new(), tasks).unwrap()
}

fn start(name: &str) -> Command {
    Command::Claim { id: id(name) }
}

fn done(name: &str) -> [Command; 2] {
    let (attempt, evidence) = (None, Evidence::Unverified);
    [start(name), Command::Done { id: id(name), attempt, evidence, commit: None }]
}

fn fail(name: &str, class: FailureClass) -> [Command; 2] {
    let failure = Failure { text: "exit code 3".into(), class, ..Failure::default() };
    [start(name), Command::Fail { id: id(name), attempt: None, failure }]
}

fn park(name: &str, cause: ParkCause) -> [Command; 2] {
    let until = (cause != ParkCause::SignIn).then(|| Time::from_millis(60_000));
    let (why, agent) = ("it said so".to_owned(), "codex".to_owned());
    let parked = Parked { until, cause, why, agent, in_a_row: 1, trouble: None };
    [start(name), Command::Park { id: id(name), attempt: 1, parked }]
}

/// An attempt that has cost so much, and is ready to go on.
fn spend(name: &str, cost_micros: u64) -> [Command; 3] {
    let usage = Usage { cost_micros, ..Usage::default() };
    let account = Account { usage, ..Account::default() };
    let interrupt = Command::Interrupt { id: id(name), attempt: Some(1) };
    [start(name), Command::Account { id: id(name), account }, interrupt]
}

fn ask(name: &str) -> [Command; 2] {
    let kind = QuestionKind::AgentQuestion;
    let question = Question::new(kind, Topic::default(), "Which?", "Which?");
    let prompt = Prompt { key: "k".to_owned(), permit: None, text: "Which?".into() };
    [start(name), Command::Ask { id: id(name), attempt: 1, prompt, question }]
}

/// What is told of a task: first whether it is held, then each reason with its event and what comes
/// next.
fn told(settings: Settings, commands: &[&[Command]], around: &Around, name: &str) -> String {
    let begin = Command::Begin { plan: plan(), settings };
    let commands = [&begin].into_iter().chain(commands.iter().copied().flatten());
    let run = Run::imagine(commands, &Asked { by: &Actor::Waypost, now: NOW }).unwrap();
    let active = run.active().unwrap();
    let view = active.task(&id(name)).unwrap();
    let (drafts, is_held) = Chain { active, around }.of(&view);
    let mut told = format!("{}{}", view.status, if is_held { ", held" } else { "" });
    for draft in drafts {
        let event = match draft.about {
            Some(About::Task(id, kinds)) => format!(" <{id} {}>", kinds[0]),
            Some(About::Phase(phase, kinds)) => format!(" <phase {phase} {}>", kinds[0]),
            Some(About::Entry(id)) => format!(" <{id}>"),
            None => String::new(),
        };
        let next = draft.next.map_or_else(String::new, |next| format!(" -> {next}"));
        let _infallible = write!(told, "\n{}{event}{next}", draft.text);
    }
    told
}

fn working() -> Around {
    Around { now: NOW, has_engine: true, max_agents: 4, ..Around::default() }
}

#[track_caller]
fn check(commands: &[&[Command]], name: &str, want: &str) {
    assert_eq!(told(Settings::default(), commands, &working(), name), want, "{name}");
}

#[test]
fn every_state_has_its_reason_and_its_event() {
    check(&[], "T1.1", "ready\nit is ready -> start_task T1.1");
    check(
        &[&[start("T1.1")]],
        "T1.1",
        "in_progress\nattempt 1 is under way <T1.1 task_started> -> follow_output T1.1",
    );
    check(&[&done("T1.1")], "T1.1", "completed\nit is completed: unverified <T1.1 task_completed>");
    check(
        &[&fail("T1.1", FailureClass::Critical)],
        "T1.1",
        "failed\nit failed (another try could not help): exit code 3 <T1.1 task_failed> -> retry_task T1.1",
    );
    // Back-off: it is not ready, and it is told when the retry is due.
    let text =
        told(Settings::default(), &[&fail("T1.1", FailureClass::Transient)], &working(), "T1.1");
    assert!(text.starts_with("ready, held\nits next try is due at 1970-01-01T00:00:0"), "{text}");
    assert!(text.contains("attempt 1 failed: exit code 3 <T1.1 attempt_failed>"), "{text}");
}

#[test]
fn a_chain_leads_across_phases_to_what_failed() {
    let failed = fail("T1.1", FailureClass::Critical);
    let cause = "T1.1 failed (another try could not help): exit code 3 <T1.1 task_failed> -> retry_task T1.1";
    check(&[&failed], "T1.2", &format!("blocked\nit depends on T1.1, which has failed\n{cause}"));
    check(
        &[&failed],
        "T2.2",
        &format!(
            "blocked\nit depends on T2.1, which is blocked\n\
             T2.1 depends on all of phase 1, and T1.1 has failed\n{cause}"
        ),
    );
    check(
        &[&failed],
        "T3.1",
        &format!(
            "blocked\nit depends on all of phase 2, and T2.1 is blocked\n\
             T2.1 depends on all of phase 1, and T1.1 has failed\n{cause}"
        ),
    );
}

#[test]
fn a_chain_leads_across_phases_to_what_is_under_way_or_held() {
    let text = told(Settings::default(), &[&[start("T1.1")]], &working(), "T2.2");
    assert!(
        text.starts_with(
            "pending\nit depends on T2.1, which is pending -> explain_task T2.1\n\
             T2.1 depends on all of phase 1, and T1.1 is in_progress -> explain_task T1.1\n\
             T2.1 waits for T1.2, T1.3, T1.4 as well\n\
             attempt 1 of T1.1 is under way <T1.1 task_started>"
        ),
        "{text}"
    );
    // What holds the one that everything waits for is told too.
    let retried = fail("T1.1", FailureClass::Transient);
    let text = told(Settings::default(), &[&retried], &working(), "T1.2");
    assert!(text.contains("its next try is due at") && text.contains("<T1.1 attempt_failed>"));
}

#[test]
fn limits_questions_slots_and_money_are_told() {
    let text = told(Settings::default(), &[&park("T1.3", ParkCause::Limit)], &working(), "T1.3");
    assert_eq!(
        text,
        "ready, held\nit waits until 1970-01-01T00:01:00Z (in 61 s): usage limit: it said so \
         <T1.3 attempt_parked> -> retry_task T1.3"
    );
    // Another task of the same agent waits with it.
    let text = told(Settings::default(), &[&park("T1.3", ParkCause::Limit)], &working(), "T1.4");
    assert!(text.starts_with("ready, held\nit waits for codex as T1.3 does\nT1.3 waits"), "{text}");
    assert!(text.contains("<T1.3 attempt_parked>"), "{text}");
    let text =
        told(Settings::default(), &[&park("T1.3", ParkCause::Infrastructure)], &working(), "T1.3");
    assert!(text.contains("no room on this machine: it said so <T1.3 attempt_parked>"), "{text}");
    let text = told(Settings::default(), &[&park("T1.3", ParkCause::SignIn)], &working(), "T1.3");
    assert!(text.contains("it waits until a person has done something: not signed in"), "{text}");
    let text = told(Settings::default(), &[&park("T1.3", ParkCause::Budget)], &working(), "T1.3");
    assert!(text.contains("-> resume_with_budget"), "{text}");

    let text = told(Settings::default(), &[&ask("T1.3")], &working(), "T1.3");
    assert!(
        text.contains("a question of its agent waits in the inbox <T1.3 agent_asked>"),
        "{text}"
    );
    // With the entry that holds it.
    let topic = RunTopic::Task { id: id("T1.3"), key: "k".into() };
    let subject = Subject::of(&run_stream(), &topic.into());
    let inbox = BTreeMap::from([(subject, "q7".parse().unwrap())]);
    let around = Around { inbox, ..working() };
    let text = told(Settings::default(), &[&ask("T1.3")], &around, "T1.3");
    let want = "waits in the inbox as q7 <T1.3 agent_asked> -> show_entry q7";
    assert!(text.contains(want), "{text}");

    let one = Settings { max_parallel: 1, ..Settings::default() };
    let text = told(one, &[&[start("T1.1")]], &working(), "T1.3");
    assert_eq!(text, "ready, held\nall slots are taken: 1 in progress, and max_parallel is 1");
    let few = Around { max_agents: 1, ..working() };
    let text = told(Settings::default(), &[&[start("T1.3")]], &few, "T1.4");
    assert_eq!(text, "ready, held\n1 agents are at work, and max_agents is 1");
    let none = Settings { budget: Budget::Cents(0), ..Settings::default() };
    let text = told(none, &[], &working(), "T1.3");
    assert!(text.starts_with("ready, held\nit is for codex, and the budget of the run"), "{text}");
    let spent = Around { phase_cents: Some(5), ..working() };
    let text = told(Settings::default(), &[&spend("T1.4", 49_999)], &spent, "T1.3");
    assert_eq!(text, "ready\nit is ready -> start_task T1.3");
    let text = told(Settings::default(), &[&spend("T1.4", 50_000)], &spent, "T1.3");
    assert_eq!(
        text,
        "ready, held\nit is for codex, and the budget of phase 1 is used up ($0.05, \
         phase_budget_usd) -> resume_run"
    );
    // A command costs nothing.
    let text = told(Settings::default(), &[&spend("T1.4", 50_000)], &spent, "T1.1");
    assert_eq!(text, "ready\nit is ready -> start_task T1.1");
    // A task that has met it is not told to resume with a larger budget of the run.
    let met = [spend("T1.4", 50_000).to_vec(), park("T1.3", ParkCause::Budget).to_vec()].concat();
    let text = told(Settings::default(), &[&met], &spent, "T1.3");
    assert!(text.contains("<T1.3 attempt_parked> -> resume_run"), "{text}");
    let shared = Settings { isolation: Isolation::Phase, ..Settings::default() };
    let text = told(shared, &[&[start("T1.1")]], &working(), "T1.3");
    assert!(text.starts_with("ready, held\nT1.1 works in the same work tree"), "{text}");
}

#[test]
fn what_happens_around_the_run_is_told() {
    let nobody = Around { has_engine: false, ..working() };
    assert_eq!(
        told(Settings::default(), &[], &nobody, "T1.1"),
        "ready\nit is ready -> start_task T1.1\n\
         no run is at work, so no task is started -> resume_run"
    );
    let left = Around { has_engine: false, is_left: true, ..working() };
    let text = told(Settings::default(), &[&[start("T1.1")]], &left, "T1.1");
    assert!(text.ends_with("\nthe run's engine is gone -> resume_run"), "{text}");
}

#[test]
fn a_phase_that_waits_for_a_person_is_told_with_its_question() {
    let all = ["T1.1", "T1.2", "T1.3", "T1.4"].map(done).concat();
    let normal = Settings { mode: Mode::Normal, ..Settings::default() };
    let inbox = BTreeMap::from([(phase_subject(1), "q1".parse().unwrap())]);
    let around = Around { inbox, ..working() };
    let text = told(normal, &[&all], &around, "T2.1");
    assert_eq!(
        text,
        "pending\nit is of phase 2, which begins when phase 1 is done (4/4 completed) <phase 1 \
         phase_opened>\nphase 1 is done, and a person has to let the run go on <phase 1 \
         phase_settled>\nq1 in the inbox asks about phase 1 <q1> -> show_entry q1"
    );
}
