//! Goes through the blocks of a file and gathers its tasks, phases, fields and graphs.
//!
//! A heading that is a task owns what follows up to the next task, phase or heading of its own
//! level; an item that is a task owns what is nested in it. Headings and items with a box are
//! definitions. An item without one is a task only where no other task owns it and nothing else
//! defines its id, because lists also talk about tasks.

use super::{
    draft::{Draft, FieldReading, Strength, TaskBox, Tick},
    field::{self, Field, Labelled, Standing, Unknown},
    findings::{Findings, PARSE_FAIL, shorten},
    form::{self, Division, Head, Marks, Number, PhaseHeading, Prefix, Subject, Title, Unread},
    ids::{self, ID_FORMS},
    line::{Line, Origin, Slice},
    mention::{Mention, MentionKind},
    mermaid::Graph,
    outline::{self, Block, Item},
    spec_kit::Heading,
    title,
};
use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
};
use waypost_model::{diagnostic::Diagnostic, id::TaskId};

/// The phase of a task whose id has no phase in it (`T012`) and which stands in no phase's section:
/// a list without phases is one phase, and 1 is the first that people number; 0 is a set-up phase
/// that has to be asked for.
const PHASE_DEFAULT: u32 = 1;

/// How much of a text is read at once. Its blocks take up to forty times as much memory, and a part
/// costs no more than reading one item twice.
const PART_LENGTH: usize = 64 << 10;

/// Languages of blocks that are commands.
const SHELLS: [&str; 3] = ["sh", "bash", "shell"];

/// Everything that a file says, before dependencies are looked up.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) drafts: Vec<Draft>,
    /// Names of phases that have one.
    pub(super) phases: BTreeMap<u32, String>,
    /// The first heading of level 1 that is no phase, without words such as "Tasks:".
    pub(super) project: Option<String>,
    pub(super) graphs: Vec<Graph>,
    /// Headings that are no tasks, in the order of the text.
    pub(super) headings: Vec<Heading>,
    /// What looks like a task and is none.
    pub(super) mentions: Vec<Mention>,
    pub(super) findings: Findings,
}

/// Reads a text as far as it can be read without knowing all of its ids.
pub(super) fn walk(source: &str) -> Walked {
    walk_parts(source, PART_LENGTH)
}

/// Reads where a text's tasks are ticked. All else that it says is dropped part after part: a long text
/// takes ten times as much memory as drafts.
pub(super) fn boxes(source: &str) -> Vec<TaskBox> {
    boxes_in_parts(source, PART_LENGTH)
}

pub(super) fn boxes_in_parts(source: &str, part_length: usize) -> Vec<TaskBox> {
    let mut walk = Walk::of(source);
    let mut boxes: Vec<TaskBox> = Vec::new();
    for part in outline::parts(source, part_length) {
        walk.blocks(&part.blocks, TextOwner::Section);
        boxes.extend(walk.take_settled().map(TaskBox::from));
    }
    boxes.extend(walk.out.drafts.into_iter().map(TaskBox::from));
    let is_defined = |it: &&TaskBox| it.strength == Strength::Defined;
    let defined: HashSet<TaskId> = match boxes.iter().all(|it| is_defined(&it)) {
        true => HashSet::new(),
        false => boxes.iter().filter(is_defined).map(|it| it.id.clone()).collect(),
    };
    boxes.retain(|it| it.strength == Strength::Defined || !defined.contains(&it.id));
    boxes
}

pub(super) fn walk_parts(source: &str, part_length: usize) -> Walked {
    let mut walk = Walk::of(source);
    let mut too_deep = None;
    for part in outline::parts(source, part_length) {
        walk.blocks(&part.blocks, TextOwner::Section);
        too_deep = too_deep.or(part.too_deep);
    }
    walk.close_heading(source.len());
    walk.out.yield_to_definitions();
    if let Some(span) = too_deep {
        let error = Diagnostic::error(PARSE_FAIL, "this list is nested too deep to be read")
            .expected(format!("at most {} levels", outline::DEPTH_MAX))
            .hint("move it to the left");
        walk.out.findings.add(span, error);
    }
    walk.out
}

