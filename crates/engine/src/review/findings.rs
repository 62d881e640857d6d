//! What a reviewer says at its end: findings in one form, which is held to strictly.
//!
//! How the form is wrapped does not matter: alone, in a fence, behind a sentence. A count that
//! promises more than is listed is no review: something was found that no one could fix.

use serde::Deserialize;
use waypost_model::workflow::{FindingSeverity, ReviewFinding};

/// The form as a JSON schema.
pub(super) const SCHEMA: &str = r#"{"type":"object","additionalProperties":false,"required":["blocking","findings"],"properties":{"blocking":{"type":"integer","minimum":0},"findings":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["severity","text"],"properties":{"severity":{"enum":["blocking","major","minor"]},"file":{"type":["string","null"]},"line":{"type":["integer","null"]},"text":{"type":"string"}}}}}}"#;

/// The form as it is shown to an agent.
pub(super) const EXAMPLE: &str = r#"{"blocking": 1, "findings": [
  {"severity": "blocking", "file": "src/a.rs", "line": 12, "text": "what is wrong, and what would be right"},
  {"severity": "minor", "file": null, "line": null, "text": "…"}
]}"#;

/// More findings than a person reads.
const FINDINGS_MAX: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    blocking: u64,
    findings: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    severity: String,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    text: String,
}

/// The findings in an agent's last words, or what is wrong with them.
pub(super) fn read(text: &str) -> Result<Vec<ReviewFinding>, String> {
    let mut why = "there is no JSON object in the last message".to_owned();
    for part in parts(text) {
        match serde_json::from_str::<Form>(part) {
            Ok(form) => return settle(form),
            // The text as a whole is tried first, and is rarely meant to be JSON.
            Err(error) if part.starts_with('{') => why = error.to_string(),
            Err(_) => {}
        }
    }
    Err(why)
}

/// Where the object may be, the likeliest first.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = vec![text.trim()];
    let mut fences: Vec<&str> = text.split("```").skip(1).step_by(2).collect();
    fences.reverse();
    for fence in fences {
        let body = fence.strip_prefix("json").unwrap_or(fence);
        parts.push(body.trim());
    }
    if let (Some(start), Some(end)) = (text.find('{'), text.rfind('}'))
        && start < end
    {
        parts.push(&text[start..=end]);
    }
    parts
}

fn settle(form: Form) -> Result<Vec<ReviewFinding>, String> {
    if form.findings.len() > FINDINGS_MAX {
        return Err(format!("there are {} findings", form.findings.len()));
    }
    let findings: Vec<ReviewFinding> =
        form.findings.into_iter().map(finding).collect::<Result<_, _>>()?;
    let is_blocking = |it: &&ReviewFinding| it.severity == FindingSeverity::Blocking;
    let listed = findings.iter().filter(is_blocking).count() as u64;
    if form.blocking > listed {
        return Err(format!("`blocking` is {}, and {listed} are listed", form.blocking));
    }
    Ok(findings)
}

fn finding(item: Item) -> Result<ReviewFinding, String> {
    let Item { severity, file, line, text } = item;
    let severity = FindingSeverity::from_word(&severity)
        .ok_or_else(|| format!("`{severity}` is no severity: blocking, major or minor"))?;
    if text.trim().is_empty() {
        return Err("a finding has no text".to_owned());
    }
    // What a model writes is shown at a terminal.
    let plain = |text: String| text.replace(|c: char| c.is_control() && c != '\n', " ");
    let (text, file) = (plain(text), file.map(plain));
    let file = file.filter(|file| !file.trim().is_empty());
    Ok(ReviewFinding { severity, file, line: line.filter(|line| *line > 0), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let line = |it: ReviewFinding| {
            let place = it.file.map(|file| format!(" {file}:{}", it.line.unwrap_or(0)));
            format!("{}{} {}", it.severity, place.unwrap_or_default(), it.text)
        };
        match read(text) {
            Ok(findings) => findings.into_iter().map(line).collect::<Vec<_>>().join("; "),
            Err(why) => format!("error: {why}"),
        }
    }

    #[test]
    fn findings_are_read_however_they_are_wrapped() {
        let form = r#"{"blocking": 1, "findings": [{"severity": "blocking", "file": "a.rs", "line": 3, "text": "it loses {x}"}]}"#;
        let want = "blocking a.rs:3 it loses {x}";
        let table = [
            form.to_owned(),
            format!("\n  {form}\n"),
            format!("```json\n{form}\n```"),
            format!("```\n{form}\n```\nDONE:review"),
            format!("I looked at `a.rs`.\n\n```json\n{form}\n```\n"),
            format!("```rust\nfn x() {{}}\n```\nand so:\n```json\n{form}\n```"),
            format!("The review: {form} That is all."),
        ];
        for text in table {
            assert_eq!(told(&text), want, "{text}");
        }
    }

    #[test]
    fn a_form_that_does_not_hold_is_no_review() {
        let table = [
            ("", "error: there is no JSON object in the last message"),
            ("Blocking: 0", "error: there is no JSON object in the last message"),
            ("{\"blocking\": 0}", "error: missing field `findings` at line 1 column 15"),
            ("{\"blocking\": 2, \"findings\": []}", "error: `blocking` is 2, and 0 are listed"),
            (
                "{\"blocking\": 0, \"findings\": [{\"severity\": \"fatal\", \"text\": \"x\"}]}",
                "error: `fatal` is no severity: blocking, major or minor",
            ),
            (
                "{\"blocking\": 0, \"findings\": [{\"severity\": \"minor\", \"text\": \" \"}]}",
                "error: a finding has no text",
            ),
            (
                "{\"blocking\": 0, \"findings\": [], \"verdict\": \"good\"}",
                "error: unknown field `verdict`, expected `blocking` or `findings` at line 1 \
                 column 41",
            ),
        ];
        for (text, want) in table {
            assert_eq!(told(text), want, "{text}");
        }
    }

    #[test]
    fn the_findings_decide_where_the_count_is_too_small() {
        let text = "{\"blocking\": 0, \"findings\": [{\"severity\": \"blocking\", \"file\": \"\", \
                    \"line\": 0, \"text\": \"x\"}]}";
        assert_eq!(told(text), "blocking x");
    }

    #[test]
    fn the_example_is_of_the_form() {
        assert!(read(EXAMPLE).is_ok());
        assert!(serde_json::from_str::<serde_json::Value>(SCHEMA).is_ok());
    }
}
