//! The first line of a heading or list item: box, phase, id, tags and title.
//!
//! ```text
//! [ ] Phase 1, T1.1: title          T012 [P] [US1] title (depends on T010)
//! ✅ T1.3 — title                   P2-S1-V: title ✅
//! ```
//!
//! Says what is written, not what it means: whether a line that looks like a task is one also
//! depends on where it stands, which [`super::walk`] knows.

use super::{
    ids::{self, Word},
    line::Line,
    outline::TickBox,
};
use std::ops::Range;
use waypost_model::id::TaskId;

/// The mark that ticks a task without a box.
pub(super) const CHECK: char = '✅';

/// The invisible character that some editors put behind an emoji.
const EMOJI_STYLE: char = '\u{fe0f}';

/// What stands between an id and its title, besides a space.
const COLONS: [char; 2] = [':', '：'];
const DASHES: [char; 3] = ['-', '–', '—'];

/// What joins two ids into a range or a list.
const JOINTS: [char; 13] = ['~', '∼', '〜', '～', '→', '>', '+', '&', '/', ',', '，', '、', ' '];

/// How much may stand between brackets that are taken for a box with another mark, as `[-]`, `[~]`
/// or `[wip]`; what is longer is a text.
const MARK_LENGTH_MAX: usize = 4;

/// What a heading may say besides the project's name; the longer of two that start alike first.
const LIST_WORDS: [&str; 6] =
    ["tasks.md", "task list", "tasks", "태스크 목록", "태스크", "작업 목록"];

/// What a line starts with.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) marks: Marks,
    pub(super) subject: Subject,
    /// Where the text behind box and decoration starts.
    pub(super) start: usize,
}

/// What stands in front of a task's id, and the `✅` wherever it stands.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) tick_box: Option<TickBox>,
    /// Whether `✅` stands in front, behind the id or at the end.
    pub(super) checked: bool,
    /// The phase in front of the id, as in `Phase 1, T1.1`.
    pub(super) prefix: Option<Prefix>,
}

/// A phase number in front of an id and where it stands in the line.
#[derive(Debug)]
pub(super) struct Prefix {
    pub(super) number: Number,
    pub(super) range: Range<usize>,
}

/// What a line is about.
#[derive(Debug)]
pub(super) enum Subject {
    Task(Title),
    /// A word that starts as an id and is none; `meant` when it is divided from a title as one.
    Malformed {
        word: Range<usize>,
        meant: bool,
    },
    /// An id that is only mentioned, as in `T1.1 ~ T1.3` or `T1.1, T1.2`.
    Several(Range<usize>),
    Other,
}

/// An id with its title.
#[derive(Debug)]
pub(super) struct Title {
    pub(super) id: TaskId,
    pub(super) id_range: Range<usize>,
    pub(super) division: Division,
    pub(super) parallel: bool,
    pub(super) story: Option<String>,
    pub(super) range: Range<usize>,
}

/// How surely an id starts a title rather than a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// A colon, a dash or a tag stands behind it.
    Sign,
    /// Only a space, as between words.
    Space,
    /// Nothing follows.
    End,
    /// Id and title stand in the same inline code.
    Quoted,
}

/// A phase number as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Whole(u32),
    /// `0.5`: phases are whole, so the part behind the point is left out.
    Fraction(u32),
    TooLarge,
}

/// A heading that names a phase by its number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PhaseHeading<'t> {
    pub(super) number: Number,
    /// The number as it stands there, such as `3.10`.
    pub(super) label: &'t str,
    /// Empty where there is none.
    pub(super) name: &'t str,
}

/// A line with an id that is clearly meant as a task, and is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) id: TaskId,
    pub(super) id_range: Range<usize>,
    /// What stands between brackets in front of the id; nothing if the id itself does.
    pub(super) mark: Option<String>,
}

impl Head {
    /// Reads a line; `tick_box` is what Markdown has already taken off it.
    pub(super) fn read(line: &Line, tick_box: Option<&TickBox>) -> Self {
        let mut cursor = LinePosition { line, at: 0 };
        let mut marks = Marks { tick_box: tick_box.cloned(), ..Marks::default() };
        marks.take(&mut cursor);
        let start = cursor.at;
        marks.prefix = cursor.prefix();
        if marks.prefix.is_some() {
            marks.take(&mut cursor);
        }
        let subject = marks.subject(&mut cursor);
        Self { marks, subject, start }
    }
}

