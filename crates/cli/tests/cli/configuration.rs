//! The layers of the configuration, where the person's own is kept, and paths that are no text.

use crate::{
    harness::{BINARY, Project, Ran, USER_CONFIG},
    hook::Asked,
};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::Path,
};

/// One task that fails, and says so in a file each time that it is tried.
fn failing() -> Project {
    let project = Project::git();
    let task = "- [ ] T1.1: Fails\n  - run: echo tried >> ../tries; false\n";
    project.write("TASKS.md", &format!("# Tasks: shop\n\n## Phase 1: One\n\n{task}"));
    project
}

fn value(project: &Project, key: &str) -> (Value, String) {
    let values = project.json("config show");
    let found = values.as_array().unwrap().iter().find(|each| each["key"] == key).unwrap().clone();
    (found["value"].clone(), found["origin"].as_str().unwrap().to_owned())
}

#[test]
fn flags_win_over_the_environment_over_the_project_over_the_user() {
    let retries = |count: u32| format!("[run]\nretry_limit = {count}\n");
    let tries = |project: &Project, line: &str| {
        let ran = project.run(line);
        assert_eq!(ran.code, 1, "{ran}");
        project.read("../tries").lines().count()
    };
    let user = failing();
    user.write(USER_CONFIG, &retries(0));
    assert_eq!(
        value(&user, "run.retry_limit").1,
        user.path("")
            .parent()
            .unwrap()
            .join("home/.config/waypost/config.toml")
            .display()
            .to_string()
    );
    assert_eq!(tries(&user, "run"), 1);
    let project = failing();
    project.write(USER_CONFIG, &retries(2));
    project.write("waypost.toml", &retries(0));
    let origin = project.path("waypost.toml").display().to_string();
    assert_eq!(value(&project, "run.retry_limit"), (json!(0), origin));
    assert_eq!(tries(&project, "run"), 1);
    let environment = failing().variable("WAYPOST_RUN_RETRY_LIMIT", "0");
    environment.write(USER_CONFIG, &retries(2));
    environment.write("waypost.toml", &retries(2));
    let origin = "environment WAYPOST_RUN_RETRY_LIMIT".to_owned();
    assert_eq!(value(&environment, "run.retry_limit"), (json!(0), origin));
    assert_eq!(tries(&environment, "run"), 1);
    let flag = failing().variable("WAYPOST_RUN_RETRY_LIMIT", "2");
    flag.write("waypost.toml", &retries(2));
    assert_eq!(tries(&flag, "run --retry-limit 0"), 1);
}

#[test]
fn the_environment_sets_values_of_every_type_but_none_of_the_workflow() {
    let project = Project::plain()
        .variable("WAYPOST_RUN_BUDGET_USD", "2.5")
        .variable("WAYPOST_RUN_TASK_BUDGET_USD", "1")
        .variable("WAYPOST_RUN_CHECKS", "make, make test")
        .variable("WAYPOST_NOTIFY_NOTIFY_ON_START", "false")
        .variable("WAYPOST_WORKTREE_KEEP_DAYS", "3")
        .variable("WAYPOST_WORKFLOW_STRICT", "true");
    project.write("waypost.toml", "[run]\nbudget_usd = 7\n");
    let table = [
        ("run.budget_usd", json!(2.5)),
        ("run.task_budget_usd", json!(1.0)),
        ("run.checks", json!(["make", "make test"])),
        ("notify.notify_on_start", json!(false)),
        ("worktree.keep_days", json!(3)),
        ("workflow.strict", json!(false)),
    ];
    for (key, want) in table {
        assert_eq!(value(&project, key).0, want, "{key}");
    }
    let wrong = Project::plain().variable("WAYPOST_RUN_BUDGET_USD", "much");
    let ran = wrong.run("config show");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("WAYPOST_RUN_BUDGET_USD=much is not of type float"), "{ran}");
}

const ALICE: &str = "[agents.alice]\nadapter = \"claude\"\ncommand = [\"true\"]\n";

