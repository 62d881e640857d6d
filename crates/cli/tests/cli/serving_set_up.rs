//! Tasks that cannot be set up, and projects that change under a server: nothing of it is a task's fault.

use crate::{
    execute::{alive, begin, kill, wait_for},
    harness::{Project, USER_CONFIG},
    shop::{CUSTOM, Shop, say, steps, wait_for_file, write},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _};

const TYPE: &str = "version = 1\nname = \"note\"\ntitle = \"A note\"\nworkspace = \"own\"\n\
                    prompt = \"{description}\"\n";

/// A cause, how it comes about and how it is fixed.
struct Trouble {
    cause: &'static str,
    task: &'static str,
    make: fn(&Project),
    mend: fn(&Project),
}

/// Gives the agent another program; what was configured is kept.
fn set_program(project: &Project, program: &str) {
    let config = project.read(USER_CONFIG);
    project.write("../config.kept", &config);
    let (start, _) = config.split_once("command = ").unwrap();
    project.write(USER_CONFIG, &format!("{start}command = [{program:?}]\n"));
}

fn give_program_back(project: &Project) {
    project.write(USER_CONFIG, &project.read("../config.kept"));
}

const TROUBLES: [Trouble; 6] = [
    Trouble {
        cause: "there is no agent `nobody`",
        task: "'A note' --type custom --description 'Write a note.' --agent nobody",
        make: |_| {},
        mend: |project| {
            let config = project.read(USER_CONFIG);
            let own = config.split("[agents.smith]").nth(1).unwrap().to_owned();
            project.write(USER_CONFIG, &format!("{config}\n[agents.nobody]{own}"));
        },
    },
    Trouble {
        cause: "its program `/nowhere/smith` is not installed",
        task: CUSTOM,
        make: |project| set_program(project, "/nowhere/smith"),
        mend: give_program_back,
    },
    Trouble {
        cause: "is not executable",
        task: CUSTOM,
        make: |project| {
            project.write("../smith", "#!/bin/sh\n");
            set_program(project, project.path("../smith").to_str().unwrap());
        },
        mend: give_program_back,
    },
    Trouble {
        cause: "wants `/nowhere/sh`, which is not there",
        task: CUSTOM,
        make: |project| {
            project.write("../smith", "#!/nowhere/sh\n");
            let program = project.path("../smith");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            set_program(project, program.to_str().unwrap());
        },
        mend: give_program_back,
    },
    Trouble {
        cause: "that has no commit yet",
        task: "'A change' --type tree --description 'Write a note.'",
        make: |project| {
            fs::remove_dir_all(project.path(".git/refs/heads")).unwrap();
            fs::create_dir(project.path(".git/refs/heads")).unwrap();
            let tree = TYPE.replace("\"note\"", "\"tree\"").replace("\"own\"", "\"tree\"");
            project.write("task-types/tree.toml", &tree);
        },
        mend: |project| drop(project.git_command("commit -q --allow-empty -m begin")),
    },
    Trouble {
        cause: "there is no task type `note`",
        task: "'A note' --type note --description 'Write a note.'",
        make: |project| project.write("task-types/note.toml", TYPE),
        mend: |project| project.write("task-types/note.toml", TYPE),
    },
];

/// All that `why` says of a task.
fn why(shop: &Shop, id: &str) -> Value {
    shop.project.json(&format!("why {id}"))
}

