//! The guests of a host, as its own thread sees them.

use super::seat::Seat;
use crate::{
    error::EngineError,
    guest::{Attended, Guest, Waits},
    project::Project,
};
use std::fmt;
use waypost_model::time::Time;

/// What kind of guest it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuestKind {
    /// A run; there is one at a time.
    Run,
}

/// A guest that is to be admitted: it begins in the host's own thread, or hears why there is no
/// place for it.
pub(super) struct Admission {
    kind: GuestKind,
    begin: Begin,
}

type Begin = Box<dyn FnOnce(Result<&mut Project, EngineError>) -> Option<Box<dyn AnyGuest>> + Send>;

impl Admission {
    /// A guest that `begin` makes. How it ended is given to `leave`, also if it could not begin.
    pub(super) fn new<G: Guest + 'static>(
        kind: GuestKind,
        begin: impl FnOnce(&mut Project) -> Result<G, EngineError> + Send + 'static,
        leave: impl FnOnce(Result<(G, G::End), EngineError>) + Send + 'static,
    ) -> Self {
        let begin = move |place: Result<&mut Project, EngineError>| match place.and_then(begin) {
            Ok(guest) => Some(Box::new(Present { guest, leave }) as Box<dyn AnyGuest>),
            Err(error) => {
                leave(Err(error));
                None
            }
        };
        Self { kind, begin: Box::new(begin) }
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
    /// None when it has left.
    fn attend(self: Box<Self>, project: &mut Project, now: Time) -> Option<Box<dyn AnyGuest>>;
}

struct Present<G, L> {
    guest: G,
    leave: L,
}

impl<G, L> AnyGuest for Present<G, L>
where
    G: Guest + 'static,
    L: FnOnce(Result<(G, G::End), EngineError>) + 'static,
{
    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.guest.waits(waits);
    }

    fn attend(mut self: Box<Self>, project: &mut Project, now: Time) -> Option<Box<dyn AnyGuest>> {
        let attended = self.guest.attend(project, now);
        let Self { guest, leave } = *self;
        match attended {
            Ok(Attended::GoesOn) => return Some(Box::new(Self { guest, leave })),
            Ok(Attended::Over(end)) => leave(Ok((guest, end))),
            Err(error) => {
                drop(guest);
                leave(Err(error));
            }
        }
        None
    }
}

/// All guests.
#[derive(Default)]
pub(super) struct Guests {
    present: Vec<(GuestKind, Box<dyn AnyGuest>)>,
    /// Whether any has come or left since that was last asked.
    has_moved: bool,
}

impl Guests {
    pub(super) fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    /// Whether any has come or left since this was last asked.
    pub(super) fn has_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }

    pub(super) fn admit(&mut self, admissions: Vec<Admission>, seat: &mut Seat) {
        for Admission { kind, begin } in admissions {
            let is_there = self.present.iter().any(|(other, _)| *other == kind);
            let place = match kind {
                GuestKind::Run if is_there => {
                    Err(EngineError::Runs { owner: Box::new(seat.owner.clone()) })
                }
                GuestKind::Run => Ok(&mut seat.project),
            };
            self.present.extend(begin(place).map(|guest| (kind, guest)));
            self.has_moved = true;
        }
    }

    /// Lets each of them do what there is to do.
    pub(super) fn attend(&mut self, seat: &mut Seat) {
        let before = self.present.len();
        let present = std::mem::take(&mut self.present);
        let goes_on = |(kind, guest): (GuestKind, Box<dyn AnyGuest>)| {
            let now = seat.project.clock.now();
            Some((kind, guest.attend(&mut seat.project, now)?))
        };
        self.present = present.into_iter().filter_map(goes_on).collect();
        self.has_moved |= self.present.len() < before;
        seat.has_guests = !self.present.is_empty();
    }

    pub(super) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        self.present.iter().for_each(|(_, guest)| guest.waits(waits));
    }
}
