//! The inside of a block: fields, and what they have to be.

use super::FIELD_LENGTH_MAX;
use super::line::Name;
use super::signal::{
    Dependency, DependencyKind, Problem, Question, QuestionKind, Recovery, Severity, Signal,
};
use serde_json::Value;

/// What is wrong with a block.
type Fault = String;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Text(String),
    List(Vec<String>),
}

/// The fields of a block, in the order in which they were written.
#[derive(Debug, Default)]
struct Fields {
    all: Vec<(&'static str, Field)>,
    cut: Vec<&'static str>,
}

fn keys(name: Name) -> &'static [&'static str] {
    match name {
        Name::Dependency => &["type", "name", "description", "required", "default"],
        Name::Question => &["category", "question", "options", "default", "required"],
        Name::Error => &["type", "message", "details", "recovery"],
    }
}

/// Whether a text begins with a field of the block.
pub(super) fn begins_with_field(name: Name, text: &str) -> bool {
    key_value(name, text).is_some()
}

/// The signal of a block of lines.
pub(super) fn from_lines(name: Name, body: &str) -> Result<Signal, Fault> {
    signal(name, lines(name, body)?)
}

/// The signal of a block that is one line of fields with commas between them.
pub(super) fn from_line(name: Name, text: &str) -> Result<Signal, Fault> {
    let mut fields = Fields::default();
    let mut rest = text;
    while !rest.trim().is_empty() {
        let Some((key, value)) = key_value(name, rest) else {
            return Err(format!("expected `key: value` at `{}`", start(rest)));
        };
        // A comma ends the value only where another field begins behind it.
        let next = value.match_indices(',').map(|(at, _)| at);
        let mut next = next.filter(|at| key_value(name, &value[at + 1..]).is_some());
        let end = next.next().unwrap_or(value.len());
        fields.add(key, Field::Text(value[..end].trim().to_owned()))?;
        rest = value.get(end + 1..).unwrap_or_default();
    }
    signal(name, fields)
}

/// The signal of a block of JSON.
pub(super) fn from_json(name: Name, body: &str) -> Result<Signal, Fault> {
    let value: Value = serde_json::from_str(body).map_err(|error| format!("not JSON: {error}"))?;
    let Value::Object(members) = value else { return Err("not a JSON object".to_owned()) };
    let mut fields = Fields::default();
    for (key, value) in members {
        let Some(key) = keys(name).iter().find(|known| **known == key) else {
            return Err(unknown(name, &key));
        };
        let field = match value {
            Value::Null => continue,
            Value::String(text) => Field::Text(text),
            Value::Array(items) => {
                let texts = items.into_iter().map(|item| match item {
                    Value::String(text) => Ok(text),
                    other => Err(format!("`{key}` holds {other}, expected texts")),
                });
                Field::List(texts.collect::<Result<_, _>>()?)
            }
            Value::Object(_) => return Err(format!("`{key}` is an object, expected a text")),
            other => Field::Text(other.to_string()),
        };
        fields.add(key, field)?;
    }
    signal(name, fields)
}

/// The known key at the start of a text, and all that stands behind its colon.
fn key_value(name: Name, text: &str) -> Option<(&'static str, &str)> {
    let (key, value) = text.trim_start().split_once(':')?;
    let key = keys(name).iter().find(|known| known.eq_ignore_ascii_case(key.trim_end()))?;
    Some((key, value))
}

fn unknown(name: Name, key: &str) -> Fault {
    format!("unknown field `{}`, expected {}", start(key), keys(name).join(", "))
}

fn start(text: &str) -> String {
    text.trim().chars().take(60).collect()
}

/// `key: value`, with indented lines that go on and `- item` lists.
fn lines(name: Name, body: &str) -> Result<Fields, Fault> {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let written = || body.lines().filter(|line| !line.trim().is_empty());
    // A block may be indented as a whole.
    let margin = written().map(indent).min().unwrap_or(0);
    let mut fields = Fields::default();
    let mut open: Option<(&'static str, Field)> = None;
    for line in body.lines() {
        let line = line.get(margin..).unwrap_or_default();
        let text = line.trim();
        let item = text.strip_prefix("- ").or_else(|| (text == "-").then_some(""));
        if let Some(item) = item {
            let Some((key, field)) = &mut open else {
                return Err(format!("`{}` belongs to no field", start(text)));
            };
            field.push(key, item.trim())?;
        } else if text.is_empty() || indent(line) > 0 {
            match &mut open {
                Some((_, field)) => field.go_on(text),
                None if text.is_empty() => {}
                None => return Err(format!("`{}` belongs to no field", start(text))),
            }
        } else if let Some((key, value)) = key_value(name, text) {
            fields.close(open.take())?;
            // A bar or an arrow announces lines, as in YAML.
            let value = Some(value.trim()).filter(|value| !matches!(*value, "|" | ">"));
            open = Some((key, Field::Text(value.unwrap_or_default().to_owned())));
        } else {
            return Err(match text.split_once(':') {
                Some((key, _)) => unknown(name, key),
                None => format!("expected `key: value` at `{}`", start(text)),
            });
        }
    }
    fields.close(open)?;
    Ok(fields)
}

impl Field {
    fn push(&mut self, key: &str, item: &str) -> Result<(), Fault> {
        match self {
            Self::List(items) => items.push(item.to_owned()),
            Self::Text(text) if text.is_empty() => *self = Self::List(vec![item.to_owned()]),
            Self::Text(_) if key == "options" => {
                return Err("`options` has both a text and a list".to_owned());
            }
            // A list inside a text is a part of it.
            Self::Text(text) => {
                text.push_str("\n- ");
                text.push_str(item);
            }
        }
        Ok(())
    }

    fn go_on(&mut self, line: &str) {
        match self {
            Self::Text(text) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(line);
            }
            Self::List(items) => {
                if let Some(last) = items.last_mut().filter(|_| !line.is_empty()) {
                    last.push(' ');
                    last.push_str(line);
                }
            }
        }
    }
}

