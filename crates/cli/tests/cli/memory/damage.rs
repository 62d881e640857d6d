//! Damage of every kind: the last good state is restored, the bad file is kept, and it is said which of
//! the two it was.

use super::*;
use std::fs;

/// What a file may have become.
const DAMAGES: [(&str, &[u8]); 5] = [
    ("empty", b""),
    ("cut short", b"{\"version\": \"1.0\", \"sess"),
    ("zeros", &[0; 64]),
    ("not text", b"\xff\xfe\x00{"),
    ("another language", b"version: '1.0'\n"),
];

fn corrupt(project: &Project, folder: &str) -> Vec<String> {
    let names = fs::read_dir(project.path(folder)).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".corrupt-")).collect()
}

#[test]
fn a_window_that_cannot_be_read_is_shown_again_from_the_journal() {
    for (name, bytes) in DAMAGES {
        for file in [STATE, HISTORY] {
            let project = at_work();
            let before = project.window(file);
            fs::write(project.path(file), bytes).unwrap();
            let ran = project.run("memory show");
            assert_eq!(ran.code, 0, "{name}: {ran}");
            assert_eq!(project.window(file), before, "{name}");
            let is_said = ran.stderr.contains("the journal has is shown again")
                || ran.stderr.contains("was empty or cut short and is shown again");
            assert!(is_said, "{name}: {ran}");
            if ran.stderr.contains("the bad file is") {
                assert_eq!(corrupt(&project, ".claude/memory").len(), 1, "{name}");
            }
        }
    }
}

#[test]
fn a_document_that_cannot_be_read_is_restored_from_its_backup_or_begun_again() {
    for (name, bytes) in DAMAGES {
        let project = Project::git();
        project.must("memory context set shared_data.topic '\"carts\"'");
        project.must("memory context set shared_data.more 1");
        fs::write(project.path(CONTEXT), bytes).unwrap();
        let ran = project.run("memory context get shared_data.topic");
        assert_eq!((ran.code, ran.stdout.trim()), (0, "\"carts\""), "{name}: {ran}");
        assert!(ran.stderr.contains("its backup") && ran.stderr.contains(".corrupt-1"), "{ran}");
        // What was set last is there, too.
        assert_eq!(
            project.must("memory context get shared_data.more").stdout.trim(),
            "1",
            "{name}"
        );
        assert!(!ran.stderr.contains("the last change to it is not in there"), "{ran}");
        assert_eq!(fs::read(project.path(&format!("{CONTEXT}.corrupt-1"))).unwrap(), bytes);
        // Without a backup it begins again, empty, and that is said.
        let agent = ".claude/memory/agents/helper.json";
        project.write(agent, "");
        fs::write(project.path(agent), bytes).unwrap();
        let ran = project.run("memory agent helper get");
        assert!(ran.stderr.contains("has no backup: it begins again, empty"), "{name}: {ran}");
        assert_eq!(fs::read(project.path(&format!("{agent}.corrupt-1"))).unwrap(), bytes);
        project.must("memory agent helper set cache.x 1");
    }
}

#[test]
fn a_document_that_is_not_valid_is_told_with_its_field_and_left_alone() {
    let project = Project::git();
    project.must("memory context set shared_data.topic 1");
    project.edit(CONTEXT, |context| context["mood"] = "good".into());
    let text = project.read(CONTEXT);
    for line in ["memory context get", "memory context set shared_data.x 1", "memory validate"] {
        let ran = project.run(line);
        assert_eq!(ran.code, 2, "{line}\n{ran}");
        assert!(ran.stderr.contains("mood"), "{line}\n{ran}");
    }
    assert_eq!(project.read(CONTEXT), text, "nothing is overwritten because of it");
    assert_eq!(project.run("memory doctor --fix").code, 1);
    assert_eq!(project.read(CONTEXT), text);
}

#[test]
fn what_can_be_mended_without_loss_is_mended_after_it_was_shown() {
    let project = Project::git();
    project.write(CONTEXT, "{\"shared_data\": {\"topic\": \"carts\"}}");
    let looked = project.run("memory doctor");
    assert!(
        looked.stdout.contains("lacks fields") && looked.stdout.contains("memory doctor --fix")
    );
    assert!(!project.read(CONTEXT).contains("version"), "looking changes nothing");
    let fixed = project.must("memory doctor --fix");
    assert!(fixed.stderr.contains("lacks fields") && fixed.stderr.contains("fixed:"), "{fixed}");
    let context = project.window(CONTEXT);
    assert_eq!(
        (&context["version"], &context["shared_data"]["topic"]),
        (&"1.0".into(), &"carts".into())
    );
    assert!(context["session"]["id"].is_string());
    project.must("memory validate");
}

