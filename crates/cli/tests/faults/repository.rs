//! A site with a real repository whose tasks work in trees of their own, and what must hold of it.
//!
//! The user has work of their own beside the run: a file that is not tracked, one that is changed,
//! and one that is staged. Nothing may ever touch those.

use crate::{
    chaos,
    process::{self, Ended},
    site::{Site, WAYPOST},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

/// Where tasks work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// In the project's folder itself.
    Project,
    /// Each attempt in a tree of its own.
    Attempts,
    /// All tasks of a phase in one tree.
    Phases,
}

/// Who works on tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hands {
    Commands,
    /// Scripted agents, which go on in their conversations when they were cut off: what they do may
    /// be done twice.
    Agents,
}

impl Way {
    pub(crate) fn isolation(self) -> &'static str {
        match self {
            Self::Project => "none",
            Self::Attempts => "task",
            Self::Phases => "phase",
        }
    }

    /// How many commits a commit of ours for a task is made from.
    fn parents(self) -> usize {
        match self {
            Self::Attempts => 2,
            Self::Phases | Self::Project => 1,
        }
    }
}

/// What a task does to the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Writes a file of its own.
    Writes,
    /// The same, and proves it with a verify command.
    Proves,
    /// Commits by itself, and leaves another file that it has not committed.
    Commits,
    /// Adds a line to a file to which others add lines, too.
    Shares,
    /// Changes nothing.
    Nothing,
}

/// A task of the plan.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) phase: usize,
    pub(crate) deed: Deed,
    pub(crate) depends: Option<String>,
}

impl Task {
    /// Files that it leaves, each with one line that names it.
    fn files(&self) -> Vec<String> {
        let id = &self.id;
        match self.deed {
            Deed::Writes | Deed::Proves => vec![format!("own/{id}")],
            Deed::Commits => vec![format!("own/{id}"), format!("more/{id}")],
            Deed::Shares => vec![format!("shared-{}", self.phase)],
            Deed::Nothing => Vec::new(),
        }
    }

    /// Counts itself outside, and does what it does. The real git is called by its path: one that
    /// stands in its place in the tests is not for tasks.
    fn command(&self, counts: &Path, hands: Hands) -> String {
        let Self { id, phase, deed, .. } = self;
        let counts = counts.display();
        let git = "/usr/bin/git -c user.name=Agent -c user.email=agent@example.com";
        let act = match deed {
            Deed::Writes | Deed::Proves if hands == Hands::Agents => {
                format!("mkdir -p own; echo {id} > own/{id}; sleep 0.1")
            }
            Deed::Commits if hands == Hands::Agents => format!(
                "mkdir -p own more && echo {id} > own/{id} && {git} add own && \
                 {{ {git} diff --cached --quiet || {git} commit -qm \"Work of {id}\"; }} && \
                 echo {id} > more/{id}"
            ),
            Deed::Shares if hands == Hands::Agents => {
                format!("sleep 0.05; grep -qx {id} shared-{phase} || echo {id} >> shared-{phase}")
            }
            Deed::Writes | Deed::Proves => {
                format!("mkdir -p own; echo {id} >> own/{id}; sleep 0.03")
            }
            Deed::Commits => format!(
                "mkdir -p own more && echo {id} >> own/{id} && {git} add own && \
                 {git} commit -qm \"Work of {id}\" && echo {id} >> more/{id}"
            ),
            Deed::Shares => format!("sleep 0.05; echo {id} >> shared-{phase}"),
            Deed::Nothing => "true".to_owned(),
        };
        format!("echo x >> {counts}/begun.{id}; {act} && echo x >> {counts}/finished.{id}")
    }

    /// What proves it. An agent whose command was killed says that it is done all the same, so what
    /// agents say is always proven.
    fn verify(&self, counts: &Path, hands: Hands) -> Option<String> {
        let id = &self.id;
        let proof = |file| format!("grep -qx {id} {file}");
        let mut proofs: Vec<String> = self.files().into_iter().map(proof).collect();
        match (hands, self.deed) {
            (Hands::Agents, _) => {
                proofs.push(format!("test -s {}/finished.{id}", counts.display()));
            }
            (Hands::Commands, Deed::Proves) => {}
            (Hands::Commands, _) => return None,
        }
        Some(proofs.join(" && "))
    }
}

/// The files of the user, with what is in them.
const USERS: [(&str, &str, &str); 3] = [
    ("A  ", "staged.txt", "staged by the user\n"),
    (" M ", "changed.txt", "changed by the user\n"),
    ("?? ", "new file.txt", "not tracked\n\0\u{7f}"),
];

/// A repository with a plan of tasks.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) site: Site,
    pub(crate) tasks: Vec<Task>,
    phases: usize,
    way: Way,
    hands: Hands,
}