impl Fields {
    fn close(&mut self, field: Option<(&'static str, Field)>) -> Result<(), Fault> {
        match field {
            Some((key, field)) => self.add(key, field),
            None => Ok(()),
        }
    }

    fn add(&mut self, key: &'static str, mut field: Field) -> Result<(), Fault> {
        if self.all.iter().any(|(known, _)| *known == key) {
            return Err(format!("`{key}` is there twice"));
        }
        let texts = match &mut field {
            Field::Text(text) => {
                text.truncate(text.trim_end().len());
                std::slice::from_mut(text)
            }
            Field::List(items) => items.as_mut_slice(),
        };
        let mut is_cut = false;
        for text in texts {
            if let Some((at, _)) = text.char_indices().nth(FIELD_LENGTH_MAX) {
                text.truncate(at);
                is_cut = true;
            }
        }
        self.cut.extend(is_cut.then_some(key));
        self.all.push((key, field));
        Ok(())
    }

    fn take(&mut self, key: &str) -> Option<Field> {
        let at = self.all.iter().position(|(known, _)| *known == key)?;
        Some(self.all.swap_remove(at).1)
    }

    /// A text; a list becomes lines.
    fn text(&mut self, key: &str) -> Option<String> {
        let text = match self.take(key)? {
            Field::Text(text) => text,
            Field::List(items) => {
                items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
            }
        };
        Some(text).filter(|text| !text.is_empty())
    }

    fn needed(&mut self, key: &str) -> Result<String, Fault> {
        self.text(key).ok_or_else(|| format!("`{key}` is missing"))
    }

    /// A list, or a text with commas.
    fn list(&mut self, key: &str) -> Vec<String> {
        let items = match self.take(key) {
            None => return Vec::new(),
            Some(Field::List(items)) => items,
            Some(Field::Text(text)) => {
                let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
                inner.unwrap_or(&text).split(',').map(unquoted).collect()
            }
        };
        items.into_iter().filter(|item| !item.is_empty()).collect()
    }

    /// One of some words.
    fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Fault> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(&text));
        let expected = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let fault = || format!("`{key}` is `{}`, expected {}", start(&text), expected());
        found.map(|(_, value)| Some(*value)).ok_or_else(fault)
    }
}

fn unquoted(item: &str) -> String {
    item.trim().trim_matches(['"', '\'']).to_owned()
}

const BOOLEANS: &[(&str, bool)] = &[("true", true), ("false", false), ("yes", true), ("no", false)];

fn signal(name: Name, mut fields: Fields) -> Result<Signal, Fault> {
    Ok(match name {
        Name::Dependency => Signal::Dependency(dependency(&mut fields)?),
        Name::Question => Signal::Question(question(&mut fields)?),
        Name::Error => Signal::Problem(problem(&mut fields)?),
    })
}

fn dependency(fields: &mut Fields) -> Result<Dependency, Fault> {
    let kinds = [
        ("api_key", DependencyKind::ApiKey),
        ("env_variable", DependencyKind::EnvVariable),
        ("service", DependencyKind::Service),
        ("file", DependencyKind::File),
        ("permission", DependencyKind::Permission),
        ("package", DependencyKind::Package),
    ];
    Ok(Dependency {
        kind: fields.word("type", &kinds)?.ok_or("`type` is missing")?,
        name: fields.needed("name")?,
        description: fields.text("description").unwrap_or_default(),
        is_required: fields.word("required", BOOLEANS)?.unwrap_or(true),
        default: fields.text("default"),
        cut: std::mem::take(&mut fields.cut),
    })
}

fn question(fields: &mut Fields) -> Result<Question, Fault> {
    let kinds = [
        ("business", QuestionKind::Business),
        ("clarification", QuestionKind::Clarification),
        ("choice", QuestionKind::Choice),
        ("confirmation", QuestionKind::Confirmation),
    ];
    let kind = fields.word("category", &kinds)?.unwrap_or(QuestionKind::Clarification);
    let options = fields.list("options");
    if kind == QuestionKind::Choice && options.len() < 2 {
        return Err("a `choice` needs `options`, two or more".to_owned());
    }
    Ok(Question {
        kind,
        question: fields.needed("question")?,
        options,
        default: fields.text("default"),
        is_required: fields.word("required", BOOLEANS)?.unwrap_or(true),
        cut: std::mem::take(&mut fields.cut),
    })
}

fn problem(fields: &mut Fields) -> Result<Problem, Fault> {
    let severities = [("recoverable", Severity::Recoverable), ("fatal", Severity::Fatal)];
    let recoveries = [
        ("pause_and_retry", Recovery::PauseAndRetry),
        ("checkpoint_and_fail", Recovery::CheckpointAndFail),
        ("notify_user", Recovery::NotifyUser),
    ];
    Ok(Problem {
        severity: fields.word("type", &severities)?.ok_or("`type` is missing")?,
        message: fields.text("message").unwrap_or_default(),
        details: fields.text("details").unwrap_or_default(),
        recovery: fields.word("recovery", &recoveries)?,
        cut: std::mem::take(&mut fields.cut),
    })
}
