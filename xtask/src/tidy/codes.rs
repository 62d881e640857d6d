//! A refusal is made with a code of its own class.
//!
//! `Rejected::rule` takes codes that stand under `Refused`, `unknown` those under `BadInput`, `outdated` those under `Locked`.
//! A debug build stops at another one, but only when the refusal is made, and some never are in a test.

use std::collections::BTreeMap;

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

/// Where the codes are declared, by class.
const CODES: &str = "crates/model/src/code.rs";

/// What makes a refusal, and the class whose codes it takes.
const MAKERS: [(&str, &str); 3] = [
    ("Rejected::rule(", "Refused"),
    ("Rejected::unknown(", "BadInput"),
    ("Rejected::outdated(", "Locked"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let declared = tree.texts().find(|(path, _)| *path == CODES);
    let classes = declared.map(|(_, text)| classes(text)).unwrap_or_default();
    let sources = tree.texts().filter(|(path, _)| path.ends_with(".rs"));
    sources.flat_map(|(path, text)| check_file(&classes, path, text)).collect()
}

/// The class of each code.
fn classes(text: &str) -> BTreeMap<&str, &str> {
    let mut class = "";
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some(name), Some("{")) if line.starts_with("    ") => class = name,
            (Some(name), Some(word)) if word.starts_with('"') => {
                found.insert(name, class);
            }
            _ => {}
        }
    }
    found
}

fn check_file(classes: &BTreeMap<&str, &str>, path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (maker, wanted) in MAKERS {
        for (at, _) in text.match_indices(maker) {
            let argument = text[at + maker.len()..].trim_start();
            let Some(rest) = argument.strip_prefix("Code::") else { continue };
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let code = &rest[..end];
            match classes.get(code) {
                Some(class) if *class != wanted => {
                    let line = text[..at].lines().count();
                    let message =
                        format!("{maker}…) takes codes of {wanted}, and {code} is of {class}");
                    findings.push(Finding::new(path, line, message));
                }
                _ => {}
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    #[test]
    fn a_refusal_with_a_code_of_another_class_is_found() {
        let codes = "codes! {\n    BadInput {\n        Long \"LONG\" \"Long.\";\n    }\n    Refused {\n        \
                     Open \"OPEN\" \"Open.\";\n    }\n}\n";
        let source = "fn a() {\n    Rejected::rule(Code::Open, 1);\n    Rejected::rule(\n        Code::Long,\n    );\n    \
                      Rejected::unknown(Code::Long, 2);\n    Rejected::unknown(Code::Open, 2);\n}\n";
        assert_finds(
            check,
            &[(CODES, codes), ("crates/model/src/a.rs", source)],
            &[
                "crates/model/src/a.rs:3: Rejected::rule(…) takes codes of Refused, and Long is of BadInput",
                "crates/model/src/a.rs:7: Rejected::unknown(…) takes codes of BadInput, and Open is of Refused",
            ],
        );
    }
}
