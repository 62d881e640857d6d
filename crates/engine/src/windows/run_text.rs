//! The run's file as text, without a value for each task in between.
//!
//! The file lists every task once or twice, and it is written after every command. Everything else in it
//! is rendered as any document is, with empty lists, which are then filled.

use waypost_model::run::{Active, PhaseStage, TaskStatus};
use waypost_store::parse;

/// About as many bytes as a task takes up in the file: twice its id, and what it depends on.
const TASK_SIZE: usize = 72;

/// The same text as of the document that `Active::render` makes.
pub(super) fn text_of(active: &Active) -> String {
    let frame = parse::render(&active.render_without_tasks());
    let size = frame.len() + active.listed().len() * TASK_SIZE;
    let mut filling = Filling { frame: &frame, text: String::with_capacity(size) };
    let mut lists = TaskStatus::ALL.map(|status| Vec::with_capacity(active.count(status)));
    for task in active.listed() {
        lists[task.status() as usize].push(task.id);
    }
    for status in TaskStatus::ALL {
        let ids = lists[status as usize].iter().copied();
        filling.fill(&format!("\"{status}\": []"), "[]", |text| OF_STATUS.write(text, ids));
    }
    filling.fill("\"dependencies\": {}", "{}", |text| dependencies(text, active));
    for (number, stage) in active.phases() {
        if matches!(stage, PhaseStage::Closed { .. }) {
            let ids = active.listed_in(number);
            filling.fill("\"tasks\": []", "[]", |text| OF_PHASE.write(text, ids));
        }
    }
    filling.text + filling.frame
}

/// How a list of ids stands in the file. Ids need no escapes.
struct IdList {
    /// What stands before an id: a comma, the break and the indent; before the first a bracket.
    before: &'static str,
    /// What stands behind the last one.
    end: &'static str,
}

const OF_STATUS: IdList = IdList { before: ",\n      \"", end: "\n    ]" };
const OF_PHASE: IdList = IdList { before: ",\n        \"", end: "\n      ]" };

impl IdList {
    fn write<'a>(&self, text: &mut String, mut ids: impl Iterator<Item = &'a str>) {
        text.push('[');
        let Some(first) = ids.next() else { return text.push(']') };
        text.push_str(&self.before[1..]);
        text.push_str(first);
        text.push('"');
        for id in ids {
            text.push_str(self.before);
            text.push_str(id);
            text.push('"');
        }
        text.push_str(self.end);
    }
}

fn dependencies(text: &mut String, active: &Active) {
    let mut before = "{\n    \"";
    for task in active.listed() {
        let mut stated = task.stated();
        let Some(first) = stated.next() else { continue };
        text.push_str(before);
        text.push_str(task.id);
        text.push_str("\": [\n      \"");
        text.push_str(first);
        for id in stated {
            text.push_str("\",\n      \"");
            text.push_str(id);
        }
        text.push_str("\"\n    ]");
        before = ",\n    \"";
    }
    text.push_str(if before.starts_with('{') { "{}" } else { "\n  }" });
}

/// A text that is filled from its beginning on.
struct Filling<'a> {
    /// What is left of the frame.
    frame: &'a str,
    text: String,
}

impl Filling<'_> {
    /// Puts what `write` writes in the place of the empty value at the end of `mark`, where that comes
    /// next. Quotes inside of texts are escaped, so a mark is never found in one.
    fn fill(&mut self, mark: &str, empty: &str, write: impl FnOnce(&mut String)) {
        let Some(at) = self.frame.find(mark) else { return };
        let end = at + mark.len();
        self.text.push_str(&self.frame[..end - empty.len()]);
        write(&mut self.text);
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