#[test]
fn a_project_can_neither_add_an_agent_nor_say_which_program_one_is() {
    let project = Project::git();
    project.write("TASKS.md", crate::harness::TASKS);
    project.write(USER_CONFIG, ALICE);
    let own = project.home().join(".config/waypost/config.toml").display().to_string();
    let table = [
        (
            "[agents.bob]\nmodel = \"x\"\n",
            "1:9",
            "a project cannot add an agent, and there is no `bob`",
        ),
        (
            "[agents.alice]\ncommand = [\"rm\"]\n",
            "2:1",
            "`command` has a say in which program `alice` is",
        ),
        (
            "[agents.claude]\ncommand = []\n",
            "2:1",
            "`command` has a say in which program `claude` is",
        ),
        (
            "[agents.sim]\nmodel = \"x\"\nadapter = \"acp\"\n",
            "3:11",
            "`adapter` has a say in which program `sim` is",
        ),
    ];
    for (text, place, said) in table {
        project.write("waypost.toml", text);
        for line in ["status", "run --agent alice", "agents", "validate waypost.toml"] {
            let ran = project.run(line);
            assert_eq!(ran.code, 2, "{line} with {text}: {ran}");
            assert!(ran.stderr.contains(said), "{line} with {text}: {ran}");
            assert!(ran.stderr.contains(&format!("waypost.toml:{place}")), "{line}, {text}: {ran}");
            assert!(ran.stderr.contains(&own), "{line} with {text}: {ran}");
            assert!(ran.stderr.contains("hint: remove "), "{line} with {text}: {ran}");
        }
    }
    assert!(!project.journal().exists());
}

#[test]
fn a_tool_that_the_program_would_read_as_an_option_is_refused_with_its_place() {
    let project = Project::git();
    project.write("TASKS.md", crate::harness::TASKS);
    let text = "[agents.claude]\nallowed_tools = [\"Read\", \"--settings={}\"]\n";
    for file in [USER_CONFIG, "waypost.toml"] {
        project.write(file, text);
        for line in ["config show", "run --agent claude", "agents"] {
            let ran = project.run(line);
            assert_eq!(ran.code, 2, "{line} with {file}: {ran}");
            let shown = Path::new(file).file_name().unwrap().to_str().unwrap();
            assert!(ran.stderr.contains(&format!("{shown}:2:26")), "{line} with {file}: {ran}");
            for said in ["`--settings={}` is an option, and no tool", "^", "hint: remove it"] {
                assert!(ran.stderr.contains(said), "{said}, {line} with {file}: {ran}");
            }
        }
        fs::remove_file(project.path(file)).unwrap();
    }
    project.write("waypost.toml", text);
    let ran = project.run("validate waypost.toml");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("waypost.toml:2:26"), "{ran}");
    assert!(!project.journal().exists());
}

#[test]
fn a_project_may_change_how_an_agent_works_that_the_person_knows() {
    let project = Project::git();
    project.write(USER_CONFIG, ALICE);
    project.write(
        "waypost.toml",
        "[agents.alice]\nmodel = \"small\"\naccess = \"read\"\nmax_turns = 3\n\n\
         [agents.codex]\nmodel = \"other\"\n",
    );
    assert!(project.must("validate waypost.toml").stdout.starts_with("valid"));
    let origin = |name: &str| project.path(name).canonicalize().unwrap().display().to_string();
    let command = (json!(["true"]), origin(USER_CONFIG));
    assert_eq!(value(&project, "agents.alice.command"), command);
    assert_eq!(value(&project, "agents.alice.model"), (json!("small"), origin("waypost.toml")));
    assert_eq!(value(&project, "agents.codex.model").0, json!("other"));
}

#[test]
fn the_agent_that_stands_in_for_others_is_waypost_itself() {
    let project = Project::with_tasks();
    project.write(USER_CONFIG, "[agents.sim]\ncommand = [\"claude\"]\n");
    let ran = project.run("run --rehearse");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("the agent `sim` is Waypost itself"), "{ran}");
}

#[test]
fn the_persons_own_file_may_be_a_link_and_the_projects_may_not() {
    let project = Project::git();
    project.write("../dotfiles/waypost/config.toml", "[run]\nretry_limit = 7\n");
    let folder = project.home().join(".config/waypost");
    fs::create_dir_all(&folder).unwrap();
    symlink("../../../dotfiles/waypost/config.toml", folder.join("config.toml")).unwrap();
    let origin = folder.join("config.toml").display().to_string();
    assert_eq!(value(&project, "run.retry_limit"), (json!(7), origin));
    // What is wrong with it is told under the name that the person knows.
    project.write("../dotfiles/waypost/config.toml", "[run]\nretry_limits = 7\n");
    let ran = project.run("config show");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("home/.config/waypost/config.toml:2:1"), "{ran}");
    // A link to nothing is not taken for no file.
    fs::remove_file(project.path("../dotfiles/waypost/config.toml")).unwrap();
    let ran = project.run("config show");
    assert!(ran.code != 0 && ran.stderr.contains("which does not exist"), "{ran}");
    fs::remove_file(folder.join("config.toml")).unwrap();
    project.write("../other.toml", "[run]\nretry_limit = 7\n");
    symlink("../other.toml", project.path("waypost.toml")).unwrap();
    let ran = project.run("config show");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("is a symbolic link"), "{ran}");
}

