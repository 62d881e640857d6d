//! Edges of Mermaid graphs.

use super::{faults, tasks, warnings};

/// The tasks T1.1 to T1.5 and one with dashes, with a graph of `lines` above them.
fn with_graph(lines: &str) -> String {
    let list = "- [ ] T1.1: a\n- [ ] T1.2: a\n- [ ] T1.3: a\n- [ ] T1.4: a\n- [ ] P1-S1-V: a\n";
    format!("```mermaid\ngraph TD\n{lines}\n```\n\n{list}")
}

/// Checks the edges that a graph adds, written as `from>to`.
#[track_caller]
fn check(lines: &str, want: &str) {
    let text = with_graph(lines);
    let mut found = Vec::new();
    for task in super::plan(&text).tasks.iter() {
        found.extend(task.stated().iter().map(|from| format!("{from}>{}", task.id)));
    }
    assert_eq!(found.join(" "), want, "{lines}");
}

#[test]
fn arrows_of_every_kind_are_edges() {
    for arrow in [
        "-->",
        "--->",
        "-.->",
        "-..->",
        "==>",
        "===>",
        "-->|text|",
        "--> |a b|",
        "-- text -->",
        "-. text .->",
        "== a b ==>",
        "--o",
        "--x",
    ] {
        check(&format!("T1.1 {arrow} T1.2"), "T1.1>T1.2");
        check(&format!("  T1.1 {arrow} T1.2;"), "T1.1>T1.2");
    }
    check("T1.1-->T1.2", "T1.1>T1.2");
    check("T1.1-.->T1.2==>T1.3", "T1.1>T1.2 T1.2>T1.3");
    check("P1-S1-V-->T1.2", "P1-S1-V>T1.2");
    check("T1.1 -- x --> P1-S1-V", "T1.1>P1-S1-V");
    check("T1.1 --- T1.2 ~~~ T1.3", "");
}

#[test]
fn chains_groups_and_statements_are_taken_apart() {
    check("T1.1 --> T1.2 --> T1.3", "T1.1>T1.2 T1.2>T1.3");
    check("T1.1 & T1.2 --> T1.3 & T1.4", "T1.1>T1.3 T1.2>T1.3 T1.1>T1.4 T1.2>T1.4");
    check("T1.1 --> T1.2; T1.2 --> T1.3;;", "T1.1>T1.2 T1.2>T1.3");
    check("T1.1 --> T1.2\nT1.1 --> T1.2", "T1.1>T1.2");
    check("T1.1 --> T1.2 %% why", "T1.1>T1.2");
}

#[test]
fn labels_and_aliases_name_tasks() {
    check("T1.1[label] --> T1.2(label) & T1.3", "T1.1>T1.2 T1.1>T1.3");
    check("A[T1.1: title] --> B[T1.2]", "T1.1>T1.2");
    check("A --> B\nA([\"T1.1 (with ] and ;)\"])\nB{{T1.2: b}}", "T1.1>T1.2");
    check("A[(T1.1)] --> B>T1.2] --> C[/T1.3/] --> D((T1.4))", "T1.1>T1.2 T1.2>T1.3 T1.3>T1.4");
    check("A@{ shape: rect, label: \"T1.1: x\" } --> T1.2:::done", "T1.1>T1.2");
    check("T1[T1.1: x] --> T2[T1.2: y]", "T1.1>T1.2");
    check("T1_1 --> T1_2", "T1.1>T1.2");
    check("T1.1[T5 training] --> T1.2[T1.2]", "T1.1>T1.2");
    check("첫째[\"✅ T1.1: 가\"] --> 둘째[T1.2 나]", "T1.1>T1.2");
}

#[test]
fn lines_that_draw_are_passed_over() {
    let lines = "\
    direction LR
    subgraph Phase1 [Phase 1 --> later]
      T1.1
    end
    %% T9.1 --> T9.2
    classDef done fill:#9f6,stroke:#333
    class T1.1,T9.9 done
    style T1.1 fill:#f9f
    linkStyle 0 stroke:#ff3
    click T1.1 \"https://example.com\"
    Lonely[a node]
    User --> Server --> Database[(T-SQL)]
    T1.1 --> T1.2";
    check(lines, "T1.1>T1.2");
}

#[test]
fn only_flowcharts_order_tasks() {
    let graph = |head: &str| {
        tasks(&format!("```mermaid\n{head}\nT1.1 --> T1.2\n```\n- [ ] T1.1: a\n- [ ] T1.2: b"))
    };
    let with_edge = "T1.1 @1 [ ] a <- phase before\nT1.2 @1 [ ] b <- [T1.1]\n";
    let without = "T1.1 @1 [ ] a <- phase before\nT1.2 @1 [ ] b <- phase before\n";
    for head in [
        "graph TD",
        "graph LR;",
        "flowchart LR",
        "flowchart TD; X --> Y",
        "%%{init: {'theme': 'dark'}}%%\nflowchart LR",
        "---\ntitle: Order\n---\n\ngraph TB",
    ] {
        assert_eq!(graph(head), with_edge, "{head}");
    }
    for head in ["sequenceDiagram", "stateDiagram-v2", "gantt", ""] {
        assert_eq!(graph(head), without, "{head}");
    }
    let fenced = "```dot\ngraph TD\nT1.1 --> T1.2\n```\n- [ ] T1.1: a\n- [ ] T1.2: b";
    assert_eq!(tasks(fenced), without);
    let quoted = "> ```mermaid\n> graph TD\n> T1.1 --> T1.2\n> ```\n\n- [ ] T1.1: a\n- [ ] T1.2: b";
    assert_eq!(tasks(quoted), without);
}

