//! The session's rules, walked through with commands as they would be typed.

mod apart;
mod arrows;
mod matrix;
mod properties;
mod rules;
mod translating;

use super::{
    gate::{FailureKind, Gate, GateFinding},
    *,
};
use crate::{
    actor::Actor,
    document::{
        SubtaskId,
        session::{Manifest, Status, SubtaskPhase},
    },
    inbox::{self, Inbox, Subject, Topic},
    machine::{Asked, Decision, Effect, Machine as _, Rejected},
    memory::FinishedWork,
    time::Time,
};

/// 2026-11-17T10:00:00Z.
const TEN: i64 = 1_794_909_600_000;

/// A session that commands are given to, a minute after another.
#[derive(Debug)]
struct Walk {
    session: Session,
    inbox: Inbox,
    remembered: Vec<FinishedWork>,
    now: Time,
    journal: Vec<(Event, Time)>,
}

impl Walk {
    fn new() -> Self {
        Self {
            session: Session::start(),
            inbox: Inbox::default(),
            remembered: Vec::new(),
            now: Time::from_millis(TEN),
            journal: Vec::new(),
        }
    }

    /// Lines divided by `;`.
    fn of(script: &str) -> Self {
        let mut walk = Self::new();
        walk.all(script);
        walk
    }

    fn all(&mut self, script: &str) {
        for line in script.split(';').map(str::trim).filter(|line| !line.is_empty()) {
            self.give(line).unwrap_or_else(|rejected| panic!("{line}: {rejected}"));
        }
    }

    /// A minute later, which is longer than any delay.
    fn give(&mut self, line: &str) -> Result<Decision<Event>, Rejected> {
        self.now = Time::from_millis(self.now.millis() + 60_000);
        let (by, command) = parse(line);
        self.command(&by, &command)
    }

    fn command(&mut self, by: &Actor, command: &Command) -> Result<Decision<Event>, Rejected> {
        let mut all = self.decided(by, command)?;
        while let Some(follows) = self.session.follow_up() {
            let decision = self.decided(&Actor::Waypost, &follows)?;
            assert!(!decision.events.is_empty(), "what follows by itself comes to an end");
            all.events.extend(decision.events);
            all.effects.extend(decision.effects);
        }
        Ok(all)
    }

    fn decided(&mut self, by: &Actor, command: &Command) -> Result<Decision<Event>, Rejected> {
        let decision = self.session.decide(command, &Asked { by, now: self.now })?;
        for event in &decision.events {
            self.session.apply(event, self.now);
            self.journal.push((event.clone(), self.now));
        }
        decision.effects.iter().for_each(|effect| self.perform(effect));
        Ok(decision)
    }

    fn perform(&mut self, effect: &Effect) {
        let stream = "session".parse().unwrap();
        let command = match effect {
            Effect::Ask(question) => inbox::Command::Ask(question.clone().asked_by(&stream)),
            Effect::Settle { topic } => {
                inbox::Command::Settle { subject: Subject::of(&stream, topic) }
            }
            Effect::Remember(work) => return self.remembered.push(work.as_ref().clone()),
            other => panic!("a session does not do this: {other:?}"),
        };
        let asked = Asked { by: &Actor::Waypost, now: self.now };
        for event in self.inbox.decide(&command, &asked).unwrap().events {
            self.inbox.apply(&event, self.now);
        }
    }

    fn ask(&self, line: &str) -> Result<Decision<Event>, Rejected> {
        let (by, command) = parse(line);
        self.session.decide(&command, &Asked { by: &by, now: self.now })
    }

    fn request(&self) -> &RequestState {
        self.session.request().expect("something was requested")
    }

    fn subtask(&self, id: &str) -> &SubtaskState {
        let id: SubtaskId = id.parse().unwrap();
        self.request().subtask(&id).expect("it is a subtask")
    }
}

fn facts() -> ProjectFacts {
    ProjectFacts {
        path: "/home/user/shop".into(),
        name: "shop".into(),
        hash: "a1b2c3d4".parse().unwrap(),
    }
}

