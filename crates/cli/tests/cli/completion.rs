//! What a shell offers at the tabulator key, and the manual pages.

use crate::harness::{BINARY, Project, USER_CONFIG};
use std::{fs, path::Path};

/// What bash offers for a line that is typed so far.
pub(crate) fn offered(project: &Project, line: &str) -> Vec<String> {
    let count = line.split(' ').count();
    let script = format!(
        "PATH={}:$PATH; source <(waypost completions bash); COMP_WORDS=({line}); \
         COMP_CWORD={}; COMP_TYPE=9; _clap_complete_waypost waypost {}; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        Path::new(BINARY).parent().unwrap().display(),
        count - 1,
        line.split(' ').next_back().unwrap(),
    );
    let ran = project.command("bash", &project.root).args(["-c", &script]).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn ids_are_completed() {
    let project = Project::running();
    project.write(USER_CONFIG, "[agents.alice]\nadapter = \"claude\"\ncommand = [\"true\"]\n");
    assert_eq!(offered(&project, "waypost run start T1."), ["T1.1", "T1.2", "T1.3"]);
    assert_eq!(offered(&project, "waypost why T0"), ["T0.1", "T0.2"]);
    assert_eq!(offered(&project, "waypost run --agent al"), ["alice"]);
    let away = format!("waypost -C {} run logs T0.", project.root.display());
    let elsewhere = Project::plain();
    assert_eq!(offered(&elsewhere, &away), ["T0.1", "T0.2"]);
    assert!(offered(&elsewhere, "waypost run logs T").is_empty());
    let files: Vec<_> = fs::read_dir(&elsewhere.root).unwrap().collect();
    assert!(files.is_empty(), "nothing is made by asking: {files:?}");

    let project = Project::implementing();
    project.must("develop checkpoint escalate cp-1");
    assert_eq!(offered(&project, "waypost inbox answer q"), ["q1"]);
    assert_eq!(offered(&project, "waypost develop checkpoint start cp"), ["cp-1", "cp-2", "cp-3"]);
    assert_eq!(offered(&project, "waypost develop gate pass arch"), ["architect_verified"]);
    assert!(offered(&project, "waypost work").contains(&"worktree".to_owned()));
}

#[test]
fn every_command_has_a_manual_page() {
    let project = Project::plain();
    let page = project.must("man").stdout;
    assert!(page.contains(".TH waypost 1") && page.contains("waypost\\-run(1)"), "{page}");
    project.must("man pages/man1");
    for (file, said) in [
        ("waypost.1", "Exit codes"),
        ("waypost-run.1", "waypost run \\-\\-resume"),
        ("waypost-run-start.1", "The task, as in T1.3"),
        ("waypost-inbox-answer.1", "Reserved for a person"),
    ] {
        let page = project.read(&format!("pages/man1/{file}"));
        assert!(page.contains(said), "{file} lacks {said}:\n{page}");
    }
    assert!(!project.path("pages/man1/waypost-reference.1").exists(), "hidden");
}
