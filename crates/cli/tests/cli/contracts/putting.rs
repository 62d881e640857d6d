//! `contract put`, `get`, `list` and `diff`.

use super::{EXAMPLES, folder, kind_of, put};
use crate::harness::Project;
use serde_json::Value;
use std::process::Command;

const RESULT: &str = EXAMPLES[5].1;

/// As another program computes it.
fn md5_of(text: &str) -> String {
    let mut command = Command::new("sh");
    let output = command.args(["-c", "printf %s \"$0\" | md5sum", text]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_contract_goes_to_the_place_that_it_names() {
    let project = Project::git();
    for (path, text) in EXAMPLES {
        let ran = put(&project, &format!("{} --json", kind_of(path)), text);
        assert_eq!(ran.code, 0, "{ran}");
        let said: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert!(said["contract"]["path"].as_str().unwrap().ends_with(path), "{said}");
        assert_eq!(said["changed"], true);
    }
    // By the path of the project, as others name its folder too.
    let hash = project.json("contract list")[0]["path"].as_str().unwrap().to_owned();
    let expected = md5_of(project.root.to_str().unwrap());
    assert!(
        hash.contains(&format!("/sessions/{}/contracts/", &expected[..8])),
        "{hash} {expected}"
    );
    let again = put(&project, "explored", EXAMPLES[0].1);
    assert!(again.stderr.contains("was the same"), "{again}");
    let notes = project.log().into_iter().filter(|it| it["kind"] == "document_noted").count();
    assert_eq!(notes, EXAMPLES.len(), "each is noted once");
    assert_eq!(project.git_command("status --porcelain"), "");
}

#[test]
fn what_is_not_valid_or_of_something_else_changes_nothing() {
    let project = Project::git();
    for (line, text, part) in [
        ("test-result", "version: 1\n", "the field `created_at` is missing"),
        ("test-result --request R2", RESULT, "`R1` stands in the folder of R2"),
        ("test-result --subtask T1-S3", RESULT, "`T1-S2` stands in the folder of T1-S3"),
        (
            "design-brief",
            "version: 1\ncreated_at: \"2026-01-01T00:00:00Z\"\ncreated_by: o\n",
            "it is not known of which request",
        ),
        ("knowledge", "version: 1\n", "is no kind of contract"),
        ("nothing", "", "is no kind of contract"),
    ] {
        let ran = put(&project, line, text);
        assert_eq!(ran.code, 2, "{line}\n{ran}");
        assert!(ran.stderr.contains(part), "{line}: {part}\n{ran}");
    }
    assert!(!project.root.join(".claude/orchestrator").exists());
}

#[test]
fn a_place_that_the_contract_does_not_say_is_given() {
    let project = Project::git();
    let text = "version: 1\ncreated_at: \"2026-01-01T00:00:00Z\"\ncreated_by: orchestrator\n";
    let ran = put(&project, "design-brief --request R4 --task T2", text);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read(&format!("{}/R4/T2/design-brief.yaml", folder(&project))), text);
    assert_eq!(project.must("contract get design-brief").stdout, text);
    let listed = project.must("contract list").stdout;
    assert!(listed.contains("R4/T2") && listed.contains("valid"), "{listed}");
}

#[test]
fn several_of_a_kind_have_to_be_named() {
    let project = Project::git();
    put(&project, "test-result", RESULT);
    put(&project, "test-result", &RESULT.replace("T1-S2", "T1-S10"));
    put(&project, "test-result", &RESULT.replace("T1-S2", "T1-S3"));
    let places: Vec<String> = project
        .json("contract list test-result")
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["subtask"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(places, ["T1-S2", "T1-S3", "T1-S10"]);
    let ran = project.run("contract get test-result");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("there are several"), "{ran}");
    let got = project.json("contract get test-result --subtask T1-S10");
    assert_eq!(got["document"]["summary"]["total"], 2);
    assert_eq!(got["contract"]["subtask"], "T1-S10");
    assert_eq!(project.run("contract get explored").code, 2);
}

#[test]
fn versions_are_kept_and_compared_by_their_fields() {
    let project = Project::git();
    put(&project, "test-result", RESULT);
    let ran = project.run("contract diff test-result");
    assert!(ran.code == 0 && ran.stderr.contains("has one version"), "{ran}");
    let failed = RESULT
        .replace("result: \"pass\"", "result: \"fail\"")
        .replace("passed: 2", "passed: 1")
        .replace("failed: 0", "failed: 1")
        .replace("action: \"complete\"", "action: \"retry_implementation\"");
    put(&project, "test-result", &failed);
    // Another order and other quotes are no change.
    put(&project, "test-result", &format!("# again\n{}", RESULT.replace("\"pass\"", "pass")));
    let diff = project.json("contract diff test-result --from 1 --to 2");
    let paths: Vec<&str> =
        diff["changes"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(
        paths,
        ["execution.result", "recommendation.action", "summary.failed", "summary.passed"]
    );
    assert_eq!(diff["changes"][0]["before"], "\"pass\"");
    assert!(
        project.json("contract diff test-result --from 1")["changes"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let shown = project.must("contract diff test-result").stdout;
    assert!(
        shown.contains("- execution.result: \"fail\"\n+ execution.result: \"pass\""),
        "{shown}"
    );
    assert_eq!(project.must("contract get test-result --version 2").stdout, failed);
    let ran = project.run("contract diff test-result --to 9");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("there are 1 to 3"), "{ran}");
}
