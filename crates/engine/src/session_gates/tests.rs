//! The gates on small real repositories.
#![expect(clippy::disallowed_methods, reason = "tests play the parts of agents and of git")]

#[cfg(feature = "imports")]
mod design;
mod running;
#[cfg(not(feature = "imports"))]
mod without_grammars;

use super::*;
use crate::environment::{Environment, Variables};
use std::{fmt::Write as _, fs, path::PathBuf, process::Command};
use tempfile::TempDir;
use waypost_agent::programs::Programs;
use waypost_model::{actor::Actor, document::Kind};

/// A repository with one commit, from which a subtask begins.
struct Shop {
    folder: TempDir,
    project: Project,
    subject: SubtaskSubject,
}

impl Shop {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_variables(files, &[])
    }

    /// With variables in the environment of the person who asks.
    fn with_variables(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("shop");
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "-q", "-b", "main", "."]);
        for (path, text) in files {
            write(&root, path, text);
        }
        git(&root, &["add", "--all"]);
        let who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        git(&root, &[&who[..], &["commit", "-q", "--allow-empty", "-m", "begin"]].concat());
        let base = git(&root, &["rev-parse", "HEAD"]);
        let own = std::env::vars().filter(|(name, _)| name == "PATH" || name == "HOME");
        let given = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let all: std::collections::BTreeMap<String, String> = own.chain(given).collect();
        let text = serde_json::to_string(&all).unwrap();
        let environment = Environment::from(serde_json::from_str::<Variables>(&text).unwrap());
        let actor = Actor::User("mina".into());
        let project = Project::open_for(&root, actor, environment, &Programs::default()).unwrap();
        let subject = SubtaskSubject {
            request: "R1".parse().unwrap(),
            task: "T1".parse().unwrap(),
            subtask: "T1-S1".parse().unwrap(),
            base: Some(base),
        };
        Self { folder, project, subject }
    }

    fn root(&self) -> PathBuf {
        self.project.root().to_owned()
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.root(), path, text);
    }

    /// Writes a contract's file, as an agent does: nothing looks at it before.
    fn contract(&self, kind: Kind, text: &str) {
        let place = match kind {
            Kind::TestContract | Kind::TestResult => of_subtask(&self.subject),
            _ => of_task(&self.subject),
        };
        let path = contracts::path(&self.project, kind, &place).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn brief(&self, rest: &str) {
        let head = "version: 1\ncreated_at: \"2026-01-15T10:00:00Z\"\ncreated_by: orchestrator\n";
        self.contract(Kind::DesignBrief, &format!("{head}{rest}"));
    }

    /// A design contract with these boundaries and files, each as `A B true` and `A path`.
    fn design(&self, boundaries: &[&str], files: &[&str]) {
        let mut text = "version: 1\ncreated_at: \"2026-01-15T10:00:00Z\"\ncreated_by: architect\n\
                        invariants: []\ninterfaces: []\nboundaries:\n"
            .to_owned();
        for it in boundaries {
            let [from, to, allowed] = words(it);
            writeln!(text, "  - {{from: {from}, to: {to}, allowed: {allowed}}}").unwrap();
        }
        text.push_str("file_refs:\n");
        for it in files {
            let [entity, path] = words(it);
            writeln!(text, "  - {{entity: {entity}, path: {path}}}").unwrap();
        }
        self.contract(Kind::DesignContract, &text);
    }

    fn test_contract(&self, cases: &[&str], file: &str) {
        let mut text = "version: 1\nrequest_id: R1\ntask_id: T1\nsubtask_id: T1-S1\n\
                        created_at: \"2026-01-15T10:00:00Z\"\ncreated_by: qa-engineer\n\
                        subtask_name: cart\ntest_cases:\n"
            .to_owned();
        for (at, category) in cases.iter().enumerate() {
            writeln!(text, "  - {{id: TC-{at}, name: it, category: {category}}}").unwrap();
        }
        if cases.is_empty() {
            text = text.replace("test_cases:\n", "test_cases: []\n");
        }
        writeln!(text, "test_file_path: {file}").unwrap();
        self.contract(Kind::TestContract, &text);
    }
}

