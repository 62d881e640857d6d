//! A scratch project with everything that an agent could want to reach, and the call behind the
//! wall.

use crate::{
    picture::{Picture, Place},
    required, server,
};
use serde_json::json;
use std::{
    collections::BTreeSet,
    env, fs,
    io::{Read as _, Seek as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixListener, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Stands in every credential; must never be seen inside.
pub(crate) const CANARY: &str = "CANARY-5f1e8c";

/// No command of the lists takes as long, even on a busy machine.
const CALL_LIMIT: Duration = Duration::from_secs(20);

/// How far the feature has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    WritesClosed,
    CommitsClosed,
    PushesClosed,
    Open,
}

impl Phase {
    pub(crate) fn writes(self) -> bool {
        self != Self::WritesClosed
    }

    pub(crate) fn commits(self) -> bool {
        matches!(self, Self::PushesClosed | Self::Open)
    }
}

/// How the wall is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wall {
    /// Around a whole agent, whose shell calls are wrapped once more within it.
    A,
    B,
    C,
    /// Nowhere: the hook alone judges.
    None,
}

impl Wall {
    pub(crate) fn has_namespaces(self) -> bool {
        matches!(self, Self::A | Self::B)
    }

    /// As a call inside is told.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::None => "",
        }
    }
}

/// Who makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Own,
    /// Without any rights of root's, where the tests have those.
    Other,
}

/// An agent program that runs its one shell call as agent programs do, which are told to wrap them.
const AGENT: &str = "#!/bin/sh\nexec \"${0%/*}/waypost-shell\" \"$1\"\n";

pub(crate) struct Site {
    folder: TempDir,
    pub(crate) wall: Wall,
    pub(crate) phase: Phase,
    pub(crate) http: String,
    pub(crate) base: String,
    pub(crate) child: String,
    /// A process outside, which must live.
    canary: Child,
    /// Whether an abstract socket outside, or one of a file, has heard anything.
    pub(crate) abstract_heard: Arc<AtomicBool>,
    pub(crate) path_heard: Arc<AtomicBool>,
    agent: TempDir,
    user: User,
    /// What the user's own folder had when all was ready.
    kept: BTreeSet<PathBuf>,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _gone = self.canary.kill();
        let _gone = self.canary.wait();
    }
}

/// The programs of this build.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_waypost")).parent().unwrap().to_owned()
}

impl Site {
    /// A project in this phase, behind this wall; none where the machine cannot build that.
    pub(crate) fn new(wall: Wall, phase: Phase) -> Option<Self> {
        Self::new_with(wall, phase, |_| {})
    }

    /// The same with more files in it.
    pub(crate) fn new_with(wall: Wall, phase: Phase, furnish: impl Fn(&Self)) -> Option<Self> {
        // `/tmp` is writable inside by design, so what is outside stands elsewhere.
        let folder = tempfile::Builder::new().prefix("waypost-wall-").tempdir_in("/var/tmp");
        let folder = folder.unwrap();
        let path = folder.path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["home", "outside", "served", "project", "programs"] {
            fs::create_dir(path.join(name)).unwrap();
        }
        // Of its own, because what is done to them must not be done to those of the build.
        for name in ["waypost", "waypost-hook", "waypost-shell"] {
            // Where this one is missing, the hook knows that there is no wall.
            if wall != Wall::None || name != "waypost-shell" {
                fs::copy(programs().join(name), path.join("programs").join(name)).unwrap();
            }
        }
        let agent = path.join("programs/claude");
        fs::write(&agent, AGENT).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(path.join("outside/canary"), "alive").unwrap();
        credentials(&path.join("home"));
        let http = server::serve(&path.join("served"), "user", CANARY);
        let canary = Command::new("sleep")
            .arg0("waypost-canary")
            .arg("100000")
            .env("GITHUB_TOKEN", CANARY)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        // One that all sites share and that stays: calls that run at the same time hide it.
        let agents = Path::new("/tmp/ssh-waypost-tests");
        fs::create_dir_all(agents).unwrap();
        let agent = tempfile::tempdir_in(agents).unwrap();
        let mut site = Self {
            wall,
            phase,
            http,
            base: String::new(),
            child: String::new(),
            canary,
            abstract_heard: Arc::new(AtomicBool::new(false)),
            path_heard: Arc::new(AtomicBool::new(false)),
            agent,
            user: User::Own,
            kept: BTreeSet::new(),
            folder,
        };
        site.listen();
        site.repository(furnish);
        site.bring_to(phase);
        site.keep_secrets();
        if wall == Wall::C {
            site.hide_bubblewrap();
        }
        if wall == Wall::None {
            return Some(site);
        }
        let found = site.level();
        if found != wall.word() {
            let needed = if wall == Wall::A { "b" } else { wall.word() };
            required::skip(&[needed], &found);
            return None;
        }
        Some(site)
    }

