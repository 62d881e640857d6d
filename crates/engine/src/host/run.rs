//! A run as the guest of a host: of one in this process, or of the one that is there already.

use super::{
    Handle, Host,
    client::LOOK_INTERVAL,
    desk,
    feed::{Broadcast, Feed},
    guests::{Admission, Left},
    listen::last_word,
    protocol::{self, Answer, GuestKind, HandOver, Refusal, Request, TaskAtWork},
};
use crate::{
    attendance::{self, EngineClaim, RUNS},
    error::EngineError,
    execute::{Audience, Executor, Happening, RunEnd, RunOptions, Running, Wish},
    guest::{Attended, Guest, Waits},
    project::Project,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::sync_channel},
    thread,
    time::Duration,
};
use waypost_model::time::Time;
use waypost_store::{StoreError, lock::Owner, socket::Connection};

/// How long a host may take to listen, to end, or to answer at all.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often is looked whether it does.
const POLL: Duration = Duration::from_millis(20);

impl Handle {
    /// Works on the run until nothing is left, a person has to answer, or it is asked to end. One
    /// run at a time: where another is at work, it is refused.
    pub fn run(
        &self,
        options: RunOptions,
        audience: Box<dyn Audience + Send>,
    ) -> Result<RunEnd, EngineError> {
        let feed = Arc::new(Feed::new(self.desk.bell()));
        let own = Arc::clone(&feed);
        let begin = move |project: &mut Project| {
            let audience = Broadcast::new(Some(audience), own, project.setup.stop_grace());
            Executor::begin(project, options, Box::new(audience))
        };
        let (tell, told) = sync_channel(1);
        let watched = Arc::clone(&feed);
        let leave = move |left: Left<Executor<'static>>| {
            let ended = match left {
                Left::Over(executor, end) => executor.finish().map(|()| end),
                Left::Failed(error) => Err(error),
                Left::LetGo(executor) => {
                    executor.let_go();
                    Err(desk::closed())
                }
            };
            watched.end(match &ended {
                Ok(end) => last_word(Ok(end.clone())),
                Err(error) => Answer::Failed { failure: protocol::Failure::of(error) },
            });
            // The thread that brought it waits for nothing else.
            let _gone = tell.send(ended);
        };
        self.desk.admit(Admission::new(GuestKind::Run, begin, leave).told_to(&feed))?;
        told.recv().map_err(|_| desk::closed())?
    }
}

/// A guest that works for an actor of another process: on a project of its own, with that actor's
/// rights, folder and environment.
pub(super) struct Visiting<G> {
    pub(super) project: Project,
    pub(super) guest: G,
}

impl<G> Visiting<G> {
    pub(super) fn begin(
        mut project: Project,
        begin: impl FnOnce(&mut Project) -> Result<G, EngineError>,
    ) -> Result<Self, EngineError> {
        let guest = begin(&mut project)?;
        Ok(Self { project, guest })
    }
}

impl<G: Guest> Guest for Visiting<G> {
    type End = G::End;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.guest.waits(waits);
    }

    fn attend(&mut self, _: &mut Project, now: Time) -> Result<Attended<G::End>, EngineError> {
        self.guest.attend(&mut self.project, now)
    }
}

type SharedAudience = Arc<Mutex<Box<dyn Audience + Send>>>;

/// Works on the run: in a host of this process, or in the one that is there, which is watched.
/// Should that one end before the run does, it goes on in another one, or here. The project
/// comes back in every case but an error.
pub fn execute(
    project: Project,
    options: &RunOptions,
    audience: Box<dyn Audience + Send>,
) -> Result<(Project, RunEnd), EngineError> {
    let audience: SharedAudience = Arc::new(Mutex::new(audience));
    let mut project = project;
    let mut carried: Option<Carried> = None;
    let mut asked_since = project.clock.now();
    loop {
        match attendance::claim_engine(&mut project, RUNS)? {
            EngineClaim::Ours(lease) => {
                if carried.is_some() {
                    tell(&audience, "the engine that carried the run has ended; it goes on here");
                }
                let host = Host::begin(project, *lease)?;
                let ended = host.handle().run(options.clone(), Box::new(audience));
                let project = host.stop().ok_or_else(desk::closed)?;
                return Ok((project, ended?));
            }
            EngineClaim::Theirs(owner) => {
                let mut handing = Handing { project: &mut project, audience: &audience, options };
                match handing.follow(&owner, &mut carried)? {
                    Followed::Over(end) => return Ok((project, end)),
                    Followed::Lost => asked_since = project.clock.now(),
                    Followed::Unheard => {
                        if project.clock.now().since(asked_since) > PATIENCE {
                            return Err(attendance::held_by(owner));
                        }
                        thread::sleep(POLL);
                    }
                }
            }
        }
    }
}

