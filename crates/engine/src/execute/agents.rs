//! The executor's part with model agents: starting them, hearing them, asking for them, and taking
//! what became of their work.

use super::{
    Executor, Happening, Wish,
    attempt::{Attempt, TaskWork, log_path},
    brief,
    conclude::{Case, Verdict, result},
    core::{Concluded, Input},
    held::no_room,
    is_at,
    worker::{self, Worker, before_path},
    workplace::Workplace,
};
use crate::{
    agent::{
        self, Agent, AgentEnd, Allowance, Asking, Bounds, Call, Circumstances, Halt, Heard, Meter,
        Purse, Supervised, agents_folder, heard_in, inherited, new_uuid, out_of_money,
        text_questions,
    },
    context,
    error::{EngineError, with_causes},
    init,
    ledger::MachineCommand,
    permits,
    project::Project,
    values::secrets_among,
    worktrees,
};
use std::{path::PathBuf, time::Duration};
use waypost_agent::{
    launch::{Conversation, Order, Prompts},
    protocol::Signal,
    stream::Why,
};
use waypost_model::{
    actor::Actor,
    code::Code,
    id::TaskId,
    layout,
    permission::Grant,
    retry::FailureClass,
    run::{self, Account, Failure, Parked, Prompt, Trail},
    time::Time,
    trouble::Trouble,
};
use waypost_proc::ProcError;
use waypost_store::file;

/// How long a task waits when the machine has no room for its agent.
const NO_ROOM: Duration = Duration::from_secs(5);

/// Why an agent is not started whose slot another process has taken in the same moment.
const SLOTS_TAKEN: &str = "as many agents work on this machine as may (max_agents)";

/// An attempt with the conversation it is to work in.
struct Assignment {
    agent: Agent,
    conversation: Conversation,
    meter: Meter,
    message: String,
    /// The message if the program has forgotten the conversation.
    afresh: String,
    model: Option<String>,
    bounds: Bounds,
    /// What all agents may still spend.
    share: Option<u64>,
    budget_cents: Option<u64>,
}

