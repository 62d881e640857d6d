//! `waypost contract`: checked, put, read and compared. `docs/contracts.md` tells the same.

mod checking;
mod putting;

use crate::harness::{Project, Ran};
use std::fs;

/// The seed's own contracts, each with its path below the folder of contracts.
pub(crate) const EXAMPLES: [(&str, &str); 6] = [
    (
        "R1/explored.yaml",
        include_str!("../../../../store/tests/fixtures/seeds/004-3-explored.yaml"),
    ),
    (
        "R1/task-breakdown.yaml",
        include_str!("../../../../store/tests/fixtures/seeds/004-4-task-breakdown.yaml"),
    ),
    (
        "R1/T1/design-brief.yaml",
        include_str!("../../../../store/tests/fixtures/seeds/004-5-design-brief.yaml"),
    ),
    (
        "R1/T1/design-contract.yaml",
        include_str!("../../../../store/tests/fixtures/seeds/004-6-design-contract.yaml"),
    ),
    (
        "R1/T1/T1-S2/test-contract.yaml",
        include_str!("../../../../store/tests/fixtures/seeds/004-7-test-contract.yaml"),
    ),
    (
        "R1/T1/T1-S2/test-result.yaml",
        include_str!("../../../../store/tests/fixtures/seeds/004-8-test-result.yaml"),
    ),
];

/// The name of a kind, from the path of one.
pub(crate) fn kind_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap().trim_end_matches(".yaml")
}

/// Puts a contract from standard input.
pub(crate) fn put(project: &Project, line: &str, text: &str) -> Ran {
    project.run_with_input(&format!("contract put {line}"), text)
}

/// The folder of the project's contracts, from its root.
pub(crate) fn folder(project: &Project) -> String {
    let sessions = ".claude/orchestrator/sessions";
    let entries = fs::read_dir(project.root.join(sessions)).unwrap();
    let names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    format!("{sessions}/{}/contracts", names[0])
}