impl Marks {
    /// Whether a box or `✅` says that the line is meant as a task.
    pub(super) fn say_task(&self) -> bool {
        self.tick_box.is_some() || self.checked
    }

    /// Takes boxes, `✅` and decorating symbols off the front.
    fn take(&mut self, cursor: &mut LinePosition<'_>) {
        loop {
            cursor.space();
            if let Some(tick_box) = cursor.tick_box() {
                self.tick_box.get_or_insert(tick_box);
            } else if cursor.check() {
                self.checked = true;
            } else if !cursor.symbol() {
                return;
            }
        }
    }

    fn subject(&mut self, cursor: &mut LinePosition<'_>) -> Subject {
        let start = cursor.at;
        let word = start..start + ids::word_length(cursor.rest());
        // Code may wrap the id or the whole line, so it has to start with the id.
        if cursor.line.is_code(start) && !cursor.line.code_starts(start) {
            return Subject::Other;
        }
        let id = match ids::classify(&cursor.line.text()[word.clone()]) {
            Word::Id(id) => id,
            Word::Malformed => return cursor.malformed(word),
            Word::Phase | Word::Group | Word::Other => return Subject::Other,
        };
        cursor.at = word.end;
        match cursor.after_id() {
            AfterId::Title => Subject::Task(self.title(cursor, id, word)),
            // With a box it is a task whose title starts with another one's id.
            AfterId::DashAndId if self.tick_box.is_some() => {
                Subject::Task(self.title(cursor, id, word))
            }
            AfterId::DashAndId | AfterId::MoreIds => Subject::Several(word),
            AfterId::Odd(next) => {
                Subject::Malformed { word: word.start..word.end + next.len_utf8(), meant: true }
            }
            AfterId::Prose => Subject::Other,
        }
    }

    fn title(
        &mut self,
        cursor: &mut LinePosition<'_>,
        id: TaskId,
        id_range: Range<usize>,
    ) -> Title {
        let (mut separated, mut parallel, mut story) = (false, false, None);
        loop {
            cursor.space();
            match cursor.tag() {
                Some("P") => parallel = true,
                Some(tag) => story = Some(tag.to_owned()),
                None if cursor.check() => self.checked = true,
                None if !separated && cursor.separator() => separated = true,
                None => break,
            }
        }
        let text = cursor.rest().trim_end();
        let mut end = cursor.at + text.len();
        let bare = text.trim_end_matches(EMOJI_STYLE);
        if let Some(rest) = bare.strip_suffix(CHECK)
            && !cursor.line.is_code(cursor.at + rest.len())
        {
            self.checked = true;
            end = cursor.at + rest.trim_end().len();
        }
        let in_code = cursor.line.is_code(id_range.start);
        let division = if in_code && !cursor.line.code_ends(id_range.end) {
            Division::Quoted
        } else if separated || parallel || story.is_some() {
            Division::Sign
        } else if cursor.at == end {
            Division::End
        } else {
            Division::Space
        };
        Title { id, id_range, division, parallel, story, range: cursor.at..end }
    }
}

/// What follows an id.
enum AfterId {
    Title,
    /// `T1.1 - T1.3`: a range, or a title that starts with an id.
    DashAndId,
    /// A range or a list of ids: the line speaks about tasks.
    MoreIds,
    /// A character that divides nothing, as in `T1.3; title`.
    Odd(char),
    /// A word goes on, as a Korean particle does.
    Prose,
}

/// A position in a line.
struct LinePosition<'l> {
    line: &'l Line,
    at: usize,
}

