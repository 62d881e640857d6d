//! A run as the guest of a host: of one in this process, or of the one that is there already.

use super::{
    Handle, Host, desk,
    enduring::EnduringRun,
    feed::{Broadcast, Feed},
    guests::{Admission, Left},
    listen::last_word,
    protocol::{self, Answer, GuestKind, HandOver, Refusal, Request},
    watch::{HeardOfHost, RunWatch},
};
use crate::{
    attendance::{self, EngineClaim, RUNS},
    error::EngineError,
    execute::{Audience, Happening, RunEnd, RunNews, RunOptions, Wish},
    guest::{Attended, Guest, Waits},
    project::Project,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::sync_channel},
    time::Duration,
};
use waypost_model::time::Time;
use waypost_store::{StoreError, journal::Cursor, lock::Owner, socket::Connection};

/// How long a host may take to listen, to end, or to answer at all.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often is looked at least whether it does.
const POLL: Duration = Duration::from_millis(20);

/// The shortest time between two looks of the audience.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

impl Handle {
    /// Works on the run until nothing is left, a person has to answer, or it is asked to end. One
    /// run at a time: where another is at work, it is refused. The audience is told what happens
    /// after `told`.
    pub fn run(
        &self,
        options: RunOptions,
        (audience, told): (Box<dyn Audience + Send>, Cursor),
    ) -> Result<RunEnd, EngineError> {
        let feed = Arc::new(Feed::new(self.desk.bell()));
        let (own, pulse) = (Arc::clone(&feed), Arc::clone(&self.desk.pulse));
        let begin = move |project: &mut Project| {
            let audience = Broadcast::new(Some(audience), own, project.setup.stop_grace());
            EnduringRun::begin(project, options, (Box::new(audience), told), pulse)
        };
        let (tell, told) = sync_channel(1);
        let watched = Arc::clone(&feed);
        let leave = move |left: Left<EnduringRun>| {
            let ended = match left {
                Left::Over(run, end) => run.finish().map(|()| end),
                Left::Failed(error) => Err(error),
                Left::LetGo(run) => {
                    run.let_go();
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
    mut project: Project,
    options: &RunOptions,
    audience: Box<dyn Audience + Send>,
) -> Result<(Project, RunEnd), EngineError> {
    project.ensure_journal()?;
    let audience: SharedAudience = Arc::new(Mutex::new(audience));
    let told = project.journal_end()?;
    let mut watch = RunWatch::begin(&project, told)?;
    let mut carried: Option<Carried> = None;
    let mut asked_since = project.clock.now();
    loop {
        match attendance::claim_engine(&mut project, RUNS)? {
            EngineClaim::Ours(lease) => {
                if carried.is_some() {
                    let text = "the engine that carried the run has ended; it goes on here";
                    let (happening, cursor) = (Happening::Note(text.to_owned()), watch.cursor());
                    locked(&audience).tell(&RunNews { happening, cursor });
                }
                let told = watch.cursor();
                let host = Host::begin(project, *lease)?;
                let ended = host.handle().run(options.clone(), (Box::new(audience), told));
                let project = host.stop().ok_or_else(desk::closed)?;
                return Ok((project, ended?));
            }
            EngineClaim::Theirs(owner) => {
                let (lent, audience) = (&mut project, &audience);
                let mut handing = Handing { project: lent, audience, options, watch: &mut watch };
                match handing.follow(&owner, &mut carried)? {
                    Followed::Over(end) => return Ok((project, end)),
                    Followed::Lost => asked_since = project.clock.now(),
                    Followed::Unheard => {
                        if project.clock.now().since(asked_since) > PATIENCE {
                            return Err(attendance::held_by(owner));
                        }
                        // Its socket, and its end, show in the folder that is watched.
                        watch.wait(POLL)?;
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
    watch: &'a mut RunWatch,
}

impl Handing<'_> {
    fn follow(
        &mut self,
        owner: &Owner,
        carried: &mut Option<Carried>,
    ) -> Result<Followed, EngineError> {
        let Ok(Some(host)) = self.hand_over(owner, carried.as_ref()) else {
            return Ok(Followed::Unheard);
        };
        self.watch.attach(host);
        locked(self.audience).ring_when_wished(self.watch.ring());
        let mut view = View { wished: Wish::GoOn, next_look: Time::default(), is_heard: false };
        loop {
            let heard = self.watch.hear();
            self.tell()?;
            match heard {
                HeardOfHost::Nothing => self.wait(&mut view)?,
                HeardOfHost::HungUp if view.is_heard => return Ok(Followed::Lost),
                HeardOfHost::HungUp => return Ok(Followed::Unheard),
                HeardOfHost::Said(answer) => {
                    if let Some(followed) = self.take(*answer, owner, (carried, &mut view))? {
                        return Ok(followed);
                    }
                }
            }
        }
    }

    /// Speaks with the host: hands the run over, or says which one it watches again.
    fn hand_over(
        &self,
        owner: &Owner,
        carried: Option<&Carried>,
    ) -> Result<Option<Connection>, StoreError> {
        let Some(mut host) = Connection::to_engine(&self.project.setup.place)? else {
            return Ok(None);
        };
        let request = match carried.filter(|it| it.host == *owner) {
            Some(carried) => Request::Watch { guest: Some(carried.guest) },
            None => Request::HandOver(Box::new(HandOver {
                root: self.project.root().to_owned(),
                environment: self.project.caller.environment.variables(),
                options: self.options.clone(),
            })),
        };
        host.set_timeout(PATIENCE)?;
        host.send_line(&protocol::write(&request))?;
        Ok(Some(host))
    }

    /// Takes what the host says; how following it ended, if it did.
    fn take(
        &mut self,
        answer: Answer,
        owner: &Owner,
        (carried, view): (&mut Option<Carried>, &mut View),
    ) -> Result<Option<Followed>, EngineError> {
        match answer {
            Answer::Watching { guest } => {
                view.is_heard = true;
                *carried = Some(Carried { host: owner.clone(), guest });
            }
            Answer::Stopping { haste } => {
                locked(self.audience).end(haste);
                // It is said before the run is over, however soon that is.
                self.wish(view);
            }
            Answer::Over { end } => return Ok(Some(Followed::Over(end))),
            Answer::Failed { failure } => return Err(failure.error()),
            Answer::Leaving => return Ok(Some(Followed::Lost)),
            Answer::Refused { why: Refusal::Runs } => {
                return Err(EngineError::Runs { owner: Box::new(owner.clone()) });
            }
            Answer::Refused { why: Refusal::NoRun } => {
                *carried = None;
                return Ok(Some(Followed::Lost));
            }
            Answer::Refused { why: Refusal::Closing } => return Ok(Some(Followed::Unheard)),
            Answer::Refused { .. } => return Err(attendance::held_by(owner.clone())),
            Answer::Heard | Answer::Host(_) | Answer::Happening { .. } | Answer::Look { .. } => {}
        }
        Ok(None)
    }

    /// Tells what has happened.
    fn tell(&mut self) -> Result<(), EngineError> {
        for news in self.watch.take(self.project)? {
            locked(self.audience).tell(&news);
        }
        Ok(())
    }

    /// Says what the person who watches wants.
    fn wish(&mut self, view: &mut View) {
        let wish = locked(self.audience).wish();
        if wish > view.wished {
            view.wished = wish;
            // A host that is gone does not hear it; the next one asks.
            self.watch.say(&Request::Wish { wish });
        }
    }

    /// Shows how things stand, and waits for what comes next.
    fn wait(&mut self, view: &mut View) -> Result<(), EngineError> {
        self.wish(view);
        let now = self.project.clock.now();
        // A clock that was set back does not keep it waiting.
        let is_time = now >= view.next_look || view.next_look.since(now) > LOOK_INTERVAL;
        if view.is_heard && is_time {
            view.next_look = now.plus(LOOK_INTERVAL);
            if let Some(active) = self.project.run()?.active() {
                let running = self.watch.running().unwrap_or_default();
                locked(self.audience).look(active, &running, now);
            }
        }
        let pace = locked(self.audience).pace();
        self.watch.wait(pace)
    }
}

/// What the one who watches has seen and said.
struct View {
    wished: Wish,
    next_look: Time,
    is_heard: bool,
}

/// An audience that panicked has shown a part of something; it goes on with the next.
fn locked(audience: &SharedAudience) -> MutexGuard<'_, Box<dyn Audience + Send>> {
    audience.lock().unwrap_or_else(PoisonError::into_inner)
}
