//! Where an attempt works.

use waypost_git::PhaseBranch;
use waypost_model::run::{Active, Isolation, TaskView};

/// The place of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// The project folder itself.
    Project,
    /// The work tree of its phase, on the phase's branch.
    Shared { phase: PhaseBranch },
    /// A work tree of its own, by its name.
    Own { phase: PhaseBranch, name: String },
}

impl Ground {
    pub(super) fn of(active: &Active, view: &TaskView<'_>) -> Self {
        let number = view.planned.phase;
        let Some(phase) = PhaseBranch::of(active, number) else { return Self::Project };
        match active.settings().isolation {
            Isolation::Task => {
                let tree = view.tree.unwrap_or(view.attempts);
                let name = format!("{}--{}-{tree}", phase.name, view.planned.id);
                Self::Own { phase, name }
            }
            Isolation::None | Isolation::Undecided | Isolation::Phase => Self::Shared { phase },
        }
    }

    pub(super) fn phase(&self) -> Option<&PhaseBranch> {
        match self {
            Self::Project => None,
            Self::Shared { phase } | Self::Own { phase, .. } => Some(phase),
        }
    }

    /// The name of a work tree that is the attempt's own.
    pub(super) fn own(&self) -> Option<&str> {
        match self {
            Self::Own { name, .. } => Some(name),
            Self::Project | Self::Shared { .. } => None,
        }
    }
}
