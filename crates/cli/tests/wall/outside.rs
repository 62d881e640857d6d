//! What a person does outside while a call runs: the call sees it, and the wall still stands.

use crate::site::{Phase, Site, Wall};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

/// A call that runs for long: a shell that takes commands one by one.
struct Long {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Long {
    fn begin(site: &Site) -> Self {
        let mut command =
            site.shell("exec 2>&1; while read -r line; do eval \"$line\"; echo END; done");
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    /// What a command inside says; none once the call is over.
    fn run(&mut self, text: &str) -> Option<String> {
        self.input.write_all(format!("{text}\n").as_bytes()).ok()?;
        let mut said = String::new();
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line == "END\n" {
                return Some(said);
            }
            said.push_str(&line);
        }
    }

    /// What a command says as soon as it says what is wanted; what goes in and out takes a moment.
    fn until(&mut self, text: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut said = String::new();
        for _ in 0..500 {
            said = self.run(text).unwrap_or_else(|| "the call is over".into());
            if is_wanted(&said) {
                return said;
            }
            self.run("sleep 0.02");
        }
        panic!("{text} still says {said:?}");
    }

    fn code(mut self) -> Option<i32> {
        drop(self.input);
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_configuration_that_is_changed_outside_stays_closed_inside() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let root = site.root();
    let mut long = Long::begin(&site);
    assert_eq!(long.run("git config test.name || echo none").unwrap(), "none\n");
    for turn in ["one", "two", "three"] {
        site.git(&root, &["config", "test.name", turn]);
        let outside = fs::read(root.join(".git/config")).unwrap();
        long.until("git config test.name", |said| said == format!("{turn}\n"));
        for evil in [
            "echo evil >> .git/config",
            "git config test.name evil",
            "rm -f .git/config; mv .git/index .git/config; cp /dev/null .git/config",
            "mv .git .old",
            "echo . > .git/commondir; echo x > .git/config.worktree; echo x > .git/hooks/pre-push",
        ] {
            long.run(evil).unwrap();
        }
        assert_eq!(fs::read(root.join(".git/config")).unwrap(), outside, "{turn}");
        for name in [".git/commondir", ".git/config.worktree", ".git/hooks/pre-push"] {
            assert!(!root.join(name).exists(), "{name}");
        }
    }
    assert_eq!(long.code(), Some(0));
}

#[test]
fn a_head_and_packed_references_from_outside_come_in_and_stay_closed() {
    let Some(site) = Site::new(Wall::B, Phase::CommitsClosed) else { return };
    let root = site.root();
    let mut long = Long::begin(&site);
    let refs = |site: &Site| {
        let all = site.git(&root, &["for-each-ref"]);
        all + &fs::read_to_string(root.join(".git/HEAD")).unwrap()
    };
    site.git(&root, &["switch", "-q", "side"]);
    long.until("git branch --show-current", |said| said == "side\n");
    site.git(&root, &["branch", "new"]);
    site.git(&root, &["pack-refs", "--all"]);
    let known = refs(&site);
    long.until("git rev-parse --verify -q new && git rev-parse -q --verify main", |said| {
        said.lines().count() == 2
    });
    for evil in [
        "git commit -q --allow-empty -m evil",
        "git symbolic-ref HEAD refs/heads/main",
        "git update-ref refs/heads/new main",
        "git branch -D new; git tag evil; git pack-refs --all",
        "printf 'ref: refs/heads/main\\n' > .git/HEAD; rm -f .git/packed-refs .git/HEAD",
        "git switch -q main",
    ] {
        long.run(evil).unwrap();
    }
    assert_eq!(refs(&site), known);
    site.git(&root, &["switch", "-q", "main"]);
    long.until("git branch --show-current", |said| said == "main\n");
    long.run("git commit -q --allow-empty -m evil; git switch -q side").unwrap();
    assert_eq!(long.code(), Some(0));
    assert_eq!(site.git(&root, &["rev-parse", "HEAD"]), site.child);
}

#[test]
fn what_a_call_does_to_git_is_there_outside() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let root = site.root();
    let mut long = Long::begin(&site);
    long.run("echo new > new.txt && git add new.txt").unwrap();
    // It is carried out while the call goes on.
    let staged = || site.git(&root, &["diff", "--cached", "--name-only"]);
    for _ in 0..500 {
        if staged() == "new.txt" {
            break;
        }
        long.run("sleep 0.02");
    }
    assert_eq!(staged(), "new.txt");
    long.run("git commit -qm new && git switch -qc other && git tag t").unwrap();
    assert_eq!(long.code(), Some(0));
    assert_eq!(site.git(&root, &["branch", "--show-current"]), "other");
    assert_eq!(site.git(&root, &["log", "-1", "--format=%s"]), "new");
    assert_eq!(site.git(&root, &["status", "--porcelain"]), "");
    let views = fs::read_dir(root.join(".git/waypost/views")).unwrap().count();
    assert_eq!(views, 0, "nothing is left of the call");
}

#[test]
fn an_unfinished_merge_and_rebase_go_on_in_the_next_call() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let root = site.root();
    let prepare = "git switch -q side && echo other > src/lib.txt && git commit -qam other";
    assert!(site.call(prepare).status.success());
    assert!(!site.call("git merge -q main").status.success(), "a conflict");
    let said = site.call("git status | head -4; echo both > src/lib.txt; git commit -qam merged");
    assert!(said.status.success(), "{said:?}");
    assert_eq!(site.git(&root, &["log", "-1", "--format=%s %P"]).split(' ').count(), 3);
    assert!(site.call("git reset -q --hard HEAD^").status.success());
    assert!(!site.call("git rebase -q main").status.success(), "a conflict");
    let go_on = "echo both > src/lib.txt; git add -A; GIT_EDITOR=true git rebase --continue";
    let said = site.call(go_on);
    assert!(said.status.success(), "{said:?}");
    assert_eq!(site.git(&root, &["rev-parse", "side^"]), site.child);
    assert!(!root.join(".git/rebase-merge").exists());
    // What would run commands outside stays inside.
    site.call("GIT_SEQUENCE_EDITOR='sed -i s/^pick/break/\\;1ix\\ evil' git rebase -q -i HEAD^");
    let todo = fs::read_to_string(root.join(".git/rebase-merge/git-rebase-todo"));
    assert!(!todo.is_ok_and(|text| text.contains("evil")), "a command came out");
}

