//! Work apart from the project folder: what work trees and branches are called, and what a run with
//! such places holds on to.
//!
//! A name is a folder below the project and a branch at once. It follows from the plan alone, so
//! that the engine that comes after a crash looks in the same place.

use crate::{
    actor::Actor,
    code::Code,
    id::TaskId,
    machine::{Decision, Rejected},
    next::NextStep,
    run::{Active, Event, PhaseStage, Plan, Settings, machine::STATUS},
};

/// The folder that all of a run's work trees are in.
pub const TREES: &str = "worktree";

/// How much of a phase's name is in its branch's.
const NAME_LENGTH_MAX: usize = 40;

impl Plan {
    /// `worktree/phase-1-user-auth`: where the work of a phase is joined. A task of the phase may
    /// state another name of that kind.
    pub fn phase_tree(&self, phase: u32) -> String {
        let of_phase = self.tasks.iter().filter(|task| task.phase == phase);
        let mut stated =
            of_phase.filter_map(|task| task.details.as_deref()?.worktree.as_deref()).map(str::trim);
        if let Some(stated) = stated.find(|stated| is_tree_name(stated)) {
            return stated.to_owned();
        }
        let name = self.phases.get(&phase).map_or("", String::as_str);
        let plain = format!("phase-{phase}");
        match slug(name) {
            // A phase without a name of its own is called by its number.
            slug if slug.is_empty() || slug == plain => format!("{TREES}/{plain}"),
            slug => format!("{TREES}/{plain}-{slug}"),
        }
    }

    /// `worktree/phase-1-user-auth--T1.2-3`: where one attempt works.
    pub fn attempt_tree(&self, phase: u32, id: &TaskId, attempt: u32) -> String {
        format!("{}--{id}-{attempt}", self.phase_tree(phase))
    }
}

/// Whether a stated name is a folder in our place and a branch's name at once.
fn is_tree_name(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(TREES).and_then(|rest| rest.strip_prefix('/')) else {
        return false;
    };
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    // Work trees of ours are known by how their names begin.
    rest.starts_with("phase-") && !rest.contains("--") && rest.chars().all(is_plain)
}

/// Letters and digits in lower case, with single hyphens between them.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars() {
        if letter.is_alphanumeric() {
            slug.extend(letter.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let short: String = slug.chars().take(NAME_LENGTH_MAX).collect();
    short.trim_end_matches('-').to_owned()
}

impl Active {
    /// The commit that a phase's branch was made from, while it has one.
    pub fn base(&self, phase: u32) -> Option<&str> {
        self.core.bases.get(&phase).map(String::as_str)
    }

    /// The work tree of the current phase, once it is made.
    pub fn worktree(&self) -> Option<String> {
        let phase = self.core.current_phase;
        self.base(phase).map(|_| self.core.plan.phase_tree(phase))
    }

    /// The work tree of a task's own, if it has one.
    pub fn task_tree(&self, id: &TaskId) -> Option<String> {
        let view = self.task(id)?;
        Some(self.core.plan.attempt_tree(view.planned.phase, id, view.tree?))
    }

    pub(super) fn base_phase(
        &self,
        phase: u32,
        commit: &str,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if *by != Actor::Waypost {
            return Err(
                Rejected::rule(Code::WaypostOnly, "branches of phases are Waypost's").next(STATUS)
            );
        }
        match self.phase(phase) {
            _ if self.base(phase).is_some() => Ok(Decision::nothing()),
            Some(PhaseStage::Open { .. } | PhaseStage::Ending { .. }) => {
                Ok(Decision::events([Event::PhaseBased { phase, commit: commit.to_owned() }]))
            }
            _ => Err(Rejected::rule(Code::PhaseStatus, format!("phase {phase} is not open"))
                .next(STATUS)),
        }
    }

    /// Where the work of a phase happens does not change in the middle of it.
    pub(super) fn keeps_place(&self, settings: &Settings) -> Result<(), Rejected> {
        let now = &self.core.settings;
        let is_same = now.isolation == settings.isolation && now.target == settings.target;
        match self.core.bases.keys().next() {
            Some(phase) if !is_same => Err(Rejected::rule(Code::IsolationFixed, format!(
                "phase {phase} is being worked on in {}, to be merged into {}: that holds until \
                 its end",
                self.core.plan.phase_tree(*phase),
                now.target.as_deref().unwrap_or("no branch")
            ))
            .next(NextStep::ResumeRun)),
            _ => Ok(()),
        }
    }

    /// A run whose phase has a branch of its own cannot be given up: work on it is not merged yet.
    pub(super) fn has_nothing_unmerged(&self) -> Result<(), Rejected> {
        match self.core.bases.keys().next() {
            None => Ok(()),
            Some(phase) => Err(Rejected::rule(Code::WorkUnmerged, format!(
                "run {} is not finished, and its work on phase {phase} is in {}, not merged yet",
                self.number(),
                self.core.plan.phase_tree(*phase)
            ))
            .next(NextStep::ResumeRun)),
        }
    }

    /// What was done in a work tree of ours is joined by us before it counts.
    pub(super) fn joins_by_itself(&self, id: &TaskId, by: &Actor) -> Result<(), Rejected> {
        let is_apart = self.core.settings.isolation.has_trees();
        let is_supervised = self.base(self.core.current_phase).is_some();
        match by {
            Actor::Agent { .. } if is_apart && is_supervised => Err(Rejected::rule(
                Code::WaypostOnly,
                format!(
                    "the work on {id} is verified and joined by Waypost: end your turn with `DONE:{id}`"
                ),
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_phases_become_names_of_branches() {
        let table = [
            ("User Auth", "user-auth"),
            ("  API & (v2) — part 1. ", "api-v2-part-1"),
            ("사용자 인증", "사용자-인증"),
            ("../../etc", "etc"),
            ("-- --", ""),
            (
                "a very long name that goes on and on and on without end",
                "a-very-long-name-that-goes-on-and-on-and",
            ),
        ];
        for (name, want) in table {
            assert_eq!(slug(name), want, "{name:?}");
        }
    }

    #[test]
    fn a_stated_name_stays_in_our_folder() {
        let good = ["worktree/phase-1-auth", "worktree/phase-x", "worktree/phase-단계_1"];
        let bad = [
            "phase-1",
            "worktree/",
            "worktree/auth",
            "worktree/phase-1/b",
            "worktree/phase-..",
            "worktree/phase-1--b",
            "worktree/phase 1",
            "worktreex/phase-1",
            "/worktree/phase-1",
            "worktree/phase-1.lock",
        ];
        good.iter().for_each(|name| assert!(is_tree_name(name), "{name}"));
        bad.iter().for_each(|name| assert!(!is_tree_name(name), "{name}"));
    }
}
