//! A run as it is seen at a terminal: in a real one (tmux), which is resized, and where nothing can
//! be drawn.

use crate::{
    agents::with as with_agent,
    execute::with,
    harness::{BINARY, Project},
    terminal::no_person_is_here,
};
use serde_json::json;
use std::{fmt::Write as _, path::PathBuf, thread, time::Duration};

/// What begins every escape sequence.
const ESCAPE: char = '\u{1b}';

/// How often a terminal is looked at before something counts as missing: for a minute at least.
const LOOKS: usize = 1200;

/// High enough that a picture which the terminal wraps when it becomes narrower is still seen
/// whole: what has scrolled away cannot be taken back by any program.
const ROWS: &str = "100";

/// A terminal of tmux; its server ends with it.
struct Terminal<'a> {
    project: &'a Project,
    socket: PathBuf,
}

/// Says aloud that a test cannot show anything here.
fn no_tmux() -> bool {
    let project = Project::plain();
    let is_here = project.command("tmux", &project.root).arg("-V").output();
    let is_missing = !is_here.is_ok_and(|ran| ran.status.success());
    if is_missing {
        println!("skipped: `tmux` is not here");
    }
    is_missing
}

impl<'a> Terminal<'a> {
    /// Runs a line of the program in a terminal of so many columns.
    fn open(project: &'a Project, columns: usize, line: &str) -> Self {
        let terminal = Self { project, socket: project.base().join("tmux") };
        let shell = format!("{BINARY} {line}; echo it has ended; exec cat");
        terminal.tmux(&["new-session", "-d", "-x", &columns.to_string(), "-y", ROWS, &shell]);
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = self.project.command("tmux", &self.project.root);
        command.args(["-f", "/dev/null", "-S"]).arg(&self.socket).args(words);
        let ran = command.output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    }

    fn resize(&self, columns: usize) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", ROWS]);
    }

    /// Everything that can be seen.
    fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until what can be seen is as wanted, and returns it.
    fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        for _ in 0..LOOKS {
            text = self.text();
            if is_so(&text) {
                return text;
            }
            assert!(!text.contains("it has ended"), "it ended before {what} was seen:\n{text}");
            thread::sleep(Duration::from_millis(50));
        }
        panic!("waited in vain for {what}:\n{text}");
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Twelve tasks with long titles that run until there is a file `go`, or no project any more.
fn waiting_tasks() -> String {
    let mut tasks = "# Tasks: shop\n\n## Phase 1: A phase with quite a long name\n\n".to_owned();
    for number in 1..=12 {
        let title = format!("한글 and a title that is longer than a narrow terminal {number}");
        let run = "until test -e go -o ! -d .git; do sleep 0.1; done";
        write!(tasks, "- [ ] T1.{number}: {title}\n  - depends: none\n  - run: `{run}`\n").unwrap();
    }
    tasks
}

/// How many lines begin with a word.
fn count(text: &str, word: &str) -> usize {
    text.lines().filter(|line| line.starts_with(word)).count()
}

#[test]
fn a_picture_survives_resizing() {
    if no_tmux() {
        return;
    }
    let project = with(&waiting_tasks());
    let terminal = Terminal::open(&project, 80, "run --mode ultra-thin --max-parallel 12");
    let has_all = |text: &str| text.contains("T1.12");
    let text = terminal.wait("all tasks", has_all);
    let at = |id: &str| text.find(&format!(" {id} ")).unwrap_or_else(|| panic!("{id}:\n{text}"));
    assert!(at("T1.2") < at("T1.10"), "T1.2 comes before T1.10:\n{text}");
    // One line for each task, however narrow: nothing wraps, and nothing of an older picture stays.
    for columns in [40, 120, 20, 61, 33, 80] {
        terminal.resize(columns);
        let is_clean = |text: &str| {
            let ids = (1..=12).map(|number| format!("  T1.{number} "));
            let is_once = ids.into_iter().all(|id| count(text, &id) == 1);
            let lines = text.trim_end().lines().count();
            // The phase, its tasks, the time.
            is_once && count(text, "phase 1 [") == 1 && lines == 14
        };
        terminal.wait(&format!("one picture in {columns} columns"), is_clean);
    }
    project.write("go", "");
    let text = terminal.wait("the end", |text| text.contains("it has ended"));
    assert_eq!(count(&text, "phase 1 ["), 0, "the picture is taken away:\n{text}");
    assert!(text.contains("all 12 tasks are done"), "{text}");
}

#[test]
fn retries_and_limits_are_shown_with_reason_and_countdown() {
    if no_tmux() {
        return;
    }
    let tasks = "# Tasks: shop\n\n## Phase 1: One\n\n\
         - [ ] T1.1: Meets a limit\n  - agent: alice\n  - depends: none\n\
         - [ ] T1.2: Fails\n  - depends: none\n  - run: `echo no such table; exit 3`\n\
         - [ ] T1.3: Works\n  - depends: none\n  - run: `until test -e go -o ! -d .git; do sleep 0.1; done`\n";
    let limit = json!([{"say": "I begin."}, {"limit": {"resets_in_s": 3_000}}]);
    let project = with_agent(tasks, &json!({"version": 1, "default": [{"steps": limit}]}));
    let terminal =
        Terminal::open(&project, 100, "run --mode ultra-thin --no-budget --retry-limit 3");
    terminal.wait("a retry that is counted down", |text| {
        text.lines().any(|line| {
            line.starts_with("  T1.2 attempt ") && line.contains(" s: ") && line.contains("code 3")
        })
    });
    terminal.wait("a limit that is counted down", |text| {
        text.lines().any(|line| {
            line.starts_with("  T1.1 waits ") && line.contains(" min ") && line.contains("limit")
        })
    });
    // After its last retry the phase has a failure, which is seen while the others go on.
    terminal.wait("the failure of the phase", |text| {
        text.lines().any(|line| line.starts_with("phase 1 [") && line.ends_with("1 failed"))
    });
    project.write("go", "");
}

#[test]
fn where_nothing_can_be_drawn_there_are_lines() {
    if no_person_is_here() {
        return;
    }
    let seen = |environment: &str, flags: &str| {
        let project = with(
            "# Tasks: shop\n\n## Phase 1: One\n\n\
             - [ ] T1.1: Works\n  - run: `true`\n- [ ] T1.2: Fails\n  - run: `exit 3`\n",
        );
        let shell = format!("{environment} {BINARY} {flags} run --mode ultra-thin --retry-limit 0");
        project.below_terminal(&shell, "").stdout.replace('\r', "")
    };
    let drawn = seen("", "");
    assert!(drawn.contains("\u{1b}[?7l") && drawn.contains("phase 1 ["), "{drawn:?}");
    for (environment, flags) in [("TERM=dumb", ""), ("NO_COLOR=1", "--no-progress")] {
        let lines = seen(environment, flags);
        assert!(!lines.contains(ESCAPE), "{environment} {flags}: {lines:?}");
        for line in ["T1.1 started\n", "T1.1 completed\n", "T1.2 started\n", "T1.2 failed: "] {
            assert!(lines.contains(line), "{environment} {flags}: {lines}");
        }
        assert!(lines.contains("phase 1 failed: 1 task is not done (PHASE_FAILED:1)"), "{lines}");
        assert!(lines.contains("failed: 1 failed\n"), "{lines}");
    }
    let verbose = seen("NO_COLOR=1 TERM=dumb", "-v");
    assert!(verbose.contains("journal: ") && verbose.contains("you act as: user:"), "{verbose}");
}
