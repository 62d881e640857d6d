//! `waypost serve`: tasks worked on by scripted agents, also where host, keeper or agent are killed.

use crate::{
    execute::{alive, wait_for},
    harness::Project,
    shop::{
        CUSTOM, QUESTION, Shop, complete, deliverables, from_phase, say, steps, verdict,
        wait_for_file, write,
    },
    terminal::no_person_is_here,
};
use serde_json::json;
use std::fs;

#[test]
fn a_task_without_phases_runs_through_and_leaves_nothing_behind() {
    let mut shop = Shop::new(&json!({}));
    shop.project.must("memory note 'Notes end with a dot' --kind decision");
    let id = shop.new_task(CUSTOM);
    let done = [write("note.txt", "hello\n"), say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&done)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    shop.wait(&id, "completed");
    let want =
        ["SUBMIT pending", "ASSIGN in_progress", "ASSIGN in_progress", "PHASE_COMPLETE completed"];
    let found = shop.transitions(&id);
    assert_eq!(found.first().map(String::as_str), Some(want[0]), "{found:?}");
    assert_eq!(found.last().map(String::as_str), Some(want[3]), "{found:?}");
    let workspace = shop.project.path(".waypost/workspaces").join(&id);
    assert_eq!(fs::read_to_string(workspace.join("note.txt")).unwrap(), "hello\n");
    // What its agent was given is kept beside its log, with what is known of such work.
    let log = shop.project.journal().join("tasks").join(&id).join("1.brief.log");
    let brief = fs::read_to_string(&log).unwrap_or_else(|error| panic!("{log:?}: {error}"));
    for words in ["sha256 ", "Write a note.", "# What is known", "Notes end with a dot"] {
        assert!(brief.contains(words), "{words} is not in {brief}");
    }
    let history = shop.project.json("memory history");
    let [entry] = history.as_array().unwrap().as_slice() else { panic!("one entry: {history}") };
    assert_eq!((&entry["name"], &entry["result"]), (&json!("A note"), &json!("success")));
    // The workspace is a part of the project, and does not stand in the way of its gates.
    let seen = shop.project.run_in(&workspace, &format!("--json task show {id}"));
    assert!(seen.code == 0 && seen.stdout.contains("completed"), "{seen}");
    wait_for("the last checkpoint", || {
        let found = shop.project.json(&format!("task checkpoints {id}"));
        found.as_array().unwrap().last().is_some_and(|it| it["reason"] == "completed")
    });
    wait_for("the end of the agent", || shop.processes().is_empty());
    shop.end();
    assert_eq!(shop.processes(), Vec::<u32>::new());
    assert_eq!(shop.project.git_command("status --porcelain"), "");
}

#[test]
fn an_agent_goes_on_where_host_keeper_or_agent_were_killed() {
    let gate = wait_for_file("../../../../go");
    let first = [write("note.txt", "begun\n"), gate.clone(), say("=== CUSTOM TASK COMPLETE ===")];
    let again = [write("note.txt", "again\n"), gate, say("=== CUSTOM TASK COMPLETE ===")];
    for victim in ["host", "keeper", "agent"] {
        let mut shop = Shop::new(&json!({}));
        let id = shop.new_task(CUSTOM);
        shop.script(&json!({format!("{id}.0"): [steps(&first), steps(&again)]}));
        shop.serve();
        shop.project.must(&format!("task submit {id}"));
        let note = shop.project.path(".waypost/workspaces").join(&id).join("note.txt");
        let says = |text: &str| fs::read_to_string(&note).is_ok_and(|it| it == text);
        wait_for("the agent's first words", || says("begun\n"));
        match victim {
            "host" => {
                shop.kill_host();
                shop.serve();
            }
            "keeper" => crate::execute::kill_all(alive(&format!("tasks/{id}/keepers"))),
            _ => {
                let talks = shop.project.base().join("talks");
                crate::execute::kill_all(alive(talks.to_str().unwrap()));
            }
        }
        let is_taken_over = victim == "host";
        wait_for(&format!("the work to go on after the {victim}\n{}", shop.said()), || {
            is_taken_over || says("again\n")
        });
        fs::write(shop.project.base().join("go"), "").unwrap();
        shop.wait(&id, "completed");
        let triggers = shop.transitions(&id);
        let count = |word: &str| triggers.iter().filter(|it| it.starts_with(word)).count();
        assert_eq!((count("SUBMIT"), count("PHASE_COMPLETE")), (1, 1), "{victim}: {triggers:?}");
        assert_eq!(count("PROCESS_EXIT"), usize::from(!is_taken_over), "{victim}: {triggers:?}");
        wait_for("the end of the agent", || shop.processes().is_empty());
        shop.end();
        assert_eq!(shop.processes(), Vec::<u32>::new(), "{victim}");
    }
}