impl<'l> LinePosition<'l> {
    fn rest(&self) -> &'l str {
        &self.line.text()[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes `[ ]`, `[x]`, `[X]` or `[]`.
    fn tick_box(&mut self) -> Option<TickBox> {
        let boxes = [("[ ]", false), ("[]", false), ("[x]", true), ("[X]", true)];
        let (text, ticked) = boxes.into_iter().find(|(text, _)| self.rest().starts_with(text))?;
        let range = self.at..self.at + text.len();
        if self.line.is_code(range.start) {
            return None;
        }
        self.at = range.end;
        Some(TickBox { span: self.line.span(range), ticked })
    }

    fn check(&mut self) -> bool {
        let found = self.rest().starts_with(CHECK) && !self.line.is_code(self.at);
        if found {
            self.at += CHECK.len_utf8();
            self.at += self.rest().len() - self.rest().trim_start_matches(EMOJI_STYLE).len();
        }
        found
    }

    /// Takes one symbol that only decorates, as in `🔧 T1.1`.
    fn symbol(&mut self) -> bool {
        let decorates = |c: &char| !c.is_ascii() && !c.is_alphanumeric() && !COLONS.contains(c);
        let found = self.rest().chars().next().filter(decorates);
        self.at += found.map_or(0, char::len_utf8);
        found.is_some()
    }

    /// Takes `Phase 1,`.
    fn prefix(&mut self) -> Option<Prefix> {
        let (number, length) = phase_number(self.rest())?;
        let range = self.at..self.at + length;
        let rest = self.line.text()[range.end..].trim_start();
        let rest = rest.strip_prefix([',', '，', '、'])?;
        self.at = self.line.text().len() - rest.len();
        Some(Prefix { number, range })
    }

    /// Takes `[P]` or `[US1]` and returns what stands between the brackets.
    fn tag(&mut self) -> Option<&'l str> {
        let (tag, _) = self.rest().strip_prefix('[')?.split_once(']')?;
        let is_story = tag.strip_prefix("US").is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if tag != "P" && !is_story {
            return None;
        }
        self.at += tag.len() + 2;
        Some(tag)
    }

    /// Takes a colon, or a dash that stands alone.
    fn separator(&mut self) -> bool {
        let mut characters = self.rest().chars();
        let Some(first) = characters.next() else { return false };
        let is_alone = characters.next().is_none_or(char::is_whitespace);
        let found =
            COLONS.contains(&first) || (DASHES.contains(&first) && (first != '-' || is_alone));
        self.at += if found { first.len_utf8() } else { 0 };
        found
    }

    fn malformed(&mut self, word: Range<usize>) -> Subject {
        let text = &self.line.text()[word.clone()];
        if ids::split_range(text).is_some() {
            return Subject::Several(word);
        }
        let almost = ids::classify(text.trim_end_matches(['.', '-', '_']));
        self.at = word.end;
        match self.rest().chars().next() {
            Some(next) if COLONS.contains(&next) => Subject::Malformed { word, meant: true },
            Some(next) if !next.is_whitespace() => Subject::Other,
            _ => Subject::Malformed { word, meant: matches!(almost, Word::Id(_)) },
        }
    }

    fn after_id(&self) -> AfterId {
        let rest = self.rest();
        let Some(next) = rest.chars().next() else { return AfterId::Title };
        let goes_on = next.is_whitespace() || self.line.code_ends(self.at) || next == CHECK;
        let divides = COLONS.contains(&next) || DASHES.contains(&next) || "[(".contains(next);
        let rest = rest.trim_start();
        let second = rest.trim_start_matches(JOINTS).trim_start_matches(DASHES);
        let second = second.trim_start_matches(JOINTS);
        let joint = rest[..rest.len() - second.len()].trim_end();
        let second = second.trim_start();
        let second = &second[..ids::word_length(second)];
        let joined = !joint.is_empty() && matches!(ids::classify(second), Word::Id(_));
        match (joined, goes_on || divides) {
            (true, _) if DASHES.iter().any(|dash| joint.chars().eq([*dash])) => AfterId::DashAndId,
            (true, _) => AfterId::MoreIds,
            (false, true) => AfterId::Title,
            (false, false) if next.is_alphanumeric() || "'’\"".contains(next) => AfterId::Prose,
            (false, false) => AfterId::Odd(next),
        }
    }
}

