//! Files that tasks leave and git ignores.

use super::*;

/// A task that builds `dist/app.js`, which git ignores, and one after it that needs it.
fn building(keep: &str) -> Project {
    let build =
        task("T1.1", &["files: dist/app.js", "run: `mkdir dist; echo built > dist/app.js`"]);
    let next = "- [ ] T1.2: Use it\n  - depends: T1.1\n  - run: `cp dist/app.js used.txt`\n";
    let project = with(&ground(&[build, next.to_owned()]));
    project.write(".gitignore", "/dist/\n");
    project.write("waypost.toml", &format!("[worktree]\nkeep = [{keep}]\n"));
    project.git_command("add .");
    project.git_command("commit -qm ignore");
    project
}

#[test]
fn an_output_that_git_ignores_is_named_and_proves_nothing() {
    for isolation in ["task", "phase"] {
        let project = building("");
        let line = format!("run --isolation {isolation} --retry-limit 0");
        let ran = project.run(&line);
        assert_ne!(ran.code, 0, "{ran}");
        let why = project.run("why T1.1");
        assert!(why.stdout.contains("git ignores dist/app.js"), "{isolation}: {why}");
        assert!(why.stdout.contains("worktree.keep"), "{isolation}: {why}");
    }
}

#[test]
fn what_goes_with_its_tree_is_said_when_a_task_is_done() {
    let project =
        with(&ground(&[task("T1.1", &["run: `echo x > a.txt; mkdir dist; touch dist/b`"])]));
    project.write(".gitignore", "/dist/\n");
    project.git_command("add .");
    project.git_command("commit -qm ignore");
    let ran = run(&project, RUN, 0, &["T1.1: git ignores dist/", "worktree.keep"]);
    let log = fs::read_to_string(project.path(".git/waypost/logs/T1.1/1.log")).unwrap();
    assert!(log.contains("waypost: git ignores dist/"), "{log}\n{ran}");
    is_tidy(&project);
}

#[test]
fn what_is_kept_is_found_by_later_tasks_and_in_the_project() {
    for isolation in ["task", "phase"] {
        let project = building("\"/dist/\"");
        let ran = ends_well(&project, &format!("run --isolation {isolation} --retry-limit 0"));
        assert!(!ran.stderr.contains("git ignores"), "{ran}");
        assert_eq!(project.read("dist/app.js"), "built\n", "{isolation}");
        assert_eq!(at(&project, "main", "used.txt"), "built\n", "{isolation}");
        assert_eq!(dirt(&project), "");
    }
}