#[test]
fn what_cannot_be_set_up_waits_with_its_cause_and_goes_on_when_that_is_gone() {
    for Trouble { cause, task, make, mend } in TROUBLES {
        let mut shop = Shop::new(&json!({}));
        make(&shop.project);
        let id = shop.new_task(task);
        let done = [write("note.txt", "hello\n"), say("=== CUSTOM TASK COMPLETE ===")];
        shop.script(&json!({format!("{id}.0"): [steps(&done)]}));
        shop.project.must(&format!("task submit {id}"));
        if task.contains("--type note") {
            fs::remove_file(shop.project.path("task-types/note.toml")).unwrap();
        }
        shop.serve();
        wait_for(&format!("{cause}\n{}", shop.said()), || {
            why(&shop, &id)["reasons"][0]["text"].as_str().unwrap().contains(cause)
        });
        let told = why(&shop, &id);
        assert_eq!(told["reasons"].as_array().unwrap().len(), 1, "{told}");
        assert!(told["reasons"][0]["next"].is_string(), "a step mends it: {told}");
        let inbox = shop.project.json("inbox");
        let [entry] = inbox.as_array().unwrap().as_slice() else { panic!("one entry: {inbox}") };
        assert_eq!(entry["kind"], "unavailable", "{entry}");
        assert!(entry["text"].as_str().unwrap().contains(cause), "{entry}");
        assert_eq!(shop.task(&id)["status"], "pending", "{}", shop.said());
        mend(&shop.project);
        shop.wait(&id, "completed");
        assert_eq!(shop.project.json("inbox"), json!([]), "{cause}");
        let transitions = shop.transitions(&id);
        assert!(!transitions.iter().any(|it| it.contains("PROCESS_EXIT")), "{transitions:?}");
        shop.end();
    }
}

#[test]
fn an_agent_that_is_gone_in_the_middle_of_the_work_is_waited_for() {
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let first = [write("note.txt", "begun\n"), json!({"hang": true})];
    let again = [say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&first), steps(&again)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let note = shop.project.path(".waypost/workspaces").join(&id).join("note.txt");
    wait_for("the agent's work", || note.exists());
    shop.end();
    let config = shop.project.read(USER_CONFIG);
    shop.project.write(USER_CONFIG, &config.replace("smith", "jones"));
    shop.serve();
    let cause = "there is no agent `smith`";
    wait_for(&format!("{cause}\n{}", shop.said()), || {
        why(&shop, &id)["reasons"][0]["text"].as_str().unwrap().contains(cause)
    });
    assert_eq!(shop.project.json("inbox").as_array().unwrap().len(), 1);
    shop.project.write(USER_CONFIG, &config);
    shop.wait(&id, "completed");
    let transitions = shop.transitions(&id);
    assert!(!transitions.iter().any(|it| it.contains("PROCESS_EXIT")), "{transitions:?}");
    assert_eq!(shop.project.json("inbox"), json!([]));
    shop.end();
}

#[test]
fn no_more_tasks_are_in_progress_than_agents_may_work() {
    let mut shop = Shop::new(&json!({}));
    let config = shop.project.read(USER_CONFIG).replace("[run]\n", "[run]\nmax_agents = 1\n");
    shop.project.write(USER_CONFIG, &config);
    let ids: Vec<String> = (0..3).map(|_| shop.new_task(CUSTOM)).collect();
    let done = [wait_for_file("../../../../go"), say("=== CUSTOM TASK COMPLETE ===")];
    let scripts = ids.iter().map(|id| (format!("{id}.0"), json!([steps(&done)])));
    shop.script(&Value::Object(scripts.collect()));
    for id in &ids {
        shop.project.must(&format!("task submit {id}"));
    }
    shop.serve();
    let count = |state: &str| {
        shop.project.json(&format!("task list --state {state}")).as_array().unwrap().len()
    };
    wait_for("the first of them", || !shop.processes().is_empty() && count("in_progress") > 0);
    let waiting = ids.iter().find(|id| shop.task(id)["status"] == "pending").unwrap();
    wait_for("its reason", || {
        why(&shop, waiting)["reasons"][0]["text"].as_str().unwrap().contains("run.max_agents")
    });
    assert_eq!((count("in_progress"), count("pending")), (1, 2), "{}", shop.said());
    fs::write(shop.project.base().join("go"), "").unwrap();
    ids.iter().for_each(|id| shop.wait(id, "completed"));
    shop.end();
}

