//! Every stage of an attempt with everything that it may hear, as one page to read.

use super::*;
use crate::execute::workplace::Site;
use std::{collections::BTreeSet, fmt::Write as _, rc::Rc};
use waypost_git::{BranchKind, PhaseBranch, Stamp};
use waypost_model::run::{Failure, ParkCause};
use waypost_proc::Limits;

const OURS: Others = Others { wish: Wish::GoOn, is_ours: true };

/// What differs from `OURS`, and how that is called.
const OTHERWISE: [(&str, Others); 3] = [
    ("running tasks are to finish", Others { wish: Wish::Finish, is_ours: true }),
    ("everything is to stop", Others { wish: Wish::Stop, is_ours: true }),
    ("the task was taken away", Others { wish: Wish::GoOn, is_ours: false }),
];

/// Stages that a matrix has, in the order of a life.
const STAGES: [Stage; 10] = [
    Stage::Claimed,
    Stage::Placing,
    Stage::SettingUp,
    Stage::Working,
    Stage::Committing,
    Stage::Verifying(1),
    Stage::Verifying(2),
    Stage::Joining,
    Stage::Leaving,
    Stage::Over,
];

fn phase() -> PhaseBranch {
    let (name, target) = ("worktree/phase-1".to_owned(), "main".to_owned());
    PhaseBranch { kind: BranchKind::Phase, number: 1, name, target, is_shared: false }
}

fn workplaces() -> [(&'static str, Workplace); 3] {
    let own = Workplace::OwnTree { phase: phase(), name: "worktree/phase-1--T1-1".into() };
    [
        ("the project folder", Workplace::Project),
        ("its phase's tree", Workplace::PhaseTree { phase: phase() }),
        ("a tree of its own", own),
    ]
}

fn works() -> [(&'static str, TaskWork<String>); 3] {
    [
        ("a command", TaskWork::Command("make".into())),
        ("an agent", TaskWork::Agent("codex".into())),
        ("nothing that could work on it", TaskWork::Nobody("it has no command")),
    ]
}

fn life(workplace: Workplace, work: TaskWork<String>) -> Life {
    let site = Site { setup: Some("npm ci".into()), ..Site::default() };
    let id: waypost_model::id::TaskId = "T1".parse().unwrap();
    Life::new(Attempt {
        id: id.clone(),
        number: 1,
        work,
        verify: vec!["test".into(), "lint".into()],
        workplace,
        folder: "/project".into(),
        stamp: Stamp { id, attempt: 1, title: "One".into() },
        files: Vec::new(),
        goes_on: false,
        limits: Limits::default(),
        site: Rc::new(site),
        log: "/logs/T1/1.log".into(),
    })
}

/// A type of which every variant has a row in the matrix. One that is added has to be named below, or it
/// does not compile, and has to have its row then.
trait Listed {
    const NAMES: &'static [&'static str];

    fn name(&self) -> &'static str;
}

macro_rules! listed {
    ($($type:ident: $($variant:ident),+;)+) => {
        $(impl Listed for $type {
            const NAMES: &'static [&'static str] = &[$(stringify!($type::$variant)),+];

            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => stringify!($type::$variant),)+
                }
            }
        })+
    };
}

listed! {
    Stage: Claimed, Placing, SettingUp, Working, Committing, Verifying, Joining, Leaving, Over;
    Wish: GoOn, Finish, Stop;
    LifeInput: Turn, Found, Placed, NoRoom, Ended, Refused, Concluded, Committed, Joined, GitFailed,
        GivenUp, Left;
    Whereabouts: Runs, WithAgent, Committed, Joined, Lost;
    How: Exited, Signalled, TimedOut, Stalled, Stopped, Flooded, Deaf;
    Refusal: Busy, Impossible, Withdrawn;
    Verdict: Done, Failed, Interrupted, Parked;
    Committed: At, Gone, Astray;
    Join: Done, Nothing, Conflict, Unclean;
}

#[test]
fn every_stage_wish_and_input_is_in_the_matrix() {
    let wishes = [OURS].into_iter().chain(OTHERWISE.map(|(_, it)| it)).map(|it| it.wish);
    let mut found: BTreeSet<&str> = wishes.map(|wish| wish.name()).collect();
    found.extend(STAGES.iter().map(Listed::name));
    for (_, input) in inputs() {
        found.insert(input.name());
        found.extend(match &input {
            LifeInput::Found(it) => Some(it.name()),
            LifeInput::Ended(it) => Some(it.how.name()),
            LifeInput::Refused(it) => Some(it.name()),
            LifeInput::Concluded(it) => Some(it.name()),
            LifeInput::Committed(it) => Some(it.name()),
            LifeInput::Joined(it) => Some(it.name()),
            LifeInput::Turn
            | LifeInput::Placed { .. }
            | LifeInput::NoRoom(_)
            | LifeInput::GitFailed(_)
            | LifeInput::GivenUp
            | LifeInput::Left => None,
        });
    }
    let all = [
        Stage::NAMES,
        Wish::NAMES,
        LifeInput::NAMES,
        Whereabouts::NAMES,
        How::NAMES,
        Refusal::NAMES,
        Verdict::NAMES,
        Committed::NAMES,
        Join::NAMES,
    ];
    assert_eq!(found, all.concat().into_iter().collect::<BTreeSet<&str>>());
}