impl Repository {
    pub(crate) fn new(tasks: Vec<Task>, way: Way, hands: Hands) -> Self {
        Self::on(Site::new(), tasks, way, hands)
    }

    /// The same on a site that stands already.
    pub(crate) fn on(site: Site, tasks: Vec<Task>, way: Way, hands: Hands) -> Self {
        let phases = tasks.iter().map(|task| task.phase).max().unwrap();
        fs::create_dir(site.outside("counts")).unwrap();
        let this = Self { site, tasks, phases, way, hands };
        if hands == Hands::Agents {
            this.write_script();
        }
        let write = |name: &str, text: &str| fs::write(this.site.path(name), text).unwrap();
        write("TASKS.md", &this.tasks_md());
        write("waypost.toml", "[run]\nchecks = [\"test ! -e broken\", \"ls shared-*\"]\n");
        (1..=phases).for_each(|phase| write(&format!("shared-{phase}"), "first\n"));
        write("changed.txt", "as it was committed\n");
        this.git(&["add", "."]);
        this.git(&["commit", "-qm", "Begin"]);
        USERS.iter().for_each(|(_, name, text)| write(name, text));
        this.git(&["add", "staged.txt"]);
        this
    }

    /// An agent that does for each task what its command would do.
    fn write_script(&self) {
        let counts = self.site.outside("counts");
        let steps = |task: &Task| {
            let command = task.command(&counts, self.hands);
            let steps = serde_json::json!([{"steps": [{"run": command}, {"done": "did it"}]}]);
            (task.id.clone(), steps)
        };
        let tasks: BTreeMap<String, serde_json::Value> = self.tasks.iter().map(steps).collect();
        let script = serde_json::json!({"version": 1, "tasks": tasks});
        let sessions = self.site.outside("sessions");
        fs::create_dir(&sessions).unwrap();
        let path = sessions.join("script.json");
        fs::write(&path, script.to_string()).unwrap();
        let words = ["sim", "agent", "--speak", "claude", "--script"];
        let mut command = vec![WAYPOST.to_owned()];
        command.extend(words.map(str::to_owned));
        command.extend([path.display().to_string(), "--sessions".to_owned()]);
        command.extend([sessions.display().to_string(), "--".to_owned()]);
        let folder = self.site.home().join(".config/waypost");
        fs::create_dir_all(&folder).unwrap();
        let command = serde_json::json!(command);
        // Behind the wall an agent finds nothing of this disk in memory that is not listed.
        let counted = serde_json::json!([counts, sessions]);
        let config = format!(
            "[agents.robot]\nadapter = \"claude\"\ncommand = {command}\n[wall]\ncaches = {counted}\n"
        );
        fs::write(folder.join("config.toml"), config).unwrap();
    }

    fn tasks_md(&self) -> String {
        let mut text = String::from("# Apart\n");
        let counts = self.site.outside("counts");
        for phase in 1..=self.phases {
            writeln!(text, "\n## Phase {phase}: Part {phase}\n").unwrap();
            for task in self.tasks.iter().filter(|task| task.phase == phase) {
                let depends = task.depends.as_deref().unwrap_or("none");
                writeln!(text, "- [ ] {}: Work\n  - depends: {depends}", task.id).unwrap();
                match self.hands {
                    Hands::Commands => {
                        let command = task.command(&counts, self.hands);
                        writeln!(text, "  - run: `{command}`").unwrap();
                    }
                    Hands::Agents => writeln!(text, "  - agent: robot").unwrap(),
                }
                if let Some(verify) = task.verify(&counts, self.hands) {
                    writeln!(text, "  - verify: `{verify}`").unwrap();
                }
            }
        }
        text
    }