fn words<const N: usize>(line: &str) -> [&str; N] {
    line.split(' ').collect::<Vec<_>>().try_into().unwrap()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn git(root: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(words).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?} {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn tests_are_written_when_there_is_a_happy_path_and_its_file() {
    let shop = Shop::new(&[("tests/cart.py", "")]);
    let judge = || judge_test_contract(&shop.project, &shop.subject).unwrap();
    assert_eq!(judge().faults, ["there is no R1/T1/T1-S1/test-contract.yaml"]);
    shop.test_contract(&["error_case", "edge_case"], "tests/cart.py");
    assert_eq!(judge().faults, ["none of the 2 test cases is a happy_path"]);
    shop.test_contract(&[], "tests/cart.py");
    assert_eq!(judge().faults, ["test-contract.yaml has no test case"]);
    shop.test_contract(&["happy_path"], "tests/gone.py");
    assert_eq!(judge().faults, ["there is no test file tests/gone.py"]);
    shop.test_contract(&["happy_path"], "../outside.py");
    assert_eq!(judge().faults, ["test_file_path ../outside.py is not below the project"]);
    shop.write("../outside.py", "");
    std::os::unix::fs::symlink("../../outside.py", shop.root().join("tests/link.py")).unwrap();
    shop.test_contract(&["happy_path"], "tests/link.py");
    assert_eq!(judge().faults, ["the test file tests/link.py leads out of the project"]);
    shop.test_contract(&["error_case", "happy_path"], "tests/cart.py");
    let found = judge();
    assert!(found.holds, "{found:?}");
    assert!(found.tree.is_some());
    assert!(shop.folder.path().exists());
}

#[test]
fn a_contract_of_another_subtask_is_a_fault_with_its_place() {
    let shop = Shop::new(&[]);
    shop.test_contract(&["happy_path"], "a");
    let path =
        contracts::path(&shop.project, Kind::TestContract, &of_subtask(&shop.subject)).unwrap();
    let text = fs::read_to_string(&path).unwrap().replace("request_id: R1", "request_id: R2");
    fs::write(&path, text).unwrap();
    let found = judge_test_contract(&shop.project, &shop.subject).unwrap();
    assert_eq!(
        found.faults,
        ["R1/T1/T1-S1/test-contract.yaml:2:13 request_id: `R2` stands in the folder of R1"]
    );
}

#[test]
fn only_what_the_task_covers_may_change() {
    let shop = Shop::new(&[("src/cart.rs", "a"), ("src/auth/key.rs", "a"), ("src/gone.rs", "a")]);
    let judge = || judge_scope(&shop.project, &shop.subject, None).unwrap();
    assert_eq!(judge().faults, ["there is no R1/T1/design-brief.yaml"]);
    shop.brief(
        "scope_in: [\"src/cart*.rs\"]\nscope_out: [src/auth]\nfile_refs: [{path: src/new.rs}]\n",
    );
    shop.test_contract(&["happy_path"], "tests/cart.rs");
    let found = judge();
    assert!(found.holds, "{found:?}");
    for path in ["src/cart.rs", "src/new.rs", "tests/cart.rs", "src/cart_more.rs"] {
        shop.write(path, "b");
    }
    let found = judge();
    assert!(found.holds, "{found:?}");
    assert!(found.evidence.contains(&"src/new.rs: file_refs of the brief".to_owned()), "{found:?}");
    shop.write("src/auth/key.rs", "b");
    shop.write("notes.txt", "b");
    fs::remove_file(shop.root().join("src/gone.rs")).unwrap();
    assert_eq!(
        judge().faults,
        [
            "notes.txt is in no file_refs and no scope_in",
            "src/auth/key.rs is out of scope: `src/auth`",
            "src/gone.rs is in no file_refs and no scope_in",
        ]
    );
}

#[test]
fn a_report_confirms_what_prose_leaves_open() {
    let mut shop = Shop::new(&[]);
    shop.brief("scope_in: [\"the cart endpoint\"]\nscope_out: [\"the login\"]\n");
    shop.write("src/cart.rs", "b");
    let found = judge_scope(&shop.project, &shop.subject, None).unwrap();
    assert!(!found.holds && found.faults.is_empty());
    assert_eq!(
        found.open,
        [
            "src/cart.rs belongs to what scope_in means: «the cart endpoint»",
            "«the login» of scope_out was left alone"
        ]
    );
    let report = shop.root().join("../report.md");
    let asked = ReportGiven { path: &report, points: &found.open };
    for (text, holds) in [("Blocking: 0\n", true), ("Blocking: 2\n", false)] {
        fs::write(&report, text).unwrap();
        let found = judge_scope(&shop.project, &shop.subject, Some(asked)).unwrap();
        assert_eq!(found.holds, holds, "{found:?}");
    }
    fs::write(&report, "all is well\n").unwrap();
    assert!(judge_scope(&shop.project, &shop.subject, Some(asked)).is_err());
    // One that was asked about something else says nothing here.
    fs::write(&report, "Blocking: 0\n").unwrap();
    for points in [&found.open[..1], &[]] {
        let other = ReportGiven { path: &report, points };
        let found = judge_scope(&shop.project, &shop.subject, Some(other)).unwrap();
        assert!(found.is_only_open(), "{found:?}");
    }
    shop.subject.base = None;
    let found = judge_scope(&shop.project, &shop.subject, None).unwrap();
    assert_eq!(found.open, [UNTOLD]);
}
