//! The run's file as text, without a value for each task in between.
//!
//! The file lists every task once or twice, and it is written after every command. Lists of tasks stand on
//! one line each, as people write them: with a line for each task, half of what is written would be
//! white space. Everything else in it is rendered as any document is, with empty lists, which are then filled.

use waypost_model::run::{Active, PhaseStage, TaskStatus};
use waypost_store::parse;

/// About as many bytes as a task takes up in the file: twice its id, and what it depends on.
const TASK_SIZE: usize = 48;

/// A text that says what the document says that `Active::render` makes.
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
        filling.fill(&format!("\"{status}\": []"), "[]", |text| list(text, ids));
    }
    filling.fill("\"dependencies\": {}", "{}", |text| dependencies(text, active));
    for (number, stage) in active.phases() {
        if matches!(stage, PhaseStage::Closed { .. }) {
            let ids = active.listed_in(number);
            filling.fill("\"tasks\": []", "[]", |text| list(text, ids));
        }
    }
    filling.text + filling.frame
}

/// A list of ids on one line. Ids need no escapes.
fn list<'a>(text: &mut String, ids: impl Iterator<Item = &'a str>) {
    let mut before = "[\"";
    for id in ids {
        text.push_str(before);
        text.push_str(id);
        before = "\", \"";
    }
    text.push_str(if before.starts_with('[') { "[]" } else { "\"]" });
}

/// What each task names, a line for each that names any.
fn dependencies(text: &mut String, active: &Active) {
    let mut before = "{\n    \"";
    for task in active.listed() {
        let mut stated = task.stated().peekable();
        if stated.peek().is_some() {
            text.push_str(before);
            text.push_str(task.id);
            text.push_str("\": ");
            list(text, stated);
            before = ",\n    \"";
        }
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
        run::{Command, Depends, Plan, PlannedTask, Priority, Run, RunState, Settings},
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
        let text = text_of(active);
        assert_eq!(
            parse::parse::<RunState>(text.as_bytes()).unwrap().value,
            active.render(),
            "{text}"
        );
        let mut lists = text.lines().filter(|line| line.contains("[\""));
        assert!(lists.all(|line| line.contains(']')), "{text}");
    }

    #[test]
    fn the_text_says_what_the_document_says_at_every_step() {
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