fn planned() -> Vec<PlannedSessionTask> {
    let subtask = |id: &str, name: &str| (id.parse().unwrap(), name.to_owned());
    let cart = vec![subtask("T1-S1", "add"), subtask("T1-S2", "remove")];
    vec![
        PlannedSessionTask { id: "T1".parse().unwrap(), name: "cart".into(), subtasks: cart },
        PlannedSessionTask {
            id: "T2".parse().unwrap(),
            name: "list".into(),
            subtasks: vec![subtask("T2-S1", "show")],
        },
    ]
}

/// The same plan; `more`: with a subtask more in T1.
fn replanned(word: &str) -> Vec<PlannedSessionTask> {
    let mut tasks = planned();
    if word == "more" {
        tasks[0].subtasks.push(("T1-S3".parse().unwrap(), "empty".into()));
    }
    tasks
}

/// `h`, `w` and `u` for each assumption that held, was wrong, or is not known.
fn assumptions(letters: &str) -> Vec<Assumption> {
    let verdict = |letter| match letter {
        'h' => AssumptionFate::Held,
        'w' => AssumptionFate::Wrong,
        _ => AssumptionFate::Unknown,
    };
    let assumption = |(at, letter)| Assumption {
        text: format!("assumption {at}"),
        verdict: verdict(letter),
        how: "said".into(),
    };
    letters.chars().enumerate().map(assumption).collect()
}

/// A look at this work, with more that was read.
fn look(work: &str, more: &str) -> Look {
    Look {
        tree: None,
        work: work.into(),
        inputs: format!("{work}{more}"),
        contract: None,
        report: None,
    }
}

fn finding(gate: Gate, word: &str) -> GateFinding {
    let leads_to = match word {
        "implementation_error" => Some(FailureKind::ImplementationError),
        "design_violation" => Some(FailureKind::DesignViolation),
        "test_error" => Some(FailureKind::TestError),
        _ => None,
    };
    let (holds, is_open) = (word == "ok", word == "open");
    GateFinding {
        gate,
        holds,
        faults: if holds || is_open { Vec::new() } else { vec![word.to_owned()] },
        open: if is_open { vec!["does it cover the list?".to_owned()] } else { Vec::new() },
        evidence: vec!["looked at".to_owned()],
        tree: Some("tree".into()),
        leads_to,
    }
}

/// `person: override T1-S1 3` and the like; an agent gives it without a word in front.
fn parse(line: &str) -> (Actor, Command) {
    let (who, rest) = line.split_once(": ").unwrap_or(("agent", line));
    let by = match who {
        "person" => Actor::User("mina".into()),
        "waypost" => Actor::Waypost,
        _ => Actor::Agent { id: "session".into(), attempt: 0 },
    };
    let words: Vec<&str> = rest.split(' ').collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let gate = |at: usize| Gate::named(&format!("GATE-{}", word(at))).unwrap();
    let base = Some("base".to_owned());
    let command = match word(0) {
        "start" => Command::Start { project: facts(), manifest: Manifest::default() },
        "take" => Command::TakeOver {
            session: Box::new(Walk::of("start").session.render_session().unwrap()),
            state: None,
            base,
        },
        "request" => Command::Request { text: word(1).into(), stop_current: false, above: 0 },
        "instead" => Command::Request { text: word(1).into(), stop_current: true, above: 0 },
        "plan" => Command::Plan {
            draft: Box::new(PlanDraft {
                contract: word(1).into(),
                tasks: replanned(word(3)),
                assumptions: assumptions(word(2)),
                briefs: Vec::new(),
            }),
        },
        "design" => {
            Command::Design { task: word(1).parse().unwrap(), contract: word(2).into(), base }
        }
        "judge" => Command::Judge {
            subtask: word(1).parse().unwrap(),
            finding: Box::new(finding(gate(2), word(3))),
            look: look(word(4), word(5)),
            base,
        },
        "override" => Command::Override {
            subtask: word(1).parse().unwrap(),
            gate: gate(2),
            reason: word(3).into(),
            work: words.get(4).map(|work| (*work).to_owned()),
            base,
        },
        "apart" => Command::SetApart { target: word(1).into() },
        "place" => Command::PlaceTask { task: word(1).parse().unwrap(), base: word(2).into() },
        "join" => Command::JoinTask { task: word(1).parse().unwrap(), result: merged(word(2)) },
        "land" => Command::Land { result: merged(word(1)) },
        "close" => Command::CloseTrees,
        "failcall" => Command::FailCall { call: call(word(1)), why: "it crashed".into() },
        "endcall" => Command::EndCall { call: call(word(1)) },
        "retry" => Command::Retry { hold: Hold::read(&Topic::new(word(1))).unwrap() },
        "resume" => Command::Resume { missing: missing(word(1)).into_iter().collect() },
        "goon" => Command::GoOn,
        "rename" => {
            let what = Named::Task { task: "T1".parse().unwrap() };
            Command::Rename { what, name: word(1).into() }
        }
        "amend" => Command::Amend { name: Some(word(1).into()), manifest: None },
        "relocate" => {
            let (path, hash) = ("/new/shop".to_owned(), "00000000".parse().unwrap());
            Command::Relocate { project: ProjectFacts { path, hash, ..facts() } }
        }
        "stop" => Command::Stop,
        "complete" => Command::Complete,
        other => panic!("{other} is no command"),
    };
    (by, command)
}

