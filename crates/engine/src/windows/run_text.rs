//! The run's file as text, without a value for each task in between.
//!
//! The file lists every task once or twice, and it is written after every command. Everything else in it
//! is rendered as any document is, with empty lists, which are then filled.

use waypost_model::run::{Active, PhaseStage, TaskStatus};
use waypost_store::parse;

/// The same text as of the document that `Active::render` makes.
pub(super) fn text_of(active: &Active) -> String {
    let frame = parse::render(&active.render_without_tasks());
    let mut lists: [String; 6] = Default::default();
    let mut dependencies = String::new();
    for task in active.listed() {
        add(&mut lists[place(task.status)], task.id, "\n      \"");
        for (id, at) in task.stated().zip(0..) {
            if at == 0 {
                add(&mut dependencies, task.id, "\n    \"");
                dependencies.push_str(": [");
            } else {
                dependencies.push(',');
            }
            dependencies.push_str("\n      \"");
            dependencies.push_str(id);
            dependencies.push('"');
        }
        if task.stated().next().is_some() {
            dependencies.push_str("\n    ]");
        }
    }
    let mut filling = Filling { frame: &frame, text: String::with_capacity(frame.len()) };
    for status in TaskStatus::ALL {
        filling.fill(&format!("\"{status}\": []"), &closed(&lists[place(status)], 4), "[]");
    }
    if !dependencies.is_empty() {
        filling.fill("\"dependencies\": {}", &format!("{{{dependencies}\n  }}"), "{}");
    }
    for (number, stage) in active.phases() {
        if matches!(stage, PhaseStage::Closed { .. }) {
            let mut ids = String::new();
            active.listed_in(number).for_each(|id| add(&mut ids, id, "\n        \""));
            filling.fill("\"tasks\": []", &closed(&ids, 6), "[]");
        }
    }
    filling.text + filling.frame
}

fn place(status: TaskStatus) -> usize {
    TaskStatus::ALL.iter().position(|it| *it == status).unwrap_or(0)
}

/// Adds an id to what stands between brackets. Ids need no escapes.
fn add(list: &mut String, id: &str, before: &str) {
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(before);
    list.push_str(id);
    list.push('"');
}

/// A list with its brackets.
fn closed(inside: &str, indent: usize) -> String {
    match inside {
        "" => "[]".to_owned(),
        _ => format!("[{inside}\n{:indent$}]", ""),
    }
}

/// A text that is filled from its beginning on.
struct Filling<'a> {
    /// What is left of the frame.
    frame: &'a str,
    text: String,
}

impl Filling<'_> {
    /// Puts `value` in the place of the empty one at the end of `mark`, where that comes next.
    /// Quotes inside of texts are escaped, so a mark is never found in one.
    fn fill(&mut self, mark: &str, value: &str, empty: &str) {
        let Some(at) = self.frame.find(mark) else { return };
        let end = at + mark.len();
        self.text.push_str(&self.frame[..end - empty.len()]);
        self.text.push_str(value);
        self.frame = &self.frame[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use waypost_model::{
        actor::Actor,
        evidence::Evidence,
        id::TaskId,
        machine::{Asked, Machine as _},
        run::{Command, Depends, Plan, PlannedTask, Priority, Run, Settings},
        time::Time,
    };

    /// Tasks of two phases, some of which name others.
    fn plan(project: &str, count: usize) -> Plan {
        let id = |number: usize| format!("T{number}").parse().unwrap();
        let task = |number: usize| PlannedTask {
            id: id(number),
            title: format!("\"ready\": [] {number}"),
            phase: u32::from(number >= count / 2),
            depends: match number % 3 {
                0 => Depends::PhaseBefore,
                1 => Depends::On(vec![id(number - 1)]),
                _ => Depends::On(vec![id(number - 1), id(number - 2)]),
            },
            ticked: false,
            priority: Priority::default(),
            line: 1,
            details: None,
        };
        Plan::new(project.to_owned(), BTreeMap::new(), (0..count).map(task).collect()).unwrap()
    }

    #[track_caller]
    fn check(run: &Run) {
        let active = run.active().unwrap();
        assert_eq!(text_of(active), parse::render(&active.render()));
    }

    #[test]
    fn the_text_is_that_of_the_document_at_every_step() {
        for count in [1, 2, 3, 9, 30] {
            let project = r#"a "pending": [] and "dependencies": {}"#;
            let asked = |ms| Asked { by: &Actor::Waypost, now: Time::from_millis(ms) };
            let begin =
                Command::Begin { plan: plan(project, count), settings: Settings::default() };
            let mut run = Run::imagine([&begin], &asked(0)).unwrap();
            check(&run);
            let mut step = 0;
            let next = |run: &Run| -> Option<TaskId> {
                let active = run.active()?;
                active.ready().next().map(|it| it.planned.id.clone())
            };
            while let Some(id) = next(&run) {
                step += 1;
                let start = Command::Start { id: id.clone() };
                run = run.imagine_next([&start], &asked(step)).unwrap();
                check(&run);
                let (attempt, evidence, commit) = (None, Evidence::Unverified, None);
                let done = Command::Done { id, attempt, evidence, commit };
                run = run.imagine_next([&done], &asked(step)).unwrap();
                check(&run);
            }
            assert!(run.active().unwrap().is_over() && run.follow_up().is_none());
        }
    }
}
