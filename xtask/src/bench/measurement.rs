//! One measurement, read from a benchmark's line, and the table of all of them.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// What a benchmark measured, with the object it came from.
#[derive(Debug, PartialEq)]
pub(crate) struct Measurement {
    name: String,
    ours: f64,
    /// The alternative's number, where there is an alternative.
    other: Option<f64>,
    unit: String,
    /// Ours divided by the other's.
    ratio: Option<f64>,
    target: Option<Target>,
    pub(crate) raw: Value,
}

/// What the ratio should be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Measurement {
    pub(crate) fn parse(line: &str) -> Result<Self> {
        let raw: Value = serde_json::from_str(line)?;
        let text = |key: &str| -> Result<String> {
            Ok(raw[key].as_str().with_context(|| format!("`{key}` is not a text"))?.to_owned())
        };
        let number = |key: &str| match &raw[key] {
            Value::Null => Ok(None),
            value => value.as_f64().with_context(|| format!("`{key}` is not a number")).map(Some),
        };
        let measurement = Self {
            name: text("name")?,
            ours: number("ours")?.context("`ours` is missing")?,
            other: number("other")?,
            unit: text("unit")?,
            ratio: number("ratio")?,
            target: Target::parse(&raw["target"])?,
            raw: Value::Null,
        };
        if measurement.target.is_some() && measurement.ratio.is_none() {
            bail!("a `target` needs a `ratio`");
        }
        Ok(Self { raw, ..measurement })
    }

    fn verdict(&self) -> &'static str {
        match (self.ratio, self.target) {
            (Some(ratio), Some(Target::AtMost(limit))) if ratio <= limit => "met",
            (Some(ratio), Some(Target::AtLeast(limit))) if ratio >= limit => "met",
            (Some(_), Some(_)) => "MISSED",
            _ => "",
        }
    }

    fn cells(&self) -> [String; 7] {
        let number = |value: Option<f64>| value.map(shown).unwrap_or_default();
        [
            self.name.clone(),
            shown(self.ours),
            number(self.other),
            self.unit.clone(),
            number(self.ratio),
            self.target.map(Target::shown).unwrap_or_default(),
            self.verdict().to_owned(),
        ]
    }
}

impl Target {
    fn parse(value: &Value) -> Result<Option<Self>> {
        let text = match value {
            Value::Null => return Ok(None),
            Value::String(text) => text.trim(),
            _ => bail!("`target` is neither \"<= N\" nor \">= N\""),
        };
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        if let Some(limit) = text.strip_prefix("<=").and_then(number) {
            Ok(Some(Self::AtMost(limit)))
        } else if let Some(limit) = text.strip_prefix(">=").and_then(number) {
            Ok(Some(Self::AtLeast(limit)))
        } else {
            bail!("`target` is neither \"<= N\" nor \">= N\"")
        }
    }

    fn shown(self) -> String {
        match self {
            Self::AtMost(limit) => format!("<= {}", shown(limit)),
            Self::AtLeast(limit) => format!(">= {}", shown(limit)),
        }
    }
}

/// A number with as many places as help: none from a thousand on, two from one on, else four.
fn shown(number: f64) -> String {
    match number.abs() {
        size if size >= 1000.0 => format!("{number:.0}"),
        size if size >= 1.0 || size == 0.0 => format!("{number:.2}"),
        _ => format!("{number:.4}"),
    }
}

/// Which columns hold numbers, and are therefore set to the right.
const HEADER: [(&str, bool); 7] = [
    ("name", false),
    ("ours", true),
    ("other", true),
    ("unit", false),
    ("ratio", true),
    ("target", false),
    ("", false),
];

/// All measurements, one per line, in aligned columns.
pub(crate) fn table(measurements: &[Measurement]) -> String {
    let mut rows = vec![HEADER.map(|(name, _)| name.to_owned())];
    rows.extend(measurements.iter().map(Measurement::cells));
    let widths: Vec<usize> = (0..HEADER.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).zip(HEADER).map(|((cell, &width), (_, is_number))| {
            if is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_refused(line: &str, want: &str) {
        let error = Measurement::parse(line).unwrap_err();
        assert_eq!(format!("{error:#}"), want, "{line}");
    }

    #[test]
    fn a_line_is_read_whole() {
        let line = r#"{"name":"commit","ours":8000,"other":10000.0,"unit":"1/s","ratio":0.8,"target":">= 0.7","n":3}"#;
        let want = Measurement {
            name: "commit".to_owned(),
            ours: 8000.0,
            other: Some(10_000.0),
            unit: "1/s".to_owned(),
            ratio: Some(0.8),
            target: Some(Target::AtLeast(0.7)),
            raw: serde_json::from_str(line).unwrap(),
        };
        assert_eq!(Measurement::parse(line).unwrap(), want);
    }

    #[test]
    fn a_line_that_does_not_say_what_it_measured_is_refused() {
        check_refused(r#"{"ours":1,"unit":"ms"}"#, "`name` is not a text");
        check_refused(r#"{"name":"a","unit":"ms"}"#, "`ours` is missing");
        check_refused(r#"{"name":"a","ours":"1","unit":"ms"}"#, "`ours` is not a number");
        check_refused(r#"{"name":"a","ours":1}"#, "`unit` is not a text");
        let target = "`target` is neither \"<= N\" nor \">= N\"";
        check_refused(r#"{"name":"a","ours":1,"unit":"ms","ratio":1,"target":1.5}"#, target);
        check_refused(r#"{"name":"a","ours":1,"unit":"ms","ratio":1,"target":"<= x"}"#, target);
        check_refused(
            r#"{"name":"a","ours":1,"unit":"ms","target":"<= 1"}"#,
            "a `target` needs a `ratio`",
        );
    }

    #[test]
    fn the_table_is_aligned_and_names_missed_targets() {
        let lines = [
            r#"{"name":"commit","ours":8000,"other":10000,"unit":"1/s","ratio":0.8,"target":">= 0.7"}"#,
            r#"{"name":"worst wait of 16","ours":0.15,"other":1.5,"unit":"s","ratio":0.1,"target":"<= 0.05"}"#,
            r#"{"name":"start","ours":1.25,"unit":"ms"}"#,
        ];
        let measurements: Vec<_> =
            lines.iter().map(|line| Measurement::parse(line).unwrap()).collect();
        let want = "\
name                ours  other  unit   ratio  target
commit              8000  10000  1/s   0.8000  >= 0.7000  met
worst wait of 16  0.1500   1.50  s     0.1000  <= 0.0500  MISSED
start               1.25         ms
";
        assert_eq!(table(&measurements), want);
    }
}
