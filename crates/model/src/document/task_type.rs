//! A type of tasks as data: which phases it has, what each is to leave, how it is verified.
//!
//! `task-types/NAME.toml`, shipped with Waypost and in a project. What is said here of deliverables is a
//! function of what was seen of them; reading files is for the engine.

use super::check::Findings;
use super::{Document, Kind, code};
use crate::diagnostic::Diagnostic;
use crate::inbox::VerificationFinding;
use crate::task::{ShapedPhase, TaskShape, WorkspaceKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More phases than a person would review.
const PHASES_MAX: usize = 20;

/// More steps than a phase can be seen to be made of; two digits number them.
const STEPS_MAX: usize = 99;

/// What a prompt may have filled in.
pub const PROMPT_NAMES: [&str; 7] =
    ["title", "description", "phase", "phases", "name", "steps", "marker"];

/// A type of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskType {
    /// The version of this format; there is one.
    pub version: u32,
    /// The type's name, as tasks give it: lower case, as in `create_app`. The file is called the same.
    pub name: String,
    /// One line for lists.
    pub title: String,
    /// Where its tasks are worked on: `own`, an empty repository, or `tree`, a work tree of the project.
    pub workspace: WorkspaceKind,
    /// What an agent is told before the first phase. `{title}`, `{description}`, `{phases}` and `{marker}`
    /// are filled in. Absent: nothing.
    #[serde(default)]
    pub prompt: String,
    /// Texts that must not stand in a deliverable, whatever their case; each a word or phrase. Absent: none.
    #[serde(default)]
    pub placeholders: Vec<String>,
    /// In the order in which they are worked on. Absent: none; such a task has no reviews.
    #[serde(default)]
    pub phases: Vec<TypePhase>,
}

/// One phase of a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypePhase {
    /// As people know it, as in `Planning`.
    pub name: String,
    /// What an agent is told when it begins. `{title}`, `{description}`, `{phase}`, `{phases}`, `{name}`,
    /// `{steps}` and `{marker}` are filled in.
    pub prompt: String,
    /// What the phase is made of. Absent: none.
    #[serde(default)]
    pub steps: Vec<TypeStep>,
    /// How it is verified. Absent: its deliverables only.
    #[serde(default)]
    pub verification: TypeVerification,
}

/// One step of a phase: finished when its deliverable is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypeStep {
    /// In lower case, as in `user_journey`.
    pub name: String,
    /// What it leaves: a file below the workspace, or a folder (with `/` at its end) that is not empty.
    pub deliverable: String,
    /// How many characters the file has at least. Absent: 1.
    #[serde(default = "one")]
    pub min_characters: u64,
    /// What is to be in it, for the agent. Absent: nothing.
    #[serde(default)]
    pub about: String,
}

fn one() -> u64 {
    1
}

/// How a phase is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TypeVerification {
    /// What an agent of its own judges the phase by, each a sentence. Absent: no agent is asked.
    pub criteria: Vec<String>,
    /// Commands that have to end with 0, run by Waypost in the workspace. Absent: none.
    pub commands: Vec<String>,
}

/// A deliverable as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenDeliverable {
    /// As the step names it.
    pub path: String,
    /// Its length; of a folder, of all files in it. None: it is not there, or is no text.
    pub characters: Option<u64>,
    /// The first forbidden text in it.
    pub placeholder: Option<String>,
}

impl SeenDeliverable {
    /// What is to be known of a text.
    pub fn of_text(path: &str, text: &str, placeholders: &[String]) -> Self {
        let lower = text.to_lowercase();
        let found = placeholders.iter().find(|it| stands_in(&lower, &it.to_lowercase()));
        let characters = u64::try_from(text.chars().count()).ok();
        Self { path: path.to_owned(), characters, placeholder: found.cloned() }
    }
}

