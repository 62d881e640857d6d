//! The guests of a host, as its own thread sees them.

use super::{
    feed::Feed,
    protocol::{GuestKind, GuestState},
    seat::Seat,
};
use crate::{
    error::EngineError,
    execute::Wish,
    guest::{Attended, Guest, Waits},
    project::Project,
};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use waypost_model::{actor::Actor, time::Time};

/// How many guests that have left are remembered, for watchers that come again.
const GONE_MAX: usize = 64;

/// How a guest has left.
pub(super) enum Left<G: Guest> {
    Over(G, G::End),
    /// It could not begin or go on.
    Failed(EngineError),
    /// The host ends before it; another host goes on with it.
    LetGo(G),
}

/// A guest that is to be admitted: it begins in the host's own thread, or hears why there is no
/// place for it.
pub(super) struct Admission {
    kind: GuestKind,
    feed: Option<Arc<Feed>>,
    /// Who handed it over from another process.
    from: Option<Actor>,
    begin: Begin,
}

/// Makes the guest; or says, when it is on no list any more, why there is none.
type Begin =
    Box<dyn FnOnce(Result<&mut Project, EngineError>) -> Result<Box<dyn AnyGuest>, Say> + Send>;

type Say = Box<dyn FnOnce()>;

impl Admission {
    /// A guest that `begin` makes. How it left is given to `leave`, also if it could not begin.
    pub(super) fn new<G: Guest + 'static>(
        kind: GuestKind,
        begin: impl FnOnce(&mut Project) -> Result<G, EngineError> + Send + 'static,
        leave: impl FnOnce(Left<G>) + Send + 'static,
    ) -> Self {
        let begin = move |place: Result<&mut Project, EngineError>| match place.and_then(begin) {
            Ok(guest) => Ok(Box::new(Present { guest, leave }) as Box<dyn AnyGuest>),
            Err(error) => Err(Box::new(move || leave(Left::Failed(error))) as Say),
        };
        Self { kind, feed: None, from: None, begin: Box::new(begin) }
    }

    /// What happens to it is told there.
    pub(super) fn told_to(self, feed: &Arc<Feed>) -> Self {
        Self { feed: Some(Arc::clone(feed)), ..self }
    }

    /// It comes from another process, and outlives this host.
    pub(super) fn handed_over_by(self, actor: Actor) -> Self {
        Self { from: Some(actor), ..self }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// A guest whose end concerns only the one who brought it.
trait AnyGuest {
    fn waits<'a>(&'a self, waits: &mut Waits<'a>);
    fn attend(self: Box<Self>, project: &mut Project, now: Time) -> GuestStep;
    fn let_go(self: Box<Self>);
    /// Ends it, with what it cannot go on for.
    fn fail(self: Box<Self>, error: EngineError);
}

/// What a guest does after it was attended to.
enum GuestStep {
    Stays(Box<dyn AnyGuest>),
    /// It leaves, and says so when it is on no list any more: a process that hears it may bring the
    /// next one at once.
    Leaves(Say),
}

struct Present<G, L> {
    guest: G,
    leave: L,
}

impl<G, L> AnyGuest for Present<G, L>
where
    G: Guest + 'static,
    L: FnOnce(Left<G>) + 'static,
{
    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.guest.waits(waits);
    }

    fn attend(mut self: Box<Self>, project: &mut Project, now: Time) -> GuestStep {
        match self.guest.attend(project, now) {
            Ok(Attended::GoesOn) => GuestStep::Stays(self),
            Ok(Attended::Over(end)) => {
                GuestStep::Leaves(Box::new(move || (self.leave)(Left::Over(self.guest, end))))
            }
            Err(error) => {
                let Self { guest, leave } = *self;
                drop(guest);
                GuestStep::Leaves(Box::new(move || leave(Left::Failed(error))))
            }
        }
    }

    fn let_go(self: Box<Self>) {
        let Self { guest, leave } = *self;
        leave(Left::LetGo(guest));
    }

    fn fail(self: Box<Self>, error: EngineError) {
        let Self { guest, leave } = *self;
        drop(guest);
        leave(Left::Failed(error));
    }
}

/// All guests.
pub(super) struct Guests {
    present: Vec<(GuestState, Box<dyn AnyGuest>)>,
    /// Whether any has come or left since that was last asked.
    has_moved: bool,
    list: Arc<GuestList>,
}

