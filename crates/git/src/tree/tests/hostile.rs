//! Repositories that would run programs if they were let: nothing is run.

use super::{NAME, Repository, git, now, write};
use crate::tree::{
    Retirement, Trees, bring_back, list, make, prune, retire, stage, stage_among_others,
    take_snapshot,
};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Every hook that git knows of.
const HOOKS: [&str; 22] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "update",
];

/// Settings that name a program; each would leave a file with its number.
const SETTINGS: [&str; 27] = [
    "core.fsmonitor",
    "core.sshCommand",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "sequence.editor",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "credential.helper",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "merge.evil.driver",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "filter.odd=name.clean",
    "filter.odd=name.smudge",
    "trailer.waypost-tree.command",
    "trailer.waypost-task.cmd",
    "pager.status",
    "interactive.diffFilter",
    "alias.status",
    "uploadpack.packObjectsHook",
];

const SWITCHES: [(&str, &str); 9] = [
    ("filter.evil.required", "true"),
    ("commit.gpgSign", "true"),
    ("tag.gpgSign", "true"),
    ("log.showSignature", "true"),
    ("submodule.recurse", "true"),
    ("protocol.ext.allow", "always"),
    ("protocol.allow", "always"),
    ("user.signingKey", "x"),
    ("gc.auto", "1"),
];

/// A repository full of traps, and the folder in which they would leave their marks.
struct Trapped {
    repository: Repository,
    marks: PathBuf,
}

impl Trapped {
    fn new() -> Self {
        let repository = Repository::new();
        let marks = repository.root.parent().unwrap().join("marks");
        fs::create_dir(&marks).unwrap();
        let trapped = Self { repository, marks };
        let root = &trapped.repository.root;
        let attributes = "*.txt filter=evil diff=evil merge=evil\n*.odd filter=odd=name\n";
        trapped.repository.write(".gitattributes", attributes);
        trapped.repository.write("x.odd", "odd\n");
        trapped.repository.write("-rf.txt", "an argument\n");
        trapped.repository.git("add -A");
        trapped.repository.git("commit -q -m attributes");
        trapped.repository.git("branch victim");
        for branch in ["--force", "-d", "--upload-pack=x"] {
            let packed = format!("{}\n", trapped.repository.head());
            write(&root.join(".git/refs/heads").join(branch), &packed);
        }
        trapped.set(&root.join(".git"), "main");
        trapped
    }

    fn trap(&self, name: &str) -> String {
        format!("touch '{}'; true", self.marks.join(name.replace('/', "_")).display())
    }

    /// Sets every trap in the repository at `git_dir`.
    fn set(&self, git_dir: &Path, who: &str) {
        for hook in HOOKS {
            let path = git_dir.join("hooks").join(hook);
            write(&path, &format!("#!/bin/sh\n{}\n", self.trap(&format!("{who}-{hook}"))));
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut included = String::new();
        for (number, key) in SETTINGS.iter().enumerate() {
            let (section, name) = key.rsplit_once('.').unwrap();
            let head = match section.split_once('.') {
                Some((first, rest)) => format!("[{first} \"{rest}\"]"),
                None => format!("[{section}]"),
            };
            let mut trap = self.trap(&format!("{who}-{key}"));
            if key.starts_with("gpg.") {
                // These are started without a shell.
                let program = git_dir.join(key);
                write(&program, &format!("#!/bin/sh\n{trap}\n"));
                fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
                trap = program.display().to_string();
            }
            let line = format!("{head}\n\t{name} = \"{trap}\"\n");
            // Half of them come from a file that the configuration includes.
            match number % 2 {
                0 => append(&git_dir.join("config"), &line),
                _ => included.push_str(&line),
            }
        }
        for (key, value) in SWITCHES {
            let (section, name) = key.rsplit_once('.').unwrap();
            let head = match section.split_once('.') {
                Some((first, rest)) => format!("[{first} \"{rest}\"]"),
                None => format!("[{section}]"),
            };
            append(&git_dir.join("config"), &format!("{head}\n\t{name} = {value}\n"));
        }
        write(&git_dir.join("more"), &included);
        let url = format!("ext::touch {}", self.marks.join(format!("{who}-ext")).display());
        append(
            &git_dir.join("config"),
            &format!(
                "[include]\n\tpath = more\n[remote \"origin\"]\n\turl = {url}\n\tpromisor = true\n"
            ),
        );
    }

    fn trees(&self) -> Trees {
        self.repository.trees()
    }

    #[track_caller]
    fn nothing_ran(&self, when: &str) {
        let found: Vec<String> = fs::read_dir(&self.marks)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(found, Vec::<String>::new(), "ran at {when}");
    }
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).unwrap_or_default();
    write(path, &(before + text));
}

