//! A run with real agents: the tasks, the model behind them, the engine, and all its processes.

use crate::{
    harness::{Model, Site, rehearsal},
    program::{Agent, Process, Ran, owned, run, signal, wait_for},
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    os::unix::{fs::symlink, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A project with tasks for agents, and the model that they talk to.
pub(crate) struct Stage {
    // The model ends first, so that an agent of a test that failed is not fed any longer.
    model: Model,
    pub(crate) site: Site,
}

/// A turn in which the model says something and uses no tool.
pub(crate) fn text(text: &str) -> Value {
    json!({"blocks": [{"text": text}]})
}

/// What the first message about a task begins with.
pub(crate) fn marker(task: &str) -> String {
    format!("TASK_ID: {task}\n")
}

/// The last turn about a task.
pub(crate) fn done(task: &str) -> Value {
    text(&format!("I did what {task} wants.\nDONE:{task}"))
}

/// The same turn, once a file of the project is there.
pub(crate) fn until(site: &Site, file: &str, mut turn: Value) -> Value {
    turn["until"] = json!(site.path(file));
    turn
}

impl Agent {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// What its processes run: itself, or what runs it.
    fn is_run_by(self, program: &Path, agent: &Path) -> bool {
        match self {
            Self::Claude | Self::Codex => program == agent,
            Self::Gemini => program.ends_with("node"),
        }
    }

    /// A turn in which the model runs a command.
    pub(crate) fn command(self, command: &str) -> Value {
        let (tool, input) = match self {
            Self::Claude => ("Bash", json!({"command": command, "description": "try"})),
            Self::Codex => ("exec_command", json!({"cmd": command})),
            Self::Gemini => {
                ("run_shell_command", json!({"command": command, "description": "try"}))
            }
        };
        json!({"blocks": [{"tool": tool, "input": input}]})
    }

    /// A turn in which the model wants to run a command that needs a permission.
    pub(crate) fn bold_command(self, command: &str) -> Value {
        let mut turn = self.command(command);
        if self == Self::Codex {
            let input = &mut turn["blocks"][0]["input"];
            input["sandbox_permissions"] = json!("require_escalated");
            input["justification"] = json!("it is outside of the sandbox");
        }
        turn
    }

    /// A turn in which the model asks a person to choose.
    pub(crate) fn question(self, text: &str, choices: [(&str, &str); 2]) -> Value {
        if self == Self::Gemini {
            // It has no tool for that in this mode; the text ends the turn.
            let labels = choices.map(|(label, _)| label).join(", ");
            let block = format!("question: {text}\noptions: {labels}\nrequired: true");
            return self::text(&format!("[USER_QUESTION]\n{block}\n[/USER_QUESTION]"));
        }
        let option = |(label, description)| json!({"label": label, "description": description});
        let mut question = json!({"question": text, "header": "Choice",
                                  "options": choices.map(option)});
        let tool = match self {
            Self::Claude => {
                question["multiSelect"] = json!(false);
                "AskUserQuestion"
            }
            Self::Codex => {
                question["id"] = json!("choice");
                "request_user_input"
            }
            Self::Gemini => unreachable!("it was answered above"),
        };
        json!({"blocks": [{"tool": tool, "input": {"questions": [question]}}]})
    }

    /// A turn in which the model writes a file of the project.
    pub(crate) fn write(self, site: &Site, file: &str, content: &str) -> Value {
        let (tool, input) = match self {
            Self::Claude => {
                ("Write", json!({"file_path": site.path(file), "content": format!("{content}\n")}))
            }
            Self::Codex => {
                let patch = format!("*** Add File: {file}\n+{content}");
                ("apply_patch", json!(format!("*** Begin Patch\n{patch}\n*** End Patch\n")))
            }
            Self::Gemini => (
                "write_file",
                json!({"file_path": site.path(file), "content": format!("{content}\n")}),
            ),
        };
        json!({"blocks": [{"tool": tool, "input": input}]})
    }

    /// A turn in which the model writes a file of a work tree.
    pub(crate) fn write_in(self, site: &Site, tree: &str, file: &str, content: &str) -> Value {
        match self {
            // It names files from where it works.
            Self::Codex => self.write(site, file, content),
            Self::Claude | Self::Gemini => self.write(site, &format!("{tree}/{file}"), content),
        }
    }
}

impl Stage {
    /// A project with TASKS.md, in which the model has an answer for each task's agent; nothing if
    /// the test has to be skipped.
    pub(crate) fn new(
        agent: Agent,
        tasks: &str,
        answers: impl FnOnce(&Site) -> Vec<(&'static str, Value)>,
    ) -> Option<Self> {
        Self::play(agent, |site| {
            site.write("TASKS.md", &format!("# Tasks: shop\n\n{tasks}"));
            answers(site).into_iter().map(|(task, turns)| (marker(task), turns)).collect()
        })
    }

    /// A project in which the model has an answer for each conversation that begins with a marker;
    /// nothing if the test has to be skipped.
    pub(crate) fn play(
        agent: Agent,
        answers: impl FnOnce(&Site) -> Vec<(String, Value)>,
    ) -> Option<Self> {
        let site = Site::bare(agent)?;
        let conversation =
            |(marker, turns): (String, Value)| json!({"marker": marker, "turns": turns});
        let conversations: Vec<Value> = answers(&site).into_iter().map(conversation).collect();
        let script = json!({"version": 1, "turns": [text("Nobody asked me.")],
                            "conversations": conversations});
        let model = Model::play(&site, &script);
        site.configure_codex(&model);
        symlink(&site.programs.agent, site.base().join("bin").join(agent.name())).unwrap();
        let key = rehearsal("codex", &model).environment[0].0;
        let codex = |name: &str| {
            format!(
                "\n[agents.{name}]\nenvironment = [\"{key}\"]\n\
                 input_price = 2.0\noutput_price = 10.0\n"
            )
        };
        let config = [
            site.read("waypost.toml"),
            codex("codex"),
            codex("codex-exec"),
            "\n[agents.claude]\nallowed_tools = [\"Bash(until *)\"]\n".to_owned(),
            "\n[agents.gemini]\ninput_price = 2.0\noutput_price = 10.0\n".to_owned(),
        ]
        .concat();
        site.write("waypost.toml", &config);
        site.git("add .");
        site.git("commit -q -m tasks");
        Some(Self { model, site })
    }

    /// One task for the agent, and what the model says about it.
    pub(crate) fn one(agent: Agent, turns: impl FnOnce(&Site) -> Value) -> Option<Self> {
        let tasks = format!("## Phase 1: One\n\n- [ ] T1.1: Only\n  - agent: {}\n", agent.name());
        Self::new(agent, &tasks, |site| vec![("T1.1", turns(site))])
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.site.waypost_command(line);
        for program in ["claude", "codex", "gemini"] {
            command.envs(rehearsal(program, &self.model).environment);
        }
        command.env("CODEX_HOME", self.site.base().join("codex"));
        // Given to those that a project's configuration names it for.
        command.env("CLAUDE_CODE_MAX_RETRIES", "1");
        // Most of these tests are about agents, and look at the project's folder.
        command.env("WAYPOST_RUN_ISOLATION", "none");
        command
    }

    /// Runs `waypost` to its end.
    pub(crate) fn run(&self, line: &str) -> Ran {
        run(self.command(line), "")
    }

    /// Starts `waypost` and leaves it running.
    pub(crate) fn begin(&self, line: &str) -> Engine {
        let said = self.site.base().join("said.txt");
        let file = File::create(&said).unwrap();
        let mut command = self.command(line);
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        Engine { child: command.process_group(0).spawn().unwrap(), said }
    }

    /// The bodies of all events of a kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let log = self.site.waypost("--json log -n 1000000").stdout;
        let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.filter(|entry| entry["kind"] == kind).map(|entry| entry["body"].clone()).collect()
    }

    /// The ids of the tasks of all events of a kind.
    pub(crate) fn tasks(&self, kind: &str) -> Vec<String> {
        let id = |event: &Value| event["id"].as_str().unwrap_or_default().to_owned();
        self.events(kind).iter().map(id).collect()
    }

    /// Asserts that no attempt has failed; else says why each did.
    #[track_caller]
    pub(crate) fn assert_no_retry_was_spent(&self) {
        let told = |event: &Value| format!("{}: {}", event["id"], event["text"]);
        let failed: Vec<String> = self.events("attempt_failed").iter().map(told).collect();
        assert_eq!(failed, Vec::<String>::new(), "nothing of it costs a retry");
    }

    /// Makes the program give up after few requests that fail, so that an outage is soon too long.
    pub(crate) fn give_up_soon(&self) {
        let own = self.site.base().join("home/.config/waypost");
        fs::create_dir_all(&own).unwrap();
        let config = "[agents.claude]\nenvironment = [\"CLAUDE_CODE_MAX_RETRIES\"]\n";
        fs::write(own.join("config.toml"), config).unwrap();
        let codex = self.site.base().join("codex/config.toml");
        let config = fs::read_to_string(&codex).unwrap();
        let retries = "request_max_retries = 1\nstream_max_retries = 1\n";
        fs::write(codex, format!("{config}{retries}")).unwrap();
    }

    /// The names of a task's conversations, as they were recorded one after another.
    pub(crate) fn conversations(&self, task: &str) -> Vec<String> {
        let events = self.events("attempt_engaged");
        let ours = events.iter().filter(|event| event["id"] == task);
        ours.map(|event| event["conversation"]["id"].as_str().unwrap().to_owned()).collect()
    }

    /// What the model was asked about a task.
    pub(crate) fn requests(&self, task: &str) -> Vec<Value> {
        self.requests_of(&marker(task))
    }

    /// What the model was asked in conversations that begin with a marker.
    pub(crate) fn requests_of(&self, marker: &str) -> Vec<Value> {
        let all = self.model.requests().into_iter();
        all.filter(|request| request["conversation"] == marker).collect()
    }

    /// Waits until the model was asked for a turn about a task.
    #[track_caller]
    pub(crate) fn wait_for_turn(&self, task: &str, turn: u64) -> Value {
        let what = format!("turn {turn} of {task}");
        wait_for(&what, || self.requests(task).into_iter().find(|it| it["turn"] == turn))
    }

    /// What waits for a person, as soon as it is so many.
    #[track_caller]
    pub(crate) fn wait_for_inbox(&self, count: usize) -> Vec<Value> {
        wait_for(&format!("{count} questions"), || {
            let listed = self.site.waypost("--json inbox list").stdout;
            let entries: Vec<Value> = serde_json::from_str(&listed).unwrap();
            (entries.len() >= count).then_some(entries)
        })
    }

    #[track_caller]
    pub(crate) fn answer(&self, entry: &Value, text: &str) {
        let id = entry["id"].as_str().unwrap();
        self.site.as_person(&format!("inbox answer {id} '{text}'"));
    }

    pub(crate) fn status(&self, task: &str) -> String {
        let why = self.site.waypost(&format!("--json why {task}")).stdout;
        let why: Value = serde_json::from_str(&why).unwrap();
        why["status"].as_str().unwrap().to_owned()
    }

    /// All processes that were started here and still run.
    pub(crate) fn processes(&self) -> Vec<Process> {
        owned(&self.site.home())
    }

    /// The agent's own processes at a task; its tools have the same program only while they start.
    pub(crate) fn agents(&self, task: &str) -> Vec<u32> {
        self.agents_with(&format!("WAYPOST_TASK={task}"))
    }

    /// The agent's own processes with a variable in their environment.
    pub(crate) fn agents_with(&self, variable: &str) -> Vec<u32> {
        let agent = self.site.programs.agent.canonicalize().unwrap();
        let kind = self.site.agent;
        let is_agent =
            |process: &Process| kind.is_run_by(&process.program, &agent) && process.has(variable);
        self.processes().into_iter().filter(is_agent).map(|process| process.id).collect()
    }

    pub(crate) fn has_process(&self, program: &str) -> bool {
        self.processes().iter().any(|process| process.program.ends_with(program))
    }

    /// Everything that belongs to the run ends at once.
    pub(crate) fn kill_all(&self) {
        wait_for("the end of all", || {
            let processes = self.processes();
            processes.iter().for_each(|process| signal(process.id, "-9"));
            processes.is_empty().then_some(())
        });
    }

    /// Waits until nothing of the run is left.
    #[track_caller]
    pub(crate) fn wait_for_no_process(&self) {
        wait_for("the end of all processes", || self.processes().is_empty().then_some(()));
    }
}

/// A `waypost` that was left running.
pub(crate) struct Engine {
    child: Child,
    said: PathBuf,
}

impl Engine {
    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ran {
        let status = wait_for("the end of the run", || self.child.try_wait().unwrap());
        Ran { code: status.code(), stdout: self.said(), stderr: String::new() }
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// Waits until it is the engine, which takes over what it finds at work.
    #[track_caller]
    pub(crate) fn wait_until_it_leads(&self) {
        let files = format!("/proc/{}/fd", self.child.id());
        wait_for("the new engine", || {
            let files = fs::read_dir(&files).ok()?.flatten();
            let mut files = files.filter_map(|file| fs::read_link(file.path()).ok());
            files.any(|path| path.ends_with("engine.lock")).then_some(())
        });
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Interrupts it and waits until it says what that leads to.
    #[track_caller]
    pub(crate) fn interrupt(&self, answer: &str) {
        signal(self.child.id(), "-INT");
        wait_for(answer, || self.said().contains(answer).then_some(()));
    }
}
