//! Supervised agents on data: bytes, times and ends go in, acts come out. No process, no file.

use super::{
    dialogue::{Act, Dialogue, Told},
    ending::{AgentEnd, Circumstances, Halt, ProcessEnd, Purse, Trouble},
    supervision::{Bounds, FAREWELL, Supervision},
};
use crate::agent::{Agent, Asking, Meter};
use std::{path::Path, time::Duration};
use waypost_agent::{Adapter, answer::Answer, programs::Programs};
use waypost_model::{
    config::AgentConfig,
    permission::Grant,
    retry::FailureClass,
    run::{ParkCause, Trail},
    time::Time,
};
use waypost_proc::{Ended, How, Stop};

const START: Time = Time::from_millis(1_000_000);
const SESSION: &str = r#"{"type":"system","subtype":"init","session_id":"s1","tools":[]}"#;
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"fine",
    "session_id":"s1","total_cost_usd":0.01,"modelUsage":{"claude-opus-4-1":{"inputTokens":200000,
    "outputTokens":20000,"costUSD":0.01}}}"#;
const ASK: &str = r#"{"type":"control_request","request_id":"r1","request":{
    "subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{"command":"make"}}}"#;

fn agent(adapter: Adapter) -> Agent {
    let config = AgentConfig::default();
    Agent {
        name: "a".into(),
        adapter,
        command: vec!["a".into()],
        config,
        programs: Programs::default(),
        wall: crate::wall::AgentWall::default(),
    }
}

fn line(text: &str) -> Vec<u8> {
    let mut bytes = text.replace('\n', "").into_bytes();
    bytes.push(b'\n');
    bytes
}

fn after(seconds: u64) -> Time {
    START.plus(Duration::from_secs(seconds))
}

/// An agent that has just been started and may use up so much.
fn started(bounds: Bounds) -> Supervision {
    let dialogue = Dialogue::begin(Adapter::CLAUDE, Told::default(), false);
    let agent = agent(Adapter::CLAUDE);
    Supervision::new(agent, dialogue, Meter::default(), bounds, (START, START))
}

fn minutes(time: u64, stall: u64) -> Bounds {
    let minutes = |count| Bounds::seconds(count * 60);
    Bounds { time: minutes(time), stall: minutes(stall), ..Bounds::default() }
}

/// What the program says to the agent's text that costs so many dollars.
fn text(words: &str) -> String {
    format!(
        r#"{{"type":"assistant","session_id":"s1","message":{{"id":"m1","model":"claude-opus-4-1",
        "role":"assistant","content":[{{"type":"text","text":"{words}"}}],
        "usage":{{"input_tokens":100000,"output_tokens":20000}}}}}}"#
    )
}

fn how(how: How) -> ProcessEnd {
    let tail = Vec::new();
    ProcessEnd::Ended(Ended {
        how,
        tail,
        output: 0,
        dropped: 0,
        duration_ms: 1,
        left: 0,
        forced: false,
        survivors: 0,
        lapsed: false,
        stopped_at: None,
    })
}

/// How it ended, as its process did.
fn ended(mut life: Supervision, end: ProcessEnd) -> AgentEnd {
    life.ended(end.clone());
    assert!(life.is_over());
    life.close(end)
}

fn trouble(end: &AgentEnd) -> Option<Trouble> {
    end.trouble(&Circumstances { work: "T1", parked_before: 0, now: after(0) })
}

fn failed(text: &str, resumes: bool) -> Option<Trouble> {
    Some(Trouble::Failed { text: text.into(), class: FailureClass::Transient, resumes })
}

#[test]
fn one_that_says_nothing_is_ended_when_it_has_been_silent_for_too_long() {
    let mut life = started(minutes(60, 2));
    life.hear(&line(SESSION), after(30));
    assert_eq!(life.due(), Some(after(150)));
    life.keep_bounds(after(149));
    assert_eq!(life.take_acts(), []);
    life.keep_bounds(after(150));
    assert_eq!(life.take_acts(), [Act::Stop(Stop::Stalled)]);
    // It is told once; what becomes of it is for its keeper to see to.
    life.keep_bounds(after(900));
    assert_eq!((life.take_acts(), life.due()), (vec![], None));
    let end = ended(life, how(How::Stalled));
    assert_eq!(trouble(&end), failed("it said nothing for too long", true));
}

#[test]
fn its_time_counts_from_its_start_whatever_it_says() {
    let mut life = started(minutes(10, 5));
    for minute in 1..10 {
        life.hear(&line(SESSION), after(minute * 60));
        life.keep_bounds(after(minute * 60));
    }
    assert_eq!((life.take_acts(), life.due()), (vec![], Some(after(600))));
    life.keep_bounds(after(600));
    assert_eq!(life.take_acts(), [Act::Stop(Stop::TimedOut)]);
    assert_eq!(trouble(&ended(life, how(How::TimedOut))), failed("it timed out", false));
}