/// Whether a phrase stands in a text as words of their own: `todo` is not in `todos`.
fn stands_in(text: &str, phrase: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, found)| {
        let (before, after) =
            (text[..at].chars().next_back(), text[at + found.len()..].chars().next());
        let begins = is_word(found.chars().next()) && is_word(before);
        let ends = is_word(found.chars().next_back()) && is_word(after);
        !begins && !ends
    })
}

impl TypeStep {
    /// Whether its deliverable is there with its size.
    pub fn is_done(&self, seen: &[SeenDeliverable]) -> bool {
        let found = seen.iter().find(|it| it.path == self.deliverable);
        found.and_then(|it| it.characters).is_some_and(|count| count >= self.min_characters)
    }
}

impl TypePhase {
    /// How many steps are finished.
    pub fn steps_done(&self, seen: &[SeenDeliverable]) -> u32 {
        let done = self.steps.iter().filter(|step| step.is_done(seen)).count();
        u32::try_from(done).unwrap_or(u32::MAX)
    }

    /// The first step that is not finished, as `NN_name`; none when all are.
    pub fn current_step(&self, seen: &[SeenDeliverable]) -> Option<String> {
        let at = self.steps.iter().position(|step| !step.is_done(seen))?;
        Some(format!("{:02}_{}", at + 1, self.steps[at].name))
    }

    /// What stands against the phase as far as its deliverables tell.
    pub fn findings(&self, seen: &[SeenDeliverable]) -> Vec<VerificationFinding> {
        self.steps.iter().filter_map(|step| step.finding(seen)).collect()
    }
}

impl TypeStep {
    fn finding(&self, seen: &[SeenDeliverable]) -> Option<VerificationFinding> {
        let found = seen.iter().find(|it| it.path == self.deliverable);
        let min = self.min_characters;
        let text = match found.map(|it| (it.characters, &it.placeholder)) {
            None | Some((None, _)) => "is not there, or is no text".to_owned(),
            Some((Some(count), _)) if count < min => {
                format!("has {count} characters; at least {min} are expected")
            }
            Some((_, Some(placeholder))) => format!("still has the placeholder `{placeholder}`"),
            Some((_, None)) => return None,
        };
        let file = Some(self.deliverable.clone());
        Some(VerificationFinding { is_blocking: true, text, file, line: None })
    }
}

impl TaskType {
    /// The phases as a task remembers them.
    pub fn shape(&self) -> TaskShape {
        let names = |phase: &TypePhase| phase.steps.iter().map(|step| step.name.clone()).collect();
        let phases = self.phases.iter();
        let phases =
            phases.map(|phase| ShapedPhase { name: phase.name.clone(), steps: names(phase) });
        TaskShape { phases: phases.collect() }
    }

    /// A phase by its number, from 1.
    pub fn phase(&self, number: u32) -> Option<&TypePhase> {
        self.phases.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }
}

