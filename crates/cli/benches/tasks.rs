//! What tasks of the server cost that are only there: `task list`, `task show`, `status` and the start of a host
//! among 100,000 of them, in all states, beside the same among 1,000 and beside what they may cost. And what agents at work cost: 1,000 scripted ones, each of
//! which says ten lines a second, how long it takes until what one says is recorded, and their memory.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. `WAYPOST_BENCH_PROGRAMS` names the
//! folder of the programs as `cargo xtask dist` builds them; `WAYPOST_BENCH_QUICK=1` makes it small enough to see
//! that it works. `-- live` measures only agents at work.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

use serde_json::json;
use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use waypost_engine::{
    MachineCommand, Project,
    served::{command_for, fresh_task_id},
};
use waypost_model::{
    actor::Actor,
    document::ServerTaskId,
    task::{
        AttemptPlan, CheckpointReason, CheckpointTaken, Command as TaskCommand, QuestionCategory,
        SignalLimits, SpokenQuestion, SpokenSignal, TaskFields, TaskShape, TaskSignal,
        TaskWorkspace, WorkspaceKind,
    },
};

/// How many are made in one transaction.
const BATCH: usize = 1_000;

/// What one look at a page of tasks, or at one of them, may cost beyond what any process does.
const QUERY_MS: f64 = 10.0;

/// What the start of a host may cost.
const START_MS: f64 = 2_000.0;

/// How long a host may take to be there.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() {
    // Only `cargo bench` says so; a test runner that merely lists what is there gets nothing.
    if !env::args().any(|word| word == "--bench") {
        return;
    }
    let is_quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    if !env::args().any(|word| word == "live") {
        listed(is_quick);
    }
    live(if is_quick { Talk { agents: 4, lines: 10, spread_s: 1 } } else { Talk::WHOLE });
}

/// What tasks cost that are only there.
fn listed(is_quick: bool) {
    let (many, few, rounds) = if is_quick { (2_000, 1_000, 3) } else { (100_000, 1_000, 15) };
    let (large, small) = (Site::with(many), Site::with(few));
    for words in [
        vec!["task", "list", "--state", "pending", "--limit", "50"],
        vec!["task", "list", "--state", "completed", "--limit", "50"],
        vec!["task", "show", large.some.as_str()],
        vec!["status"],
    ] {
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..rounds {
            times[0].push(timed(|| large.must(&words)));
            let here: Vec<&str> = words.iter().map(|it| small.named(it, &large)).collect();
            times[1].push(timed(|| small.must(&here)));
            times[2].push(timed(|| assert!(Command::new("/bin/true").status().unwrap().success())));
        }
        let [ours, few_ms, nothing] = times.map(median);
        let what = if words[1..].is_empty() { "status".to_owned() } else { words[..2].join(" ") };
        let state = words.iter().skip_while(|it| **it != "--state").nth(1);
        let what =
            format!("waypost {what}{}", state.map(|it| format!(" {it}")).unwrap_or_default());
        report(&format!("{what}, {many} tasks beside {few}"), (ours, few_ms), None);
        let beyond = (ours - nothing).max(0.0);
        report(
            &format!("{what}, {many} tasks, beyond /bin/true"),
            (beyond, QUERY_MS),
            Some("<= 1"),
        );
    }
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(timed(|| large.serve()));
        other.push(timed(|| small.serve()));
    }
    let (ours, other) = (median(ours), median(other));
    let what = "waypost serve, until it has looked at all tasks";
    report(&format!("{what}, {many} beside {few}"), (ours, other), None);
    report(&format!("{what}, {many}"), (ours, START_MS), Some("<= 1"));
}

/// Agents at work.
#[derive(Clone, Copy)]
struct Talk {
    agents: usize,
    /// How many each says, ten in a second.
    lines: usize,
    /// Over how many seconds their beginnings are spread, so that they do not all end at once.
    spread_s: u32,
}

impl Talk {
    const WHOLE: Self = Self { agents: 1_000, lines: 300, spread_s: 30 };

