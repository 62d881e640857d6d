//! The same project in another of its work trees.

use super::{Caller, Project, ProjectSetup};
use crate::{
    clock::Clock, environment::Environment, error::EngineError, fence::Fence, ledger::Ledger,
    machines::MACHINES, notify::Wanted, pin, spelling, tasks::KnownTasks, verdicts,
};
use std::path::Path;
use waypost_model::actor::Actor;
use waypost_store::{journal::Journals, place::Place};

impl Project {
    /// A project that is set up like this, for a caller; nothing of it is open yet.
    pub(super) fn with_setup(setup: ProjectSetup, actor: Actor, environment: Environment) -> Self {
        let fence = Fence::from_environment(&setup.place.state, &environment);
        Self {
            journals: Journals::of(&setup.place),
            clock: Clock,
            journal: None,
            ledger: Ledger::new(MACHINES, Wanted::of(&setup.configuration.values)),
            setup,
            caller: Caller {
                actor,
                environment,
                fence,
                ask_pin: pin::not_asked,
                is_confirmed: false,
            },
            seen_version: (0, 0),
            commits_beside: 0,
            version_in_turn: None,
            notices: Vec::new(),
            spelling: spelling::plain,
            is_hurried: false,
            tasks: KnownTasks::default(),
            said: Vec::new(),
            judged: verdicts::JudgedCalls::default(),
            stop: None,
        }
    }

    /// The same project for the same caller in another of its work trees. It is set up as this one is: an agent that
    /// works in that tree may have changed the configuration there.
    pub(crate) fn beside(&self, root: &Path) -> Result<Self, EngineError> {
        let setup = ProjectSetup {
            place: Place::find(root)?,
            home: self.setup.home.clone(),
            configuration: self.setup.configuration.clone(),
            programs: self.setup.programs.clone(),
        };
        let (actor, environment) = (self.caller.actor.clone(), self.caller.environment.clone());
        let mut own = Self::with_setup(setup, actor, environment);
        own.caller.ask_pin = self.caller.ask_pin;
        own.spelling = self.spelling;
        own.stop.clone_from(&self.stop);
        own.open_journal()?;
        Ok(own)
    }
}
