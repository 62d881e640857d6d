//! Beginning an attempt: the workspace made ready, the conversation chosen, the process started.

use super::{
    super::{
        agent::{Launching, TaskAgent},
        checkpoints::keep_replaced,
        kind,
        workspaces::workspace_of,
    },
    Posture, SLOT_INTERVAL, TaskRoom, Tools, posture,
};
use crate::{
    accounts,
    agent::{self, Agent, heard_in, new_uuid},
    error::{EngineError, with_causes},
    project::Project,
    served::task_stream,
    threaded::Threaded,
};
use std::collections::BTreeSet;
use waypost_agent::launch::Conversation;
use waypost_model::{
    run::{self, Usage},
    task::{AttemptPlan, Command, ExitCause, ServedTask, TaskFile},
    time::Time,
};

impl TaskRoom {
    /// Begins another attempt, once there is a slot and its account can be used.
    pub(super) fn engage(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        file: &TaskFile,
        now: Time,
    ) -> Result<(), EngineError> {
        let is_due = file.must_replace() && file.wants_agent() && !file.is_taken();
        let wants = posture(file) == Posture::Work || is_due;
        if !wants {
            if file.restoring.is_some() && !file.is_taken() {
                // Its agent waits for an answer; the files are put back at once.
                self.make(project, file)?;
            }
            return Ok(());
        }
        if let Some(at) = file.not_before.filter(|at| *at > now) {
            self.wake(at);
            return Ok(());
        }
        let name = file.attempt.as_ref().map(|it| it.plan.agent.clone()).unwrap_or_default();
        if let Some(parked) = accounts::hindrance(project, &name)? {
            let attempt = file.attempt_number();
            return self.tell(project, vec![Command::Limit { attempt, parked }]);
        }
        if !tools.has_turn(file, now)? {
            self.wake(now.plus(SLOT_INTERVAL));
            return Ok(());
        }
        // What an attempt needs is looked for before there is one.
        let agent = usable(project, &name)?;
        kind::of(project, file)?;
        if !self.make(project, file)? {
            return Ok(());
        }
        let conversation = self.resumable(file, &agent);
        let conversation = conversation.or_else(|| fresh_conversation(&agent));
        let plan = AttemptPlan {
            number: file.attempt_number() + 1,
            agent: name,
            conversation,
            values: file.given(),
            from: file.restoring,
        };
        self.tell(project, vec![Command::Engage { plan }])?;
        match self.file(project)? {
            Some(file) => self.start(project, tools, &file, now),
            None => Ok(()),
        }
    }

    /// Makes the workspace, or puts it back. Says whether it is ready.
    pub(super) fn make(
        &mut self,
        project: &mut Project,
        file: &TaskFile,
    ) -> Result<bool, EngineError> {
        if let Some(making) = &mut self.making {
            let Some(made) = making.take()? else { return Ok(false) };
            self.making = None;
            made?;
            (self.is_made, self.put_back) = (true, self.putting_back);
        }
        if file.restoring.is_none() {
            self.put_back = None;
        }
        if self.is_made && file.restoring == self.put_back {
            return Ok(true);
        }
        let Some(planned) = &file.workspace else { return Ok(false) };
        let workspace = workspace_of(&project.setup, &self.id, planned);
        let base = planned.base.clone().unwrap_or_else(|| "HEAD".to_owned());
        let restored = file.restoring.and_then(|id| file.checkpoint(id)?.taken.commit.clone());
        let source = file.retry_of.as_ref().filter(|_| file.attempt_number() <= 1);
        let source = match source.and_then(|it| Some((it, it.checkpoint.as_ref()?))) {
            Some((retried, checkpoint)) => {
                let stream = task_stream(&retried.task);
                let other = project.machine::<ServedTask>(&stream)?;
                let other = other.and_then(|it| it.state.file()?.workspace.clone());
                let commit = checkpoint.commit.clone();
                other.map(|it| (workspace_of(&project.setup, &retried.task, &it), commit))
            }
            None => None,
        };
        let (is_secret, now) = (kind::secrets(project, file)?, project.clock.now());
        self.putting_back = file.restoring;
        self.making = Some(Threaded::begin(move || {
            let is_new = workspace.make(&base)?;
            if let Some(commit) = restored {
                // The newest checkpoint may be minutes old.
                keep_replaced(&workspace, is_secret.as_deref(), now)?;
                workspace.restore(&commit)?;
            } else if let Some((other, commit)) = source.filter(|_| is_new) {
                workspace.begin_from(&other, &commit)?;
            }
            Ok(())
        })?);
        Ok(false)
    }

