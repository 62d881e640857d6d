//! What a workflow lets an agent do: the matrix that the hook enforces.

use crate::workflow::{Feature, GateName, Phase};

/// What an agent may do as things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Write files outside the design paths; those inside are free in DESIGN and REVIEW.
    pub write: bool,
    pub write_design: bool,
    pub commit: bool,
    /// Push a branch that is not the default one.
    pub push_branch: bool,
    /// Push anything; open, ready, close or merge a pull request.
    pub publish: bool,
}

/// The parts of the configuration that bear on rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RightsSettings {
    /// DESIGN and REVIEW are closed ground from the start.
    pub strict: bool,
    /// Branches may be pushed in IMPLEMENT.
    pub push_early: bool,
}

impl Rights {
    pub const ALL: Self =
        Self { write: true, write_design: true, commit: true, push_branch: true, publish: true };

    pub const NONE: Self = Self {
        write: false,
        write_design: false,
        commit: false,
        push_branch: false,
        publish: false,
    };

    /// The rights under a workflow.
    pub fn under(feature: &Feature, settings: RightsSettings) -> Self {
        if feature.suspended.is_some() { Self::ALL } else { Self::by_gates(feature, settings) }
    }

    /// The rights that phase and gates alone give, whether or not they are suspended.
    pub(super) fn by_gates(feature: &Feature, settings: RightsSettings) -> Self {
        let reviewed = feature.has_passed(GateName::ReviewCleanPass);
        let verified = reviewed && feature.has_passed(GateName::ArchitectVerified);
        let clean = verified && feature.has_passed(GateName::ReReviewClean);
        let none = Self::NONE;
        match feature.phase {
            Phase::Design | Phase::Review => {
                let free = !feature.was_in_implement && !settings.strict;
                Self { write: free, write_design: true, commit: free, ..none }
            }
            Phase::Implement => Self {
                write: reviewed,
                write_design: reviewed,
                commit: reviewed && !feature.commits_held,
                push_branch: settings.push_early && reviewed && !feature.commits_held,
                ..none
            },
            Phase::Pr => Self {
                write: verified,
                write_design: verified,
                commit: clean,
                push_branch: clean,
                publish: clean,
            },
            Phase::Done => Self::ALL,
        }
    }

    /// What is allowed, each in a word.
    pub fn words(self) -> Vec<&'static str> {
        let all = [
            (self.write, "write"),
            (self.write_design, "write_design"),
            (self.commit, "commit"),
            (self.push_branch, "push_branch"),
            (self.publish, "publish"),
        ];
        all.into_iter().filter(|(is_allowed, _)| *is_allowed).map(|(_, word)| word).collect()
    }

    /// The rights that `words` names; none if one of them is no right.
    pub fn from_words<'a>(words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut rights = Self::NONE;
        for word in words {
            match word {
                "write" => rights.write = true,
                "write_design" => rights.write_design = true,
                "commit" => rights.commit = true,
                "push_branch" => rights.push_branch = true,
                "publish" => rights.publish = true,
                _ => return None,
            }
        }
        Some(rights)
    }

    /// Whether nothing about commits, pushes and pull requests is allowed that `other` forbids.
    pub fn publishes_no_more_than(self, other: Self) -> bool {
        self.commit <= other.commit
            && self.push_branch <= other.push_branch
            && self.publish <= other.publish
    }
}
