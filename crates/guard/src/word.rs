//! What a word of the shell becomes: its fields, and the commands that run to make them.
//!
//! A piece that is only known at run time is [`UNKNOWN`] in the text. No argument of a program can
//! hold that letter, so it is never mistaken for one that was written.

use std::collections::BTreeMap;
use std::rc::Rc;

use rable::{Node, NodeKind};

use crate::deed::UNKNOWN_VARIABLE;
use crate::embedded;
use crate::output::output_of;

/// Stands for text that cannot be known before the command runs.
pub(crate) const UNKNOWN: char = '\0';

/// Variables that are followed: each branch compares them all.
const VARIABLES: usize = 100;

/// The longest name of a variable that is followed.
const NAME_LIMIT: usize = 100;

/// The longest value that is followed: doubled now and again, a short one fills any memory.
const VALUE_LIMIT: usize = 8 * 1024;

/// The longest text that a word is expanded to.
const EXPANSION_LIMIT: usize = 128 * 1024;

/// The shell's variables, as far as the command itself sets them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// `None`: set to something that is not known. Absent: whatever the environment says.
    pub(crate) variables: Rc<BTreeMap<String, Option<Rc<str>>>>,
    /// The positional parameters, where a function or `bash -c` was given some.
    pub(crate) arguments: Option<Rc<Vec<String>>>,
    /// A variable by which `waypost` finds its configuration, if the command sets one.
    pub(crate) chosen: Option<Rc<str>>,
    /// A variable by which programs find programs, if the command sets one: a check that `waypost`
    /// runs would then be another.
    pub(crate) led: Option<Rc<str>>,
    /// What `git rev-parse --show-toplevel` prints, as long as nothing has changed that.
    pub(crate) top: Option<Rc<str>>,
    /// How often the command has set such a variable.
    pub(crate) choices: u32,
    /// How many outputs are being worked out inside one another.
    pub(crate) nesting: u8,
    /// Inside backticks, where an escaped backtick opens another command.
    pub(crate) in_backticks: bool,
}

impl Scope {
    pub(crate) fn set(&mut self, name: &str, value: Option<String>) {
        self.choose(name);
        // What is not noted is not known, so forgetting is safe; separators alone must be noted.
        let is_new = !self.variables.contains_key(name);
        let is_many = self.variables.len() >= VARIABLES || name.len() > NAME_LIMIT;
        if is_new && name != "IFS" && is_many {
            return;
        }
        let value = value.filter(|value| value.len() <= VALUE_LIMIT).map(Rc::from);
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
    }

    /// Notes that a variable is set, if it says which configuration `waypost` takes.
    pub(crate) fn choose(&mut self, name: &str) {
        let is_ours = matches!(name, "HOME" | "XDG_CONFIG_HOME" | "XDG_STATE_HOME")
            || name.starts_with("WAYPOST_");
        if is_ours {
            self.choices += 1;
            self.chosen.get_or_insert_with(|| name.into());
        }
        if name == "PATH" || name.starts_with("GIT_") || name == "ENV" || name == "BASH_ENV" {
            self.top = None;
        }
        if matches!(name, "PATH" | "BASH_ENV" | "ENV" | "SHELL") || name.starts_with("LD_") {
            self.choices += 1;
            self.led.get_or_insert_with(|| name.into());
        }
    }

    fn get(&self, name: &str) -> Option<String> {
        let number = name.parse::<usize>().ok();
        if let Some(index) = number.and_then(|number| number.checked_sub(1)) {
            let arguments = self.arguments.as_ref()?;
            return Some(arguments.get(index).cloned().unwrap_or_default());
        }
        match self.variables.get(name) {
            _ if name == UNKNOWN_VARIABLE => None,
            Some(value) => value.as_deref().map(str::to_owned),
            None if name == "IFS" => Some(" \t\n".to_owned()),
            // As a path it is the same, and paths are what it is used for.
            None if name == "HOME" && self.chosen.is_none() => Some("~".to_owned()),
            None => None,
        }
    }