    /// The conversation that is gone on with: one that an earlier attempt has begun.
    fn resumable(&self, file: &TaskFile, agent: &Agent) -> Option<run::Conversation> {
        let open = file.trail.conversation.clone();
        let open = open.filter(|it| it.is_open && it.agent == agent.name)?;
        self.has_begun(&open.id, file.attempt_number(), agent).then_some(open)
    }

    /// Whether an attempt up to this one has said something in a conversation.
    fn has_begun(&self, conversation: &str, newest: u32, agent: &Agent) -> bool {
        let heard = (1..=newest).rev().map(|it| heard_in(&self.folder.log(it), agent.adapter));
        let mut own = heard.filter(|it| it.session.as_deref() == Some(conversation));
        own.any(|it| it.has_begun)
    }

    /// Starts the process of an attempt that was decided on.
    pub(super) fn start(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        file: &TaskFile,
        now: Time,
    ) -> Result<(), EngineError> {
        let Some(plan) = file.live_attempt().map(|it| it.plan.clone()) else { return Ok(()) };
        usable(project, &plan.agent)?;
        kind::of(project, file)?;
        if !self.make(project, file)? {
            return Ok(());
        }
        let slot = match self.slot.take() {
            Some(slot) => Some(slot),
            None => tools.take_slot(file, now)?,
        };
        let Some(slot) = slot else {
            self.wake(now.plus(SLOT_INTERVAL));
            return Ok(());
        };
        match self.try_start(project, tools, (file, &plan), slot) {
            Ok(agent) => {
                self.agent = Some(agent);
                let (attempt, up_to) = (plan.number, file.message_count);
                self.tell(
                    project,
                    vec![Command::Launch { attempt }, Command::Deliver { attempt, up_to }],
                )
            }
            Err(error) => {
                let (attempt, cause) = (plan.number, ExitCause::NotStarted);
                self.folder.lower_fence()?;
                let why = with_causes(&error);
                self.tell(project, vec![Command::Exit { attempt, cause, why }])?;
                Err(error)
            }
        }
    }

    fn try_start(
        &self,
        project: &mut Project,
        tools: &Tools,
        (file, plan): (&TaskFile, &AttemptPlan),
        slot: agent::Slot,
    ) -> Result<TaskAgent, EngineError> {
        let agent = usable(project, &plan.agent)?;
        let known = plan.conversation.as_ref().map(|it| it.id.clone());
        let is_known = known.as_ref().is_some_and(|id| self.has_begun(id, plan.number - 1, &agent));
        let conversation = match known {
            Some(id) if is_known => Conversation::Resume { id },
            Some(id) => Conversation::New { id },
            None => Conversation::New { id: new_uuid() },
        };
        let kind = kind::of(project, file)?;
        let told = self.told(file, &kind.order(file.phase), is_known);
        let given = kind::values(project, &self.id, &file.values)?;
        let launching = Launching {
            file,
            plan,
            agent: &agent,
            folder: &self.folder,
            workspace: Self::workspace_folder(file),
            conversation,
            told,
            given,
            keeper: &tools.keeper,
        };
        TaskAgent::start(project, launching, slot)
    }
}

/// The agent of a name, if it could be started now.
pub(in crate::serving) fn usable(project: &Project, name: &str) -> Result<Agent, EngineError> {
    let agent = agent::named(&project.setup, name)?;
    let environment = &project.caller.environment;
    agent.require_program(project.root(), environment)?;
    agent::require_key(&agent, project.root(), environment)?;
    Ok(agent)
}

/// A conversation whose name is ours to choose.
fn fresh_conversation(agent: &Agent) -> Option<run::Conversation> {
    let (name, counted) = (agent.name.clone(), Usage::default());
    let wall = Some(agent.wall_with(agent.access()).level);
    let open = || run::Conversation { agent: name, id: new_uuid(), is_open: true, counted, wall };
    agent.adapter.takes_conversation_id().then(open)
}

/// The first attempt at a task.
pub(in crate::serving) fn first_plan(agent: &Agent) -> AttemptPlan {
    AttemptPlan {
        number: 1,
        agent: agent.name.clone(),
        conversation: fresh_conversation(agent),
        values: BTreeSet::new(),
        from: None,
    }
}
