//! The machines of the product: one line for each kind.
//!
//! Everything that has to find a machine by the name of its stream goes through this table. Of a
//! kind there may be any number of instances, each with a stream of its own (`KIND:NAME`).

use std::{any::TypeId, fmt};
use waypost_model::{
    inbox::Inbox, machine::Machine, run::Run, verdict::Verdicts, workflow::Workflow,
};

/// Every kind of machine that there is.
pub(crate) static MACHINES: &[MachineKind] = &[
    MachineKind::of::<Workflow>(),
    MachineKind::of::<Run>(),
    MachineKind::of::<Inbox>(),
    MachineKind::of::<Verdicts>(),
];

/// What the engine has to know of a kind of machine.
pub(crate) struct MachineKind {
    word: &'static str,
    type_id: fn() -> TypeId,
}

impl MachineKind {
    pub(crate) const fn of<M: Machine>() -> Self {
        Self { word: M::KIND, type_id: TypeId::of::<M> }
    }

    pub(crate) fn is_of<M: Machine>(&self) -> bool {
        self.word == M::KIND && (self.type_id)() == TypeId::of::<M>()
    }
}

impl fmt::Debug for MachineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}