impl Walked {
    /// Drops listed tasks whose id is defined elsewhere: there the list only mentions them.
    fn yield_to_definitions(&mut self) {
        let is_defined = |draft: &&Draft| draft.strength == Strength::Defined;
        if self.drafts.iter().all(|draft| is_defined(&draft)) {
            return;
        }
        let defined: HashSet<TaskId> =
            self.drafts.iter().filter(is_defined).map(|draft| draft.id.clone()).collect();
        let findings = &mut self.findings;
        self.drafts.retain(|draft| {
            let keep = draft.strength == Strength::Defined || !defined.contains(&draft.id);
            if !keep && draft.strength == Strength::Listed {
                let message =
                    format!("{} is defined elsewhere; this item only mentions it", draft.id);
                let warning = Diagnostic::warning("mention", message).path(draft.id.as_str());
                findings.add(draft.id_span.clone(), warning);
            }
            keep
        });
    }
}

/// Whose text is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextOwner {
    /// That of the heading above, if it is a task.
    Section,
    /// That of the item around it.
    Task(usize),
    /// That of a task which could not be read.
    Unread,
}

/// A task that was added, and how many lines its title takes.
struct Defined {
    draft: usize,
    lines: usize,
}

/// A phase's section.
struct Section {
    level: u8,
    phase: u32,
}

/// The heading that is a task and whose text is being read.
struct OpenHeading {
    draft: usize,
    level: u8,
}

struct Walk<'s> {
    source: &'s str,
    out: Walked,
    sections: Vec<Section>,
    open: Option<OpenHeading>,
    /// How many items are around.
    depth: usize,
    /// How many of them are text of a task, and no task themselves.
    text_depth: usize,
    /// Where the next line stands.
    standing: Standing,
}

impl<'s> Walk<'s> {
    fn of(source: &'s str) -> Self {
        Self {
            source,
            out: Walked::default(),
            sections: Vec::new(),
            open: None,
            depth: 0,
            text_depth: 0,
            standing: Standing::Text,
        }
    }

    /// Takes the drafts out that nothing behind this part can add to: all before the heading whose
    /// text is being read.
    fn take_settled(&mut self) -> impl Iterator<Item = Draft> {
        let end = match &mut self.open {
            Some(open) => std::mem::take(&mut open.draft),
            None => self.out.drafts.len(),
        };
        self.out.drafts.drain(..end)
    }

    fn blocks(&mut self, blocks: &[Block], owner: TextOwner) {
        let mut blocks = blocks.iter().peekable();
        while let Some(block) = blocks.next() {
            match block {
                Block::Heading { level, line, span } => self.heading(*level, line, span.clone()),
                Block::Paragraph(lines) => {
                    if self.lines(lines, blocks.peek().copied(), owner) == Below::Taken {
                        blocks.next();
                    }
                }
                Block::List(items) => items.iter().for_each(|item| self.item(item, owner)),
                Block::Code { language, text } => self.code(language, text, owner),
                Block::Table(rows) => self.table(rows, owner),
            }
        }
    }

    fn heading(&mut self, level: u8, line: &Line, span: Range<usize>) {
        let Head { marks, subject, start } = Head::read(line, None);
        match subject {
            // The first level is the document's: its title or its phases.
            _ if level == 1 => {}
            Subject::Task(title) => {
                self.close_heading(span.start);
                let lines = std::slice::from_ref(line);
                let Defined { draft, .. } = self.define(marks, title, lines, Strength::Defined);
                self.out.drafts[draft].body_from = span.end;
                self.open = Some(OpenHeading { draft, level });
                return;
            }
            Subject::Malformed { word, meant } if meant || marks.say_task() => {
                self.close_heading(span.start);
                return self.refuse_id(line, word);
            }
            Subject::Several(word) if marks.say_task() => {
                self.close_heading(span.start);
                return self.refuse_several(line, word);
            }
            Subject::Malformed { .. } | Subject::Several(_) | Subject::Other => {
                if let Some(unread) = form::unread(line) {
                    self.close_heading(span.start);
                    return self.mention_unread(unread, line);
                }
            }
        }
        while self.sections.last().is_some_and(|section| section.level >= level) {
            self.sections.pop();
        }
        let text = line.span(start..line.text().len());
        if let Some(PhaseHeading { number, label, name }) =
            form::phase_heading(&line.text()[start..])
        {
            self.close_heading(span.start);
            let phase = self.phase_number(number, &text);
            let name = title::tidy(name);
            let heading = Heading::numbered(level, number, label, name.clone());
            self.out.headings.push(heading.at(text));
            if !name.is_empty() {
                self.out.phases.entry(phase).or_insert(name);
            }
            self.sections.push(Section { level, phase });
            return;
        }
        let name = title::tidy(form::bare_name(&line.text()[start..]));
        self.out.headings.push(Heading::plain(level, name).at(text));
        self.other_heading(level, line, span.start);
        if self.open.is_none() && marks.tick_box.is_some() {
            self.warn_without_id(line, start);
        }
    }

