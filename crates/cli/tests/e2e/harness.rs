//! A project with a home of its own, an agent program in it, and the model that it talks to.

use crate::program::{Agent, Programs, Ran, owned, run, signal};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};
use tempfile::TempDir;
use waypost_agent::{endpoint::Rehearsal, programs};
use waypost_sim::{Options, Script, Server};

/// The PIN 2468, as it is kept.
const PIN_KEPT: &str = r#"{"version":1,"salt":"73616c74","rounds":1,"hash":"138d142b18e69629bba7b537b0edc8e6772fb22dd96850f04c3a7414decfc368","wrong":0,"until":0}"#;

/// The feature that every workflow here is about; it is looked for in what the model is shown.
pub(crate) const FEATURE: &str = "Rate limits for the public API";

/// A window of the workflow, below the project's folder.
pub(crate) const STATE: &str = ".develop-workflow/state.json";

/// A model of Codex's list that is offered its patch tool.
const CODEX_MODEL: &str = "gpt-5.5";

/// A folder with a project, a home and a remote; it stays for a look if the test fails.
pub(crate) struct Site {
    pub(crate) agent: Agent,
    pub(crate) programs: Programs,
    folder: Option<TempDir>,
    pub(crate) root: PathBuf,
    /// Given to Claude Code and Gemini CLI on top of what every run has.
    arguments: Vec<String>,
    /// Whether the program finds ours on its path.
    has_ours: bool,
    /// Whether Codex reads the project's own settings, as after its person has said so.
    is_trusted: bool,
}

impl Drop for Site {
    fn drop(&mut self) {
        for process in owned(&self.home()) {
            signal(process.id, "-9");
        }
        if let Some(folder) = self.folder.take()
            && thread::panicking()
        {
            println!("left for a look: {}", folder.keep().display());
        }
    }
}

/// What a program is given so that it talks to the model.
pub(crate) fn rehearsal(program: &str, model: &Model) -> Rehearsal {
    let program = programs::BUILT_IN.program(program).unwrap();
    program.rehearsal.unwrap()(model.server.address())
}

impl Site {
    /// A repository with one commit, its remote, and the hook registered; nothing if the test has
    /// to be skipped.
    pub(crate) fn new(agent: Agent) -> Option<Self> {
        let site = Self::bare(agent)?;
        site.waypost(&format!("init --agent {}", agent.name()));
        Some(site)
    }