#[test]
fn an_app_goes_through_its_four_phases_with_a_question_a_rework_and_a_rejected_review() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task("'A tea shop' --type create_app --description 'Sells tea.'");
    let end = json!({"turn_end": true});
    let mut first = vec![say(QUESTION), end.clone()];
    first.extend(deliverables(1));
    // The first claim comes before all of it is there, the second is rejected by a person.
    let market = write("docs/planning/02_market.md", "TODO");
    first.extend([market, complete(1), end.clone()]);
    first.extend(deliverables(1));
    first.extend([
        complete(1),
        end.clone(),
        write("docs/planning/note.md", "changed"),
        complete(1),
        end,
    ]);
    first.extend(from_phase(2));
    let passes = [steps(&[verdict(true, "")])];
    let mut tasks = json!({format!("{id}.1"): [steps(&first)]});
    for phase in 1..=4 {
        tasks[format!("{id}.{phase}")] = match phase {
            1 => json!([steps(&first)]),
            phase => json!([steps(&from_phase(phase))]),
        };
        tasks[format!("{id}.{phase}.verification")] = json!(passes);
    }
    shop.script(&tasks);
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let question = shop.entry("agent_question");
    assert_eq!(shop.project.json(&format!("task show {id} --agent"))["status"], "waiting_question");
    shop.project.person_must(&format!("inbox answer {question} green"));
    let review = shop.entry("review");
    assert_eq!(shop.task(&id)["status"], "review");
    shop.project.person_must(&format!("inbox changes {review} 'say more about prices'"));
    for phase in 1..=4 {
        wait_for(&format!("the review of phase {phase}\n{}", shop.said()), || {
            let task = shop.task(&id);
            task["status"] == "review"
                && task["currentPhase"] == phase
                && shop.project.json("inbox").as_array().is_some_and(|it| !it.is_empty())
        });
        let review = shop.entry("review");
        shop.project.person_must(&format!("inbox approve {review}"));
    }
    shop.wait(&id, "completed");
    assert_eq!(shop.task(&id)["progress"], 100);
    let triggers = shop.transitions(&id);
    let count = |word: &str| triggers.iter().filter(|it| it.starts_with(word)).count();
    assert_eq!(count("USER_QUESTION"), 1, "{triggers:?}");
    assert_eq!(count("VERIFICATION_FAILED"), 1, "{triggers:?}");
    assert_eq!(count("REQUEST_CHANGES"), 1, "{triggers:?}");
    assert_eq!(count("APPROVE"), 4, "{triggers:?}");
    // One conversation from the first word to the last.
    let talks = fs::read_dir(shop.project.base().join("talks")).unwrap().count();
    assert_eq!(talks, 1 + 5, "the agent's own, and one for each verification");
    wait_for("the end of the agent", || shop.processes().is_empty());
    shop.end();
    assert_eq!(shop.processes(), Vec::<u32>::new());
}

