//! What agents are told of earlier attempts, as their programs read it.

use crate::{
    agents::{bodies, one, tasks, with},
    harness::{BINARY, Project, USER_CONFIG},
};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _};

/// Keeps what is said to each attempt's program in `heard-ATTEMPT`.
fn listen(project: &Project) {
    let path = project.base().join("ear");
    let heard = project.base().join("heard");
    // What listens has to go with the program, however that ends.
    let text = format!(
        "#!/bin/sh\nexec 3<&0\nheard={}-$WAYPOST_ATTEMPT\nmkfifo $heard.pipe\n\
         tee $heard <&3 > $heard.pipe &\near=$!\n{BINARY} \"$@\" < $heard.pipe\n\
         code=$?\nkill $ear 2> /dev/null\nexit $code\n",
        heard.display()
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let config = project.read(USER_CONFIG);
    project.write(USER_CONFIG, &config.replacen(BINARY, &path.display().to_string(), 1));
}

fn heard(project: &Project, attempt: u32) -> String {
    fs::read_to_string(project.base().join(format!("heard-{attempt}"))).unwrap()
}

#[test]
fn every_retry_is_told_the_last_failure() {
    let steps = json!([{"run": "echo again >> tries"}, {"done": "it is there"}]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let verify = "echo wanted three tries and found $(wc -l < tries); test $(wc -l < tries) -ge 3";
    let project = with(&format!("{}  - verify: `{verify}`\n", tasks(&["T1.1"])), &script);
    listen(&project);
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!heard(&project, 1).contains("failed"), "{}", heard(&project, 1));
    for attempt in [2, 3] {
        let told = heard(&project, attempt);
        let found = format!("    wanted three tries and found {}", attempt - 1);
        for wanted in ["It failed because: ", "did not pass: exit code 1", &found] {
            assert!(told.contains(wanted), "attempt {attempt}: no `{wanted}` in {told}");
        }
        assert!(!told.contains("Before you change anything"), "attempt {attempt}: {told}");
    }
}

#[test]
fn a_conversation_that_goes_on_is_told_too() {
    let done = json!([{"tool": "Read", "input": "x"}, {"done": "second time"}]);
    let project = one(&[json!([{"say": "I begin."}, {"crash": 3}]), done]);
    listen(&project);
    assert_eq!(project.run("run --no-budget").code, 0);
    assert!(
        heard(&project, 2).contains("It failed because: exit code 3"),
        "{}",
        heard(&project, 2)
    );
}

#[test]
fn an_attempt_that_a_person_wants_is_told_what_failed_before() {
    let fail = json!([{"tool": "Read", "input": "x"}, {"fail": "no such table"}]);
    let done = json!([{"tool": "Read", "input": "x"}, {"done": "made it"}]);
    let project = one(&[fail, done]);
    listen(&project);
    assert_eq!(project.run("run --no-budget --retry-limit 0").code, 1);
    project.must("run retry T1.1");
    assert_eq!(project.run("run --resume").code, 0);
    assert!(heard(&project, 2).contains("It failed because: no such table"));
}

#[test]
fn only_attempts_that_were_told_count_as_the_same_error() {
    let project = one(&[json!([{"tool": "Read", "input": "x"}, {"fail": "line 17 is wrong"}])]);
    let config = project.read(USER_CONFIG);
    project.write(USER_CONFIG, &format!("{config}\n[run]\nsame_error_limit = 1\n"));
    assert_eq!(project.run("run --no-budget").code, 1);
    assert_eq!(bodies(&project, "task_failed")[0]["reason"], "same_error");
    assert_eq!(bodies(&project, "task_started").len(), 2, "the first one was told nothing");
}