    /// The same without the hook.
    pub(crate) fn bare(agent: Agent) -> Option<Self> {
        let programs = Programs::find(agent)?;
        fs::create_dir_all(&programs.scratch).unwrap();
        let folder = TempDir::new_in(&programs.scratch).unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["bin", "home", "codex", "shop", "tmp"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        let root = base.join("shop");
        let folder = Some(folder);
        let arguments = Vec::new();
        let (has_ours, is_trusted) = (true, false);
        let site = Self { agent, programs, folder, root, arguments, has_ours, is_trusted };
        site.git("init -q -b main .");
        site.git("init -q --bare -b main ../remote.git");
        site.git("remote add origin ../remote.git");
        site.git("config branch.main.remote origin");
        site.git("config branch.main.merge refs/heads/main");
        site.write("README.md", "# Shop\n");
        site.write("review.md", "Blocking: 0\n");
        site.write("waypost.toml", "[workflow.gates.re_review_clean]\ncheck = \"true\"\n");
        site.git("add .");
        site.git("commit -q -m first");
        Some(site)
    }

    /// Gives Claude Code or Gemini CLI more arguments from here on.
    pub(crate) fn with_arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(ToString::to_string));
        self
    }

    /// Codex reads the project's own settings from here on.
    pub(crate) fn trusted(mut self) -> Self {
        self.is_trusted = true;
        self
    }

    /// The agent program finds none of ours from here on.
    pub(crate) fn without_our_programs(mut self) -> Self {
        self.has_ours = false;
        self
    }

    /// Takes the feature to IMPLEMENT, with its one checkpoint pending.
    pub(crate) fn enter_implement(&self) {
        self.waypost_all(&[
            &format!("develop start|{FEATURE}"),
            "develop advance --checkpoint cp-1",
            "develop gate pass review_clean_pass --report review.md",
            "develop advance",
        ]);
    }

    /// Takes the feature from IMPLEMENT to PR, where only the last gate is closed.
    pub(crate) fn enter_pr(&self) {
        self.waypost_all(&[
            "develop checkpoint start cp-1",
            "develop checkpoint pass cp-1",
            "develop gate pass architect_verified --report review.md",
            "develop advance",
        ]);
    }

    /// The base of all folders of this site.
    pub(crate) fn base(&self) -> &Path {
        self.root.parent().unwrap()
    }

    /// Every process that was started here has it in its environment.
    pub(crate) fn home(&self) -> PathBuf {
        self.base().join("home")
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.root.join(name).exists()
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[track_caller]
    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.root.join(name), text).unwrap();
    }

    /// Runs `waypost`; anything but success fails the test. A last argument with spaces stands
    /// behind a bar.
    #[track_caller]
    pub(crate) fn waypost(&self, line: &str) -> Ran {
        let ran = run(self.waypost_command(line), "");
        assert_eq!(ran.code, Some(0), "waypost {line}\n{ran}");
        ran
    }

    pub(crate) fn waypost_command(&self, line: &str) -> Command {
        let (words, last) = match line.split_once('|') {
            Some((words, last)) => (words, Some(last)),
            None => (line, None),
        };
        let mut command = self.command(&self.programs.bin.join("waypost"));
        command.args(words.split(' ')).args(last);
        command
    }

    /// Runs `waypost` as a person at a terminal does; anything but success fails the test.
    #[track_caller]
    pub(crate) fn as_person(&self, line: &str) {
        let waypost = self.programs.bin.join("waypost");
        let mut command = self.command(Path::new("script"));
        command.args(["-q", "-e", "-c", &format!("{} {line}", waypost.display()), "/dev/null"]);
        command.env("TERM", "xterm").env("SHELL", "/bin/sh");
        let state = self.home().join(".local/state/waypost");
        fs::create_dir_all(&state).unwrap();
        fs::write(state.join("pin"), PIN_KEPT).unwrap();
        let ran = run(command, "2468\n");
        assert_eq!(ran.code, Some(0), "waypost {line}, by a person\n{ran}");
    }

    #[track_caller]
    pub(crate) fn waypost_all(&self, lines: &[&str]) {
        for line in lines {
            self.waypost(line);
        }
    }

    #[track_caller]
    pub(crate) fn git(&self, line: &str) -> String {
        let mut command = self.command(Path::new("git"));
        command.args(line.split(' '));
        let ran = run(command, "");
        assert_eq!(ran.code, Some(0), "git {line}\n{ran}");
        ran.stdout
    }

    /// What has arrived in the remote: one line per branch.
    pub(crate) fn pushed(&self) -> String {
        self.git("--git-dir ../remote.git for-each-ref --format=%(refname)")
    }

    /// A program in an empty environment but for what it cannot do without.
    fn command(&self, program: &Path) -> Command {
        let (bin, own) = (self.programs.bin.display(), self.base().join("bin"));
        let mut command = Command::new(program);
        command.current_dir(&self.root).env_clear();
        command.env("HOME", self.home()).env("LANG", "C.UTF-8");
        // Codex keeps its tools out of the temporary folder, wherever these tests are.
        command.env("TMPDIR", self.base().join("tmp"));
        let ours = if self.has_ours { format!("{bin}:") } else { String::new() };
        command.env("PATH", format!("{}:{ours}/usr/local/bin:/usr/bin:/bin", own.display()));
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Mina");
            command.env(format!("GIT_{role}_EMAIL"), "mina@example.org");
        }
        command
    }

    /// The agent program itself, for commands that need no model.
    pub(crate) fn agent(&self, arguments: &[&str]) -> Ran {
        let mut command = self.command(&self.programs.agent);
        command.args(arguments).env("CODEX_HOME", self.base().join("codex"));
        run(command, "")
    }

    /// Lets the agent work on a prompt while the model says `turns`, and `sub_turns` to subagents.
    #[track_caller]
    pub(crate) fn work(&self, turns: Value, sub_turns: Value) -> Work {
        let model = Model::start(self, turns, sub_turns);
        let ran = match self.agent {
            Agent::Claude => self.claude(&model, &["go"], ""),
            Agent::Codex => self.codex(&model),
            Agent::Gemini => self.gemini(&model),
        };
        assert_eq!(ran.code, Some(0), "{ran}");
        Work { requests: model.requests(), ran }
    }

    /// Gives Claude Code several prompts in one process, each in its own turn.
    #[track_caller]
    pub(crate) fn converse(&self, turns: Value, prompts: &[&str]) -> Work {
        let model = Model::start(self, turns, json!([]));
        let line = |prompt: &&str| {
            let message = json!({"role": "user", "content": prompt});
            format!("{}\n", json!({"type": "user", "message": message}))
        };
        let input: String = prompts.iter().map(line).collect();
        let ran = self.claude(&model, &["--input-format", "stream-json"], &input);
        assert_eq!(ran.code, Some(0), "{ran}");
        Work { requests: model.requests(), ran }
    }

    fn claude(&self, model: &Model, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.claude_command(model);
        command.args(arguments);
        run(command, input)
    }

    /// Claude Code without a person, up to its prompt.
    pub(crate) fn claude_command(&self, model: &Model) -> Command {
        let mut command = self.claude_in_headless_mode(model);
        // Root may switch permissions off only where it says that it is in a sandbox.
        command.env("IS_SANDBOX", "1").arg("--dangerously-skip-permissions");
        command
    }

    /// The same as its person may start it: with these tools allowed, and asking about everything else.
    pub(crate) fn claude_with_tools(&self, model: &Model, tools: &[&str]) -> Command {
        let mut command = self.claude_in_headless_mode(model);
        command.arg("--allowedTools").arg(tools.join(","));
        command
    }

    fn claude_in_headless_mode(&self, model: &Model) -> Command {
        let mut command = self.command(&self.programs.agent);
        command.envs(rehearsal("claude", model).environment);
        command.args(["-p", "--output-format", "stream-json", "--verbose"]).args(&self.arguments);
        command
    }

    fn gemini(&self, model: &Model) -> Ran {
        let mut command = self.command(&self.programs.agent);
        command.envs(rehearsal("gemini", model).environment);
        command.args(["-p", "go", "--yolo", "--output-format", "stream-json"]);
        command.args(&self.arguments);
        run(command, "")
    }

    /// Points Codex to the model; returns its home.
    pub(crate) fn configure_codex(&self, model: &Model) -> PathBuf {
        let home = self.base().join("codex");
        let config = rehearsal("codex", model).config.unwrap().text;
        let mut config = format!("model = \"{CODEX_MODEL}\"\n{config}");
        if self.is_trusted {
            let root = json!(self.root);
            config = format!("{config}\n[projects.{root}]\ntrust_level = \"trusted\"\n");
        }
        fs::write(home.join("config.toml"), config).unwrap();
        home
    }

    fn codex(&self, model: &Model) -> Ran {
        let mut command = self.command(&self.programs.agent);
        command
            .envs(rehearsal("codex", model).environment)
            .env("CODEX_HOME", self.configure_codex(model));
        command.args(["exec", "--json", "--skip-git-repo-check"]);
        command.arg("--dangerously-bypass-approvals-and-sandbox");
        command.args(["--dangerously-bypass-hook-trust", "go"]);
        run(command, "")
    }
}