/// Finds an id behind brackets that are no box of ours, as in `[-] T1.3`, or in brackets itself.
pub(super) fn unread(line: &Line) -> Option<Unread> {
    let mut cursor = LinePosition { line, at: 0 };
    Marks::default().take(&mut cursor);
    if cursor.line.is_code(cursor.at) {
        return None;
    }
    let (inside, behind) = cursor.rest().strip_prefix('[')?.split_once(']')?;
    let start = cursor.at + 1;
    let (word, at, mark) = match ids::classify(inside) {
        Word::Id(_) => (inside, start, None),
        _ if inside.chars().count() <= MARK_LENGTH_MAX => {
            let behind = behind.trim_start();
            let at = line.text().len() - behind.len();
            (&behind[..ids::word_length(behind)], at, Some(inside.to_owned()))
        }
        _ => return None,
    };
    let Word::Id(id) = ids::classify(word) else { return None };
    Some(Unread { id, id_range: at..at + word.len(), mark })
}

/// Reads a heading such as `Phase 1: name`.
pub(super) fn phase_heading(text: &str) -> Option<PhaseHeading<'_>> {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (number, length) = phase_number(text)?;
    let is_digit = |c: char| c.is_ascii_digit();
    let label = text[..length].trim_matches(|c: char| !is_digit(c));
    let name = &text[length..];
    if name.starts_with(char::is_alphanumeric) {
        return None;
    }
    let name = name.trim_start_matches(|c: char| {
        c.is_whitespace() || COLONS.contains(&c) || DASHES.contains(&c) || ".,|".contains(c)
    });
    Some(PhaseHeading { number, label, name: bare_name(name) })
}

/// A heading's text without the mark that says that all below it is completed.
pub(super) fn bare_name(text: &str) -> &str {
    text.trim_end_matches([CHECK, EMOJI_STYLE, ' '])
}

/// Reads `Phase 1`, `페이즈 1`, `단계 1` or `1단계` at the start of `text`, and says how long it is.
///
/// A Korean particle may follow, as in `1단계와`.
pub(super) fn phase_number(text: &str) -> Option<(Number, usize)> {
    let (number, rest) = match after_phase_word(text) {
        Some(rest) => decimal(rest.trim_start())?,
        None => {
            let (number, rest) = decimal(text)?;
            (number, after_phase_word(rest.trim_start())?)
        }
    };
    let goes_on = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    (!goes_on).then(|| (number, text.len() - rest.len()))
}

fn after_phase_word(text: &str) -> Option<&str> {
    let english = text.get(..5).filter(|word| word.eq_ignore_ascii_case("phase"));
    let korean = ["페이즈", "단계"].into_iter().find(|word| text.starts_with(word));
    english.or(korean).map(|word| &text[word.len()..])
}

fn decimal(text: &str) -> Option<(Number, &str)> {
    let (whole, rest) = digits(text)?;
    let number = whole.parse().ok();
    let mut behind = rest;
    while let Some((_, rest)) = behind.strip_prefix('.').and_then(digits) {
        behind = rest;
    }
    let kind = if behind.len() < rest.len() { Number::Fraction } else { Number::Whole };
    Some((number.map_or(Number::TooLarge, kind), behind))
}

fn digits(text: &str) -> Option<(&str, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0).then(|| text.split_at(length))
}

/// Takes the words that only say "task list" off a heading; what is left names the project.
pub(super) fn project_name(heading: &str) -> &str {
    let divides = |c: char| COLONS.contains(&c) || DASHES.contains(&c) || c == '|';
    let divides_or_space = |c: char| divides(c) || c.is_whitespace();
    let plain = heading.trim();
    let text = plain.trim_start_matches(|c: char| !c.is_alphanumeric() && !"[(".contains(c));
    let in_front = LIST_WORDS.iter().find_map(|word| {
        let name = strip_word(text, word)?.trim_start();
        let is_apart = name.is_empty() || name.starts_with(divides);
        is_apart.then(|| name.trim_start_matches(divides_or_space))
    });
    let name = in_front.unwrap_or(plain);
    let behind = LIST_WORDS.iter().find_map(|word| {
        let start = name.len().checked_sub(word.len())?;
        strip_word(name.get(start..)?, word)?;
        let name = &name[..start];
        name.ends_with(divides_or_space).then(|| name.trim_end_matches(divides_or_space))
    });
    behind.unwrap_or(name)
}

fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}