#[test]
fn a_call_ends_when_a_gate_closes_under_it() {
    for wall in [Wall::B, Wall::C] {
        let Some(site) = Site::new(wall, Phase::PushesClosed) else { continue };
        let mut long = Long::begin(&site);
        assert_eq!(long.run("echo here").unwrap(), "here\n");
        site.waypost(&["develop", "gate", "reset", "review_clean_pass"]);
        // It would go on for ever.
        while long.run("sleep 0.02").is_some() {}
        assert_eq!(long.child.wait().unwrap().code(), Some(137), "{wall:?}");
    }
}

#[test]
fn a_call_goes_on_when_a_gate_opens() {
    let Some(site) = Site::new(Wall::B, Phase::CommitsClosed) else { return };
    let mut long = Long::begin(&site);
    long.run("true").unwrap();
    site.waypost(&["develop", "gate", "pass", "re_review_clean"]);
    assert_eq!(long.run("sleep 1; echo here").unwrap(), "here\n");
    // With the rights that it began with.
    long.run("git commit -q --allow-empty -m evil").unwrap();
    assert_eq!(long.code(), Some(0));
    assert_eq!(site.git(&site.root(), &["rev-parse", "HEAD"]), site.child);
}

#[test]
fn names_that_tell_programs_what_to_run_are_moved_away() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    for (text, name) in [
        ("echo '{}' > .mcp.json", ".mcp.json"),
        ("mkdir .codex && echo x > .codex/config.toml", ".codex"),
        ("ln -s /tmp .gemini", ".gemini"),
    ] {
        let output = site.call(text);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("tells programs outside what to run"), "{text}: {said}");
        assert!(site.root().join(name).symlink_metadata().is_err(), "{name}");
    }
}

#[test]
fn a_linked_work_tree_commits_to_its_own_branch_and_nowhere_else() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let (root, tree) = (site.root(), site.path("tree"));
    site.git(&root, &["worktree", "add", "-q", "-b", "linked", tree.to_str().unwrap()]);
    let run = |text: &str| {
        let mut command = site.shell(text);
        command.current_dir(&tree).env("WAYPOST_ATTEMPT", "1").output().unwrap()
    };
    let output =
        run("echo x > new.txt && git add -A && git commit -qm linked && git status --short");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(site.git(&root, &["log", "-1", "--format=%s", "linked"]), "linked");
    let before = site.picture();
    for evil in [
        "echo evil > ../project/a.txt",
        "git config a.b c; echo x >> ../project/.git/config",
        "echo /tmp > ../project/.git/worktrees/tree/commondir",
        "echo 'gitdir: /tmp' > .git",
        "mv .git x",
        "echo x > ../project/.git/waypost/journal.db",
        "echo 'ref: refs/heads/linked' > ../project/.git/HEAD",
    ] {
        let output = run(evil);
        assert_eq!(site.picture(), before, "{evil}: {output:?}");
    }
}