/// A scripted model with its log.
pub(crate) struct Model {
    pub(crate) server: Server,
    log: PathBuf,
}

impl Model {
    fn start(site: &Site, turns: Value, sub_turns: Value) -> Self {
        Self::play(site, &json!({"version": 1, "turns": turns, "sub_turns": sub_turns}))
    }

    pub(crate) fn play(site: &Site, script: &Value) -> Self {
        let script = Script::parse(script.to_string().as_bytes()).unwrap();
        let log = site.base().join("requests.jsonl");
        // Every work has a log of its own; an earlier one is done with.
        let _none = fs::remove_file(&log);
        let options = Options { log: Some(log.clone()), ..Options::default() };
        Self { server: Server::start(script, &options).unwrap(), log }
    }

    /// The questions to the model so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may be half written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|request: &Value| request["turn"].is_u64()).collect()
    }
}

/// What an agent did with a prompt.
pub(crate) struct Work {
    pub(crate) ran: Ran,
    /// The questions to the model as they were logged, oldest first.
    pub(crate) requests: Vec<Value>,
}

impl Work {
    /// What tools answered in a conversation (`main` or `sub`), in the order of the calls.
    pub(crate) fn tool_results(&self, conversation: &str) -> Vec<String> {
        let ours = self.requests.iter().filter(|each| each["conversation"] == conversation);
        ours.max_by_key(|each| each["turn"].as_u64()).map(tool_results).unwrap_or_default()
    }

    /// All that the model was shown in its request number `at`.
    #[track_caller]
    pub(crate) fn shown(&self, at: usize) -> String {
        let request = self.requests.get(at);
        let request = request.unwrap_or_else(|| panic!("no request {at}\n{}", self.ran));
        request["body"].to_string()
    }

    /// How the model answered, request by request.
    pub(crate) fn statuses(&self) -> Vec<u64> {
        self.requests.iter().filter_map(|request| request["status"].as_u64()).collect()
    }

    /// How often the model was asked.
    pub(crate) fn asked(&self) -> usize {
        self.requests.len()
    }
}

/// What tools answered before a request, in the order of the calls.
pub(crate) fn tool_results(request: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let contents = list(&request["body"]["messages"]);
    let blocks = contents.iter().flat_map(|message| list(&message["content"]));
    let results = blocks.filter(|block| block["type"] == "tool_result");
    let results = results.map(|block| block["content"].clone());
    let outputs = list(&request["body"]["input"]);
    let outputs = outputs.into_iter().filter(|item| !item["output"].is_null());
    let outputs = outputs.map(|item| item["output"].clone());
    let contents = list(&request["body"]["contents"]);
    let parts = contents.iter().flat_map(|content| list(&content["parts"]));
    let responses = parts.map(|part| part["functionResponse"]["response"].clone());
    let responses = responses.filter(|response| !response.is_null());
    results.chain(outputs).chain(responses).map(|value| plain_text(&value)).collect()
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Asserts that a tool was refused by us, with every one of `words` in what the model was told.
#[track_caller]
pub(crate) fn assert_refused(results: &[String], at: usize, words: &[&str]) {
    let result = results.get(at).unwrap_or_else(|| panic!("no result {at} in {results:#?}"));
    for word in ["waypost"].iter().chain(words) {
        assert!(result.contains(word), "result {at} lacks `{word}`: {result}");
    }
}
