//! A merge that is held, and the person who lets it be tried again.

use super::{RUN, ends_well, ground, head, is_held, run, task, with};
use crate::terminal::no_person_is_here;
use serde_json::json;

#[test]
fn a_held_merge_waits_for_retry_and_takes_nothing_else() {
    if no_person_is_here() {
        return;
    }
    let project = with(&ground(&[task("T1.1", &["run: `echo laid >> ground.txt`"])]));
    project.write("ground.txt", "mine\n");
    let main = head(&project, "main");
    run(&project, RUN, 1, &["The merge changes files that have uncommitted changes in"]);
    is_held(&project, &main);
    let entry = &project.json("inbox")[0];
    assert_eq!((&entry["kind"], &entry["verbs"]), (&json!("held_merge"), &json!(["retry"])));
    let refused = project.as_person("inbox answer q1 done");
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("does not take `answer`, but retry"), "{refused}");
    is_held(&project, &main);

    project.git_command("checkout -q ground.txt");
    let told = project.person_must("inbox retry q1");
    assert!(told.stderr.contains("next: waypost run --resume"), "{told}");
    assert_eq!(project.json("inbox"), json!([]));
    ends_well(&project, "run --resume");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
}
