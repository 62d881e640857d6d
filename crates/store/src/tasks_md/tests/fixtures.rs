//! Two files as they are found in the wild, read into whole plans.

use super::{file, shown};
use crate::tasks_md::TasksFile;

#[test]
fn a_korean_plan_is_read_in_full() {
    let TasksFile { plan, warnings } =
        file(include_str!("../../../tests/fixtures/tasks/korean.md"));
    insta::assert_json_snapshot!(plan);
    insta::assert_snapshot!(shown(&warnings), @r"
    97:7+7 warning no_id [] `스크린샷 찍기` has no id; it will not be run
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: put an id in front of it, or nest it under a task
    112:3+4 warning mention [T1.1] T1.1 is defined elsewhere; this item only mentions it
    ");
}

#[test]
fn a_spec_kit_plan_is_read_in_full() {
    let TasksFile { plan, warnings } =
        file(include_str!("../../../tests/fixtures/tasks/spec-kit.md"));
    insta::assert_json_snapshot!(plan);
    insta::assert_snapshot!(shown(&warnings), @"72:3+4 warning mention [T013] T013 is defined elsewhere; this item only mentions it");
}