/// `bad` is a merge that cannot be made, `-` one that had nothing to merge, else a commit.
fn merged(word: &str) -> Result<Option<String>, String> {
    match word {
        "bad" => Err("It conflicts.".into()),
        "-" => Ok(None),
        commit => Ok(Some(commit.to_owned())),
    }
}

fn call(text: &str) -> Call {
    Call::try_from(text.to_owned()).unwrap()
}

fn missing(word: &str) -> Option<MissingContract> {
    Some(match word {
        "" => return None,
        "plan" => MissingContract::Plan,
        task if !task.contains('-') => MissingContract::Design { task: task.parse().unwrap() },
        subtask => MissingContract::Tests { subtask: subtask.parse().unwrap() },
    })
}

const REQUESTED: &str = "start; request cart";
const PLANNED: &str = "start; request cart; plan p h";
const TEST_FIRST: &str = "start; request cart; plan p h; design T1 d";
const IMPLEMENTATION: &str = "start; request cart; plan p h; design T1 d; judge T1-S1 1 ok t";
const VERIFICATION: &str = "start; request cart; plan p h; design T1 d; judge T1-S1 1 ok t; \
                            judge T1-S1 3 ok w; judge T1-S1 4 ok w";
/// What leads a subtask from its beginning to its end, for a work of its own.
fn subtask_done(id: &str) -> String {
    format!(
        "judge {id} 1 ok t{id}; judge {id} 3 ok w{id}; judge {id} 4 ok w{id}; \
         judge {id} 2 ok w{id} r"
    )
}

fn whole() -> String {
    let (one, two, three) = (subtask_done("T1-S1"), subtask_done("T1-S2"), subtask_done("T2-S1"));
    format!("{PLANNED}; design T1 d; {one}; {two}; design T2 e; {three}")
}

#[test]
fn a_replayed_journal_gives_the_same_session() {
    let walk = Walk::of(&format!(
        "start; amend cart; request cart; failcall explore; endcall explore; plan a w; plan p h; \
         rename basket; design T1 d; judge T1-S1 1 bad a; judge T1-S1 1 ok b; \
         judge T1-S1 3 bad c; judge T1-S1 3 ok d; judge T1-S1 4 bad d; design T1 d2; stop; resume; \
         {}; person: override T1-S2 1 because; relocate; resume T1; instead list; complete; \
         apart main; plan p h; place T1 c; design T1 d; judge T1-S1 1 ok b; judge T1-S1 3 open c",
        subtask_done("T1-S1"),
    )
    .replace("; complete", ""));
    let mut again = Session::start();
    for (event, at) in &walk.journal {
        let text = serde_json::to_string(event).unwrap();
        let kind = Session::event_kind(event);
        assert!(text.contains(kind), "{kind} is not in {text}");
        let read: Event = serde_json::from_str(&text).unwrap();
        assert_eq!(read, *event);
        again.apply(&read, *at);
    }
    assert_eq!(again, walk.session);
    let text = serde_json::to_string(&again).unwrap();
    assert_eq!(serde_json::from_str::<Session>(&text).unwrap(), again);
}