    /// What a call is told of its level.
    pub(crate) fn level(&self) -> String {
        let found = self.call("echo $WAYPOST_WALL");
        String::from_utf8_lossy(&found.stdout).trim().to_owned()
    }

    /// The same for a user without any rights of root's; none where the tests cannot become one.
    pub(crate) fn of(user: User, wall: Wall, phase: Phase) -> Option<Self> {
        if user == User::Other && !rustix::process::getuid().is_root() {
            println!("skipped: only root can be another user");
            return None;
        }
        let mut site = Self::new(wall, phase)?;
        site.user = user;
        site.hand_over();
        Some(site)
    }

    /// Gives everything to the one who makes the calls.
    fn hand_over(&self) {
        if self.user == User::Other {
            let owned = Command::new("chown").args(["-R", "1000:1000"]).arg(self.path("")).status();
            assert!(owned.unwrap().success());
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn canary_lives(&mut self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.canary.id()));
        let is_stopped = status.is_ok_and(|text| text.contains("T (stopped)"));
        matches!(self.canary.try_wait(), Ok(None)) && !is_stopped
    }

    pub(crate) fn picture(&self) -> Picture {
        let has_modes = self.wall != Wall::C;
        Place { site: self.folder.path(), kept: &self.kept, has_modes }.picture()
    }

    fn listen(&self) {
        let path = self.agent.path().join("agent.1");
        let on_path = UnixListener::bind(&path).unwrap();
        hear(on_path, Arc::clone(&self.path_heard));
        use std::os::linux::net::SocketAddrExt as _;
        let name = std::os::unix::net::SocketAddr::from_abstract_name(self.socket()).unwrap();
        hear(UnixListener::bind_addr(&name).unwrap(), Arc::clone(&self.abstract_heard));
    }

    fn socket(&self) -> String {
        self.folder.path().file_name().unwrap().to_str().unwrap().to_owned()
    }

