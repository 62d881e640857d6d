//! GATE-2: what the tests of a project show when Waypost runs them.

use super::*;
use std::os::unix::fs::PermissionsExt;
use waypost_model::{
    code::Code,
    document::contract::{Outcome, TestResult},
    session::gate::FailureKind,
};

fn result(shop: &Shop, outcome: &str, rest: &str) {
    let (action, failed) = match outcome {
        "pass" => ("complete", 0),
        _ => ("retry_implementation", 1),
    };
    shop.contract(
        Kind::TestResult,
        &format!(
            "version: 1\nrequest_id: R1\ntask_id: T1\nsubtask_id: T1-S1\n\
             created_at: \"2026-01-15T10:00:00Z\"\ncreated_by: qa-engineer\n\
             execution: {{result: {outcome}}}\n\
             summary: {{total: 9, passed: {}, failed: {failed}, skipped: 0}}\n\
             recommendation: {{action: {action}}}\n{rest}",
            9 - failed
        ),
    );
}

fn judge(shop: &mut Shop) -> GateFinding {
    let mut heard = Vec::new();
    let found = judge_tests(&mut shop.project, &shop.subject, &mut heard).unwrap();
    let left = fs::read_dir(shop.root().join("worktree")).into_iter().flatten().count();
    assert_eq!(left, 0, "the copy is removed");
    found
}

fn read(shop: &Shop) -> TestResult {
    contracts::read(&shop.project, &of_subtask(&shop.subject)).unwrap().unwrap()
}

/// A project whose tests are a script.
fn scripted(script: &str) -> Shop {
    let shop = Shop::new(&[("run.sh", script)]);
    shop.write("waypost.toml", "[session]\ntest_command = \"sh run.sh\"\n");
    reopened(shop)
}

/// The configuration is read when a project is opened.
fn reopened(mut shop: Shop) -> Shop {
    let environment = shop.project.caller.environment.clone();
    let actor = Actor::User("mina".into());
    shop.project =
        Project::open_for(&shop.root(), actor, environment, &Programs::default()).unwrap();
    shop
}

#[test]
fn python_tests_are_run_and_their_summary_is_waypost_s() {
    let case = "import unittest\nfrom cart import total\nclass T(unittest.TestCase):\n    def test_sum(self):\n        \
                self.assertEqual(total([1, 2]), 3)\n    def test_none(self):\n        self.assertEqual(total([]), 0)\n";
    let mut shop = Shop::new(&[("setup.py", ""), ("test_cart.py", case)]);
    shop.write("cart.py", "def total(prices):\n    return sum(prices)\n");
    result(&shop, "pass", "");
    let found = judge(&mut shop);
    assert!(found.holds, "{found:?}");
    assert_eq!(
        found.evidence[0],
        "`python3 -m unittest discover` passed (2 tests: 2 passed, 0 failed, 0 skipped)"
    );
    let read_back = read(&shop);
    assert_eq!(read_back.execution.command.as_deref(), Some("python3 -m unittest discover"));
    assert_eq!((read_back.summary.total, read_back.summary.passed), (2, 2));
    assert!(read_back.execution.timestamp.is_some());
    shop.write("cart.py", "def total(prices):\n    return 3\n");
    let found = judge(&mut shop);
    assert!(!found.holds);
    assert_eq!(found.leads_to, Some(FailureKind::ImplementationError));
    assert_eq!(found.faults[1], "test-result.yaml says `pass`, and it is `fail`");
    // What does not agree is not made to.
    assert_eq!(read(&shop).execution.result, Outcome::Pass);
    result(&shop, "fail", "failed_tests: [{id: TC-1, category: test_error}]\n");
    let found = judge(&mut shop);
    assert_eq!((found.faults.len(), found.leads_to), (1, Some(FailureKind::TestError)));
    assert_eq!(read(&shop).summary.failed, 1);
}

#[test]
fn rust_and_node_tests_are_found_by_their_build_files() {
    let manifest =
        "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let code = "#[test]\nfn it_works() {}\n#[test]\n#[ignore]\nfn later() {}\n";
    let mut shop = Shop::new(&[
        ("Cargo.toml", manifest),
        ("src/lib.rs", code),
        (".gitignore", "target\nCargo.lock\n"),
    ]);
    result(&shop, "pass", "");
    let found = judge(&mut shop);
    assert!(found.holds, "{found:?}");
    assert_eq!((read(&shop).summary.passed, read(&shop).summary.skipped), (1, 1));
    let package = "{\"scripts\": {\"test\": \"node --test\"}}";
    let case = "const { test } = require('node:test');\ntest('a', () => {});\ntest('b', () => { throw new Error('no'); });\n";
    let mut shop = Shop::new(&[("package.json", package), ("cart.test.js", case)]);
    result(&shop, "fail", "failed_tests: [{id: TC-1}]\n");
    let found = judge(&mut shop);
    assert_eq!(found.leads_to, Some(FailureKind::ImplementationError), "{found:?}");
    let summary = read(&shop).summary;
    assert_eq!((summary.passed, summary.failed), (1, 1), "{found:?}");
}