#[test]
fn a_current_task_that_the_history_has_ended_is_reported_and_mended() {
    let project = Project::git();
    // As an agent left its files: the history has the task, and it is still current.
    project.write(
        STATE,
        r#"{"current_task": {"id": "task-2025-11-18-001", "name": "Done", "status": "in_progress"},
            "pending_tasks": [{"id": "task-2025-11-18-002", "name": "Next"}]}"#,
    );
    project.write(
        HISTORY,
        r#"{"tasks": [{"id": "task-2025-11-18-001", "name": "Done", "result": "success"}],
            "statistics": {"total_tasks": 1, "success_rate": 1.0, "avg_duration_seconds": 5}}"#,
    );
    project.must("memory init");
    assert_eq!(current(&project)["name"], "Done");
    for line in ["memory doctor", "doctor"] {
        let looked = project.run(line);
        assert_eq!(looked.code, 1, "{looked}");
        assert!(looked.stdout.contains("the history says that it has ended"), "{looked}");
    }
    let why = project.must("why task-2025-11-18-001");
    assert!(why.stdout.contains("memory doctor --fix"), "{why}");
    let fixed = project.must("memory doctor --fix");
    assert!(fixed.stderr.contains("fixed: task-2025-11-18-001"), "{fixed}");
    assert_eq!(current(&project)["name"], "Next");
    assert_eq!(project.run("memory doctor").code, 0);
    assert!(!project.json("memory backup --list").as_array().unwrap().is_empty());
}

#[test]
fn a_backup_is_restored_by_a_person_alone_and_can_be_undone() {
    let project = at_work();
    project.must("memory init");
    project.must("memory context set shared_data.topic '\"first\"'");
    project.must("memory agent helper set cache.x 1");
    let made = project.json("memory backup");
    assert_eq!(made["files"].as_array().map(Vec::len), Some(4), "{made}");
    let time = made["files"][0].as_str().unwrap().rsplit('.').nth(1).unwrap().to_owned();
    project.must("memory step start 1");
    project.must("memory context set shared_data.topic '\"second\"'");
    let refused = project.run(&format!("memory restore {time}"));
    assert_eq!(refused.code, 3, "{refused}");
    assert_eq!(project.as_person("memory restore nonsense").code, 2);
    let restored = project.as_person(&format!("memory restore {time}"));
    assert_eq!(restored.code, 0, "{restored}");
    assert_eq!(statuses(&project)[0], "pending");
    assert_eq!(project.window(CONTEXT)["shared_data"]["topic"], "first");
    // What stood there before is the newest backup.
    let restored = project.as_person("memory restore");
    assert_eq!(restored.code, 0, "{restored}");
    assert_eq!(project.window(CONTEXT)["shared_data"]["topic"], "second");
    assert_eq!(statuses(&project)[0], "in_progress");
    project.must("memory validate");
}

#[test]
fn the_newest_twenty_backups_of_a_file_are_kept() {
    let project = Project::git();
    for number in 0..24 {
        project.must(&format!("memory context set shared_data.number {number}"));
    }
    let kept = project.json("memory backup --list");
    assert_eq!(kept.as_array().map(Vec::len), Some(20));
    let name = kept[0]["name"].as_str().unwrap();
    assert!(name.starts_with("shared-context.") && name.ends_with(".json"), "{name}");
}

#[test]
fn a_damaged_backup_is_passed_over_for_an_older_one() {
    let project = Project::git();
    for value in 1..=3 {
        project.must(&format!("memory context set shared_data.topic {value}"));
    }
    let backups = project.path(".claude/memory/backup");
    let mut copies: Vec<_> = fs::read_dir(&backups)
        .unwrap()
        .map(|it| it.unwrap().path())
        .filter(|it| it.file_name().unwrap().to_str().unwrap().starts_with("shared-context"))
        .collect();
    copies.sort();
    assert!(copies.len() >= 2, "{copies:?}");
    fs::write(copies.last().unwrap(), "{\"cut").unwrap();
    // The newest content is kept beside the journal, too.
    for entry in fs::read_dir(project.journal().join("documents")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "newest") {
            fs::write(path, "{").unwrap();
        }
    }
    fs::write(project.path(CONTEXT), "{").unwrap();
    let ran = project.must("memory context get shared_data.topic");
    assert!(ran.stderr.contains("its backup") && ran.stderr.contains("is in its place"), "{ran}");
    let kept: u32 = ran.stdout.trim().parse().unwrap();
    assert!((1..3).contains(&kept), "an older one: {ran}");
    project.must("memory validate");
}
