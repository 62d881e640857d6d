//! `docs/tasks.md`, the reference: every example is read, and says what is read in it.
//!
//! `UPDATE_DOCS=1` writes what is read into the document; look at the difference before you keep it.

use crate::tasks_md::{field::Field, read};
use std::{
    env,
    fmt::Write as _,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};
use waypost_model::{
    diagnostic::Diagnostic,
    run::{Depends, Details, PlannedTask, Priority},
};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tasks.md")
}

/// An example, and where the document says what is read in it.
struct Example {
    text: String,
    told: Range<usize>,
}

/// Each block in `markdown` with the block in `text` behind it.
fn examples(document: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut rest = 0;
    while let Some(at) = document[rest..].find("```markdown\n") {
        let start = rest + at;
        // A block with others inside it has a longer fence.
        let is_long = document[..start].ends_with('`');
        let fence = if is_long { "\n````\n" } else { "\n```\n" };
        let body = start + "```markdown\n".len();
        let end = body + document[body..].find(fence).expect("the example ends") + 1;
        let open = "```text\n";
        let told = end + document[end..].find(open).expect("it is said what is read") + open.len();
        let close = told + document[told..].find("```\n").expect("that ends, too");
        examples.push(Example { text: document[body..end].to_owned(), told: told..close });
        rest = close;
    }
    examples
}

/// What is read in a text, as the document tells it.
fn reading(text: &str) -> String {
    let mut told = String::new();
    let findings = match read(text, "shop") {
        Ok(file) => {
            file.plan.tasks.iter().for_each(|task| tell(task, &mut told));
            file.warnings
        }
        Err(findings) => findings,
    };
    for Diagnostic { place, message, .. } in findings {
        writeln!(told, "{}: {message}", place.map_or(0, |place| place.line)).unwrap();
    }
    told
}

fn tell(task: &PlannedTask, told: &mut String) {
    let PlannedTask { id, phase, title, depends, .. } = task;
    let state = if task.ticked { "ticked" } else { "open" };
    let after = match depends {
        Depends::PhaseBefore => "the phase before".to_owned(),
        Depends::On(ids) if ids.is_empty() => "nothing".to_owned(),
        Depends::On(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    write!(told, "{id} phase {phase}, {state}: {title}; after {after}").unwrap();
    let details = task.details.as_deref().cloned().unwrap_or_default();
    let Details { parallel, story, .. } = &details;
    told.push_str(if *parallel { "; parallel" } else { "" });
    story.iter().for_each(|story| write!(told, "; story {story}").unwrap());
    told.push('\n');
    let mut line = |label: &str, value: String| {
        let value = value.trim_end().replace('\n', &format!("\n{}", " ".repeat(label.len() + 4)));
        writeln!(told, "  {label}: {value}").unwrap();
    };
    details.command.iter().for_each(|command| line("run", command.to_string()));
    details.verify.iter().for_each(|command| line("verify", command.clone()));
    if !details.files.is_empty() {
        line("files", details.files.join(", "));
    }
    details.timeout_seconds.iter().for_each(|seconds| line("timeout", format!("{seconds} s")));
    if task.priority != Priority::default() {
        line("priority", format!("{:?}", task.priority).to_lowercase());
    }
    details.agent.iter().for_each(|agent| line("agent", agent.to_string()));
    details.model.iter().for_each(|model| line("model", model.to_string()));
    details.budget_cents.iter().for_each(|cents| line("budget", format!("{cents} cents")));
    details.owner.iter().for_each(|owner| line("owner", owner.to_string()));
    details.spec.iter().for_each(|spec| line("spec", spec.to_string()));
    details.worktree.iter().for_each(|worktree| line("worktree", worktree.to_string()));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the page is written for a person who asks")]
fn every_example_of_the_reference_is_read_as_it_says() {
    let mut document = fs::read_to_string(path()).unwrap();
    let examples = examples(&document);
    assert!(examples.len() >= 9, "{}", examples.len());
    if env::var_os("UPDATE_DOCS").is_some() {
        for example in examples.iter().rev() {
            document.replace_range(example.told.clone(), &reading(&example.text));
        }
        fs::write(path(), document).unwrap();
        return;
    }
    for Example { text, told } in &examples {
        assert_eq!(reading(text), document[told.clone()], "{text}");
    }
}

#[test]
fn the_reference_has_every_field_and_no_other() {
    let document = fs::read_to_string(path()).unwrap();
    let start = document.find("| label | Korean | value |").expect("there is a table of fields");
    let rows = document[start..].lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut named = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').collect();
        let labels = cells[1..3].iter().flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let fields: Vec<&str> =
            labels.map(|label| Field::of_label(label).map_or("none", Field::name)).collect();
        assert!(fields.iter().all(|field| *field == fields[0] && *field != "none"), "{row}");
        named.push(fields[0]);
    }
    named.sort_unstable();
    let mut all = crate::tasks_md::field::NAMES;
    all.sort_unstable();
    assert_eq!(named, all);
}
