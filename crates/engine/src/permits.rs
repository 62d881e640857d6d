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

fn current(project: &Project) -> Option<Permits> {
    project.home.state.as_deref().map(|home| Permits::below(home, &project.place))
}

/// What agents may do here without asking.
pub fn list(project: &Project) -> Result<Vec<Permit>, EngineError> {
    Ok(current(project).map(|list| list.list()).transpose()?.unwrap_or_default())
}

/// Whether a person has allowed it for the project.
pub(crate) fn is_allowed(project: &Project, id: &str) -> Result<bool, EngineError> {
    let found = current(project).map(|list| list.find(id)).transpose()?;
    Ok(found.flatten().is_some())
}

/// Keeps what the person who gives this command allows.
pub(crate) fn keep(project: &Project, id: &str, what: &str) -> Result<(), EngineError> {
    let Actor::User(name) = &project.actor else { return Ok(()) };
    let Some(list) = current(project) else {
        let message = "there is no home folder to keep the permission in";
        let hint = "set HOME, or answer with `allow-run`";
        return Err(Problem::new(Code::HomeMissing, message).hint(hint).into());
    };
    let at = project.clock.now().to_string();
    Ok(list.add(id, what, (name, &at), project.root())?)
}

/// Takes back a permission, named by the beginning of its id. Returns what it was for.
pub fn revoke(project: &Project, start: &str) -> Result<Permit, EngineError> {
    let found = list(project)?;
    let mut fitting = found.iter().filter(|it| !start.is_empty() && it.id.starts_with(start));
    let (Some(permit), None) = (fitting.next(), fitting.next()) else {
        let message = format!("`{start}` is not the id of one permission");
        return Err(Problem::new(Code::PermitUnknown, message).next(NextStep::ListPermits).into());
    };
    if let Some(list) = current(project) {
        list.remove(&permit.id)?;
    }
    Ok(permit.clone())
}
