//! A machine in trouble in the middle of a run: the disk is full, has no room for another file, is
//! read-only or fails. A run in the background waits, tells that it does, and goes on by itself; one
//! at a terminal can be ended.
//!
//! Full disks are file systems of their own in a namespace; failing calls are made by strace, which is
//! attached to the engine for a while. In the full form each trouble lasts for half a minute.

use crate::{
    full_disk::{Disk, fill, is_inside, run_inside},
    process::{self, say},
    repository::{Deed, Hands, Repository, Task, Way},
    sample,
    site::{Site, WAYPOST, remove},
    tracer,
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// Far more than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(10);

/// How long a trouble lasts.
fn span() -> Duration {
    Duration::from_secs(if sample::is_full() { 30 } else { 4 })
}

/// So many tasks end on a full disk: more than the journal takes in what its files have.
const AT_WORK: usize = 24;

/// Heartbeats of a run that stands still before that is said: five, the one under way, and one whose second
/// had begun.
const SILENT_BEATS_MAX: usize = 7;

/// The calls by which an engine and its git processes change what is on a disk.
const WRITING: &str =
    "pwrite64,fsync,fdatasync,ftruncate,?rename,?renameat2,?mkdir,mkdirat,?link,linkat,?unlink";

#[test]
fn serial_a_run_outlasts_a_full_disk() {
    run_inside("outage::inside_a_disk_that_fills_up");
}

#[test]
fn serial_what_ends_on_a_full_disk_is_recorded_in_the_space_that_was_kept() {
    run_inside("outage::inside_a_disk_that_is_full_when_tasks_end");
}

#[test]
fn serial_a_run_outlasts_a_disk_without_inodes() {
    run_inside("outage::inside_a_disk_without_inodes");
}

#[test]
fn serial_a_run_outlasts_a_read_only_disk() {
    outlast_failing_calls("EROFS");
}

#[test]
fn serial_a_run_outlasts_a_failing_disk() {
    outlast_failing_calls("EIO");
}

#[test]
#[ignore = "runs where it may mount, started by serial_a_run_outlasts_a_full_disk"]
fn inside_a_disk_that_fills_up() {
    if is_inside() {
        let repository = repository();
        let _disk = put_on_disk(&repository, "size=48m");
        let filler = repository.site.root().join("filler");
        outlast(&repository, || fill(&filler, 0), || remove(&filler));
    }
}

/// Tasks end one after another while the disk has not a byte left.
#[test]
#[ignore = "runs where it may mount, started by serial_what_ends_on_a_full_disk_is_recorded_in_the_space_that_was_kept"]
fn inside_a_disk_that_is_full_when_tasks_end() {
    if !is_inside() {
        return;
    }
    let site = Site::new();
    let (counts, mut tasks) =
        (site.outside("counts"), String::from("# Full\n\n## Phase 1: One\n\n"));
    fs::create_dir(&counts).unwrap();
    for number in 1..=AT_WORK {
        let (at, wait) = (counts.display(), "do sleep 0.05; done");
        writeln!(
            tasks,
            "- [ ] T1.{number}: Wait\n  - depends: none\n  - run: `touch {at}/at.{number}; until test -e {at}/go.{number}; {wait}`"
        )
        .unwrap();
    }
    fs::write(site.path("TASKS.md"), tasks).unwrap();
    fs::write(site.path("waypost.toml"), "[worktree]\nmin_free_mb = 1\n").unwrap();
    site.save();
    let _disk = Disk::over(site.root(), "size=48m");
    site.put_back();
    let slots = AT_WORK.to_string();
    site.waypost(&["run", "--detach", "--isolation", "none", "--max-parallel", &slots])
        .expect_code(0);
    let is_there = |name: &str, number| counts.join(format!("{name}.{number}")).exists();
    wait_for("all tasks at work", || (1..=AT_WORK).all(|number| is_there("at", number)));
    let (kept, filler) = (site.path(".git/waypost/journal.reserve"), site.root().join("filler"));
    assert!(kept.exists(), "space is kept");
    fill(&filler, 0);
    for number in 1..=AT_WORK {
        fs::write(counts.join(format!("go.{number}")), "").unwrap();
        let is_recorded = || {
            let log = site.waypost(&["--json", "log", &format!("T1.{number}")]);
            log.stdout.contains("task_completed")
        };
        wait_for("the record of an end", is_recorded);
    }
    assert!(!kept.exists(), "the space that was kept is used");
    remove(&filler);
    site.waypost(&["run", "status", "--wait"]).expect_code(0);
}

#[test]
#[ignore = "runs where it may mount, started by serial_a_run_outlasts_a_disk_without_inodes"]
fn inside_a_disk_without_inodes() {
    if is_inside() {
        let repository = repository();
        let _disk = put_on_disk(&repository, "size=64m,nr_inodes=4096");
        let filler = repository.site.root().join("filler");
        let strike = || {
            fs::create_dir(&filler).unwrap();
            let mut names = (0..).map(|number| filler.join(format!("{number}")));
            while names.next().is_some_and(|name| fs::File::create(name).is_ok()) {}
        };
        outlast(&repository, strike, || remove(&filler));
    }
}

fn outlast_failing_calls(error: &str) {
    if let Some(why) = tracer::obstacle() {
        return say(&format!("SKIPPED a run while calls fail with {error}: {why}"));
    }
    let repository = repository();
    let mut tracing = None;
    let failing = Mutex::new(&mut tracing);
    let strike = || **failing.lock().unwrap() = Some(Tracing::fail(engine_of(&repository), error));
    let relieve = || drop(failing.lock().unwrap().take());
    outlast(&repository, strike, relieve);
}

/// Tasks that follow each other, so that most of them are left when the trouble begins.
fn repository() -> Repository {
    let task = |number: usize| Task {
        id: format!("T1.{number}"),
        phase: 1,
        deed: Deed::Proves,
        depends: (number > 1).then(|| format!("T1.{}", number - 1)),
    };
    Repository::new((1..=12).map(task).collect(), Way::Attempts, Hands::Commands)
}

/// Puts everything that a run touches on a disk of its own.
fn put_on_disk(repository: &Repository, options: &str) -> Disk {
    repository.site.save();
    let disk = Disk::over(repository.site.root(), options);
    repository.site.put_back();
    disk
}

/// A run in the background, and a trouble that comes and goes.
fn outlast(repository: &Repository, strike: impl FnOnce(), relieve: impl FnOnce()) {
    let site = &repository.site;
    let receiver = Receiver::listen();
    configure(repository, &receiver);
    site.waypost(&["run", "--detach", "--isolation", "task"]).expect_code(0);
    wait_for("two tasks that are done", || finished(repository) >= 2);
    strike();
    let (began, done) = (Instant::now(), finished(repository));
    wait_for("the notice that the run stands still", || receiver.has("the run stands still"));
    wait_for("the end of the trouble", || began.elapsed() >= span());
    relieve();
    let ended = site.waypost(&["run", "status", "--wait"]);
    let log = fs::read_to_string(site.path(".git/waypost/run.log")).unwrap_or_default();
    assert_eq!(ended.code, Some(0), "{ended:#?}\n{log}\n{:#?}", receiver.all());
    assert!(done < repository.tasks.len(), "the trouble came too late");
    wait_for("the notice that it goes on", || receiver.has("the run goes on"));
    assert!(receiver.has("GET /beat"), "{:#?}", receiver.all());
    repository.assert_whole();
}

/// What a person has set up: notices after a second, and a heartbeat.
fn configure(repository: &Repository, receiver: &Receiver) {
    let folder = repository.site.home().join(".config/waypost");
    fs::create_dir_all(&folder).unwrap();
    let port = receiver.port;
    let text = format!(
        "[worktree]\nmin_free_mb = 1\n\n[notify]\nstalled_after_seconds = 1\n\
         heartbeat = \"http://127.0.0.1:{port}/beat\"\nheartbeat_seconds = 1\n\n\
         [[notify.webhooks]]\nurl = \"http://127.0.0.1:{port}/notices\"\n"
    );
    fs::write(folder.join("config.toml"), text).unwrap();
}

/// How many tasks have done their work; that is counted beside the disk.
fn finished(repository: &Repository) -> usize {
    let counts = fs::read_dir(repository.site.outside("counts")).unwrap();
    let is_finished =
        |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("finished.");
    counts.flatten().filter(is_finished).count()
}

/// The process that is the engine.
fn engine_of(repository: &Repository) -> u32 {
    let lease = fs::read_to_string(repository.site.path(".git/waypost/engine.lock")).unwrap();
    let owner: serde_json::Value = serde_json::from_str(lease.lines().next().unwrap()).unwrap();
    owner["pid"].as_u64().unwrap().try_into().unwrap()
}

#[track_caller]
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} does not come");
        thread::park_timeout(LOOK);
    }
}