#[test]
fn one_that_has_spent_what_it_may_is_asked_to_end_its_turn_and_counts_what_it_cost() {
    let mut life = started(Bounds { micros: Some(1_000_000), ..Bounds::default() });
    life.hear(&line(SESSION), after(1));
    life.hear(&line(&text("hello")), after(2));
    assert!(life.spent().cost_micros >= 1_000_000, "{:?}", life.spent());
    life.keep_bounds(after(2));
    let acts = life.take_acts();
    let [Act::Write(interrupt)] = &acts[..] else { panic!("{acts:?}") };
    assert!(interrupt.contains("interrupt"), "{interrupt}");
    // Its program ends the turn and says what it cost; then nothing more is said to it.
    life.hear(&line(&DONE.replace("0.01", "3.5")), after(3));
    life.keep_bounds(after(3));
    assert_eq!(life.take_acts(), [Act::HangUp]);
    assert_eq!(life.spent().cost_micros, 3_500_000);
    let end = ended(life, how(How::Exited(0)));
    let Some(Trouble::Parked(parked)) = trouble(&end) else { panic!("{:?}", trouble(&end)) };
    assert_eq!((parked.cause, parked.until), (ParkCause::Budget, None));
    assert_eq!(end.halt, Some(Halt::Budget(Purse::Work)));
}

#[test]
fn one_that_does_not_end_its_turn_is_stopped_and_by_its_keeper_killed() {
    let mut life = started(Bounds { micros: Some(1), ..Bounds::default() });
    life.hear(&line(SESSION), START);
    life.hear(&line(&text("hello")), START);
    life.keep_bounds(START);
    assert_eq!(life.take_acts().len(), 1);
    let late = START.plus(FAREWELL);
    assert_eq!(life.due(), Some(late));
    life.keep_bounds(late);
    assert_eq!(life.take_acts(), [Act::Stop(Stop::Asked)]);
    assert_eq!(life.due(), None);
    // The keeper has used force (SIGKILL after its grace): it is over as if it had obeyed.
    let mut forced = how(How::Stopped);
    if let ProcessEnd::Ended(ended) = &mut forced {
        (ended.forced, ended.how) = (true, How::Signalled(9));
    }
    assert!(matches!(trouble(&ended(life, forced)), Some(Trouble::Parked(_))));
}

#[test]
fn the_money_of_the_day_parks_it_until_the_day_is_over() {
    let mut life = started(Bounds::default());
    life.halt(Halt::Budget(Purse::Day));
    assert_eq!(life.take_acts(), [Act::Stop(Stop::Asked)]);
    let end = ended(life, how(How::Stopped));
    let Some(Trouble::Parked(parked)) = trouble(&end) else { panic!() };
    assert_eq!(parked.until, Some(Time::from_millis(24 * 60 * 60 * 1_000)));
    assert_eq!(parked.why, "the budget of the day is used up");
}

#[test]
fn a_question_holds_its_limits_until_the_answer_comes() {
    let mut life = started(minutes(10, 2));
    life.hear(&line(SESSION), after(1));
    life.hear(&line(ASK), after(60));
    let attend = |life: &mut Supervision, trail: &Trail, may_go_on| {
        let asking = Asking {
            work: &"T1",
            folder: Path::new("/x"),
            trail: Some(trail),
            grants: &Grant::ALL,
            may_go_on,
        };
        asking.attend(life, &mut |_| Ok(false)).unwrap()
    };
    let mut trail = Trail::default();
    let found = attend(&mut life, &trail, true);
    assert_eq!((found.is_waiting, found.is_held, found.open.len()), (true, false, 1));
    let (prompt, question) = &found.open[0];
    assert_eq!(question.title, "T1: a wants to use Bash: make");
    life.set_waits(true, after(60));
    // An hour later nothing has run out.
    life.keep_bounds(after(3_660));
    assert_eq!((life.take_acts(), life.due()), (vec![], None));
    trail.answers.insert(prompt.key.clone(), Grant::Once.as_str().to_owned());
    // There is an answer, and no slot to go on with it.
    let found = attend(&mut life, &trail, false);
    assert_eq!((found.is_waiting, found.is_held, found.open.len()), (true, true, 0));
    let found = attend(&mut life, &trail, true);
    assert!(!found.is_waiting);
    life.set_waits(false, after(3_660));
    let acts = life.take_acts();
    let [Act::Write(answer)] = &acts[..] else { panic!("{acts:?}") };
    assert!(answer.contains("r1") && answer.contains("allow"), "{answer}");
    // One minute of its ten was used before the question.
    assert_eq!(life.due(), Some(after(3_660 + 120)));
    life.hear(&line(DONE), after(3_700));
    life.dismiss(after(3_700));
    assert_eq!(life.take_acts(), [Act::HangUp]);
    assert_eq!(trouble(&ended(life, how(How::Exited(0)))), None);
}