    /// Keeps what both ways agree on; a variable that differs is known no more.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.chosen.is_none() {
            self.chosen.clone_from(&other.chosen);
            self.choices = self.choices.max(other.choices);
        }
        if self.led.is_none() {
            self.led.clone_from(&other.led);
        }
        if self.top != other.top {
            self.top = None;
        }
        if Rc::ptr_eq(&self.variables, &other.variables) {
            return;
        }
        let mine = Rc::make_mut(&mut self.variables);
        for (name, value) in other.variables.iter() {
            if mine.get(name) != Some(value) {
                mine.insert(name.clone(), None);
            }
        }
        let gone = |name: &&String| !other.variables.contains_key(*name);
        let lost: Vec<String> = mine.keys().filter(gone).cloned().collect();
        for name in lost {
            mine.insert(name, None);
        }
    }
}

/// A command inside a word.
#[derive(Debug)]
pub(crate) enum Inner<'a> {
    Parsed {
        command: &'a Node,
        in_backticks: bool,
    },
    /// `>(…)`, which reads what is written to it.
    Reader(&'a Node),
    Text(String),
}

/// What became of a word.
#[derive(Debug, Default)]
pub(crate) struct Expansion<'a> {
    pub(crate) fields: Vec<String>,
    pub(crate) inner: Vec<Inner<'a>>,
    /// Variables that the word itself sets: `${x:=y}`.
    pub(crate) assigned: Vec<String>,
    /// The word could not be read to its end.
    pub(crate) unreadable: bool,
}

/// Expands a word as an argument: split into fields where it is not quoted.
pub(crate) fn expand<'a>(word: &'a Node, scope: &Scope) -> Expansion<'a> {
    Expander::run(word, scope, true)
}

/// Expands a word as the value of an assignment or the target of a redirection.
pub(crate) fn expand_whole<'a>(word: &'a Node, scope: &Scope) -> (String, Expansion<'a>) {
    let mut expansion = Expander::run(word, scope, false);
    (expansion.fields.pop().unwrap_or_default(), expansion)
}

struct Expander<'a, 's> {
    scope: &'s Scope,
    splits: bool,
    double: bool,
    /// The field being built; `None` while there is not even an empty one.
    field: Option<String>,
    /// What has been made so far, in bytes.
    size: usize,
    done: Expansion<'a>,
}

