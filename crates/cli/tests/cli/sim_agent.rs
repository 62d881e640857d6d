//! `waypost sim agent`: the real binary in the place of each agent program, signals, and what it
//! says to a bad script.

use crate::harness::{BINARY, Project};
use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};
use waypost_agent::{
    Adapter, answer,
    launch::{Access, Conversation, Launch, Opening, Order, Prompts},
    stream::{End, Reader, Said, Usage, Why},
};

/// Longer than the program takes to end when it is told to, whatever it does.
const LONG: Duration = Duration::from_millis(900);

const ID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

/// The program as an agent of that kind, started as an engine would start it.
fn start(project: &Project, adapter: Adapter, steps: &str) -> Agent {
    let script = format!(r#"{{"version": 1, "tasks": {{"T1": [{{"steps": [{steps}]}}]}}}}"#);
    project.write("script.json", &script);
    let words = ["sim", "agent", "--speak", adapter.as_str(), "--script", "script.json"];
    let words = [&[BINARY], &words[..], &["--sessions", "sessions", "--"]].concat();
    let order = Order {
        program: words.into_iter().map(str::to_owned).collect(),
        task: "TASK_ID: T1".to_owned(),
        conversation: Conversation::New { id: ID.to_owned() },
        model: Some("m".to_owned()),
        turns_max: Some(5),
        budget_cents: Some(100),
        folder: project.root.display().to_string(),
        more_folders: vec!["/more".to_owned()],
        access: Access::Read,
        allowed_tools: vec!["Bash(ls:*)".to_owned(), "Read".to_owned()],
        prompts: Prompts::Asked,
        setting_sources: Some("user".to_owned()),
        has_mcp: false,
        settings: Some("/settings.json".to_owned()),
        hook: vec!["waypost-hook".to_owned(), "codex".to_owned()],
        schema: None,
    };
    let Launch { program, stdin, opening, .. } = adapter.launch(&order);
    let mut command = project.command(&program[0], &project.root);
    command.args(&program[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut input = child.stdin.take().unwrap();
    for line in stdin {
        writeln!(input, "{line}").unwrap();
    }
    let input = Some(input).filter(|_| opening != Opening::Closed);
    Agent { adapter, child, input, output, reader: Reader::new(adapter) }
}

struct Agent {
    adapter: Adapter,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    reader: Reader,
}

impl Agent {
    /// All that is said up to and with the first thing that is wanted, but for lines without words.
    fn until(&mut self, is_wanted: impl Fn(&Said) -> bool) -> Vec<Said> {
        let mut said = Vec::new();
        while !said.iter().any(&is_wanted) {
            let mut line = Vec::new();
            self.output.read_until(b'\n', &mut line).unwrap();
            assert!(!line.is_empty(), "it ended after {said:?}");
            said.extend(self.reader.read(&line));
        }
        said.retain(|said| !matches!(said, Said::Other(_)));
        said
    }

    fn say(&mut self, text: &str) {
        let session = "51300000-0000-4000-8000-000000000001";
        let line = answer::message(self.adapter, session, 1, text).unwrap();
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    /// The rest of what it says, how it ended, and its words on standard error.
    fn end(mut self) -> (Vec<Said>, ExitStatus, String) {
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
        let mut said = self.reader.read(&rest);
        said.extend(self.reader.finish());
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (said, self.child.wait().unwrap(), errors)
    }
}

fn is_text(said: &Said) -> bool {
    matches!(said, Said::Text(_))
}

fn cut() -> Vec<Said> {
    vec![Said::Ended(End { why: Why::Cut, detail: String::new() })]
}

#[test]
fn sim_agent_stands_in_for_every_program() {
    for adapter in Adapter::all().filter(|adapter| *adapter != Adapter::PLAIN) {
        let project = Project::plain();
        let mut agent = start(&project, adapter, r#"{"run": "cat"}, {"done": "did {task}"}"#);
        let mut said = Vec::new();
        if adapter.names_conversation_first() {
            said = agent.until(|said| matches!(said, Said::Session { .. }));
            agent.say("TASK_ID: T1");
        }
        said.extend(agent.until(|said| matches!(said, Said::Ended(_))));
        agent.input = None;
        let (rest, status, _) = agent.end();
        assert_eq!((rest, status.code()), (Vec::new(), Some(0)), "{adapter}");
        let of_claude = format!("toolu_sim_{}_00000000", &ID[ID.len() - 8..]);
        let (id, call, name, input) = match adapter.as_str() {
            "claude" => (ID, of_claude.as_str(), "Bash", "cat"),
            "codex" => ("", "call_sim_00000001_00000000", "commandExecution", "/bin/bash -lc cat"),
            "codex-exec" => ("", "item_0", "command_execution", "/bin/bash -lc cat"),
            _ => ("", "call_sim_00000000", "execute", "cat"),
        };
        let id = if id.is_empty() { "51300000-0000-4000-8000-000000000001" } else { id };
        let turn = (adapter == Adapter::CODEX).then(|| "turn_sim_00000001".to_owned());
        let cost_usd = (adapter == Adapter::CLAUDE).then_some(0.01);
        let detail = "did T1\nDONE:T1".to_owned();
        let mut want = vec![
            Said::Session { id: id.to_owned() },
            Said::TurnBegan { id: turn },
            Said::ToolCall { id: call.to_owned(), name: name.to_owned(), input: input.to_owned() },
            Said::ToolResult { id: call.to_owned(), is_error: false },
            Said::Text(detail.clone()),
            Said::Usage(Usage { input: 1_000, output: 100, cost_usd, ..Usage::default() }),
            Said::Ended(End { why: Why::Done, detail }),
        ];
        if adapter == Adapter::CODEX {
            want.insert(1, Said::Model("m".to_owned()));
        }
        if adapter == Adapter::ACP {
            want.remove(1);
        }
        assert_eq!(said, want, "{adapter}");
    }
}

#[test]
fn sim_agent_ends_without_a_result_when_it_is_told_to() {
    let table = [
        r#"{"say": "x"}, {"hang": true}"#,
        r#"{"say": "x"}, {"wait_ms": 600000}"#,
        r#"{"say": "x"}, {"run": "sleep 600"}"#,
        // No process reads this, so the program is stuck in its output.
        r#"{"say": "x"}, {"flood": 10000000}"#,
    ];
    for steps in table {
        let project = Project::plain();
        let mut agent = start(&project, Adapter::CLAUDE, steps);
        agent.until(is_text);
        agent.signal(Signal::TERM);
        assert_eq!(agent.child.wait().unwrap().code(), Some(143), "{steps}");
    }
}

#[test]
fn sim_agent_that_is_deaf_ends_only_by_force() {
    let steps = r#"{"say": "x"}, {"hang": "deaf"}"#;
    let project = Project::plain();
    let mut agent = start(&project, Adapter::CLAUDE, steps);
    agent.until(is_text);
    agent.signal(Signal::TERM);
    agent.input = None;
    let pid = agent.pid();
    let (sender, ended) = mpsc::channel();
    let waiting = thread::spawn(move || {
        let (said, status, _) = agent.end();
        sender.send(()).unwrap();
        (said, status)
    });
    // Only time can show that something does not happen.
    assert!(ended.recv_timeout(LONG).is_err(), "it heard the signal");
    kill_process(pid, Signal::KILL).unwrap();
    let (said, status) = waiting.join().unwrap();
    assert_eq!((said, status.signal()), (cut(), Some(9)));
}

#[test]
fn sim_agent_breaks_as_its_script_says() {
    let table = [
        (r#"{"crash": 3}"#, (Some(3), None), "fatal: the script wants a crash\n"),
        (r#"{"crash": "SIGKILL"}"#, (None, Some(9)), ""),
        (r#"{"exit": 0}"#, (Some(0), None), ""),
    ];
    for (step, want, words) in table {
        let project = Project::plain();
        let steps = format!(r#"{{"say": "x"}}, {step}"#);
        let mut agent = start(&project, Adapter::CLAUDE, &steps);
        agent.until(is_text);
        let (said, status, errors) = agent.end();
        assert_eq!((status.code(), status.signal()), want, "{step}");
        assert_eq!((said, errors.as_str()), (cut(), words), "{step}");
    }
}

#[test]
fn sim_agent_takes_task_and_attempt_from_its_environment() {
    let project = Project::plain().variable("WAYPOST_TASK", "T9").variable("WAYPOST_ATTEMPT", "2");
    project.write(
        "script.json",
        r#"{"version": 1, "tasks": {"T9": [{"steps": [{"fail": "first"}]},
                                           {"steps": [{"done": "{attempt}"}]}]}}"#,
    );
    let line = "sim agent --speak claude --script script.json --sessions s -- -p";
    let ran = project.run(line);
    assert!(ran.stdout.contains(r#"2\nDONE:T9"#), "{ran}");
}

#[test]
fn sim_agent_says_what_is_wrong_with_a_script() {
    let project = Project::plain();
    project.write("unknown.json", "{\"version\": 1, \"default\": [\n  {\"step\": []}]}\n");
    project.write(
        "steps.json",
        r#"{"version": 1, "default": [{"steps": [{"say": "a", "run": "b"}, {"crash": "x"}]}]}"#,
    );
    assert_snapshot!(
        "bad_agent_script",
        project.transcript(&[
            "sim agent --speak claude --script unknown.json -- -p",
            "sim agent --speak acp --script steps.json",
            "sim agent --speak codex --script missing.json -- app-server",
            "sim agent --speak emacs",
        ])
    );
}
