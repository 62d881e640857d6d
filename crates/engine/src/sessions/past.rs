//! Earlier requests, read from the journal: a state only has the present one.

use crate::{
    error::EngineError,
    ledger::{decode, session_stream},
    project::Project,
};
use waypost_model::{
    machine::Machine as _,
    session::{Event, RequestState, Session},
};
use waypost_store::StoreError;

/// A request, and in which session it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct PastRequest {
    pub session: u32,
    pub state: RequestState,
}

/// Every request of this repository, as it was left; the first first.
pub fn requests(project: &mut Project) -> Result<Vec<PastRequest>, EngineError> {
    let Some(journal) = project.journal.as_mut() else { return Ok(Vec::new()) };
    let mut session = Session::start();
    let mut found = Vec::new();
    let left = |session: &Session| {
        let number = session.facts().map_or(0, |facts| facts.number);
        session.request().cloned().map(|state| PastRequest { session: number, state })
    };
    journal.view()?.for_each_event(&session_stream(), 0, |entry| -> Result<(), StoreError> {
        let event: Event = decode::<Session>(&entry)?;
        if matches!(event, Event::RequestMade { .. }) {
            found.extend(left(&session));
        }
        session.apply(&event, entry.at);
        Ok(())
    })?;
    found.extend(left(&session));
    Ok(found)
}
