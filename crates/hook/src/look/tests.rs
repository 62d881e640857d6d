//! The real disk, in folders of the tests' own.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;
use waypost_agent::{
    Hooked, Product,
    hook::EventKind,
    programs::{AgentProgram, BUILT_IN},
    registration::{Handler, Sharing, Subscription},
    settings::{Around, Obstacle},
};
use waypost_guard::{Context, Deed, judge_shell, judge_tool};
use waypost_model::tool::{Tool, ToolKind};

use super::*;

/// A project in a repository, with a home beside it.
struct Project {
    folder: TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["p/.git/objects", "p/.git/refs/heads", "p/.git/hooks", "p/sub", "home"] {
            fs::create_dir_all(project.path(folder)).unwrap();
        }
        project.write("p/.git/HEAD", "ref: refs/heads/topic/x\n");
        files.iter().for_each(|(path, text)| project.write(path, text));
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, target: &str, path: &str) {
        symlink(target, self.path(path)).unwrap();
    }

    fn files(&self) -> Files {
        self.files_with(&BUILT_IN)
    }

    fn files_with(&self, programs: &Programs) -> Files {
        let (root, git) = (self.path("p"), self.path("p/.git"));
        let state = git.join("waypost");
        let homes = Homes {
            home: Some(self.path("home")),
            config: Some(self.path("home/.config")),
            state: Some(self.path("home/.local/state")),
            git_system: Some(self.path("etc/gitconfig")),
        };
        Files::new(root.clone(), root, Some(git), state, programs).with_homes(homes)
    }

    /// What a command would do, in short.
    fn verdict(&self, command: &str) -> &'static str {
        self.verdict_with(&BUILT_IN, command)
    }

    fn verdict_with(&self, programs: &Programs, command: &str) -> &'static str {
        let files = self.files_with(programs);
        let (writing_tools, free_tools) = (&[], &[]);
        let context = Context { look: &files, writing_tools, free_tools, is_walled: false };
        told(&judge_shell(command, &context))
    }
}

/// What a call would do, in short.
fn told(deed: &Deed) -> &'static str {
    match () {
        () if deed.unknowable.is_some() => "unknowable",
        () if !deed.protected.is_empty() => "protected",
        () if !deed.pushes.is_empty() => "push",
        () if !deed.writes.is_empty() => "write",
        () => "ok",
    }
}

#[test]
fn a_script_is_what_a_shell_would_read() {
    let long = format!("true\n{}", "# long\n".repeat(10_000));
    let project = Project::new(&[
        ("p/a.sh", "#!/bin/sh\ngit push\n"),
        ("p/plain", "git push\n"),
        ("p/tool.py", "#!/usr/bin/env python3\nprint(1)\n"),
        ("p/long.sh", &long),
        ("p/long.py", &format!("#!/usr/bin/python3\n{long}")),
        ("p/binary", "\u{7f}ELF\u{2}\u{1}\u{1}\0\0"),
        ("outside.sh", "git push\n"),
        ("home/x.sh", "git push\n"),
        ("home/.bashrc", "eval \"$(dircolors)\"\n"),
    ]);
    project.link("../../outside.sh", "p/sub/link.sh");
    project.link("nowhere", "p/dangling");
    let files = project.files();
    let shell = |text: &str| Script::Shell(text.to_owned());
    let check = |path: &str, want: Script| {
        assert_eq!(files.script(path, Reader::Kernel), want, "{path}");
    };
    check("a.sh", shell("#!/bin/sh\ngit push\n"));
    check("sub/../a.sh", shell("#!/bin/sh\ngit push\n"));
    check("plain", shell("git push\n"));
    check("tool.py", Script::Other);
    check("long.sh", Script::TooLong);
    check("long.py", Script::Other);
    check("binary", Script::Other);
    check("sub", Script::Other);
    check("sub/link.sh", shell("git push\n"));
    check(project.path("outside.sh").to_str().unwrap(), shell("git push\n"));
    check("~/x.sh", shell("git push\n"));
    check("~/.bashrc", Script::Other);
    check("/bin/sh", Script::Other);
    check("/dev/null", Script::Other);
    check("missing.sh", Script::Absent);
    check("dangling", Script::Absent);
    check("target/debug/app", Script::Other);
    check("a.sh/b", Script::Absent);
    assert_eq!(files.script("tool.py", Reader::Shell), shell("#!/usr/bin/env python3\nprint(1)\n"));
    assert_eq!(files.script("target/x.sh", Reader::Shell), Script::Absent);
}

