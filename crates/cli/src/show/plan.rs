//! What a run would do, before it does it: as a table, as data, and drawn.
//!
//! Phases run one after another; within a phase, tasks of one wave could run beside each other.

use super::{dollars, duration};
use crate::data::{PlanReport, PlannedPhase, PlannedReport};
use crate::output::{BOLD, CYAN, DIM, styled};
use std::{collections::BTreeMap, fmt::Write as _};
use waypost_model::{
    id::TaskId,
    run::{Active, PlannedTask, TaskStatus},
};

/// The width of a task's box in a drawing, its height, and the space between boxes.
const BOX: (usize, usize) = (210, 44);
const GAP: (usize, usize) = (70, 16);
const MARGIN: usize = 24;
const HEADING: usize = 34;

/// The longest title in a box.
const TITLE_LENGTH_MAX: usize = 26;

/// A task with its wave.
struct Row<'a> {
    task: &'a PlannedTask,
    wave: usize,
    status: TaskStatus,
}

fn rows(active: &Active) -> BTreeMap<u32, Vec<Row<'_>>> {
    let plan = active.plan();
    let mut phases: BTreeMap<u32, Vec<Row<'_>>> = BTreeMap::new();
    for ((at, task), wave) in plan.tasks.iter().enumerate().zip(plan.waves()) {
        let row = Row { task, wave, status: active.status(at) };
        phases.entry(task.phase).or_default().push(row);
    }
    for rows in phases.values_mut() {
        rows.sort_by_key(|row| row.wave);
    }
    phases
}

fn name(active: &Active, phase: u32) -> &str {
    active.plan().phases.get(&phase).map_or("", String::as_str)
}

fn command(task: &PlannedTask) -> Option<&str> {
    task.details.as_deref().and_then(|it| it.command.as_deref())
}

/// Who works on it; `-`: no agent yet.
fn agent<'a>(active: &'a Active, task: &'a PlannedTask) -> &'a str {
    let own = task.details.as_deref().and_then(|it| it.agent.as_deref());
    match (own, command(task)) {
        (Some(agent), _) => agent,
        (None, Some(_)) => "shell",
        (None, None) => active.settings().agent.as_deref().unwrap_or("-"),
    }
}

/// The plan as data.
pub(crate) fn data(active: &Active) -> PlanReport<'_> {
    let phases = rows(active).into_iter().map(|(number, rows)| PlannedPhase {
        phase: number,
        name: name(active, number),
        tasks: rows.into_iter().map(|row| planned(active, row)).collect(),
    });
    PlanReport {
        project: &active.plan().project,
        phases: phases.collect(),
        estimate: active.estimate(),
    }
}

fn planned<'a>(active: &'a Active, row: Row<'a>) -> PlannedReport<'a> {
    PlannedReport {
        id: &row.task.id,
        title: &row.task.title,
        wave: row.wave,
        status: row.status,
        depends: row.task.stated().to_vec(),
        agent: agent(active, row.task),
        run: command(row.task),
        verify: row.task.details.as_deref().map(|it| it.verify.as_slice()),
    }
}

/// What is left, at the mean of what was done so far.
fn estimate(active: &Active) -> Option<String> {
    let estimate = active.estimate().filter(|it| it.left > 0)?;
    let time = duration(std::time::Duration::from_secs(estimate.seconds));
    let cost = match estimate.cost_micros {
        0 => String::new(),
        micros => format!(" and ${}", dollars(micros)),
    };
    let (left, from) = (estimate.left, estimate.from);
    Some(format!("{left} left: about {time} of work{cost}, as the {from} before took"))
}

/// The plan for people: phases, waves, and what each task runs.
pub(crate) fn table(active: &Active) -> String {
    let mut text = String::new();
    for (number, rows) in rows(active) {
        let title = styled(BOLD, format!("Phase {number}: {}", name(active, number)));
        let _infallible = writeln!(text, "{title}");
        let width = rows.iter().map(|row| row.task.id.as_str().len()).max().unwrap_or(0);
        for row in &rows {
            let state = match row.status {
                TaskStatus::Completed => "done",
                TaskStatus::Failed => "failed",
                _ => "",
            };
            let what = match command(row.task) {
                Some(command) => format!("$ {}", command.lines().next().unwrap_or_default()),
                None => format!("({})", agent(active, row.task)),
            };
            let (id, wave) =
                (styled(CYAN, format!("{:width$}", row.task.id.as_str())), row.wave + 1);
            let _infallible = writeln!(
                text,
                "  {wave:>2}  {id}  {}  {} {}",
                row.task.title,
                styled(DIM, what),
                styled(DIM, state)
            );
        }
    }
    if let Some(estimate) = estimate(active) {
        let _infallible = writeln!(text, "{estimate}");
    }
    text
}