    /// Takes in a heading that is neither a task nor a phase.
    fn other_heading(&mut self, level: u8, line: &Line, start: usize) {
        if self.open.as_ref().is_some_and(|open| open.level >= level) {
            self.close_heading(start);
        }
        if level == 1 {
            self.out.project.get_or_insert_with(|| title::tidy(form::project_name(line.text())));
        }
    }

    fn item(&mut self, item: &Item, owner: TextOwner) {
        let (lines, rest) = item.parts();
        self.depth += 1;
        match lines.first() {
            Some(line) => self.item_with_line(item, owner, line),
            None => self.blocks(rest, owner),
        }
        self.depth -= 1;
    }

    fn item_with_line(&mut self, item: &Item, owner: TextOwner, line: &Line) {
        let (lines, rest) = item.parts();
        let Head { marks, subject, start } = Head::read(line, item.tick_box.as_ref());
        let has_box = marks.tick_box.is_some();
        let is_owned = self.draft_of(owner).is_some();
        match subject {
            Subject::Task(title) if has_box => {
                return self.item_task(item, owner, |walk| {
                    walk.define(marks, title, lines, Strength::Defined)
                });
            }
            Subject::Task(title) => match strength_without_box(&title, &marks) {
                Some(Strength::Listed) if is_owned => {
                    self.mention(title.id, line.span(title.id_range), MentionKind::NoBox);
                }
                Some(strength) if !is_owned => {
                    return self
                        .item_task(item, owner, |walk| walk.define(marks, title, lines, strength));
                }
                None if title.division == Division::End && !is_owned => {
                    self.mention(title.id, line.span(title.id_range), MentionKind::NoTitle);
                }
                _ => {}
            },
            Subject::Malformed { word, .. } if has_box => {
                self.end_owner(owner, item.span.start);
                self.refuse_id(line, word);
                return self.blocks(rest, TextOwner::Unread);
            }
            Subject::Several(word) if has_box => {
                self.end_owner(owner, item.span.start);
                self.refuse_several(line, word);
                return self.blocks(rest, TextOwner::Unread);
            }
            Subject::Malformed { word, meant: true } if !is_owned => {
                self.warn_of_malformed(line, word);
            }
            subject => {
                if self.unread_item(item, owner, line) {
                    return;
                }
                if has_box && !is_owned && self.depth == 1 {
                    self.warn_without_id(line, start);
                } else if let (Subject::Several(word), false) = (subject, is_owned) {
                    self.mention_several(line, word);
                }
            }
        }
        if !has_box && self.text_depth == 0 {
            self.standing = Standing::Item;
        }
        let below = self.lines(lines, rest.first(), owner);
        self.text_depth += 1;
        self.blocks(&rest[usize::from(below == Below::Taken)..], owner);
        self.text_depth -= 1;
    }

    /// Takes note of an item that is meant as a task in a form that is none, with all that is in it;
    /// says whether it is one. In a task's text, an id in brackets is more likely to refer to another.
    fn unread_item(&mut self, item: &Item, owner: TextOwner, line: &Line) -> bool {
        let is_owned = self.draft_of(owner).is_some();
        let unread = form::unread(line).filter(|unread| unread.mark.is_some() || !is_owned);
        let Some(unread) = unread else { return false };
        self.end_owner(owner, item.span.start);
        self.mention_unread(unread, line);
        self.blocks(item.parts().1, TextOwner::Unread);
        if let TextOwner::Task(parent) = owner {
            self.out.drafts[parent].body_from = item.span.end;
        }
        true
    }

    fn mention_unread(&mut self, unread: Unread, line: &Line) {
        let Unread { id, id_range, mark } = unread;
        let kind = mark.map_or(MentionKind::Brackets, MentionKind::OtherBox);
        self.mention(id, line.span(id_range), kind);
    }