impl Guests {
    pub(super) fn new(list: &Arc<GuestList>) -> Self {
        Self { present: Vec::new(), has_moved: false, list: Arc::clone(list) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    /// Whether nothing but a run is carried.
    pub(super) fn are_runs(&self) -> bool {
        self.present.iter().all(|(state, _)| state.kind == GuestKind::Run)
    }

    /// Whether any has come or left since this was last asked.
    pub(super) fn has_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }

    pub(super) fn admit(&mut self, admissions: Vec<Admission>, seat: &mut Seat) {
        for Admission { kind, feed, from, begin } in admissions {
            let is_there = self.present.iter().any(|(other, _)| other.kind == kind);
            let state = self.list.enter(kind, from, feed, seat.project.clock.now());
            let place = match kind {
                GuestKind::Run if is_there => {
                    Err(EngineError::Runs { owner: Box::new(seat.owner.clone()) })
                }
                _ => Ok(&mut seat.project),
            };
            match begin(place) {
                Ok(guest) => self.present.push((state, guest)),
                Err(say) => {
                    self.list.leave(state.guest);
                    say();
                }
            }
            self.has_moved = true;
        }
    }

    /// Lets each of them do what there is to do.
    pub(super) fn attend(&mut self, seat: &mut Seat) {
        let before = self.present.len();
        let present = std::mem::take(&mut self.present);
        let (list, has_committed) = (&self.list, &mut self.has_moved);
        let goes_on = |(state, guest): (GuestState, Box<dyn AnyGuest>)| {
            let now = seat.project.clock.now();
            let end = (before > 1).then(|| seat.project.journal_end().ok());
            let step = guest.attend(&mut seat.project, now);
            if end.is_some_and(|end| end != seat.project.journal_end().ok()) {
                // They share a connection, so that the others would not see that it was written.
                seat.project.commits_beside += 1;
                *has_committed = true;
            }
            match step {
                GuestStep::Stays(guest) => Some((state, guest)),
                GuestStep::Leaves(say) => {
                    list.leave(state.guest);
                    say();
                    None
                }
            }
        };
        self.present = present.into_iter().filter_map(goes_on).collect();
        self.has_moved |= self.present.len() < before;
        seat.has_guests = !self.present.is_empty();
        seat.has_run = self.present.iter().any(|(it, _)| it.kind == GuestKind::Run);
    }

    /// Lets those go that came from other processes, where they go on.
    pub(super) fn let_go(&mut self) {
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.present).into_iter().partition(|(it, _)| it.from.is_none());
        self.present = here;
        for (state, guest) in elsewhere {
            self.has_moved = true;
            self.list.leave(state.guest);
            guest.let_go();
        }
    }

    /// There is nothing left to work on: tells all of them so, and those that were to be admitted.
    pub(super) fn fail(&mut self, admissions: Vec<Admission>, why: impl Fn() -> EngineError) {
        for (state, guest) in std::mem::take(&mut self.present) {
            self.list.leave(state.guest);
            guest.fail(why());
        }
        for Admission { begin, .. } in admissions {
            if let Err(say) = begin(Err(why())) {
                say();
            }
        }
    }

    pub(super) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.present.iter().for_each(|(_, guest)| guest.waits(waits));
    }
}

/// Who is there, for other threads.
#[derive(Debug, Default)]
pub(super) struct GuestList(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    last: u64,
    present: Vec<(GuestState, Option<Arc<Feed>>)>,
    gone: VecDeque<(u64, Arc<Feed>)>,
}

impl GuestList {
    fn enter(
        &self,
        kind: GuestKind,
        from: Option<Actor>,
        feed: Option<Arc<Feed>>,
        since: Time,
    ) -> GuestState {
        let mut entries = self.entries();
        entries.last += 1;
        let state = GuestState { guest: entries.last, kind, since, from, wish: Wish::GoOn };
        entries.present.push((state.clone(), feed));
        state
    }

    fn leave(&self, guest: u64) {
        let mut entries = self.entries();
        let Some(at) = entries.present.iter().position(|(it, _)| it.guest == guest) else { return };
        if let (state, Some(feed)) = entries.present.remove(at) {
            if entries.gone.len() >= GONE_MAX {
                entries.gone.pop_front();
            }
            entries.gone.push_back((state.guest, feed));
        }
    }

    pub(super) fn present(&self) -> Vec<GuestState> {
        let entries = self.entries();
        let state = |(state, feed): &(GuestState, Option<Arc<Feed>>)| {
            let wish = feed.as_ref().map_or(Wish::GoOn, |feed| feed.wished());
            GuestState { wish, ..state.clone() }
        };
        entries.present.iter().map(state).collect()
    }

    /// The run that is at work.
    pub(super) fn run(&self) -> Option<(u64, Arc<Feed>)> {
        let entries = self.entries();
        let mut runs = entries.present.iter().filter(|(it, _)| it.kind == GuestKind::Run);
        runs.find_map(|(state, feed)| Some((state.guest, feed.clone()?)))
    }

    /// The number of the guest of which `feed` tells.
    pub(super) fn number_of(&self, feed: &Arc<Feed>) -> Option<u64> {
        let entries = self.entries();
        let present = entries.present.iter();
        let present = present.filter_map(|(it, feed)| Some((it.guest, feed.as_ref()?)));
        let gone = entries.gone.iter().map(|(guest, feed)| (*guest, feed));
        let mut all = present.chain(gone);
        all.find(|(_, other)| Arc::ptr_eq(other, feed)).map(|(guest, _)| guest)
    }

    /// A guest that is there, or was.
    pub(super) fn find(&self, guest: u64) -> Option<Arc<Feed>> {
        let entries = self.entries();
        let present = entries.present.iter().find(|(state, _)| state.guest == guest);
        let gone =
            || entries.gone.iter().find(|(it, _)| *it == guest).map(|(_, feed)| feed.clone());
        present.and_then(|(_, feed)| feed.clone()).or_else(gone)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
