//! A machine that the product does not have, added as any other would be: its type (`Tally`), a line
//! of registration (`KINDS`), and its window (`TallyWindow`) with a form of its own. That is all that is
//! touched. A window whose schema is printed, and whose file is known by its path, is a kind of document as
//! well: a row of the table in `model/src/document/kind.rs`, and its type in `store/src/parse/registry.rs`.

use super::{MACHINES, MachineKind};
use crate::{
    answer,
    error::EngineError,
    ledger::{Ledger, MachineCommand},
    notify::Wanted,
    outbox::Timers,
    project::Project,
    windows::{self, MachineWindow, WindowKind},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fs, path::PathBuf, sync::LazyLock, time::Duration};
use tempfile::TempDir;
use waypost_model::{
    actor::Actor,
    answer::{Answer, Consequence, OutsideFacts},
    code::Code,
    diagnostic::Diagnostic,
    document::{Form, Syntax},
    id::StreamName,
    inbox::{Question, QuestionKind, Reply, Topic},
    machine::{Asked, Decision, Effect, Machine, Rejected},
    run,
    time::Time,
};
use waypost_store::file;

/// Place one: the machine. It counts, asks whether it may begin again, and does so after an hour.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Tally {
    count: u32,
}

#[derive(Debug)]
enum TallyCommand {
    Add(u32),
    AskToClear,
    Clear,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TallyEvent {
    Added { count: u32 },
    Cleared {},
}

impl Machine for Tally {
    type Command = TallyCommand;
    type Event = TallyEvent;

    const KIND: &'static str = "tally";
    const FORMAT: u32 = 1;

    fn start() -> Self {
        Self::default()
    }

    fn decide(
        &self,
        command: &TallyCommand,
        asked: &Asked<'_>,
    ) -> Result<Decision<TallyEvent>, Rejected> {
        let clear = || Topic::new("clear");
        Ok(match command {
            TallyCommand::Add(0) => Err(Rejected::rule(Code::EditRefused, "nothing to add"))?,
            TallyCommand::Add(count) => Decision::events([TallyEvent::Added { count: *count }]),
            TallyCommand::AskToClear => Decision::nothing()
                .with(Effect::Ask(
                    Question::new(QuestionKind::PhaseEnd, clear(), "begin again?", "")
                        .choices(["yes", "no"]),
                ))
                .with(Effect::SetTimer { topic: clear(), at: asked.now.plus(HOUR) }),
            TallyCommand::Clear => Decision::events([TallyEvent::Cleared {}])
                .with(Effect::Settle { topic: clear() })
                .with(Effect::CancelTimer { topic: clear() }),
        })
    }

    fn apply(&mut self, event: &TallyEvent, _at: Time) {
        match event {
            TallyEvent::Added { count } => self.count += count,
            TallyEvent::Cleared {} => self.count = 0,
        }
    }

    fn event_kind(event: &TallyEvent) -> &'static str {
        match event {
            TallyEvent::Added { .. } => "added",
            TallyEvent::Cleared {} => "cleared",
        }
    }

    fn answered<F: OutsideFacts>(
        &self,
        answer: &Answer<'_>,
        _facts: &F,
    ) -> Result<Consequence<TallyCommand>, F::Error> {
        Ok(match answer.topic.as_str() == "clear" && answer.is("yes") {
            true => Consequence::command(TallyCommand::Clear),
            false => Consequence::nothing(),
        })
    }

    fn due(&self, topic: &Topic) -> Option<TallyCommand> {
        (topic.as_str() == "clear").then_some(TallyCommand::Clear)
    }
}

/// Place two: its line in the table.
static KINDS: LazyLock<Vec<MachineKind>> = LazyLock::new(|| {
    let tally = MachineKind::of::<Tally>().shown_in(const { &[WindowKind::of::<TallyWindow>()] });
    MACHINES.iter().copied().chain([tally]).collect()
});

/// Place three: its window, a file for each tally.
struct TallyWindow;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TallyFile {
    count: u32,
}

impl Form for TallyFile {
    const SYNTAX: Syntax = Syntax::Json;

    fn check(&self) -> Vec<Diagnostic> {
        Vec::new()
    }
}

impl MachineWindow for TallyWindow {
    type Machine = Tally;
    type Document = TallyFile;

    fn streams(project: &mut Project) -> Result<Vec<StreamName>, EngineError> {
        let Some(journal) = &mut project.journal else { return Ok(Vec::new()) };
        let streams = journal.view()?.streams()?.into_iter().map(|it| it.name);
        Ok(streams.filter(|name| name.kind() == Tally::KIND).collect())
    }

    fn path(project: &Project, stream: &StreamName) -> Option<PathBuf> {
        Some(project.root().join(format!("{}.json", stream.instance()?)))
    }

