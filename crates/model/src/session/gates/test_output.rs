//! How many tests ended how, as test runners print it.
//!
//! A runner that prints nothing that is known here has no summary; whether the tests passed is told by the exit code
//! alone.

use crate::document::contract::Summary;

/// Reads the last words of a run; none where no runner's are found.
pub fn summary(output: &str) -> Option<Summary> {
    let text = without_colours(output);
    let readers =
        [nextest, cargo, vitest, jest, node, pytest, unittest, surefire, gradle, dotnet, go];
    readers.iter().find_map(|read| read(&text))
}

fn without_colours(output: &str) -> String {
    let mut text = String::with_capacity(output.len());
    let mut letters = output.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            text.push(letter);
            continue;
        }
        // `ESC [ 31 m`: up to the letter that ends it.
        if letters.next() == Some('[') {
            let _end = letters.find(|c| c.is_ascii_alphabetic());
        }
    }
    text
}

/// The sum of the parts, which is what a summary has to say.
fn of(passed: u32, failed: u32, skipped: u32) -> Summary {
    let total = passed.saturating_add(failed).saturating_add(skipped);
    Summary { total, passed, failed, skipped }
}

/// The number before a word, as in `3 passed`.
fn before(text: &str, word: &str) -> Option<u32> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
    let at = words.iter().position(|it| *it == word)?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