impl Executor<'_> {
    /// Puts an agent to work on an attempt. Where the machine is in trouble, the attempt waits.
    pub(super) fn engage(
        &mut self,
        project: &mut Project,
        attempt: Attempt,
    ) -> Result<(), EngineError> {
        let (id, now) = (attempt.id.clone(), project.clock.now());
        let engaged = self.try_to_engage(project, attempt.clone());
        let Err(error) = engaged else { return Ok(()) };
        // What could not be recorded has to be looked at first, and what runs already is adopted.
        let is_unsure = error.code() == Code::OutcomeUnknown || self.workers.contains_key(&id);
        let Some(trouble) = error.trouble().filter(|_| !is_unsure) else { return Err(error) };
        let parked = Parked::troubled(trouble, with_causes(&error), (now, 1));
        self.tell_verdict(&attempt, Verdict::Parked(parked), Vec::new());
        Ok(())
    }

    fn try_to_engage(
        &mut self,
        project: &mut Project,
        attempt: Attempt,
    ) -> Result<(), EngineError> {
        let now = project.clock.now();
        // Starting hundreds takes longer than the shortest leases.
        self.workers.values_mut().try_for_each(|worker| worker.agent.renew(now))?;
        let TaskWork::Agent(name) = &attempt.work else { return Ok(()) };
        let agent = match agent::named(&project.setup, name) {
            Ok(agent) => agent,
            Err(error) => {
                self.tell_verdict(&attempt, unusable(&error), Vec::new());
                return Ok(());
            }
        };
        self.say_guard(&agent);
        let Some(given) = self.assign(project, &attempt, agent)? else { return Ok(()) };
        if given.bounds.micros == Some(0) {
            let parked = out_of_money(&given.agent.name, Purse::Work, now);
            self.tell_verdict(&attempt, Verdict::Parked(parked), Vec::new());
            return Ok(());
        }
        let Some(slot) = self.slots.take()? else {
            let parked = no_room(now.plus(NO_ROOM), SLOTS_TAKEN.to_owned());
            self.tell_verdict(&attempt, Verdict::Parked(parked), Vec::new());
            return Ok(());
        };
        let noted = self.note_conversation(project, &attempt, &given)?;
        write_fence(project, &attempt)?;
        let is_shared = matches!(attempt.workplace, Workplace::Project);
        let before = match is_shared && attempt.verify.is_empty() {
            true => worktrees::content(project)?,
            false => None,
        };
        if let Some(before) = &before {
            file::replace(&before_path(&attempt.log), before.as_bytes(), file::PRIVATE)?;
        }
        let started = self.start(project, &attempt, &given, now);
        let agent = match started {
            Ok(agent) => agent,
            Err(EngineError::Proc(error @ ProcError::TooLong { .. })) => {
                self.tell_verdict(&attempt, unusable(&error), Vec::new());
                return Ok(());
            }
            Err(EngineError::Proc(error)) => {
                let error = EngineError::from(error);
                let trouble = error.trouble().unwrap_or(Trouble::NoProcesses);
                let why = format!("no room for its agent: {}", with_causes(&error));
                let parked = Parked::troubled(trouble, why, (now, 1));
                self.tell_verdict(&attempt, Verdict::Parked(parked), Vec::new());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let id = attempt.id.clone();
        self.inputs.push_back(Input::Engaged { id: id.clone(), attempt: attempt.number });
        let mut worker = Worker::new(attempt, agent, before);
        (worker.noted, worker.slot) = (noted, Some(slot));
        self.workers.insert(id, worker);
        Ok(())
    }

    /// Tells the core what became of an agent's work, and what is to be recorded with it.
    fn tell_verdict(&mut self, attempt: &Attempt, verdict: Verdict, with: Vec<run::Command>) {
        let (id, attempt) = (attempt.id.clone(), attempt.number);
        let concluded = Concluded { id, attempt, verdict, with };
        self.inputs.push_back(Input::Concluded(Box::new(concluded)));
    }

    /// Finds out in which conversation an attempt goes on, what its agent is told, and what it may
    /// use up.
    fn assign(
        &mut self,
        project: &mut Project,
        attempt: &Attempt,
        agent: Agent,
    ) -> Result<Option<Assignment>, EngineError> {
        let state = project.setup.place.state.clone();
        let config = project.configuration().values.run.clone();
        let left = self.money_left(project)?;
        let known = context::for_brief(project, &agent.name, Some(&attempt.id));
        let Some(active) = project.run()?.active() else { return Ok(None) };
        let Some(view) = active.task(&attempt.id) else { return Ok(None) };
        let open = view.trail.and_then(|trail| trail.conversation.as_ref());
        let open = open.filter(|it| it.is_open && it.agent == agent.name);
        let (conversation, meter, message) = match open {
            Some(open) => (
                Conversation::Resume { id: open.id.clone() },
                Meter::new(open.counted),
                brief::again(active, &view, attempt, &state),
            ),
            None => (
                Conversation::New { id: new_uuid() },
                Meter::default(),
                brief::first(active, &view, attempt, &state),
            ),
        };
        let message = message + &known;
        let afresh = match &conversation {
            Conversation::Resume { .. } => brief::afresh(active, &view, attempt, &state) + &known,
            Conversation::New { .. } => String::new(),
        };
        context::keep_brief(&attempt.log, &message);
        let details = view.planned.details.as_deref();
        let bounds = worker::bounds(attempt, &view, &config);
        // A program that keeps count itself ends before we would notice.
        let budget_cents =
            bounds.micros.into_iter().chain(left).min().map(|micros| micros.div_ceil(10_000));
        let model = details.and_then(|it| it.model.as_deref().map(str::to_owned));
        Ok(Some(Assignment {
            agent,
            conversation,
            meter,
            message,
            afresh,
            model,
            bounds,
            share: left,
            budget_cents,
        }))
    }

    /// Records the conversation before its process exists, where its name is ours to choose. Says
    /// which one is recorded.
    fn note_conversation(
        &mut self,
        project: &mut Project,
        attempt: &Attempt,
        given: &Assignment,
    ) -> Result<Option<String>, EngineError> {
        match &given.conversation {
            Conversation::New { id } if given.agent.adapter.takes_conversation_id() => {
                self.engaged(project, attempt, &given.agent, id.clone())?;
                Ok(Some(id.clone()))
            }
            Conversation::Resume { id } => {
                self.note_wall(project, attempt, &given.agent)?;
                Ok(Some(id.clone()))
            }
            Conversation::New { .. } => Ok(None),
        }
    }

    /// Records that a conversation goes on behind another wall than before.
    fn note_wall(
        &mut self,
        project: &mut Project,
        attempt: &Attempt,
        agent: &Agent,
    ) -> Result<(), EngineError> {
        let wall = Some(agent.wall_with(agent.access()).level);
        let known = self.trail(project, &attempt.id)?.and_then(|trail| trail.conversation);
        let Some(known) = known.filter(|it| it.wall != wall) else { return Ok(()) };
        let (id, conversation) = (attempt.id.clone(), run::Conversation { wall, ..known });
        let engage = run::Command::Engage { id, attempt: attempt.number, conversation };
        self.commit(project, vec![engage])
    }

    fn engaged(
        &mut self,
        project: &mut Project,
        attempt: &Attempt,
        agent: &Agent,
        id: String,
    ) -> Result<(), EngineError> {
        let conversation = run::Conversation {
            agent: agent.name.clone(),
            id,
            is_open: true,
            counted: run::Usage::default(),
            wall: Some(agent.wall_with(agent.access()).level),
        };
        let (id, attempt) = (attempt.id.clone(), attempt.number);
        self.commit(project, vec![run::Command::Engage { id, attempt, conversation }])
    }

    fn start(
        &mut self,
        project: &mut Project,
        attempt: &Attempt,
        given: &Assignment,
        now: Time,
    ) -> Result<Supervised, EngineError> {
        let state = project.setup.place.state.clone();
        let folder = attempt.folder.to_string_lossy().into_owned();
        let order = given.agent.order(folder, given.conversation.clone());
        let can_ask = given.agent.adapter.can_ask();
        let order = Order {
            task: given.message.clone(),
            model: given.model.clone().or(order.model),
            budget_cents: given.budget_cents,
            prompts: if can_ask { Prompts::Asked } else { Prompts::Refused },
            ..order
        };
        let order = agent::with_hook(&project.setup, &given.agent, init::hook_program()?, order)?;
        let mut environment = attempt.environment();
        environment.extend(inherited(&given.agent, &attempt.folder, &project.caller.environment));
        let fence = fence_path(project, &attempt.id).to_string_lossy().into_owned();
        environment.push((layout::variable::FENCE.to_owned(), fence));
        let declared = &project.configuration().values.run.environment;
        let call = Call {
            secrets: secrets_among(&environment, declared),
            id: attempt.name(),
            agent: &given.agent,
            order: &order,
            folder: attempt.folder.clone(),
            environment,
            log: attempt.log.clone(),
            afresh: given.afresh.clone(),
        };
        let (meter, bounds, share) = (given.meter.clone(), given.bounds, given.share);
        let allowance = Allowance { meter, bounds, share };
        Supervised::start(&agents_folder(&state), &self.options.keeper, call, allowance, now)
    }

    /// Looks after agents that are at work.
    pub(super) fn attend_workers(
        &mut self,
        project: &mut Project,
        ids: Vec<TaskId>,
        now: Time,
    ) -> Result<(), EngineError> {
        if !ids.is_empty() {
            self.find_share(project)?;
        }
        for id in ids {
            let Some(mut worker) = self.workers.remove(&id) else { continue };
            worker.agent.look(now)?;
            worker.agent.prove(project)?;
            if worker.agent.life.is_over() {
                self.conclude_worker(project, worker, now)?;
                continue;
            }
            // One that has to go is not listened to any more.
            if !worker.agent.life.is_halted() {
                self.note_session(project, &mut worker)?;
                if worker.may_ask() {
                    self.attend_questions(project, &mut worker, now)?;
                }
            }
            worker.agent.life.set_share(self.share);
            worker.agent.attend(now)?;
            if !worker.waits() {
                // One that was taken over has none yet; it works all the same.
                worker.take_slot(&self.slots)?;
            }
            self.workers.insert(id, worker);
        }
        self.end_waiting(now)?;
        self.keep_budget(project)?;
        let workers = std::mem::take(&mut self.workers);
        for life in workers.values().map(|worker| &worker.agent.life) {
            self.say_price((&life.agent, &life.meter), false);
        }
        self.workers = workers;
        Ok(())
    }

    /// Says once for each agent that not everything it does is put to the hook.
    fn say_guard(&mut self, agent: &Agent) {
        let name = &agent.name;
        if let Some(why) = agent.unguarded()
            && self.said.insert(format!("guard of {name}"))
        {
            self.say(Happening::Note(format!("{name} is unguarded: {why}")));
        }
    }

    /// Says once for each agent that its cost is not known but reckoned.
    fn say_price(&mut self, (agent, meter): (&Agent, &Meter), is_over: bool) {
        let name = &agent.name;
        self.request_micros = self.request_micros.max(meter.request_micros());
        let mut found = Vec::new();
        if let Some((model, known)) = meter.unknown() {
            let model = if model.is_empty() { "a model that it does not name" } else { model };
            let text = format!(
                "{name} works with {model}, whose price is not known: it counts as the dearest, \
                 {known} (prices of {}); `input_price` and `output_price` in `[agents.{name}]` \
                 change that",
                waypost_agent::prices::PRICES_OF
            );
            found.push((format!("price of {model} of {name}"), text));
        }
        if is_over && meter.is_estimated() {
            let text = format!(
                "{name} did not say what it used up: its cost is estimated from what it wrote"
            );
            found.push((format!("estimate of {name}"), text));
        }
        for (key, text) in found {
            if self.said.insert(key) {
                self.say(Happening::Note(text));
            }
        }
    }

    /// Records a conversation that the program has named.
    fn note_session(
        &mut self,
        project: &mut Project,
        worker: &mut Worker,
    ) -> Result<(), EngineError> {
        let life = &worker.agent.life;
        let session = &life.heard().session;
        if session.is_none() || *session == worker.noted {
            return Ok(());
        }
        self.note_name(project, &worker.attempt, &life.agent, life.heard())?;
        worker.noted.clone_from(session);
        Ok(())
    }

    fn note_name(
        &mut self,
        project: &mut Project,
        attempt: &Attempt,
        agent: &Agent,
        heard: &Heard,
    ) -> Result<(), EngineError> {
        let Some(session) = heard.session.clone() else { return Ok(()) };
        let known = self.trail(project, &attempt.id)?.and_then(|trail| trail.conversation);
        if known.is_some_and(|it| it.id == session && it.agent == agent.name) {
            return Ok(());
        }
        self.engaged(project, attempt, agent, session)
    }

    fn trail(&mut self, project: &mut Project, id: &TaskId) -> Result<Option<Trail>, EngineError> {
        let active = project.run_seen()?.active();
        Ok(active.and_then(|active| active.task(id)).and_then(|view| view.trail.cloned()))
    }

    /// Puts an agent's questions into the inbox, and tells it the answers that are there. An agent
    /// whose turn is over and that has none is dismissed.
    fn attend_questions(
        &mut self,
        project: &mut Project,
        worker: &mut Worker,
        now: Time,
    ) -> Result<(), EngineError> {
        let trail = self.trail(project, &worker.attempt.id)?;
        // Others may have taken the slot of one that waited.
        let may_go_on =
            !worker.waits() || self.has_room(project)? && worker.take_slot(&self.slots)?;
        let Worker { attempt, agent, is_held, slot, .. } = worker;
        let (id, number) = (attempt.id.clone(), attempt.number);
        let asking = Asking {
            work: &id,
            folder: &attempt.folder,
            trail: trail.as_ref(),
            grants: &Grant::ALL,
            may_go_on,
        };
        let found = asking
            .attend(&mut agent.life, &mut |prompts| self.is_permitted(project, &id, prompts))?;
        agent.life.set_waits(found.is_waiting, now);
        *is_held = found.is_held;
        if found.is_waiting {
            *slot = None;
        }
        let is_new =
            |prompt: &Prompt| trail.as_ref().is_none_or(|it| !it.asked.contains(&prompt.key));
        for (prompt, question) in found.open.into_iter().filter(|(prompt, _)| is_new(prompt)) {
            let ask = run::Command::Ask { id: id.clone(), attempt: number, prompt, question };
            self.commit(project, vec![ask])?;
        }
        if agent.life.heard().end.is_some() && !found.is_waiting {
            agent.life.dismiss(now);
        }
        if found.is_waiting && self.core.wish() != Wish::GoOn {
            // The person who ends the run will not answer now.
            agent.life.halt(Halt::Given);
        }
        Ok(())
    }

    /// Whether a person has allowed all of it before: for the task, the run or the project.
    fn is_permitted(
        &mut self,
        project: &mut Project,
        id: &TaskId,
        prompts: &[Prompt],
    ) -> Result<bool, EngineError> {
        for prompt in prompts {
            let Some(permit) = &prompt.permit else { return Ok(false) };
            let active = project.run()?.active();
            let is_known = active.is_some_and(|active| active.is_permitted(id, prompt));
            if !is_known && !permits::is_allowed(&project.setup, permit)? {
                return Ok(false);
            }
        }
        Ok(!prompts.is_empty())
    }

    fn conclude_worker(
        &mut self,
        project: &mut Project,
        worker: Worker,
        now: Time,
    ) -> Result<(), EngineError> {
        let Worker { attempt, agent, before, .. } = worker;
        let (ended, remains) = agent.close()?;
        self.remains.push(remains);
        let has_changed = has_changed(project, before.as_deref())?;
        self.conclude(project, Ending { attempt, ended, has_changed }, now)
    }

    /// Takes what became of an agent's work.
    pub(super) fn conclude(
        &mut self,
        project: &mut Project,
        ending: Ending,
        now: Time,
    ) -> Result<(), EngineError> {
        let Ending { attempt, mut ended, has_changed } = ending;
        // It may have come to its end before the conversation's name was heard.
        self.note_name(project, &attempt, &ended.agent, &ended.heard)?;
        ended.heard.tool_calls += self.earlier_tool_calls(project, &attempt, &ended);
        let parked_before = self.parked_before(project, &ended.agent.name)?;
        let unanswered = self.unanswered(project, &attempt, &ended)?;
        let Some(active) = project.run()?.active() else { return Ok(()) };
        let by = Circumstances { work: attempt.id.as_str(), parked_before, now };
        let case =
            Case { attempt: &attempt, settings: active.settings(), ended: &ended, by, has_changed };
        let verdict = if unanswered.is_some() { Verdict::Interrupted } else { case.verdict() };
        let AgentEnd { agent, heard, meter, .. } = &ended;
        let mut with = unanswered.unwrap_or_default();
        if heard.end.as_ref().is_some_and(|end| end.why == Why::Done) {
            with.extend(self.got_through(project, &agent.name)?);
        }
        let (id, number) = (attempt.id.clone(), attempt.number);
        let account =
            Account { usage: meter.spent(), counted: meter.counted(), result: result(heard) };
        // An engine that died after it had recorded this has left the rest to do.
        let accounted = self.trail(project, &id)?.map_or(0, |trail| trail.accounted);
        if accounted < number {
            with.push(run::Command::Account { id: id.clone(), account });
        }
        self.say_price((agent, meter), true);
        // The fence of a later attempt is not ours to take away.
        let active = project.run()?.active();
        if active.is_some_and(|active| is_at(active, &attempt)) {
            file::remove(&fence_path(project, &id))?;
            if let Verdict::Parked(parked) = &verdict {
                self.note_limit(parked);
            }
        }
        self.tell_verdict(&attempt, verdict, with);
        Ok(())
    }

    /// What is to be asked for an agent that ended its turn with questions, and its process before
    /// it heard the answers; none: it has not. It goes on in its conversation with them.
    fn unanswered(
        &mut self,
        project: &mut Project,
        attempt: &Attempt,
        ended: &AgentEnd,
    ) -> Result<Option<Vec<run::Command>>, EngineError> {
        let (id, number) = (attempt.id.clone(), attempt.number);
        let AgentEnd { agent, heard, .. } = ended;
        let wanted = text_questions(&heard.signals);
        let has_fared = heard.signals.iter().any(|signal| match signal {
            Signal::Done { task } | Signal::Failed { task, .. } => task == id.as_str(),
            _ => false,
        });
        let is_done = heard.end.as_ref().is_some_and(|end| end.why == Why::Done);
        if wanted.is_empty() || has_fared || !is_done || ended.stopped_for().is_some() {
            return Ok(None);
        }
        let trail = self.trail(project, &id)?;
        let asking = Asking {
            work: &id,
            folder: &attempt.folder,
            trail: trail.as_ref(),
            grants: &Grant::ALL,
            may_go_on: false,
        };
        let is_new =
            |prompt: &Prompt| trail.as_ref().is_none_or(|it| !it.asked.contains(&prompt.key));
        let open = asking.open_text(&wanted, &agent.name);
        let open = open.into_iter().filter(|(prompt, _)| is_new(prompt));
        let ask = |(prompt, question)| run::Command::Ask {
            id: id.clone(),
            attempt: number,
            prompt,
            question,
        };
        Ok(Some(open.map(ask).collect()))
    }

    /// How many tools were used in this conversation before its present process: one that goes on
    /// where it was interrupted may have nothing left to do.
    fn earlier_tool_calls(&self, project: &Project, attempt: &Attempt, ended: &AgentEnd) -> u32 {
        let state = &project.setup.place.state;
        let AgentEnd { agent, heard, .. } = ended;
        let is_asked = heard.tool_calls == 0 && heard.session.is_some();
        let numbers = (1..attempt.number).filter(|_| is_asked);
        let earlier = numbers
            .map(|number| heard_in(&log_path(state, &attempt.id, number), agent.adapter))
            .filter(|earlier| earlier.session == heard.session);
        earlier.map(|earlier| earlier.tool_calls).sum()
    }

    /// What is to be recorded and is not yet.
    pub(super) fn unrecorded(&self) -> impl Iterator<Item = &run::Command> {
        let coming = self.inputs.iter().flat_map(|input| match input {
            Input::Concluded(concluded) => concluded.with.as_slice(),
            _ => &[],
        });
        self.core.unrecorded().iter().chain(coming)
    }

    pub(super) fn commit(
        &mut self,
        project: &mut Project,
        commands: Vec<run::Command>,
    ) -> Result<(), EngineError> {
        let commands: Vec<MachineCommand> = commands.into_iter().map(MachineCommand::run).collect();
        self.showing.change();
        let refused = project.commit_each(&Actor::Waypost, &commands, |_| Vec::new())?;
        self.tell_recorded(project)?;
        refused.into_iter().for_each(|refused| self.say(Happening::Note(refused.message)));
        Ok(())
    }
}

/// The end of an agent at work on an attempt.
pub(super) struct Ending {
    pub(super) attempt: Attempt,
    pub(super) ended: AgentEnd,
    /// Whether the work tree is another than at the start, where that is known.
    pub(super) has_changed: Option<bool>,
}

/// What it means that an agent cannot be started, now or later.
fn unusable(error: &impl ToString) -> Verdict {
    let class = FailureClass::Structural;
    Verdict::Failed(Failure { text: error.to_string(), class, ..Failure::default() })
}

/// The file that says which attempt of a task is the live one.
fn fence_path(project: &Project, id: &TaskId) -> PathBuf {
    project.setup.place.state.join(layout::state::FENCES).join(id.as_str())
}

fn write_fence(project: &Project, attempt: &Attempt) -> Result<(), EngineError> {
    let number = attempt.number.to_string();
    Ok(file::replace(&fence_path(project, &attempt.id), number.as_bytes(), file::PRIVATE)?)
}

/// Whether the work tree is another than `before`, where that is known.
pub(super) fn has_changed(
    project: &mut Project,
    before: Option<&str>,
) -> Result<Option<bool>, EngineError> {
    let Some(before) = before else { return Ok(None) };
    Ok(Some(worktrees::content(project)?.is_some_and(|content| content != before)))
}