/// What is there below a folder, for a look when a test fails.
fn left(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            waiting.extend(entry.path().is_dir().then(|| entry.path()));
            found.push(entry.path());
        }
    }
    found
}

/// Removes a project's folder; what is being written while it goes keeps it from being removed at the first try.
fn delete(project: &Project) {
    wait_for("the folder to be gone", || {
        let _still_there = fs::remove_dir_all(&project.root);
        !project.root.exists()
    });
}

#[test]
fn a_run_whose_project_is_deleted_makes_nothing_again() {
    let tasks: String =
        (1..=40).map(|n| format!("- [ ] T1.{n}: say\n  - run: `echo {n}; sleep 0.05`\n")).collect();
    for isolation in ["none", "task"] {
        let project = Project::git();
        project.write("TASKS.md", &format!("# Tasks: shop\n\n## Phase 1: One\n\n{tasks}"));
        project.git_command("add -A");
        project.git_command("commit -q -m tasks");
        let mut child = begin(&project, &format!("run --max-parallel 4 --isolation {isolation}"));
        let logs = project.journal().join("logs");
        wait_for("the first tasks", || fs::read_dir(&logs).is_ok_and(|all| all.count() >= 3));
        delete(&project);
        wait_for("the end of the run", || child.try_wait().unwrap().is_some());
        let ran: crate::harness::Ran = child.wait_with_output().unwrap().into();
        assert_ne!(ran.code, 0, "{ran}");
        assert!(!ran.stderr.contains("panicked"), "{ran}");
        let home = project.base().to_str().unwrap().to_owned();
        wait_for("the end of all its processes", || alive(&home).is_empty());
        assert!(!project.root.exists(), "{isolation}: {:?}", left(&project.root));
    }
}

