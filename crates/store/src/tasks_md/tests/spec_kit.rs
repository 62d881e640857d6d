//! The order of spec-kit's lists, and that other lists keep theirs.

use super::{plan, tasks, warnings};
use crate::tasks_md::read;
use std::fmt::Write as _;

#[test]
fn a_task_without_p_waits_for_all_above_it_and_neighbours_with_p_run_together() {
    insta::assert_snapshot!(tasks("\
## Phase 1: Setup
- [ ] T001 Make the folders
- [ ] T002 Make the project
- [ ] T003 [P] Lint
- [ ] T004 [P] Format
- [ ] T005 Commit
## Phase 2: Foundation
- [ ] T006 [P] Schema
- [ ] T007 [P] Routes
- [ ] T008 Errors
- [ ] T009 [P] Docs
"), @r"
    T001 @1 [ ] Make the folders <- phase before
    T002 @1 [ ] Make the project <- [T001]
    T003 @1 [ ] Lint <- [T002]
    T004 @1 [ ] Format <- [T002]
    T005 @1 [ ] Commit <- [T003, T004]
    T006 @2 [ ] Schema <- phase before
    T007 @2 [ ] Routes <- phase before
    T008 @2 [ ] Errors <- [T006, T007]
    T009 @2 [ ] Docs <- [T008]
    ");
}

#[test]
fn a_heading_ends_a_group() {
    insta::assert_snapshot!(tasks("\
## Phase 3: User Story 1
### Tests for User Story 1
- [ ] T010 [P] [US1] Contract test
- [ ] T011 [P] [US1] Journey test
### Implementation for User Story 1
- [ ] T012 [P] [US1] Model
- [ ] T013 [P] [US1] Other model
- [ ] T014 [US1] Service (depends on T012, T013)
"), @r"
    T010 @3 [ ] Contract test <- phase before
    T011 @3 [ ] Journey test <- phase before
    T012 @3 [ ] Model <- [T010, T011]
    T013 @3 [ ] Other model <- [T010, T011]
    T014 @3 [ ] Service <- [T012, T013]
    ");
}

#[test]
fn what_is_stated_is_added_or_counts_alone() {
    insta::assert_snapshot!(tasks("\
## Phase 1: One
- [ ] T001 first
- [ ] T002 second
## Phase 2: Two
- [ ] T003 waits for nothing at all
  - depends: none
- [ ] T004 third (depends on T001)
- [ ] T005 [P] says what it needs (depends on T002)
- [ ] T006 [P] does not
- [ ] T007 waits for all three (depends on T001)
- [ ] T008 waits for one below (depends on T010)
- [ ] T009 passes it over
- [ ] T010 is waited for
- [ ] T011 [P] says what it needs (depends on T009)
- [ ] T012 waits for it, too
"), @r"
    T001 @1 [ ] first <- phase before
    T002 @1 [ ] second <- [T001]
    T003 @2 [ ] waits for nothing at all <- []
    T004 @2 [ ] third <- [T001]
    T005 @2 [ ] says what it needs <- [T002]
    T006 @2 [ ] does not <- [T003, T004]
    T007 @2 [ ] waits for all three <- [T001, T005, T006]
    T008 @2 [ ] waits for one below <- [T010]
    T009 @2 [ ] passes it over <- [T007]
    T010 @2 [ ] is waited for <- [T009]
    T011 @2 [ ] says what it needs <- [T009]
    T012 @2 [ ] waits for it, too <- [T010, T011]
    ");
}

#[test]
fn phases_run_as_they_stand_with_any_number_or_none() {
    let dotted: String = (1..=10).fold(String::new(), |mut text, part| {
        writeln!(text, "## Phase 3.{part}: Part\n- [ ] T0{part:02} [P] work").unwrap();
        text
    });
    let phases: Vec<(u32, String)> = plan(&dotted).phases.into_iter().collect();
    let want: Vec<(u32, String)> = (1..=10).map(|it| (it + 2, format!("3.{it} Part"))).collect();
    assert_eq!(phases, want);
    let polish = "\
# Tasks: Albums
## Format: `[ID] [P?] [Story] Description`
## Phase 1: Setup
- [ ] T001 Make the folders
## Phase 2: Foundation
- [ ] T002 Schema
## Polish & Cross-Cutting Concerns
- [ ] T003 Document
## Phase N: Release
- [ ] T004 Publish
### Notes
- [ ] T005 Announce
## Dependencies
- T001 before T002
# Additions
- [ ] T006 Thank people
";
    insta::assert_snapshot!(tasks(polish), @r"
    T001 @1 [ ] Make the folders <- phase before
    T002 @2 [ ] Schema <- phase before
    T003 @3 [ ] Document <- phase before
    T004 @4 [ ] Publish <- phase before
    T005 @4 [ ] Announce <- [T004]
    T006 @5 [ ] Thank people <- phase before
    ");
    let phases = plan(polish).phases;
    insta::assert_snapshot!(format!("{phases:?}"), @"{1: \"Setup\", 2: \"Foundation\", 3: \"Polish & Cross-Cutting Concerns\", 4: \"Phase N: Release\", 5: \"Additions\"}");
    insta::assert_snapshot!(warnings(polish), @"");
}

#[test]
fn phases_that_get_another_number_are_said_and_meant_by_their_own() {
    let text = "\
## Phase 3.1: Setup
- [ ] T001 [P] Folders
## Phase 3.2: Tests
- [ ] T002 Tests (depends on Phase 3.1)
## Phase 4: Release
- [ ] T003 Publish (depends on Phase 3)
## Phase 2: Late
- [ ] T004 [P] Thank (depends on Phase 4, Phase 3.2)
";
    insta::assert_snapshot!(tasks(text), @r"
    T001 @3 [ ] Folders <- phase before
    T002 @4 [ ] Tests <- phase before
    T003 @5 [ ] Publish <- [T001, T002]
    T004 @6 [ ] Thank <- [T003, T002]
    ");
    insta::assert_snapshot!(warnings(text), @r"
    1:4+16 warning phase_fraction [] phases have whole numbers; phase 3.1 is run as phase 3
    3:4+16 warning phase_fraction [] phases have whole numbers; phase 3.2 is run as phase 4
    5:4+16 warning phase_order [] phases run in the order of the file; phase 4 is run as phase 5
    7:4+13 warning phase_order [] phases run in the order of the file; phase 2 is run as phase 6
    ");
}

#[test]
fn phases_that_only_say_so_are_phases() {
    insta::assert_snapshot!(tasks("\
# Tasks
## Setup Phase
- [ ] T001 [P] a
### Details
- [ ] T002 b
## Final Phase
- [ ] T003 c
"), @r"
    T001 @1 [ ] a <- phase before
    T002 @1 [ ] b <- [T001]
    T003 @2 [ ] c <- phase before
    ");
    // Without any phase the list is one, in its order.
    insta::assert_snapshot!(tasks("# Tasks\n## Setup\n- [ ] T001 [P] a\n## Rest\n- [ ] T002 [P] b"), @r"
    T001 @1 [ ] a <- phase before
    T002 @1 [ ] b <- [T001]
    ");
}

#[test]
fn headings_can_be_spec_kits_tasks() {
    insta::assert_snapshot!(tasks("\
## Phase 3.8: Before
### T023 Do it
## Phase 3.9: Tests
### T024 [P] Show it
**Dependencies**: T023 (all of it)
### T025 [P] Load it
### T026 Say it
"), @r"
    T023 @3 [ ] Do it <- phase before
    T024 @4 [ ] Show it <- [T023]
    T025 @4 [ ] Load it <- phase before
    T026 @4 [ ] Say it <- [T024, T025]
    ");
}

#[test]
fn other_lists_keep_their_order() {
    let lists = [
        "## Phase 1\n- [ ] T001 a\n- [ ] T002 b\n## Polish\n- [ ] T003 c",
        "## Phase 1\n- [ ] T1.1 [P] a\n- [ ] T1.2 [US1] b\n## Polish\n- [ ] T1.3 c",
        "## Phase 1.1\n- [ ] T001 a\n  - parallel: yes\n## Phase 1.2\n- [ ] T002 b",
    ];
    for list in lists {
        for task in plan(list).tasks.iter() {
            assert_eq!((task.phase, task.stated()), (1, [].as_slice()), "{list}");
        }
    }
    // A task with a phase in its id has no part in the order of the others.
    insta::assert_snapshot!(tasks("## Phase 1\n- [ ] T001 [P] a\n- [ ] T1.1 b\n- [ ] T002 c"), @r"
    T001 @1 [ ] a <- phase before
    T1.1 @1 [ ] b <- phase before
    T002 @1 [ ] c <- [T001]
    ");
}

#[test]
fn large_groups_are_counted() {
    let group = |from: usize| -> String {
        (from..from + 1_100).map(|number| format!("- [ ] T{number} [P] a\n")).collect()
    };
    let text = format!("## Phase 1\n### One\n{}### Two\n{}", group(0), group(2_000));
    let codes: Vec<_> = read(&text, "x").unwrap_err().iter().map(|found| found.code).collect();
    assert_eq!(codes, ["too_large"]);
    let long: String = (0..20_000).map(|number| format!("- [ ] T{number} [US1] a\n")).collect();
    let links: usize = plan(&long).tasks.iter().map(|task| task.stated().len()).sum();
    assert_eq!(links, 19_999);
}

#[test]
fn what_is_not_taken_up_is_said_with_its_line() {
    let text = "\
## Phase 1: Shop
- [ ] T1.1: Cart
  - run: `true`
- [-] T1.2: Left out
  - run: `false`
- [~] T1.3: Half
- [T1.4] [Story] In brackets
- [ ] [T1.5] In brackets behind a box
- [P] T1.6: tag first
- T1.7
- T1.8, T1.9
- T1..3: odd
### [-] T1.10: Heading
- verify: `never`

| Task | What | State |
|---|---|---|
| **T1.11** | Pay | open |
| T1.1 | Cart | open |
| 1 | T1.12 | open |
| text | T1.13 | open |
";
    insta::assert_snapshot!(tasks(text), @"T1.1 @1 [ ] Cart <- phase before");
    insta::assert_snapshot!(warnings(text), @r"
    4:7+4 warning other_box [T1.2] T1.2 stands behind `[-]`, which is no box that is known; it will not be run
      hint: `[ ]` is open and `[x]` is completed: `- [ ] ID: title`
    6:7+4 warning other_box [T1.3] T1.3 stands behind `[~]`, which is no box that is known; it will not be run
      hint: `[ ]` is open and `[x]` is completed: `- [ ] ID: title`
    7:4+4 warning other_form [T1.4] T1.4 stands in brackets; it will not be run
      hint: write it as `- [ ] ID: title`
    8:8+4 warning other_form [T1.5] T1.5 stands in brackets; it will not be run
      hint: write it as `- [ ] ID: title`
    9:7+4 warning other_box [T1.6] T1.6 stands behind `[P]`, which is no box that is known; it will not be run
      hint: `[ ]` is open and `[x]` is completed: `- [ ] ID: title`
    10:3+4 warning no_box [T1.7] T1.7 has neither a box nor a title; it will not be run
      hint: write it as `- [ ] ID: title`
    11:3+4 warning other_form [T1.8] T1.8 stands beside another id; it will not be run
      hint: write it as `- [ ] ID: title`
    12:3+5 warning no_id [] `T1..3` is not a task id; it will not be run
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    13:9+5 warning other_box [T1.10] T1.10 stands behind `[-]`, which is no box that is known; it will not be run
      hint: `[ ]` is open and `[x]` is completed: `- [ ] ID: title`
    18:5+5 warning other_form [T1.11] T1.11 stands in a table; it will not be run
      hint: write it as `- [ ] ID: title`
    20:7+5 warning other_form [T1.12] T1.12 stands in a table; it will not be run
      hint: write it as `- [ ] ID: title`
    ");
    let read = plan(text);
    assert_eq!(read.tasks[0].details.as_ref().unwrap().command.as_deref(), Some("true"));
}

#[test]
fn a_box_with_another_mark_is_no_part_of_the_task_around_it() {
    let text = "### T1.1: a\nbefore\n- [-] T1.2: b\n  - run: `b`\n\n[T1.3] is text\n- [T1.4] too";
    let read = plan(text);
    let details = read.tasks[0].details.as_ref().unwrap();
    assert_eq!((&*details.body, &details.command), ("before", &None));
    insta::assert_snapshot!(warnings(text), @r"
    3:7+4 warning other_box [T1.2] T1.2 stands behind `[-]`, which is no box that is known; it will not be run
      hint: `[ ]` is open and `[x]` is completed: `- [ ] ID: title`
    7:4+4 warning other_form [T1.4] T1.4 stands in brackets; it will not be run
      hint: write it as `- [ ] ID: title`
    ");
    let nested = "- [ ] T1.1: a\n  - [-] T1.2: b\n    - run: `b`\n  - run: `a`\n  - [T1.4] text";
    let read = plan(nested);
    let details = read.tasks[0].details.as_ref().unwrap();
    assert_eq!(
        (&*details.body, details.command.as_deref()),
        ("- run: `a`\n- [T1.4] text", Some("a"))
    );
}