/// A prompt with its names filled in; `value` tells what stands for one.
pub fn fill(prompt: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let (mut filled, mut rest) = (String::new(), prompt);
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = rest[1..].split_once('}').map(|(name, _)| name);
        match name.and_then(|name| Some((name, value(name)?))) {
            Some((name, value)) => {
                filled.push_str(&value);
                rest = &rest[name.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

impl Document for TaskType {
    const KIND: Kind = Kind::TaskType;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        if self.version != 1 {
            let message = format!("version {} is not known", self.version);
            let finding = Diagnostic::error(code::WRONG_VERSION, message).path("version");
            findings.add(finding.expected("1"));
        }
        check_name(&mut findings, "name", &self.name);
        check_prompt(&mut findings, "prompt", &self.prompt);
        for (at, text) in self.placeholders.iter().enumerate() {
            check_text(&mut findings, format!("placeholders[{at}]"), text);
        }
        if self.phases.len() > PHASES_MAX {
            let message = format!("{} phases are too many", self.phases.len());
            findings.error(code::OUT_OF_RANGE, "phases".to_owned(), message);
        }
        let path = |at: usize| format!("phases[{at}].name");
        findings.unique(self.phases.iter().map(|phase| &phase.name), path);
        for (at, phase) in self.phases.iter().enumerate() {
            phase.check(&mut findings, &format!("phases[{at}]"));
        }
        findings.into_vec()
    }
}

impl TypePhase {
    fn check(&self, findings: &mut Findings, path: &str) {
        check_text(findings, format!("{path}.name"), &self.name);
        check_text(findings, format!("{path}.prompt"), &self.prompt);
        check_prompt(findings, &format!("{path}.prompt"), &self.prompt);
        if self.steps.len() > STEPS_MAX {
            let message = format!("{} steps are too many", self.steps.len());
            findings.error(code::OUT_OF_RANGE, format!("{path}.steps"), message);
        }
        let of_step = |at: usize| format!("{path}.steps[{at}].name");
        findings.unique(self.steps.iter().map(|step| &step.name), of_step);
        let of_step = |at: usize| format!("{path}.steps[{at}].deliverable");
        findings.unique(self.steps.iter().map(|step| &step.deliverable), of_step);
        for (at, step) in self.steps.iter().enumerate() {
            check_name(findings, &format!("{path}.steps[{at}].name"), &step.name);
            check_path(findings, format!("{path}.steps[{at}].deliverable"), &step.deliverable);
        }
        let TypeVerification { criteria, commands } = &self.verification;
        for (name, texts) in [("criteria", criteria), ("commands", commands)] {
            for (at, text) in texts.iter().enumerate() {
                check_text(findings, format!("{path}.verification.{name}[{at}]"), text);
            }
        }
    }
}

fn check_text(findings: &mut Findings, path: String, text: &str) {
    if text.trim().is_empty() {
        findings.error(code::BAD_VALUE, path, "an empty text says nothing".to_owned());
    }
}

fn check_name(findings: &mut Findings, path: &str, name: &str) {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !is_name || !name.chars().all(is_plain) || name.len() > 40 {
        let finding = Diagnostic::error(code::BAD_VALUE, format!("`{name}` is no name")).path(path);
        findings.add(
            finding.expected("lower-case letters, digits and `_`, at most 40, as in create_app"),
        );
    }
}

/// A deliverable stays below the workspace, and out of git's and our own folders.
fn check_path(findings: &mut Findings, path: String, deliverable: &str) {
    let names = deliverable.trim_end_matches('/').split('/');
    let is_bad = |name: &str| matches!(name, "" | "." | ".." | ".git" | ".waypost");
    if deliverable.contains('\\') || names.into_iter().any(is_bad) {
        let message = format!("`{deliverable}` is no path below a workspace");
        let finding = Diagnostic::error(code::BAD_VALUE, message).path(path);
        findings.add(finding.expected("names joined by `/`, as in docs/planning/01_idea.md"));
    }
}

/// Every name in braces has to be one that is filled in.
fn check_prompt(findings: &mut Findings, path: &str, prompt: &str) {
    for (at, _) in prompt.match_indices('{') {
        let Some((name, _)) = prompt[at + 1..].split_once('}') else { continue };
        let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase());
        if is_word && !PROMPT_NAMES.contains(&name) {
            let message = format!("`{{{name}}}` is not filled in");
            let finding = Diagnostic::error(code::MISSING_REFERENCE, message).path(path);
            findings.add(finding.expected(PROMPT_NAMES.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, deliverable: &str, min_characters: u64) -> TypeStep {
        let (name, deliverable) = (name.to_owned(), deliverable.to_owned());
        TypeStep { name, deliverable, min_characters, about: String::new() }
    }

    fn phase() -> TypePhase {
        TypePhase {
            name: "Planning".to_owned(),
            prompt: "Plan {title}.".to_owned(),
            steps: vec![step("idea", "docs/01_idea.md", 10), step("users", "docs/02_users.md", 5)],
            verification: TypeVerification::default(),
        }
    }

    fn kind(phases: Vec<TypePhase>) -> TaskType {
        TaskType {
            version: 1,
            name: "site".to_owned(),
            title: "A site".to_owned(),
            workspace: WorkspaceKind::Own,
            prompt: String::new(),
            placeholders: vec!["TODO".to_owned(), "[Insert".to_owned()],
            phases,
        }
    }

    fn seen(path: &str, text: &str) -> SeenDeliverable {
        SeenDeliverable::of_text(path, text, &kind(Vec::new()).placeholders)
    }

    #[test]
    fn the_current_step_is_the_first_whose_deliverable_is_missing_or_too_short() {
        let phase = phase();
        let check = |files: &[SeenDeliverable], done: u32, step: Option<&str>| {
            assert_eq!(phase.steps_done(files), done, "{files:?}");
            assert_eq!(phase.current_step(files).as_deref(), step, "{files:?}");
        };
        check(&[], 0, Some("01_idea"));
        check(&[seen("docs/01_idea.md", "too short")], 0, Some("01_idea"));
        check(&[seen("docs/01_idea.md", "long enough")], 1, Some("02_users"));
        // A later step may be finished before an earlier one.
        check(&[seen("docs/02_users.md", "사용자들이")], 1, Some("01_idea"));
        let both = [seen("docs/01_idea.md", "long enough"), seen("docs/02_users.md", "users")];
        check(&both, 2, None);
    }

    #[test]
    fn findings_name_the_file_and_what_is_wrong_with_it() {
        let files = [seen("docs/01_idea.md", "an idea, todo: write it")];
        let told: Vec<String> = phase()
            .findings(&files)
            .into_iter()
            .map(|it| format!("{}: {}", it.file.unwrap_or_default(), it.text))
            .collect();
        let expected = [
            "docs/01_idea.md: still has the placeholder `TODO`",
            "docs/02_users.md: is not there, or is no text",
        ];
        assert_eq!(told, expected);
        let short = [seen("docs/01_idea.md", "short"), seen("docs/02_users.md", "users")];
        let text = "has 5 characters; at least 10 are expected";
        assert_eq!(phase().findings(&short)[0].text, text);
    }

    #[test]
    fn placeholders_are_words_of_their_own() {
        let has = |text: &str| seen("a.md", text).placeholder;
        assert_eq!(has("TODO: this"), Some("TODO".to_owned()));
        assert_eq!(has("(todo)"), Some("TODO".to_owned()));
        assert_eq!(has("all todos are done; mastodon"), None);
        assert_eq!(has("see [Insert name here]"), Some("[Insert".to_owned()));
    }

    #[test]
    fn prompts_are_filled_in_and_braces_of_code_stay() {
        let value = |name: &str| (name == "title").then(|| "a {site}".to_owned());
        let filled = fill("Build {title}: fn main() {} { {other} {title", value);
        assert_eq!(filled, "Build a {site}: fn main() {} { {other} {title");
    }

    #[test]
    fn what_a_type_cannot_say_is_found_with_its_path() {
        let paths = |kind: TaskType| {
            let found = kind.check().into_iter().map(|it| it.path);
            found.collect::<Vec<String>>()
        };
        assert_eq!(paths(kind(vec![phase()])), Vec::<String>::new());
        assert_eq!(paths(TaskType { version: 2, ..kind(vec![]) }), ["version"]);
        assert_eq!(paths(TaskType { name: "Site".to_owned(), ..kind(vec![]) }), ["name"]);
        let twice = kind(vec![phase(), phase()]);
        assert_eq!(paths(twice), ["phases[1].name"]);
        let odd = TypePhase { prompt: "{titel}".to_owned(), ..phase() };
        assert_eq!(paths(kind(vec![odd])), ["phases[0].prompt"]);
        let out = TypePhase { steps: vec![step("a", "../x", 1), step("b", "docs/", 1)], ..phase() };
        assert_eq!(paths(kind(vec![out])), ["phases[0].steps[0].deliverable"]);
    }
}