/// strace, attached to a process and all that it starts.
struct Tracing(Child);

impl Tracing {
    /// Everything that writes fails with `error`.
    fn fail(process: u32, error: &str) -> Self {
        Self::attach(process, &format!("{WRITING}:error={error}"))
    }

    fn attach(process: u32, inject: &str) -> Self {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "signal=none"]);
        strace.args(["-e", &format!("inject={inject}"), "-p", &process.to_string()]);
        let tracing = Self(strace.stdin(Stdio::null()).spawn().unwrap());
        wait_for("a traced process", || {
            let status = fs::read_to_string(format!("/proc/{process}/status"));
            status
                .unwrap_or_default()
                .lines()
                .any(|line| line.strip_prefix("TracerPid:").is_some_and(|pid| pid.trim() != "0"))
        });
        tracing
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        // It lets go of what it traces.
        signal(self.0.id(), Signal::TERM);
        let _ended = self.0.wait();
    }
}

fn signal(process: u32, signal: Signal) {
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    let _gone = kill_process(process, signal);
}

/// Hears notices and heartbeats.
struct Receiver {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Receiver {
    fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream);
                let (mut head, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                        break;
                    }
                    let lower = line.to_lowercase();
                    if let Some(value) = lower.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap_or(0);
                    }
                    head.push_str(&line);
                }
                let mut body = vec![0; length];
                let _cut = reader.read_exact(&mut body);
                let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                let _gone = reader.get_mut().write_all(answer.as_bytes());
                told.lock().unwrap().push(format!("{head}{}", String::from_utf8_lossy(&body)));
            }
        });
        Self { port, heard }
    }

    fn all(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn has(&self, text: &str) -> bool {
        self.count(text) > 0
    }

    fn count(&self, text: &str) -> usize {
        self.heard.lock().unwrap().iter().filter(|it| it.contains(text)).count()
    }
}

