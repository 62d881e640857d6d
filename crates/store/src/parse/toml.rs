//! TOML text as a tree with places.

use super::text::{Span, place};
use super::tree::{Entry, FINDINGS_MAX, Node, Value};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};
use waypost_model::diagnostic::Diagnostic;
use waypost_model::document::code;

/// Reads a TOML document into a tree, or says everywhere that it is not well formed.
pub(super) fn tree(text: &str) -> Result<Node<'_>, Vec<Diagnostic>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let mut found = Vec::new();
        for error in errors.iter().take(FINDINGS_MAX) {
            found.push(explain(text, error));
            // Where the parser gave up on depth, everything that follows is its consequence.
            if found.last().is_some_and(|finding| finding.code == code::TOO_DEEP) {
                break;
            }
        }
        return Err(found);
    }
    let span = span_of(&table.span());
    let value = TomlBuild { text }.table(table.into_inner()).map_err(|finding| vec![*finding])?;
    Ok(Node { span, value })
}

fn explain(text: &str, error: &Error) -> Diagnostic {
    let message = error.message();
    let code = match message {
        "duplicate key" => code::DUPLICATE_KEY,
        _ if message.contains("recurs") => code::TOO_DEEP,
        _ => code::SYNTAX,
    };
    let span = error.span().unwrap_or_default();
    Diagnostic::error(code, message).at(place(text, span_of(&span)))
}

fn span_of(range: &Range<usize>) -> Span {
    Span::new(range.start, range.end)
}

struct TomlBuild<'t> {
    text: &'t str,
}

impl<'t> TomlBuild<'t> {
    fn table(&self, table: DeTable<'t>) -> Result<Value<'t>, Box<Diagnostic>> {
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            let key_span = span_of(&key.span());
            entries.push(Entry { key: key.into_inner(), key_span, node: self.node(value)? });
        }
        // The parser sorts by name; a reader of the file expects its own order.
        entries.sort_by_key(|entry| entry.key_span.start);
        Ok(Value::Map(entries))
    }

    fn node(&self, value: Spanned<DeValue<'t>>) -> Result<Node<'t>, Box<Diagnostic>> {
        let span = span_of(&value.span());
        let finding = |code, message: &str| {
            Box::new(Diagnostic::error(code, message).at(place(self.text, span)))
        };
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text),
            DeValue::Integer(integer) => {
                let (digits, radix) = (integer.as_str(), integer.radix());
                match (u64::from_str_radix(digits, radix), i64::from_str_radix(digits, radix)) {
                    (Ok(value), _) => Value::Unsigned(value),
                    (_, Ok(value)) => Value::Negative(value),
                    _ => return Err(finding(code::OUT_OF_RANGE, "the number is too large")),
                }
            }
            DeValue::Float(float) => match float.as_str().parse::<f64>() {
                Ok(value) if value.is_finite() => Value::Float(value),
                _ => return Err(finding(code::NOT_A_NUMBER, "this is not a finite number")),
            },
            DeValue::Boolean(value) => Value::Bool(value),
            DeValue::Datetime(time) => Value::Text(time.to_string().into()),
            DeValue::Array(items) => {
                let items: Result<_, _> = items.into_iter().map(|item| self.node(item)).collect();
                Value::List(items?)
            }
            DeValue::Table(table) => self.table(table)?,
        };
        Ok(Node { span, value })
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::{Parsed, parse, render};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use waypost_model::diagnostic::Diagnostic;
    use waypost_model::document::{Document, Kind};
    use waypost_model::json::OpenMap;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    #[derive(Default)]
    struct Sample {
        limit: u8,
        name: String,
        gates: Gates,
        open: OpenMap,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    struct Gates {
        check: Option<String>,
        human: bool,
    }

    impl Document for Sample {
        const KIND: Kind = Kind::Config;

        fn check(&self) -> Vec<Diagnostic> {
            if self.limit < 100 {
                return Vec::new();
            }
            vec![Diagnostic::error("out_of_range", "too much").path("limit")]
        }
    }

    fn check(text: &str, want: &[&str]) {
        let found = parse::<Sample>(text.as_bytes()).expect_err(text);
        let line = |found: &Diagnostic| {
            let place = found.place.unwrap();
            format!("{}:{} {} {}", place.line, place.column, found.code, found.path)
        };
        assert_eq!(found.iter().map(line).collect::<Vec<_>>(), want, "{text}");
    }

    #[test]
    fn values_are_read_in_the_order_of_the_file() {
        let text = "# notes\nlimit = 0x10\nname = 'x'\ngates.human = true\n\n[open]\nz = 1979-05-27\n\
                    a = [1, -2, 0.5]\n";
        let Parsed { value, warnings } = parse::<Sample>(text.as_bytes()).unwrap();
        assert_eq!(warnings, []);
        let shown = format!("{:?}", serde_json::to_string(&value.open).unwrap());
        assert_eq!(
            (value.limit, shown.as_str()),
            (16, r#""{\"z\":\"1979-05-27\",\"a\":[1,-2,0.5]}""#)
        );
        assert_eq!(parse::<Sample>(render(&value).as_bytes()).unwrap().value.gates, value.gates);
        assert_eq!(parse::<Sample>(b"").unwrap().value, Sample::default());
    }

    #[test]
    fn what_is_wrong_is_said_where_it_is() {
        check("limit = 1\nlimt = 2\n", &["2:1 unknown_field limt"]);
        check(
            "[gates]\nhuman = \"false\"\ncheck = 3\n",
            &["2:9 wrong_type gates.human", "3:9 wrong_type gates.check"],
        );
        check("limit = 300\n", &["1:9 out_of_range limit"]);
        check("limit = 200\n", &["1:9 out_of_range limit"]);
        check("limit = 1\nname = 'a'\nlimit = 2\n", &["3:1 duplicate_key "]);
        check("limit = \nname = \n", &["1:9 syntax ", "2:8 syntax "]);
        check("[open]\nx = nan\n", &["2:5 not_a_number "]);
        check("[open]\nx = 99999999999999999999\n", &["2:5 out_of_range "]);
        check(&format!("open = {{ x = {} }}", "[".repeat(200)), &["1:93 too_deep "]);
        check(&format!("{} = 1", vec!["open"; 1_000].join(".")), &["1:1 too_deep "]);
    }
}
