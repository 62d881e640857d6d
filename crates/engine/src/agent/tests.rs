//! An agent of a program that the product does not have, at work on the task of a run. It is added as
//! any other would be: what it is (`PARROT`, `Parrot`), its line in the table (`programs`), and this
//! test. That is all that is touched.

use super::{Transcript, named, names, transcript};
use crate::{
    attendance::Haste,
    environment::{Environment, Variables},
    execute::{Audience, Happening, RunEnd, RunNews, RunOptions, Running, Wish},
    host,
    project::Project,
    tasks::{self, Onward},
};
use serde_json::{Value, json};
use std::{
    env,
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use tempfile::TempDir;
use waypost_agent::{
    Adapter, Capability, Dialect,
    launch::{Launch, Opening, Order},
    prices::{Models, price},
    programs::{AgentProgram, BUILT_IN, KnownAgent, Programs},
    stream::{End, LineUse, Listener, Said, Usage, Why},
};
use waypost_model::{
    actor::Actor,
    id::TaskId,
    run::{self, Active, TaskStatus},
    time::Time,
};

/// Place one: the program. Each line of it is an object with one word of its own.
static PARROT: AgentProgram = AgentProgram {
    file: Some("parrot"),
    adapters: &[Adapter::of(&Parrot)],
    agents: &[KnownAgent { name: "polly", adapter: Adapter::of(&Parrot), command: &["parrot"] }],
    models: Some(&MODELS),
    ..AgentProgram::UNKNOWN
};

static MODELS: Models = Models { prefix: "ara", prices: &[("ara-1", price(1.0, 0.1, 1.0, 4.0))] };

#[derive(Debug)]
struct Parrot;

impl Dialect for Parrot {
    fn word(&self) -> &'static str {
        "parrot"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[Capability::NamesConversationFirst, Capability::EndsWithInput]
    }

    fn launch(&self, order: &Order) -> Launch {
        Launch {
            program: order.program.iter().cloned().chain(["--fresh".to_owned()]).collect(),
            environment: Vec::new(),
            without: Vec::new(),
            stdin: Vec::new(),
            opening: Opening::AfterSession,
        }
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::new(Hearing)
    }

    fn message(&self, session: &str, _number: u32, text: &str) -> Option<String> {
        Some(json!({"to": session, "repeat": text}).to_string())
    }
}

#[derive(Debug)]
struct Hearing;

impl Listener for Hearing {
    fn hear(&mut self, line: &Value, _raw: &str, said: &mut Vec<Said>) -> LineUse {
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        if let Some(id) = text("perch") {
            said.push(Said::Session { id });
        } else if let Some(words) = text("say") {
            said.push(Said::Text(words));
        } else if let Some(input) = text("peck") {
            said.push(Said::ToolCall { id: "1".to_owned(), name: "peck".to_owned(), input });
        } else if let Some(seeds) = line["seeds"].as_u64() {
            said.push(Said::Model("ara-1".to_owned()));
            said.push(Said::Usage(Usage { input: seeds, output: seeds, ..Usage::default() }));
        } else if let Some(detail) = text("asleep") {
            said.push(Said::Ended(End { why: Why::Done, detail }));
        }
        LineUse::Said
    }
}

/// Place two: its line in the table.
fn programs() -> Programs {
    BUILT_IN.with(&PARROT)
}

/// The program itself. It ends when its input does.
const SCRIPT: &str = r#"#!/bin/sh
printf '%s\n' "$*" > words
printf '%s\n' '{"perch":"p1"}'
read -r told
printf '%s\n' "$told" > told
printf '%s\n' '{"peck":"nut"}' '{"say":"I have sung.\nDONE:T1.1"}'
printf '%s\n' '{"seeds":1000}' '{"asleep":"done"}'
while read -r more; do :; done
"#;

const TASKS: &str =
    "# Tasks: choir\n\n## Phase 1: One\n\n- [ ] T1.1: Sing\n  - agent: polly\n  - depends: none\n";