#[test]
fn java_tests_are_run_by_the_command_that_is_configured() {
    let code = "class Cart { static int total(int a, int b) { return a + b; } }\n";
    let case = "class CartTest { public static void main(String[] a) { if (Cart.total(1, 2) != 3) System.exit(1); } }\n";
    let shop = Shop::new(&[("Cart.java", code), ("CartTest.java", case)]);
    shop.write(
        "waypost.toml",
        "[session]\ntest_command = \"javac -d out *.java && java -cp out CartTest\"\n",
    );
    let mut shop = reopened(shop);
    result(&shop, "pass", "");
    let found = judge(&mut shop);
    assert!(found.holds, "{found:?}");
    assert!(!shop.root().join("out").exists(), "it was run at a copy");
    shop.write("Cart.java", &code.replace("a + b", "a"));
    assert!(!judge(&mut shop).holds);
}

#[test]
fn a_result_that_is_missing_or_not_valid_is_not_run_for() {
    let mut shop = scripted("touch ../../ran\n");
    let found = judge(&mut shop);
    assert_eq!(found.faults, ["there is no R1/T1/T1-S1/test-result.yaml"]);
    shop.contract(Kind::TestResult, "version: 1\n");
    assert!(!judge(&mut shop).faults.is_empty());
    assert!(!shop.root().join("ran").exists());
}

#[test]
fn a_command_that_is_missing_says_nothing_about_the_work() {
    let mut shop = scripted("no-such-program-at-all\n");
    result(&shop, "pass", "");
    let found = judge(&mut shop);
    assert!(!found.holds);
    assert_eq!((found.leads_to, found.faults.len()), (None, 1));
    assert!(found.faults[0].contains("could not be run"), "{found:?}");
}

#[test]
fn where_no_command_is_known_a_person_is_asked() {
    for files in [&[("README.md", "")][..], &[("Cargo.toml", ""), ("go.mod", "module x")][..]] {
        let mut shop = Shop::new(files);
        result(&shop, "pass", "");
        let error = judge_tests(&mut shop.project, &shop.subject, &mut Vec::new()).unwrap_err();
        assert_eq!(error.code(), Code::TestsUnknown);
        assert!(error.hint().is_some_and(|hint| hint.contains("test_command")));
    }
}

#[test]
fn tests_that_hang_are_ended_with_all_that_they_started() {
    let shop = scripted("trap '' TERM\necho $$ > pid\nsleep 600 &\nwait\nsleep 600\n");
    shop.write(
        "waypost.toml",
        "[session]\ntest_command = \"sh run.sh\"\ntest_timeout_seconds = 1\n",
    );
    let mut shop = reopened(shop);
    result(&shop, "fail", "failed_tests: [{id: TC-1}]\n");
    let found = judge(&mut shop);
    assert_eq!(found.faults, ["`sh run.sh` did not end within 1 seconds"]);
    assert_eq!(found.leads_to, Some(FailureKind::ImplementationError));
}

#[test]
fn the_environment_of_the_caller_decides_nothing() {
    let lies = [("LIE", "1"), ("MAKEFLAGS", "-n"), ("PYTHONPATH", "/tmp"), ("BASH_ENV", "/tmp/x")];
    let script = "test -z \"$LIE$MAKEFLAGS$PYTHONPATH$BASH_ENV\" && test \"$SHOP\" = tea && tool\n";
    // A program in a folder that everybody can write to would be found first.
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "tool", "#!/bin/sh\nexit 0\n");
    let tool = outside.path().join("tool");
    fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", outside.path().display(), std::env::var("PATH").unwrap());
    let lies = [lies.as_slice(), &[("PATH", &path)]].concat();
    let mut shop = Shop::with_variables(&[("run.sh", script)], &lies);
    shop.write(
        "waypost.toml",
        "[session]\ntest_command = \"sh run.sh\"\n[session.test_env]\nSHOP = \"tea\"\n",
    );
    shop = reopened(shop);
    result(&shop, "pass", "");
    let found = judge(&mut shop);
    assert!(found.faults[0].contains("could not be run"), "{found:?}");
    shop.write("run.sh", &script.replace(" && tool", ""));
    let found = judge(&mut shop);
    assert!(found.holds, "{found:?}");
}

#[test]
fn what_git_ignores_is_there_only_if_the_project_says_so() {
    let shop = Shop::new(&[
        ("run.sh", "test -e key.txt && test -e made.txt\n"),
        (".gitignore", "*.txt\n"),
    ]);
    shop.write("key.txt", "secret");
    shop.write("made.txt", "left over from a build");
    let set = |shop: &Shop, setup: &str| {
        let text =
            format!("[session]\ntest_command = \"sh run.sh\"\n[worktree]\nsetup = \"{setup}\"\n");
        shop.write("waypost.toml", &text);
    };
    set(&shop, "");
    let mut shop = reopened(shop);
    result(&shop, "pass", "");
    assert!(!judge(&mut shop).holds);
    shop.write(".worktreeinclude", "key.txt\n");
    assert!(!judge(&mut shop).holds);
    set(&shop, "touch made.txt");
    shop = reopened(shop);
    let found = judge(&mut shop);
    assert!(found.holds, "{found:?}");
    set(&shop, "exit 3");
    shop = reopened(shop);
    let found = judge(&mut shop);
    assert_eq!(found.faults, ["the setup command `exit 3` did not pass: exit status: 3"]);
    assert_eq!(found.leads_to, None);
}
