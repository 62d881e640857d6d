//! What holds for every text: no panic, no dependence on line ends, and ticking changes ticks only.

use super::shown;
use crate::tasks_md::{
    TasksFile,
    draft::TaskBox,
    read,
    source::Source,
    tick,
    walk::{boxes_in_parts, walk_parts},
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use std::{fmt::Write as _, sync::Arc};
use waypost_model::{
    id::TaskId,
    run::{Depends, Details, Plan, PlannedTask, Priority},
};

/// Pieces of which task lists are made, so that random texts reach every branch.
const PIECES: [&str; 76] = [
    "\n",
    "\n",
    "\n",
    "\n\n",
    "  ",
    "    ",
    "\t",
    " ",
    "- ",
    "* ",
    "1. ",
    "## ",
    "### ",
    "#### ",
    "# ",
    "> ",
    "[ ] ",
    "[x] ",
    "[] ",
    "[-] ",
    "[T1.1] ",
    "✅",
    " ✅",
    "\u{fe0f}",
    "T1.1",
    "T1.2",
    "T2.1",
    "T012",
    "T012a",
    "P1-R1-T1",
    "P2-S1-V",
    "P1-R1",
    "T1.",
    "T1..2",
    "t1.1",
    ": ",
    "：",
    " - ",
    " — ",
    "~",
    ", ",
    "title",
    "제목",
    "Phase 1",
    "Phase 2, ",
    "## Phase 1: A\n",
    "## 2단계: 나\n",
    "## Phase 1.2: B\n",
    "## Polish\n",
    "**",
    "*",
    "_",
    "`",
    "``",
    "```",
    "```sh\n",
    "```mermaid\ngraph TD\n",
    "-->",
    " --> ",
    "-.->",
    "[P] ",
    "[US1] ",
    "(depends on ",
    ")",
    "의존: ",
    "depends: ",
    "none",
    "files: ",
    "verify: ",
    "timeout: ",
    "priority: ",
    "| a | b |\n|---|---|\n| owner | x |\n",
    "<!-- ",
    " -->",
    "<br>",
    "&amp;",
];

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        12 => select(PIECES.as_slice()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|c| if c == '\r' { ' ' } else { c }.to_string()),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Lines of task lists; `{id}` is a new id each time, `{t}` some words.
const LINES: [&str; 31] = [
    "### [ ] {id}: {t}",
    "### [ ] Phase 1, {id}: {t}",
    "### {id} {t}",
    "## {id}: {t} ##",
    "### **{id}: {t}**",
    "{id}: {t}\n---",
    "- [ ] {id} {t}",
    "- [ ] {id} [P] [US1] {t}",
    "- [] {id}: {t}",
    "- [x] {id}: {t}",
    "- {id}: {t}",
    "- {id} {t}",
    "- *{id}: {t}*",
    "- ✅ {id} {t}",
    "- {t}\n  - [ ] {id}: {t}",
    "  - [ ] {id}: {t}",
    "    - {id}: {t}",
    "* [x] **{id}** {t}",
    "1. [ ] `{id}` - {t}",
    "- [ ]\n  {id}: {t}",
    "> - [ ] {id}: {t}",
    "```\n- [ ] {id}: {t}\n```",
    "<!--\n- [ ] {id}: {t}\n-->",
    "  - owner: {t}",
    "파일: {t}",
    "  ```sh\n  {t}\n  ```",
    "| verify | {t} |\n|---|---|\n| spec | {t} |",
    "## Phase 2: {t}",
    "{t}",
    "    {t}",
    "",
];

/// Words that make the end of a title hard to find.
const WORDS: [&str; 16] = [
    "title",
    "제목",
    "**bold**",
    "`code`",
    "✅",
    " ✅",
    "&amp;",
    "a_b_c",
    "*",
    "`",
    "<br>",
    "(x)",
    "  ",
    "[x]",
    "<!-- c -->",
    "\\",
];

/// Texts that are mostly plans.
fn any_list() -> impl Strategy<Value = String> {
    let words = vec(select(WORDS.as_slice()), 0..4).prop_map(|words| words.join(" "));
    let line = (select(LINES.as_slice()), words);
    vec(line, 1..12).prop_map(|lines| {
        let mut text = String::new();
        for (number, (line, words)) in lines.iter().enumerate() {
            let line = line.replace("{id}", &format!("T1.{number}")).replace("{t}", words);
            writeln!(text, "{line}").unwrap();
        }
        text
    })
}

/// One task as a generated file writes it.
#[derive(Clone, Debug)]
struct Sketch {
    phase: u32,
    style: usize,
    ticked: bool,
    title: String,
    /// Positions of earlier tasks, taken modulo their number; `None` states nothing.
    depends: Option<Vec<usize>>,
    owner: Option<String>,
    verify: Vec<String>,
    files: Vec<String>,
    timeout: Option<u64>,
    budget: Option<u64>,
    priority: Priority,
    note: Option<String>,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let words = "[a-z가-힣]{1,8}( [a-z0-9가-힣]{1,6}){0,3}";
    let priorities = [Priority::Low, Priority::Normal, Priority::High, Priority::Critical];
    let shape = (0_u32..4, 0_usize..6, any::<bool>(), words, option::of(vec(0_usize..50, 0..4)));
    let fields = (
        option::of("@[a-z]{1,8}"),
        vec("[a-z]{1,6} [a-z_*.]{1,9}[a-z]", 0..3),
        vec("[a-z]{1,5}/[a-z_]{1,6}\\.rs", 0..3),
        option::of(1_u64..100_000),
        option::of(0_u64..100_000),
    );
    (shape, fields, select(priorities.to_vec()), option::of("[A-Z가-힣][a-z가-힣]{0,9}")).prop_map(
        |(shape, fields, priority, note)| {
            let (phase, style, ticked, title, depends) = shape;
            let (owner, verify, files, timeout, budget) = fields;
            Sketch {
                phase,
                style,
                ticked,
                title,
                depends,
                owner,
                verify,
                files,
                timeout,
                budget,
                priority,
                note,
            }
        },
    )
}

/// Writes sketches as Markdown and as the plan that this Markdown means.
fn written(mut sketches: Vec<Sketch>) -> (String, Plan) {
    sketches.sort_by_key(|sketch| sketch.phase);
    let mut text = "# Tasks: Generated\n\n".to_owned();
    let mut tasks: Vec<PlannedTask> = Vec::new();
    let mut plan = Plan {
        project: "Generated".to_owned(),
        phases: std::collections::BTreeMap::new(),
        tasks: Arc::default(),
        source: None,
    };
    for (number, sketch) in sketches.iter().enumerate() {
        if plan.phases.insert(sketch.phase, format!("Part {}", sketch.phase)).is_none() {
            write!(text, "## Phase {0}: Part {0}\n\n", sketch.phase).unwrap();
        }
        let id: TaskId = format!("T{}.{number}", sketch.phase).parse().unwrap();
        let line = u32::try_from(text.lines().count()).unwrap() + 1;
        let depends = sketch.depends.as_ref().map(|picks| {
            let mut ids: Vec<TaskId> = Vec::new();
            for pick in picks.iter().filter(|_| number > 0) {
                let id = &tasks[pick % number].id;
                if !ids.contains(id) {
                    ids.push(id.clone());
                }
            }
            ids
        });
        let fields = field_lines(sketch, depends.as_deref());
        text.push_str(&task_lines(sketch, &id, &fields));
        let details = Details {
            body: fields.join("\n").into(),
            owner: sketch.owner.clone().map(Into::into),
            files: sketch.files.clone(),
            verify: sketch.verify.clone(),
            timeout_seconds: sketch.timeout,
            budget_cents: sketch.budget,
            ..Details::default()
        };
        tasks.push(PlannedTask {
            id,
            title: sketch.title.clone(),
            phase: sketch.phase,
            depends: depends.map_or(Depends::PhaseBefore, Depends::On),
            ticked: sketch.ticked,
            priority: sketch.priority,
            line,
            details: (details != Details::default()).then(|| Box::new(details)),
        });
    }
    plan.tasks = Arc::new(tasks.into());
    (text, plan)
}

fn field_lines(sketch: &Sketch, depends: Option<&[TaskId]>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(ids) = depends {
        let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        let none = ["none", "-", "없음", "[]"][sketch.style % 4];
        let value = if ids.is_empty() { none.to_owned() } else { ids.join(", ") };
        lines.push(format!("- **{}**: {value}", ["depends", "의존성"][sketch.style % 2]));
    }
    lines.extend(sketch.owner.iter().map(|owner| format!("- 담당: {owner}")));
    lines.extend(sketch.verify.iter().map(|command| match sketch.style % 2 {
        0 => format!("- verify: `{command}`"),
        _ => format!("- 검증： {command}"),
    }));
    if !sketch.files.is_empty() {
        lines.push(format!("- Files: {}", sketch.files.join(", ")));
    }
    lines.extend(sketch.timeout.map(|seconds| format!("- timeout: {seconds}s")));
    lines.extend(
        sketch.budget.map(|cents| format!("- budget: ${}.{:02}", cents / 100, cents % 100)),
    );
    if sketch.priority != Priority::Normal {
        lines.push(format!("- priority: {:?}", sketch.priority));
    }
    lines.extend(sketch.note.iter().map(|note| format!("- {note}")));
    lines
}

fn task_lines(sketch: &Sketch, id: &TaskId, fields: &[String]) -> String {
    let Sketch { phase, style, ticked, title, .. } = sketch;
    let tick_box = if *ticked { "[x]" } else { "[ ]" };
    let check = if *ticked { " ✅" } else { "" };
    let (head, indent) = match style {
        0 => (format!("### {tick_box} Phase {phase}, {id}: {title}"), ""),
        1 => (format!("### {id}: {title}{check}"), ""),
        2 => (format!("#### **{id}** — {title}{check}"), ""),
        3 => (format!("- {tick_box} {id}: {title}"), "  "),
        4 => (format!("* {tick_box} **{id}** {title}"), "  "),
        _ => (format!("1. {tick_box} `{id}` - {title}"), "   "),
    };
    let mut lines = format!("{head}\n");
    for field in fields {
        writeln!(lines, "{indent}{field}").unwrap();
    }
    lines + "\n"
}

/// The same plan with every task ticked.
fn all_ticked(mut plan: Plan) -> Plan {
    Arc::make_mut(&mut plan.tasks).iter_mut().for_each(|task| task.ticked = true);
    plan
}

fn ids(plan: &Plan) -> Vec<TaskId> {
    plan.tasks.iter().map(|task| task.id.clone()).collect()
}

proptest! {
    #[test]
    fn a_text_says_the_same_in_parts_of_any_length(
        text in any_text(),
        list in any_list(),
        sketches in vec(sketch(), 0..12),
        length in 1..200usize,
    ) {
        for text in [text, list, written(sketches).0] {
            let source = Source::new(&text);
            let walk = |length| format!("{:?}", walk_parts(source.text(), length));
            prop_assert_eq!(walk(length), walk(usize::MAX));
            let drafts = walk_parts(source.text(), usize::MAX).drafts;
            let boxes: Vec<TaskBox> = drafts.into_iter().map(TaskBox::from).collect();
            let in_parts = boxes_in_parts(source.text(), length);
            prop_assert_eq!(format!("{in_parts:?}"), format!("{boxes:?}"));
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in any_text(), noise in any::<String>()) {
        for text in [text.clone(), noise.clone(), text + &noise] {
            let found = read(&text, "x").map_or_else(|found| found, |file| file.warnings);
            for place in found.iter().filter_map(|found| found.place) {
                prop_assert!(place.line >= 1 && place.column >= 1 && place.length >= 1);
            }
        }
    }

    #[test]
    fn line_ends_make_no_difference(text in prop_oneof![any_text(), any_list()]) {
        let dos = text.replace('\n', "\r\n");
        prop_assert_eq!(read(&dos, "x"), read(&text, "x"));
        let ids = ["T1.1", "T1.2", "T1.3", "T012"].map(|id| id.parse::<TaskId>().unwrap());
        prop_assert_eq!(tick(&dos, &ids), tick(&text, &ids).replace('\n', "\r\n"));
    }

    #[test]
    fn a_ticked_text_is_the_same_plan_with_ticks(text in any_list()) {
        let Ok(TasksFile { plan, .. }) = read(&text, "x") else { return Ok(()) };
        let ids = ids(&plan);
        let ticked = tick(&text, &ids);
        prop_assert_eq!(&tick(&ticked, &ids), &ticked);
        match read(&ticked, "x") {
            Ok(again) => prop_assert_eq!(again.plan, all_ticked(plan)),
            Err(found) => prop_assert!(false, "{}\n{}", ticked, shown(&found)),
        }
    }

    #[test]
    fn a_written_plan_is_read_back(sketches in vec(sketch(), 1..20)) {
        let (text, plan) = written(sketches);
        match read(&text, "x") {
            Ok(TasksFile { plan: found, warnings }) => {
                prop_assert_eq!(&found, &plan, "{}", text);
                prop_assert_eq!(warnings, vec![], "{}", text);
            }
            Err(found) => prop_assert!(false, "{}\n{}", text, shown(&found)),
        }
        let ticked = tick(&text, &ids(&plan));
        let again = read(&ticked, "x").map(|file| file.plan);
        prop_assert_eq!(again, Ok(all_ticked(plan)), "{}", ticked);
    }
}
