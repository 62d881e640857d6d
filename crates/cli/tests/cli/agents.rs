//! `waypost run` with model agents: scripted ones, started, heard and ended as real ones are.

use crate::{
    execute::{alive, begin, keepers, kill, kill_all, status, wait_for},
    harness::{BINARY, Project, Ran, USER_CONFIG},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{fs, process::Stdio};

/// An engine without agents needs fewer, and one with a third as many agents more.
const FEW_FILES: usize = 48;

/// Tasks of one phase that depend on nothing, for the agent `alice`.
pub(crate) fn tasks(ids: &[&str]) -> String {
    let task = |id: &&str| format!("- [ ] {id}: Do {id}\n  - agent: alice\n  - depends: none\n");
    let tasks: String = ids.iter().map(task).collect();
    format!("# Tasks: shop\n\n## Phase 1: One\n\n{tasks}")
}

/// A project with an agent `alice` that follows a script, in the project's folder itself.
pub(crate) fn with(tasks: &str, script: &Value) -> Project {
    let project = Project::git().variable("WAYPOST_RUN_ISOLATION", "none");
    project.write("TASKS.md", tasks);
    let file = project.base().join("script.json");
    fs::write(&file, script.to_string()).unwrap();
    let sessions = project.base().join("sessions");
    project.write(
        USER_CONFIG,
        &format!(
            "[agents.alice]\nadapter = \"claude\"\ncommand = [\"{BINARY}\", \"sim\", \"agent\", \
             \"--speak\", \"claude\", \"--script\", \"{}\", \"--sessions\", \"{}\", \"--\"]\n",
            file.display(),
            sessions.display()
        ),
    );
    project.git_command("add .");
    project.git_command("commit -qm begin");
    project
}

/// One task, with a list of steps for each attempt.
pub(crate) fn one(attempts: &[Value]) -> Project {
    let attempts: Vec<Value> = attempts.iter().map(|steps| json!({ "steps": steps })).collect();
    with(&tasks(&["T1.1"]), &json!({ "version": 1, "default": attempts }))
}

fn kinds(project: &Project, wanted: &[&str]) -> Vec<String> {
    let log = project.log();
    let kinds = log.iter().map(|entry| entry["kind"].as_str().unwrap().to_owned());
    kinds.filter(|kind| wanted.contains(&kind.as_str())).collect()
}

pub(crate) fn bodies(project: &Project, kind: &str) -> Vec<Value> {
    let log = project.log();
    log.iter().filter(|entry| entry["kind"] == kind).map(|entry| entry["body"].clone()).collect()
}

/// Everything of a project that still runs.
pub(crate) fn left(project: &Project) -> Vec<u32> {
    alive(&project.base().display().to_string())
}

fn failed(attempt: &Value, reason: &str) -> Ran {
    let project = one(std::slice::from_ref(attempt));
    let ran = project.run("run --no-budget --retry-limit 0");
    assert_eq!(ran.code, 1, "{attempt}: {ran}");
    assert!(ran.stderr.contains(reason), "{attempt}: wanted `{reason}` in {ran}");
    assert!(left(&project).is_empty(), "{attempt}");
    ran
}

#[test]
fn agents_work_and_what_they_did_is_recorded() {
    let steps = json!([
        {"say": "I begin."},
        {"write": {"file": "{task}.txt", "text": "made\n"}},
        {"usage": {"input": 1000, "output": 50, "cost_usd": 0.25}},
        {"done": "wrote {task}.txt"}
    ]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = with(&tasks(&["T1.1", "T1.2", "T1.3"]), &script);
    let ran = project.run("run --budget 5");
    assert_eq!(ran.code, 0, "{ran}");
    for id in ["T1.1", "T1.2", "T1.3"] {
        assert_eq!(project.read(&format!("{id}.txt")), "made\n");
    }
    let status = project.json("run status");
    assert_eq!(status["usage"]["cost_micros"], 750_000, "{status}");
    let accounts = bodies(&project, "attempt_accounted");
    assert_eq!(accounts[0]["result"].as_str().unwrap().split(' ').next(), Some("wrote"));
    let said = project.must("run logs T1.1").stdout;
    assert!(said.contains("I begin.") && said.contains("Write"), "{said}");
    assert!(left(&project).is_empty());
}

/// A shell gives the engine as few open files as its own start needs, and each agent takes some.
#[test]
fn an_engine_opens_more_files_than_is_usual_and_agents_do_not() {
    let wait = "ulimit -S -n > files-$WAYPOST_TASK; until test -e go; do sleep 0.05; done";
    let script = json!({"version": 1, "default": [{"steps": [{"run": wait}, {"done": "waited"}]}]});
    let ids: Vec<String> = (1..=FEW_FILES / 3).map(|number| format!("T1.{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let project = with(&tasks(&ids), &script).variable("WAYPOST_RUN_MAX_AGENTS", "100");
    let limited = format!("ulimit -S -n {FEW_FILES}; exec \"$@\"");
    let mut run = project.command("sh", &project.root);
    run.args(["-c", &limited, "sh", BINARY, "run", "--no-budget", "--retry-limit", "0"]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let given = |id: &&str| fs::read_to_string(project.root.join(format!("files-{id}"))).ok();
    let usual = Some(format!("{FEW_FILES}\n"));
    wait_for("all agents to work at once", || ids.iter().all(|id| given(id) == usual));
    assert_eq!(bodies(&project, "attempt_parked"), Vec::<Value>::new());
    project.write("go", "");
    wait_for("the run to end", || run.try_wait().unwrap().is_some());
    assert_eq!(project.json("run status")["counts"]["completed"], ids.len());
}

#[test]
fn success_is_more_than_an_exit_code() {
    failed(&json!([{"exit": 0}]), "exit code 0");
    failed(&json!([{"say": "nothing to do"}, {"done": "all fine"}]), "no tool was used");
    failed(&json!([{"tool": "Read", "input": "x"}, {"say": "bye"}]), "left no change");
    failed(&json!([{"tool": "Read", "input": "x"}, {"fail": "no such table"}]), "no such table");
    failed(&json!([{"say": "oh"}, {"crash": 3}]), "exit code 3");
    failed(&json!([{"say": "oh"}, {"crash": "SIGKILL"}]), "ended by signal 9");
    failed(&json!([{"garbage": true}, {"exit": 4}]), "exit code 4");
    failed(&json!([{"flood": 3_000_000}, {"crash": 5}]), "exit code 5");
}

#[test]
fn a_change_is_a_result_too() {
    let project = one(&[json!([{"write": {"file": "a.txt", "text": "x"}}, {"say": "there"}])]);
    let ran = project.run("run --no-budget --retry-limit 0");
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn the_words_of_an_agent_do_not_outweigh_what_verifies_its_task() {
    let steps = json!([{"tool": "Read", "input": "x"}, {"done": "it is there"}]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = with(&format!("{}  - verify: `test -e a.txt`\n", tasks(&["T1.1"])), &script);
    let ran = project.run("run --no-budget --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("`test -e a.txt` did not pass"), "{ran}");
    project.write("a.txt", "");
    project.must("run retry T1.1");
    project.must("run --resume");
    assert_eq!(bodies(&project, "task_completed")[0]["evidence"]["kind"], "check");
}

#[test]
fn one_that_broke_off_goes_on_in_the_same_conversation() {
    let done = json!([{"tool": "Read", "input": "x"}, {"done": "second time"}]);
    let project = one(&[json!([{"say": "I begin."}, {"crash": 3}]), done]);
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        ran.stderr.contains("T1.1 is tried again in ") && ran.stderr.contains(": exit code 3"),
        "{ran}"
    );
    let story = ["task_started", "attempt_engaged", "attempt_failed", "task_completed"];
    assert_eq!(
        kinds(&project, &story),
        ["task_started", "attempt_engaged", "attempt_failed", "task_started", "task_completed"]
    );
}

#[test]
fn one_that_failed_begins_anew() {
    let fail = json!([{"tool": "Read", "input": "x"}, {"fail": "not like this"}]);
    let done = json!([{"tool": "Read", "input": "x"}, {"done": "better"}]);
    let project = one(&[fail, done]);
    assert_eq!(project.run("run --no-budget").code, 0);
    let engaged = bodies(&project, "attempt_engaged");
    assert_eq!(engaged.len(), 2);
    assert_ne!(engaged[0]["conversation"]["id"], engaged[1]["conversation"]["id"]);
}

#[test]
fn the_same_error_again_and_again_is_given_up() {
    let project = one(&[json!([{"tool": "Read", "input": "x"}, {"fail": "line 17 is wrong"}])]);
    project.write(
        USER_CONFIG,
        &format!("{}\n[run]\nsame_error_limit = 2\n", project.read(USER_CONFIG)),
    );
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(bodies(&project, "task_failed")[0]["reason"], "same_error");
    assert_eq!(bodies(&project, "task_started").len(), 3);
}

#[test]
fn a_limit_parks_the_task_and_others_of_its_agent() {
    let limit = json!([{"say": "I begin."}, {"limit": {"resets_in_s": 1}}]);
    let done = json!([{"tool": "Read", "input": "x"}, {"done": "now"}]);
    let project = one(&[limit, done]);
    let ran = project.run("run --no-budget --retry-limit 0");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("waits until"), "{ran}");
    assert_eq!(
        kinds(&project, &["attempt_parked", "attempt_failed", "task_completed"]),
        ["attempt_parked", "task_completed"]
    );
}

#[test]
fn one_that_says_nothing_any_more_is_stopped() {
    let project = one(&[json!([{"say": "I begin."}, {"hang": "deaf"}])]);
    project
        .write(USER_CONFIG, &format!("{}\n[run]\nstall_seconds = 1\n", project.read(USER_CONFIG)));
    let ran = project.run("run --no-budget --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("it said nothing for too long"), "{ran}");
    assert!(left(&project).is_empty());
}

#[test]
fn a_permission_waits_in_the_inbox_and_everything_else_goes_on() {
    if no_person_is_here() {
        return;
    }
    let ask =
        json!([{"permission": {"tool": "Bash", "input": "cargo publish"}}, {"done": "published"}]);
    let done = json!([{"tool": "Read", "input": "x"}, {"done": "done"}]);
    let script = json!({
        "version": 1, "default": [{"steps": done}], "tasks": {"T1.1": [{"steps": ask}]}
    });
    let project = with(&tasks(&["T1.1", "T1.2", "T1.3"]), &script);
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 6, "{ran}");
    assert!(ran.stderr.contains("what is left waits for a person's answer"), "{ran}");
    assert_eq!(status(&project, "T1.2"), "completed");
    assert!(left(&project).is_empty());
    let inbox = project.json("inbox");
    assert!(inbox[0]["title"].as_str().unwrap().contains("cargo publish"), "{inbox}");
    let why = project.must("why T1.1").stdout;
    assert!(why.contains("waypost inbox"), "{why}");
    // The answer of an agent does not count.
    assert_ne!(project.run("inbox answer q1 allow").code, 0);
    project.person_must("inbox answer q1 allow");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(status(&project, "T1.1"), "completed");
    assert_eq!(bodies(&project, "attempt_engaged").len(), 3, "each has one conversation");
}

#[test]
fn an_answer_reaches_an_agent_that_still_waits() {
    if no_person_is_here() {
        return;
    }
    let ask = json!([
        {"question": {"text": "Which colour?", "choices": ["Red", "Blue"]}},
        {"write": {"file": "colour.txt", "text": "{answer}"}},
        {"done": "painted"}
    ]);
    let slow =
        json!([{"run": "touch waits; until test -e go; do sleep 0.05; done"}, {"done": "x"}]);
    let script = json!({
        "version": 1, "default": [{"steps": slow}], "tasks": {"T1.1": [{"steps": ask}]}
    });
    let project = with(&tasks(&["T1.1", "T1.2"]), &script);
    let mut run = begin(&project, "run --no-budget");
    wait_for("the question", || project.json("inbox").as_array().is_some_and(|it| !it.is_empty()));
    project.person_must("inbox answer q1 blue");
    wait_for("the colour", || project.path("colour.txt").exists());
    project.write("go", "");
    assert!(run.wait().unwrap().success());
    assert_eq!(project.read("colour.txt"), "Blue");
    assert_eq!(bodies(&project, "task_started").len(), 2, "nobody was started twice");
}

#[test]
fn agents_outlive_their_engine_and_are_heard_by_the_next() {
    let steps = json!([
        {"run": "echo $PPID >> pids; until test -e go; do sleep 0.05; done"},
        {"done": "went on"}
    ]);
    let project = one(&[steps]);
    let mut run = begin(&project, "run --no-budget");
    wait_for("the agent", || project.path("pids").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    // A second run here would perhaps be the next engine itself.
    wait_for("the old keeper to go", || keepers(&project).is_empty());
    let mut next = begin(&project, "run --resume");
    // Nothing that would itself be the engine if it came first may be asked.
    let owner = format!("\"pid\":{},", next.id());
    wait_for("the next engine", || project.read(".git/waypost/engine.lock").contains(&owner));
    project.write("go", "");
    assert!(next.wait().unwrap().success());
    assert_eq!(project.read("pids").lines().count(), 1, "the same process went on");
    assert_eq!(bodies(&project, "task_started").len(), 1);
    assert!(left(&project).is_empty());
}

#[test]
fn when_all_is_killed_the_conversation_goes_on() {
    let steps =
        json!([{"run": "touch begun; until test -e go; do sleep 0.05; done"}, {"done": "x"}]);
    let project = one(&[steps]);
    let mut run = begin(&project, "run --no-budget");
    wait_for("the agent", || project.path("begun").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    kill_all(left(&project));
    project.write("go", "");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(bodies(&project, "task_started").len(), 2);
    assert_eq!(bodies(&project, "attempt_engaged").len(), 1, "the same conversation");
    assert!(left(&project).is_empty());
}

#[test]
fn a_run_spends_what_it_may_and_goes_on_with_more() {
    let steps = json!([
        {"tool": "Read", "input": "x"},
        {"usage": {"input": 10, "output": 1, "cost_usd": 0.6}},
        {"done": "x"}
    ]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = with(&tasks(&["T1.1", "T1.2", "T1.3"]), &script);
    let refused = project.run("run");
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("--no-budget"), "{refused}");
    let ran = project.run("run --resume --budget 1 --max-parallel 1");
    assert!(ran.stderr.contains("the budget is used up"), "{ran}");
    assert_eq!(project.json("run status")["counts"]["completed"], 2, "{ran}");
    assert_eq!(project.run("run --resume --budget 3").code, 0);
    assert_eq!(project.json("run status")["counts"]["completed"], 3);
}

#[test]
fn a_task_that_costs_too_much_is_not_tried_again_without_more() {
    let steps = json!([
        {"tool": "Read", "input": "x"},
        {"usage": {"input": 10, "output": 1, "cost_usd": 0.6}},
        {"fail": "not yet"}
    ]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = with(&format!("{}  - budget: $0.50\n", tasks(&["T1.1"])), &script);
    let ran = project.run("run --no-budget");
    assert_ne!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("the task's budget is used up"), "{ran}");
    assert_eq!(bodies(&project, "attempt_engaged").len(), 1, "{ran}");
}

#[test]
fn ralph_repeats_until_it_is_verified() {
    let pass = json!([{"run": "echo pass >> passes"}, {"say": "more to do"}]);
    let script = json!({"version": 1, "default": [{"steps": pass}]});
    let verify = "test $(wc -l < passes) -ge 3";
    let project = with(&format!("{}  - verify: `{verify}`\n", tasks(&["T1.1"])), &script);
    let ran = project.run("run --ralph --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("passes").lines().count(), 3);
}

#[test]
fn ralph_without_a_verification_wants_the_promise() {
    let more = json!([{"run": "echo pass >> passes"}, {"done": "not all of it"}]);
    let all = json!([{"run": "echo pass >> passes"}, {"done": "now\nALL_GREEN"}]);
    let project = one(&[more.clone(), more, all]);
    let ran = project.run("run --ralph --no-budget --completion-promise ALL_GREEN");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("it did not say `ALL_GREEN`"), "{ran}");
    assert_eq!(project.read("passes").lines().count(), 3);
}

#[test]
fn a_run_that_is_stopped_leaves_no_agent() {
    let project =
        one(&[json!([{"run": "touch begun; (setsid sleep 300 &) ; sleep 300"}, {"done": "x"}])]);
    let mut run = begin(&project, "run --no-budget");
    wait_for("the agent", || project.path("begun").exists());
    kill(run.id(), "-INT");
    wait_for("the run to end", || {
        kill(run.id(), "-INT");
        run.try_wait().unwrap().is_some()
    });
    assert_eq!(status(&project, "T1.1"), "ready");
    assert!(left(&project).is_empty());
}

#[test]
fn only_so_many_agents_work_at_once() {
    let steps = json!([{"run": "mkdir lock && sleep 0.1 && rmdir lock"}, {"done": "x"}]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = with(&tasks(&["T1.1", "T1.2", "T1.3"]), &script);
    let text = project.read(USER_CONFIG);
    project.write(USER_CONFIG, &format!("{text}\n[run]\nmax_agents = 1\n"));
    let ran = project.run("run --no-budget --retry-limit 0");
    assert_eq!(ran.code, 0, "{ran}");
    let results = bodies(&project, "attempt_accounted");
    assert_eq!(results.len(), 3, "{results:?}");
    let said = "2 more tasks wait for an agent: 1 at work, and max_agents is 1";
    assert_eq!(ran.stderr.matches(said).count(), 1, "{ran}");
}

#[test]
fn an_agent_that_nobody_knows_is_named_before_anything_starts() {
    let project = with(
        &tasks(&["T1.1"]).replace("alice", "bob"),
        &json!({"version": 1, "default": [{"steps": [{"done": "x"}]}]}),
    );
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("there is no agent `bob`"), "{ran}");
    assert_eq!(bodies(&project, "task_started").len(), 0);
}

#[test]
fn an_agent_that_waypost_starts_is_behind_the_wall_as_a_whole() {
    let steps = json!([
        {"run": "echo $WAYPOST_WALL > ../seen; cat $HOME/.netrc > ../netrc; true"},
        {"run": "echo x > $(git rev-parse --git-common-dir)/waypost/forged; true"},
        {"run": "echo x > $HOME/forged; cat $HOME/.local/state/waypost/pin > ../pin; true"},
        {"run": format!("{BINARY} --verbose run status > ../status 2>&1; true")},
        {"run": format!("{} 'cat $HOME/.claude/.credentials.json; echo $API_KEY' > ../nested 2>&1; true",
            env!("CARGO_BIN_EXE_waypost-shell"))},
        {"write": {"file": "T1.1.txt", "text": "made"}},
        {"done": "x"}
    ]);
    let project = one(&[steps]);
    project.write("../home/.netrc", "machine example.org password secret");
    project.write("../home/.claude/.credentials.json", "sign-in secret");
    let ran = project.run("run --no-budget");
    let read = |name: &str| fs::read_to_string(project.base().join(name)).unwrap_or_default();
    assert_eq!(ran.code, 0, "{ran}");
    if read("seen") != "a\n" {
        crate::required::skip(&["b"], &read("seen"));
        return;
    }
    assert_eq!((read("netrc"), read("pin")), (String::new(), String::new()));
    assert!(!project.journal().join("forged").exists() && !project.home().join("forged").exists());
    assert!(!read("nested").contains("secret"), "{}", read("nested"));
    let status = read("status");
    assert!(status.contains("you act as: agent:") && status.contains("#1"), "{status}");
    assert_eq!(project.read("T1.1.txt"), "made");
    // What it was behind is recorded with its conversation, and shown.
    let engaged = bodies(&project, "attempt_engaged");
    assert_eq!(engaged[0]["conversation"]["wall"], "a", "{engaged:?}");
    let shown = project.must("log T1.1").stdout;
    assert!(shown.contains("behind the wall, level A"), "{shown}");
}

#[test]
fn where_there_is_no_wall_an_agent_is_said_to_have_none() {
    let seen = json!([{"run": "echo level=$WAYPOST_WALL > ../seen"}, {"done": "x"}]);
    let project = one(&[seen]);
    let path = without_bubblewrap(&project);
    let mut command = project.command(BINARY, &project.root);
    let ran: Ran = command.args(["run", "--no-budget"]).env("PATH", path).output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(fs::read_to_string(project.base().join("seen")).unwrap(), "level=\n");
    let engaged = bodies(&project, "attempt_engaged");
    assert_eq!(engaged[0]["conversation"]["wall"], "none", "{engaged:?}");
}

#[test]
fn an_agent_is_not_started_below_the_wall_that_is_required() {
    let project = one(&[json!([{"run": "touch ../seen"}, {"done": "x"}])]);
    let config = project.read(USER_CONFIG);
    project.write(USER_CONFIG, &format!("{config}\n[wall]\nrequire = \"a\"\n"));
    let path = without_bubblewrap(&project);
    let mut command = project.command(BINARY, &project.root);
    command.args(["run", "--no-budget", "--retry-limit", "0"]).env("PATH", path);
    let ran: Ran = command.output().unwrap().into();
    assert_ne!(ran.code, 0, "{ran}");
    assert!(ran.to_string().contains("`wall.require` wants a"), "{ran}");
    assert!(!project.base().join("seen").exists());
}

/// A path on which everything is but bubblewrap.
fn without_bubblewrap(project: &Project) -> String {
    let folder = project.base().join("no-bubblewrap");
    fs::create_dir(&folder).unwrap();
    for known in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in fs::read_dir(known).into_iter().flatten().flatten() {
            if entry.file_name() != "bwrap" {
                let to = folder.join(entry.file_name());
                // The first of a name counts.
                let _known = std::os::unix::fs::symlink(entry.path(), to);
            }
        }
    }
    folder.to_str().unwrap().to_owned()
}