    fn repository(&mut self, furnish: impl Fn(&Self)) {
        let root = self.root();
        self.git(&root, &["init", "-q", "-b", "main", "."]);
        for (name, text) in [
            ("a.txt", "a\n"),
            ("src/lib.txt", "lib\n"),
            ("docs/design.md", "design\n"),
            ("review.md", "Blocking: 0\n"),
            (".claude/settings.json", "{\"hooks\": {}}\n"),
            (".claude/memory/note.md", "note\n"),
            (".gitignore", "target/\nnode_modules/\n.develop-workflow/\n"),
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let strict = self.phase == Phase::WritesClosed;
        let text = format!(
            "[workflow]\nstrict = {strict}\n\n[workflow.gates.re_review_clean]\ncheck = \"true\"\n"
        );
        fs::write(root.join("waypost.toml"), text).unwrap();
        furnish(self);
        self.git(&root, &["add", "-A"]);
        self.git(&root, &["commit", "-qm", "base"]);
        self.base = self.git(&root, &["rev-parse", "HEAD"]);
        self.git(&root, &["branch", "side"]);
        fs::write(root.join("src/lib.txt"), "lib two\n").unwrap();
        self.git(&root, &["commit", "-qam", "child"]);
        self.child = self.git(&root, &["rev-parse", "HEAD"]);
        for name in ["remote.git", "served/repository.git"] {
            let bare = self.path(name);
            self.git(&root, &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
            self.git(&bare, &["config", "http.receivepack", "true"]);
        }
        self.git(&root, &["remote", "add", "origin", self.path("remote.git").to_str().unwrap()]);
        // As many have it: the password stands in the address. By Landlock it could not be taken out,
        // and git would not run at all.
        let address = match self.wall {
            Wall::C => self.http.clone(),
            _ => self.http.replace("http://", &format!("http://user:{CANARY}@")),
        };
        self.git(&root, &["remote", "add", "web", &address]);
    }

    fn bring_to(&self, phase: Phase) {
        self.waypost(&["develop", "start", "feature"]);
        if phase == Phase::WritesClosed {
            return;
        }
        self.waypost(&["develop", "advance", "--checkpoint", "cp-1"]);
        self.waypost(&["develop", "gate", "pass", "review_clean_pass", "--report", "review.md"]);
        self.waypost(&["develop", "advance"]);
        if phase == Phase::PushesClosed {
            return;
        }
        self.waypost(&["develop", "checkpoint", "start", "cp-1"]);
        self.waypost(&["develop", "checkpoint", "pass", "cp-1"]);
        self.waypost(&["develop", "gate", "pass", "architect_verified", "--report", "review.md"]);
        self.waypost(&["develop", "advance"]);
        if phase == Phase::Open {
            self.waypost(&["develop", "gate", "pass", "re_review_clean"]);
        }
    }

    /// What a person's own folder of Waypost has beside what came into being by itself.
    fn keep_secrets(&mut self) {
        let own = self.path("home/.local/state/waypost");
        for name in ["values.key", "permits"] {
            fs::write(own.join(name), CANARY).unwrap();
        }
        // With one, the person's own commands of these tests would ask for it.
        if self.phase != Phase::Open {
            fs::write(own.join("pin"), CANARY).unwrap();
        }
        for name in ["projects", "seals"] {
            let entries = fs::read_dir(own.join(name)).into_iter().flatten().flatten();
            self.kept.extend(entries.map(|entry| entry.path()));
        }
    }

    /// A path on which everything is but bubblewrap.
    fn hide_bubblewrap(&self) {
        let bin = self.path("bin");
        fs::create_dir(&bin).unwrap();
        for folder in env::split_paths(&env::var_os("PATH").unwrap()) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name() != "bwrap" {
                    let _known =
                        std::os::unix::fs::symlink(entry.path(), bin.join(entry.file_name()));
                }
            }
        }
    }

    pub(crate) fn git(&self, folder: &Path, words: &[&str]) -> String {
        let output = self.outside("git").args(words).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "git {words:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn waypost(&self, words: &[&str]) {
        let mut command = self.outside(env!("CARGO_BIN_EXE_waypost"));
        let output = command.args(words).current_dir(self.root()).output().unwrap();
        assert!(output.status.success(), "waypost {words:?}: {output:?}");
    }

    /// How many entries of the journal a person has made; none if it cannot be read.
    pub(crate) fn acts_of_persons(&self) -> Option<usize> {
        let mut command = self.outside(env!("CARGO_BIN_EXE_waypost"));
        let output = command.args(["--json", "log"]).current_dir(self.root()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let of_persons = text.lines().filter(|line| line.contains("\"actor\":\"person"));
        output.status.success().then(|| of_persons.count())
    }

    /// A program outside, as the person has it.
    pub(crate) fn outside(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let home = self.path("home");
        let own = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        command.env_clear().env("HOME", &home).env("LANG", "C.UTF-8");
        command.env("PATH", env::var_os("PATH").unwrap());
        command.env(
            "RUSTUP_HOME",
            env::var_os("RUSTUP_HOME").unwrap_or_else(|| own.join(".rustup").into()),
        );
        command.env(
            "CARGO_HOME",
            env::var_os("CARGO_HOME").unwrap_or_else(|| own.join(".cargo").into()),
        );
        command.env("PYENV_ROOT", own.join(".pyenv"));
        for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
            command.env(format!("{name}_NAME"), "A").env(format!("{name}_EMAIL"), "a@b");
        }
        command.stdin(Stdio::null());
        command
    }

