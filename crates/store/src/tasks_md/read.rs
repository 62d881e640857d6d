//! From the text of a TASKS.md to a plan, or to everything that is wrong with it.

use super::{
    draft::Draft,
    findings::{Findings, LineStarts, PARSE_FAIL, TOO_LARGE},
    ids::ID_FORMS,
    mention,
    resolve::{self, Named, Resolved},
    source::{BYTE_ORDER_MARK, Source},
    spec_kit,
    walk::{self, Walked},
};
use std::{collections::HashMap, ops::Range};
use waypost_model::{
    diagnostic::Diagnostic,
    id::TaskId,
    run::{Depends, Details, Plan, PlanError, PlannedTask},
};

/// The longest text that is read, whatever a project's setting allows: ticks are put into a file
/// of at most this size.
const TEXT_MAX: usize = 64 * 1024 * 1024;

/// A TASKS.md that can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct TasksFile {
    pub plan: Plan,
    /// What was read otherwise than it may have been meant, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// Reads the text of a TASKS.md; `fallback_project` names a project whose file does not.
///
/// The error is everything that was found, warnings included, in the order of the text.
pub fn read(text: &str, fallback_project: &str) -> Result<TasksFile, Vec<Diagnostic>> {
    if text.len() > TEXT_MAX {
        let message = format!("the file has {} bytes", text.len());
        let error = Diagnostic::error(TOO_LARGE, message)
            .expected(format!("at most {} MiB", TEXT_MAX / (1024 * 1024)))
            .hint("split it into several runs");
        return Err(vec![error]);
    }
    let source = Source::new(text);
    let source = source.text();
    let mut walked = walk::walk(source);
    warn_of_mark(text, &mut walked.findings);
    mention::warn(&mut walked);
    let groups = spec_kit::order(&mut walked);
    if walked.drafts.is_empty() && !walked.findings.have_errors() {
        walked.findings.add(0..0, no_task());
    }
    let starts = LineStarts::new(source);
    let Walked { drafts, graphs, findings, .. } = &mut walked;
    let named = Named { graphs, groups: &groups };
    let depends = resolve::resolve(drafts, &named, findings, |resolved| resolved.depends);
    let project = walked.project.take().filter(|name| !name.is_empty());
    let project = project.unwrap_or_else(|| fallback_project.to_owned());
    let tasks = planned(walked.drafts, depends, source, &starts, &mut walked.findings);
    let plan = Plan::new(project, walked.phases, tasks);
    if let Err(faults) = &plan {
        add_faults(faults, source, &starts, &mut walked.findings);
    }
    let failed = walked.findings.have_errors();
    let found = walked.findings.into_diagnostics(source, &starts);
    match plan {
        Ok(plan) if !failed => Ok(TasksFile { plan, warnings: found }),
        _ => Err(found),
    }
}

fn warn_of_mark(text: &str, findings: &mut Findings) {
    if text.starts_with(BYTE_ORDER_MARK) {
        let warning =
            Diagnostic::warning("byte_order_mark", "the file starts with a byte order mark");
        findings.add(0..0, warning.hint("save it as UTF-8 without one"));
    }
}

fn no_task() -> Diagnostic {
    Diagnostic::error(PARSE_FAIL, "there is no task in this file")
        .expected(format!("headings or list items with {ID_FORMS}"))
        .hint("write tasks as `### [ ] T1.1: title` or `- [ ] T1.1: title`")
}

/// Turns drafts into tasks, one after the other: a long file would not fit twice.
fn planned(
    drafts: Vec<Draft>,
    depends: Vec<Depends>,
    source: &str,
    starts: &LineStarts,
    findings: &mut Findings,
) -> Vec<PlannedTask> {
    let task = |(draft, depends): (Draft, Depends)| {
        let body = draft.body_text(source, findings);
        let mut details = draft.details;
        details.body = body.into();
        PlannedTask {
            id: draft.id,
            title: draft.title,
            phase: draft.phase,
            depends,
            ticked: draft.ticked,
            priority: draft.priority,
            line: starts.line(draft.id_span.start),
            details: (*details != Details::default()).then_some(details),
        }
    };
    let mut tasks: Vec<PlannedTask> = drafts.into_iter().zip(depends).map(task).collect();
    tasks.shrink_to_fit();
    tasks
}

/// Adds what a plan complains about. Where that stands is looked up by reading the text again,
/// because a sound plan has no use for it.
fn add_faults(faults: &[PlanError], source: &str, starts: &LineStarts, findings: &mut Findings) {
    let mut walked = walk::walk(source);
    let groups = spec_kit::order(&mut walked);
    let Walked { mut drafts, graphs, .. } = walked;
    let named = Named { graphs: &graphs, groups: &groups };
    let resolved = resolve::resolve(&mut drafts, &named, &mut Findings::default(), |it| it);
    let places = Places::new(&drafts, &resolved, starts);
    for fault in faults {
        findings.add(places.of(fault), diagnostic(fault));
    }
}

/// Where the things that a plan complains about stand.
struct Places<'d> {
    drafts: &'d [Draft],
    by_line: HashMap<u32, usize>,
    /// Where a task names another one, by the line of the first and the id of the second.
    links: HashMap<(u32, &'d TaskId), &'d Range<usize>>,
}

impl<'d> Places<'d> {
    fn new(drafts: &'d [Draft], resolved: &'d [Resolved], starts: &LineStarts) -> Self {
        let mut places = Self { drafts, by_line: HashMap::new(), links: HashMap::new() };
        for (at, (draft, resolved)) in drafts.iter().zip(resolved).enumerate() {
            let line = starts.line(draft.id_span.start);
            places.by_line.insert(line, at);
            for (id, span) in resolved.stated().iter().zip(&resolved.spans) {
                places.links.insert((line, id), span);
            }
        }
        places
    }

    fn of(&self, fault: &PlanError) -> Range<usize> {
        let named = match fault {
            PlanError::Duplicate { .. } => None,
            PlanError::Missing { missing, .. } => Some(missing),
            PlanError::Circular { cycle, .. } => cycle.get(1),
            PlanError::LaterPhase { later, .. } => Some(later),
        };
        let link = named.and_then(|id| self.links.get(&(fault.line(), id)));
        let task = self.by_line.get(&fault.line()).map(|&at| &self.drafts[at].id_span);
        link.copied().or(task).cloned().unwrap_or(0..0)
    }
}

fn diagnostic(fault: &PlanError) -> Diagnostic {
    let (path, expected, hint) = match fault {
        PlanError::Duplicate { id, first_line, .. } => (
            id.to_string(),
            "each id once",
            format!("give this task an id of its own; {id} is the one on line {first_line}"),
        ),
        PlanError::Missing { id, .. } => (
            format!("{id}.depends"),
            "the id of a task in this file",
            "add the task, or remove the dependency".to_owned(),
        ),
        PlanError::Circular { cycle, .. } => (
            cycle.first().map_or_else(String::new, |id| format!("{id}.depends")),
            "tasks that can be put in an order",
            "remove one of these dependencies".to_owned(),
        ),
        PlanError::LaterPhase { id, later, later_phase, .. } => (
            format!("{id}.depends"),
            "dependencies in the same phase or an earlier one",
            format!("move {id} to phase {later_phase}, or {later} to an earlier one"),
        ),
    };
    Diagnostic::error(fault.code(), fault.to_string()).path(path).expected(expected).hint(hint)
}
