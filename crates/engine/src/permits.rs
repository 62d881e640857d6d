//! What a person has allowed agents in this project until it is revoked.
//!
//! It is the user's and not the project's: a repository cannot bring it along, and an agent can
//! neither answer the inbox nor reach a permission that no person gave.

use crate::{
    error::{EngineError, Problem},
    project::{Project, ProjectSetup},
};
use waypost_model::{actor::Actor, code::Code, next::NextStep};
use waypost_store::permits::{Permit, Permits};

fn current(setup: &ProjectSetup) -> Option<Permits> {
    setup.home.state.as_deref().map(|home| Permits::below(home, &setup.place))
}

/// What agents may do here without asking.
pub fn list(setup: &ProjectSetup) -> Result<Vec<Permit>, EngineError> {
    Ok(current(setup).map(|list| list.list()).transpose()?.unwrap_or_default())
}

/// Whether a person has allowed it for the project.
pub(crate) fn is_allowed(setup: &ProjectSetup, id: &str) -> Result<bool, EngineError> {
    let found = current(setup).map(|list| list.find(id)).transpose()?;
    Ok(found.flatten().is_some())
}

/// Keeps what the person who gives this command allows.
pub(crate) fn keep(project: &Project, id: &str, what: &str) -> Result<(), EngineError> {
    let Actor::User(name) = &project.caller.actor else { return Ok(()) };
    let Some(list) = current(&project.setup) else {
        let message = "there is no home folder to keep the permission in";
        let hint = "set HOME, or answer with `allow-run`";
        return Err(Problem::new(Code::HomeMissing, message).hint(hint).into());
    };
    let at = project.clock.now().to_string();
    Ok(list.add(id, what, (name, &at), project.root())?)
}

/// Takes back everything: it was allowed for another repository, which stood at this path.
pub(crate) fn forget(setup: &ProjectSetup) -> Result<(), EngineError> {
    let Some(permits) = current(setup) else { return Ok(()) };
    Ok(permits.list()?.iter().try_for_each(|permit| permits.remove(&permit.id))?)
}

/// Takes back a permission, named by the beginning of its id. Returns what it was for.
pub fn revoke(setup: &ProjectSetup, start: &str) -> Result<Permit, EngineError> {
    let found = list(setup)?;
    let mut fitting = found.iter().filter(|it| !start.is_empty() && it.id.starts_with(start));
    let (Some(permit), None) = (fitting.next(), fitting.next()) else {
        let message = format!("`{start}` is not the id of one permission");
        return Err(Problem::new(Code::PermitUnknown, message).next(NextStep::ListPermits).into());
    };
    if let Some(list) = current(setup) {
        list.remove(&permit.id)?;
    }
    Ok(permit.clone())
}