    fn render(machine: &Tally) -> Option<TallyFile> {
        Some(TallyFile { count: machine.count })
    }

    fn difference(one: &TallyFile, other: &TallyFile) -> usize {
        one.count.abs_diff(other.count) as usize
    }

    fn translate(
        _machine: &Tally,
        base: &TallyFile,
        edited: &TallyFile,
    ) -> Result<Vec<TallyCommand>, Vec<Rejected>> {
        match edited.count.checked_sub(base.count) {
            Some(0) => Ok(Vec::new()),
            Some(more) => Ok(vec![TallyCommand::Add(more)]),
            None => Err(vec![Rejected::rule(Code::EditRefused, "it only grows")]),
        }
    }

    fn describe(command: &TallyCommand) -> String {
        format!("{command:?}")
    }
}

const HOUR: Duration = Duration::from_secs(3_600);

/// A project whose program knows the tally.
fn open(folder: &TempDir) -> Project {
    let mut project = open_without_tally(folder);
    project.ledger = Ledger::new(&KINDS, Wanted::default());
    windows::reconcile(&mut project).unwrap();
    project
}

/// The same project as the product's own program opens it.
fn open_without_tally(folder: &TempDir) -> Project {
    let actor = Actor::User("mina".into());
    let mut project = Project::open_unreconciled(folder.path(), actor).unwrap();
    project.ensure_journal().unwrap();
    project
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".waypost")).unwrap();
    folder
}

fn stream(name: &str) -> StreamName {
    StreamName::of(Tally::KIND, Some(name)).unwrap()
}

fn give(project: &mut Project, name: &str, command: TallyCommand) -> Result<(), EngineError> {
    project.command(&[MachineCommand::of::<Tally>(stream(name), command)])
}

fn count(project: &mut Project, name: &str) -> u32 {
    project.machine::<Tally>(&stream(name)).unwrap().unwrap().state.count
}

#[test]
fn a_new_kind_is_committed_reloaded_and_kept_in_snapshots() {
    let folder = folder();
    let mut project = open(&folder);
    give(&mut project, "a", TallyCommand::Add(2)).unwrap();
    give(&mut project, "b", TallyCommand::Add(40)).unwrap();
    assert!(give(&mut project, "a", TallyCommand::Add(0)).is_err());
    let many: Vec<MachineCommand> = (0..1_000)
        .map(|_| MachineCommand::of::<Tally>(stream("a"), TallyCommand::Add(1)))
        .collect();
    project.command(&many).unwrap();
    let mut again = open(&folder);
    assert_eq!((count(&mut again, "a"), count(&mut again, "b")), (1_002, 40));
    let kept = |project: &mut Project, name: &str| {
        let view = project.journal.as_mut().unwrap().view().unwrap();
        view.snapshot(&stream(name)).unwrap().map(|it| it.stream_seq)
    };
    assert_eq!((kept(&mut again, "a"), kept(&mut again, "b")), (Some(1_001), None));
    let event = again.log(1, |entry| entry.stream == stream("b")).unwrap().pop().unwrap();
    let happened = crate::host::Happened::new(event);
    assert!(matches!(happened.event::<Tally>(), Some(TallyEvent::Added { count: 40 })));
    assert!(happened.event::<run::Run>().is_none());
}

#[test]
fn each_instance_has_its_file_and_an_edit_of_it_is_taken_up_or_refused() {
    let folder = folder();
    let mut project = open(&folder);
    give(&mut project, "a", TallyCommand::Add(2)).unwrap();
    give(&mut project, "b", TallyCommand::Add(40)).unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.json"));
    let shown = |name: &str| fs::read_to_string(path(name)).unwrap();
    let edit = |name: &str, text: &str| {
        file::replace(&path(name), text.as_bytes(), file::SHARED).unwrap();
    };
    assert!(shown("a").contains(": 2") && shown("b").contains(": 40"));

    edit("a", "{ \"count\": 9 }");
    let mut again = open(&folder);
    assert_eq!((count(&mut again, "a"), count(&mut again, "b")), (9, 40));
    let notices = again.take_notices();
    assert_eq!(notices[0].text, "took up an edit of a.json: Add(7)");

    edit("b", "{ \"count\": 39 }");
    let mut again = open(&folder);
    assert_eq!((count(&mut again, "b"), shown("b").contains(": 40")), (40, true));
    let inbox = again.inbox().unwrap();
    assert_eq!(inbox.open()[0].question.subject.as_str(), "tally:b/refused-edit");
    answer::give(&mut again, &inbox.open()[0].id, Reply::answer("seen")).unwrap();
    assert!(again.inbox().unwrap().open().is_empty());
}