#[test]
fn a_request_that_cannot_be_answered_ends_it() {
    let mut life = started(Bounds::default());
    life.hear(&line(SESSION), START);
    life.hear(&line(ASK), START);
    let mut ask = life.heard().asks.values().next().unwrap().clone();
    // What is left of a request that was too long to be kept.
    ask.raw.truncate(20);
    life.answer(&ask, &Answer::Allow);
    assert_eq!(life.take_acts(), [Act::Stop(Stop::Asked)]);
    let want = failed("it asked something that cannot be answered", false);
    assert_eq!(trouble(&ended(life, how(How::Stopped))), want);
}

#[test]
fn a_program_that_has_forgotten_the_conversation_is_told_everything_anew() {
    let told = Told {
        message: "go on".into(),
        afresh: "all of it".into(),
        folder: "/somewhere/tree".into(),
    };
    let dialogue = Dialogue::begin(Adapter::ACP, told, true);
    let agent = agent(Adapter::ACP);
    let mut life =
        Supervision::new(agent, dialogue, Meter::default(), Bounds::default(), (START, START));
    let forgotten = r#"{"id":"load:s1","error":{"code":-32603,"message":"Internal error",
        "data":{"details":"No previous sessions found"}}}"#;
    life.hear(&line(forgotten), after(1));
    let acts = life.take_acts();
    let [Act::Write(request)] = &acts[..] else { panic!("{acts:?}") };
    assert!(request.contains("session/new") && request.contains("/somewhere/tree"), "{request}");
    life.hear(&line(r#"{"jsonrpc":"2.0","id":"session","result":{"sessionId":"new"}}"#), after(2));
    let acts = life.take_acts();
    let [Act::Write(message)] = &acts[..] else { panic!("{acts:?}") };
    assert!(message.contains("all of it") && !message.contains("go on"), "{message}");
}

#[test]
fn one_that_is_taken_over_in_the_middle_of_its_turn_is_not_told_its_task_again() {
    let told = |message: &str| Told { message: message.into(), ..Told::default() };
    let (session, begun) = (
        r#"{"jsonrpc":"2.0","id":"session","result":{"sessionId":"s"}}"#,
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{
            "sessionUpdate":"tool_call","toolCallId":"c","title":"look","kind":"read",
            "status":"pending"}}}"#,
    );
    // The engine before it died after the conversation had a name, and perhaps before it spoke.
    let mut silent = Dialogue::take_over(Adapter::ACP, told("do it"), [line(session)]);
    let acts = silent.take_acts();
    let [Act::Write(message)] = &acts[..] else { panic!("{acts:?}") };
    assert!(message.contains("do it"), "{message}");
    let said = [line(session), line(begun)];
    let mut busy = Dialogue::take_over(Adapter::ACP, told("do it"), said);
    assert_eq!(busy.take_acts(), []);
    assert!(busy.heard.has_begun);
}

#[test]
fn what_it_says_means_the_same_in_any_pieces_and_with_bytes_that_are_no_text() {
    let all = [line(SESSION), line(&text("hé")), vec![0xff, 0xfe, b'\n'], line(DONE)].concat();
    let whole = {
        let mut life = started(Bounds::default());
        life.hear(&all, START);
        ended(life, how(How::Exited(0)))
    };
    for size in [1, 7, 100] {
        let mut life = started(Bounds::default());
        all.chunks(size).for_each(|piece| life.hear(piece, START));
        let end = ended(life, how(How::Exited(0)));
        assert_eq!(end.heard.text, whole.heard.text);
        assert_eq!(end.meter.spent(), whole.meter.spent());
        assert_eq!(trouble(&end), None);
    }
}

#[test]
fn one_that_floods_is_ended_and_memory_does_not_grow_with_it() {
    let mut life = started(Bounds::default());
    life.hear(&line(SESSION), START);
    let flood = vec![b'x'; 1 << 20];
    (0..64).for_each(|_| life.hear(&flood, START));
    assert!(life.heard().text.len() + life.heard().other.len() < 1 << 20);
    let end = ended(life, how(How::Flooded));
    let Some(Trouble::Failed { text, .. }) = trouble(&end) else { panic!() };
    assert!(text.starts_with("it wrote more than it may: x") && text.len() < 1_000, "{text}");
}

