//! What piles up, as `doctor` shows and deletes it.

use crate::harness::Project;
use std::{
    fs::File,
    time::{Duration, SystemTime},
};

#[test]
fn doctor_shows_what_would_go_and_deletes_it_when_told() {
    let project = Project::git();
    project
        .write("TASKS.md", "# Tasks: a\n\n## Phase 1: A\n\n- [ ] T1.1: A\n  - run: `echo made`\n");
    project.must("run --isolation none");
    let log = project.path(".git/waypost/logs/T1.1/1.log");
    let sound = project.run("doctor");
    assert!(!sound.stdout.contains("retention"), "{sound}");
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 24 * 3_600);
    File::options().write(true).open(&log).unwrap().set_modified(long_ago).unwrap();
    let shown = project.run("doctor");
    assert_eq!(shown.code, 0, "{shown}");
    let text = "note retention      beyond what is configured: 1 of 1 logs (1 of 1 MB)";
    assert!(shown.stdout.contains(text) && log.exists(), "{shown}");
    let fixed = project.run("doctor --fix");
    assert!(fixed.stderr.contains("deleted 1 of 1 logs (1 of 1 MB)"), "{fixed}");
    assert!(!log.exists());
    // An open task's log stays, however old it is.
    project.write(
        "TASKS.md",
        "# Tasks: a\n\n## Phase 1: A\n\n- [ ] T1.2: A\n  - run: `echo why; false`\n",
    );
    project.run("run --isolation none --retry-limit 0");
    let log = project.path(".git/waypost/logs/T1.2/1.log");
    File::options().write(true).open(&log).unwrap().set_modified(long_ago).unwrap();
    let kept = project.run("doctor --fix");
    assert!(log.exists(), "{kept}");
}