/// Where a run was handed over to.
struct Carried {
    host: Owner,
    guest: u64,
}

/// How following a run in another process ended.
enum Followed {
    Over(RunEnd),
    /// The host has ended, or has let this watcher go.
    Lost,
    /// It has not answered: it has just begun, or is about to end.
    Unheard,
}

/// A run that is being handed over, and watched.
struct Handing<'a> {
    project: &'a mut Project,
    audience: &'a SharedAudience,
    options: &'a RunOptions,
}

impl Handing<'_> {
    fn follow(
        &mut self,
        owner: &Owner,
        carried: &mut Option<Carried>,
    ) -> Result<Followed, EngineError> {
        let Ok(Some(mut host)) = Connection::to_engine(&self.project.setup.place) else {
            return Ok(Followed::Unheard);
        };
        let known = carried.as_ref().filter(|it| it.host == *owner).map(|it| it.guest);
        let request = match known {
            Some(guest) => Request::Watch { guest: Some(guest) },
            None => Request::HandOver(Box::new(HandOver {
                root: self.project.root().to_owned(),
                environment: self.project.caller.environment.variables(),
                options: self.options.clone(),
            })),
        };
        host.set_timeout(PATIENCE)?;
        if host.send_line(&protocol::write(&request)).is_err() {
            return Ok(Followed::Unheard);
        }
        host.set_receive_timeout(Some(LOOK_INTERVAL))?;
        let mut view = View { running: Vec::new(), wished: Wish::GoOn, next_look: Time::default() };
        let mut is_heard = false;
        loop {
            let line = match host.receive_line() {
                Ok(Some(line)) => Some(line),
                Err(StoreError::Busy { .. }) => None,
                Ok(None) | Err(_) if is_heard => return Ok(Followed::Lost),
                Ok(None) | Err(_) => return Ok(Followed::Unheard),
            };
            match line.and_then(|line| protocol::read(&line)) {
                Some(Answer::Watching { guest }) => {
                    is_heard = true;
                    *carried = Some(Carried { host: owner.clone(), guest });
                }
                Some(Answer::Happening { happening }) => locked(self.audience).tell(&happening),
                Some(Answer::Look { running }) => view.running = running,
                Some(Answer::Stopping { haste }) => {
                    locked(self.audience).end(haste);
                    // It is said before the run is over, however soon that is.
                    view.next_look = Time::default();
                }
                Some(Answer::Over { end }) => return Ok(Followed::Over(end)),
                Some(Answer::Failed { failure }) => return Err(failure.error()),
                Some(Answer::Leaving) => return Ok(Followed::Lost),
                Some(Answer::Refused { why: Refusal::Runs }) => {
                    return Err(EngineError::Runs { owner: Box::new(owner.clone()) });
                }
                Some(Answer::Refused { why: Refusal::NoRun }) => {
                    *carried = None;
                    return Ok(Followed::Lost);
                }
                Some(Answer::Refused { why: Refusal::Closing }) => return Ok(Followed::Unheard),
                Some(Answer::Refused { .. }) => return Err(attendance::held_by(owner.clone())),
                Some(Answer::Heard | Answer::Host(_)) | None => {}
            }
            self.look(&mut host, &mut view)?;
        }
    }

    /// Shows how things stand, and says what the person who watches wants.
    fn look(&mut self, host: &mut Connection, view: &mut View) -> Result<(), EngineError> {
        let now = self.project.clock.now();
        // A clock that was set back does not keep it waiting.
        if now < view.next_look && view.next_look.since(now) <= LOOK_INTERVAL {
            return Ok(());
        }
        view.next_look = now.plus(LOOK_INTERVAL);
        let wish = locked(self.audience).wish();
        if wish > view.wished {
            view.wished = wish;
            // A host that is gone does not hear it; the next one asks.
            let _gone = host.send_line(&protocol::write(&Request::Wish { wish }));
        }
        if let Some(active) = self.project.run()?.active() {
            let running: Vec<Running<'_>> = view.running.iter().map(TaskAtWork::running).collect();
            locked(self.audience).look(active, &running, now);
        }
        Ok(())
    }
}

/// What a watcher knows of the run beside the journal.
struct View {
    running: Vec<TaskAtWork>,
    wished: Wish,
    next_look: Time,
}

fn tell(audience: &SharedAudience, note: &str) {
    locked(audience).tell(&Happening::Note(note.to_owned()));
}

/// An audience that panicked has shown a part of something; it goes on with the next.
fn locked(audience: &SharedAudience) -> MutexGuard<'_, Box<dyn Audience + Send>> {
    audience.lock().unwrap_or_else(PoisonError::into_inner)
}
