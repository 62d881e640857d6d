//! The text of a task: what belongs to it and what does not.

use super::{plan, warnings};

/// The bodies of all tasks of a text, in their order.
fn bodies(text: &str) -> Vec<String> {
    let body = |details: &waypost_model::run::Details| details.body.to_string();
    let tasks = plan(text).tasks;
    tasks.iter().map(|task| task.details.as_deref().map_or_else(String::new, body)).collect()
}

#[test]
fn a_heading_owns_its_section_up_to_the_next_task() {
    let text = "\
## Phase 1
before
### T1.1: a ###

  first

> quote

#### Criteria
- [ ] one
#### T1.2: b
second

---
### Notes
not a task's
### T1.3: c
third
- [ ] T1.4: d
  fourth

not the third's
## Phase 2: x
not a task's
";
    assert_eq!(
        bodies(text),
        ["  first\n\n> quote\n\n#### Criteria\n- [ ] one", "second\n\n---", "third", "fourth"]
    );
}

#[test]
fn an_item_owns_what_is_nested_except_for_other_tasks() {
    let text = "\
* [ ] T1.1: a
    wrapped
    * note
        * [ ] T1.2: b

            deep

            ```
              code
            ```
    * after

* [ ] T1.3: c (depends on T1.1
  and T1.2)
  text
* other
";
    assert_eq!(bodies(text), ["wrapped\n* note\n\n* after", "deep\n\n```\n  code\n```", "text"]);
}

#[test]
fn line_ends_and_indentation_are_made_even() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["- [ ] T1.1: a", "\tone  ", "", "\t- two", "\t\t- three", ""].join(end);
        assert_eq!(bodies(&text), ["one\n\n- two\n\t- three"], "{end:?}");
    }
}

#[test]
fn a_task_without_a_text_has_no_details() {
    assert!(
        plan("### T1.1: a\n\n### T1.2: b\n- [ ] T1.3: c")
            .tasks
            .iter()
            .all(|task| task.details.is_none())
    );
}

#[test]
fn a_long_text_is_cut_between_characters_and_said() {
    let text =
        format!("### T1.1: a\n{}\n### T1.2: b\n{}\n", "가".repeat(30_000), "x".repeat(65_536));
    let lengths: Vec<usize> = bodies(&text).iter().map(String::len).collect();
    assert_eq!(lengths, [65_535, 65_536]);
    insta::assert_snapshot!(warnings(&text), @r"
    1:5+4 warning body_cut [T1.1] the text of T1.1 is cut after 64 KiB
      hint: move it to a document of its own and name that under `spec`
    ");
}