/// Whether a process is stopped: by a signal, or with its whole control group.
fn stands_still(pid: u32) -> bool {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let stat = read(format!("/proc/{pid}/stat"));
    let is_stopped = stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'));
    let group = read(format!("/proc/{pid}/cgroup"));
    let group = group.lines().find_map(|line| line.strip_prefix("0::").map(str::to_owned));
    let mounts = read("/proc/self/mountinfo".to_owned());
    let mounts = mounts.lines().filter(|line| line.contains(" - cgroup2 "));
    let folders = mounts.filter_map(|line| line.split(' ').nth(4).map(str::to_owned));
    let is_frozen = folders.flat_map(|folder| group.iter().map(move |it| format!("{folder}{it}")));
    is_stopped
        || is_frozen.into_iter().any(|it| read(format!("{it}/cgroup.events")).contains("frozen 1"))
}

#[test]
fn a_paused_task_stands_still_and_goes_on_and_a_cancelled_one_is_ended() {
    if no_person_is_here() {
        return;
    }
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let ticking =
        json!({"run": "while ! test -e ../../../../go; do date +%N > tick; sleep 0.02; done"});
    let done = [ticking, say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&done)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    let tick = shop.project.path(".waypost/workspaces").join(&id).join("tick");
    let read = || fs::read_to_string(&tick).unwrap_or_default();
    wait_for("the first tick", || !read().is_empty());
    shop.project.must(&format!("task pause {id}"));
    wait_for("the checkpoint of the pause", || {
        let found = shop.project.json(&format!("task checkpoints {id}"));
        found.as_array().unwrap().last().is_some_and(|it| it["reason"] == "user_pause")
    });
    wait_for("the ticking to stop", || {
        let ticking = alive("date +%N > tick");
        !ticking.is_empty() && ticking.into_iter().all(stands_still)
    });
    let stands_at = read();
    // A host that takes over finds it standing still, and lets it go on.
    shop.kill_host();
    shop.serve();
    shop.project.person_must(&format!("task resume {id}"));
    wait_for("the ticking to go on", || read() != stands_at);
    shop.project.must(&format!("task cancel {id}"));
    shop.wait(&id, "failed");
    wait_for("the end of the agent", || shop.processes().is_empty());
    shop.end();
    assert_eq!(shop.task(&id)["reason"], "cancelled");
}

#[test]
fn a_limit_is_waited_out_and_an_outage_too() {
    let mut shop = Shop::new(&json!({}));
    let id = shop.new_task(CUSTOM);
    let limit = [json!({"limit": {"resets_in_s": 1}})];
    let done = [write("note.txt", "hello\n"), say("=== CUSTOM TASK COMPLETE ===")];
    shop.script(&json!({format!("{id}.0"): [steps(&limit), steps(&done)]}));
    shop.serve();
    shop.project.must(&format!("task submit {id}"));
    shop.wait(&id, "completed");
    let triggers = shop.transitions(&id);
    let count = |word: &str| triggers.iter().filter(|it| it.starts_with(word)).count();
    assert_eq!(count("RATE_LIMIT paused"), 1, "{triggers:?}");
    assert_eq!(count("RATE_LIMIT_RESET"), 1, "{triggers:?}");
    assert_eq!(count("PROCESS_EXIT"), 0, "{triggers:?}");
    shop.end();
}

#[test]
fn a_repository_below_the_data_folder_does_not_hold_gates_up() {
    for ignored in ["", ".waypost/\n"] {
        let project = Project::git();
        project.write(".gitignore", ignored);
        project.write("review.md", "Blocking: 0\n");
        let nested = project.path(".waypost/workspaces/task_a");
        fs::create_dir_all(&nested).unwrap();
        // Without a commit git cannot add it, and nothing beside it.
        project.git_in(&nested, "init -q .");
        project.must("develop start 'Live chat'");
        project.must("develop advance --checkpoint cp-1");
        project.must("develop gate pass review_clean_pass --report review.md");
        project.write("later.txt", "changed\n");
        project.must("develop advance");
    }
}