#[test]
fn what_could_wait_is_not_read() {
    let project = Project::new(&[]);
    let pipe = project.path("p/pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let files = project.files();
    assert_eq!(files.script("pipe", Reader::Shell), Script::Absent);
    assert_eq!(files.script("/dev/tty", Reader::Shell), Script::Absent);
    assert_eq!(files.script("/dev/zero", Reader::Shell), Script::Absent);
    symlink(&pipe, project.path("p/.git/config")).unwrap();
    assert_eq!(project.files().git_alias("p"), None);
}

#[test]
fn git_aliases_come_from_every_file_and_the_last_wins() {
    let project = Project::new(&[
        ("etc/gitconfig", "[alias]\n\ta = system\n\tb = system\n"),
        ("home/.config/git/config", "[alias]\n\tb = user\n\tc = user\n"),
        ("home/.gitconfig", "[alias]\n\tc = home\n\td = home\n[include]\n\tpath = ~/more\n"),
        ("home/more", "[alias]\n\tm = more\n[include]\npath = more\n"),
        ("p/.git/config", "[alias]\n\td = !git push\n[includeIf \"onbranch:x\"]\npath = extra\n"),
        ("p/.git/extra", "[alias]\n\te = push\n"),
        ("p/.git/config.worktree", "[alias \"w\"]\n\tcommand = push\n"),
    ]);
    let files = project.files();
    let check = |name: &str, want: Option<&str>| {
        assert_eq!(files.git_alias(name).as_deref(), want, "{name}");
    };
    check("a", Some("system"));
    check("b", Some("user"));
    check("C", Some("home"));
    check("d", Some("!git push"));
    check("e", Some("push"));
    check("m", Some("more"));
    check("w", Some("push"));
    // The file that includes itself could go on for ever, so that nothing is sure to be absent.
    check("z", Some("\0"));
    assert_eq!(project.verdict("git d"), "push");
    assert_eq!(project.verdict("git w origin"), "push");
    assert_eq!(project.verdict("git z"), "unknowable");
    assert_eq!(Project::new(&[]).files().git_alias("z"), None);
}

const MAKEFILE: &str = "\
CARGO ?= cargo
Q := @
GIT = git
TOOL := $(or $(X),git)
VERSION := $(shell git describe --tags)
.PHONY: all test deploy release odd quoted branch nested
all: test
test: build
\t$(Q)$(CARGO) test $(ARGS)
build: ; cargo build
deploy: test
\t@echo deploying
\t-$(GIT) push \\
\t  origin
release: deploy
odd:
\t$(TOOL) push
quoted:
\tbash -c '$(TOOL) push'
%.html: %.md
\tgit push # $<
site: $(wildcard *.html)
ifeq ($(A),b)
branch:
\techo a
else
branch:
\tgit push
endif
loop: pool
pool: loop
\ttrue
comment:
\t# nothing
nested:
\t$(MAKE) -C sub deep
dollar:
\tfor i in a b; do echo $$i; done
";

#[test]
fn recipes_of_make_are_followed_to_what_they_depend_on() {
    let project = Project::new(&[
        ("p/Makefile", MAKEFILE),
        ("p/sub/Makefile", "include ../rules.mk\ndeep:\n\tgit push\n"),
        ("p/rules.mk", "common:\n\tgit push\n"),
        ("p/other.mk", "x:\n\tgit push\n"),
        ("p/bad/Makefile", "X := $(shell git push)\na:\n\ttrue\n"),
        ("p/py/Makefile", "SHELL = python3\na:\n\timport os\n"),
        ("p/two/Makefile", "GIT = git\nx: GIT = echo\nx:\n\t$(GIT) push\n"),
    ]);
    let check = |command: &str, want: &str| {
        assert_eq!(project.verdict(command), want, "{command}");
    };
    check("make", "ok");
    check("make test", "ok");
    check("make deploy", "push");
    check("make release", "push");
    check("make odd", "unknowable");
    check("make quoted", "unknowable");
    check("make page.html", "push");
    check("make site", "push");
    check("make branch", "push");
    check("make loop", "ok");
    check("make comment", "ok");
    check("make dollar", "ok");
    check("make nested", "push");
    check("make missing", "ok");
    check("make -C sub deep", "push");
    check("make -C sub common", "push");
    check("cd sub && make deep", "push");
    check("make -f other.mk x", "push");
    check("make -f missing.mk x", "unknowable");
    check("make TOOL=git odd", "push");
    check("make CARGO='git push;' test", "push");
    check("make -C bad a", "push");
    check("make -C py a", "unknowable");
    check("make -C two x", "unknowable");
}

#[test]
fn scripts_of_a_package_are_found_upwards() {
    let project = Project::new(&[
        (
            "p/package.json",
            r#"{"scripts": {"ship": "git push", "test": "jest", "postx": "git push", "x": "y"}}"#,
        ),
        ("p/web/package.json", r#"{"scripts": {"go": "git push"}}"#),
        ("p/bad/package.json", "{"),
    ]);
    let check = |command: &str, want: &str| {
        assert_eq!(project.verdict(command), want, "{command}");
    };
    check("npm run ship", "push");
    check("npm test", "ok");
    check("npm run x", "push");
    check("cd sub && npm run ship", "push");
    check("npm --prefix web run go", "push");
    check("npm run go", "ok");
    check("yarn --cwd web go", "push");
    check("npm --prefix bad run go", "ok");
}

#[test]
fn recipes_of_just_are_followed_to_what_they_need() {
    let justfile = "\
set shell := [\"bash\", \"-uc\"]
tool := \"git\"
alias s := ship
default: test
test *args:
    cargo test {{args}}
@ship: test && after
    {{tool}} push
after:
    #!/usr/bin/env bash
    set -e
    true
odd:
    {{env('X')}} push
quoted:
    bash -c '{{env('X')}}'
code:
    #!/usr/bin/env python3
    import os
needs: (ship \"x\")
";
    let project = Project::new(&[
        ("p/justfile", justfile),
        ("p/tools/Justfile", "go:\n  git push\n"),
        ("p/back/justfile", "x := `git push`\na:\n  true\n"),
    ]);
    let check = |command: &str, want: &str| {
        assert_eq!(project.verdict(command), want, "{command}");
    };
    check("just", "ok");
    check("just test a b", "ok");
    check("just ship", "push");
    check("just s", "push");
    check("just needs", "push");
    check("just odd", "unknowable");
    check("just quoted", "unknowable");
    check("just code", "ok");
    check("just after", "ok");
    check("just missing", "ok");
    check("cd sub && just ship", "push");
    check("just -f tools/Justfile go", "push");
    check("just -d tools go", "push");
    check("just tool=echo ship", "ok");
    check("just --justfile back/justfile a", "push");
}

#[test]
fn protected_files_are_found_by_where_a_path_leads() {
    let project = Project::new(&[
        ("p/.develop-workflow/state.json", "{}"),
        ("p/.git/waypost/journal.db", ""),
        ("p/.git/config", "[core]\n\thooksPath = tools/hooks\n"),
        ("p/waypost.toml", ""),
        ("home/.config/waypost/config.toml", ""),
    ]);
    project.link(".develop-workflow", "p/work");
    project.link("waypost.toml", "p/settings");
    project.link(".git/waypost", "p/journal");
    project.link("tools", "p/scripts");
    project.link(".git/hooks/new-hook", "p/dangling");
    fs::hard_link(project.path("p/waypost.toml"), project.path("p/twin")).unwrap();
    fs::hard_link(project.path("p/.git/waypost/journal.db"), project.path("p/twin.db")).unwrap();
    let files = project.files();
    let check = |path: &str, reach: Reach, want: bool| {
        assert_eq!(files.is_protected(path, reach), want, "{path} {reach:?}");
    };
    for path in [
        "work/state.json",
        "work",
        "settings",
        "journal/journal.db",
        "journal/new",
        "tools/hooks/pre-push",
        "scripts/hooks/pre-push",
        "dangling",
        "twin",
        "twin.db",
        ".git/config",
        "sub/../waypost.toml",
        "missing/../waypost.toml",
        "~/.config/waypost/config.toml",
        ".claude/settings.local.json",
    ] {
        check(path, Reach::File, true);
    }
    check(project.path("p/waypost.toml").to_str().unwrap(), Reach::File, true);
    for path in ["src/a.rs", "sub", "tools/x", ".git/info/exclude", "docs/waypost.toml", "~/x"] {
        check(path, Reach::File, false);
    }
    let root = project.path("p").display().to_string();
    for path in ["*", "way*", "*.toml", "sub/../*", "?aypost.toml", "[w]*", "**/x", ".git/c*"] {
        check(path, Reach::File, true);
        check(&format!("{root}/{path}"), Reach::File, true);
    }
    for path in ["src/*", "sub/**/*.rs", "*.rs", "docs/way*", "~/*", "/nowhere/*", ".git/i*"] {
        check(path, Reach::File, false);
        check(path, Reach::Below, false);
    }
    check("t*", Reach::Below, true);
    check("tools/h*", Reach::Below, true);
    check("tools", Reach::File, false);
    check("tools", Reach::Below, true);
    check("../p", Reach::Below, true);
    check("~/.config", Reach::Below, true);
    check("sub", Reach::Below, false);
}

#[test]
fn branches_are_read_from_the_repository() {
    let project = Project::new(&[]);
    assert_eq!(project.files().current_branch().as_deref(), Some("topic/x"));
    assert_eq!(project.files().pushed_branch().as_deref(), Some("topic/x"));
    assert_eq!(project.files().default_branch(), None);
    project.write("home/.gitconfig", "[init]\n\tdefaultBranch = trunk\n");
    assert_eq!(project.files().default_branch(), None);
    project.write("p/.git/packed-refs", "# pack-refs\n0123 refs/heads/trunk\n");
    assert_eq!(project.files().default_branch().as_deref(), Some("trunk"));
    project.write("p/.git/refs/remotes/origin/HEAD", "ref: refs/remotes/origin/dev/main\n");
    assert_eq!(project.files().default_branch().as_deref(), Some("dev/main"));
    project.write("p/.git/config", "[push]\n\tdefault = upstream\n");
    assert_eq!(project.files().pushed_branch(), None);
    project.write("p/.git/config", "[remote \"origin\"]\n\tpush = HEAD:main\n");
    assert_eq!(project.files().pushed_branch(), None);
    project.write("p/.git/HEAD", "0123456789\n");
    assert_eq!(project.files().current_branch(), None);
}

#[test]
fn a_linked_work_tree_has_a_head_of_its_own() {
    let project = Project::new(&[
        ("p/.git/worktrees/two/HEAD", "ref: refs/heads/two\n"),
        ("p/.git/worktrees/two/config.worktree", "[alias]\n\tz = push\n"),
        ("two/.git", "gitdir: ../p/.git/worktrees/two\n"),
    ]);
    let mut files = project.files();
    files.root = project.path("two");
    files.folder = project.path("two");
    assert_eq!(files.current_branch().as_deref(), Some("two"));
    assert_eq!(files.git_alias("z").as_deref(), Some("push"));
    assert!(files.is_protected("../p/.git/hooks/pre-push", Reach::File));
}

#[test]
fn outside_git_there_is_less_to_know() {
    let project = Project::new(&[]);
    let (root, state) = (project.path("p/sub"), project.path("p/sub/.waypost"));
    let files = Files::new(root.clone(), root, None, state, &BUILT_IN).with_homes(Homes::default());
    assert_eq!((files.current_branch(), files.default_branch()), (None, None));
    assert_eq!(files.git_alias("x"), None);
    assert!(files.is_protected(".waypost/journal.db", Reach::File));
    assert!(!files.is_protected("a.rs", Reach::File));
}

/// A program that the product does not have. Only `agent` knows such a thing.
static PARROT: AgentProgram = AgentProgram {
    tools: &[
        Tool { name: "crack", kind: ToolKind::Shell, fields: &["nut"], folders: &["perch"] },
        Tool { name: "peck", kind: ToolKind::Writing, fields: &["seed"], folders: &[] },
    ],
    product: Some(Product::of(&Parrot)),
    more_settings: &[".parrot/config.toml"],
    ..AgentProgram::UNKNOWN
};

#[derive(Debug)]
struct Parrot;

impl Hooked for Parrot {
    fn word(&self) -> &'static str {
        "parrot"
    }

    fn title(&self) -> &'static str {
        "Parrot"
    }

    fn events(&self) -> &'static [(&'static str, EventKind)] {
        &[("BeforePeck", EventKind::BeforeTool)]
    }

    fn is_sender(&self, event: &str, _: &serde_json::Map<String, serde_json::Value>) -> bool {
        event == "BeforePeck"
    }

    fn refusal(&self, _event: &str, _reason: &str) -> Option<serde_json::Value> {
        None
    }

    fn settings_file(&self, _sharing: Sharing) -> &'static str {
        ".parrot/perches.json"
    }

    fn subscriptions(&self) -> &'static [Subscription] {
        &[("BeforePeck", None)]
    }

    fn handler(&self, _event: &str) -> Handler {
        Handler { name: None, timeout: 10, last: None }
    }

    fn files(&self, around: &Around<'_>) -> Vec<PathBuf> {
        vec![around.root.join(".parrot/perches.json")]
    }

    fn obstacles(&self, _around: &Around<'_>) -> Vec<Obstacle> {
        Vec::new()
    }
}

