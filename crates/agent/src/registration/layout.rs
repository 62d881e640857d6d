//! Writing a value so that it fits the text around it.

use super::scan::{Content, Node};
use serde_json::Value;

/// A value that is written into settings; keys keep their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Object(Vec<(&'static str, Self)>),
    /// An object with one part, under a name that is found out as it is written.
    Named(String, Box<Self>),
    Array(Vec<Self>),
    Text(String),
    Number(u32),
}

/// How the text around is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// All on one line.
    Inline,
    /// Each part on its own line, `indent` deep.
    Lines { newline: &'static str, indent: String, unit: String },
}

impl Layout {
    /// The layout of the parts of a value that is written in this one.
    pub(super) fn inner(&self) -> Self {
        match self {
            Self::Inline => Self::Inline,
            Self::Lines { newline, indent, unit } => {
                Self::Lines { newline, indent: format!("{indent}{unit}"), unit: unit.clone() }
            }
        }
    }

    /// What stands before a part on its own line; nothing where all is on one line.
    pub(super) fn line_start(&self) -> String {
        match self {
            Self::Inline => String::new(),
            Self::Lines { newline, indent, .. } => format!("{newline}{indent}"),
        }
    }

    /// What stands between two parts.
    fn separator(&self) -> String {
        match self {
            Self::Inline => ", ".to_owned(),
            Self::Lines { .. } => format!(",{}", self.line_start()),
        }
    }
}

impl Shape {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The value as it is written where `layout` rules.
    pub(super) fn render(&self, layout: &Layout) -> String {
        let inner = layout.inner();
        let (open, parts, close) = match self {
            Self::Object(members) => {
                let member = |(key, value): &(&str, Self)| member(key, value, &inner);
                ('{', members.iter().map(member).collect::<Vec<_>>(), '}')
            }
            Self::Named(key, value) => ('{', vec![member(key, value, &inner)], '}'),
            Self::Array(items) => ('[', items.iter().map(|it| it.render(&inner)).collect(), ']'),
            Self::Text(text) => return Value::from(text.as_str()).to_string(),
            Self::Number(number) => return number.to_string(),
        };
        let (start, between, end) = (inner.line_start(), inner.separator(), layout.line_start());
        format!("{open}{start}{}{end}{close}", parts.join(&between))
    }

    /// Whether a value in a text is this one, however it is laid out.
    pub(super) fn matches(&self, node: &Node) -> bool {
        match (self, &node.content) {
            (Self::Object(members), Content::Object(items)) => {
                let is_there = |(key, value): &(&'static str, Self)| {
                    node.member(key).is_some_and(|found| value.matches(found))
                };
                members.len() == items.len() && members.iter().all(is_there)
            }
            (Self::Named(key, value), Content::Object(items)) => {
                items.len() == 1 && node.member(key).is_some_and(|found| value.matches(found))
            }
            (Self::Array(values), Content::Array(items)) => {
                let mut pairs = values.iter().zip(items);
                values.len() == items.len() && pairs.all(|(value, it)| value.matches(&it.value))
            }
            (Self::Text(text), Content::Text(found)) => text == found,
            (Self::Number(number), Content::Word(found)) => number.to_string() == *found,
            _ => false,
        }
    }
}

/// A key with its value.
pub(super) fn member(key: &str, value: &Shape, layout: &Layout) -> String {
    format!("{}: {}", Value::from(key), value.render(layout))
}
