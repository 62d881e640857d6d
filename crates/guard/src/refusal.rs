//! Whether a deed is allowed: the rights of the workflow against what would be done.
//!
//! A refusal is one sentence that an agent can act on: what is refused, the phase and the gates that
//! are missing. The step that leads on comes with it as a value.

use waypost_model::{
    layout,
    next::NextStep,
    workflow::{GateName, Phase, Rights},
};

use crate::deed::{Branch, Deed, Push, Target, Write};

/// How the workflow stands, as far as a verdict needs it.
#[derive(Clone, Copy)]
pub struct Standing<'a> {
    pub rights: Rights,
    pub phase: Phase,
    /// The gates that are closed, in their order.
    pub closed: &'a [GateName],
    /// What leads on from here.
    pub next: &'a NextStep,
    /// `None`: not known; `main` and `master` count as default then.
    pub default_branch: Option<&'a str>,
    /// The branch that a push without one moves, if it is known.
    pub current_branch: Option<&'a str>,
    /// Whether a path is one of the design's, which are free in DESIGN and REVIEW.
    pub is_design: &'a dyn Fn(&str) -> bool,
    /// Whether a path is scratch, which no gate is about.
    pub is_scratch: &'a dyn Fn(&str) -> bool,
    /// Whether the call ends up behind the wall: then only what is plain is refused here.
    pub is_walled: bool,
}

/// Why a tool call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub rule: Rule,
    /// One sentence for the agent.
    pub message: String,
    /// What it can do instead, or first.
    pub next: Option<NextStep>,
}

/// Which rule refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Protected,
    Reserved,
    Publish,
    Push,
    Commit,
    Write,
    Tool,
    Unknowable,
}

impl Rule {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Protected => "protected",
            Self::Reserved => "reserved",
            Self::Publish => "publish",
            Self::Push => "push",
            Self::Commit => "commit",
            Self::Write => "write",
            Self::Tool => "tool",
            Self::Unknowable => "unknowable",
        }
    }
}

impl std::fmt::Debug for Standing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Standing")
            .field("rights", &self.rights)
            .field("phase", &self.phase)
            .field("closed", &self.closed)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// Says why a deed is refused, or nothing if it is allowed.
pub fn refusal(deed: &Deed, standing: &Standing<'_>) -> Option<Refusal> {
    let rights = standing.rights;
    let refused =
        |rule, message| Some(Refusal { rule, message, next: Some(standing.next.clone()) });
    if let Some(write) = deed.protected.iter().find(|write| standing.is_told(write)) {
        let (message, next) = protection(write);
        return Some(Refusal { rule: Rule::Protected, message, next });
    }
    if let Some(words) = &deed.reserved {
        let message = format!("`{words}` is reserved for a person; ask the user to run it");
        return Some(Refusal { rule: Rule::Reserved, message, next: None });
    }
    if let Some(words) = deed.publishes.as_ref().filter(|_| !rights.publish) {
        return refused(Rule::Publish, standing.closes(words, Rule::Publish));
    }
    if let Some(push) = deed.pushes.iter().find(|push| !standing.allows_push(push)) {
        return refused(Rule::Push, standing.closes(&push.words, Rule::Push));
    }
    if let Some(words) = deed.commits.as_ref().filter(|_| !rights.commit) {
        return refused(Rule::Commit, standing.closes(words, Rule::Commit));
    }
    if let Some(write) = deed.writes.iter().find(|write| !standing.allows_write(write)) {
        return refused(Rule::Write, standing.closes(&write.words, Rule::Write));
    }
    if let Some(name) = deed.foreign.as_ref().filter(|_| rights != Rights::ALL) {
        let message = format!(
            "what the tool {name} does is not known, and it does not plainly read, so it is closed \
             in phase {}; a person allows it by the line `free_tools = [\"{name}\"]` below \
             `[workflow]` in waypost.toml",
            standing.phase
        );
        return refused(Rule::Tool, message);
    }
    if standing.is_walled {
        return None;
    }
    let reason = deed.unknowable.as_ref().filter(|_| rights != Rights::ALL)?;
    let message = format!(
        "what this does cannot be told, because {reason}; until all gates are passed (phase {}) \
         write such a command out plainly",
        standing.phase
    );
    refused(Rule::Unknowable, message)
}

