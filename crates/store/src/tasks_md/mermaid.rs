//! Edges of a Mermaid flowchart: `T1.1 --> T1.2`, chains, `A & B`, labels and aliases.
//!
//! Only what orders tasks is read. Lines that draw (subgraphs, classes, styles, clicks, comments)
//! are passed over; what a node means is decided later, when all ids of the file are known.

use super::{
    ids::{self, Word},
    line::Line,
};
use std::{collections::HashMap, ops::Range};
use waypost_model::id::TaskId;

/// Words that start a line which draws and orders nothing.
const DRAWING: [&str; 8] =
    ["subgraph", "end", "classDef", "class", "style", "linkStyle", "click", "direction"];

/// The edges of one graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) chains: Vec<Chain>,
    /// Statements that name an id and could not be understood.
    pub(super) unclear: Vec<Range<usize>>,
    /// The id at the start of a node's label, as in `A[T1.1: title]`.
    labels: HashMap<String, TaskId>,
}

/// Groups of nodes joined by links: `A & B --> C --> D`.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) groups: Vec<Vec<MermaidNode>>,
    /// The links between the groups, one fewer than there are groups.
    pub(super) links: Vec<Link>,
}

/// One node where it is mentioned.
#[derive(Debug)]
pub(super) struct MermaidNode {
    pub(super) name: String,
    pub(super) span: Range<usize>,
}

/// What a link orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// The right side waits for the left one.
    Forward,
    /// `<-->`: each side waits for the other, which the plan will refuse.
    Both,
    /// `---`: a line without an arrow.
    Plain,
    /// `~~~`: only moves nodes about.
    Hidden,
}

impl Graph {
    /// Reads the text of a fenced block; `None` for other kinds of diagram.
    pub(super) fn read(line: &Line) -> Option<Self> {
        let text = line.text();
        let mut graph = Self::default();
        let mut is_flowchart = false;
        let mut at = 0;
        while at < text.len() {
            let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
            let statement = text[at..end].trim_start();
            let first = statement.split(|c: char| c.is_whitespace() || c == ';').next();
            match first.unwrap_or_default() {
                "graph" | "flowchart" | "flowchart-elk" if !is_flowchart => {
                    is_flowchart = true;
                    if let Some((_, rest)) = statement.split_once(';') {
                        graph.statements(line, end - rest.len(), end);
                    }
                }
                word if DRAWING.contains(&word) || statement.starts_with("%%") => {}
                "" => {}
                // Before the kind of diagram only its configuration can stand.
                _ if !is_flowchart && is_configuration(statement) => {}
                _ if !is_flowchart => return None,
                _ => graph.statements(line, at, end),
            }
            at = end + 1;
        }
        is_flowchart.then_some(graph)
    }

    /// The task that a node stands for, as far as its spelling tells: its label before its name.
    pub(super) fn candidates(&self, node: &MermaidNode) -> impl Iterator<Item = TaskId> {
        let name = match ids::classify(&node.name) {
            Word::Id(id) => Some(id),
            // Mermaid's users avoid dots in names: `T1_2` is T1.2.
            _ => match ids::classify(&node.name.replace('_', ".")) {
                Word::Id(id) => Some(id),
                _ => None,
            },
        };
        self.labels.get(&node.name).cloned().into_iter().chain(name)
    }

    /// Reads the statements of one line, which `;` divides.
    fn statements(&mut self, line: &Line, start: usize, end: usize) {
        let mut scan = MermaidScan { line, at: start, end, labels: &mut self.labels };
        while scan.at < scan.end {
            let from = scan.at;
            match scan.chain() {
                Some(chain) if chain.groups.len() > 1 => self.chains.push(chain),
                Some(_) => {}
                None => {
                    let text = line.text()[from..end].trim_end();
                    let start = end - line.text()[from..end].trim_start().len();
                    let divides = |c: char| !c.is_ascii_alphanumeric() && !".-_".contains(c);
                    if text.split(divides).any(|word| is_id(word.trim_matches(['-', '.']))) {
                        self.unclear.push(line.span(start..from + text.len()));
                    }
                    return;
                }
            }
        }
    }
}

fn is_id(word: &str) -> bool {
    matches!(ids::classify(word), Word::Id(_))
}

/// Front matter and directives: `---`, `title: x`, `%%{init: …}%%`.
fn is_configuration(statement: &str) -> bool {
    statement.starts_with("---") || statement.contains(':') && !statement.contains("-->")
}

struct MermaidScan<'a> {
    line: &'a Line,
    at: usize,
    end: usize,
    labels: &'a mut HashMap<String, TaskId>,
}

