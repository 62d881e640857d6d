//! That no command is without a test: each line of the manual's table of commands is given by a test of this
//! crate.

use std::{fs, path::Path};

/// What stands before a command line in the tests.
const BEFORE: [&str; 4] = ["\"", "waypost ", "--json ", "BINARY} "];

/// The commands of the manual that have none below them, without the program's name.
fn commands() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    let page = fs::read_to_string(page).unwrap();
    let heading = |line: &str| {
        let name = line.trim_start_matches('#').trim().strip_prefix("`waypost ")?;
        Some(name.strip_suffix('`')?.to_owned())
    };
    let all: Vec<String> =
        page.lines().filter(|line| line.starts_with('#')).filter_map(heading).collect();
    let has_more = |name: &String| all.iter().any(|it| it.starts_with(&format!("{name} ")));
    all.iter().filter(|name| !has_more(name)).cloned().collect()
}

fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|it| it == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// Whether a command is given: its words in their order, with one word of the user's own between two at most.
fn is_given(command: &str, text: &str) -> bool {
    let names: Vec<&str> = command.split(' ').collect();
    BEFORE.iter().any(|before| {
        let begin = format!("{before}{}", names[0]);
        text.match_indices(&begin).any(|(at, _)| {
            let rest = &text[at + begin.len()..];
            let is_whole = rest.starts_with(|c: char| c != '-' && c != '_' && !c.is_alphanumeric());
            let is_between = |c: char| c.is_whitespace() || "\",&[]()|;".contains(c);
            let mut words = rest.split(is_between).filter(|it| !it.is_empty());
            is_whole && names[1..].iter().all(|name| words.by_ref().take(2).any(|it| it == *name))
        })
    })
}

#[test]
fn every_command_of_the_manual_is_given_by_a_test() {
    let mut text = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut text);
    let all = commands();
    assert!(all.len() > 100, "{all:?}");
    let missing: Vec<&String> = all.iter().filter(|name| !is_given(name, &text)).collect();
    assert!(missing.is_empty(), "no test gives {missing:?}");
}

#[test]
fn a_command_is_given_where_a_line_begins_with_it() {
    let text =
        "run(\"memory agent crowd set cache 1\"); at(&format!(\"{BINARY} inbox answer q1\"))";
    for (command, is_there) in [
        ("memory agent set", true),
        ("inbox answer", true),
        ("inbox", true),
        ("memory set", false),
        ("memory agent get", false),
        ("agent", false),
        ("in", false),
    ] {
        assert_eq!(is_given(command, text), is_there, "{command}");
    }
}