    /// A shell call, as an agent program makes it.
    pub(crate) fn shell(&self, text: &str) -> Command {
        let shell = self.path("programs/waypost-shell");
        let mut command = match self.user {
            User::Own => self.outside(shell.to_str().unwrap()),
            User::Other => {
                let mut command = self.outside("setpriv");
                command.args(["--reuid=1000", "--regid=1000", "--clear-groups"]).arg(shell);
                command
            }
        };
        if self.wall == Wall::A {
            command.args(["--agent=claude", "--"]).arg(self.path("programs/claude"));
            command.env("WAYPOST_ATTEMPT", "1");
        }
        command.arg(text).current_dir(self.root());
        for name in ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "ANTHROPIC_API_KEY", "NPM_TOKEN"] {
            command.env(name, CANARY);
        }
        command.env("SSH_AUTH_SOCK", self.agent.path().join("agent.1"));
        command.env("WAYPOST_TEST_MARK", self.socket());
        if self.wall == Wall::C {
            command.env("PATH", self.path("bin"));
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Whether the hook of an agent program without a wall lets a shell call pass. To such a program silence is a
    /// yes, and everything but a refusal is.
    pub(crate) fn lets_pass(&self, text: &str) -> bool {
        let event = json!({
            "session_id": "s", "cwd": self.root(), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": text},
        });
        let mut command = self.outside(self.path("programs/waypost-hook").to_str().unwrap());
        command.arg("claude").current_dir(self.root()).env("SSH_AUTH_SOCK", self.agent.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _answered = child.stdin.take().unwrap().write_all(event.to_string().as_bytes());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        output.status.code() != Some(2) && !said.contains("\"permissionDecision\":\"deny\"")
    }

    /// What came of a shell call; one that takes too long is ended as agent programs do it.
    pub(crate) fn call(&self, text: &str) -> Output {
        // Through files: what outlives the call would hold pipes open.
        let streams = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
        let [stdout, stderr] = streams.each_ref().map(|file| file.try_clone().unwrap());
        let mut command = self.shell(text);
        let mut child = command.stdout(stdout).stderr(stderr).process_group(0).spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let (done, wait) = mpsc::channel::<()>();
        let guard = thread::spawn(move || {
            if wait.recv_timeout(CALL_LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _gone = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            }
        });
        let status = child.wait().unwrap();
        drop(done);
        guard.join().unwrap();
        let [stdout, stderr] = streams.map(|mut file| {
            let mut bytes = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut bytes).unwrap();
            bytes
        });
        Output { status, stdout, stderr }
    }

    /// A command with the places of this site in it.
    pub(crate) fn filled(&self, text: &str) -> String {
        let shown = |path: &str| self.path(path).to_str().unwrap().to_owned();
        let agent = self.agent.path().join("agent.1");
        let pairs = [
            ("{root}", shown("project")),
            ("{remote}", shown("remote.git")),
            ("{http}", self.http.clone()),
            ("{state}", shown("project/.git/waypost")),
            ("{home}", shown("home")),
            ("{out}", shown("outside")),
            ("{base}", self.base.clone()),
            ("{child}", self.child.clone()),
            ("{pid}", self.canary.id().to_string()),
            ("{socket}", self.socket()),
            ("{agent}", agent.to_str().unwrap().to_owned()),
            ("{programs}", shown("programs")),
        ];
        let text =
            pairs.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
        if self.wall == Wall::None {
            // Nothing is run.
            return text;
        }
        // `/tmp` is shared with other sites, and process numbers inside are small.
        let own = self.folder.path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
        text.split(' ')
            .map(|word| match word.contains("/tmp/") {
                true => word.replace("$$", own),
                false => word.to_owned(),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Processes of calls that are still there.
    pub(crate) fn left(&self) -> Vec<u32> {
        let mark = format!("WAYPOST_TEST_MARK={}", self.socket());
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|it| it == mark.as_bytes())
        })
        .collect()
    }

    /// Puts back what a command was allowed to change.
    pub(crate) fn restore(&self) {
        let root = self.root();
        for name in ["index.lock", "HEAD.lock", "rebase-merge", "rebase-apply"] {
            let path = root.join(".git").join(name);
            let _none = fs::remove_file(&path);
            let _none = fs::remove_dir_all(&path);
        }
        // While commits are open references may be broken, and git would not replace these.
        let heads = root.join(".git/refs/heads");
        fs::create_dir_all(&heads).unwrap();
        for (name, commit) in [("main", &self.child), ("side", &self.base)] {
            // One that is a folder now is git's to replace.
            let _folder = fs::write(heads.join(name), format!("{commit}\n"));
        }
        let refs = self.git(&root, &["for-each-ref", "--format=%(refname)"]);
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for name in refs.lines() {
            if !["refs/heads/main", "refs/heads/side"].contains(&name) {
                let mut command = self.outside("git");
                let _gone = command.args(["update-ref", "-d", name]).current_dir(&root).output();
            }
        }
        self.git(&root, &["update-ref", "refs/heads/side", &self.base]);
        self.git(&root, &["update-ref", "refs/heads/main", &self.child]);
        self.git(&root, &["reset", "-q", "--hard", &self.child]);
        self.git(&root, &["clean", "-fdq", "-e", ".develop-workflow", "-e", ".claude"]);
        if self.phase == Phase::Open {
            // It was passed for other files.
            self.waypost(&["develop", "gate", "pass", "re_review_clean"]);
        }
        self.hand_over();
        // The next call would write a record for the files that are back.
        self.call("true");
    }
}

fn hear(listener: UnixListener, heard: Arc<AtomicBool>) {
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            heard.store(true, Ordering::SeqCst);
            let _any = stream.read(&mut [0; 16]);
        }
    });
}

