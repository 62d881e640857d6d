//! What a task says, as far as it matters for whether its work is done.
//!
//! Ids are used again: a plan is replaced by the next one, and T1.1 is another task. So a task is
//! known by its id and by its title, command, verify commands and text. Where it stands, what it
//! waits for, its box and how urgent it is are not what it says, and neither are the lines of its
//! text that state one of these.

use crate::run::PlannedTask;
use serde::{Deserialize, Serialize};

/// The words that begin a field of a task, in lower case and without spaces, `-` and `_`.
pub const FIELD_LABELS: [&str; 25] = [
    "담당",
    "owner",
    "의존",
    "의존성",
    "depends",
    "dependson",
    "dependencies",
    "병렬",
    "parallel",
    "파일",
    "files",
    "스펙",
    "spec",
    "worktree",
    "검증",
    "verify",
    "명령",
    "run",
    "시간제한",
    "timeout",
    "우선순위",
    "priority",
    "agent",
    "model",
    "budget",
];

/// Longer texts before a colon are sentences.
const LABEL_LENGTH_MAX: usize = 60;

/// A fingerprint of what a task says: equal where it says the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wording(Box<str>);

impl PlannedTask {
    /// Whether both ask for the same, whatever else is stated about them.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.wording() == other.wording()
    }

    pub(super) fn wording(&self) -> Wording {
        let mut sum = Sum::new();
        sum.part(self.title.trim());
        let details = self.details.as_deref();
        sum.part(details.and_then(|it| it.command.as_deref()).unwrap_or_default());
        for command in details.iter().flat_map(|it| &it.verify) {
            sum.part(command);
        }
        sum.part("");
        for line in details.iter().flat_map(|it| it.body.lines()).filter(|line| !is_field(line)) {
            // A ticked box in the text says that a step was done, not that another one is wanted.
            let line = line.trim().replace("[x]", "[ ]").replace("[X]", "[ ]");
            if !line.is_empty() {
                sum.part(&line);
            }
        }
        Wording(format!("{:032x}", sum.0).into())
    }
}

/// Whether a line of a task's text states a field: `- **depends**: T1.1`, `| 의존성 | - |`.
fn is_field(line: &str) -> bool {
    let line = line.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let label: String =
        line.chars().take(LABEL_LENGTH_MAX).take_while(|it| !":：|".contains(*it)).collect();
    let is_short = label.len() < line.len();
    let key: String = label
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let depends = ["depends on ", "Depends on "];
    is_short && FIELD_LABELS.contains(&key.as_str())
        || depends.iter().any(|word| line.starts_with(word))
}

/// FNV-1a of 128 bits: no two texts of one project meet by chance, and a clash gains an agent nothing.
struct Sum(u128);

impl Sum {
    const fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    /// Takes in one part and its end, so that what is moved between parts makes a difference.
    fn part(&mut self, text: &str) {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        // No text has this byte.
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Depends, Details, Priority};

    fn task(title: &str, run: &str, verify: &[&str], body: &str) -> PlannedTask {
        let details = Details {
            body: body.into(),
            command: (!run.is_empty()).then(|| run.into()),
            verify: verify.iter().map(|it| (*it).to_owned()).collect(),
            ..Details::default()
        };
        PlannedTask {
            id: "T1.1".parse().unwrap(),
            title: title.into(),
            phase: 1,
            depends: Depends::PhaseBefore,
            ticked: false,
            priority: Priority::Normal,
            line: 1,
            details: Some(Box::new(details)),
        }
    }

    #[test]
    fn a_task_says_what_its_title_commands_and_text_say() {
        let body = "- run: `make`\nUse the old parser.\n- [ ] a step";
        let one = || task("Build", "make", &["make test"], body);
        let same = [
            PlannedTask { phase: 2, line: 7, ticked: true, priority: Priority::High, ..one() },
            PlannedTask { depends: Depends::On(vec!["T1.0".parse().unwrap()]), ..one() },
            task(
                "Build",
                "make",
                &["make test"],
                "- **depends**: T1.0\n| priority | high |\n- run: `make`\n- depends on T9\n\
                 - Files: a.rs\n\nUse the old parser.\n- [x] a step\n",
            ),
        ];
        for other in &same {
            assert!(one().says_the_same(other), "{other:?}");
        }
        let other = [
            task("Build it", "make", &["make test"], body),
            task("Build", "make all", &["make test"], body),
            task("Build", "", &["make test"], body),
            task("Build", "make", &[], body),
            task("Build", "make", &["make test", "true"], body),
            task("Build", "make", &["make test"], "Use the new parser.\n- [ ] a step"),
            task("Build", "make", &["make test"], "Use the old parser."),
            task("Build", "make", &["make test"], &format!("{body}\nNote: run it twice")),
        ];
        for other in &other {
            assert!(!one().says_the_same(other), "{other:?}");
        }
    }

    #[test]
    fn a_task_without_details_is_like_one_that_only_has_fields() {
        let plain = PlannedTask { details: None, ..task("Build", "", &[], "") };
        assert!(plain.says_the_same(&task("Build", "", &[], "- priority: high\n")));
    }
}
