//! Generators against a `waypost` that is a closure, writing into a temporary folder.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use super::*;

/// Answers like a `waypost` that knows exactly these command lines.
fn waypost(known: &[(&str, &str)]) -> impl Fn(&[&str]) -> Result<Answer> {
    let known: BTreeMap<String, String> =
        known.iter().map(|(line, text)| (line.to_string(), text.to_string())).collect();
    move |arguments| {
        Ok(match known.get(&arguments.join(" ")) {
            Some(text) => answer(0, text),
            None => answer(2, ""),
        })
    }
}

fn answer(code: i32, text: &str) -> Answer {
    Answer { status: ExitStatus::from_raw(code << 8), stdout: text.as_bytes().to_vec() }
}

/// Runs all generators in `root`; what they changed or found, or the error as text.
fn settle(known: &[(&str, &str)], mode: Mode, root: &Path) -> Result<Vec<String>, String> {
    let ask = waypost(known);
    let mut changes = Vec::new();
    for generator in GENERATORS {
        let result = generator.files(&ask).and_then(|files| generator.settle(files, mode, root));
        changes.extend(result.map_err(|error| format!("{error:#}"))?);
    }
    Ok(changes)
}

const COMPLETE: &[(&str, &str)] = &[
    ("reference", "# waypost\n\ntext\n"),
    ("schema --list", "config\nrun-state\n"),
    ("schema config", "{}\n"),
    ("schema run-state", "{\"a\":1}\n"),
];

fn check(known: &[(&str, &str)], mode: Mode, root: &Path, want: &[&str]) {
    let want = want.iter().map(ToString::to_string).collect();
    assert_eq!(settle(known, mode, root), Ok(want));
}

#[test]
fn what_is_written_is_what_the_check_wants() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    check(
        COMPLETE,
        Mode::Check,
        root,
        &[
            "docs/cli.md:1: differs",
            "schemas/config.json:1: differs",
            "schemas/run-state.json:1: differs",
        ],
    );
    assert!(!root.join("docs").exists(), "a check writes nothing");
    check(
        COMPLETE,
        Mode::Write,
        root,
        &["wrote docs/cli.md", "wrote schemas/config.json", "wrote schemas/run-state.json"],
    );
    check(COMPLETE, Mode::Check, root, &[]);
    assert_eq!(std::fs::read(root.join("schemas/run-state.json")).unwrap(), b"{\"a\":1}\n");
}

#[test]
fn an_edited_file_is_found_at_its_line_and_written_again() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    settle(COMPLETE, Mode::Write, root).unwrap();
    std::fs::write(root.join("docs/cli.md"), "# waypost\n\ntexts\n").unwrap();
    check(COMPLETE, Mode::Check, root, &["docs/cli.md:3: differs"]);
    check(COMPLETE, Mode::Write, root, &["wrote docs/cli.md"]);
    check(COMPLETE, Mode::Check, root, &[]);
}

#[test]
fn a_schema_that_left_the_list_is_found_and_removed() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    settle(COMPLETE, Mode::Write, root).unwrap();
    let fewer = [COMPLETE[0], ("schema --list", "config\n"), COMPLETE[2]];
    check(&fewer, Mode::Check, root, &["schemas/run-state.json:1: is not generated any more"]);
    check(&fewer, Mode::Write, root, &["removed schemas/run-state.json"]);
    check(&fewer, Mode::Check, root, &[]);
}

#[test]
fn a_generator_that_is_not_there_yet_is_no_error_until_its_file_is_committed() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(settle(&[], Mode::Check, root.path()), Ok(vec![]));
    assert_eq!(settle(&[("reference", "")], Mode::Check, root.path()), Ok(vec![]));
    settle(COMPLETE, Mode::Write, root.path()).unwrap();
    assert_eq!(
        settle(&COMPLETE[1..], Mode::Check, root.path()),
        Err("docs/cli.md is committed, but waypost has no `reference`".to_owned())
    );
}

#[test]
fn a_generator_that_breaks_or_contradicts_itself_is_an_error() {
    let page = Generator::Page { arguments: &["reference"], path: "docs/cli.md" };
    let error = page.files(&|_| Ok(answer(70, "half"))).unwrap_err();
    assert_eq!(error.to_string(), "`waypost reference` ended with exit status: 70");

    let root = tempfile::tempdir().unwrap();
    let lists_too_much = [("schema --list", "config\n")];
    assert_eq!(
        settle(&lists_too_much, Mode::Check, root.path()),
        Err("waypost lists `config` but does not print it".to_owned())
    );
    let leaves_the_folder = [("schema --list", "../config\n"), ("schema ../config", "{}")];
    assert_eq!(
        settle(&leaves_the_folder, Mode::Check, root.path()),
        Err("waypost lists `../config`, which cannot be a file name".to_owned())
    );
}

#[test]
fn the_program_is_read_from_cargos_messages() {
    let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                    {\"reason\":\"compiler-artifact\",\"executable\":\"/x/debug/waypost\"}\n\
                    {\"reason\":\"build-finished\",\"success\":true}\n";
    assert_eq!(executable(messages), Some("/x/debug/waypost".to_owned()));
    assert_eq!(executable("{\"reason\":\"build-finished\"}\n"), None);
}
