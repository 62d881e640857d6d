//! The state file and the contract as they are read.

use super::{
    CheckpointContract, CheckpointRow, Gates, Phase, Strategy, Walk, WorkflowState, chain,
    found_in_a_file, id,
};
use crate::document::Document as _;
use crate::workflow::CheckpointStatus;

/// The example of the seed.
pub(super) const SEED: &str = r#"{
  "phase": "IMPLEMENT",
  "strategy": "subagent",
  "feature": "실시간 채팅 기능",
  "started_at": "2026-02-16T10:00:00",
  "updated_at": "2026-02-16T11:30:00",
  "gates": {
    "review_clean_pass": true,
    "architect_verified": false,
    "re_review_clean": false
  },
  "checkpoints": {
    "cp-1": { "status": "passed", "iteration": 2 },
    "cp-2": { "status": "in_progress", "iteration": 1 },
    "cp-3": { "status": "pending", "iteration": 0 }
  }
}"#;

fn load(text: &str) -> Result<WorkflowState, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn the_seeds_example_loads() {
    let row = |status, iteration| CheckpointRow { status, iteration };
    let want = WorkflowState {
        phase: Phase::Implement,
        strategy: Some(Strategy::Subagent),
        feature: "실시간 채팅 기능".into(),
        started_at: "2026-02-16T10:00:00".parse().unwrap(),
        updated_at: "2026-02-16T11:30:00".parse().unwrap(),
        gates: Gates { review_clean_pass: true, ..Gates::default() },
        checkpoints: [
            (id("cp-1"), row(CheckpointStatus::Passed, 2)),
            (id("cp-2"), row(CheckpointStatus::InProgress, 1)),
            (id("cp-3"), row(CheckpointStatus::Pending, 0)),
        ]
        .into_iter()
        .collect(),
    };
    let file = load(SEED).unwrap();
    assert_eq!(file, want);
    assert_eq!(file.check(), []);
}