    /// How long all of it may take: their starts, what they say, and as much again.
    fn patience(self) -> Duration {
        let says = u64::try_from(self.lines).unwrap_or(0) / 10 + u64::from(self.spread_s);
        PATIENCE + Duration::from_secs(2 * says) + Duration::from_secs(self.agents as u64)
    }
}

/// Lets agents talk. What each says last ends its task; when it said so stands in a file, and when that was
/// recorded in the journal.
fn live(talk: Talk) {
    let site = Site::empty();
    let host = site.start_agents(talk);
    let start = Instant::now();
    let spaces = site.folder.path().join(".waypost/workspaces");
    let count = |name: &str| {
        let all = fs::read_dir(&spaces).into_iter().flatten().flatten();
        all.filter(|it| it.path().join(name).exists()).count()
    };
    let wait = |name: &str| {
        while count(name) < talk.agents {
            assert!(start.elapsed() < talk.patience(), "{} of {} {name}", count(name), talk.agents);
            thread::sleep(Duration::from_millis(200));
        }
    };
    wait("at");
    eprintln!("{} agents are there after {:.1} s", talk.agents, start.elapsed().as_secs_f64());
    // Each reads a line. It stays open for those who have not begun to.
    let mut gate = fs::File::options().write(true).open(site.gate()).unwrap();
    gate.write_all(&vec![b'\n'; talk.agents]).unwrap();
    // All of them talk by now.
    thread::sleep(Duration::from_secs(u64::from(talk.spread_s)));
    let (own, others) = site.memory(host.0.id());
    let busy = processor_time(host.0.id());
    let began = Instant::now();
    wait("said");
    let share = (processor_time(host.0.id()) - busy) / began.elapsed().as_secs_f64();
    let mut lags = site.lags(talk, start);
    lags.sort_by(f64::total_cmp);
    let name = |what: &str| format!("{what}, {} agents at 10 lines/s", talk.agents);
    let at = |share: f64| lags[((lags.len() - 1) as f64 * share).round() as usize];
    print_one(&name("until what was said is recorded, median"), at(0.5), "ms");
    print_one(&name("until what was said is recorded, p99"), at(0.99), "ms");
    print_one(&name("memory of the host"), own, "KB");
    print_one(&name("memory of an agent with its keeper"), others / talk.agents as f64, "KB");
    print_one(&name("processors that the host takes"), share, "processors");
}

/// A server that is ended with its benchmark.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// A project with so many tasks that wait.
struct Site {
    folder: TempDir,
    home: TempDir,
    /// One of them, which is completed.
    some: ServerTaskId,
    /// A draft, for which others wait.
    draft: ServerTaskId,
}

impl Site {
    fn empty() -> Self {
        // `/tmp` is often no disk, and what agents behind the wall may write beside their work tree.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let home = tempfile::tempdir().unwrap();
        // Tasks are worked on in work trees, which begin at a commit.
        git(folder.path(), &["init", "--quiet", "--initial-branch=main"]);
        git(folder.path(), &["commit", "--quiet", "--allow-empty", "--message=begin"]);
        Self { folder, home, some: fresh_task_id(), draft: fresh_task_id() }
    }

    /// What agents wait at before they talk.
    fn gate(&self) -> PathBuf {
        self.home.path().join("gate")
    }

