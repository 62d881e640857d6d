//! What a person has allowed agents in this project until it is revoked.
//!
//! It is the user's and not the project's: a repository cannot bring it along, and an agent can
//! neither answer the inbox nor reach a permission that no person gave.

use crate::{
    error::{EngineError, Problem},
    project::Project,
};
use waypost_model::{actor::Actor, code::Code, next::NextStep};
use waypost_store::permits::{Permit, Permits};

impl Project {
    fn permit_list(&self) -> Option<Permits> {
        self.home.state.as_deref().map(|home| Permits::below(home, &self.place))
    }

    /// What agents may do here without asking.
    pub fn permits(&self) -> Result<Vec<Permit>, EngineError> {
        Ok(self.permit_list().map(|list| list.list()).transpose()?.unwrap_or_default())
    }

    /// Whether a person has allowed it for the project.
    pub(crate) fn has_permit(&self, id: &str) -> Result<bool, EngineError> {
        let found = self.permit_list().map(|list| list.find(id)).transpose()?;
        Ok(found.flatten().is_some())
    }

    /// Keeps what the person who gives this command allows.
    pub(crate) fn keep_permit(&self, id: &str, what: &str) -> Result<(), EngineError> {
        let Actor::User(name) = &self.actor else { return Ok(()) };
        let Some(list) = self.permit_list() else {
            let message = "there is no home folder to keep the permission in";
            let hint = "set HOME, or answer with `allow-run`";
            return Err(Problem::new(Code::HomeMissing, message).hint(hint).into());
        };
        let at = self.clock.now().to_string();
        Ok(list.add(id, what, (name, &at), self.root())?)
    }

    /// Takes back a permission, named by the beginning of its id. Returns what it was for.
    pub fn revoke(&self, start: &str) -> Result<Permit, EngineError> {
        let found = self.permits()?;
        let mut fitting = found.iter().filter(|it| !start.is_empty() && it.id.starts_with(start));
        let (Some(permit), None) = (fitting.next(), fitting.next()) else {
            let message = format!("`{start}` is not the id of one permission");
            return Err(Problem::new(Code::PermitUnknown, message)
                .next(NextStep::ListPermits)
                .into());
        };
        if let Some(list) = self.permit_list() {
            list.remove(&permit.id)?;
        }
        Ok(permit.clone())
    }
}