#[test]
fn every_key_is_written_in_the_seeds_order() {
    let file = Walk::of("start chat").feature().render();
    insta::assert_snapshot!(serde_json::to_string_pretty(&file).unwrap(), @r#"
    {
      "phase": "DESIGN",
      "strategy": null,
      "feature": "chat",
      "started_at": "1970-01-01T00:00:01Z",
      "updated_at": "1970-01-01T00:00:01Z",
      "gates": {
        "review_clean_pass": false,
        "architect_verified": false,
        "re_review_clean": false
      },
      "checkpoints": {}
    }
    "#);
}

#[test]
fn reading_is_strict_but_for_what_older_files_lack() {
    let with = |from: &str, to: &str| {
        assert!(SEED.contains(from), "{from} is in the example");
        load(&SEED.replace(from, to))
    };
    assert_eq!(with("\"IMPLEMENT\"", "\"MERGE\"").unwrap().phase, Phase::Pr);
    assert_eq!(with("\"strategy\": \"subagent\",", "").unwrap().strategy, None);
    let checkpoints = &SEED[SEED.find(",\n  \"checkpoints\"").unwrap()..];
    assert!(load(&SEED.replace(checkpoints, "}")).unwrap().checkpoints.is_empty());

    let table = [
        (
            "\"architect_verified\": false",
            "\"architect_verified\": \"false\"",
            "expected a boolean",
        ),
        ("\"architect_verified\": false", "\"architect_verified\": 0", "expected a boolean"),
        ("\"re_review_clean\": false", "\"re_review\": false", "unknown field `re_review`"),
        (",\n    \"re_review_clean\": false", "", "missing field `re_review_clean`"),
        ("\"phase\"", "\"stage\"", "unknown field `stage`"),
        ("\"IMPLEMENT\"", "\"implement\"", "unknown variant `implement`"),
        ("\"subagent\"", "\"swarm\"", "unknown variant `swarm`"),
        ("\"pending\"", "\"todo\"", "unknown variant `todo`"),
        ("\"iteration\": 1", "\"iteration\": -1", "expected u32"),
        ("\"cp-3\"", "\"cp-1\"", "duplicate key `cp-1`"),
        ("\"cp-3\"", "\"c p\"", "`c p` is not a checkpoint id"),
        ("T10:00:00\"", "\"", "`2026-02-16` is not a time"),
    ];
    for (from, to, want) in table {
        let error = with(from, to).expect_err(want);
        assert!(error.contains(want), "{from} → {to}: {error}");
    }
}

#[test]
fn a_file_that_contradicts_itself_is_found_out() {
    let table = [
        ("\"iteration\": 2", "\"iteration\": 0", "cp-1 is passed with iteration 0"),
        ("\"iteration\": 1", "\"iteration\": 0", "cp-2 is in_progress with iteration 0"),
        ("\"iteration\": 0", "\"iteration\": 2", "cp-3 is pending with iteration 2"),
        ("실시간 채팅 기능", " ", "the feature has no name"),
    ];
    for (from, to, want) in table {
        let findings = load(&SEED.replace(from, to)).unwrap().check();
        let messages: Vec<&str> = findings.iter().map(|each| each.message.as_str()).collect();
        assert_eq!(messages, [want]);
    }
}

#[test]
fn what_is_adopted_shows_itself_as_the_file_it_came_from() {
    let mut file = load(SEED).unwrap();
    file.started_at = "2026-02-16T10:00:00+09:00".parse().unwrap();
    file.updated_at = "2026-02-16T11:30:00+09:00".parse().unwrap();
    assert_eq!(found_in_a_file().render(), file);
}

#[test]
fn an_adopted_file_tells_whether_implement_was_reached() {
    let table = [
        ("\"DESIGN\"", "\"passed\"", true),
        ("\"REVIEW\"", "\"passed\"", true),
        ("\"REVIEW\"", "\"pending\"", false),
        ("\"IMPLEMENT\"", "\"pending\"", true),
        ("\"PR\"", "\"passed\"", true),
    ];
    for (phase, status, want) in table {
        let text = SEED
            .replace("\"IMPLEMENT\"", phase)
            .replace("\"in_progress\"", status)
            .replace("\"passed\", \"iteration\": 2", &format!("{status}, \"iteration\": 2"));
        let feature = load(&text).unwrap().to_feature(3, "mina", |_| crate::time::Time::default());
        assert_eq!(feature.was_in_implement, want, "{phase} with {status}");
    }
}

#[test]
fn no_iteration_is_adopted_above_the_limit() {
    let file = load(&SEED.replace("\"iteration\": 2", "\"iteration\": 7")).unwrap();
    for (limit, want) in [(3, 3), (1, 1), (0, 1)] {
        let feature = file.to_feature(limit, "mina", |_| crate::time::Time::default());
        let iteration = feature.checkpoints.get("cp-1").unwrap().iteration;
        assert_eq!((iteration, feature.max_iterations), (want, want));
    }
}

/// Changes a sound contract of three and lists what is found.
#[track_caller]
fn finds(change: impl FnOnce(&mut CheckpointContract), want: &[(&str, &str, &str)]) {
    let mut contract = chain(&["cp-1", "cp-2", "cp-3"]);
    change(&mut contract);
    let findings = contract.check();
    let found: Vec<(&str, &str, &str)> = findings
        .iter()
        .map(|each| (each.code, each.path.as_str(), each.message.as_str()))
        .collect();
    assert_eq!(found, want);
}

#[test]
fn a_contract_is_checked_as_a_whole() {
    finds(|_| {}, &[]);
    finds(
        |contract| contract.checkpoints.clear(),
        &[("empty_contract", "checkpoints", "the contract has no checkpoint")],
    );
    finds(
        |contract| contract.checkpoints[0].dependencies = vec![id("cp-2")],
        &[("circular", "checkpoints", "these checkpoints wait for each other: cp-1, cp-2")],
    );
    finds(
        |contract| contract.checkpoints[1].dependencies = vec![id("cp-2")],
        &[("circular", "checkpoints", "these checkpoints wait for each other: cp-2")],
    );
    finds(
        |contract| contract.checkpoints[2].dependencies = vec![id("cp-1"), id("cp-9")],
        &[(
            "unknown_id",
            "checkpoints[2].dependencies[1]",
            "cp-3 depends on cp-9, which is not there",
        )],
    );
    finds(
        |contract| contract.checkpoints[2].tests = vec!["src/cp-1.rs".into()],
        &[(
            "file_owned_twice",
            "checkpoints[2].interface",
            "`src/cp-1.rs` is owned by cp-1 and cp-3",
        )],
    );
    finds(
        |contract| contract.checkpoints[2].id = id("cp-1"),
        &[("duplicate_id", "checkpoints[2].id", "checkpoint cp-1 is there twice")],
    );
}

#[test]
fn every_part_of_a_contract_has_to_be_there() {
    type Change = fn(&mut crate::workflow::ContractCheckpoint);
    let table: [(&str, Change); 4] = [
        ("description", |each| each.description = "  ".into()),
        ("interface", |each| each.interface.clear()),
        ("tests", |each| each.tests.clear()),
        ("validation.command", |each| each.validation.command = String::new()),
    ];
    for (field, change) in table {
        let path = format!("checkpoints[1].{field}");
        let message = format!("checkpoint cp-2 has an empty `{field}`");
        let want = [("empty_part", path.as_str(), message.as_str())];
        finds(|contract| change(&mut contract.checkpoints[1]), &want);
    }
}

#[test]
fn a_checkpoint_owns_the_files_that_its_entries_begin_with() {
    let mut contract = chain(&["cp-1"]);
    let checkpoint = &mut contract.checkpoints[0];
    checkpoint.interface = ["src/chat.rs: fn send()", "README.md", "fn receive()", "at most 3..5"]
        .map(String::from)
        .to_vec();
    checkpoint.tests = ["tests/chat.rs#sends", "messages arrive"].map(String::from).to_vec();
    let files: Vec<&str> = checkpoint.files().collect();
    assert_eq!(files, ["src/chat.rs", "README.md", "tests/chat.rs"]);
}