    /// Takes note of the first of several ids; where they are tasks of the file nothing is lost.
    fn mention_several(&mut self, line: &Line, word: Range<usize>) {
        let text = &line.text()[word.clone()];
        let first = ids::split_range(text).map(|(first, _)| first).or_else(|| text.parse().ok());
        if let Some(id) = first {
            self.mention(id, line.span(word), MentionKind::Several);
        }
    }

    fn mention(&mut self, id: TaskId, span: Range<usize>, kind: MentionKind) {
        self.out.mentions.push(Mention { id, span, kind });
    }

    /// Reads an item that is a task; `define` adds it.
    fn item_task(
        &mut self,
        item: &Item,
        owner: TextOwner,
        define: impl FnOnce(&mut Self) -> Defined,
    ) {
        self.end_owner(owner, item.span.start);
        let (lines, rest) = item.parts();
        let text_depth = std::mem::take(&mut self.text_depth);
        let Defined { draft, lines: title_lines } = define(self);
        let below = self.lines(&lines[title_lines..], rest.first(), TextOwner::Task(draft));
        self.blocks(&rest[usize::from(below == Below::Taken)..], TextOwner::Task(draft));
        self.text_depth = text_depth;
        self.out.drafts[draft].end_body(item.span.end);
        if let TextOwner::Task(parent) = owner {
            self.out.drafts[parent].body_from = item.span.end;
        }
    }

    /// Adds a task; `lines` are the paragraph that its title starts.
    fn define(
        &mut self,
        marks: Marks,
        title: Title,
        lines: &[Line],
        strength: Strength,
    ) -> Defined {
        let line = &lines[0];
        let id_span = line.span(title.id_range.clone());
        let phase = self.phase(&title.id, &id_span, marks.prefix.as_ref(), line);
        let ticked = marks.tick_box.as_ref().map_or(marks.checked, |tick_box| tick_box.ticked);
        if marks.checked && !ticked {
            let message =
                format!("{} has {} beside an empty box; the box counts", title.id, form::CHECK);
            let warning = Diagnostic::warning("open_box", message).path(title.id.as_str());
            let hint = "tick the box, or remove the mark";
            self.out.findings.add(id_span.clone(), warning.hint(hint));
        }
        let tick = marks.tick_box.map_or_else(|| Tick::Mark(line.end()), Tick::Box);
        let mut draft = Draft::new(title.id.clone(), id_span, tick);
        let mut reading = FieldReading { source: self.source, findings: &mut self.out.findings };
        let remark = title::depends_remark(&mut draft, &title, lines, &mut reading);
        draft.title = title::text(&title, line, &remark);
        (draft.phase, draft.ticked, draft.strength) = (phase, ticked, strength);
        draft.heading = self.out.headings.len();
        draft.tagged = title.parallel || title.story.is_some();
        draft.details.parallel = title.parallel;
        draft.details.story = title.story.map(Into::into);
        draft.body_from = lines[remark.wrapped].end();
        self.out.drafts.push(draft);
        Defined { draft: self.out.drafts.len() - 1, lines: remark.wrapped + 1 }
    }

    /// The phase of a task: its section's, else the one in front of its id, else the id's own.
    fn phase(
        &mut self,
        id: &TaskId,
        id_span: &Range<usize>,
        prefix: Option<&Prefix>,
        line: &Line,
    ) -> u32 {
        let section = self.sections.last().map(|section| section.phase);
        let prefix = prefix.map(|prefix| {
            let span = line.span(prefix.range.clone());
            self.warn_of_fraction(prefix.number, &span);
            (self.phase_number(prefix.number, &span), span)
        });
        if let (Some(section), Some((stated, span))) = (section, &prefix)
            && section != *stated
        {
            let message = format!("{id} says phase {stated} and stands under phase {section}");
            let warning = Diagnostic::warning("phase_mismatch", message).path(id.as_str());
            let hint = "the section counts; make them agree";
            self.out.findings.add(span.clone(), warning.hint(hint));
        }
        match (section, prefix, ids::phase_of(id)) {
            (Some(section), ..) => section,
            (None, Some((stated, _)), _) => stated,
            (None, None, Some(own)) => own.unwrap_or(PHASE_DEFAULT),
            (None, None, None) => self.phase_number(Number::TooLarge, id_span),
        }
    }

    fn phase_number(&mut self, number: Number, span: &Range<usize>) -> u32 {
        match number {
            Number::Whole(number) | Number::Fraction(number) => number,
            Number::TooLarge => {
                self.out.findings.add(span.clone(), phase_too_large());
                0
            }
        }
    }

