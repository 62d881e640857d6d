//! The types of tasks: those in the program, and a project's own in `task-types/`.
//!
//! A project's file takes the place of ours of the same name. Its folder is read in the main work tree,
//! and protected as the configuration is: it says which commands Waypost runs as checks.

use crate::{
    error::{EngineError, InvalidFile, Problem},
    project::ProjectSetup,
};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};
use waypost_model::{
    code::Code,
    diagnostic::Diagnostic,
    document::{self, task_type::TaskType},
    layout,
    next::NextStep,
};
use waypost_store::{
    file,
    parse::{self, nearest},
};

/// What comes with the program, by name.
const SHIPPED: [(&str, &str); 4] = [
    ("create_app", include_str!("../task-types/create_app.toml")),
    ("modify_app", include_str!("../task-types/modify_app.toml")),
    ("workflow", include_str!("../task-types/workflow.toml")),
    ("custom", include_str!("../task-types/custom.toml")),
];

/// The largest file of a type: a hundred pages of prompts.
const SIZE_MAX: u64 = 1 << 20;

/// A type and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownType {
    pub name: String,
    /// None: it comes with the program.
    pub path: Option<PathBuf>,
}

/// The types of a project by name: its own, and those of the program.
pub fn task_types(setup: &ProjectSetup) -> Result<Vec<KnownType>, EngineError> {
    let shipped = SHIPPED.iter().map(|(name, _)| ((*name).to_owned(), None));
    let mut known: BTreeMap<String, Option<PathBuf>> = shipped.collect();
    let folder = folder(setup);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listed(known)),
        Err(error) => return Err(unread(&folder, error)),
    };
    for entry in entries {
        let path = entry.map_err(|error| unread(&folder, error))?.path();
        let is_type = path.extension().is_some_and(|it| it == "toml");
        let name = path.file_stem().and_then(|it| it.to_str()).map(str::to_owned);
        known.extend(name.filter(|_| is_type).map(|name| (name, Some(path))));
    }
    Ok(listed(known))
}

fn unread(folder: &Path, error: io::Error) -> EngineError {
    let message = format!("{} cannot be read", folder.display());
    Problem::new(Code::FileFailed, message).because(error).into()
}

fn listed(known: BTreeMap<String, Option<PathBuf>>) -> Vec<KnownType> {
    known.into_iter().map(|(name, path)| KnownType { name, path }).collect()
}

/// The folder of a project's own types; in the main work tree, whichever one this is.
fn folder(setup: &ProjectSetup) -> PathBuf {
    setup.shared_root().join(layout::TASK_TYPES)
}

/// A type by its name.
pub fn task_type(setup: &ProjectSetup, name: &str) -> Result<TaskType, EngineError> {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '\\', '.']);
    let path = folder(setup).join(format!("{name}.toml"));
    let own = if is_name(name) { file::read_bounded(&path, SIZE_MAX)? } else { None };
    if let Some(bytes) = own {
        return read(&bytes, name).map_err(|diagnostics| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            EngineError::Invalid(Box::new(InvalidFile { path, text, diagnostics }))
        });
    }
    match SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        Some((_, text)) => Ok(read(text.as_bytes(), name).expect("what is shipped is valid")),
        None => {
            let names: Vec<String> = task_types(setup)?.into_iter().map(|it| it.name).collect();
            let words: Vec<&str> = names.iter().map(String::as_str).collect();
            let meant = nearest(name, &words);
            let meant = meant.map(|it| format!(" (did you mean `{it}`?)")).unwrap_or_default();
            let message = format!("there is no task type `{name}`{meant}: {}", names.join(", "));
            Err(Problem::new(Code::TypeUnknown, message).next(NextStep::ListTaskTypes).into())
        }
    }
}

fn read(bytes: &[u8], name: &str) -> Result<TaskType, Vec<Diagnostic>> {
    let found: TaskType = parse::parse(bytes)?.value;
    match misnamed(&found, name) {
        None => Ok(found),
        Some(finding) => Err(vec![finding]),
    }
}

/// What is wrong with a type that is called otherwise than its file, which tasks name it by.
pub(crate) fn misnamed(found: &TaskType, name: &str) -> Option<Diagnostic> {
    if found.name == name {
        return None;
    }
    let code = document::code::CONTRADICTION;
    let message = format!("the type is called `{}`, its file `{name}.toml`", found.name);
    let shipped = SHIPPED.map(|(name, _)| name);
    let hint = match nearest(&found.name, &shipped).filter(|meant| *meant != found.name) {
        Some(meant) => format!("did you mean `{meant}`? a file is called as its type"),
        None => format!("call the file `{}.toml`, or the type `{name}`", found.name),
    };
    Some(Diagnostic::error(code, message).path("name").hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_types_are_what_the_server_promises() {
        let shapes: Vec<String> = SHIPPED
            .iter()
            .map(|(name, text)| {
                let read = read(text.as_bytes(), name).unwrap();
                let phases = read.shape().phases;
                let phases: Vec<String> =
                    phases.iter().map(|it| format!("{} {}", it.name, it.steps.len())).collect();
                format!("{name}: {}", phases.join(", "))
            })
            .collect();
        let expected = [
            "create_app: Planning 9, Design 5, Development 6, Verification 0",
            "modify_app: Analysis 3, Planning 4, Implementation 6, Verification 3",
            "workflow: Planning 1, Design 1, Development 1, Verification 1",
            "custom: ",
        ];
        assert_eq!(shapes, expected);
    }

    #[test]
    fn deliverables_have_the_sizes_and_names_that_are_promised() {
        let of = |name: &str, text: &str, phase: u32| {
            let read = read(text.as_bytes(), name).unwrap();
            let steps = read.phase(phase).unwrap().steps.iter();
            let told = |it: &document::task_type::TypeStep| {
                format!("{} {}", it.deliverable, it.min_characters)
            };
            steps.map(told).collect::<Vec<_>>()
        };
        let (create, modify) = (SHIPPED[0].1, SHIPPED[1].1);
        let planning = of("create_app", create, 1);
        assert_eq!(planning[0], "docs/planning/01_idea.md 500");
        assert_eq!(planning[8], "docs/planning/09_roadmap.md 500");
        let analysis = of("modify_app", modify, 1);
        assert!(analysis.contains(&"docs/analysis/current_state.md 1000".to_owned()));
        let plan = of("modify_app", modify, 2);
        assert!(plan.contains(&"docs/planning/modification_plan.md 800".to_owned()));
        let workflow = of("workflow", SHIPPED[2].1, 1);
        assert_eq!(workflow, ["docs/planning/workflow_requirements.md 500"]);
    }
}