#[test]
fn the_hook_sees_a_change_behind_a_link_to_the_persons_own_file() {
    let project = Project::git();
    project.write("../dotfiles/config.toml", "[workflow]\nstrict = false\n");
    let folder = project.home().join(".config/waypost");
    fs::create_dir_all(&folder).unwrap();
    symlink("../../../dotfiles/config.toml", folder.join("config.toml")).unwrap();
    project.must("develop start 'Live chat'");
    assert!(project.may_write(Asked::Small, "src/lib.rs").is_allowed());
    project.write("../dotfiles/config.toml", "[workflow]\nstrict = true\n");
    project.may_write(Asked::Small, "src/lib.rs").refused();
    // Another target, at another time.
    project.write("../dotfiles/relaxed.toml", "[workflow]\nstrict = false\n");
    fs::remove_file(folder.join("config.toml")).unwrap();
    symlink("../../../dotfiles/relaxed.toml", folder.join("config.toml")).unwrap();
    assert!(project.may_write(Asked::Small, "src/lib.rs").is_allowed());
}

#[test]
fn a_project_whose_path_is_no_text_is_refused_in_one_sentence() {
    let project = Project::plain();
    let folder = project.base().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&folder).unwrap();
    project.git_in(&folder, "init -q -b main .");
    fs::write(folder.join("TASKS.md"), crate::harness::TASKS).unwrap();
    for line in [
        "init",
        "status",
        "doctor",
        "config show",
        "develop start 'Live chat'",
        "run",
        "run next",
        "inbox",
        "log",
        "agents",
        "worktree list",
    ] {
        let ran = project.run_in(&folder, line);
        assert_eq!(ran.code, 2, "{line}: {ran}");
        assert!(
            ran.stderr.contains("the path of this project is not valid UTF-8"),
            "{line}: {ran}"
        );
        assert!(ran.stdout.is_empty(), "{line}: {ran}");
    }
    assert!(!folder.join(".git/waypost").exists());
    assert_eq!(project.git_in(&folder, "status --porcelain"), "?? TASKS.md\n");
    // The hook has nothing to hold there.
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash",
                       "tool_input": {"command": "git push"}});
    let command = format!("printf '%s' '{event}' | {BINARY} hook claude");
    let ran: Ran = project.command("sh", &folder).args(["-c", &command]).output().unwrap().into();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran}");
}

#[test]
fn how_large_a_task_list_may_be_is_a_setting() {
    let project = Project::git();
    let note = "x".repeat(1 << 20);
    let task = "- [ ] T1.1: One\n  - run: `true`\n";
    project.write("TASKS.md", &format!("# Tasks: shop\n\n{note}\n\n## Phase 1: One\n\n{task}"));
    project.write("waypost.toml", "[run]\ntasks_max_mb = 1\n");
    for line in ["run", "run TASKS.md", "run --dry-run", "run --verify"] {
        let ran = project.run(line);
        assert_eq!(ran.code, 2, "{line}: {ran}");
        assert!(ran.stderr.contains("TASKS.md has more than 1 MiB"), "{ran}");
        assert!(ran.stderr.contains("run.tasks_max_mb"), "{ran}");
    }
    project.write("waypost.toml", "[run]\ntasks_max_mb = 2\n");
    assert_eq!(value(&project, "run.tasks_max_mb").0, json!(2));
    let ran = project.run("run --isolation none");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(project.read("TASKS.md").ends_with("- [x] T1.1: One\n  - run: `true`\n"));
    // Without the setting ten are read.
    let plan = |note: &str, box_: &str| {
        format!("# Tasks: shop\n\n{note}\n\n## Phase 1: One\n\n{box_} T1.1: One\n  - run: `true`\n")
    };
    let project = Project::git();
    let line = format!("{}\n", "x".repeat(1_023));
    let note = line.repeat(11 << 10);
    project.write("TASKS.md", &plan(&note, "- [ ]"));
    let ran = project.run("run --isolation none");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("TASKS.md has more than 10 MiB"), "{ran}");
    project.write("waypost.toml", "[run]\ntasks_max_mb = 12\n");
    let ran = project.run("run --isolation none");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        project.read("TASKS.md") == plan(&note, "- [x]"),
        "its box is ticked, and the rest is as it was"
    );
    for refused in [0, 65] {
        project.write("waypost.toml", &format!("[run]\ntasks_max_mb = {refused}\n"));
        let ran = project.run("run status");
        assert!(ran.code == 2 && ran.stderr.contains("1 to 64"), "{ran}");
    }
}
