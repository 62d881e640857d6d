//! A task as it was written, before its dependencies are looked up.

use super::{
    depends::{self, DEPENDS_FORMS, Wanted},
    few::Few,
    field::Field,
    findings::{Findings, PARSE_FAIL, shorten},
    line::{Origin, Slice},
    outline::TickBox,
    value,
};
use std::ops::Range;
use waypost_model::{
    diagnostic::Diagnostic,
    id::TaskId,
    run::{Details, Priority},
};

/// The longest text of a task. It goes into a prompt and into the journal; more is a document of
/// its own, which the task can name.
const BODY_MAX: usize = 64 * 1024;

/// One task of the file.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) id: TaskId,
    pub(super) id_span: Range<usize>,
    pub(super) title: String,
    pub(super) phase: u32,
    pub(super) ticked: bool,
    pub(super) strength: Strength,
    pub(super) tick: Tick,
    pub(super) priority: Priority,
    pub(super) details: Box<Details>,
    /// What it waits for; `None` when nothing was stated.
    pub(super) wanted: Option<Few<Wanted>>,
    /// How many headings that are no tasks stand above it.
    pub(super) heading: usize,
    /// Whether it has a tag of spec-kit's.
    pub(super) tagged: bool,
    /// The group of tasks that it waits for besides, by its place among all groups.
    pub(super) follows: Option<u32>,
    /// The parts of the source that are its own text.
    pub(super) body: Few<Range<usize>>,
    /// Where the part that is being read starts.
    pub(super) body_from: usize,
    /// The fields that were stated, a bit each.
    stated: u16,
    /// Whether a fenced block gave its command.
    has_block: bool,
}

/// How surely a line is a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    /// A heading, or an item with a box.
    Defined,
    /// An item without a box, which gives way to a definition of the same id.
    Listed,
    /// The same where only a space divides id and title: it may well be a sentence about the task.
    Loose,
}

/// Where a task is ticked.
#[derive(Debug)]
pub(super) enum Tick {
    Box(TickBox),
    /// Without a box, the mark goes here, at the end of its line.
    Mark(usize),
}

/// What ticking a task needs of it.
#[derive(Debug)]
pub(super) struct TaskBox {
    pub(super) id: TaskId,
    pub(super) strength: Strength,
    pub(super) ticked: bool,
    pub(super) tick: Tick,
}

impl From<Draft> for TaskBox {
    fn from(draft: Draft) -> Self {
        let Draft { id, strength, ticked, tick, .. } = draft;
        Self { id, strength, ticked, tick }
    }
}

/// The parts of the walk that taking in a field needs.
pub(super) struct FieldReading<'a> {
    pub(super) source: &'a str,
    pub(super) findings: &'a mut Findings,
}

impl Draft {
    pub(super) fn new(id: TaskId, id_span: Range<usize>, tick: Tick) -> Self {
        Self {
            id,
            id_span,
            title: String::new(),
            phase: 0,
            ticked: false,
            strength: Strength::Defined,
            tick,
            priority: Priority::default(),
            details: Box::default(),
            wanted: None,
            heading: 0,
            tagged: false,
            follows: None,
            body: Few::default(),
            body_from: 0,
            stated: 0,
            has_block: false,
        }
    }

    /// Ends the part of its text that is being read.
    pub(super) fn end_body(&mut self, end: usize) {
        if self.body_from < end {
            self.body.push(self.body_from..end);
        }
    }