    /// A server at work on so many tasks, whose agents wait at the gate before they talk.
    fn start_agents(&self, talk: Talk) -> Server {
        // A shell that looked for a file again and again, a thousand times, would take both processors.
        let gate = self.gate();
        assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
        let spread = 65_536 / talk.spread_s;
        let mut steps = vec![
            json!({"run": format!("touch at; read -r word < {}", gate.display())}),
            json!({"run": format!("sleep $(od -An -N2 -tu2 /dev/urandom | awk '{{print $1/{spread}}}')")}),
        ];
        let line = "A line of what an agent says while it works, as long as such lines are.";
        for _ in 0..talk.lines {
            steps.extend([json!({"say": line}), json!({"wait_ms": 100})]);
        }
        steps.push(json!({"run": "date +%s%3N > said"}));
        steps.push(json!({"say": "=== CUSTOM TASK COMPLETE ==="}));
        let script = self.home.path().join("script.json");
        let text = json!({"version": 1, "default": [{"steps": steps}]}).to_string();
        fs::write(&script, text).unwrap();
        let words = [
            waypost().to_str().unwrap(),
            "sim",
            "agent",
            "--speak",
            "claude",
            "--script",
            script.to_str().unwrap(),
            "--sessions",
            self.home.path().join("sessions").to_str().unwrap(),
            "--",
        ]
        .map(str::to_owned);
        let config = format!(
            "[run]\nagent = \"smith\"\nmax_agents = {}\n\n[agents.smith]\nadapter = \"claude\"\ncommand = {}\n",
            talk.agents,
            json!(words)
        );
        let folder = self.home.path().join("waypost");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), config).unwrap();
        for task in 0..talk.agents {
            let title = format!("Task {task}");
            let about = ["--type", "custom", "--description", "Talk.", "--submit"];
            self.must(&[&["task", "new", title.as_str()], about.as_slice()].concat());
        }
        Server(self.waypost(&["serve"]).spawn().unwrap())
    }

    /// The memory of the host, and of all agents and keepers; what they share counts as its share.
    fn memory(&self, host: u32) -> (f64, f64) {
        let here = self.home.path().display().to_string();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
        let is_ours = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            *pid != host && String::from_utf8_lossy(&environment).contains(&here)
        };
        (kilobytes(host), pids.filter(is_ours).map(kilobytes).sum())
    }

    /// How long it took for each agent, in milliseconds, from its last word to the journal.
    fn lags(&self, talk: Talk, start: Instant) -> Vec<f64> {
        let journal = self.folder.path().join(".git/waypost/journal.db");
        loop {
            let db = rusqlite::Connection::open(&journal).unwrap();
            let wanted = "SELECT stream.name, event.at FROM event JOIN stream ON stream.id = event.stream \
                          WHERE event.kind = 'heard'";
            let mut statement = db.prepare(wanted).unwrap();
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            let heard: Vec<(String, i64)> = rows.map(Result::unwrap).collect();
            if heard.len() >= talk.agents {
                return heard.iter().map(|(stream, at)| self.lag(stream, *at)).collect();
            }
            assert!(start.elapsed() < talk.patience(), "{} of {}", heard.len(), talk.agents);
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn lag(&self, stream: &str, heard_at: i64) -> f64 {
        let id = stream.strip_prefix("task:").unwrap();
        let said = self.folder.path().join(".waypost/workspaces").join(id).join("said");
        let said: i64 = fs::read_to_string(said).unwrap().trim().parse().unwrap();
        (heard_at - said) as f64
    }

    fn with(count: usize) -> Self {
        let site = Self::empty();
        site.must(&["task", "new", "first"]);
        let mut project = Project::open(site.folder.path(), Actor::Waypost).unwrap();
        let start = Instant::now();
        for batch in 0..count / BATCH {
            let commands: Vec<_> = (0..BATCH).flat_map(|at| site.task(batch, at)).collect();
            project.command(&commands).unwrap();
        }
        eprintln!("{count} tasks are there after {:.1} s", start.elapsed().as_secs_f64());
        site
    }

    /// What has happened to one of many tasks. Of a thousand, seven hundred are completed and a hundred and
    /// fifty have failed; a hundred are drafts; forty-nine wait for a draft, and one for an answer.
    fn task(&self, batch: usize, at: usize) -> Vec<MachineCommand> {
        let id = match (batch, at) {
            (0, 0) => self.some.clone(),
            (0, 999) => self.draft.clone(),
            _ => fresh_task_id(),
        };
        let dependencies = match at {
            850..899 => vec![self.draft.clone()],
            _ => Vec::new(),
        };
        let fields = TaskFields {
            title: format!("Task {at} of batch {batch}"),
            task_type: "custom".to_owned(),
            description: "Something that has to be done.".to_owned(),
            dependencies,
            ..TaskFields::default()
        };
        let mut commands = vec![TaskCommand::Create { id: id.clone(), fields, retry_of: None }];
        if at < 900 {
            commands.push(TaskCommand::Submit { shape: TaskShape::default() });
        }
        let hear = |signal| TaskCommand::Hear {
            attempt: 1,
            signals: vec![SpokenSignal { offset: 0, signal, cut: Vec::new() }],
            limits: SignalLimits::default(),
        };
        if at < 850 || at == 899 {
            commands.extend(self.begun(&id));
        }
        match at {
            0..700 => commands.push(hear(TaskSignal::CustomComplete {})),
            700..850 => commands.push(TaskCommand::Fail { why: "it did not work out".to_owned() }),
            899 => commands.extend([hear(question()), kept()]),
            _ => {}
        }
        commands.into_iter().map(|command| command_for(&id, command)).collect()
    }

    /// A task is given to an agent, whose process is over by now.
    fn begun(&self, id: &ServerTaskId) -> [TaskCommand; 2] {
        let folder = self.folder.path().join(".waypost/workspaces").join(id.as_str());
        let (folder, kind) = (folder.display().to_string(), WorkspaceKind::Tree);
        let workspace = TaskWorkspace { kind, folder, base: None };
        let plan = AttemptPlan {
            number: 1,
            agent: "claude".to_owned(),
            conversation: None,
            values: BTreeSet::new(),
            from: None,
        };
        let met = Vec::new();
        [TaskCommand::Assign { plan, workspace, met }, TaskCommand::Launch { attempt: 1 }]
    }

    /// This word, or the id of a task of the same age here.
    fn named<'a>(&'a self, word: &'a str, other: &Self) -> &'a str {
        if word == other.some.as_str() { self.some.as_str() } else { word }
    }

    fn waypost(&self, words: &[&str]) -> Command {
        let mut command = Command::new(waypost());
        command.args(words).current_dir(self.folder.path());
        command.env("XDG_STATE_HOME", self.home.path()).env("XDG_CONFIG_HOME", self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn must(&self, words: &[&str]) {
        assert!(self.waypost(words).status().unwrap().success(), "waypost {words:?}");
    }

    /// Starts a host and ends it once it says that it has looked at all tasks.
    fn serve(&self) {
        let mut command = self.waypost(&["serve", "--json"]);
        let mut host = Server(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(host.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("ready"), "the host is not there: {line}");
    }
}

/// A question that has to be answered by a person.
fn question() -> TaskSignal {
    TaskSignal::Question(SpokenQuestion {
        category: QuestionCategory::Business,
        question: "Which of the two?".to_owned(),
        options: Vec::new(),
        default: None,
        is_required: true,
    })
}

/// The checkpoint that was taken when it was asked, so that none is due when a host begins.
fn kept() -> TaskCommand {
    let (reason, commit) = (CheckpointReason::Question, None);
    let taken = CheckpointTaken {
        reason,
        commit,
        deliverables: Vec::new(),
        said_to: 0,
        note: String::new(),
    };
    TaskCommand::Checkpoint { taken }
}

fn git(folder: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]);
    assert!(command.args(words).status().unwrap().success(), "git {words:?}");
}

/// Where our program is: as it was built for this, or the one beside this benchmark.
fn waypost() -> PathBuf {
    let folder = env::var_os("WAYPOST_BENCH_PROGRAMS").map(PathBuf::from);
    let built = PathBuf::from(env!("CARGO_BIN_EXE_waypost"));
    folder.map_or(built, |folder| folder.join("waypost"))
}

/// The memory of a process; what it shares counts as its share.
fn kilobytes(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0)
}

/// The processor time of a process so far, in seconds.
fn processor_time(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: f64 = fields.skip(11).take(2).filter_map(|it| it.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn print_one(name: &str, ours: f64, unit: &str) {
    eprintln!("{name}: {ours:.1} {unit}");
    println!("{}", json!({"name": name, "ours": ours, "unit": unit}));
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

fn report(name: &str, (ours, other): (f64, f64), target: Option<&str>) {
    let ratio = ours / other;
    eprintln!("{name}: {ours:.1} ms, {other:.1} ms, {ratio:.2}");
    let line = json!({"name": name, "ours": ours, "other": other, "unit": "ms", "ratio": ratio, "target": target});
    println!("{line}");
}