    fn warn_of_fraction(&mut self, number: Number, span: &Range<usize>) {
        if let Number::Fraction(number) = number {
            self.out.findings.add(span.clone(), phase_fraction(number));
        }
    }

    /// Reads the fields of a paragraph; the block below it may hold the value of the last one.
    fn lines(&mut self, lines: &[Line], below: Option<&Block>, owner: TextOwner) -> Below {
        let mut standing = std::mem::replace(&mut self.standing, Standing::Text);
        let Some(draft) = self.draft_of(owner) else { return Below::Left };
        let mut taken = Below::Left;
        let mut rest = lines;
        while let Some((line, after)) = rest.split_first() {
            rest = after;
            let Some(Labelled { field, label, value }) = field::labelled(line) else {
                self.note_unknown(line, std::mem::replace(&mut standing, Standing::Text));
                continue;
            };
            let mut values = vec![value];
            while let Some((next, after)) = rest.split_first()
                && goes_on(field, values.last())
                && field::labelled(next).is_none()
            {
                values.push(Slice::after(next, 0, Origin::Inline));
                rest = after;
            }
            if values[0].text().is_empty()
                && rest.is_empty()
                && let Some(found) = below.and_then(|below| values_below(field, below))
            {
                (values, taken) = (found, Below::Taken);
            }
            self.set(draft, field, label, &values);
        }
        taken
    }

    /// A label that is no field would be passed over, and with it a check or a dependency.
    fn note_unknown(&mut self, line: &Line, standing: Standing) {
        let Some(unknown) = field::unknown(line, self.source, standing) else { return };
        let Unknown { span, label, nearest } = unknown;
        let message = match nearest {
            Some(name) => format!("`{label}` is not a field of a task; did you mean `{name}`?"),
            None => format!("`{label}` is not a field of a task, so it is read as text"),
        };
        let warning = Diagnostic::warning("unknown_field", message)
            .expected(format!("one of {}", field::NAMES.join(", ")));
        let hint = match nearest {
            Some(name) => format!("write `{name}:`, or take the colon away if it is text"),
            None => "take the colon away, or write the word as `code`, if it is text".to_owned(),
        };
        self.out.findings.add(span, warning.hint(hint));
    }

    fn table(&mut self, rows: &[Vec<Line>], owner: TextOwner) {
        let draft = self.draft_of(owner);
        for row in rows {
            if let (Some(draft), [label, value]) = (draft, row.as_slice())
                && let Some(field) = Field::of_label(label.text()).filter(|_| !label.is_code(0))
            {
                let span = label.span(0..label.text().len());
                self.set(draft, field, span, &[Slice::after(value, 0, Origin::Cell)]);
            } else {
                self.mention_row(row);
            }
        }
    }

    /// Takes note of a row that starts with an id, as tables of tasks do; a number, a box or a
    /// symbol may stand in front.
    fn mention_row(&mut self, row: &[Line]) {
        for cell in row.iter().take(2) {
            let Head { subject, start, .. } = Head::read(cell, None);
            if let Subject::Task(title) = subject
                && title.division != Division::Quoted
            {
                return self.mention(title.id, cell.span(title.id_range), MentionKind::Row);
            }
            if cell.text()[start..].contains(char::is_alphabetic) {
                return;
            }
        }
    }

    fn code(&mut self, language: &str, text: &Line, owner: TextOwner) {
        if language == "mermaid" {
            self.out.graphs.extend(Graph::read(text));
        }
        if let Some(draft) = self.draft_of(owner).filter(|_| SHELLS.contains(&language)) {
            let mut reading =
                FieldReading { source: self.source, findings: &mut self.out.findings };
            let block = Slice::after(text, 0, Origin::Block);
            self.out.drafts[draft].set_block(&block, &mut reading);
        }
    }

