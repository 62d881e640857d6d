//! Every way to write a task, a phase and a project's name, and what is no task.

use super::{plan, tasks, warnings};
use crate::tasks_md::read;

/// Checks that each line alone is the task `T1.3` called `title`, open or ticked.
fn check(ticked: char, lines: &[&str]) {
    let want = format!("T1.3 @1 [{ticked}] title <- phase before\n");
    for line in lines {
        assert_eq!(tasks(line), want, "{line:?}");
    }
}

#[test]
fn a_task_is_a_heading_or_an_item_with_any_box_or_none() {
    check(
        ' ',
        &[
            "### [ ] Phase 1, T1.3: title",
            "### [] Phase 1, T1.3: title",
            "### Phase 1, T1.3: title",
            "### 페이즈 1, T1.3: title",
            "### 1단계, T1.3: title",
            "### [ ] T1.3: title",
            "### T1.3: title",
            "### T1.3 title",
            "## T1.3: title",
            "###### T1.3: title ######",
            "T1.3: title\n-----------",
            "- [ ] T1.3: title",
            "- [] T1.3: title",
            "-\t[ ]\tT1.3:\ttitle",
            "* [ ] T1.3 title",
            "1. [ ] T1.3: title",
            "- T1.3: title",
            "- T1.3 title",
            "1. **T1.3** title",
            "- plain\n  - [ ] T1.3: title",
            "- - - [ ] T1.3: title",
            "- ### T1.3: title",
        ],
    );
    check(
        'x',
        &[
            "### [x] Phase 1, T1.3: title",
            "### [X] T1.3: title",
            "### ✅ T1.3: title",
            "### T1.3: title ✅",
            "### T1.3: title ✅\u{fe0f}",
            "### T1.3 ✅ title",
            "### [x] T1.3: title ✅",
            "- [x] T1.3: title",
            "- [X] T1.3 title",
            "- ✅ T1.3: title",
            "- ✅ T1.3 title",
            "- T1.3: title ✅",
        ],
    );
}

#[test]
fn markup_and_separators_do_not_matter() {
    check(
        ' ',
        &[
            "- [ ] **T1.3**: title",
            "- [ ] **T1.3:** title",
            "- [ ] **T1.3: title**",
            "- [ ] *T1.3* title",
            "- [ ] ***T1.3***: *title*",
            "- [ ] **_T1.3_ title**",
            "- [ ] `T1.3`: title",
            "- [ ] `T1.3: title`",
            "### `T1.3` title",
            "### **`T1.3`** title",
            "### [T1.3](docs/t13.md): title",
            "### 🔧 T1.3: title",
            "### T1.3：title",
            "### T1.3:title",
            "### T1.3 : title",
            "### T1.3 - title",
            "### T1.3 – title",
            "### T1.3 — title",
            "### T1.3— title",
            "###   T1.3   title  ",
            "### T1.3: ti&#116;le",
            "### T1.3: title <!-- a note -->",
        ],
    );
}

#[test]
fn every_kind_of_id_names_its_phase() {
    let table = [
        ("T1.3", 1),
        ("T0.5.1", 0),
        ("T12.10", 12),
        ("P2-T1.1", 2),
        ("P2-R1-T1", 2),
        ("P2-S1-T2", 2),
        ("P2-S1-V", 2),
        // Without a number of its own and outside of any phase: the first that people count.
        ("T012", 1),
        ("T012a", 1),
    ];
    for (id, phase) in table {
        let want = format!("{id} @{phase} [ ] title <- phase before\n");
        assert_eq!(tasks(&format!("### [ ] {id}: title")), want);
        assert_eq!(tasks(&format!("- [ ] {id} title")), want);
    }
}