impl<'a> Expander<'a, '_> {
    fn run(word: &'a Node, scope: &Scope, splits: bool) -> Expansion<'a> {
        let mut expander = Expander {
            scope,
            splits,
            double: false,
            field: None,
            size: 0,
            done: Expansion::default(),
        };
        let NodeKind::Word { value, parts, .. } = &word.kind else {
            expander.done.unreadable = true;
            return expander.done;
        };
        let is_plain = parts.iter().all(is_plain);
        for part in parts {
            expander.part(part, value, is_plain);
        }
        if !is_plain {
            match embedded::commands(value, true) {
                Some(found) => expander.done.inner.extend(found.into_iter().map(Inner::Text)),
                None => expander.done.unreadable = true,
            }
        }
        let last = expander.field.take();
        expander.done.fields.extend(last);
        expander.done
    }

    fn part(&mut self, part: &'a Node, raw: &str, is_plain: bool) {
        match &part.kind {
            NodeKind::WordLiteral { value } => self.literal(value),
            NodeKind::AnsiCQuote { decoded, .. } => self.add(decoded),
            NodeKind::LocaleString { inner, .. } if !inner.contains(['$', '`', '\\']) => {
                self.add(inner);
            }
            NodeKind::ParamExpansion { param, op: None, .. } if param == "@" || param == "*" => {
                self.all_arguments(param == "@");
            }
            NodeKind::ParamExpansion { param, op, .. } => {
                let value = self.scope.get(param);
                let keeps = |value: &String| match op.as_deref() {
                    None => true,
                    Some(":-" | ":=" | ":?") => !value.is_empty(),
                    Some(_) => false,
                };
                if matches!(op.as_deref(), Some(":=" | "=")) {
                    self.done.assigned.push(param.clone());
                }
                self.value(value.filter(keeps));
            }
            NodeKind::CommandSubstitution { command, .. } => {
                self.value(output_of(command, self.scope).map(|text| trimmed(&text)));
                if is_plain {
                    let in_backticks = raw.contains('`');
                    self.done.inner.push(Inner::Parsed { command, in_backticks });
                }
            }
            NodeKind::ProcessSubstitution { command, direction } => {
                self.add(&UNKNOWN.to_string());
                if is_plain {
                    self.done.inner.push(match direction.as_str() {
                        ">" => Inner::Reader(command),
                        _ => Inner::Parsed { command, in_backticks: false },
                    });
                }
            }
            _ => self.add(&UNKNOWN.to_string()),
        }
    }

    fn add(&mut self, text: &str) {
        // Even an empty field is something, for there may be many.
        self.size += text.len() + 1;
        if self.size <= EXPANSION_LIMIT {
            self.field.get_or_insert_default().push_str(text);
        } else {
            self.done.unreadable = true;
        }
    }

    /// Text as it stands in the source, quotes and all.
    fn literal(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            match (char, self.double) {
                ('"', _) => {
                    self.double = !self.double;
                    self.add("");
                }
                ('\'', false) => {
                    self.add("");
                    for char in chars.by_ref().take_while(|&char| char != '\'') {
                        self.push(char);
                    }
                }
                ('\\', double) => match chars.next() {
                    Some('\n') => {}
                    Some(next) if !double || matches!(next, '$' | '`' | '"' | '\\') => {
                        self.done.unreadable |= next == '`' && self.scope.in_backticks;
                        self.push(next);
                    }
                    Some(next) => {
                        self.push('\\');
                        self.push(next);
                    }
                    None => self.push('\\'),
                },
                // The parser takes commands out of words two levels deep; one that it left makes
                // text that is not known, and is found by `embedded`.
                ('`', _) => self.push(UNKNOWN),
                ('$' | '<' | '>', _) if chars.peek() == Some(&'(') => self.push(UNKNOWN),
                _ => self.push(char),
            }
        }
    }

    fn push(&mut self, char: char) {
        self.add(char.encode_utf8(&mut [0; 4]));
    }

    fn value(&mut self, value: Option<String>) {
        let Some(value) = value else { return self.add(&UNKNOWN.to_string()) };
        if self.size > EXPANSION_LIMIT {
            return;
        }
        if self.double || !self.splits {
            return self.add(&value);
        }
        // With separators of its own, where the command splits cannot be told.
        if self.scope.variables.contains_key("IFS") {
            return self.add(&UNKNOWN.to_string());
        }
        for (index, piece) in value.split([' ', '\t', '\n']).enumerate() {
            if index > 0 {
                let whole = self.field.take();
                self.done.fields.extend(whole);
            }
            if !piece.is_empty() {
                self.add(piece);
            }
        }
    }

    fn all_arguments(&mut self, separate: bool) {
        let Some(arguments) = self.scope.arguments.clone() else {
            return self.add(&UNKNOWN.to_string());
        };
        if !self.splits || (self.double && !separate) {
            return self.add(&arguments.join(" "));
        }
        for (index, argument) in arguments.iter().enumerate() {
            if self.size > EXPANSION_LIMIT {
                break;
            }
            if index > 0 {
                let whole = self.field.take();
                self.done.fields.extend(whole);
            }
            if self.double { self.add(argument) } else { self.value(Some(argument.clone())) }
        }
        // An empty `"$@"` is no field at all, though its quotes made one.
        if arguments.is_empty() && self.field.as_deref() == Some("") {
            self.field = None;
        }
    }
}

/// Whether the parts say all there is to know about the commands inside.
fn is_plain(part: &Node) -> bool {
    match &part.kind {
        NodeKind::WordLiteral { value } => {
            !["$(", "`", "<(", ">("].iter().any(|opening| value.contains(opening))
        }
        NodeKind::AnsiCQuote { .. }
        | NodeKind::CommandSubstitution { .. }
        | NodeKind::ProcessSubstitution { .. }
        | NodeKind::ParamLength { .. } => true,
        NodeKind::ParamExpansion { param, op: None, arg: None } => {
            param.chars().all(|char| char.is_alphanumeric() || "_@*#?$!-".contains(char))
        }
        NodeKind::LocaleString { inner: text, .. } | NodeKind::BraceExpansion { content: text } => {
            !text.contains(['$', '`'])
        }
        _ => false,
    }
}

fn trimmed(text: &str) -> String {
    text.trim_end_matches('\n').to_owned()
}
