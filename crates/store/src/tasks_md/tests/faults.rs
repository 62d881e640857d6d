//! What is wrong with a file: every fault with its place, what was expected and what to do.

use super::faults;
use crate::tasks_md::read;
use waypost_model::diagnostic::Diagnostic;

#[test]
fn a_file_without_a_task_is_refused() {
    insta::assert_snapshot!(faults(""), @r"
    1:1+1 error PARSE_FAIL [] there is no task in this file
      expected: headings or list items with an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write tasks as `### [ ] T1.1: title` or `- [ ] T1.1: title`
    ");
    insta::assert_snapshot!(faults("# Notes\n\n## Phase 1\n- [ ] write docs\n"), @r"
    1:1+1 error PARSE_FAIL [] there is no task in this file
      expected: headings or list items with an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write tasks as `### [ ] T1.1: title` or `- [ ] T1.1: title`
    4:7+10 warning no_id [] `write docs` has no id; it will not be run
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: put an id in front of it, or nest it under a task
    ");
}

#[test]
fn a_word_that_is_meant_as_an_id_is_refused() {
    insta::assert_snapshot!(
        faults("\
### [ ] T1.: title
- [ ] T1..3 title
- [ ] T1_3: title
- [x] t1.3: small
- [ ] P2--T1 title
### T1.4. no box
### T1.x: no box
### T1.5; title
### ✅ T1.3- title
- [ ] T1.1, T1.2: two
### [ ] T1.1 ~ T1.2
"), @r"
    1:9+3 error PARSE_FAIL [] `T1.` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    2:7+5 error PARSE_FAIL [] `T1..3` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    3:7+4 error PARSE_FAIL [] `T1_3` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    4:7+4 error PARSE_FAIL [] `t1.3` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    5:7+6 error PARSE_FAIL [] `P2--T1` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    6:5+5 error PARSE_FAIL [] `T1.4.` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    7:5+4 error PARSE_FAIL [] `T1.x` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    8:5+5 error PARSE_FAIL [] `T1.5;` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    9:7+5 error PARSE_FAIL [] `T1.3-` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    10:7+4 error PARSE_FAIL [] a task has one id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: give each task a line of its own
    11:9+4 error PARSE_FAIL [] a task has one id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: give each task a line of its own
    ");
}

#[test]
fn values_that_cannot_be_read_are_refused() {
    insta::assert_snapshot!(
        faults("\
### T1.1: a
- timeout: soon
- priority: **very** high
- budget: 5 EUR
### T1.2: b

| field | value |
|---|---|
| timeout | 0 |
"), @r"
    2:12+4 error PARSE_FAIL [T1.1.timeout] `soon` is not a timeout
      expected: 90s, 30m, 2h or a number of seconds
      hint: write one of these, or leave the line out
    3:15+11 error PARSE_FAIL [T1.1.priority] `very high` is not a priority
      expected: critical, high, normal, low or P0 to P3
      hint: write one of these, or leave the line out
    4:11+5 error PARSE_FAIL [T1.1.budget] `5 EUR` is not a budget
      expected: an amount such as $2.50 or 2.5 USD
      hint: write one of these, or leave the line out
    9:13+1 error PARSE_FAIL [T1.2.timeout] `0` is not a timeout
      expected: 90s, 30m, 2h or a number of seconds
      hint: write one of these, or leave the line out
    ");
}

#[test]
fn a_field_is_stated_once() {
    insta::assert_snapshot!(
        faults("### T1.1: a\nowner: x\n- 담당: y\n\n| depends | none |\n|---|---|\n| 의존성 | - |\n"), @r"
    3:3+2 error PARSE_FAIL [T1.1.owner] T1.1 states owner twice
      expected: each field once
      hint: put both values into one field, or remove one of them
    7:3+3 error PARSE_FAIL [T1.1.depends] T1.1 states depends twice
      expected: each field once
      hint: put both values into one field, or remove one of them
    ");
}

#[test]
fn an_id_is_defined_once() {
    insta::assert_snapshot!(faults("### T1.1: a\n- [ ] T1.2: b\n- [ ] T1.1: c\n- [ ] T1.1: d"), @r"
    3:7+4 error DUPLICATE_ID [T1.1] T1.1 is defined twice, first on line 1
      expected: each id once
      hint: give this task an id of its own; T1.1 is the one on line 1
    4:7+4 error DUPLICATE_ID [T1.1] T1.1 is defined twice, first on line 1
      expected: each id once
      hint: give this task an id of its own; T1.1 is the one on line 1
    ");
    insta::assert_snapshot!(faults("- T1.1: a\n- T1.1: b"), @r"
    2:3+4 error DUPLICATE_ID [T1.1] T1.1 is defined twice, first on line 1
      expected: each id once
      hint: give this task an id of its own; T1.1 is the one on line 1
    ");
}

#[test]
fn a_dependency_has_to_exist() {
    insta::assert_snapshot!(
        faults("\
## Phase 1
- [ ] T1.1: a (depends on T1.7)
- [ ] T1.2: b
  - depends: T1.1, **T2.1**
- [ ] T1.3: c
  - 의존: T1.1~T1.9, Phase 7
"), @r"
    2:27+4 error MISSING_DEP [T1.1.depends] T1.1 depends on T1.7, which is not in the file
      expected: the id of a task in this file
      hint: the nearest id in this file is T1.2
    4:22+4 error MISSING_DEP [T1.2.depends] T1.2 depends on T2.1, which is not in the file
      expected: the id of a task in this file
      hint: the nearest id in this file is T1.1
    6:9+9 error MISSING_DEP [T1.3.depends] T1.3 depends on T1.9, which is not in the file
      expected: the id of a task in this file
      hint: the nearest id in this file is T1.1
    6:20+7 error MISSING_DEP [T1.3.depends] T1.3 depends on phase 7, which has no task
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name a phase of this file, or write `depends: none`
    ");
}

#[test]
fn a_dependency_that_names_nothing_is_refused() {
    insta::assert_snapshot!(
        faults("\
- [ ] T1.1: a (depends on the weather)
- [ ] T1.2: b
  - depends: everything before
- [ ] T1.3: c
  - depends:
- [ ] T1.4: d
  - depends: T1..1, t1.2, P1-R1, T1.1~, Phase 0.5, P99999999999
- [ ] P1-S1-V: e
  - depends: T1.1~P1-S1-V
"), @r"
    1:27+11 error PARSE_FAIL [T1.1.depends] this dependency names no task
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name the tasks by their ids, or write `depends: none`
    3:14+17 error PARSE_FAIL [T1.2.depends] this dependency names no task
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name the tasks by their ids, or write `depends: none`
    5:5+7 error PARSE_FAIL [T1.3.depends] this dependency names no task
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name the tasks by their ids, or write `depends: none`
    7:14+5 error PARSE_FAIL [T1.4.depends] `T1..1` is not a task id
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name the tasks by their ids, or write `depends: none`
    7:21+4 error PARSE_FAIL [T1.4.depends] `t1.2` is not a task id
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name the tasks by their ids, or write `depends: none`
    7:27+5 error PARSE_FAIL [T1.4.depends] `P1-R1` is not a task id
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name the tasks by their ids, or write `depends: none`
    7:34+4 error PARSE_FAIL [T1.4.depends] this range has no second id
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name the tasks by their ids, or write `depends: none`
    7:41+9 error PARSE_FAIL [T1.4.depends] a phase has a whole number
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name the tasks by their ids, or write `depends: none`
    7:52+12 error PARSE_FAIL [T1.4.depends] a phase has a whole number
      expected: ids such as T1.1, T1.2, a range T1.1~T1.3, a phase such as Phase 1, or none
      hint: name the tasks by their ids, or write `depends: none`
    9:14+12 error PARSE_FAIL [P1-S1-V.depends] the ends of this range do not belong together
      expected: two ids that differ in their last number, as in T1.1~T1.3
      hint: name the tasks one by one
    ");
}

#[test]
fn tasks_that_wait_for_each_other_are_refused() {
    insta::assert_snapshot!(
        faults("- [ ] T1.1: a (depends on T1.3)\n- [ ] T1.2: b (depends on T1.1)\n- [ ] T1.3: c (depends on T1.2)"), @r"
    1:27+4 error CIRCULAR_DEP [T1.1.depends] these tasks wait for each other: T1.1 → T1.3 → T1.2 → T1.1
      expected: tasks that can be put in an order
      hint: remove one of these dependencies
    ");
    insta::assert_snapshot!(faults("### T1.1: a\ndepends: T1.1"), @r"
    2:10+4 error CIRCULAR_DEP [T1.1.depends] a task and itself wait for each other: T1.1 → T1.1
      expected: tasks that can be put in an order
      hint: remove one of these dependencies
    ");
    insta::assert_snapshot!(faults("- [ ] T1.1: a\n  - depends: P1\n- [ ] T1.2: b\n  - depends: P1"), @r"
    2:14+2 error CIRCULAR_DEP [T1.1.depends] these tasks wait for each other: T1.1 → T1.2 → T1.1
      expected: tasks that can be put in an order
      hint: remove one of these dependencies
    ");
    insta::assert_snapshot!(
        faults("- [ ] T1.1: a\n  - depends: T1.1~T2.1, T2.1\n- [ ] T2.1: b"), @r"
    2:14+9 error PARSE_FAIL [T1.1.depends] the ends of this range do not belong together
      expected: two ids that differ in their last number, as in T1.1~T1.3
      hint: name the tasks one by one
    2:25+4 error CIRCULAR_DEP [T1.1.depends] T1.1 of phase 1 depends on T2.1 of phase 2, which starts only afterwards
      expected: dependencies in the same phase or an earlier one
      hint: move T1.1 to phase 2, or T2.1 to an earlier one
    ");
}

#[test]
fn a_phase_number_has_to_fit() {
    insta::assert_snapshot!(
        faults("## Phase 99999999999: far\n- [ ] T1 a\n## Other\n- [ ] T99999999999.1: b\n### Phase 99999999999, T2: c"), @r"
    1:4+22 error PARSE_FAIL [] this phase number is too large
      expected: a number up to 4294967295
      hint: number the phases from 0 or 1
    4:7+14 error PARSE_FAIL [] this phase number is too large
      expected: a number up to 4294967295
      hint: number the phases from 0 or 1
    5:5+17 error PARSE_FAIL [] this phase number is too large
      expected: a number up to 4294967295
      hint: number the phases from 0 or 1
    ");
}

#[test]
fn faults_of_every_kind_come_together_in_line_order() {
    insta::assert_snapshot!(
        faults("\
# 책방
## Phase 1
### [ ] T1.1: 가
- 의존: T1.9
- [ ] T1..2: 나
- [ ] 이름 없는 일
- [ ] T1.3: 다
  - timeout: 언젠가
- [ ] T1.3: 라
"), @r"
    4:7+4 error MISSING_DEP [T1.1.depends] T1.1 depends on T1.9, which is not in the file
      expected: the id of a task in this file
      hint: the nearest id in this file is T1.3
    5:7+5 error PARSE_FAIL [] `T1..2` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    6:7+7 warning no_id [] `이름 없는 일` has no id; it will not be run
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: put an id in front of it, or nest it under a task
    8:14+3 error PARSE_FAIL [T1.3.timeout] `언젠가` is not a timeout
      expected: 90s, 30m, 2h or a number of seconds
      hint: write one of these, or leave the line out
    9:7+4 error DUPLICATE_ID [T1.3] T1.3 is defined twice, first on line 7
      expected: each id once
      hint: give this task an id of its own; T1.3 is the one on line 7
    ");
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    let line = "- [ ] T1: a\n";
    let text = line.repeat(64 * 1024 * 1024 / line.len() + 1);
    let want = Diagnostic::error("too_large", format!("the file has {} bytes", text.len()))
        .expected("at most 64 MiB")
        .hint("split it into several runs");
    assert_eq!(read(&text, "x"), Err(vec![want]));
}

#[test]
fn lists_nest_as_deep_as_people_write() {
    let nested = |depth: usize| -> String {
        (0..depth).map(|at| format!("{}- [ ] T1.{at}: a\n", "  ".repeat(at))).collect()
    };
    assert_eq!(super::plan(&nested(32)).tasks.len(), 32);
    insta::assert_snapshot!(faults(&nested(40)), @r"
    33:65+14 error PARSE_FAIL [] this list is nested too deep to be read
      expected: at most 32 levels
      hint: move it to the left
    ");
}

#[test]
fn long_words_are_shortened_in_messages() {
    let long = "1".repeat(3_000);
    insta::assert_snapshot!(faults(&format!("- [ ] T{long}: a\n- [ ] T1 b\n  - timeout: {long}{long}h")), @r"
    1:7+120 error PARSE_FAIL [] `T111111111111111111111111111111111111111…` is not a task id
      expected: an id such as T1.3, T012, P2-T1.1 or P2-S1-V
      hint: write the id, then `:` and the title, as in `T1.3: title`
    3:14+120 error PARSE_FAIL [T1.timeout] `1111111111111111111111111111111111111111…` is not a timeout
      expected: 90s, 30m, 2h or a number of seconds
      hint: write one of these, or leave the line out
    ");
}
