//! A project that was moved, several sessions on disk, and work trees.

use super::*;
use std::fs;

#[test]
fn a_project_that_was_moved_is_told_so_and_relocated() {
    let project = designed();
    let old = folder(&project);
    let (from, to) = (project.path(""), project.base().join("moved"));
    fs::rename(&from, &to).unwrap();
    let run = |line: &str| project.run_in(&to, line);
    let status = run("--json session status");
    let told: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(told["moved_from"], from.to_str().unwrap().trim_end_matches('/'), "{status}");
    let ran = run("--json session next");
    assert!(ran.code == 3 && ran.stderr.contains("SESSION_MOVED"), "{ran}");
    assert!(run("doctor").stdout.contains("from where it was moved"));
    let ran = run("--json session relocate");
    assert_eq!(ran.code, 0, "{ran}");
    let begun: Value = serde_json::from_str(&ran.stdout).unwrap();
    let new = PathBuf::from(begun["folder"].as_str().unwrap());
    assert_ne!(new.file_name(), old.file_name());
    let session: Value =
        serde_json::from_str(&fs::read_to_string(new.join("session.json")).unwrap()).unwrap();
    assert_eq!(session["project"]["path"], to.to_str().unwrap());
    assert_eq!(session["project"]["hash"].as_str(), new.file_name().unwrap().to_str());
    assert!(!to.join(".claude/orchestrator/sessions").join(old.file_name().unwrap()).exists());
    let ran = run("--json session next");
    assert!(ran.code == 0 && ran.stdout.contains("tests/T1-S1"), "{ran}");
    // Once more changes nothing.
    assert_eq!(run("session relocate").code, 0);
}

/// The knowledge below a folder of orchestration, by the name of its folder.
fn knowledge(root: &std::path::Path) -> Vec<(String, String)> {
    let folders = fs::read_dir(root.join(".claude/orchestrator/knowledge")).unwrap();
    let read = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path().join("knowledge.yaml")).unwrap();
        (entry.file_name().into_string().unwrap(), text)
    };
    folders.map(|entry| read(entry.unwrap())).collect()
}