#[test]
fn an_answer_goes_to_the_instance_that_asked_and_a_timer_fires_once() {
    let folder = folder();
    let mut project = open(&folder);
    for name in ["a", "b"] {
        give(&mut project, name, TallyCommand::Add(5)).unwrap();
        give(&mut project, name, TallyCommand::AskToClear).unwrap();
    }
    let entry = project.inbox().unwrap().open()[1].clone();
    assert_eq!(entry.question.subject.as_str(), "tally:b/clear");
    assert!(answer::give(&mut project, &entry.id, Reply::answer("maybe")).is_err());
    answer::give(&mut project, &entry.id, Reply::answer("YES")).unwrap();
    assert_eq!((count(&mut project, "a"), count(&mut project, "b")), (5, 0));
    give(&mut project, "b", TallyCommand::Add(3)).unwrap();

    // Only `a` still has a timer.
    let now = project.clock.now();
    let mut timers = Timers::default();
    assert!(!timers.attend(&mut project, now));
    let due = timers.wakes_at().unwrap();
    assert!(due > now && due <= now.plus(HOUR));
    assert!(timers.attend(&mut project, now.plus(HOUR)));
    assert_eq!((count(&mut project, "a"), count(&mut project, "b")), (0, 3));
    assert!(project.inbox().unwrap().open().is_empty());
    let mut again = open(&folder);
    assert!(!Timers::default().attend(&mut again, now.plus(2 * HOUR)));
    let cleared = again.log(9, |entry| entry.kind == "cleared").unwrap();
    assert_eq!(cleared.len(), 2);
}

#[test]
fn a_program_that_does_not_know_a_kind_leaves_it_alone() {
    let folder = folder();
    let mut project = open(&folder);
    give(&mut project, "a", TallyCommand::Add(5)).unwrap();
    give(&mut project, "a", TallyCommand::AskToClear).unwrap();
    drop(project);
    let mut other = open_without_tally(&folder);
    windows::reconcile(&mut other).unwrap();
    let entry = other.inbox().unwrap().open()[0].clone();
    assert_eq!(other.run().unwrap().active().map(|_| ()), None);
    let late = other.clock.now().plus(2 * HOUR);
    let mut timers = Timers::default();
    assert!(!timers.attend(&mut other, late), "it is not its to perform");
    assert!(timers.wakes_at().unwrap() > late, "and it does not ask again and again");
    answer::give(&mut other, &entry.id, Reply::answer("no")).unwrap();
    let mut again = open(&folder);
    assert_eq!(count(&mut again, "a"), 5);
    assert!(Timers::default().attend(&mut again, late));
    assert_eq!(count(&mut again, "a"), 0);
}

/// Where the printed matrices are: of each kind of machine, and of an attempt, which is a machine without a
/// stream. That each has all commands of its machine is shown beside it.
const MATRICES: [(&str, &str); 11] = [
    (
        "workflow",
        "model/src/workflow/tests/snapshots/waypost_model__workflow__tests__matrix__states_by_commands",
    ),
    ("run", "model/src/run/tests/snapshots/waypost_model__run__tests__matrix__runs_by_commands"),
    (
        "memory",
        "model/src/memory/tests/snapshots/waypost_model__memory__tests__matrix__states_by_commands",
    ),
    (
        "session",
        "model/src/session/tests/snapshots/waypost_model__session__tests__matrix__states_by_commands",
    ),
    ("knowledge", "model/src/snapshots/waypost_model__knowledge__tests__knowledge_by_commands"),
    (
        "inbox",
        "model/src/inbox/tests/snapshots/waypost_model__inbox__tests__matrix__inbox_by_commands",
    ),
    ("verdicts", "model/src/verdict/snapshots/waypost_model__verdict__tests__verdicts_by_commands"),
    ("accounts", "model/src/snapshots/waypost_model__accounts__tests__accounts_by_commands"),
    ("job", "model/src/snapshots/waypost_model__job__tests__job_by_commands"),
    ("task", "model/src/task/tests/snapshots/waypost_model__task__tests__matrix__task_by_commands"),
    (
        "attempt",
        "engine/src/execute/life/snapshots/waypost_engine__execute__life__tests__stages_by_inputs",
    ),
];

#[test]
fn every_machine_of_the_table_has_a_printed_matrix() {
    let kinds: Vec<&str> = MACHINES.iter().map(|kind| kind.word).chain(["attempt"]).collect();
    assert_eq!(MATRICES.map(|(word, _)| word).to_vec(), kinds);
    for (word, name) in MATRICES {
        let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        let page = fs::read_to_string(crates.join(format!("{name}.snap"))).unwrap();
        // Behind its head there is a section for each state, with a row for each command.
        let rows = page.lines().filter(|line| line.starts_with("  ")).count();
        assert!(rows > 1, "{word}: {page}");
    }
}