    /// What git prints.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.try_git(arguments).expect_code(0).stdout
    }

    fn try_git(&self, arguments: &[&str]) -> Ended {
        let identity = ["-c", "user.name=User", "-c", "user.email=user@example.com"];
        let mut git = self.site.command("git");
        // A look of ours takes no lock that could be taken for one that was left.
        git.env("GIT_OPTIONAL_LOCKS", "0");
        process::run(git.args(identity).args(arguments))
    }

    /// What must hold at every moment, also right after a kill.
    pub(crate) fn assert_safe(&self) {
        self.assert_users_files();
        let (told, merged) = (self.told_merges(), self.merges());
        for (phase, commit) in &told {
            let is_in = self.try_git(&["merge-base", "--is-ancestor", commit, "main"]);
            assert!(is_in.is_done(), "phase {phase} is said to be merged by {commit}");
        }
        // One may have landed whose engine did not live to record it.
        let unknown = merged.keys().filter(|phase| !told.contains_key(phase)).count();
        assert!(unknown <= 1, "told {told:?}, merged {merged:?}");
    }

    /// What must hold when all is done.
    pub(crate) fn assert_whole(&self) {
        self.assert_safe();
        chaos::assert_completed_once(&self.site, self.tasks.len());
        chaos::assert_no_process_left(&self.site);
        if self.way == Way::Project {
            return self.assert_done_here();
        }
        let merged = self.merges();
        assert_eq!(self.told_merges().into_keys().collect::<Vec<_>>(), phases(self.phases));
        assert_eq!(merged.keys().copied().collect::<Vec<_>>(), phases(self.phases));
        assert!(merged.values().all(|count| *count == 1), "merged once: {merged:?}");
        self.assert_changes();
        self.assert_boxes();
        self.assert_nothing_orphaned();
        self.assert_clean();
        self.assert_snapshots();
        self.assert_sound();
    }

    /// Everything was done in the project's folder, and nothing was committed.
    fn assert_done_here(&self) {
        assert_eq!(self.git(&["log", "--format=%s", "--all"]), "Begin\n");
        for task in &self.tasks {
            for file in task.files() {
                let text = fs::read_to_string(self.site.path(&file)).unwrap();
                let count = text.lines().filter(|line| *line == task.id).count();
                assert_eq!(count, 1, "{} in {file}: {text}", task.id);
            }
        }
        let wanted = self.tasks_md().replace("- [ ]", "- [x]");
        assert_eq!(fs::read_to_string(self.site.path("TASKS.md")).unwrap(), wanted);
        self.assert_nothing_orphaned();
        self.assert_sound();
    }

    /// Git misses nothing, and the checkout is what its branch has, with the user's changes; where tasks
    /// work in it, with theirs.
    pub(crate) fn assert_sound_checkout(&self) {
        self.assert_users_files();
        match self.way {
            Way::Project => {
                assert_eq!(self.git(&["log", "--format=%s", "--all"]), "Begin\n");
                let status = self.git(&["status", "--porcelain", "--untracked-files=no"]);
                let is_known = |line: &&str| {
                    line.ends_with(" TASKS.md")
                        || line.starts_with(" M shared-")
                        || USERS.iter().any(|(_, name, _)| line.ends_with(name))
                };
                let others: Vec<&str> = status.lines().filter(|line| !is_known(line)).collect();
                assert_eq!(others, <[&str; 0]>::default());
            }
            Way::Attempts | Way::Phases => self.assert_clean(),
        }
        self.assert_sound();
    }

    fn assert_sound(&self) {
        for how in [&["--connectivity-only"][..], &[]] {
            let fsck = self.try_git(&[&["fsck", "--no-dangling"], how].concat());
            assert_eq!((fsck.code, &*fsck.stdout), (Some(0), ""), "{fsck:#?}");
        }
    }

    /// The phases that the window says are merged, with their commits.
    fn told_merges(&self) -> BTreeMap<usize, String> {
        // It is rendered from the journal first: a kill may have come before that.
        self.site.waypost(&["run", "status"]);
        let text = fs::read_to_string(self.site.path(".claude/orchestrate-state.json"));
        let Ok(text) = text else { return BTreeMap::new() };
        let state: serde_json::Value = serde_json::from_str(&text).unwrap();
        let phases = state["checkpoints"].as_object().unwrap().iter();
        let merged = phases.filter(|(_, told)| told["merged"] == true);
        let read = |(key, told): (&String, &serde_json::Value)| {
            let phase = key.strip_prefix("phase_").unwrap().parse().unwrap();
            (phase, told["merge_commit"].as_str().unwrap().to_owned())
        };
        merged.map(read).collect()
    }

    /// How often each phase is merged into the target, as git has it.
    fn merges(&self) -> BTreeMap<usize, usize> {
        let mut found = BTreeMap::new();
        let format = "--format=%(trailers:key=Waypost-Phase,valueonly,separator=%x20)";
        for phase in self.git(&["log", "--first-parent", format, "main"]).lines() {
            if let Ok(phase) = phase.trim().parse() {
                *found.entry(phase).or_insert(0) += 1;
            }
        }
        found
    }

    /// The target has every task's change once, by one commit that says so.
    fn assert_changes(&self) {
        let mut joined: BTreeMap<String, usize> = BTreeMap::new();
        let format = "--format=%H%x09%P%x09%(trailers:key=Waypost-Task,valueonly,separator=%x20)";
        let with = ["log", "--grep=^Waypost-Evidence: ", format, "main"];
        for line in self.git(&with).lines() {
            let [commit, parents, task] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            assert_eq!(parents.split(' ').count(), self.way.parents(), "{task}: {parents}");
            self.assert_own(task.trim(), commit);
            *joined.entry(task.trim().to_owned()).or_insert(0) += 1;
        }
        let changing = self.tasks.iter().filter(|task| task.deed != Deed::Nothing);
        let wanted: BTreeMap<String, usize> = changing.map(|task| (task.id.clone(), 1)).collect();
        assert_eq!(joined, wanted, "each is joined once");
        for task in &self.tasks {
            for file in task.files() {
                let text = self.git(&["show", &format!("main:{file}")]);
                let count = text.lines().filter(|line| *line == task.id).count();
                assert_eq!(count, 1, "{} in {file}: {text}", task.id);
                assert_eq!(fs::read_to_string(self.site.path(&file)).unwrap(), text, "{file}");
            }
        }
    }

    /// A commit brought what its task is to do, and nothing of another one.
    fn assert_own(&self, id: &str, commit: &str) {
        let own = self.tasks.iter().find(|task| task.id == id).unwrap().files();
        let brought = self.git(&["diff", "--name-only", &format!("{commit}^1"), commit]);
        let brought: BTreeSet<&str> = brought.lines().collect();
        assert_eq!(brought, own.iter().map(String::as_str).collect(), "{id}");
    }

    fn assert_boxes(&self) {
        let wanted = self.tasks_md().replace("- [ ]", "- [x]");
        assert_eq!(self.git(&["show", "main:TASKS.md"]), wanted);
        assert_eq!(fs::read_to_string(self.site.path("TASKS.md")).unwrap(), wanted);
    }

    /// No tree, branch, marker, trash or lock is left.
    fn assert_nothing_orphaned(&self) {
        let trees = self.git(&["worktree", "list", "--porcelain"]);
        assert_eq!(trees.matches("worktree ").count(), 1, "{trees}");
        let refs = self.git(&["for-each-ref", "--format=%(refname)"]);
        let is_known =
            |name: &&str| *name == "refs/heads/main" || name.starts_with("refs/waypost/snapshots/");
        let orphans: Vec<&str> = refs.lines().filter(|name| !is_known(name)).collect();
        assert_eq!(orphans, <[&str; 0]>::default());
        let left = process::run(self.site.command("find").arg("worktree")).stdout;
        assert!(self.site.path("worktree").symlink_metadata().is_err(), "{left}");
        let admin = fs::read_dir(self.site.path(".git/worktrees"));
        assert_eq!(admin.into_iter().flatten().count(), 0, "records of trees are left");
        let files = self.site.files();
        let is_lock = |name: &&String| {
            name.starts_with("project/.git/")
                && !name.starts_with("project/.git/waypost/")
                && name.ends_with(".lock")
        };
        let locks: Vec<&String> = files.iter().filter(is_lock).collect();
        assert_eq!(locks, <[&String; 0]>::default());
    }

    /// A snapshot is there only of what is nowhere else: files, or, of a tree that is gone, commits.
    fn assert_snapshots(&self) {
        let format = "--format=%(refname) %(trailers:key=Waypost-Base,valueonly,separator=%x20)";
        let listed = self.git(&["for-each-ref", format, "refs/waypost/snapshots"]);
        let mut seen = BTreeSet::new();
        for line in listed.lines() {
            let (name, base) = line.trim().split_once(' ').unwrap();
            let is_same = self.try_git(&["diff", "--quiet", base.trim(), name, "--"]).is_done();
            let commits = self.git(&["rev-list", &format!("{name}^@"), "--not", "main"]);
            let has_nothing = is_same && commits.is_empty();
            assert!(!has_nothing, "{name} has nothing that its base {base} does not have");
            assert!(seen.insert(name.to_owned()), "{name}");
        }
    }

    fn assert_users_files(&self) {
        let status = self.git(&["status", "--porcelain", "-z", "--untracked-files=all"]);
        let mut found: Vec<&str> = status.split('\0').filter(|line| !line.is_empty()).collect();
        let is_users = |line: &&str| USERS.iter().any(|(_, name, _)| line.ends_with(name));
        found.retain(is_users);
        let wanted: Vec<String> =
            USERS.iter().map(|(how, name, _)| format!("{how}{name}")).collect();
        found.sort_unstable();
        let mut wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{status:?}");
        for (_, name, text) in USERS {
            assert_eq!(fs::read_to_string(self.site.path(name)).unwrap(), text, "{name}");
        }
    }

    /// The user's work tree has the user's changes and no others.
    fn assert_clean(&self) {
        let status = self.git(&["status", "--porcelain", "-z", "--untracked-files=all"]);
        // The run's window and its backup are not the user's.
        let is_users =
            |line: &&str| !line.is_empty() && !line.contains(".claude/orchestrate-state");
        let found = status.split('\0').filter(is_users).count();
        assert_eq!(found, USERS.len(), "{status:?}");
        let head = self.git(&["symbolic-ref", "HEAD"]);
        assert_eq!(head.trim(), "refs/heads/main");
    }
}

fn phases(count: usize) -> Vec<usize> {
    (1..=count).collect()
}
