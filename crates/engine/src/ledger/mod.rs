//! The machines in memory, and the one way in which they change: decide, record, apply.
//!
//! A ledger belongs to one thread. Whatever it holds was read from the journal or committed to it;
//! when a transaction fails after something was applied, the ledger forgets everything and loads
//! again. It holds any number of machines of any registered kind (`machines`), each under the name
//! of its stream.

mod command;
mod image;
mod loaded;
mod work;

pub use command::MachineCommand;
pub(crate) use image::{HOST_INTERVAL, ImagePlace, StateKey};
pub(crate) use loaded::{Loaded, decode};
pub(crate) use work::Work;

use crate::{machines::MachineKind, notify::Wanted};
use loaded::AnyLoaded;
use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};
use waypost_model::{
    id::StreamName, inbox::Inbox, knowledge::KnowledgeLog, machine::Machine, memory::Memory,
    run::Run, session::Session, verdict::Verdicts, workflow::Workflow,
};
use waypost_store::{
    StoreError,
    journal::{Transaction, View},
};

/// The states that were needed so far.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// The kinds of machines that there are.
    kinds: &'static [MachineKind],
    loaded: BTreeMap<StreamName, Box<dyn AnyLoaded>>,
    /// Where images of large ones are kept, if they are.
    images: Option<ImagePlace>,
    /// Counts transactions: what was brought up to date in the present one cannot be moved by others.
    turn: u64,
    /// Which notices are wanted.
    wanted: Wanted,
    /// How many notices were put into the outbox from here.
    notices_queued: u64,
    /// How many timers were set from here.
    timers_set: u64,
}

impl Ledger {
    pub(crate) fn new(kinds: &'static [MachineKind], wanted: Wanted) -> Self {
        Self {
            kinds,
            loaded: BTreeMap::new(),
            images: None,
            turn: 0,
            wanted,
            notices_queued: 0,
            timers_set: 0,
        }
    }

    /// From here on images are read and kept there.
    pub(crate) fn keep_images_at(&mut self, place: ImagePlace) {
        self.images = Some(place);
    }

    /// Keeps images of what is loaded and has had so many events since the last ones.
    pub(crate) fn keep_images(&mut self, view: &View<'_>, after: u64) {
        let Some(place) = &self.images else { return };
        self.loaded.values_mut().for_each(|loaded| loaded.keep_image(place, view, after));
    }

    pub(crate) fn kinds(&self) -> &'static [MachineKind] {
        self.kinds
    }

    pub(crate) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    pub(crate) fn notices_queued(&self) -> u64 {
        self.notices_queued
    }

    pub(crate) fn timers_set(&self) -> u64 {
        self.timers_set
    }

    /// A machine, brought up to date.
    pub(crate) fn get<M: Machine>(
        &mut self,
        view: &View<'_>,
        stream: &StreamName,
    ) -> Result<&mut Loaded<M>, StoreError> {
        let (loaded, is_fresh) = self.slot::<M>(view, stream)?;
        if !is_fresh {
            loaded.catch_up(view)?;
        }
        Ok(loaded)
    }

    /// A machine, brought up to date once in a transaction: until that ends no other process can
    /// change it.
    fn get_in_turn<M: Machine>(
        &mut self,
        tx: &Transaction<'_>,
        stream: &StreamName,
    ) -> Result<&mut Loaded<M>, StoreError> {
        let turn = self.turn;
        let is_known = self.loaded.get(stream).is_some_and(|it| it.turn() == turn);
        let loaded = match is_known {
            true => self.slot::<M>(&tx.view(), stream)?.0,
            false => self.get::<M>(&tx.view(), stream)?,
        };
        loaded.turn = turn;
        Ok(loaded)
    }

    /// A machine as it is held, loaded if it was not; says whether it was loaded just now.
    fn slot<M: Machine>(
        &mut self,
        view: &View<'_>,
        stream: &StreamName,
    ) -> Result<(&mut Loaded<M>, bool), StoreError> {
        let is_fresh = !self.loaded.contains_key(stream);
        if is_fresh {
            let is_registered = self.kinds.iter().any(|kind| kind.is_of::<M>());
            assert!(is_registered, "machines of kind {} are not registered", M::KIND);
            let loaded = Loaded::<M>::load(view, stream, self.images.as_ref())?;
            self.loaded.insert(stream.clone(), Box::new(loaded));
        }
        let held: &mut dyn Any = self.loaded.get_mut(stream).expect("it is there").as_mut();
        let loaded = held.downcast_mut().expect("a stream belongs to one kind of machine");
        Ok((loaded, is_fresh))
    }

    /// A machine as it was loaded or changed last.
    pub(crate) fn seen<M: Machine>(&self, stream: &StreamName) -> Option<&M> {
        let held: &dyn Any = self.loaded.get(stream)?.as_ref();
        held.downcast_ref::<Loaded<M>>().map(|loaded| &loaded.state)
    }

    fn snapshot_if_due(&mut self, tx: &mut Transaction<'_>) -> Result<(), StoreError> {
        self.loaded.values_mut().try_for_each(|loaded| loaded.snapshot_if_due(tx))
    }

    /// Writes the rows of these machines in the lists of their kinds.
    fn list(
        &self,
        tx: &mut Transaction<'_>,
        streams: &BTreeSet<StreamName>,
    ) -> Result<(), StoreError> {
        let changed = streams.iter().filter_map(|stream| self.loaded.get(stream));
        changed.into_iter().try_for_each(|loaded| loaded.list(tx))
    }

    /// Forgets every state: the journal is the truth.
    pub(crate) fn forget(&mut self) {
        self.loaded.clear();
    }
}

/// The stream of the run; there is one per repository.
pub(crate) fn run_stream() -> StreamName {
    static STREAM: LazyLock<StreamName> = LazyLock::new(only_stream::<Run>);
    STREAM.clone()
}

/// The stream of the inbox.
pub(crate) fn inbox_stream() -> StreamName {
    static STREAM: LazyLock<StreamName> = LazyLock::new(only_stream::<Inbox>);
    STREAM.clone()
}

/// The stream of the memory; there is one per repository.
pub(crate) fn memory_stream() -> StreamName {
    static STREAM: LazyLock<StreamName> = LazyLock::new(only_stream::<Memory>);
    STREAM.clone()
}

/// The stream of the session; there is one per repository.
pub(crate) fn session_stream() -> StreamName {
    static STREAM: LazyLock<StreamName> = LazyLock::new(only_stream::<Session>);
    STREAM.clone()
}

/// The stream of what became of the project's knowledge.
pub(crate) fn knowledge_stream() -> StreamName {
    static STREAM: LazyLock<StreamName> = LazyLock::new(only_stream::<KnowledgeLog>);
    STREAM.clone()
}

/// The stream of what the hook answered.
pub(crate) fn verdicts_stream() -> StreamName {
    only_stream::<Verdicts>()
}

/// The stream of the workflow of one work tree.
pub(crate) fn workflow_stream(tree: &str) -> StreamName {
    StreamName::of(Workflow::KIND, Some(tree)).expect("a work tree has a name")
}

/// The stream of a machine of which there is one.
fn only_stream<M: Machine>() -> StreamName {
    StreamName::of(M::KIND, None).expect("a machine's kind names a stream")
}