/// Git as a careless program would call it; that something runs shows that the traps are real.
#[expect(clippy::disallowed_methods, reason = "a test plays a careless program")]
fn careless(folder: &Path, line: &str) {
    let words = line.split(' ');
    let _output = std::process::Command::new("git").args(words).current_dir(folder).output();
}

#[test]
fn the_traps_are_real() {
    let trapped = Trapped::new();
    let root = &trapped.repository.root;
    append(&root.join("a.txt"), "more\n");
    careless(root, "diff");
    // A filter that is a process stands before the other kinds.
    let config = fs::read_to_string(root.join(".git/config")).unwrap();
    let lines = config.lines().filter(|line| !line.starts_with("\tprocess ="));
    write(&root.join(".git/config"), &lines.collect::<Vec<_>>().join("\n"));
    append(&root.join(".git/config"), "\n[filter \"evil\"]\n\trequired = false\n");
    for line in [
        "worktree add --force victim-tree victim",
        "add a.txt",
        "-c diff.external=false diff",
        "-c diff.evil.command=false -c diff.external= log -p --ext-diff",
        "log -p --ext-diff",
        "log -p --no-ext-diff",
        "commit --allow-empty -m x",
        "-c commit.gpgSign=false commit --allow-empty --edit -m x --trailer Waypost-Task:1",
        "fetch origin",
    ] {
        careless(root, line);
    }
    let mut found: Vec<String> = fs::read_dir(&trapped.marks)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    let expected = [
        "main-core.editor",
        "main-core.fsmonitor",
        "main-diff.evil.command",
        "main-diff.evil.textconv",
        "main-ext",
        "main-filter.evil.clean",
        "main-filter.evil.process",
        "main-filter.evil.smudge",
        "main-gpg.program",
        "main-post-checkout",
        "main-pre-commit",
        "main-reference-transaction",
        "main-trailer.waypost-task.cmd",
    ];
    for name in expected {
        assert!(found.iter().any(|it| it == name), "{name} is not in {found:?}");
    }
}

#[test]
fn nothing_of_the_repository_is_run() {
    let trapped = Trapped::new();
    let trees = trapped.trees();
    let head = fs::read_to_string(trapped.repository.root.join(".git/refs/heads/main")).unwrap();
    let made = make(&trees, NAME, head.trim()).unwrap();
    trapped.nothing_ran("make");
    append(&made.path.join("a.txt"), "work\n");
    append(&made.path.join("x.odd"), "work\n");
    write(&made.path.join("--new.txt"), "new");
    take_snapshot(&trees, NAME, "test").unwrap().unwrap();
    trapped.nothing_ran("snapshot");
    let Retirement::Removed { snapshot: Some(_) } = retire(&trees, NAME, "test").unwrap() else {
        panic!("it was not removed");
    };
    trapped.nothing_ran("retired");
    bring_back(&trees, NAME, None).unwrap();
    trapped.nothing_ran("undo");
    assert_eq!(fs::read_to_string(made.path.join("a.txt")).unwrap(), "one\nwork\n");
    list(&trees).unwrap();
    stage(&trees, NAME).unwrap();
    trapped.nothing_ran("list and stage");
    let order = crate::tree::PruneOrder {
        older_than: Some(std::time::Duration::ZERO),
        ..Default::default()
    };
    let pruned = prune(&trees, &order, |_| false, now()).unwrap();
    assert_eq!(pruned.removed.len(), 1);
    trapped.nothing_ran("prune");
    make(&trees, NAME, "main").unwrap();
    fs::remove_dir_all(&made.path).unwrap();
    make(&trees, NAME, "main").unwrap();
    trapped.nothing_ran("make again");
}

#[test]
fn a_merge_is_made_by_git_itself() {
    let trapped = Trapped::new();
    let root = &trapped.repository.root;
    let config = fs::read_to_string(root.join(".git/config")).unwrap();
    write(&root.join(".git/config"), "[core]\n\tbare = false\n");
    let hooks = "-c core.hooksPath=/dev/null -c user.name=a -c user.email=a@b";
    for (branch, text) in [("ours", "zero\none\n"), ("theirs", "one\ntwo\n"), ("other", "x\n")] {
        git(root, &format!("{hooks} checkout -q -b {branch} victim"));
        write(&root.join("a.txt"), text);
        git(root, &format!("{hooks} commit -q -a -m {branch}"));
    }
    write(&root.join(".git/config"), &config);
    let git = trapped.trees().git().unwrap();
    let tree = git.text(&["merge-tree", "--write-tree", "ours", "other"]);
    assert!(tree.is_err(), "that is a conflict");
    let base = git.text(&["merge-tree", "--write-tree", "victim", "theirs"]).unwrap();
    let merged = git.text(&["cat-file", "blob", &format!("{base}:a.txt")]).unwrap();
    assert_eq!(merged, "one\ntwo");
    trapped.nothing_ran("merge");
}