#[test]
fn only_what_its_program_reports_is_a_success() {
    let table = [
        (vec![SESSION, DONE], how(How::Exited(0)), None),
        (vec![SESSION, DONE], how(How::Stopped), None),
        (vec![SESSION, DONE], ProcessEnd::Lost, None),
        (vec![SESSION, DONE], how(How::Exited(3)), failed("exit code 3", true)),
        (vec![SESSION], ProcessEnd::Lost, Some(Trouble::Interrupted)),
        (
            vec![SESSION],
            how(How::Exited(0)),
            failed("it ended without a result, exit code 0", true),
        ),
        (vec![], how(How::Signalled(11)), failed("ended by signal 11", false)),
    ];
    for (said, end, want) in table {
        let mut life = started(Bounds::default());
        said.iter().for_each(|text| life.hear(&line(text), START));
        assert_eq!(trouble(&ended(life, end.clone())), want, "{said:?} {end:?}");
    }
}

#[test]
fn one_whose_work_is_done_only_has_to_go_sooner() {
    let mut life = started(Bounds::default());
    life.hear(&line(SESSION), START);
    life.hear(&line(DONE), START);
    life.dismiss(START);
    life.halt(Halt::Given);
    assert_eq!(life.take_acts(), [Act::HangUp, Act::Stop(Stop::Asked)]);
    assert_eq!(trouble(&ended(life, how(How::Stopped))), None);
    let mut life = started(Bounds::default());
    life.halt(Halt::Given);
    assert_eq!(trouble(&ended(life, how(How::Stopped))), Some(Trouble::Interrupted));
}

#[test]
fn a_clock_that_jumps_moves_its_times_along() {
    let mut life = started(minutes(10, 2));
    life.shift(START, after(10_000));
    assert_eq!(life.due(), Some(after(10_120)));
    life.keep_bounds(after(10_000));
    assert_eq!(life.take_acts(), []);
}

/// By its keeper, in the middle of a turn or after it; no engine was there.
#[test]
fn one_that_its_keeper_stopped_is_judged_by_what_it_said_before() {
    let lapsed = || {
        let mut end = how(How::Stopped);
        if let ProcessEnd::Ended(ended) = &mut end {
            ended.lapsed = true;
        }
        end
    };
    let table = [
        (vec![SESSION], lapsed(), true, Some(Trouble::Interrupted)),
        // What it says while it is being ended is not its result.
        (vec![SESSION, DONE], lapsed(), true, Some(Trouble::Interrupted)),
        (vec![SESSION, DONE], lapsed(), false, None),
        (vec![SESSION], how(How::TimedOut), true, failed("it timed out", false)),
        (vec![SESSION, DONE], how(How::TimedOut), false, None),
        (vec![SESSION], how(How::Stalled), true, failed("it said nothing for too long", true)),
        // It waited for an answer that no engine could give.
        (vec![SESSION, ASK], how(How::Stalled), true, Some(Trouble::Interrupted)),
    ];
    for (said, end, is_cut, want) in table {
        let mut life = started(Bounds::default());
        said.iter().for_each(|text| life.hear(&line(text), START));
        let end = AgentEnd { is_cut, ..ended(life, end) };
        assert_eq!(trouble(&end), want, "{said:?} {end:?}");
    }
}

#[test]
fn a_lease_is_renewed_while_it_works_and_its_limits_stand_still_while_it_waits() {
    let bounds = Bounds { unattended: Some(Duration::from_secs(600)), ..minutes(60, 30) };
    let mut life = started(bounds);
    let renewed = |life: &mut Supervision| match life.take_acts()[..] {
        [Act::Renew(lease)] => Some((lease.span, lease.time, lease.stall)),
        [] => None,
        ref acts => panic!("{acts:?}"),
    };
    let minutes = |count: u64| Duration::from_secs(count * 60);
    life.keep_bounds(after(60));
    let want = (minutes(10), Some(minutes(59)), Some(minutes(30)));
    assert_eq!(renewed(&mut life), Some(want));
    assert_eq!(life.due(), Some(after(60 + 200)));
    life.keep_bounds(after(120));
    assert_eq!(renewed(&mut life), None);
    life.set_waits(true, after(130));
    life.keep_bounds(after(130));
    assert_eq!(renewed(&mut life), Some((minutes(10), None, None)));
    life.set_waits(false, after(190));
    life.keep_bounds(after(190));
    assert_eq!(
        renewed(&mut life).and_then(|it| it.1),
        Some(minutes(60) - Duration::from_secs(130))
    );
    // There is hardly any money left now, and no pace is known yet.
    life.set_share(Some(1));
    life.keep_bounds(after(191));
    assert_eq!(renewed(&mut life).map(|it| it.0), Some(Duration::from_secs(5)));
}
