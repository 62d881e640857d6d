//! Replies on their way from a person, or from a timer, to the machine that asked.

mod values;

use super::*;
use crate::{
    entries,
    ledger::Ledger,
    machines::{MACHINES, MachineKind},
    notify,
    outbox::Timers,
};
use serde::{Deserialize, Serialize};
use std::{fs, sync::LazyLock, time::Duration};
use tempfile::TempDir;
use waypost_model::{
    actor::Actor,
    answer::OutsideFacts,
    id::StreamName,
    inbox::{LineComment, Question, QuestionKind, ReplyVerb},
    machine::{Asked, Cause, Decision, Effect, Machine, Rejected},
};
use waypost_store::journal::{Append, CommitFault, Journals, MemoryStore, NewEvent};

/// A machine that asks what it is told to and remembers what it hears.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Listener {
    heard: Vec<String>,
}

#[derive(Debug)]
enum ListenerCommand {
    Ask(Box<Question<Topic>>),
    Hear(String),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ListenerEvent {
    Heard { text: String },
}

impl Machine for Listener {
    type Command = ListenerCommand;
    type Event = ListenerEvent;

    const KIND: &'static str = "listener";
    const FORMAT: u32 = 1;

    fn start() -> Self {
        Self::default()
    }

    fn decide(
        &self,
        command: &ListenerCommand,
        asked: &Asked<'_>,
    ) -> Result<Decision<ListenerEvent>, Rejected> {
        Ok(match command {
            ListenerCommand::Ask(question) => {
                Decision::nothing().with(Effect::Ask(Question::clone(question)))
            }
            ListenerCommand::Hear(text) => {
                let text = format!("{}: {text}", asked.by);
                Decision::events([ListenerEvent::Heard { text }])
            }
        })
    }

    fn apply(&mut self, ListenerEvent::Heard { text }: &ListenerEvent, _: Time) {
        self.heard.push(text.clone());
    }

    fn event_kind(_: &ListenerEvent) -> &'static str {
        "heard"
    }

    fn answered<F: OutsideFacts>(
        &self,
        answer: &Answer<'_>,
        _: &F,
    ) -> Result<Consequence<ListenerCommand>, F::Error> {
        Ok(Consequence::command(ListenerCommand::Hear(format!("{:?}", answer.reply))))
    }

    fn holds(&self, topic: &Topic) -> Option<usize> {
        topic.as_str().split_once('/')?.1.parse().ok()
    }
}

static KINDS: LazyLock<Vec<MachineKind>> =
    LazyLock::new(|| MACHINES.iter().copied().chain([MachineKind::of::<Listener>()]).collect());

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".waypost")).unwrap();
    folder
}

fn open_by(folder: &TempDir, actor: Actor) -> Project {
    let mut project = Project::open_unreconciled(folder.path(), actor).unwrap();
    project.ledger = Ledger::new(&KINDS, notify::Wanted::default());
    project.ensure_journal().unwrap();
    project
}

fn open(folder: &TempDir) -> Project {
    open_by(folder, Actor::User("mina".into()))
}

fn stream() -> StreamName {
    "listener:a".parse().unwrap()
}

fn ask(project: &mut Project, question: Question<Topic>) -> EntryId {
    let subject = inbox::Subject::of(&stream(), &question.subject);
    let command = ListenerCommand::Ask(Box::new(question));
    project.commit(&[MachineCommand::of::<Listener>(stream(), command)]).unwrap();
    project.inbox().unwrap().about(&subject).unwrap().id.clone()
}

fn question(kind: QuestionKind, topic: &str) -> Question<Topic> {
    Question::new(kind, Topic::new(topic), "a title", "a text")
}

fn heard(project: &mut Project) -> Vec<String> {
    let loaded = project.machine::<Listener>(&stream()).unwrap().unwrap();
    loaded.state.heard.clone()
}