    fn set(&mut self, draft: usize, field: Field, label: Range<usize>, values: &[Slice<'_>]) {
        let mut reading = FieldReading { source: self.source, findings: &mut self.out.findings };
        self.out.drafts[draft].set(field, label, values, &mut reading);
    }

    fn draft_of(&self, owner: TextOwner) -> Option<usize> {
        match owner {
            TextOwner::Section => self.open.as_ref().map(|open| open.draft),
            TextOwner::Task(draft) => Some(draft),
            TextOwner::Unread => None,
        }
    }

    /// Ends the text of what is around a task that starts here.
    fn end_owner(&mut self, owner: TextOwner, at: usize) {
        match owner {
            TextOwner::Section => self.close_heading(at),
            TextOwner::Task(parent) => self.out.drafts[parent].end_body(at),
            TextOwner::Unread => {}
        }
    }

    fn close_heading(&mut self, end: usize) {
        if let Some(open) = self.open.take() {
            self.out.drafts[open.draft].end_body(end);
        }
    }

    fn refuse_id(&mut self, line: &Line, word: Range<usize>) {
        let text = shorten(&line.text()[word.clone()]);
        let error = Diagnostic::error(PARSE_FAIL, format!("`{text}` is not a task id"))
            .expected(ID_FORMS)
            .hint("write the id, then `:` and the title, as in `T1.3: title`");
        self.out.findings.add(line.span(word), error);
    }

    /// Without a box it may be a text about something else, so it is no error.
    fn warn_of_malformed(&mut self, line: &Line, word: Range<usize>) {
        let text = shorten(&line.text()[word.clone()]);
        let message = format!("`{text}` is not a task id; it will not be run");
        let warning = Diagnostic::warning("no_id", message).expected(ID_FORMS);
        let hint = "write the id, then `:` and the title, as in `T1.3: title`";
        self.out.findings.add(line.span(word), warning.hint(hint));
    }

    fn refuse_several(&mut self, line: &Line, word: Range<usize>) {
        let error = Diagnostic::error(PARSE_FAIL, "a task has one id")
            .expected(ID_FORMS)
            .hint("give each task a line of its own");
        self.out.findings.add(line.span(word), error);
    }

    fn warn_without_id(&mut self, line: &Line, start: usize) {
        if self.sections.is_empty() {
            return;
        }
        let message =
            format!("`{}` has no id; it will not be run", shorten(line.text()[start..].trim()));
        let warning = Diagnostic::warning("no_id", message).expected(ID_FORMS);
        let hint = "put an id in front of it, or nest it under a task";
        self.out.findings.add(line.span(start..line.text().len()), warning.hint(hint));
    }
}

/// Says how a number that is not whole is read.
pub(super) fn phase_fraction(number: u32) -> Diagnostic {
    let message = format!("phases have whole numbers; this is read as phase {number}");
    Diagnostic::warning("phase_fraction", message)
}

pub(super) fn phase_too_large() -> Diagnostic {
    Diagnostic::error(PARSE_FAIL, "this phase number is too large")
        .expected(format!("a number up to {}", u32::MAX))
        .hint("number the phases from 0 or 1")
}

/// How surely an item is a task that has no box; `None` when it is none.
fn strength_without_box(title: &Title, marks: &Marks) -> Option<Strength> {
    match title.division {
        Division::Quoted => None,
        Division::Sign => Some(Strength::Listed),
        Division::Space | Division::End if marks.checked => Some(Strength::Listed),
        Division::Space => Some(Strength::Loose),
        Division::End => None,
    }
}

/// Whether the block below a paragraph was read as the value of its last field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    Taken,
    Left,
}

/// Whether a list of ids or files visibly goes on in the next line.
fn goes_on(field: Field, last: Option<&Slice<'_>>) -> bool {
    matches!(field, Field::Depends | Field::Files)
        && last.is_some_and(|last| last.text().ends_with([',', '，', '、']))
}

/// The value of a field that stands below its label as a list or as a block of code.
fn values_below(field: Field, below: &Block) -> Option<Vec<Slice<'_>>> {
    match below {
        Block::List(items) => {
            let is_other = |item: &Item| {
                let Some(line) = item.parts().0.first() else { return false };
                let head = Head::read(line, item.tick_box.as_ref());
                let is_task =
                    matches!(head.subject, Subject::Task(_)) && head.marks.tick_box.is_some();
                field::labelled(line).is_some() || (is_task && field != Field::Depends)
            };
            if items.iter().any(is_other) {
                return None;
            }
            let lines = items.iter().filter_map(|item| item.parts().0.first());
            Some(lines.map(|line| Slice::after(line, 0, Origin::Item)).collect())
        }
        Block::Code { language, text }
            if matches!(field, Field::Verify | Field::Run | Field::Files)
                && (language.is_empty() || SHELLS.contains(&language.as_str())) =>
        {
            Some(vec![Slice::after(text, 0, Origin::Block)])
        }
        _ => None,
    }
}
