//! A command on its way to the machine that it is for.

use super::{
    Ledger, inbox_stream, knowledge_stream,
    loaded::{Fresh, Handled},
    memory_stream, run_stream, session_stream, verdicts_stream,
};
use crate::error::EngineError;
use std::{any::Any, fmt, sync::Arc};
use waypost_model::{
    id::StreamName,
    inbox::{self, Inbox},
    knowledge::{self, KnowledgeLog},
    machine::{Asked, Machine},
    memory::{self, Memory},
    run::{self, Run},
    session::{self, Session},
    verdict::{self, Verdicts},
    workflow::{self, Workflow},
};
use waypost_store::journal::Transaction;

/// What is wanted of one machine. Of which kind it is, is known to the command alone: so any
/// machine can be given one.
#[derive(Clone, Debug)]
pub struct MachineCommand {
    stream: StreamName,
    command: Arc<dyn AnyCommand>,
}

impl MachineCommand {
    /// A command for the machine of the kind `M` whose stream this is.
    pub fn of<M: Machine>(stream: StreamName, command: M::Command) -> Self {
        debug_assert_eq!(stream.kind(), M::KIND, "a stream belongs to one kind of machine");
        Self { stream, command: Arc::new(CommandFor::<M>(command)) }
    }

    pub fn run(command: run::Command) -> Self {
        Self::of::<Run>(run_stream(), command)
    }

    pub fn workflow(stream: StreamName, command: workflow::Command) -> Self {
        Self::of::<Workflow>(stream, command)
    }

    pub fn inbox(command: inbox::Command) -> Self {
        Self::of::<Inbox>(inbox_stream(), command)
    }

    pub fn memory(command: memory::Command) -> Self {
        Self::of::<Memory>(memory_stream(), command)
    }

    pub fn session(command: session::Command) -> Self {
        Self::of::<Session>(session_stream(), command)
    }

    pub fn knowledge(command: knowledge::Command) -> Self {
        Self::of::<KnowledgeLog>(knowledge_stream(), command)
    }

    pub fn verdicts(command: verdict::Command) -> Self {
        Self::of::<Verdicts>(verdicts_stream(), command)
    }

    /// What is wanted, if it is wanted of a machine of this kind.
    pub fn wanted_of<M: Machine>(&self) -> Option<&M::Command> {
        let command: &dyn Any = self.command.as_ref();
        command.downcast_ref::<CommandFor<M>>().map(|it| &it.0)
    }

    pub fn is_for<M: Machine>(&self) -> bool {
        self.wanted_of::<M>().is_some()
    }

    /// Lets the machine decide.
    pub(super) fn handle<'a>(
        &self,
        ledger: &mut Ledger,
        tx: &Transaction<'_>,
        asked: &Asked<'a>,
        fresh: &mut Vec<Fresh<'a>>,
    ) -> Result<Handled, EngineError> {
        self.command.handle(ledger, (tx, &self.stream), asked, fresh)
    }
}

/// A command of any machine.
trait AnyCommand: Any + fmt::Debug + Send + Sync {
    fn handle<'a>(
        &self,
        ledger: &mut Ledger,
        place: (&Transaction<'_>, &StreamName),
        asked: &Asked<'a>,
        fresh: &mut Vec<Fresh<'a>>,
    ) -> Result<Handled, EngineError>;
}

/// A command of the machine `M`.
struct CommandFor<M: Machine>(M::Command);

impl<M: Machine> fmt::Debug for CommandFor<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<M: Machine> AnyCommand for CommandFor<M> {
    fn handle<'a>(
        &self,
        ledger: &mut Ledger,
        (tx, stream): (&Transaction<'_>, &StreamName),
        asked: &Asked<'a>,
        fresh: &mut Vec<Fresh<'a>>,
    ) -> Result<Handled, EngineError> {
        ledger.get_in_turn::<M>(tx, stream)?.handle(&self.0, asked, fresh)
    }
}
