//! Large and hostile texts: they are read, and nothing multiplies without being counted.
//!
//! No test here looks at a clock. Each text is long enough that work which grows with the square
//! of its length would not end within the patience of the person who runs the tests.

use super::{faults, plan};
use crate::tasks_md::{read, tick};
use std::fmt::Write as _;
use waypost_model::run::Depends;

/// A file of `count` tasks in five phases, each waiting for the one before it in its phase.
fn long_file(count: usize) -> String {
    let mut text = "# Long\n".to_owned();
    for number in 0..count {
        let (phase, place) = (number * 5 / count, number % (count / 5));
        if place == 0 {
            write!(text, "\n## Phase {phase}: Part\n\n").unwrap();
        }
        let depends = match place {
            0 => "none".to_owned(),
            _ => format!("T{phase}.{}", place - 1),
        };
        write!(text, "### [ ] T{phase}.{place}: work\n\n- depends: {depends}\n- owner: x\n\n")
            .unwrap();
    }
    text
}

#[test]
fn ten_thousand_tasks_are_read_and_ticked() {
    let text = long_file(10_000);
    let read = plan(&text);
    assert_eq!(read.tasks.len(), 10_000);
    assert_eq!(read.tasks[9_999].depends, Depends::On(vec!["T4.1998".parse().unwrap()]));
    let ids: Vec<_> = read.tasks.iter().map(|task| task.id.clone()).collect();
    let ticked = tick(&text, &ids);
    assert_eq!(ticked, text.replace("[ ]", "[x]"));
    assert!(plan(&ticked).tasks.iter().all(|task| task.ticked));
}

#[test]
fn a_cycle_through_ten_thousand_tasks_is_found() {
    let mut text = String::new();
    for number in 0..10_000 {
        let next = (number + 1) % 10_000;
        writeln!(text, "- [ ] T1.{number}: a (depends on T1.{next})").unwrap();
    }
    let found = read(&text, "x").unwrap_err();
    assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), ["CIRCULAR_DEP"]);
}

#[test]
fn what_one_word_multiplies_is_counted() {
    let mut text = "## Phase 1\n".to_owned();
    (0..1_100).for_each(|number| writeln!(text, "- [ ] T1.{number}: a").unwrap());
    text.push_str("## Phase 3\n");
    let waiting = |number| format!("- [ ] T3.{number}: a (depends on Phase 1)");
    (0..900).for_each(|number| writeln!(text, "{}", waiting(number)).unwrap());
    let links: usize = plan(&text).tasks.iter().map(|task| task.stated().len()).sum();
    assert_eq!(links, 1_100 * 900);

    (900..1_000).for_each(|number| writeln!(text, "{}", waiting(number)).unwrap());
    insta::assert_snapshot!(faults(&text), @r"
    2012:29+7 error too_large [] phases, ranges, graphs and [P] tasks make too many dependencies
      expected: at most 1000000 in one file
      hint: leave the dependency out where it is the whole phase before
    ");

    let nodes: Vec<String> = (0..1_100).map(|number| format!("T1.{number}")).collect();
    let nodes = nodes.join(" & ");
    let graph = format!("```mermaid\ngraph TD\n{nodes} --> {nodes}\n```\n{text}");
    let codes: Vec<_> =
        read(&graph, "x").unwrap_err().into_iter().map(|found| found.code).collect();
    assert_eq!(codes, ["too_large"]);
}

#[test]
fn waiting_for_the_phase_right_before_is_not_spelled_out() {
    let mut text = "## Phase 1\n".to_owned();
    (0..3_000).for_each(|number| writeln!(text, "- [ ] T1.{number}: a").unwrap());
    text.push_str("## Phase 2\n");
    (0..3_000).for_each(|number| {
        writeln!(text, "- [ ] T2.{number}: a (depends on Phase 1)").unwrap();
    });
    assert!(plan(&text).tasks.iter().all(|task| task.depends == Depends::PhaseBefore));
}

#[test]
fn hostile_texts_are_read_to_their_end() {
    const COUNT: usize = 10_000;
    let task = "- [ ] T1: a\n";
    let graph = "```mermaid\ngraph TD\n";
    let texts = [
        "- ".repeat(COUNT),
        "* - ".repeat(COUNT) + "x" + &"\n".repeat(COUNT),
        "> ".repeat(COUNT),
        "[".repeat(COUNT),
        "- [ ] ".repeat(COUNT),
        "### ".to_owned() + &"**T1** ".repeat(COUNT),
        "### T1: ".to_owned() + &"(depends on ".repeat(COUNT),
        "- [ ] T".to_owned() + &"1-T".repeat(COUNT),
        "- [ ] T".to_owned() + &"1.".repeat(COUNT),
        "- [ ] T1 ".to_owned() + &"✅".repeat(COUNT),
        "- [ ] T1 ".to_owned() + &"[P] ".repeat(COUNT),
        "\u{0}".repeat(COUNT) + "\n" + task,
        task.repeat(COUNT),
        format!("{task}  - depends: {}", "T9 ".repeat(COUNT)),
        format!("{task}  - depends: {}", "T9~".repeat(COUNT)),
        format!("{task}  - depends: {}", "phase ".repeat(COUNT)),
        format!("{task}  - files: {}", "(a ".repeat(COUNT)),
        format!("{task}{}", "  - verify: x\n".repeat(COUNT)),
        format!("{task}{}", "  - owner: x\n".repeat(COUNT)),
        format!("{task}  - owner: {}", "*a ".repeat(COUNT)),
        format!("{task}  - verify: {}", "`a` ".repeat(COUNT)),
        format!("{task}{}", "  ```sh\n  x\n  ```\n".repeat(COUNT)),
        format!("{graph}{}\n```\n{task}", "T9 --> ".repeat(COUNT)),
        format!("{graph}{}\n```\n{task}", "T9 --> X --> ".repeat(COUNT) + "T1"),
        format!("{graph}{}\n```\n{task}", "A[".repeat(COUNT)),
        format!("{graph}{}\n```\n{task}", "A -- ".repeat(COUNT)),
        format!("{graph}{}\n```\n{task}", "T9;".repeat(COUNT)),
        format!("{graph}{}\n```\n{task}", "A --> B & ".repeat(COUNT)),
        "## Phase 1\n".repeat(COUNT) + task,
        "# ".repeat(COUNT) + "\n" + task,
        "|a".repeat(COUNT) + "\n" + &"|-".repeat(COUNT) + "\n" + task,
    ];
    for text in texts {
        let found = read(&text, "x");
        let ids: Vec<_> = found
            .iter()
            .flat_map(|file| file.plan.tasks.iter())
            .map(|task| task.id.clone())
            .collect();
        assert!(tick(&text, &ids).len() >= text.len());
    }
}