#[test]
fn spec_kit_tags_are_taken_off_the_title() {
    let read =
        plan("- [ ] T001 a\n- [ ] T012 [P] [US1] Make `User` in src/user.rs (depends on T001)");
    insta::assert_json_snapshot!(read.tasks[1], @r#"
    {
      "id": "T012",
      "title": "Make User in src/user.rs",
      "phase": 1,
      "depends": {
        "on": [
          "T001"
        ]
      },
      "line": 2,
      "details": {
        "parallel": true,
        "story": "US1"
      }
    }
    "#);
    insta::assert_snapshot!(tasks("- [ ] T001 [US2] [P]: a [WIP] b\n- [ ] T002 [Story] c (later)"), @r"
    T001 @1 [ ] a [WIP] b <- phase before
    T002 @1 [ ] [Story] c (later) <- [T001]
    ");
}

#[test]
fn a_title_may_be_missing_or_start_with_another_id() {
    insta::assert_snapshot!(tasks("### T1.1\n### T1.2:\n### T1.3 ✅\n- [ ] T1.4 - T1.3 again"), @r"
    T1.1 @1 [ ] T1.1 <- phase before
    T1.2 @1 [ ] T1.2 <- phase before
    T1.3 @1 [x] T1.3 <- phase before
    T1.4 @1 [ ] T1.3 again <- phase before
    ");
}

#[test]
fn the_section_gives_the_phase() {
    let headings = [
        "## Phase 4: name",
        "# Phase 4 - name",
        "## Phase 4 — name",
        "#### phase 4. name",
        "## PHASE 4 name",
        "## **Phase 4**: name",
        "## 🚀 Phase 4: name ✅",
        "## [x] Phase 4: name",
        "## 4단계: name",
        "## 4 단계 - name",
        "## 페이즈 4: name",
        "## 단계 4: name",
        "Phase 4: name\n=====",
    ];
    for heading in headings {
        let read = plan(&format!("{heading}\n\n- [ ] T1.1: a\n\n#### T012 b\n"));
        let phases: Vec<u32> = read.tasks.iter().map(|task| task.phase).collect();
        assert_eq!(phases, [4, 4], "{heading}");
        assert_eq!(read.phases.into_iter().collect::<Vec<_>>(), [(4, "name".to_owned())]);
    }
}

#[test]
fn a_phase_ends_with_its_section() {
    insta::assert_snapshot!(
        tasks("\
## Phase 3: Three
### Tests
- [ ] T001 inside
### Phase 4: Four, nested
- [ ] T002 deeper
### Notes
- [ ] T003 back in three
## Appendix
- [ ] T004 outside
- [ ] T7.1 by its id
## T005 task headings end no phase
# Phase 0
## T006 first
## T007 second
"), @r"
    T001 @3 [ ] inside <- phase before
    T002 @4 [ ] deeper <- phase before
    T003 @3 [ ] back in three <- phase before
    T004 @1 [ ] outside <- phase before
    T7.1 @7 [ ] by its id <- phase before
    T005 @1 [ ] task headings end no phase <- phase before
    T006 @0 [ ] first <- phase before
    T007 @0 [ ] second <- phase before
    ");
}

#[test]
fn phases_without_a_name_or_a_task_are_named_or_left_out() {
    let read = plan(
        "## Phase 0\n- [ ] T1 a\n## Phase 1: One\n- [ ] T2 b\n## Phase 2: Empty\n## Phase 1: again",
    );
    let phases: Vec<_> = read.phases.into_iter().collect();
    assert_eq!(phases, [(0, "phase-0".to_owned()), (1, "One".to_owned())]);
}

#[test]
fn a_prefix_gives_way_to_the_section() {
    insta::assert_snapshot!(tasks("### Phase 3, T012: a"), @"T012 @3 [ ] a <- phase before");
    let text = "## Phase 2: Two\n### [ ] Phase 3, T2.1: a\n### [ ] Phase 2, T2.2: b";
    insta::assert_snapshot!(tasks(text), @r"
    T2.1 @2 [ ] a <- phase before
    T2.2 @2 [ ] b <- phase before
    ");
    insta::assert_snapshot!(warnings(text), @r"
    2:9+7 warning phase_mismatch [T2.1] T2.1 says phase 3 and stands under phase 2
      hint: the section counts; make them agree
    ");
}

#[test]
fn fractions_of_phases_are_read_as_their_whole() {
    let text = "## Phase 0.5: Contracts\n- [ ] T0.5.1: a";
    insta::assert_snapshot!(tasks(text), @"T0.5.1 @0 [ ] a <- phase before");
    insta::assert_snapshot!(warnings(text), @"1:4+20 warning phase_fraction [] phases have whole numbers; this is read as phase 0");
}

#[test]
fn the_first_title_names_the_project() {
    let table = [
        ("# Tasks: Photo Albums", "Photo Albums"),
        ("# TASKS: 쇼핑몰 - 목록", "쇼핑몰 - 목록"),
        ("# 쇼핑몰 TASKS", "쇼핑몰"),
        ("# 쇼핑몰 — 작업 목록", "쇼핑몰"),
        ("# 📋 TASKS.md - 쇼핑몰 태스크 목록", "쇼핑몰"),
        ("# 태스크: **쇼핑몰** &amp; 서점", "쇼핑몰 & 서점"),
        ("# Tasks for albums", "Tasks for albums"),
        ("# Task Tracker", "Task Tracker"),
        ("# 태스크 관리 앱", "태스크 관리 앱"),
        ("# my\tproject\u{7}", "my project"),
        ("Setext\n===", "Setext"),
        ("# TASKS", "folder"),
        ("# 작업 목록", "folder"),
        ("## Tasks: not the first level", "folder"),
        ("# Phase 1: Setup\n\n# Albums", "Albums"),
        ("", "folder"),
    ];
    for (heading, want) in table {
        assert_eq!(plan(&format!("{heading}\n\n- [ ] T1 a\n")).project, want, "{heading:?}");
    }
}

#[test]
fn what_markdown_quotes_is_no_task() {
    let quoted = [
        "```\n### T9.1: fenced\n- [ ] T9.2: fenced\n```",
        "~~~md\n- [ ] T9.1: fenced\n~~~",
        "    ### T9.1: indented code",
        "<!-- ### T9.1: comment -->",
        "<!--\n\n- [ ] T9.1: comment\n\n-->",
        "text <!-- - [ ] T9.1: comment --> text",
        "<div>\n- [ ] T9.1: html\n</div>",
        "> ### T9.1: quote\n> - [ ] T9.2: quote",
        "> quote\n- > - [ ] T9.2: quote in an item",
        "`### T9.1: code`",
        "- `[ ] T9.1: code`",
        "- `T9.1: code`",
        "- `T9.1 code`",
        "- T9.1",
        "### `[ ] T9.1: code`",
        "[ ] T9.1: a paragraph",
        "T9.1: a paragraph",
        "# T9.1: the first level",
        "| T9.1: | a table |\n|---|---|\n| - [ ] T9.2: | x |",
        "\\### T9.1: escaped",
    ];
    for text in quoted {
        let read = plan(&format!("{text}\n\n## Tasks\n\n- [ ] T1.3: title\n"));
        assert_eq!(read.tasks.len(), 1, "{text:?}\n{read:#?}");
    }
}

#[test]
fn headings_and_items_that_talk_about_tasks_are_none() {
    let text = "\
### [ ] T1.1: a
### [ ] T1.2: b
### T1.1 ~ T1.2 in parallel
### T1.1-T1.2: both
### T1.1 → T1.2
### T1.1, T1.2
### T1.1의 범위
### T1.1's scope
### P1-R1: a group
### T-shirt sizes
### Test plan
### P2P networking
- T1.1 before T1.2
- T1.1
- P1-R1: a group
- T1.x
";
    insta::assert_snapshot!(tasks(text), @r"
    T1.1 @1 [ ] a <- phase before
    T1.2 @1 [ ] b <- phase before
    ");
    insta::assert_snapshot!(warnings(text), @"");
}

#[test]
fn an_item_without_a_box_gives_way_to_a_definition() {
    let text = "- T1.1: overview\n\n## Phase 1\n### T1.1: a\n## Summary\n- T1.1: done ✅\n- T1.2: only here";
    insta::assert_snapshot!(tasks(text), @r"
    T1.1 @1 [ ] a <- phase before
    T1.2 @1 [ ] only here <- phase before
    ");
    insta::assert_snapshot!(warnings(text), @r"
    1:3+4 warning mention [T1.1] T1.1 is defined elsewhere; this item only mentions it
    6:3+4 warning mention [T1.1] T1.1 is defined elsewhere; this item only mentions it
    ");
}

#[test]
fn an_item_without_a_box_inside_a_task_is_text() {
    let text = "### T1.1: a\n- T1.2: used\n- T1.3: forgotten\n### T1.2: b\n- [ ] T1.4: its own\n  - T1.1: first";
    insta::assert_snapshot!(tasks(text), @r"
    T1.1 @1 [ ] a <- phase before
    T1.2 @1 [ ] b <- phase before
    T1.4 @1 [ ] its own <- phase before
    ");
    insta::assert_snapshot!(warnings(text), @r"
    3:3+4 warning no_box [T1.3] T1.3 stands inside another task without a box; it will not be run
      hint: write it as `- [ ] ID: title`
    ");
}

#[test]
fn boxes_without_an_id_are_said_once_under_a_phase() {
    let text = "\
- [ ] before any phase
## Phase 1
- [ ] write docs
  - [ ] and examples
- [ ] T1.1: a
  - [ ] its own check
- [x] **tidy** up
### [ ] Release
### T1.2: b
- [ ] its own check
#### [ ] part of it
";
    insta::assert_snapshot!(tasks(text), @r"
    T1.1 @1 [ ] a <- phase before
    T1.2 @1 [ ] b <- phase before
    ");
    insta::assert_snapshot!(warnings(text), @r"
    3:7+10 warning no_id [] `write docs` has no id; it will not be run
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: put an id in front of it, or nest it under a task
    7:9+9 warning no_id [] `tidy up` has no id; it will not be run
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: put an id in front of it, or nest it under a task
    8:9+7 warning no_id [] `Release` has no id; it will not be run
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: put an id in front of it, or nest it under a task
    ");
}

#[test]
fn a_mark_beside_an_empty_box_does_not_tick_it() {
    let text = "### [ ] T1.1: a ✅\n- [ ] T1.2: show `✅`\n- [ ] T1.3: show ✅ in green";
    insta::assert_snapshot!(tasks(text), @r"
    T1.1 @1 [ ] a <- phase before
    T1.2 @1 [ ] show ✅ <- phase before
    T1.3 @1 [ ] show ✅ in green <- phase before
    ");
    insta::assert_snapshot!(warnings(text), @r"
    1:9+4 warning open_box [T1.1] T1.1 has ✅ beside an empty box; the box counts
      hint: tick the box, or remove the mark
    ");
}

#[test]
fn a_byte_order_mark_is_skipped_and_said() {
    let text = "\u{feff}### [ ] T1.1: a";
    insta::assert_snapshot!(tasks(text), @"T1.1 @1 [ ] a <- phase before");
    insta::assert_snapshot!(warnings(text), @r"
    1:1+1 warning byte_order_mark [] the file starts with a byte order mark
      hint: save it as UTF-8 without one
    ");
}

#[test]
fn control_characters_do_not_reach_a_title() {
    let text = "### [ ] T1.1: a\u{0}b \u{1b}[31mred\u{7}";
    insta::assert_snapshot!(tasks(text), @"T1.1 @1 [ ] a b [31mred <- phase before");
}

#[test]
fn lines_are_counted_from_one_whatever_ends_them() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["# A", "", "### T1.1: a", "- [ ] T1.2: b", "  - [ ] T1.3: c"].join(end);
        let read = read(&text, "x").unwrap().plan;
        let lines: Vec<u32> = read.tasks.iter().map(|task| task.line).collect();
        assert_eq!(lines, [3, 4, 5], "{end:?}");
    }
}