fn ended(how: How, tail: &str) -> LifeInput {
    let tail = tail.as_bytes().to_vec();
    LifeInput::Ended(Ended {
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

fn inputs() -> Vec<(&'static str, LifeInput)> {
    use LifeInput as I;
    let text = |text: &str| text.to_owned();
    let parked = |cause| Parked {
        until: None,
        cause,
        why: text("it has to wait"),
        agent: String::new(),
        in_a_row: 1,
        trouble: None,
    };
    let found = |found| I::Found(found);
    let committed = |changed: &[&str]| {
        let changed = changed.iter().map(ToString::to_string).collect();
        I::Committed(Committed::At { commit: text("c0ffee"), changed, ignored: Default::default() })
    };
    let failed = Failure { text: text("it gave up"), ..Failure::default() };
    let files = || vec![text("a.txt")];
    let at = |verify| Whereabouts::Runs { verify, commit: Some(text("c0ffee")) };
    let joined = Whereabouts::Joined { commit: text("facade"), work: Some(text("c0ffee")) };
    vec![
        ("its turn", I::Turn),
        ("found: its command runs", found(at(0))),
        ("found: its second check runs", found(at(2))),
        ("found: its agent runs", found(Whereabouts::WithAgent)),
        ("found: committed", found(Whereabouts::Committed)),
        ("found: joined", found(joined)),
        ("found: lost", found(Whereabouts::Lost)),
        ("a new tree", I::Placed { is_new: true }),
        ("a kept tree", I::Placed { is_new: false }),
        ("no room", I::NoRoom(parked(ParkCause::Infrastructure))),
        ("exit 0", ended(How::Exited(0), "")),
        ("exit 0, saying FAIL", ended(How::Exited(0), "FAIL:T1:no network\n")),
        ("exit 3", ended(How::Exited(3), "no such file\n")),
        ("killed", ended(How::Signalled(9), "")),
        ("timed out", ended(How::TimedOut, "")),
        ("silent for too long", ended(How::Stalled, "")),
        ("it said too much", ended(How::Flooded, "")),
        ("it read nothing", ended(How::Deaf, "")),
        ("stopped", ended(How::Stopped, "")),
        ("refused: busy", I::Refused(Refusal::Busy { detail: text("EAGAIN") })),
        ("refused: impossible", I::Refused(Refusal::Impossible { detail: text("no folder") })),
        ("refused: withdrawn", I::Refused(Refusal::Withdrawn)),
        ("agent: done", I::Concluded(Verdict::Done { needs_change: false })),
        ("agent: done if changed", I::Concluded(Verdict::Done { needs_change: true })),
        ("agent: failed", I::Concluded(Verdict::Failed(failed))),
        ("agent: interrupted", I::Concluded(Verdict::Interrupted)),
        ("agent: parked", I::Concluded(Verdict::Parked(parked(ParkCause::Limit)))),
        ("committed a change", committed(&["a.txt"])),
        ("committed nothing", committed(&[])),
        ("tree gone", I::Committed(Committed::Gone)),
        ("tree astray", I::Committed(Committed::Astray(text("on another branch")))),
        ("joined", I::Joined(Join::Done { commit: text("facade") })),
        ("nothing to join", I::Joined(Join::Nothing)),
        ("conflict", I::Joined(Join::Conflict { files: files() })),
        ("changed by its checks", I::Joined(Join::Unclean { files: files() })),
        ("git failed", I::GitFailed(text("index.lock"))),
        ("given up", I::GivenUp),
        ("left", I::Left),
    ]
}

fn describe(step: &Step) -> String {
    match step {
        Step::Place => "make its tree".into(),
        Step::Run(command) => format!("run `{command}`"),
        Step::Engage => "engage its agent".into(),
        Step::Commit => "commit".into(),
        Step::Join => "join".into(),
        Step::Leave { why } => format!("leave ({why})"),
        Step::Over(None) => "nothing to record".into(),
        Step::Over(Some(command)) => match &**command {
            Command::Done { commit, evidence, .. } => {
                let commit = commit.as_deref().map_or(String::new(), |it| format!(" by {it}"));
                format!("record done{commit}, {evidence}")
            }
            Command::Fail { failure, .. } => {
                format!("record failure, {:?}: {}", failure.class, failure.text)
            }
            Command::Interrupt { .. } => "record interruption".into(),
            Command::Park { parked, .. } => format!("record parked, {}", parked.cause.as_str()),
            other => format!("{other:?}"),
        },
        Step::Wait => "wait".into(),
    }
}

/// How far an attempt is, with all that its future depends on.
fn state(life: &Life) -> String {
    let mut text = format!("{:?}", life.stage);
    if life.attempt.work == TaskWork::Command(String::new()) {
        text.push_str(", with a command");
    }
    match &life.commit {
        None => {}
        Some((_, Some(true))) => text.push_str(", a change is committed"),
        Some((_, Some(false))) => text.push_str(", no change is committed"),
        Some((_, None)) => text.push_str(", something is committed"),
    }
    if life.needs_change {
        text.push_str(", needs a change");
    }
    if let Some(end) = &life.end {
        let _infallible = write!(text, ", to {}", describe(&over(end.clone())));
    }
    text
}

/// All states that an attempt can come to, whatever it hears and whatever others want.
fn reachable(first: Life) -> Vec<Life> {
    let (mut seen, mut found, mut rest) = (BTreeSet::new(), Vec::new(), vec![first]);
    let arounds: Vec<Others> = [OURS].into_iter().chain(OTHERWISE.map(|(_, it)| it)).collect();
    while let Some(life) = rest.pop() {
        if !seen.insert(state(&life)) {
            continue;
        }
        for (_, input) in inputs() {
            for around in &arounds {
                let mut next = life.clone();
                next.step(input.clone(), *around);
                rest.push(next);
            }
        }
        found.push(life);
    }
    found.sort_by_key(|life| (STAGES.iter().position(|it| *it == life.stage), state(life)));
    found
}

/// What an attempt does with all that it may hear.
fn row(page: &mut String, life: &Life) {
    let _infallible = writeln!(page, "  {}", state(life));
    for (name, input) in inputs() {
        let take = |around| {
            let mut next = life.clone();
            let step = next.step(input.clone(), around);
            (step, next)
        };
        let (step, next) = take(OURS);
        if step == Step::Wait && next.stage == life.stage {
            continue;
        }
        let arrow = |(step, next): &(Step, Life)| format!("{} → {}", describe(step), state(next));
        let usual = arrow(&(step, next));
        let _infallible = writeln!(page, "    {name}: {usual}");
        for (what, around) in OTHERWISE {
            let (step, next) = take(around);
            // Nothing is recorded of an attempt that was taken away; that need not be said each time.
            let is_dropped = matches!(step, Step::Over(None) | Step::Leave { .. })
                && next.end.is_none()
                && !around.is_ours;
            let otherwise = arrow(&(step, next));
            if otherwise != usual && !is_dropped {
                let _infallible = writeln!(page, "      {what}: {otherwise}");
            }
        }
    }
}

#[test]
fn stages_by_inputs() {
    let mut page = String::from(
        "What an attempt does when it hears something, and how far it is then. All else is ignored.\n\
         If the task was taken away, nothing is recorded but what says so.\n\n",
    );
    for (place, workplace) in workplaces() {
        for (who, work) in works() {
            let _infallible = writeln!(page, "in {place}, with {who}");
            let states = reachable(life(workplace.clone(), work.clone()));
            for stage in STAGES {
                let mut of_stage = states.iter().filter(|life| life.stage == stage).peekable();
                if of_stage.peek().is_none() {
                    let _infallible = writeln!(page, "  {stage:?}: impossible");
                }
                // What is over hears nothing, and what leaves hears one thing, whatever they were;
                // whether a change is needed matters when it is committed.
                let is_other = |it: &&Life| stage == Stage::Committing || !it.needs_change;
                let rows: Vec<&Life> = of_stage.filter(is_other).collect();
                let is_last = matches!(stage, Stage::Leaving | Stage::Over);
                let skipped = if is_last { rows.len().saturating_sub(1) } else { 0 };
                rows.into_iter().skip(skipped).for_each(|life| row(&mut page, life));
            }
            page.push('\n');
        }
    }
    insta::assert_snapshot!(page);
}

#[test]
fn every_life_ends_when_everything_it_waits_for_does() {
    for (place, workplace) in workplaces() {
        for (who, work) in works() {
            for life in reachable(life(workplace.clone(), work.clone())) {
                let waits = match life.stage {
                    Stage::Over => continue,
                    Stage::Claimed => LifeInput::Turn,
                    Stage::Placing => LifeInput::GitFailed("killed".into()),
                    Stage::Committing | Stage::Joining => LifeInput::GitFailed("killed".into()),
                    Stage::Working if life.attempt.has_agent() => {
                        LifeInput::Concluded(Verdict::Interrupted)
                    }
                    Stage::SettingUp | Stage::Working | Stage::Verifying(_) => {
                        ended(How::Stopped, "")
                    }
                    Stage::Leaving => LifeInput::Left,
                };
                let mut next = life.clone();
                let around = Others { wish: Wish::Stop, is_ours: true };
                next.step(waits, around);
                if next.stage == Stage::Leaving {
                    next.step(LifeInput::Left, around);
                }
                assert_eq!(next.stage, Stage::Over, "{place}, {who}: {}", state(&life));
            }
        }
    }
}
