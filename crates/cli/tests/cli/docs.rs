//! Everything that README.md and docs/ show of a shell is typed into one, line by line.
//!
//! A page is one session in a scratch repository, below a terminal, with `waypost` on the path. In
//! fences `console`, lines after `$ ` are typed and what follows is compared with what was printed:
//! `…` stands for anything in a line, and alone for any lines. A fence `sh` is pasted as a whole.
//! A comment before a fence says more:
//!
//! - `<!-- file: NAME -->`: the fence is the content of a file, which is written;
//! - `<!-- not run: REASON -->`: its lines cannot be run in a test; those that begin with `waypost`
//!   must still be command lines that it takes;
//! - `<!-- new project -->`: what follows is typed in another scratch repository.

use crate::{
    harness::{BINARY, Project, words},
    terminal::{no_person_is_here, pin_for},
};
use std::{fs, os::unix::fs::symlink, path::Path};

/// The repository.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// One fence of a page.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fence {
    line: usize,
    kind: String,
    text: String,
    /// What the comments before it say.
    notes: Vec<String>,
}

/// A line that is typed, and what has to be printed then.
#[derive(Debug, Default, PartialEq, Eq)]
struct Typed {
    line: String,
    output: Option<Vec<String>>,
}

/// All fences of a page, in their order.
fn fences(page: &str) -> Vec<Fence> {
    let (mut fences, mut notes, mut open) = (Vec::new(), Vec::new(), None::<Fence>);
    for (number, line) in (1..).zip(page.lines()) {
        let mark = line.trim_start();
        match (&mut open, mark.strip_prefix("```")) {
            (Some(_), Some("")) => fences.extend(open.take()),
            (Some(fence), _) => fence.text.extend([line, "\n"]),
            (None, Some(kind)) => {
                let notes = std::mem::take(&mut notes);
                let kind = kind.to_owned();
                open = Some(Fence { line: number, kind, text: String::new(), notes });
            }
            (None, None) => {
                let note = mark.strip_prefix("<!-- ").and_then(|it| it.strip_suffix(" -->"));
                notes.extend(note.map(str::to_owned));
            }
        }
    }
    fences
}

impl Fence {
    fn note(&self, word: &str) -> Option<&str> {
        self.notes.iter().find_map(|note| note.strip_prefix(word))
    }

    fn is_shell(&self) -> bool {
        ["console", "sh"].contains(&self.kind.as_str())
    }

    /// What is typed, with the output that is shown.
    fn typed(&self) -> Vec<Typed> {
        let mut typed: Vec<Typed> = Vec::new();
        for line in self.text.lines() {
            match (self.kind.as_str(), line.strip_prefix("$ "), typed.last_mut()) {
                ("console", Some(line), _) => {
                    typed.push(Typed { line: line.to_owned(), output: None });
                }
                ("console", None, Some(last)) => {
                    last.output.get_or_insert_default().push(line.trim_end().to_owned());
                }
                _ => {}
            }
        }
        if self.kind == "sh" {
            typed.push(Typed { line: self.text.clone(), output: None });
        }
        typed
    }
}

/// Whether a text is as a pattern shows it, where `…` is anything.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('…') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| fits(rest, &text[at..]))
        }),
    }
}