#[test]
fn a_server_whose_project_is_deleted_ends_and_begins_nothing_in_its_place() {
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let hangs = [write("note.txt", "begun\n"), json!({"hang": true})];
    shop.script(&json!({format!("{id}.0"): [steps(&hangs)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let note = shop.project.path(".waypost/workspaces").join(&id).join("note.txt");
    wait_for("the agent's work", || note.exists());
    delete(&shop.project);
    let mut server = shop.server.take().unwrap();
    let mut ended = None;
    wait_for("the end of the server", || {
        ended = server.try_wait().unwrap();
        ended.is_some()
    });
    let said = shop.said();
    assert_eq!(ended.and_then(|it| it.code()), Some(5), "{said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error:")).collect();
    assert!(errors.len() == 1 && errors[0].contains("shop was deleted"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    wait_for("the end of its agents", || shop.processes().is_empty());
    // Nothing is begun in its place: no journal, no workspace, no empty repository.
    assert!(!shop.project.root.exists(), "{:?}", left(&shop.project.root));
}

#[test]
fn a_folder_that_becomes_a_repository_keeps_its_journal() {
    let project = Project::plain();
    let id = project.must(&format!("task new {CUSTOM}")).stdout.trim().to_owned();
    project.must("memory init");
    project.must("memory note 'Tea is green' --kind decision");
    project.git_command("init -q -b main .");
    let moved = project.must(&format!("task show {id}"));
    assert!(moved.stderr.contains("its journal moved"), "{moved}");
    assert!(project.journal().join("journal.db").is_file());
    assert!(!project.path(".waypost/journal.db").exists());
    assert_eq!(project.json("memory notes").as_array().unwrap().len(), 1);
    let again = project.must(&format!("task submit {id}"));
    assert!(!again.stderr.contains("moved"), "{again}");
    for finding in project.json("doctor").as_array().unwrap() {
        assert_ne!(finding["verdict"], "bad", "{finding}");
    }
}

#[test]
fn a_journal_that_came_with_the_files_does_not_become_that_of_a_repository() {
    let foreign = Project::plain();
    foreign.must(&format!("task new {CUSTOM}"));
    let project = Project::git();
    fs::create_dir(project.path(".waypost")).unwrap();
    fs::copy(foreign.path(".waypost/journal.db"), project.path(".waypost/journal.db")).unwrap();
    assert_eq!(project.json("task list"), json!([]));
    assert!(project.path(".waypost/journal.db").exists(), "it is left alone");
}

#[test]
fn what_is_left_of_a_task_that_was_deleted_without_a_server_is_cleared_away_by_the_next() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let done = [write("note.txt", "hello\n"), say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&done)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    shop.wait(&id, "completed");
    wait_for("the end of the agent", || shop.processes().is_empty());
    shop.end();
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    let streams = shop.project.journal().join("tasks").join(&id);
    assert!(workspace.is_dir() && streams.is_dir());
    shop.project.person_must(&format!("task delete {id} --yes"));
    assert!(workspace.is_dir(), "no server runs that would take it away");
    shop.serve();
    wait_for("the clearing", || !workspace.exists() && !streams.exists());
    shop.end();
}

#[test]
fn what_a_restored_checkpoint_takes_the_place_of_is_kept() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let question = "[USER_QUESTION]\ncategory: clarification\nquestion: Which?\nrequired: true\n[/USER_QUESTION]";
    let end = json!({"turn_end": true});
    let first = [
        write("note.txt", "early\n"),
        say(question),
        end,
        write("note.txt", "late\n"),
        json!({"hang": true}),
    ];
    let again = [wait_for_file("../../../../go"), say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&first), steps(&again)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let entry = shop.entry("agent_question");
    let checkpoints = || shop.project.json(&format!("task checkpoints {id}"));
    wait_for("the checkpoint of the question", || !checkpoints().as_array().unwrap().is_empty());
    shop.project.person_must(&format!("inbox answer {entry} any"));
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    let note = || fs::read_to_string(workspace.join("note.txt")).unwrap_or_default();
    wait_for("what comes later", || note() == "late\n");
    shop.project.person_must(&format!("task restore {id} --checkpoint 1"));
    wait_for("what was earlier", || note() == "early\n");
    let refs = shop.project.git_in(&workspace, "for-each-ref --format=%(refname) refs/waypost");
    let prefix = format!("refs/waypost/tasks/{id}/aside-before-restore-");
    let kept = refs.lines().find(|line| line.starts_with(&prefix)).expect("it is kept");
    assert_eq!(shop.project.git_in(&workspace, &format!("show {kept}:note.txt")), "late\n");
    let again = shop.entry("agent_question");
    shop.project.person_must(&format!("inbox answer {again} any"));
    fs::write(shop.project.base().join("go"), "").unwrap();
    shop.wait(&id, "completed");
    shop.end();
}

#[test]
fn a_check_of_a_phase_ends_with_the_server_that_ran_it() {
    let mut shop = Shop::new(&json!({}));
    // The number marks its processes.
    let kind = "version = 1\nname = \"slow\"\ntitle = \"Slow\"\nworkspace = \"own\"\n[[phases]]\n\
                name = \"Only\"\nprompt = \"Do it. {marker}\"\n[phases.verification]\n\
                commands = [\"touch begun; sleep 86437\"]\n";
    shop.project.write("task-types/slow.toml", kind);
    let id = shop.new_task("x --type slow --description y");
    let claim = [write("a.txt", "x"), say("=== PHASE 1 COMPLETE ===")];
    shop.script(&json!({format!("{id}.1"): [steps(&claim)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let sleeping = || alive("sleep\u{0}86437");
    wait_for(&format!("the check\n{}", shop.said()), || !sleeping().is_empty());
    let server = shop.server.as_ref().unwrap().id();
    kill(server, "-KILL");
    wait_for("the end of the check", || sleeping().is_empty());
    shop.kill_host();
}