#[test]
fn every_verb_of_every_kind_reaches_the_machine_that_asked() {
    let folder = folder();
    let mut project = open(&folder);
    for kind in QuestionKind::ALL {
        for verb in question(kind, "x").verbs() {
            if verb == ReplyVerb::Provide {
                continue;
            }
            let id = ask(&mut project, question(kind, "x"));
            let before = heard(&mut project).len();
            let recorded = give(&mut project, &id, Reply::new(verb, "because")).unwrap();
            assert_eq!(recorded.reply.verb(), verb, "{kind:?}");
            let heard = heard(&mut project).split_off(before);
            assert_eq!(heard, [format!("user:mina: {:?}", recorded.reply)], "{kind:?} {verb}");
        }
    }
    assert!(project.inbox().unwrap().open().is_empty());
}

#[test]
fn what_comes_with_a_reply_reaches_the_machine_and_outlives_the_process() {
    let folder = folder();
    let mut project = open(&folder);
    let id = ask(&mut project, question(QuestionKind::Review, "review/1"));
    let comments: Vec<LineComment> = vec!["a.md:3:why?".parse().unwrap()];
    let reply = Reply::Changes { text: "more".into(), comments };
    let given = GivenReply { reply: reply.clone(), version: Some(1) };
    give(&mut open(&folder), &id, given).unwrap();
    assert_eq!(heard(&mut open(&folder)), [format!("user:mina: {reply:?}")]);
}

#[test]
fn a_reply_to_an_earlier_version_changes_nothing() {
    let folder = folder();
    let mut project = open(&folder);
    let id = ask(&mut project, question(QuestionKind::Review, "review/1"));
    let reworded = Question { text: "b".into(), ..question(QuestionKind::Review, "review/1") };
    assert_eq!(ask(&mut project, reworded), id);
    let given = |version| GivenReply { reply: Reply::Approve, version: Some(version) };
    let refused = give(&mut project, &id, given(1)).unwrap_err();
    let EngineError::Rejected(rejected) = refused else { panic!("{refused:?}") };
    assert_eq!((rejected.cause, rejected.code), (Cause::Outdated, Code::EntryReworded));
    assert_eq!(heard(&mut project), [""; 0]);
    give(&mut project, &id, given(2)).unwrap();
    assert_eq!(heard(&mut project), ["user:mina: Approve"]);
}

const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);

fn optional() -> Question<Topic> {
    let port = question(QuestionKind::AgentQuestion, "port").choices(["80", "443"]);
    port.optional(Some(Reply::answer("80")))
}

#[test]
fn a_default_is_taken_once_whichever_process_dies_when() {
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::at(&folder.path().join("state"));
    let mut project = Project::find(folder.path(), Actor::Waypost).unwrap();
    project.ledger = Ledger::new(&KINDS, notify::Wanted::default());
    project.journals = Journals::over(store.clone());
    ask(&mut project, optional());
    let now = project.clock.now();
    let mut timers = Timers::default();
    assert!(!timers.attend(&mut project, now));
    assert!(timers.wakes_at().is_some_and(|at| at <= now.plus(HALF_AN_HOUR)));
    let mut now = now.plus(HALF_AN_HOUR);
    for fault in [CommitFault::Refused, CommitFault::Unreachable] {
        store.fail_next_commit(fault);
        assert!(!timers.attend(&mut project, now), "{fault:?}");
        assert_eq!(heard(&mut project), [""; 0], "{fault:?}");
        now = timers.wakes_at().unwrap();
    }
    store.fail_next_commit(CommitFault::AnswerLost);
    assert!(timers.attend(&mut project, now));
    assert_eq!(heard(&mut project), ["waypost: Answer(\"80\")"]);
    assert!(project.inbox().unwrap().open().is_empty());
    let later = now.plus(100 * HALF_AN_HOUR);
    assert!(!timers.attend(&mut project, later), "neither it nor a reminder fires again");
}

