//! A journal that is gone, and state files that have none.

use super::settled;
use crate::{
    harness::{PIN_KEPT, Project, RUN, WORKFLOW},
    terminal::no_person_is_here,
};
use insta::assert_snapshot;
use std::fs;

/// A project whose journal was deleted with its folder, backups and all.
fn vanished() -> Project {
    let project = Project::implementing();
    fs::remove_dir_all(project.journal()).unwrap();
    project
}

#[test]
fn without_its_journal_everything_is_closed() {
    let project = vanished();
    let before = project.read(WORKFLOW);
    let lines = [
        "status",
        "develop checkpoint start cp-2",
        "develop start 'Another'",
        "run next",
        "doctor",
        "doctor --fix",
        &format!("adopt {WORKFLOW}"),
        "init",
        "init --fresh",
    ];
    assert_snapshot!("vanished", project.transcript(&lines));
    assert_eq!(project.read(WORKFLOW), before);
    assert!(!project.journal().join("journal.db").exists());
}

#[test]
fn a_person_starts_anew_from_the_state_file() {
    if no_person_is_here() {
        return;
    }
    let project = vanished();
    let line = format!("adopt {WORKFLOW}");
    let told = project.tell(&line, &project.as_person(&line));
    assert_snapshot!("adopted_after_loss", format!("{told}\n{}", settled(&project)));
    assert_eq!(project.log()[0]["kind"], "adopted");
    project.must("--quiet develop checkpoint fail cp-1");
}

#[test]
fn a_person_starts_anew_from_nothing() {
    if no_person_is_here() {
        return;
    }
    let project = vanished();
    let line = "init --fresh";
    let told = project.tell(line, &project.as_person(line));
    assert_snapshot!("fresh_after_loss", format!("{told}\n{}", project.transcript(&["status"])));
}

#[test]
fn a_file_that_cannot_be_adopted_leaves_everything_as_it_is() {
    if no_person_is_here() {
        return;
    }
    let project = vanished();
    project.replace(WORKFLOW, "\"phase\": \"IMPLEMENT\"", "\"phase\": \"IMPLEMENTING\"");
    let line = format!("adopt {WORKFLOW}");
    assert_snapshot!("not_adopted", project.tell(&line, &project.as_person(&line)));
    assert!(!project.journal().join("journal.db").exists());
    assert_eq!(project.run("status").code, 5);
}

#[test]
fn a_state_file_alone_is_told_of_until_a_person_adopts_it() {
    let project = vanished();
    // Another machine, another user: nothing remembers that there was a journal.
    fs::remove_dir_all(project.home().join(".local")).unwrap();
    let before = project.read(WORKFLOW);
    let lines = ["status", "develop status", "doctor"];
    assert_snapshot!("loose", project.transcript(&lines));
    assert_eq!(project.read(WORKFLOW), before);
    // A run beside it has a journal of its own making, and the file still has none.
    project.write("TASKS.md", crate::harness::TASKS);
    project.must("run start T0.1");
    let said = project.must("--quiet status").stderr;
    assert!(said.contains("has no journal behind it"), "{said}");
    assert_eq!(project.read(WORKFLOW), before);
    if no_person_is_here() {
        return;
    }
    project.write("../home/.local/state/waypost/pin", PIN_KEPT);
    project.person_must(&format!("adopt {WORKFLOW}"));
    settled(&project);
}

#[test]
fn a_run_is_adopted_with_what_is_settled() {
    if no_person_is_here() {
        return;
    }
    for with_tasks in [true, false] {
        let project = Project::running();
        fs::remove_dir_all(project.journal()).unwrap();
        if !with_tasks {
            fs::remove_file(project.path("TASKS.md")).unwrap();
        }
        project.person_must(&format!("adopt {RUN}"));
        let want = "state:  blocked T1.2, completed T0.1 T0.2, failed T1.1, ready T1.3\n";
        assert_eq!(settled(&project), want, "with TASKS.md: {with_tasks}");
    }
}

/// Written by an older tool: local times, a phase without the checkpoints that we would write.
#[test]
fn what_was_adopted_is_not_an_edit() {
    if no_person_is_here() {
        return;
    }
    let project = Project::git();
    project.write(WORKFLOW, SEED_WORKFLOW);
    project.write(RUN, SEED_RUN);
    for window in [WORKFLOW, RUN] {
        project.person_must(&format!("adopt {window}"));
    }
    assert_snapshot!("adopted_seeds", settled(&project));
}

const SEED_WORKFLOW: &str = include_str!("../fixtures/000-1-workflow-state.json");
const SEED_RUN: &str = include_str!("../fixtures/001-1-run-state.json");

#[test]
fn a_person_brings_the_newest_backup_back() {
    let project = Project::implementing();
    fs::remove_file(project.journal().join("journal.db")).unwrap();
    for log in ["journal.db-wal", "journal.db-shm"] {
        drop(fs::remove_file(project.journal().join(log)));
    }
    // An agent could otherwise go back to a time at which it was allowed more.
    assert_snapshot!("not_restored", project.transcript(&["status", "doctor", "doctor --fix"]));
    if no_person_is_here() {
        return;
    }
    let line = "doctor --fix";
    assert_snapshot!("restored", project.tell(line, &project.as_person(line)));
    project.must("status");
    settled(&project);
}

#[test]
fn a_journal_with_a_second_name_counts_as_damaged() {
    let project = Project::implementing();
    fs::hard_link(project.journal().join("journal.db"), project.path("copy")).unwrap();
    let ran = project.run("develop status");
    assert_eq!(ran.code, 5, "{ran}");
    assert!(ran.stderr.contains("more than one name"), "{ran}");
    fs::remove_file(project.path("copy")).unwrap();
    project.must("develop status");
}