fn credentials(home: &Path) {
    let files = [
        (".ssh/id_ed25519", format!("{CANARY}\n")),
        (".netrc", format!("machine 127.0.0.1 login user password {CANARY}\n")),
        (".git-credentials", format!("http://user:{CANARY}@127.0.0.1\n")),
        (".config/gh/hosts.yml", format!("oauth_token: {CANARY}\n")),
        (".npmrc", format!("//registry.example/:_authToken={CANARY}\n")),
        (".pypirc", format!("password = {CANARY}\n")),
        (".cargo/credentials", format!("[registry]\ntoken = \"{CANARY}\"\n")),
        (".cargo/credentials.toml", format!("token = \"{CANARY}\"\n")),
        (".cargo/config", format!("[registries.mine]\ntoken = \"{CANARY}\"\n")),
        (".cargo/config.toml", format!("[registries.mine]\ntoken = \"{CANARY}\"\n")),
        (".aws/credentials", format!("aws_secret_access_key = {CANARY}\n")),
        (".docker/config.json", format!("{{\"auth\": \"{CANARY}\"}}\n")),
        (".kube/config", format!("token: {CANARY}\n")),
        (".claude/.credentials.json", format!("{{\"token\": \"{CANARY}\"}}\n")),
        (".codex/auth.json", format!("{{\"token\": \"{CANARY}\"}}\n")),
        (".config/waypost/config.toml", format!("# {CANARY}\n")),
        (".bashrc", "# mine\n".to_owned()),
        (".profile", "# mine\n".to_owned()),
        (
            ".gitconfig",
            format!(
                "[user]\n\tname = A\n\temail = a@b\n[credential]\n\thelper = store\n\
                 [http \"http://127.0.0.1\"]\n\textraHeader = X-Token: {CANARY}\n\
                 [safe]\n\tdirectory = *\n"
            ),
        ),
    ];
    for (name, text) in files {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
