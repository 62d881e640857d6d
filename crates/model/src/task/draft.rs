//! Writing a task and handing it in.

use super::{
    command::Command,
    event::{Event, MoveFacts},
    fields::{
        DEPENDENCIES_MAX, DESCRIPTION_BYTES_MAX, TITLE_LENGTH_MAX, TaskChange, TaskFields,
        TaskShape,
    },
    state::{ServedTask, TaskFile},
    topic::TaskTopic,
};
use crate::{
    code::Code,
    document::{
        ServerTaskId,
        server::{ServerTaskStatus, Trigger},
    },
    machine::{Asked, Decision, Effect, Rejected},
    next::NextStep,
    run::ParkCause,
};
use std::collections::BTreeSet;

impl ServedTask {
    pub(super) fn create(&self, command: &Command) -> Result<Decision<Event>, Rejected> {
        let Command::Create { id, fields, retry_of } = command else {
            return Err(Rejected::misrouted("new task"));
        };
        if self.known.is_some() {
            let message = format!("{id} is there already");
            return Err(Rejected::rule(Code::TaskStatus, message));
        }
        check(id, fields)?;
        let (id, fields, retry_of) = (id.clone(), fields.clone(), retry_of.clone());
        Ok(Decision::events([Event::Created { id, fields, retry_of }]))
    }
}

impl TaskFile {
    pub(super) fn edit(
        &self,
        change: &TaskChange,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let is_open = match self.status {
            ServerTaskStatus::Draft => true,
            ServerTaskStatus::Pending => change.is_about_the_queue(),
            ServerTaskStatus::InProgress | ServerTaskStatus::Review => {
                change.is_about_order_and_money()
            }
            ServerTaskStatus::Completed | ServerTaskStatus::Failed => false,
        };
        if !is_open {
            return Err(self.unfit("edited", &self.editable()));
        }
        let mut fields = self.fields.clone();
        fields.change(change);
        check(&self.id, &fields)?;
        if fields == self.fields {
            return Ok(Decision::nothing());
        }
        let edited = Decision::events([Event::Edited { change: change.clone() }]);
        let dropped = self.lost.keys().filter(|task| !fields.dependencies.contains(task));
        let settled = dropped
            .map(|task| Effect::Settle { topic: TaskTopic::Dependency(task.clone()).into() });
        let edited = settled.fold(edited, Decision::with);
        Ok(if self.is_out_of_money() && !fields.budget.is_used_up(self.spent_micros()) {
            self.limit_ended(edited, asked.by)
        } else {
            edited
        })
    }

    /// Whether its agent is held because the budget is used up.
    pub(super) fn is_out_of_money(&self) -> bool {
        self.pauses.limit.as_ref().is_some_and(|it| it.cause == ParkCause::Budget)
    }

    /// What may be said differently of it as it stands.
    fn editable(&self) -> String {
        match self.status {
            ServerTaskStatus::Pending => {
                "what waits for an agent can be changed in priority, agent, dependencies and budget"
            }
            ServerTaskStatus::InProgress | ServerTaskStatus::Review => {
                "what is worked on can be changed in priority and budget"
            }
            _ => "it is over",
        }
        .to_owned()
    }

    pub(super) fn submit(&self, shape: &TaskShape) -> Result<Decision<Event>, Rejected> {
        if self.status != ServerTaskStatus::Draft {
            return Err(self.unfit("submitted", "only a draft can be"));
        }
        let missing = self.fields.missing();
        if !missing.is_empty() {
            let message =
                format!("{} cannot be submitted without: {}", self.id, missing.join(", "));
            let step = NextStep::EditServedTask { task: self.id.clone() };
            return Err(Rejected::rule(Code::FieldMissing, message).next(step));
        }
        let moved = Event::Moved {
            task: Some(ServerTaskStatus::Pending),
            agent: None,
            trigger: Trigger::Submit,
            facts: MoveFacts::default(),
        };
        Ok(Decision::events([Event::Submitted { shape: shape.clone() }, moved]))
    }
}

/// What holds for the fields at any time.
fn check(id: &ServerTaskId, fields: &TaskFields) -> Result<(), Rejected> {
    let bad = |message: String| Err(Rejected::unknown(Code::BadArgument, message));
    if fields.title.chars().count() > TITLE_LENGTH_MAX || fields.title.contains(['\n', '\r']) {
        return bad(format!("a title is one line of at most {TITLE_LENGTH_MAX} characters"));
    }
    if fields.description.len() > DESCRIPTION_BYTES_MAX {
        return bad(format!("a description has at most {DESCRIPTION_BYTES_MAX} bytes"));
    }
    if fields.dependencies.len() > DEPENDENCIES_MAX {
        return bad(format!("a task waits for at most {DEPENDENCIES_MAX} others"));
    }
    if fields.dependencies.contains(id) {
        return bad(format!("{id} cannot wait for itself"));
    }
    let named: BTreeSet<&ServerTaskId> = fields.dependencies.iter().collect();
    if named.len() < fields.dependencies.len() {
        return bad("a dependency is named twice".to_owned());
    }
    Ok(())
}