/// A run at a terminal, with what it says.
struct Foreground {
    process: Child,
    said: Arc<Mutex<String>>,
}

impl Foreground {
    fn start(repository: &Repository) -> Self {
        let mut command = repository.site.command(WAYPOST);
        command.args(["run", "--resume", "--isolation", "task"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (said, stderr) = (Arc::new(Mutex::new(String::new())), process.stderr.take().unwrap());
        let heard = Arc::clone(&said);
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                heard.lock().unwrap().extend([line.as_str(), "\n"]);
            }
        });
        wait_for("two tasks that are done", || finished(repository) >= 2);
        Self { process, said }
    }

    fn has_said(&self, text: &str) -> bool {
        self.said.lock().unwrap().contains(text)
    }

    /// Ctrl-C, twice.
    fn interrupt(&mut self) -> Option<i32> {
        for _ in 0..2 {
            signal(self.process.id(), Signal::INT);
            thread::park_timeout(LOOK);
        }
        let ended = process::wait(&mut self.process, PATIENCE);
        ended.unwrap_or_else(|| panic!("it hangs: {}", self.said.lock().unwrap())).code()
    }
}

/// What is taken up once more comes to its end.
fn assert_goes_on(repository: &Repository) {
    let site = &repository.site;
    site.waypost(&["run", "--resume", "--isolation", "task"]).expect_code(0);
    repository.assert_whole();
}

#[test]
fn serial_a_failing_disk_is_said_and_ctrl_c_ends_the_run() {
    if let Some(why) = tracer::obstacle() {
        return say(&format!("SKIPPED a run on a failing disk: {why}"));
    }
    let repository = repository();
    let mut run = Foreground::start(&repository);
    let tracing = Tracing::fail(run.process.id(), "EIO");
    wait_for("a word about it", || run.has_said("the run waits: the disk fails"));
    assert_eq!(run.interrupt(), Some(130));
    drop(tracing);
    assert_goes_on(&repository);
}

/// It is said after five of the run's own seconds, in each of which it sends a heartbeat.
#[test]
fn an_engine_that_hangs_is_said_and_ctrl_c_ends_the_run() {
    let repository = repository();
    let receiver = Receiver::listen();
    configure(&repository, &receiver);
    let mut run = Foreground::start(&repository);
    // It waits for its turn as it would for a disk that does not answer.
    let turn = fs::File::open(repository.site.path(".git/waypost/journal.lock")).unwrap();
    turn.lock().unwrap();
    let before = receiver.count("GET /beat");
    wait_for("a word about it", || run.has_said("the engine does not move"));
    let beats = receiver.count("GET /beat") - before;
    assert!(beats <= SILENT_BEATS_MAX, "{beats}: {:#?}", receiver.all());
    assert_eq!(run.interrupt(), Some(130));
    drop(turn);
    assert_goes_on(&repository);
}

#[test]
fn the_next_engine_tells_that_the_last_one_died() {
    let repository = repository();
    let receiver = Receiver::listen();
    configure(&repository, &receiver);
    let mut run = Foreground::start(&repository);
    run.process.kill().unwrap();
    run.process.wait().unwrap();
    assert_goes_on(&repository);
    wait_for("the notice", || receiver.has("engine_lost"));
    assert_eq!(receiver.count("engine_lost"), 1, "{:#?}", receiver.all());
}