#[test]
fn what_is_set_while_we_go_on_is_not_run_either() {
    let trapped = Trapped::new();
    let config = trapped.repository.root.join(".git/config");
    let traps = fs::read_to_string(&config).unwrap();
    write(&config, "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
    let trees = trapped.trees();
    make(&trees, NAME, "main").unwrap();
    write(&config, &traps);
    let other = "worktree/phase-1-cart--T1.1-2";
    let path = make(&trees, other, "main").unwrap().path;
    trapped.nothing_ran("make");
    append(&path.join("a.txt"), "work\n");
    retire(&trees, other, "test").unwrap();
    retire(&trees, NAME, "test").unwrap();
    trapped.nothing_ran("retired");
}

#[test]
fn a_tree_that_points_git_elsewhere_is_looked_at_where_it_is() {
    let trapped = Trapped::new();
    let root = &trapped.repository.root;
    let other = root.parent().unwrap().join("other");
    fs::create_dir(&other).unwrap();
    git(&other, "init -q -b main .");
    trapped.set(&other.join(".git"), "other");
    let trees = trapped.trees();
    let path = make(&trees, NAME, "main").unwrap().path;
    let admin = root.join(".git/worktrees").join(path.file_name().unwrap());
    write(&path.join(".git"), &format!("gitdir: {}\n", other.join(".git").display()));
    write(&admin.join("commondir"), &format!("{}\n", other.join(".git").display()));
    let elsewhere = format!("[core]\n\tworktree = {}\n", other.display());
    append(&root.join(".git/config"), &elsewhere);
    append(&root.join(".git/config"), "[extensions]\n\tworktreeConfig = true\n");
    write(&admin.join("config.worktree"), &elsewhere);
    append(&admin.join("config.worktree"), &fs::read_to_string(other.join(".git/config")).unwrap());
    write(&path.join("new.txt"), "work");
    let Retirement::Removed { snapshot: Some(snapshot) } = retire(&trees, NAME, "test").unwrap()
    else {
        panic!("it was not removed");
    };
    trapped.nothing_ran("retired");
    write(&root.join(".git/config"), "[core]\n\tbare = false\n");
    assert_eq!(git(root, &format!("cat-file blob {snapshot}:new.txt")), "work");
}

#[test]
fn repositories_in_the_tree_run_nothing_either() {
    let trapped = Trapped::new();
    let trees = trapped.trees();
    let path = make(&trees, NAME, "main").unwrap().path;
    let inner = path.join("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, "init -q -b main .");
    write(&inner.join(".gitattributes"), "* filter=evil diff=evil\n");
    write(&inner.join("x.txt"), "x");
    git(&inner, "add -A");
    git(&inner, "-c user.name=a -c user.email=a@b commit -q -m x");
    git(&inner, "update-ref refs/remotes/origin/main HEAD");
    trapped.set(&inner.join(".git"), "inner");
    assert_eq!(stage(&trees, NAME).unwrap(), ["inner"]);
    trapped.nothing_ran("stage");
    // As a submodule, so that git itself would look into it.
    let commit = fs::read_to_string(inner.join(".git/refs/heads/main")).unwrap();
    let config = trapped.repository.root.join(".git/config");
    let traps = fs::read_to_string(&config).unwrap();
    write(&config, "[core]\n\tbare = false\n");
    git(
        &path,
        &format!(
            "-c core.hooksPath=/dev/null update-index --add --cacheinfo 160000,{},inner",
            commit.trim()
        ),
    );
    write(&config, &traps);
    append(&inner.join("x.txt"), "changed");
    write(&path.join("new.txt"), "new");
    for only in [&["inner"][..], &["inner", "new.txt"], &[]] {
        assert_eq!(stage_among_others(&trees, NAME, only).unwrap(), Vec::<String>::new());
        trapped.nothing_ran("stage of a submodule");
    }
    let found = retire(&trees, NAME, "test").unwrap();
    let reason = "the repository inner in it has changes that are not committed".to_owned();
    assert_eq!(found, Retirement::Refused { reason });
    write(&inner.join("x.txt"), "x");
    let found = retire(&trees, NAME, "test").unwrap();
    assert!(matches!(found, Retirement::Removed { snapshot: Some(_) }), "{found:?}");
    trapped.nothing_ran("retired");
}
