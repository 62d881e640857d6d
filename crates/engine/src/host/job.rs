//! An agent's job, or all tasks of the server, as the guest of a host.

use super::{
    Handle, Host, desk,
    guests::{Admission, Left},
    protocol::GuestKind,
};
use crate::{
    agent::Onlooker,
    attendance::{EngineClaim, claim_engine, held_by},
    error::EngineError,
    guest::{Guest, carry},
    project::Project,
    serving::{ServeOptions, TaskGuest},
};
use std::sync::mpsc::{Receiver, sync_channel};

/// What the host for tasks is called in the engine lease.
const SERVES: &str = "serve";

impl Handle {
    /// Carries a guest of this process until it is over, beside a run and any number of others.
    pub(crate) fn work<G: Guest + 'static>(
        &self,
        kind: GuestKind,
        begin: impl FnOnce(&mut Project) -> Result<G, EngineError> + Send + 'static,
    ) -> Result<G::End, EngineError>
    where
        G::End: Send + 'static,
    {
        self.admit(kind, begin)?.recv().map_err(|_| desk::closed())?
    }

    /// Takes in a guest of this process; how it ends is told once.
    fn admit<G: Guest + 'static>(
        &self,
        kind: GuestKind,
        begin: impl FnOnce(&mut Project) -> Result<G, EngineError> + Send + 'static,
    ) -> Result<Receiver<Result<G::End, EngineError>>, EngineError>
    where
        G::End: Send + 'static,
    {
        let (tell, told) = sync_channel(1);
        let leave = move |left: Left<G>| {
            let ended = match left {
                Left::Over(guest, end) => {
                    // What it has drawn is gone before anything is said of its end.
                    drop(guest);
                    Ok(end)
                }
                Left::Failed(error) => Err(error),
                Left::LetGo(_) => Err(desk::closed()),
            };
            // The thread that brought it waits for nothing else.
            let _gone = tell.send(ended);
        };
        self.desk.admit(Admission::new(kind, begin, leave))?;
        Ok(told)
    }
}

/// Works on an agent's job: as a guest of a host in this process, or, where another process is the
/// host, in this thread. A job is not handed over: its agent outlives this process anyway, and the
/// one who gave it is the one who takes it up again.
pub(crate) fn work<G: Guest + 'static>(
    mut project: Project,
    purpose: &str,
    begin: impl FnOnce(&mut Project) -> Result<G, EngineError> + Send + 'static,
) -> Result<(Project, Result<G::End, EngineError>), EngineError>
where
    G::End: Send + 'static,
{
    match claim_engine(&mut project, purpose)? {
        EngineClaim::Ours(lease) => {
            let host = Host::begin(project, *lease)?;
            let ended = host.handle().work(GuestKind::Job, begin);
            let project = host.stop().ok_or_else(desk::closed)?;
            Ok((project, ended))
        }
        EngineClaim::Theirs(_) => {
            let ended = begin(&mut project).and_then(|mut guest| carry(&mut project, &mut guest));
            Ok((project, ended))
        }
    }
}

/// Acts for a project and looks after its tasks, until the one who watches wants it to end; `tell_ready` is
/// called once it has looked at all of them. Where another process is the host, it is refused: what needs a host is done by that one.
pub fn serve(
    mut project: Project,
    options: ServeOptions,
    onlooker: Box<dyn Onlooker + Send>,
    tell_ready: &dyn Fn(),
) -> Result<Project, EngineError> {
    match claim_engine(&mut project, SERVES)? {
        EngineClaim::Ours(lease) => {
            let host = Host::begin(project, *lease)?;
            let (tell, told) = sync_channel(1);
            let begin = move |project: &mut Project| {
                let guest = TaskGuest::begin(project, options, onlooker)?;
                // There is room for the one word that is ever said.
                let _told = tell.send(());
                Ok(guest)
            };
            let ended = host.handle().admit(GuestKind::Tasks, begin)?;
            // One that could not begin tells why at its end.
            if told.recv().is_ok() {
                tell_ready();
            }
            let ended = ended.recv().map_err(|_| desk::closed())?;
            let project = host.stop().ok_or_else(desk::closed)?;
            ended.map(|()| project)
        }
        EngineClaim::Theirs(owner) => Err(held_by(owner)),
    }
}