/// A project, and a person's own folders with the program in one of them.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("project/.waypost")).unwrap();
    fs::create_dir_all(at("home/bin")).unwrap();
    crate::write_file(&at("project/TASKS.md"), TASKS.as_bytes()).unwrap();
    crate::write_file(&at("home/bin/parrot"), SCRIPT.as_bytes()).unwrap();
    fs::set_permissions(at("home/bin/parrot"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn open(folder: &Path, programs: &Programs) -> Project {
    let home = folder.join("home");
    let path = format!("{}:{}", home.join("bin").display(), env::var("PATH").unwrap());
    let variables = json!({"HOME": home, "PATH": path, "WAYPOST_RUN_BUDGET_USD": "1"});
    let variables: Variables = serde_json::from_value(variables).unwrap();
    let actor = Actor::User("mina".into());
    let environment = Environment::from(variables);
    Project::open_for(&folder.join("project"), actor, environment, programs).unwrap()
}

/// How a keeper is started: as this binary again, with `as_keeper` as its only test. What the test
/// harness says first is not for the engine, so stdout is kept apart from it.
fn keeper() -> Vec<std::ffi::OsString> {
    let own = env::current_exe().unwrap();
    let script = "exec 3>&1 >/dev/null; exec env WAYPOST_TEST_PART=keeper \"$@\"";
    let words = ["--exact", "agent::tests::as_keeper", "--nocapture", "--test-threads=1"];
    let begin = ["sh", "-c", script, "sh"].map(Into::into).into_iter().chain([own.into()]);
    begin.chain(words.map(Into::into)).collect()
}

/// Does nothing unless the environment says that this process is the keeper.
#[test]
fn as_keeper() {
    if env::var_os("WAYPOST_TEST_PART").is_none_or(|part| part != "keeper") {
        return;
    }
    let heard = File::options().write(true).open("/proc/self/fd/3").unwrap();
    rustix::stdio::dup2_stdout(&heard).unwrap();
    let folder = env::args_os().next_back().map(PathBuf::from).unwrap();
    waypost_proc::serve(&folder).unwrap();
}

/// Hears everything and wants nothing.
#[derive(Debug, Default)]
struct Listening(Vec<Happening>);

impl Audience for Listening {
    fn tell(&mut self, news: &RunNews) {
        self.0.push(news.happening.clone());
    }

    fn look(&mut self, _: &Active, _: &[Running<'_>], _: Time) {}

    fn wish(&mut self) -> Wish {
        Wish::GoOn
    }

    fn end(&mut self, _: Haste) {}
}

/// Place three: the test.
#[test]
fn an_agent_of_a_program_that_was_added_works_a_task_to_its_end() {
    let folder = folder();
    let mut project = open(folder.path(), &programs());
    tasks::take_up_run(&mut project, Vec::new(), None, None, Onward::GoOn).unwrap();
    let audience = Arc::new(Mutex::new(Listening::default()));
    let options = RunOptions { keeper: keeper(), ..RunOptions::default() };
    let told = Box::new(Arc::clone(&audience));
    let (mut project, end) = host::execute(project, &options, told).unwrap();
    let told = std::mem::take(&mut audience.lock().unwrap().0);
    assert_eq!(end, RunEnd::Over, "{told:?}");

    let id: TaskId = "T1.1".parse().unwrap();
    // Nothing is known of a hook of its own.
    let is_marked =
        |it: &Happening| matches!(it, Happening::Note(text) if text.contains("polly is unguarded"));
    assert!(is_marked(&told[0]), "{told:?}");
    assert_eq!(told[1], Happening::Started { id: id.clone(), attempt: 1 });
    assert!(told.contains(&Happening::Completed { id: id.clone() }), "{told:?}");
    let written = |name: &str| fs::read_to_string(folder.path().join("project").join(name));
    assert_eq!(written("words").unwrap(), "--fresh\n");
    let line: Value = serde_json::from_str(&written("told").unwrap()).unwrap();
    assert!(line["to"] == "p1" && line["repeat"].as_str().unwrap().contains("Sing"), "{line}");

    let active = project.run().unwrap().active().unwrap();
    let view = active.task(&id).unwrap();
    let trail = view.trail.unwrap();
    assert_eq!((view.status, view.attempts), (TaskStatus::Completed, 1));
    assert_eq!(trail.conversation.as_ref().map(|it| (&*it.agent, &*it.id)), Some(("polly", "p1")));
    assert_eq!(trail.result.as_deref(), Some("I have sung."));
    let cost_micros = 1_000 + 4_000;
    let usage = run::Usage { input: 1_000, output: 1_000, cached: 0, cost_micros };
    assert_eq!(trail.usage, usage);
    let mut words: Transcript = transcript(&project.setup, &id, 1).unwrap();
    assert_eq!(words.news().unwrap(), "→ peck nut\nI have sung.\nDONE:T1.1\n");
    assert!(transcript_of_others(folder.path(), &id).is_none());
}

/// What the product's own program finds of the same attempt, which does not know the agent.
fn transcript_of_others(folder: &Path, id: &TaskId) -> Option<Transcript> {
    let project = open(folder, &BUILT_IN);
    assert!(
        named(&project.setup, "polly").is_err() && !names(&project.setup).contains(&"polly".into())
    );
    transcript(&project.setup, id, 1)
}
