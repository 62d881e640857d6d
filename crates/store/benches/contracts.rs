//! How fast contracts are validated, beside a JSON Schema validator on the same files and our own schemas.
//!
//! A thousand contracts of all six kinds are on disk; each round reads and validates all of them, once with us and once
//! with the crate `jsonschema` behind the same YAML reader. The other knows no lines, and none of the rules that a schema
//! cannot say. Prints one JSON object per measurement on stdout; `WAYPOST_BENCH_QUICK=1` makes it small.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time and prints"
)]

use std::{collections::BTreeMap, env, fs, path::PathBuf, time::Instant};
use tempfile::TempDir;
use waypost_model::{
    diagnostic::Severity,
    document::{Kind, contract::ContractPlace},
};
use waypost_store::parse::{schema, validate_at};

const SEEDS: [(&str, Kind, &str); 6] = [
    ("R1", Kind::Explored, include_str!("../tests/fixtures/seeds/004-3-explored.yaml")),
    ("R1", Kind::TaskBreakdown, include_str!("../tests/fixtures/seeds/004-4-task-breakdown.yaml")),
    ("R1/T1", Kind::DesignBrief, include_str!("../tests/fixtures/seeds/004-5-design-brief.yaml")),
    (
        "R1/T1",
        Kind::DesignContract,
        include_str!("../tests/fixtures/seeds/004-6-design-contract.yaml"),
    ),
    (
        "R1/T1/T1-S2",
        Kind::TestContract,
        include_str!("../tests/fixtures/seeds/004-7-test-contract.yaml"),
    ),
    (
        "R1/T1/T1-S2",
        Kind::TestResult,
        include_str!("../tests/fixtures/seeds/004-8-test-result.yaml"),
    ),
];

/// A contract on disk.
struct File {
    path: PathBuf,
    kind: Kind,
    place: ContractPlace,
}

fn main() {
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let is_quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    let (count, rounds) = if is_quick { (60, 2) } else { (1_000, 15) };
    let folder = tempfile::tempdir().unwrap();
    let files = lay_out(&folder, count);
    let validators: BTreeMap<Kind, jsonschema::Validator> = SEEDS
        .iter()
        .map(|(_, kind, _)| (*kind, jsonschema::validator_for(&schema(*kind)).unwrap()))
        .collect();
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(timed(|| files.iter().for_each(by_us)));
        other.push(timed(|| files.iter().for_each(|file| by_schema(file, &validators))));
    }
    let rate = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        count as f64 / times[times.len() / 2]
    };
    let (ours, other) = (rate(&mut ours), rate(&mut other));
    let name = format!("contracts: {count} validated, beside a JSON Schema validator");
    eprintln!("{name:<60} {ours:>10.0} {other:>10.0} /s");
    let line = serde_json::json!({
        "name": name, "ours": ours, "other": other, "ratio": ours / other, "unit": "/s",
        "target": ">= 0.5",
    });
    println!("{line}");
    let line = serde_json::json!({
        "name": "contracts: validated, beside the goal", "ours": ours, "other": 1_000.0,
        "ratio": ours / 1_000.0, "unit": "/s", "target": ">= 1",
    });
    println!("{line}");
}

fn lay_out(folder: &TempDir, count: usize) -> Vec<File> {
    let mut files = Vec::new();
    for number in 0..count {
        let (place, kind, text) = SEEDS[number % SEEDS.len()];
        let request = number / SEEDS.len() + 1;
        let place = place.replacen("R1", &format!("R{request}"), 1);
        let path =
            folder.path().join("contracts").join(&place).join(format!("{}.yaml", kind.name()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("request_id: R1", &format!("request_id: R{request}")))
            .unwrap();
        let place = ContractPlace::of_path(path.to_str().unwrap()).unwrap();
        files.push(File { path, kind, place });
    }
    files
}

fn timed(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

fn by_us(file: &File) {
    let bytes = fs::read(&file.path).unwrap();
    let found = validate_at(file.kind, &bytes, &file.place);
    assert!(found.iter().all(|it| it.severity == Severity::Warning), "{found:?}");
}

fn by_schema(file: &File, validators: &BTreeMap<Kind, jsonschema::Validator>) {
    let text = fs::read_to_string(&file.path).unwrap();
    let instance: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
    assert!(validators[&file.kind].is_valid(&instance));
}