#[test]
fn knowledge_and_earlier_contracts_come_along_and_say_the_new_place() {
    for has_journal in [true, false] {
        let project = designed();
        project.must("knowledge add decision Store SQLite");
        for number in [7, 8] {
            let text = design("T1", number);
            let ran = project.run_with_input("contract put design-contract --task T1", &text);
            assert_eq!(ran.code, 0, "{ran}");
        }
        let versions = project.must("contract diff design-contract --task T1 --from 1").stdout;
        assert!(versions.contains("INV-8"), "{versions}");
        let (from, to) = (project.path(""), project.base().join("moved"));
        fs::rename(&from, &to).unwrap();
        if !has_journal {
            fs::remove_dir_all(to.join(".git/waypost")).unwrap();
            fs::remove_dir_all(project.home().join(".local/state/waypost")).unwrap();
        }
        let run = |line: &str| project.run_in(&to, line);
        let ran = run("--json session relocate");
        assert_eq!(ran.code, 0, "{ran}");
        let begun: Value = serde_json::from_str(&ran.stdout).unwrap();
        let hash = begun["folder"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let [(folder, text)] = <[_; 1]>::try_from(knowledge(&to)).unwrap();
        assert_eq!(folder, hash);
        assert!(text.contains(&format!("path: {}\n", to.display())), "{text}");
        assert!(text.contains("hash: ") && text.contains(&hash), "{text}");
        assert!(text.contains("SQLite") && !text.contains(from.to_str().unwrap()), "{text}");
        let known = run("knowledge show");
        assert!(known.code == 0 && known.stdout.contains("SQLite"), "{known}");
        let path = to.join(".claude/orchestrator/knowledge").join(&hash).join("knowledge.yaml");
        assert_eq!(run(&format!("validate {}", path.display())).code, 0);
        if has_journal {
            let after = run("contract diff design-contract --task T1 --from 1");
            assert_eq!(after.stdout, versions, "{after}");
        }
        // Once more changes nothing.
        assert_eq!(run("session relocate").code, 0);
        assert_eq!(knowledge(&to), [(folder, text)]);
    }
}

#[test]
fn a_moved_session_without_a_journal_is_found_by_scanning() {
    let project = designed();
    let (from, to) = (project.path(""), project.base().join("moved"));
    fs::rename(&from, &to).unwrap();
    fs::remove_dir_all(to.join(".git/waypost")).unwrap();
    fs::remove_dir_all(project.home().join(".local/state/waypost")).unwrap();
    let run = |line: &str| project.run_in(&to, line);
    // What is put here before it is brought along would stand in its way.
    for line in ["--json session start", "--json contract put design-brief --request R1 --task T1"]
    {
        let ran = run(line);
        assert!(ran.code == 3 && ran.stderr.contains("SESSION_MOVED"), "{line}: {ran}");
    }
    assert_eq!(run("session relocate").code, 0);
    let ran = run("--json session next");
    assert!(ran.code == 0 && ran.stdout.contains("tests/T1-S1"), "{ran}");
}

/// Puts another active session beside that of the project; its folder, and what its file says.
fn beside(project: &Project, hash: &str) -> (PathBuf, String) {
    let here = folder(project);
    let other = here.parent().unwrap().join(hash);
    fs::create_dir_all(&other).unwrap();
    let text = fs::read_to_string(here.join("session.json")).unwrap();
    let text = text.replace(here.file_name().unwrap().to_str().unwrap(), hash);
    fs::write(other.join("session.json"), &text).unwrap();
    (other, text)
}

/// What the file of a session in a folder says of its status and its name.
fn shown(folder: &std::path::Path) -> (String, String) {
    let text = fs::read_to_string(folder.join("session.json")).unwrap();
    let session: Value = serde_json::from_str(&text).unwrap();
    let word = |it: &Value| it.as_str().unwrap().to_owned();
    (word(&session["status"]), word(&session["project"]["name"]))
}

#[test]
fn of_several_active_sessions_the_newest_stays() {
    let project = designed();
    let (other, text) = beside(&project, "0a0b0c0d");
    let listed = project.json("session list");
    assert_eq!((&listed[0]["here"], &listed[1]["here"]), (&true.into(), &false.into()), "{listed}");
    assert_eq!(listed[1]["session"]["status"], "active");
    assert!(project.run("doctor").stdout.contains("is active, too"));
    let begun = project.json("session start");
    assert_eq!(begun["was_active"], true);
    assert_eq!(begun["stopped"].as_array().unwrap().len(), 1, "{begun}");
    assert_eq!(project.json("session list")[1]["session"]["status"], "stopped");
    assert_eq!(fs::read_to_string(other.join("session.json.bak")).unwrap(), text);
    assert_eq!(project.window(&file(&project, "session.json"))["status"], "active");
    assert_eq!(project.json("session show 0a0b0c0d")["session"]["status"], "stopped");
}

#[test]
fn of_several_active_sessions_the_one_that_goes_on_stays() {
    let project = designed();
    project.must("session stop");
    let (other, text) = beside(&project, "0a0b0c0d");
    let text = text.replace("\"stopped\"", "\"active\"");
    fs::write(other.join("session.json"), &text).unwrap();
    let begun = project.json("session resume");
    let stopped = other.join("session.json");
    assert_eq!(begun["stopped"], Value::from([stopped.to_str().unwrap()]), "{begun}");
    assert_eq!(shown(&other).0, "stopped");
    assert_eq!(fs::read_to_string(other.join("session.json.bak")).unwrap(), text);
    assert_eq!(shown(&folder(&project)).0, "active");
    assert!(!project.run("doctor").stdout.contains("is active, too"));
    // Once more finds none to stop.
    assert_eq!(project.json("session start")["stopped"], Value::Array(Vec::new()));
}

/// Sessions of three paths that are not there any more, by hash: the oldest, the newest, and one in between.
/// No journal knows of them.
fn three_of_other_paths() -> (Project, [PathBuf; 3]) {
    let project = designed();
    let all = [("0a0b0c0d", "oldest", 1), ("1a1b1c1d", "newest", 3), ("2a2b2c2d", "between", 2)];
    let folders = all.map(|(hash, name, day)| {
        let (other, text) = beside(&project, hash);
        let mut session: Value = serde_json::from_str(&text).unwrap();
        session["project"]["path"] = format!("/gone/{name}").into();
        session["project"]["name"] = name.into();
        session["current_task"] = Value::Null;
        session["updated_at"] = format!("2026-11-0{day}T10:00:00Z").into();
        fs::write(other.join("session.json"), session.to_string()).unwrap();
        other
    });
    fs::remove_dir_all(folder(&project)).unwrap();
    fs::remove_dir_all(project.journal()).unwrap();
    fs::remove_dir_all(project.home().join(".local/state/waypost")).unwrap();
    (project, folders)
}

#[test]
fn relocate_takes_the_newest_that_is_active_and_the_others_are_stopped() {
    let (project, [oldest, newest, between]) = three_of_other_paths();
    let begun = project.json("session relocate");
    assert!(!newest.exists(), "{begun}");
    assert_eq!(shown(&folder(&project)), ("active".into(), "newest".into()));
    let stopped: Vec<String> = serde_json::from_value(begun["stopped"].clone()).unwrap();
    let paths = [&between, &oldest].map(|it| it.join("session.json").display().to_string());
    assert_eq!(stopped, paths, "{begun}");
    for (other, name) in [(&oldest, "oldest"), (&between, "between")] {
        assert_eq!(shown(other), ("stopped".into(), name.into()));
        assert!(other.join("session.json.bak").exists());
    }
    assert!(!project.run("doctor").stdout.contains("is active, too"));
}

#[test]
fn relocate_takes_the_one_that_is_named() {
    let (project, [oldest, newest, between]) = three_of_other_paths();
    let ran = project.run("--json session relocate 3a3b3c3d");
    assert!(ran.code == 2 && ran.stderr.contains("SESSION_UNKNOWN"), "{ran}");
    let begun = project.json("session relocate 2a2b2c2d");
    assert!(!between.exists(), "{begun}");
    assert_eq!(shown(&folder(&project)), ("active".into(), "between".into()));
    assert_eq!(begun["stopped"].as_array().unwrap().len(), 2, "{begun}");
    assert_eq!([shown(&newest).0, shown(&oldest).0], ["stopped", "stopped"]);
    project.must("session request more");
}

#[test]
fn all_work_trees_share_one_session() {
    let project = tested();
    project.git_command("worktree add -q ../side");
    let side = project.base().join("side");
    let ran = project.run_in(&side, "--json session status");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(PathBuf::from(told["folder"].as_str().unwrap()), folder(&project));
    assert_eq!(told["state"]["request"]["id"], "R1");
    assert!(!side.join(".claude").exists());
}

#[test]
fn nothing_is_said_beside_a_session_that_was_moved_before_it_is_here() {
    let project = designed();
    project.must("knowledge add decision Store SQLite");
    let to = project.base().join("moved");
    fs::rename(project.path(""), &to).unwrap();
    let run = |line: &str| project.run_in(&to, line);
    for line in [
        "--json knowledge add decision Cache none",
        "--json knowledge remove D1",
        "--json contract put design-brief --request R1 --task T1",
    ] {
        let ran = run(line);
        assert!(ran.code == 3 && ran.stderr.contains("SESSION_MOVED"), "{line}: {ran}");
        assert!(ran.stderr.contains("session relocate"), "{line}: {ran}");
    }
    assert_eq!(knowledge(&to).len(), 1);
    assert_eq!(run("session relocate").code, 0);
    assert_eq!(run("knowledge add decision Cache none").code, 0);
}

#[test]
fn what_came_about_at_the_new_path_is_not_left_beside_the_old() {
    let project = designed();
    let to = project.base().join("moved");
    fs::rename(project.path(""), &to).unwrap();
    let sessions = to.join(".claude/orchestrator/sessions");
    let old = fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path();
    let run = |line: &str| project.run_in(&to, line);
    let status: Value = serde_json::from_str(&run("--json session status").stdout).unwrap();
    let new = PathBuf::from(status["folder"].as_str().unwrap());
    fs::create_dir_all(new.join("contracts/R1")).unwrap();
    fs::write(new.join("contracts/R1/explored.yaml"), explored()).unwrap();
    let ran = run("--json session relocate");
    assert!(
        ran.stderr.contains("FILE_IN_THE_WAY") && ran.stderr.contains("out of the way"),
        "{ran}"
    );
    assert!(old.join("session.json").exists(), "nothing was renamed");
    fs::remove_dir_all(&new).unwrap();
    fs::create_dir_all(&new).unwrap();
    assert_eq!(run("session relocate").code, 0);
    assert!(new.join("session.json").exists() && !old.exists());
}

#[test]
fn knowledge_without_a_session_moves_as_well() {
    let project = Project::git();
    project.must("knowledge add decision Store SQLite");
    let to = project.base().join("moved");
    fs::rename(project.path(""), &to).unwrap();
    let run = |line: &str| project.run_in(&to, line);
    let ran = run("--json knowledge add decision Cache none");
    assert!(ran.code == 3 && ran.stderr.contains("SESSION_MOVED"), "{ran}");
    assert!(run("doctor").stdout.contains("the knowledge belongs to"), "doctor");
    let ran = run("session relocate");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(run("knowledge show").stdout.contains("SQLite"));
    assert_eq!(knowledge(&to).len(), 1);
    assert!(!run("doctor").stdout.contains("the knowledge belongs to"), "doctor");
}