impl<'a> MermaidScan<'a> {
    fn rest(&self) -> &'a str {
        &self.line.text()[self.at..self.end]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Reads one statement and the `;` behind it.
    fn chain(&mut self) -> Option<Chain> {
        let mut chain = Chain::default();
        loop {
            chain.groups.push(self.group()?);
            self.space();
            if self.rest().starts_with("%%") {
                self.at = self.end;
            }
            if self.rest().is_empty() || self.eat(";") {
                return Some(chain);
            }
            chain.links.push(self.link()?);
        }
    }

    fn group(&mut self) -> Option<Vec<MermaidNode>> {
        let mut group = vec![self.node()?];
        loop {
            self.space();
            if !self.eat("&") {
                return Some(group);
            }
            group.push(self.node()?);
        }
    }

    fn node(&mut self) -> Option<MermaidNode> {
        self.space();
        let start = self.at;
        let length = name_length(self.rest());
        if length == 0 {
            return None;
        }
        self.at += length;
        let name = self.line.text()[start..self.at].to_owned();
        if let Some(id) = self.label()?.and_then(leading_id) {
            self.labels.entry(name.clone()).or_insert(id);
        }
        if self.eat(":::") {
            self.at += name_length(self.rest());
        }
        Some(MermaidNode { name, span: self.line.span(start..start + length) })
    }

    /// Reads the shape behind a name; the outer `None` is one that does not close.
    fn label(&mut self) -> Option<Option<&'a str>> {
        self.eat("@");
        let rest = self.rest();
        if !rest.starts_with(['[', '(', '{', '>']) {
            return Some(None);
        }
        let mut depth = 0_u32;
        let mut quoted = false;
        for (at, c) in rest.char_indices() {
            match c {
                '"' => quoted = !quoted,
                _ if quoted => {}
                '[' | '(' | '{' => depth += 1,
                '>' if at == 0 => depth += 1,
                ']' | ')' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && !quoted {
                self.at += at + c.len_utf8();
                return Some(Some(&rest[..at]));
            }
        }
        None
    }

    /// Reads `-->`, `-.->`, `==>`, `---`, longer ones, and those with text: `-->|x|`, `-- x -->`.
    fn link(&mut self) -> Option<Link> {
        let both = self.eat("<");
        let stroke = self.rest().chars().next().filter(|c| "-=~".contains(*c))?;
        self.line_of(stroke)?;
        let mut arrow = self.arrow_head();
        if !arrow && self.has_text(stroke) {
            self.skip_text(stroke)?;
            self.line_of(stroke)?;
            arrow = self.arrow_head();
        }
        self.space();
        if self.eat("|") {
            self.at += self.rest().find('|')? + 1;
        }
        Some(match (arrow, both) {
            _ if stroke == '~' => Link::Hidden,
            (true, true) => Link::Both,
            (true, false) => Link::Forward,
            (false, _) => Link::Plain,
        })
    }

    /// Takes a line of at least two strokes; dots may stand between them.
    fn line_of(&mut self, stroke: char) -> Option<()> {
        let rest = self.rest();
        let length = rest.len() - rest.trim_start_matches([stroke, '.']).len();
        self.at += length;
        (length >= 2).then_some(())
    }

    /// Takes `>`, or a round or crossed head that a space divides from the next name.
    fn arrow_head(&mut self) -> bool {
        let mut characters = self.rest().chars();
        let head = characters.next();
        let alone = characters.next().is_none_or(|c| c.is_whitespace() || c == '|');
        let found = head == Some('>') || (alone && matches!(head, Some('o' | 'x')));
        self.at += usize::from(found);
        found
    }

    /// Whether text of the link follows rather than its target: then the same strokes come again.
    fn has_text(&self, stroke: char) -> bool {
        let rest = self.rest();
        let drawn = self.line.text()[..self.at].chars().rev().take_while(|&c| c == stroke).count();
        let dotted = self.line.text()[..self.at].ends_with('.');
        (dotted || drawn == 2) && !rest.trim_start().is_empty()
    }

    /// Goes to where the line begins again behind the text of a link.
    fn skip_text(&mut self, stroke: char) -> Option<()> {
        let dotted = self.line.text()[..self.at].ends_with('.');
        let again = if dotted { ".-".to_owned() } else { [stroke, stroke].iter().collect() };
        self.at += self.rest().find(&again)?;
        Some(())
    }
}

/// How long the name of a node is; a dash belongs to it when a letter or digit follows.
fn name_length(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|&(_, next)| next);
        let joins = matches!(c, '-' | '.') && at > 0 && next.is_some_and(char::is_alphanumeric);
        if !(c.is_alphanumeric() || c == '_' || joins) {
            return at;
        }
    }
    text.len()
}

/// The id at the start of a label such as `["T1.1: title`.
fn leading_id(label: &str) -> Option<TaskId> {
    let text = match label.split_once("label:") {
        Some((_, text)) if label.starts_with('{') => text,
        _ => label,
    };
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    match ids::classify(text[..ids::word_length(text)].trim_end_matches(['.', '-', '_'])) {
        Word::Id(id) => Some(id),
        _ => None,
    }
}