#[test]
fn the_settings_of_a_program_that_was_added_are_protected() {
    let project = Project::new(&[("p/.parrot/perches.json", "{}\n")]);
    project.link(".parrot/perches.json", "p/plain");
    let programs = BUILT_IN.with(&PARROT);
    let table = [
        // By name, wherever they stand, and where the folder is not known.
        ("echo '{}' > .parrot/perches.json", "write", "protected"),
        ("echo '{}' > .parrot/config.toml", "write", "protected"),
        ("echo '{}' > \"$(pwd)/perches.json\"", "write", "protected"),
        ("echo '{}' > \"$(pwd)/config.toml\"", "write", "write"),
        ("rm -r .parrot", "write", "protected"),
        // By where they lead.
        ("echo '{}' > plain", "write", "protected"),
        ("echo '{}' > .parrot/other.json", "write", "write"),
    ];
    for (command, without, with) in table {
        let found = (project.verdict(command), project.verdict_with(&programs, command));
        assert_eq!(found, (without, with), "{command}");
    }
}

#[test]
fn the_tools_of_a_program_that_was_added_are_judged() {
    let project = Project::new(&[("p/sub/ship.sh", "git push\n")]);
    let added = BUILT_IN.with(&PARROT);
    type Fields<'a> = &'a [(&'a str, &'a str)];
    let table = [
        ("crack", &[("nut", "git push")] as Fields<'_>, "push"),
        ("crack", &[("nut", "./ship.sh"), ("perch", "sub")], "push"),
        ("crack", &[("command", "git push")], "unknowable"),
        ("peck", &[("seed", ".parrot/perches.json")], "protected"),
        ("peck", &[("seed", "a.rs"), ("nut", "git push")], "write"),
    ];
    for (name, fields, want) in table {
        let judged = |programs: &Programs| {
            let files = project.files_with(programs);
            let (writing_tools, free_tools) = (&[], &[]);
            let context = Context { look: &files, writing_tools, free_tools, is_walled: false };
            told(&judge_tool(name, programs.tool(name), fields, &context))
        };
        assert_eq!((judged(&BUILT_IN), judged(&added)), ("ok", want), "{name} {fields:?}");
    }
}
