//! `contract validate` and `validate`: strict, with places, and held to the path.

use super::{EXAMPLES, folder, kind_of, put};
use crate::harness::Project;
use serde_json::Value;

/// A session with the seed's own contracts.
fn session() -> Project {
    let project = Project::git();
    for (path, text) in EXAMPLES {
        let ran = put(&project, kind_of(path), text);
        assert_eq!(ran.code, 0, "{path}\n{ran}");
    }
    project
}

#[test]
fn the_examples_of_the_format_are_valid_where_they_stand() {
    let project = session();
    let found = project.json("contract validate");
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), EXAMPLES.len());
    for (line, (path, text)) in found.iter().zip(EXAMPLES) {
        assert_eq!(line["valid"], true, "{line}");
        assert!(line["file"].as_str().unwrap().ends_with(path), "{line}");
        let file = format!("{}/{path}", folder(&project));
        assert_eq!(project.read(&file), text, "they are put as they are");
    }
    // A subtask of its own for tests is read, and warned about.
    let warned: Vec<&Value> =
        found.iter().flat_map(|it| it["findings"].as_array().unwrap()).collect();
    assert!(warned.iter().all(|it| it["code"] == "separate_test_subtask"), "{warned:?}");
    assert_eq!(warned.len(), 3);
}

#[test]
fn ids_have_to_fit_the_path() {
    let project = session();
    let folder = folder(&project);
    let brief = format!("{folder}/R1/T1/design-brief.yaml");
    let wrong = project.read(&brief).replace("task_id: T1", "task_id: T2");
    project.write(&brief, &wrong);
    for line in [format!("validate {brief}"), format!("contract validate {brief}")] {
        let ran = project.run(&format!("--json {line}"));
        assert_eq!(ran.code, 2, "{ran}");
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        let finding = found[0]["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["code"] == "wrong_place")
            .unwrap();
        assert_eq!((&finding["line"], &finding["column"]), (&3.into(), &10.into()), "{finding}");
        assert_eq!(finding["path"], "task_id");
        assert_eq!(finding["expected"], "T1");
        assert_eq!(finding["message"], "`T2` stands in the folder of T1");
    }
    let shown = project.run("contract validate");
    assert_eq!(shown.code, 2);
    assert!(shown.stderr.contains("design-brief.yaml:3:10"), "{shown}");
}

#[test]
fn a_contract_in_the_wrong_folder_is_told() {
    let project = session();
    let folder = folder(&project);
    let text = project.read(&format!("{folder}/R1/explored.yaml"));
    let wrong = format!("{folder}/R1/T1/explored.yaml");
    project.write(&wrong, &text);
    let ran = project.run(&format!("contract validate {wrong}"));
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("belongs to a request"), "{ran}");
}

#[test]
fn an_agent_is_asked_to_write_a_bad_contract_again() {
    let project = session();
    let folder = folder(&project);
    let path = format!("{folder}/R1/T1/T1-S2/test-contract.yaml");
    let bad =
        project.read(&path).replace("test_cases:", "test_case:").replace("happy_path", "happy");
    project.write(&path, &bad);
    let ran = project.run(&format!("contract validate {path} --regenerate-prompt"));
    assert_eq!(ran.code, 2, "{ran}");
    for part in [
        "Write the whole file again",
        "unknown field `test_case`",
        "did you mean `test_cases`",
        "waypost schema test-contract",
        "waypost validate",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{ran}");
    }
    let data = project.run(&format!("--json contract validate {path} --regenerate-prompt"));
    let data: Value = serde_json::from_str(&data.stdout).unwrap();
    assert!(data[0]["prompt"].as_str().unwrap().contains("Write the whole file again"));
    let good = project.must("contract validate --regenerate-prompt R1.yaml --help");
    assert!(good.stdout.contains("hand back to its agent"));
}