/// The number behind a word, as in `Failures: 3`.
fn behind(text: &str, word: &str) -> Option<u32> {
    let rest = text.split_once(word)?.1.trim_start_matches([':', '=', ' ']);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn sum(parts: impl Iterator<Item = Summary>) -> Option<Summary> {
    parts.reduce(|one, other| {
        of(
            one.passed.saturating_add(other.passed),
            one.failed.saturating_add(other.failed),
            one.skipped.saturating_add(other.skipped),
        )
    })
}

/// `Summary [   0.1s] 10 tests run: 9 passed, 1 failed, 2 skipped`.
fn nextest(text: &str) -> Option<Summary> {
    let line =
        text.lines().rfind(|it| it.trim_start().starts_with("Summary [") && it.contains("run:"))?;
    let (_, rest) = line.split_once("run:")?;
    let failed = before(rest, "failed").unwrap_or(0) + before(rest, "timed").unwrap_or(0);
    Some(of(before(rest, "passed").unwrap_or(0), failed, before(rest, "skipped").unwrap_or(0)))
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; …`, one for each binary.
fn cargo(text: &str) -> Option<Summary> {
    let lines = text.lines().filter(|it| it.trim_start().starts_with("test result: "));
    sum(lines.filter_map(|it| {
        Some(of(before(it, "passed")?, before(it, "failed")?, before(it, "ignored").unwrap_or(0)))
    }))
}

/// `Tests  1 failed | 3 passed | 1 skipped (5)`.
fn vitest(text: &str) -> Option<Summary> {
    let is_line = |it: &&str| {
        let line = it.trim_start();
        line.starts_with("Tests ") && line.ends_with(')') && line.contains('(')
    };
    let line = text.lines().rfind(is_line)?;
    let count = |word| before(line, word).unwrap_or(0);
    Some(of(count("passed"), count("failed"), count("skipped") + count("todo")))
}

/// `Tests:       1 failed, 2 skipped, 3 passed, 6 total`.
fn jest(text: &str) -> Option<Summary> {
    let line = text.lines().rfind(|it| it.starts_with("Tests:") && it.contains(" total"))?;
    let count = |word| before(line, word).unwrap_or(0);
    Some(of(count("passed"), count("failed"), count("skipped") + count("todo")))
}

/// `# tests 3`, `# pass 2` and so on, or with `ℹ` in front.
fn node(text: &str) -> Option<Summary> {
    let value = |word: &str| {
        let line = text.lines().rfind(|it| {
            it.trim_start_matches(['#', 'ℹ', ' ']).starts_with(word) && it.starts_with(['#', 'ℹ'])
        })?;
        behind(line, word)
    };
    value("tests ")?;
    let failed = value("fail ")?.saturating_add(value("cancelled ").unwrap_or(0));
    let skipped = value("skipped ").unwrap_or(0).saturating_add(value("todo ").unwrap_or(0));
    Some(of(value("pass ")?, failed, skipped))
}

/// `=== 1 failed, 3 passed, 2 skipped in 0.12s ===`, with or without the signs around it.
fn pytest(text: &str) -> Option<Summary> {
    let is_line = |it: &&str| {
        let line = it.trim_matches(['=', ' ']);
        let words = ["passed", "failed", "skipped", "error", "errors", "xfailed", "xpassed"];
        let first = line.split([',', ' ']).nth(1).unwrap_or_default();
        let has_time = line.rsplit_once(" in ").is_some_and(|(_, time)| {
            time.starts_with(|c: char| c.is_ascii_digit()) && time.contains('s')
        });
        has_time && (words.contains(&first) || line.starts_with("no tests ran"))
    };
    let line = text.lines().rfind(is_line)?;
    let count = |word| before(line, word).unwrap_or(0);
    let failed = count("failed") + count("error") + count("errors");
    Some(of(count("passed") + count("xpassed"), failed, count("skipped") + count("xfailed")))
}

/// `Ran 3 tests in 0.001s`, then `OK (skipped=1)` or `FAILED (failures=1, errors=1)`.
fn unittest(text: &str) -> Option<Summary> {
    let line = text.lines().rfind(|it| it.starts_with("Ran ") && it.contains(" test"))?;
    let total = behind(line, "Ran ")?;
    let end = text.lines().rfind(|it| {
        it.starts_with("OK") || it.starts_with("FAILED") || it.starts_with("NO TESTS RAN")
    })?;
    let count = |word| behind(end, word).unwrap_or(0);
    let failed = count("failures=") + count("errors=");
    let skipped = count("skipped=") + count("expected failures=");
    Some(of(total.saturating_sub(failed).saturating_sub(skipped), failed, skipped))
}

/// `Tests run: 2, Failures: 0, Errors: 0, Skipped: 0`, of a module as a whole.
fn surefire(text: &str) -> Option<Summary> {
    let is_whole = |it: &&str| it.contains("Tests run:") && !it.contains("Time elapsed");
    sum(text.lines().filter(is_whole).filter_map(|it| {
        let total = behind(it, "Tests run:")?;
        let failed = behind(it, "Failures:")? + behind(it, "Errors:").unwrap_or(0);
        let skipped = behind(it, "Skipped:").unwrap_or(0);
        Some(of(total.saturating_sub(failed).saturating_sub(skipped), failed, skipped))
    }))
}

/// `3 tests completed, 1 failed, 1 skipped`, which it says only where one failed.
fn gradle(text: &str) -> Option<Summary> {
    let lines =
        text.lines().filter(|it| it.contains(" tests completed") || it.contains(" test completed"));
    sum(lines.filter_map(|it| {
        let total = before(it, "tests").or_else(|| before(it, "test"))?;
        let (failed, skipped) =
            (before(it, "failed").unwrap_or(0), before(it, "skipped").unwrap_or(0));
        Some(of(total.saturating_sub(failed).saturating_sub(skipped), failed, skipped))
    }))
}

/// `Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, …`.
fn dotnet(text: &str) -> Option<Summary> {
    let lines = text.lines().filter(|it| it.contains("Failed:") && it.contains("Total:"));
    sum(lines.filter_map(|it| {
        // The word at the front of the line says the same as the sign that ends it.
        let rest = it.split_once("! ").map_or(it, |(_, rest)| rest);
        Some(of(behind(rest, "Passed:")?, behind(rest, "Failed:")?, behind(rest, "Skipped:")?))
    }))
}

/// `--- PASS: TestCart (0.00s)`, one for each test and each of its parts.
fn go(text: &str) -> Option<Summary> {
    let count = |word: &str| {
        let found = text.lines().filter(|it| it.trim_start().starts_with(word)).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    };
    let found = of(count("--- PASS:"), count("--- FAIL:"), count("--- SKIP:"));
    (found.total > 0).then_some(found)
}

#[cfg(test)]
mod unit {
    use super::*;

    fn check(output: &str, want: Option<(u32, u32, u32)>) {
        let found = summary(output).map(|it| (it.passed, it.failed, it.skipped));
        assert_eq!(found, want, "{output}");
        if let Some(it) = summary(output) {
            assert_eq!(it.total, it.passed + it.failed + it.skipped);
        }
    }

    #[test]
    fn the_words_of_each_runner_are_understood() {
        check(
            "running 3 tests\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
             test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n",
            Some((4, 2, 1)),
        );
        check(
            "     Summary [   0.105s] 10 tests run: 9 passed (1 slow), 1 failed, 2 skipped\n",
            Some((9, 1, 2)),
        );
        check("===== \u{1b}[32m3 passed\u{1b}[0m, 2 skipped in 0.12s =====\n", Some((3, 0, 2)));
        check("F..\n1 failed, 2 passed in 0.03s\n", Some((2, 1, 0)));
        check("== no tests ran in 0.01s ==\n", Some((0, 0, 0)));
        check("=== 1 passed, 1 xfailed, 2 errors in 1.5s (0:00:01) ===\n", Some((1, 2, 1)));
        check("Ran 3 tests in 0.001s\n\nOK (skipped=1)\n", Some((2, 0, 1)));
        check("Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", Some((1, 2, 0)));
        check("Tests:       1 failed, 2 skipped, 3 passed, 6 total\n", Some((3, 1, 2)));
        check("      Tests  1 failed | 3 passed | 1 skipped (5)\n", Some((3, 1, 1)));
        check(
            "# tests 3\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n",
            Some((2, 1, 0)),
        );
        check(
            "ℹ tests 2\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n",
            Some((2, 0, 0)),
        );
        check(
            "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in A\n\
             [INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n\
             [ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1\n",
            Some((3, 2, 1)),
        );
        check("3 tests completed, 1 failed, 1 skipped\n", Some((1, 1, 1)));
        check(
            "Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4, Duration: 12 ms\n",
            Some((3, 1, 0)),
        );
        check(
            "=== RUN TestA\n--- PASS: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n",
            Some((1, 1, 0)),
        );
    }

    #[test]
    fn what_no_runner_says_is_no_summary() {
        check("", None);
        check("all is well\n", None);
        check("BUILD SUCCESSFUL in 3s\n5 actionable tasks: 1 executed\n", None);
        check("ok  \texample.com/shop\t0.003s\n", None);
    }
}
