//! The ids that the documents of the server, memory and session parts use.
//!
//! Beside `crate::id`, which holds those that commands and the journal name.

use crate::id::{BadId, ID_LENGTH_MAX, is_counted, text_id};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};

text_id!(
    /// Names one request of a session: `R1`, `R2`, …
    RequestId,
    "a request id",
    "R and a number, as in R1",
    r"^R[1-9][0-9]{0,8}$",
    |text| text.strip_prefix('R').is_some_and(is_counted)
);

text_id!(
    /// Names one task of a request: `T1`, `T2`, …
    SessionTaskId,
    "a task id",
    "T and a number, as in T1",
    r"^T[1-9][0-9]{0,8}$",
    |text| text.strip_prefix('T').is_some_and(is_counted)
);

text_id!(
    /// Names one subtask: its task's id, `-S` and a number, as in `T1-S2`.
    SubtaskId,
    "a subtask id",
    "a task id, `-S` and a number, as in T1-S2",
    r"^T[1-9][0-9]{0,8}-S[1-9][0-9]{0,8}$",
    |text| text.strip_prefix('T').and_then(|rest| rest.split_once("-S")).is_some_and(
        |(task, subtask)| is_counted(task) && is_counted(subtask)
    )
);

impl SubtaskId {
    /// Whether the id says that it is one of this task's.
    pub fn belongs_to(&self, task: &SessionTaskId) -> bool {
        self.as_str().split_once('-').is_some_and(|(owner, _)| owner == task.as_str())
    }

    /// The task that it is one of.
    pub fn task(&self) -> Option<SessionTaskId> {
        self.as_str().split_once('-')?.0.parse().ok()
    }
}

text_id!(
    /// Names a project by its path: the first 8 hexadecimal digits of a hash.
    ProjectHash,
    "a project hash",
    "8 hexadecimal digits in lower case, as in a1b2c3d4",
    r"^[0-9a-f]{8}$",
    |text| text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
);

text_id!(
    /// Names one decision of a project: `D1`, `D2`, …
    DecisionId,
    "a decision id",
    "D and a number, as in D1",
    r"^D[1-9][0-9]{0,8}$",
    |text| text.strip_prefix('D').is_some_and(is_counted)
);

text_id!(
    /// Names one pitfall of a project: `P1`, `P2`, …
    PitfallId,
    "a pitfall id",
    "P and a number, as in P1",
    r"^P[1-9][0-9]{0,8}$",
    |text| text.strip_prefix('P').is_some_and(is_counted)
);

text_id!(
    /// Names one task of the memory, counted per UTC day: `task-2025-11-18-001`.
    MemoryTaskId,
    "a task id",
    "task-, a day, and a number of three digits or more, as in task-2025-11-18-001",
    r"^task-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{3,9}$",
    |text| text.strip_prefix("task-").is_some_and(is_dated_number)
);

text_id!(
    /// Names one session of the shared context: `session-2025-11-18-001`.
    MemorySessionId,
    "a session id",
    "session-, a day, and a number of three digits or more, as in session-2025-11-18-001",
    r"^session-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{3,9}$",
    |text| text.strip_prefix("session-").is_some_and(is_dated_number)
);

text_id!(
    /// Names one task of the server: `task_abc123`.
    ServerTaskId,
    "a task id",
    "task_ and lower-case letters or digits, as in task_abc123",
    r"^task_[a-z0-9]+$",
    |text| text.strip_prefix("task_").is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    })
);

/// Whether `text` is a day that exists, a dash, and a number of three to nine digits.
fn is_dated_number(text: &str) -> bool {
    let Some((day, number)) = text.split_at_checked(10) else { return false };
    let digits = number.strip_prefix('-').unwrap_or_default();
    let is_day = day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    is_day
        && day.parse::<jiff::civil::Date>().is_ok()
        && (3..=9).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<I: std::str::FromStr<Err = BadId>>(good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(text.parse::<I>().is_ok(), "{text:?}");
        }
        for text in bad {
            assert!(text.parse::<I>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn ids_are_what_the_documents_use() {
        check::<RequestId>(&["R1", "R20"], &["", "R", "R0", "R01", "r1", "T1", "R1 ", "R1-S1"]);
        check::<SessionTaskId>(&["T1", "T120"], &["T", "T0", "T1.3", "T1-S1", "t1"]);
        check::<SubtaskId>(&["T1-S1", "T12-S30"], &["T1", "T1-S", "T1-S0", "S1", "T1-S1-S2"]);
        check::<ProjectHash>(&["a1b2c3d4"], &["A1B2C3D4", "a1b2c3d", "a1b2c3d45", "g1b2c3d4"]);
        check::<DecisionId>(&["D1"], &["d1", "D", "P1"]);
        check::<PitfallId>(&["P2"], &["p2", "P0", "D1"]);
        check::<ServerTaskId>(&["task_abc123"], &["task_", "task-abc", "task_ABC", "task_a/b"]);
    }

    #[test]
    fn dated_ids_name_days_that_exist() {
        let bad = [
            "task-2025-02-30-001",
            "task-2025-11-18-1",
            "task-YYYY-MM-DD-NNN",
            "task-한글글글-001",
        ];
        check::<MemoryTaskId>(&["task-2025-11-18-001", "task-2025-11-18-1000"], &bad);
        check::<MemorySessionId>(
            &["session-2025-11-18-001"],
            &["session-1", "task-2025-11-18-001"],
        );
    }

    #[test]
    fn a_subtask_knows_its_task() {
        let subtask: SubtaskId = "T1-S2".parse().unwrap();
        assert!(subtask.belongs_to(&"T1".parse().unwrap()));
        assert!(!subtask.belongs_to(&"T12".parse().unwrap()));
    }
}
