//! Every subcommand of `waypost` is in its reference page.
//!
//! The page is generated, so this guards the generator: a command that it leaves out would go
//! unseen. Commands are read from the `clap::Subcommand` enums in the sources; hidden ones need no
//! entry. Without a page there is nothing to check.

use crate::tidy::Finding;
use crate::tidy::tree::Tree;

const PAGE: &str = "docs/cli.md";

const SOURCES: &str = "crates/cli/src/";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.text(PAGE) else { return Vec::new() };
    let mut findings = Vec::new();
    for (path, text) in tree.sources().filter(|(path, _)| path.starts_with(SOURCES)) {
        for (name, line) in subcommands(text) {
            if !page.lines().any(|text| mentions(text, &name)) {
                let message = format!("`{name}` is not in {PAGE}");
                findings.push(Finding::new(path, line, message));
            }
        }
    }
    findings
}

/// Whether the line shows a call of `waypost` with this word.
fn mentions(line: &str, name: &str) -> bool {
    let Some((_, call)) = line.split_once("waypost ") else { return false };
    call.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == name)
}

/// Names and lines of the subcommands that a source file defines, as rustfmt lays them out.
fn subcommands(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut place = Place::Outside;
    let mut attributes = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        place = match place {
            Place::Outside if line.starts_with("#[derive(") && line.contains("Subcommand") => {
                Place::Derived
            }
            Place::Derived if line.contains("enum ") && line.ends_with('{') => Place::Inside,
            Place::Inside if line == "}" => Place::Outside,
            place => place,
        };
        // Variants stand exactly one step in; what is deeper belongs to a variant's own braces.
        let Some(item) = line.strip_prefix("    ").filter(|_| place == Place::Inside) else {
            continue;
        };
        if item.starts_with("#[") {
            attributes += item;
        } else if item.starts_with(char::is_uppercase) {
            found.extend(name(item, &attributes).map(|name| (name, number)));
            attributes.clear();
        }
    }
    found
}

/// Where the reader of a source file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// Behind the derive line, before the enum's brace.
    Derived,
    Inside,
}

/// What a person types for this variant; nothing if it is not a command of its own.
fn name(variant: &str, attributes: &str) -> Option<String> {
    if ["hide = true", "flatten", "external_subcommand"]
        .iter()
        .any(|word| attributes.contains(word))
    {
        return None;
    }
    if let Some((_, given)) = attributes.split_once("name = \"") {
        return given.split('"').next().map(str::to_owned);
    }
    let variant = variant.split(|c: char| !c.is_alphanumeric()).next()?;
    let mut name = String::new();
    for c in variant.chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(c.to_lowercase());
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    const COMMANDS: &str = "\
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run the tasks
    Run(RunArgs),
    /// Show
    ConfigShow {
        /// Which
        Key: String,
    },
    #[command(name = \"inbox\")]
    Waiting,
    #[command(hide = true)]
    Reference,
    #[command(flatten)]
    Common(Common),
}

enum Other {
    NotACommand,
}
";

    #[test]
    fn names_are_what_a_person_types() {
        let want = [("run", 4), ("config-show", 6), ("inbox", 11)];
        assert_eq!(subcommands(COMMANDS), want.map(|(name, line)| (name.to_owned(), line)));
    }

    #[test]
    fn a_subcommand_that_the_page_leaves_out_is_found() {
        let page =
            "## `waypost run`\n\nThe inbox and config-show.\n\n    waypost config-show KEY\n";
        assert_finds(
            check,
            &[("crates/cli/src/main.rs", COMMANDS), (PAGE, page)],
            &["crates/cli/src/main.rs:11: `inbox` is not in docs/cli.md"],
        );
    }

    #[test]
    fn without_a_page_there_is_nothing_to_check() {
        assert_finds(check, &[("crates/cli/src/main.rs", COMMANDS)], &[]);
    }
}
