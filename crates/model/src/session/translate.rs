//! Edits of a session's files as commands, as an agent of the seed makes them.
//!
//! Names, the manifest and statuses are taken up where a command does the same. Phases and gates are
//! not: what opens them is evidence. Ids, orders, times of beginning and what was requested are
//! history. `updated_at` is Waypost's: what a file says of it is passed over.

use super::words::{Command, Named};
use crate::{
    code::Code,
    document::{
        SessionTaskId,
        session::{
            SessionFile, SessionState as StateFile, SessionStatus, SessionTask, Status, Subtask,
        },
    },
    machine::Rejected,
    next::NextStep,
};

type SessionCommands = Result<Vec<Command>, Vec<Rejected>>;

/// Commands and refusals, as they come together.
#[derive(Default)]
struct SessionEdits {
    commands: Vec<Command>,
    refused: Vec<Rejected>,
}

/// What an edit of `session.json` means.
pub fn translate_session(base: &SessionFile, edited: &SessionFile) -> SessionCommands {
    let mut edits = SessionEdits::default();
    let (was, is) = (&base.project, &edited.project);
    if (&was.path, &was.hash) != (&is.path, &is.hash) {
        edits.refuse("where the project is cannot be edited", NextStep::RelocateSession);
    }
    if base.created_at != edited.created_at {
        edits.refuse("when the session began cannot be edited", NextStep::ShowSession);
    }
    if base.current_task != edited.current_task {
        edits.refuse("the current task follows from the plan's order", NextStep::NextOfSession);
    }
    let name = (was.name != is.name).then(|| is.name.clone());
    let manifest = (base.manifest != edited.manifest).then(|| edited.manifest.clone());
    if name.is_some() || manifest.is_some() {
        edits.commands.push(Command::Amend { name, manifest });
    }
    edits.status(base.status, edited.status);
    edits.done()
}

/// What an edit of `state.json` means.
pub fn translate_state(base: &StateFile, edited: &StateFile) -> SessionCommands {
    let mut edits = SessionEdits::default();
    let (was, is) = (&base.request, &edited.request);
    if was.id != is.id {
        edits.refuse(
            &format!("the id of the request {} was changed to {}", was.id, is.id),
            NextStep::RequestInstead,
        );
    }
    if was.original_request != is.original_request {
        edits.refuse("what was requested cannot be edited", NextStep::RequestInstead);
    }
    if was.global_phase != is.global_phase {
        edits.refuse(
            "the phase of the request moves by what is found, not by an edit",
            NextStep::NextOfSession,
        );
    }
    if was.current_task != is.current_task {
        edits.refuse("the current task follows from the plan's order", NextStep::NextOfSession);
    }
    if base.task_order != edited.task_order {
        edits.refuse("the order of the tasks is the plan's", NextStep::PlanSession);
    }
    for (id, task) in base.tasks.iter() {
        match edited.tasks.get(id) {
            Some(is) => edits.task(id, task, is),
            None => edits.refuse(&format!("{id} was taken out"), NextStep::PlanSession),
        }
    }
    for id in edited.tasks.keys().filter(|id| !base.tasks.contains_key(*id)) {
        edits.refuse(&format!("{id} is not in the plan"), NextStep::PlanSession);
    }
    edits.status(was.status, is.status);
    edits.done()
}

impl SessionEdits {
    fn refuse(&mut self, why: &str, step: NextStep) {
        self.refused.push(Rejected::rule(Code::EditRefused, why).next(step));
    }

    fn done(self) -> SessionCommands {
        if self.refused.is_empty() { Ok(self.commands) } else { Err(self.refused) }
    }

    /// The status of a session or of its request: one goes with the other.
    fn status(&mut self, was: SessionStatus, is: SessionStatus) {
        use SessionStatus::{Active, Completed, Stopped};
        match (was, is) {
            (was, is) if was == is => {}
            (Active, Stopped) => self.commands.push(Command::Stop),
            (Active, Completed) => self.commands.push(Command::Complete),
            (Stopped, Active) => {
                // Which contracts are there is found out by who gives the command.
                self.commands.push(Command::Resume { missing: Vec::new() });
            }
            _ => self.refuse("what is over stays over", NextStep::StartSession),
        }
    }

    fn task(&mut self, id: &SessionTaskId, was: &SessionTask, is: &SessionTask) {
        if was.name != is.name {
            let what = Named::Task { task: id.clone() };
            self.commands.push(Command::Rename { what, name: is.name.clone() });
        }
        if was.status != is.status {
            self.out_of_turn(id.as_str(), was.status, is.status);
        }
        if was.current_subtask != is.current_subtask || was.subtask_order != is.subtask_order {
            let why = format!("which subtask of {id} comes next is the plan's");
            self.refuse(&why, NextStep::NextOfSession);
        }
        if was.created_at != is.created_at {
            self.refuse(&format!("when {id} was planned cannot be edited"), NextStep::ShowSession);
        }
        for (id, subtask) in was.subtasks.iter() {
            match is.subtasks.get(id) {
                Some(is) => self.subtask(id, subtask, is),
                None => self.refuse(&format!("{id} was taken out"), NextStep::PlanSession),
            }
        }
        for id in is.subtasks.keys().filter(|id| !was.subtasks.contains_key(*id)) {
            self.refuse(&format!("{id} is not in the plan"), NextStep::PlanSession);
        }
    }

    fn subtask(&mut self, id: &crate::document::SubtaskId, was: &Subtask, is: &Subtask) {
        if was.name != is.name {
            let what = Named::Subtask { subtask: id.clone() };
            self.commands.push(Command::Rename { what, name: is.name.clone() });
        }
        if was.gates != is.gates {
            self.refuse(&format!("a gate of {id} needs evidence"), NextStep::CheckGates);
        }
        if was.phase != is.phase {
            let why = format!("the phase of {id} moves by its gates, and these need evidence");
            self.refuse(&why, NextStep::CheckGates);
        }
        if was.status != is.status && was.phase == is.phase {
            self.out_of_turn(id.as_str(), was.status, is.status);
        }
    }

    /// No status of a task is set: it follows from gates and from the plan's order.
    fn out_of_turn(&mut self, id: &str, was: Status, is: Status) {
        let why = match (was, is) {
            (_, Status::Completed) => {
                format!("{id} is completed by its gates, which need evidence")
            }
            (Status::Pending, _) => format!("{id} begins when those before it are completed"),
            _ => format!("{id} has begun, and that stays"),
        };
        self.refuse(&why, NextStep::NextOfSession);
    }
}