    /// Takes in one field; `label` is where it stands.
    pub(super) fn set(
        &mut self,
        field: Field,
        label: Range<usize>,
        values: &[Slice<'_>],
        reading: &mut FieldReading<'_>,
    ) {
        // A label without a value is a form that was not filled in, except that a dependency has
        // to be stated one way or the other.
        if field != Field::Depends && values.iter().all(|value| value.text().is_empty()) {
            return;
        }
        let bit = 1u16 << (field as u16);
        let again = self.stated & bit != 0;
        if again && field != Field::Verify {
            let message = format!("{} states {} twice", self.id, field.name());
            reading.findings.add(
                label,
                Diagnostic::error(PARSE_FAIL, message)
                    .path(self.path(field))
                    .expected("each field once")
                    .hint("put both values into one field, or remove one of them"),
            );
            return;
        }
        self.stated |= bit;
        self.store(field, &label, values, reading);
    }

    fn store(
        &mut self,
        field: Field,
        label: &Range<usize>,
        values: &[Slice<'_>],
        reading: &mut FieldReading<'_>,
    ) {
        let text = joined(values);
        let path = self.path(field);
        let details = &mut self.details;
        match field {
            Field::Depends => self.depend(label, values, reading),
            Field::Owner => details.owner = Some(text.into()),
            Field::Parallel => details.parallel = value::parallel(&text),
            Field::Files => {
                details.files =
                    values.iter().flat_map(|slice| value::files(slice, reading.source)).collect();
            }
            Field::Spec => details.spec = typed(values, reading.source),
            Field::Worktree => details.worktree = typed(values, reading.source),
            Field::Verify => details.verify.extend(commands(values, reading.source).map(guarded)),
            Field::Run => self.set_command(label, values, reading),
            Field::Timeout => match value::seconds(&text) {
                Some(seconds) => details.timeout_seconds = Some(seconds),
                None => self.refuse(field, values, "90s, 30m, 2h or a number of seconds", reading),
            },
            Field::Budget => match value::cents(&text) {
                Some(cents) => details.budget_cents = Some(cents),
                None => self.refuse(field, values, "an amount such as $2.50 or 2.5 USD", reading),
            },
            Field::Priority => match value::priority(&text) {
                Some(priority) => self.priority = priority,
                None => {
                    self.refuse(field, values, "critical, high, normal, low or P0 to P3", reading);
                }
            },
            Field::Agent => details.agent = name(values, &path, reading),
            Field::Model => details.model = name(values, &path, reading),
        }
    }

    /// Takes in a dependency, from its field or from the title.
    pub(super) fn depend(
        &mut self,
        label: &Range<usize>,
        values: &[Slice<'_>],
        reading: &mut FieldReading<'_>,
    ) {
        let statement = depends::read(values);
        let wanted = self.wanted.get_or_insert_default();
        statement.wanted.into_iter().for_each(|it| wanted.push(it));
        for (span, fault) in statement.faults {
            let span = if span.is_empty() { label.clone() } else { span };
            reading.findings.add(
                span,
                Diagnostic::error(PARSE_FAIL, fault.message())
                    .path(self.path(Field::Depends))
                    .expected(DEPENDS_FORMS)
                    .hint("name the tasks by their ids, or write `depends: none`"),
            );
        }
    }

    fn set_command(
        &mut self,
        label: &Range<usize>,
        values: &[Slice<'_>],
        reading: &mut FieldReading<'_>,
    ) {
        if self.has_block {
            let message = "has a run field and a block; the block is run";
            return self.warn_of_two(label.clone(), message, reading);
        }
        let steps: Vec<String> = commands(values, reading.source).collect();
        self.details.command = Some(steps.join(" && ").into());
    }

    /// Takes in a fenced block of shell commands.
    pub(super) fn set_block(&mut self, block: &Slice<'_>, reading: &mut FieldReading<'_>) {
        if block.text().is_empty() {
            return;
        }
        if self.has_block {
            let message = "has a block of commands already; this one is not run";
            self.warn_of_two(block.span(), message, reading);
            return;
        }
        if self.details.command.is_some() {
            let message = "has a run field and a block; the block is run";
            self.warn_of_two(block.span(), message, reading);
        }
        self.has_block = true;
        self.details.command = Some(block.text().into());
    }

    fn warn_of_two(&self, span: Range<usize>, message: &str, reading: &mut FieldReading<'_>) {
        let message = format!("{} {message}", self.id);
        let warning = Diagnostic::warning("two_commands", message).path(self.path(Field::Run));
        let hint = "keep one of them; a block in another language than sh is text";
        reading.findings.add(span, warning.hint(hint));
    }

    /// Cuts the task's own text out of the source, as written but for the blank lines around it
    /// and the indentation that all of its lines share.
    pub(super) fn body_text(&self, source: &str, findings: &mut Findings) -> String {
        let mut lines = Vec::new();
        for part in self.body.iter() {
            lines.extend(source[part.clone()].split('\n'));
        }
        let mut body = dedented(&lines);
        if body.len() > BODY_MAX {
            body.truncate(body.floor_char_boundary(BODY_MAX));
            let message = format!("the text of {} is cut after 64 KiB", self.id);
            let hint = "move it to a document of its own and name that under `spec`";
            findings.add(
                self.id_span.clone(),
                Diagnostic::warning("body_cut", message).path(self.id.as_str()).hint(hint),
            );
        }
        body
    }

    fn refuse(
        &self,
        field: Field,
        values: &[Slice<'_>],
        expected: &str,
        reading: &mut FieldReading<'_>,
    ) {
        let message = format!("`{}` is not a {}", shorten(&joined(values)), field.name());
        let error = Diagnostic::error(PARSE_FAIL, message)
            .path(self.path(field))
            .expected(expected)
            .hint("write one of these, or leave the line out");
        reading.findings.add(values[0].span(), error);
    }

    fn path(&self, field: Field) -> String {
        format!("{}.{}", self.id, field.name())
    }
}

/// The commands of a value: each inline code, else the text as it was typed.
fn commands<'a>(values: &'a [Slice<'_>], source: &'a str) -> impl Iterator<Item = String> + 'a {
    let of_slice = move |slice: &'a Slice<'_>| {
        let mut found: Vec<String> = slice.codes().map(str::to_owned).collect();
        if found.is_empty() && slice.origin == Origin::Block {
            found.push(slice.text().to_owned());
        } else if found.is_empty() {
            found.push(slice.typed(source).to_owned());
        }
        found
    };
    values.iter().flat_map(of_slice).filter(|command| !command.is_empty())
}

/// A script of several lines fails at its first failing line, not only at its last.
fn guarded(command: String) -> String {
    if command.contains('\n') { format!("set -e\n{command}") } else { command }
}

/// Joins `lines` without the indentation that all of them share.
fn dedented(lines: &[&str]) -> String {
    let is_blank = |line: &&&str| line.trim().is_empty();
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut common: Option<&str> = None;
    for line in lines.iter().filter(|line| !is_blank(line)) {
        let own = &line[..indent(line)];
        let shared = common.map_or(own.len(), |common| {
            common.bytes().zip(own.bytes()).take_while(|(a, b)| a == b).count()
        });
        common = Some(&own[..shared]);
    }
    let cut = common.map_or(0, str::len);
    let mut body = String::new();
    for line in lines {
        body.push_str(if is_blank(&line) { "" } else { line[cut..].trim_end() });
        body.push('\n');
    }
    body.trim_matches('\n').to_owned()
}

/// The value as plain text.
fn joined(values: &[Slice<'_>]) -> String {
    let texts: Vec<&str> = values.iter().map(Slice::text).filter(|text| !text.is_empty()).collect();
    texts.join(", ")
}

/// The value as a path: inline code if there is some, else as typed.
fn typed(values: &[Slice<'_>], source: &str) -> Option<Box<str>> {
    let of_slice = |slice: &Slice<'_>| {
        slice.codes().next().map_or_else(|| slice.typed(source).to_owned(), str::to_owned)
    };
    let texts: Vec<String> = values.iter().map(of_slice).filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join(", ").into())
}

/// The value as one word. Several are a sentence that happens to start like the field, as in
/// `Model: the User with its roles`.
fn name(values: &[Slice<'_>], path: &str, reading: &mut FieldReading<'_>) -> Option<Box<str>> {
    let text = joined(values);
    if !text.contains(char::is_whitespace) {
        return Some(text.into());
    }
    let message = format!("`{}` is no name, so it is read as text", shorten(&text));
    let warning = Diagnostic::warning("unclear_field", message).path(path).expected("one word");
    reading.findings.add(values[0].span(), warning);
    None
}
