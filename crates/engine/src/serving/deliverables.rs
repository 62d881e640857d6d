//! What a phase has left in its workspace.

use super::order::PhaseOrder;
use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};
use waypost_model::{
    document::task_type::{SeenDeliverable, TypeStep},
    inbox::{ReviewedFile, VerificationFinding},
    task::Command,
};

/// The largest deliverable that is read; a document is never larger.
const SIZE_MAX: u64 = 16 << 20;

/// The most files of a folder that are looked at.
const FILES_MAX: usize = 1_000;

/// What was found of all that a phase is to leave.
#[derive(Clone, Debug, Default)]
pub(super) struct DeliverableSurvey {
    seen: Vec<SeenDeliverable>,
    /// Those that are there.
    pub(super) files: Vec<ReviewedFile>,
    pub(super) steps_done: u32,
    pub(super) current_step: Option<String>,
    /// What stands against the end of the phase.
    pub(super) findings: Vec<VerificationFinding>,
}

impl DeliverableSurvey {
    /// Looks at everything that a phase is to leave.
    pub(super) fn of(order: &PhaseOrder, workspace: &Path) -> Self {
        let Some(phase) = order.phase() else { return Self::default() };
        let mut survey = Self::default();
        for step in &phase.steps {
            survey.look(step, workspace, &order.kind.placeholders);
        }
        survey.steps_done = phase.steps_done(&survey.seen);
        survey.current_step = phase.current_step(&survey.seen);
        survey.findings = phase.findings(&survey.seen);
        survey
    }

    fn look(&mut self, step: &TypeStep, workspace: &Path, placeholders: &[String]) {
        let path = &step.deliverable;
        let files = match (place(workspace, path), path.ends_with('/')) {
            (None, _) => Vec::new(),
            (Some(file), false) => vec![file],
            (Some(folder), true) => files_below(&folder),
        };
        let texts: Vec<(PathBuf, String)> =
            files.into_iter().filter_map(|file| Some((file.clone(), read(&file)?))).collect();
        let all = texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
        self.seen.push(match texts.is_empty() {
            true => SeenDeliverable { path: path.clone(), ..SeenDeliverable::default() },
            false => SeenDeliverable::of_text(path, &all, placeholders),
        });
        let reviewed = |(file, text): (PathBuf, String)| {
            let path = file.strip_prefix(workspace).ok()?.to_str()?.to_owned();
            Some(ReviewedFile { path, bytes: text.len() as u64 })
        };
        self.files.extend(texts.into_iter().filter_map(reviewed));
    }

    /// Tells the task how far its phase is.
    pub(super) fn observed(&self, phase: Option<u32>) -> Command {
        let (steps_done, current_step) = (self.steps_done, self.current_step.clone());
        Command::Observe { phase, steps_done, current_step }
    }

    /// The paths of what is there.
    pub(super) fn paths(&self) -> Vec<String> {
        self.files.iter().map(|it| it.path.clone()).collect()
    }
}

/// Where a path of the workspace leads. What a link leads to is not in the workspace.
fn place(workspace: &Path, path: &str) -> Option<PathBuf> {
    let mut at = workspace.to_owned();
    for part in path.trim_end_matches('/').split('/') {
        at.push(part);
        if part == ".." || at.symlink_metadata().ok()?.is_symlink() {
            return None;
        }
    }
    Some(at)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => open.push(entry.path()),
                Ok(kind) if kind.is_file() && found.len() < FILES_MAX => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(SIZE_MAX).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests play the part of agents")]
mod tests {
    use super::*;
    use std::{os::unix::fs::symlink, sync::Arc};
    use waypost_model::document::task_type::{TaskType, TypePhase, TypeVerification};

    fn order() -> PhaseOrder {
        let step = |name: &str, deliverable: &str| TypeStep {
            name: name.to_owned(),
            deliverable: deliverable.to_owned(),
            min_characters: 5,
            about: String::new(),
        };
        let phase = TypePhase {
            name: "Planning".to_owned(),
            prompt: "Plan.".to_owned(),
            steps: vec![step("idea", "docs/01_idea.md"), step("code", "src/")],
            verification: TypeVerification::default(),
        };
        let kind = TaskType {
            version: 1,
            name: "site".to_owned(),
            title: "A site".to_owned(),
            workspace: waypost_model::task::WorkspaceKind::Own,
            prompt: String::new(),
            placeholders: vec!["TODO".to_owned()],
            phases: vec![phase],
        };
        PhaseOrder { kind: Arc::new(kind), number: 1 }
    }

    #[test]
    fn what_is_there_is_seen_and_what_a_link_leads_to_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let check = |done: u32, step: Option<&str>, findings: usize| {
            let found = DeliverableSurvey::of(&order(), folder.path());
            assert_eq!((found.steps_done, found.current_step.as_deref()), (done, step));
            assert_eq!(found.findings.len(), findings, "{:?}", found.findings);
        };
        check(0, Some("01_idea"), 2);
        write("src/deep/main.rs", "fn main() {}");
        check(1, Some("01_idea"), 1);
        write("docs/01_idea.md", "an idea, TODO");
        check(2, None, 1);
        write("docs/01_idea.md", "an idea");
        check(2, None, 0);
        let paths = DeliverableSurvey::of(&order(), folder.path()).paths();
        assert_eq!(paths, ["docs/01_idea.md", "src/deep/main.rs"]);
        fs::remove_file(folder.path().join("docs/01_idea.md")).unwrap();
        symlink("/etc/passwd", folder.path().join("docs/01_idea.md")).unwrap();
        check(1, Some("01_idea"), 1);
    }
}