#[test]
fn edges_add_to_what_a_task_states() {
    let text = "\
- [ ] T1.1: a
- [ ] T1.2: a
- [ ] T1.3: a (depends on T1.2)
- [ ] T1.4: a
  - depends: none

  ```mermaid
  graph TD
    T1.1 & T1.2 --> T1.3
    T1.1 --> T1.4
  ```
";
    insta::assert_snapshot!(tasks(text), @r"
    T1.1 @1 [ ] a <- phase before
    T1.2 @1 [ ] a <- phase before
    T1.3 @1 [ ] a <- [T1.2, T1.1]
    T1.4 @1 [ ] a <- [T1.1]
    ");
}

#[test]
fn a_node_beside_a_task_has_to_be_one() {
    insta::assert_snapshot!(faults(&with_graph("T1.1 --> T1.9\nT9.1[x] --> T9.2\nStart --> T1.1 --> Done((끝))")), @r"
    3:10+4 error MISSING_DEP [] the graph names T1.9, which is not in the file
      expected: nodes that are tasks, by their id or a label that starts with it
      hint: the nearest id in this file is T1.1
    4:1+4 error MISSING_DEP [] the graph names T9.1, which is not in the file
      expected: nodes that are tasks, by their id or a label that starts with it
      hint: the nearest id in this file is T1.1
    4:13+4 error MISSING_DEP [] the graph names T9.2, which is not in the file
      expected: nodes that are tasks, by their id or a label that starts with it
      hint: the nearest id in this file is T1.2
    5:1+5 error MISSING_DEP [] the graph names Start, which is not in the file
      expected: nodes that are tasks, by their id or a label that starts with it
      hint: connect tasks only, or label the node with a task's id
    5:20+4 error MISSING_DEP [] the graph names Done, which is not in the file
      expected: nodes that are tasks, by their id or a label that starts with it
      hint: connect tasks only, or label the node with a task's id
    ");
}

#[test]
fn a_line_that_names_a_task_and_makes_no_sense_is_an_error() {
    insta::assert_snapshot!(faults(&with_graph("T1.1 -> T1.2\n  T1.2[open --> T1.3\nT1.3 --> \nfoo ->> bar")), @r"
    3:1+12 error PARSE_FAIL [] this line of the graph cannot be understood
      expected: nodes and arrows, as in T1.1 --> T1.2 & T1.3
      hint: write the edge with `-->`, or state it as `depends:` under the task
    4:3+18 error PARSE_FAIL [] this line of the graph cannot be understood
      expected: nodes and arrows, as in T1.1 --> T1.2 & T1.3
      hint: write the edge with `-->`, or state it as `depends:` under the task
    5:1+8 error PARSE_FAIL [] this line of the graph cannot be understood
      expected: nodes and arrows, as in T1.1 --> T1.2 & T1.3
      hint: write the edge with `-->`, or state it as `depends:` under the task
    ");
}

#[test]
fn cycles_of_a_graph_are_found() {
    insta::assert_snapshot!(faults(&with_graph("T1.1 --> T1.2 --> T1.3 --> T1.1")), @r"
    3:19+4 error CIRCULAR_DEP [T1.1.depends] these tasks wait for each other: T1.1 → T1.3 → T1.2 → T1.1
      expected: tasks that can be put in an order
      hint: remove one of these dependencies
    ");
    insta::assert_snapshot!(faults(&with_graph("T1.1 <--> T1.2")), @r"
    3:11+4 error CIRCULAR_DEP [T1.1.depends] these tasks wait for each other: T1.1 → T1.2 → T1.1
      expected: tasks that can be put in an order
      hint: remove one of these dependencies
    ");
    insta::assert_snapshot!(faults(&with_graph("T1.1 --> T1.1")), @r"
    3:1+4 error CIRCULAR_DEP [T1.1.depends] a task and itself wait for each other: T1.1 → T1.1
      expected: tasks that can be put in an order
      hint: remove one of these dependencies
    ");
}

#[test]
fn a_line_without_an_arrow_is_said() {
    insta::assert_snapshot!(warnings(&with_graph("T1.1 --- T1.2\nX --- T1.2\nT1.1 ~~~ T1.3")), @r"
    3:1+4 warning plain_edge [] a line without an arrow orders nothing
      hint: write `-->`
    ");
}