/// The graph for Mermaid.
pub(crate) fn mermaid(active: &Active) -> String {
    let mut text = String::from("graph LR\n");
    let key = |id: &TaskId| id.as_str().replace(['.', '-'], "_");
    for (number, rows) in rows(active) {
        let _infallible = writeln!(
            text,
            "  subgraph phase_{number} [\"Phase {number}: {}\"]",
            quoted(name(active, number))
        );
        for row in &rows {
            let title = quoted(&row.task.title);
            let _infallible =
                writeln!(text, "    {}[\"{}: {title}\"]", key(&row.task.id), row.task.id);
        }
        text.push_str("  end\n");
    }
    for (from, to) in edges(active) {
        let _infallible = writeln!(text, "  {} --> {}", key(from), key(to));
    }
    text
}

/// The graph for Graphviz.
pub(crate) fn dot(active: &Active) -> String {
    let mut text = String::from("digraph run {\n  rankdir=LR;\n  node [shape=box];\n");
    for (number, rows) in rows(active) {
        let _infallible = writeln!(
            text,
            "  subgraph cluster_{number} {{\n    label=\"Phase {number}: {}\";",
            quoted(name(active, number))
        );
        for row in &rows {
            let title = quoted(&row.task.title);
            let _infallible = writeln!(text, "    \"{0}\" [label=\"{0}\\n{title}\"];", row.task.id);
        }
        text.push_str("  }\n");
    }
    for (from, to) in edges(active) {
        let _infallible = writeln!(text, "  \"{from}\" -> \"{to}\";");
    }
    text.push_str("}\n");
    text
}

fn edges(active: &Active) -> impl Iterator<Item = (&TaskId, &TaskId)> {
    active
        .plan()
        .tasks
        .iter()
        .flat_map(|task| task.stated().iter().map(move |from| (from, &task.id)))
}

fn quoted(text: &str) -> String {
    text.replace('\\', "/").replace('"', "'").replace(['\n', '[', ']'], " ")
}

/// The graph as a picture: a column per wave, phases beside each other.
pub(crate) fn svg(active: &Active) -> String {
    let phases = rows(active);
    let mut places: BTreeMap<&TaskId, (usize, usize)> = BTreeMap::new();
    let (mut boxes, mut x, mut height) = (String::new(), MARGIN, 0);
    for (number, rows) in &phases {
        let left = x;
        let waves = rows.iter().map(|row| row.wave).max().unwrap_or(0) + 1;
        let mut filled = vec![0usize; waves];
        for row in rows {
            let at = (
                left + row.wave * (BOX.0 + GAP.0),
                MARGIN + HEADING + filled[row.wave] * (BOX.1 + GAP.1),
            );
            filled[row.wave] += 1;
            height = height.max(at.1 + BOX.1);
            places.insert(&row.task.id, at);
            boxes.push_str(&drawn(row, at));
        }
        let title = escaped(&format!("Phase {number}: {}", name(active, *number)));
        let _infallible = writeln!(
            boxes,
            "<text x=\"{left}\" y=\"{}\" class=\"phase\">{title}</text>",
            MARGIN + 14
        );
        x = left + waves * (BOX.0 + GAP.0);
    }
    let mut lines = String::new();
    for (from, to) in edges(active) {
        let (Some(&(x1, y1)), Some(&(x2, y2))) = (places.get(from), places.get(to)) else {
            continue;
        };
        let (x1, y1, y2) = (x1 + BOX.0, y1 + BOX.1 / 2, y2 + BOX.1 / 2);
        let bend = GAP.0 / 2;
        let _infallible = writeln!(
            lines,
            "<path d=\"M {x1} {y1} C {} {y1}, {} {y2}, {x2} {y2}\"/>",
            x1 + bend,
            x2.saturating_sub(bend)
        );
    }
    let (width, height) = (x + MARGIN - GAP.0.min(x), height + MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>text{{font:13px sans-serif;fill:#1f2933}}.phase{{font-weight:bold}}.id{{font-weight:bold}}rect{{fill:#f5f7fa;stroke:#7b8794}}.completed rect{{fill:#d9f2e3;stroke:#3b9c66}}.failed rect{{fill:#fbdcdc;stroke:#c94b4b}}.in_progress rect{{fill:#dceafb;stroke:#3f7fc4}}path{{fill:none;stroke:#9aa5b1}}</style>\n\
         <rect width=\"100%\" height=\"100%\" style=\"fill:#fff;stroke:none\"/>\n{lines}{boxes}</svg>\n"
    )
}

fn drawn(row: &Row<'_>, (x, y): (usize, usize)) -> String {
    let title: String = match row.task.title.char_indices().nth(TITLE_LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &row.task.title[..end]),
        None => row.task.title.clone(),
    };
    format!(
        "<g class=\"{}\"><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"5\"/>\
         <text x=\"{}\" y=\"{}\" class=\"id\">{}</text><text x=\"{}\" y=\"{}\">{}</text></g>\n",
        row.status,
        BOX.0,
        BOX.1,
        x + 10,
        y + 18,
        escaped(row.task.id.as_str()),
        x + 10,
        y + 35,
        escaped(&title)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