#[test]
fn a_deadline_that_came_while_no_program_ran_is_met_by_the_next_one() {
    let folder = folder();
    let id = ask(&mut open(&folder), optional());
    let late = open(&folder).clock.now().plus(1_000 * HALF_AN_HOUR);
    for _ in 0..3 {
        Timers::default().attend(&mut open(&folder), late);
    }
    let mut project = open(&folder);
    assert_eq!(heard(&mut project), ["waypost: Answer(\"80\")"]);
    let refused = give(&mut project, &id, Reply::answer("443")).unwrap_err();
    assert!(refused.to_string().contains("its default was taken"), "{refused}");
}

#[test]
fn a_person_who_is_quicker_is_heard_and_the_default_is_not_taken() {
    let folder = folder();
    let id = ask(&mut open(&folder), optional());
    give(&mut open(&folder), &id, Reply::answer("443")).unwrap();
    let mut project = open(&folder);
    let late = project.clock.now().plus(1_000 * HALF_AN_HOUR);
    assert!(!Timers::default().attend(&mut project, late));
    assert_eq!(heard(&mut project), ["user:mina: Answer(\"443\")"]);
}

#[test]
fn a_question_that_was_reworded_waits_from_then_on() {
    let folder = folder();
    let mut project = open(&folder);
    ask(&mut project, optional());
    let reworded = Question { text: "another".into(), ..optional() };
    ask(&mut project, reworded);
    let deadline = project.inbox().unwrap().open()[0].deadline.unwrap();
    let mut timers = Timers::default();
    assert!(!timers.attend(&mut project, Time::from_millis(deadline.millis() - 1)));
    assert!(timers.attend(&mut project, deadline));
    assert_eq!(heard(&mut project).len(), 1);
}

#[test]
fn what_holds_up_the_most_comes_first_then_the_oldest() {
    let folder = folder();
    let mut project = open(&folder);
    for topic in ["a/2", "b/0", "c/7", "d", "e/2"] {
        ask(&mut project, question(QuestionKind::AgentQuestion, topic));
    }
    let waiting = entries::waiting(&mut project).unwrap();
    let order: Vec<(&str, usize)> =
        waiting.iter().map(|it| (it.entry.id.as_str(), it.holds)).collect();
    assert_eq!(order, [("q3", 7), ("q1", 2), ("q5", 2), ("q2", 0), ("q4", 0)]);
}

/// Open entries as each format wrote them, for the listener.
#[test]
fn entries_of_every_earlier_format_are_answered() {
    let folder = folder();
    let mut project = open(&folder);
    let old = |number: u32, extra: &str| {
        format!(
            r#"{{"asked":{{"id":"q{number}","question":{{"kind":"agent_question","subject":"listener:a/t{number}","title":"t","text":"x","choices":["yes","no"]{extra}}}}}}}"#
        )
    };
    let bodies = [old(1, ""), old(2, ""), old(3, ""), old(4, r#","next":[{"step":"show_run"}]"#)];
    let stream = inbox_stream();
    let mut tx = project.journal.as_mut().unwrap().transaction().unwrap();
    for (format, body) in (1..).zip(&bodies) {
        let event = NewEvent { kind: "asked", format, body: body.as_str().into() };
        let (actor, at) = (&Actor::Waypost, Time::from_millis(1_000));
        let seen = u64::from(format) - 1;
        tx.append(Append { stream: &stream, seen, actor, at, events: vec![event] }).unwrap();
    }
    tx.commit().unwrap();
    let mut project = open(&folder);
    for (number, reply) in [
        (1, Reply::answer("YES")),
        (2, Reply::answer("no")),
        (3, Reply::Decline(String::new())),
        (4, Reply::answer("yes")),
    ] {
        let id = format!("q{number}").parse().unwrap();
        give(&mut project, &id, GivenReply { reply, version: Some(1) }).unwrap();
    }
    let want = ["Answer(\"yes\")", "Answer(\"no\")", "Decline(\"\")", "Answer(\"yes\")"];
    assert_eq!(heard(&mut project), want.map(|it| format!("user:mina: {it}")));
    let formats = project.log(99, |entry| entry.stream == stream).unwrap();
    assert_eq!(formats.iter().map(|it| it.format).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 5, 5, 5]);
}