impl Standing<'_> {
    fn allows_push(&self, push: &Push) -> bool {
        let branch = match &push.branch {
            Branch::Named(name) => Some(name.as_str()),
            Branch::Current => self.current_branch,
            Branch::Unknown => None,
        };
        let is_default = |name: &str| match self.default_branch {
            Some(default) => name == default,
            None => matches!(name, "main" | "master"),
        };
        let is_other = branch.is_some_and(|name| !is_default(name));
        self.rights.publish || (self.rights.push_branch && is_other)
    }

    fn allows_write(&self, write: &Write) -> bool {
        let is_design = || match &write.target {
            Target::Path(path) => (self.is_design)(path),
            Target::Unknown => false,
        };
        let is_scratch = || match &write.target {
            Target::Path(path) => (self.is_scratch)(path),
            Target::Unknown => false,
        };
        self.rights.write
            || (self.rights.write_design && is_design())
            || !self.is_told(write)
            || is_scratch()
    }

    /// Whether it is told which file is written, or has to be: behind the wall, what is not told
    /// is held there.
    fn is_told(&self, write: &Write) -> bool {
        let is_plain = || match &write.target {
            Target::Path(path) => !path.contains(['*', '?', '[', '{', '…', '~']),
            Target::Unknown => false,
        };
        !self.is_walled || is_plain()
    }

    fn closes(&self, words: &str, rule: Rule) -> String {
        let phase = self.phase;
        let last = match (rule, phase) {
            (Rule::Publish | Rule::Push, _) | (Rule::Commit, Phase::Pr) => GateName::ReReviewClean,
            (_, Phase::Pr) => GateName::ArchitectVerified,
            _ => GateName::ReviewCleanPass,
        };
        let needed = self.closed.iter().filter(|gate| **gate <= last);
        let missing: Vec<&str> = needed.map(|gate| gate.as_str()).collect();
        let gates = match missing.as_slice() {
            [] => String::new(),
            [gate] => format!("{gate} passed"),
            [most @ .., gate] => format!("{} and {gate} passed", most.join(", ")),
        };
        let needs = match (rule, phase, gates.is_empty()) {
            (Rule::Publish | Rule::Push, Phase::Pr, false) => format!("; it needs {gates}"),
            (Rule::Publish | Rule::Push, _, false) => format!("; it needs phase PR and {gates}"),
            (Rule::Publish | Rule::Push, _, true) => "; it needs phase PR".to_owned(),
            (_, Phase::Design | Phase::Review, _) => "; it opens in IMPLEMENT".to_owned(),
            (_, _, true) => String::new(),
            (_, _, false) => format!("; it needs {gates}"),
        };
        let deed = match rule {
            Rule::Push => "pushes",
            Rule::Publish => "changes a pull request",
            Rule::Commit => "commits",
            _ if self.rights.write_design => "writes files outside the design's paths",
            _ => "writes files",
        };
        format!("`{words}` {deed}, which is closed in phase {phase}{needs}")
    }
}

/// What to use instead of writing a protected file.
fn protection(write: &Write) -> (String, Option<NextStep>) {
    let Target::Path(path) = &write.target else {
        return (format!("`{}` touches protected files", write.words), None);
    };
    let (instead, next) = if path.contains(layout::window::WORKFLOW_FOLDER) {
        ("its own commands change the workflow", Some(NextStep::ShowWorkflow))
    } else if path.ends_with("waypost.toml") {
        ("ask the user to change the configuration", None)
    } else if path.contains("hooks") || path.contains("settings") || path.contains("config") {
        ("ask the user, who registers hooks", Some(NextStep::Register))
    } else {
        ("ask the user; Waypost's own files can be examined", Some(NextStep::Examine))
    };
    (format!("{path} is protected while a workflow is active; {instead}"), next)
}