/// The same for lines, where `…` alone is any number of them.
fn all_fit(patterns: &[String], lines: &[&str]) -> bool {
    match patterns.split_first() {
        None => lines.is_empty(),
        Some((pattern, rest)) if pattern == "…" => {
            (0..=lines.len()).any(|count| all_fit(rest, &lines[count..]))
        }
        Some((pattern, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| fits(pattern, line) && all_fit(rest, lines)),
    }
}

/// A repository with a commit, and the programs on the path of its shell.
fn scratch() -> Project {
    let project = Project::git();
    project.git_command("commit -q --allow-empty -m begin");
    let programs = project.base().join("bin");
    fs::create_dir(&programs).unwrap();
    for program in [BINARY, env!("CARGO_BIN_EXE_waypost-hook")] {
        symlink(program, programs.join(Path::new(program).file_name().unwrap())).unwrap();
    }
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    // As a pipe or a log would see it.
    project.variable("PATH", &path).variable("NO_COLOR", "1")
}

/// Types a line; what it prints must be as shown, and only an error that is shown may be one.
fn type_line(project: &Project, place: &str, typed: &Typed) {
    let (file, out) = (project.base().join("line"), project.base().join("out"));
    // The next line is typed in the folder that this one went to.
    let place_file = project.base().join("folder");
    let folder = fs::read_to_string(&place_file);
    let folder = folder.unwrap_or_else(|_| project.root.display().to_string());
    let trap = format!("trap 'pwd > {}' EXIT", place_file.display());
    fs::write(&file, format!("cd {folder}\n{trap}\nset -e\n{}", typed.line)).unwrap();
    let shell = format!("bash {} >{} 2>&1", file.display(), out.display());
    let code = project.at_keyboard(&shell, &pin_for(&typed.line)).code;
    let printed = fs::read_to_string(&out).unwrap_or_default();
    let shown = typed.output.as_deref().unwrap_or_default();
    let is_refused = shown.iter().any(|line| line.starts_with("error:"));
    assert_eq!(code != 0, is_refused, "{place}: `{}` ended with {code}:\n{printed}", typed.line);
    if typed.output.is_some() {
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        let want = shown.join("\n");
        assert!(
            all_fit(shown, &lines),
            "{place}: `{}`:\n{printed}\nbut shown is:\n{want}",
            typed.line
        );
    }
}

/// Checks that a line which cannot be run is a command line at least.
fn parse_line(project: &Project, place: &str, line: &str) {
    let line = line.split("  #").next().unwrap().trim();
    let Some(line) = line.strip_prefix("waypost") else { return };
    let line = line.split([';', '|', '>', '&']).next().unwrap().replace('"', "'");
    let mut asked: Vec<String> = words(line.trim());
    let end = asked.iter().position(|word| word == "--").unwrap_or(asked.len());
    asked.insert(end, "--help".to_owned());
    let ran = project.command(BINARY, &project.root).args(&asked).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{place}: `waypost {}`: {said}", asked.join(" "));
}

fn type_page(name: &str) {
    if no_person_is_here() {
        return;
    }
    let page = fs::read_to_string(repository().join(name)).unwrap();
    let mut project = scratch();
    for fence in fences(&page) {
        let place = format!("{name}:{}", fence.line);
        if fence.note("new project").is_some() {
            project = scratch();
        }
        if let Some(file) = fence.note("file: ") {
            project.write(file, &fence.text);
        } else if fence.is_shell() {
            let is_run = fence.note("not run: ").is_none();
            for typed in fence.typed() {
                match is_run {
                    true => type_line(&project, &place, &typed),
                    false => {
                        typed.line.lines().for_each(|line| parse_line(&project, &place, line));
                    }
                }
            }
        }
    }
}

#[test]
fn readme_can_be_typed() {
    type_page("README.md");
}

/// A test for each page, so that they run side by side, and one for all others.
macro_rules! pages {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            type_page(concat!("docs/", stringify!($name), ".md"));
        })*

        #[test]
        fn other_pages() {
            // docs/cli.md is generated, and its examples are tested where they are made.
            let known = [$(concat!(stringify!($name), ".md"),)* "cli.md"];
            for entry in fs::read_dir(repository().join("docs")).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".md") && !known.contains(&name.as_str()) {
                    type_page(&format!("docs/{name}"));
                }
            }
        }
    };
}

pages!(agents, hook, notifications, run, sim, workflow, worktrees);

#[test]
fn what_is_shown_is_compared_with_wildcards() {
    let table: &[(&[&str], &[&str], bool)] = &[
        (&["a"], &["a"], true),
        (&["a"], &["a", "b"], false),
        (&["a…c"], &["abbc"], true),
        (&["a…c"], &["abb"], false),
        (&["…"], &["a", "b"], true),
        (&["a", "…", "d"], &["a", "b", "c", "d"], true),
        (&["a", "…", "d"], &["a", "b", "c"], false),
        (&[], &[], true),
    ];
    for (patterns, lines, want) in table {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        assert_eq!(all_fit(&patterns, lines), *want, "{patterns:?} {lines:?}");
    }
    let page = "<!-- file: a.md -->\n```markdown\nx\n```\n\ntext\n\n```console\n$ one\n$ two  # b\nout\n```\n";
    let found = fences(page);
    assert_eq!((found[0].note("file: "), found[0].text.as_str()), (Some("a.md"), "x\n"));
    assert!(found[1].notes.is_empty() && found[1].is_shell());
    let typed = found[1].typed();
    assert_eq!(typed[0], Typed { line: "one".into(), output: None });
    assert_eq!(typed[1], Typed { line: "two  # b".into(), output: Some(vec!["out".into()]) });
}
