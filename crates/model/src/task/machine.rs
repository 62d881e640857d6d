//! The task machine: who may want what, what it leads to, and how events are taken over.

use super::{
    ask,
    attempt::{AttemptLife, TaskAttempt},
    command::Command,
    event::Event,
    item::{ItemKey, ItemWant, OpenItem},
    message::{MessageBody, TaskMessage},
    phase::Verification,
    review::{ClaimStage, EscalatedWork, EscalationChoice, PhaseClaim},
    row::TaskRow,
    signal::{TaskSignal, ValueRequest},
    state::{ServedTask, TaskFile},
    topic::TaskTopic,
    view::task_word,
};
use crate::{
    actor::Actor,
    answer::{Answer, Consequence, OutsideFacts},
    code::Code,
    document::server::{ServerTaskStatus, Trigger},
    image::Codec,
    inbox::{Reply, Topic},
    listing::Listing,
    machine::{Asked, Decision, Machine, Rejected},
    permission::Grant,
    time::Time,
};

impl Machine for ServedTask {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "task";
    const FORMAT: u32 = 1;
    const IS_LISTED: bool = true;

    fn start() -> Self {
        Self::none()
    }

    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        if command.is_of_engine() && *asked.by != Actor::Waypost {
            let message = "only Waypost itself says this of a task";
            return Err(Rejected::rule(Code::WaypostOnly, message));
        }
        match (command, self.file()) {
            (Command::Create { .. }, _) => self.create(command),
            (_, Some(file)) => file.decide(command, asked),
            // What the engine says late is about a task that was deleted meanwhile.
            (_, None) if command.is_of_engine() => Ok(Decision::nothing()),
            (_, None) => {
                let message = match self.trace() {
                    Some(trace) => format!("{} was deleted", trace.id),
                    None => "there is no such task".to_owned(),
                };
                Err(Rejected::unknown(Code::TaskUnknown, message))
            }
        }
    }

    fn apply(&mut self, event: &Event, at: Time) {
        if let Event::Created { id, fields, retry_of } = event {
            let mut file = TaskFile::new(id.clone(), fields.clone(), at);
            file.retry_of.clone_from(retry_of);
            self.known = Some(Box::new(file));
        } else if let Some(file) = &mut self.known {
            file.times.updated = at;
            file.apply(event, at);
        }
    }

    fn follow_up(&self) -> Option<Command> {
        self.file()?.align().map(|_| Command::Align)
    }

    fn answered<F: OutsideFacts>(
        &self,
        answer: &Answer<'_>,
        _facts: &F,
    ) -> Result<Consequence<Command>, F::Error> {
        let command = command_of(answer);
        let commands: Vec<Command> = command.into_iter().collect();
        Ok(Consequence { commands, permit: self.permit_of(answer) })
    }

    /// What a person is only told of holds nothing: the agent goes on meanwhile.
    fn holds(&self, topic: &Topic) -> Option<usize> {
        let is_told =
            matches!(TaskTopic::read(topic), Some(TaskTopic::Malformed | TaskTopic::Notice(_)));
        self.file().filter(|file| !file.is_over() && !is_told).map(|_| 1)
    }

    fn due(&self, topic: &Topic) -> Option<Command> {
        let is_limit = TaskTopic::read(topic) == Some(TaskTopic::Limit);
        (is_limit && self.file()?.pauses.limit.is_some()).then_some(Command::EndLimit)
    }

    fn listing<C: Codec>(&self) -> Option<Listing> {
        let file = self.file()?;
        let row = C::encode(&TaskRow::of(file));
        Some(Listing {
            state: task_word(file.status),
            rank: i64::from(file.fields.priority as u8),
            since: file.times.created,
            is_hidden: file.is_archived,
            text: format!("{} {} {}", file.fields.title, file.id, file.fields.task_type),
            row,
        })
    }

    fn event_kind(event: &Event) -> &'static str {
        event.kind()
    }

    fn size(&self) -> usize {
        self.trace().map_or(1, |file| 1 + file.checkpoints.len() + file.messages.len())
    }
}

/// What a reply to one of its questions wants of the task.
fn command_of(answer: &Answer<'_>) -> Option<Command> {
    let (text, reply) = (answer.text.to_owned(), answer.reply);
    Some(match (TaskTopic::read(answer.topic)?, reply) {
        (TaskTopic::Item(item), Reply::Provide) => Command::Provide { item },
        (TaskTopic::Item(item), Reply::Decline(why)) => Command::Decline { item, why: why.clone() },
        (TaskTopic::Item(item), _) => Command::Answer { key: item.to_string(), text },
        (TaskTopic::Prompt(key), _) => Command::Answer { key, text },
        (TaskTopic::Review(version), Reply::Approve) => Command::Approve { version: Some(version) },
        (TaskTopic::Review(version), Reply::Changes { text, comments }) => {
            let (text, comments) = (text.clone(), comments.clone());
            Command::RequestChanges { version: Some(version), text, comments }
        }
        (TaskTopic::Escalation(claim), reply) => {
            let choice = match reply {
                Reply::Retry(_) => EscalationChoice::Retry,
                Reply::Accept(_) => EscalationChoice::Accept,
                Reply::Fail(_) => EscalationChoice::Fail,
                _ => return None,
            };
            Command::Decide { claim, choice, text: reply.text().to_owned() }
        }
        (TaskTopic::Malformed | TaskTopic::Notice(_), Reply::Answer(text)) => {
            Command::Tell { text: text.clone() }
        }
        (TaskTopic::Dependency(task), _) if answer.is(ask::DROP) => {
            Command::DropDependency { task }
        }
        (TaskTopic::Dependency(task), _) if answer.is(ask::CANCEL) => {
            Command::Cancel { why: format!("{task} will not be completed") }
        }
        (TaskTopic::Limit, _) => Command::EndLimit,
        (TaskTopic::Quarantine(_), _) if answer.is(ask::RESUME) => Command::Resume,
        (TaskTopic::Quarantine(_), _) if answer.is(ask::FAIL) => {
            Command::Fail { why: "an attempt had no proof of life".to_owned() }
        }
        _ => return None,
    })
}

impl Command {
    /// Whether only Waypost itself says this.
    fn is_of_engine(&self) -> bool {
        matches!(
            self,
            Self::Assign { .. }
                | Self::Engage { .. }
                | Self::Launch { .. }
                | Self::Converse { .. }
                | Self::Exit { .. }
                | Self::Account { .. }
                | Self::Deliver { .. }
                | Self::Hear { .. }
                | Self::Ask { .. }
                | Self::Observe { .. }
                | Self::Verify { .. }
                | Self::GiveUpVerifying { .. }
                | Self::Limit { .. }
                | Self::Hinder { .. }
                | Self::EndHindrance
                | Self::Quarantine { .. }
                | Self::Checkpoint { .. }
                | Self::LoseDependency { .. }
        )
    }
}

impl ServedTask {
    /// What the answer to a question of the agent's program allows for the whole project.
    fn permit_of(&self, answer: &Answer<'_>) -> Option<crate::answer::GrantedPermit> {
        let Some(TaskTopic::Prompt(key)) = TaskTopic::read(answer.topic) else { return None };
        if Grant::from_word(answer.text) != Some(Grant::Project) {
            return None;
        }
        let prompt = self.file()?.trail.prompts.get(&key)?;
        let (id, text) = (prompt.permit.clone()?, prompt.text.clone());
        Some(crate::answer::GrantedPermit { id, text })
    }
}

impl TaskFile {
    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let (by, now) = (asked.by, asked.now);
        Ok(match command {
            Command::Create { .. } => return Err(Rejected::misrouted("command for a task")),
            Command::Edit { change } => self.edit(change, asked)?,
            Command::Submit { shape } => self.submit(shape)?,
            Command::Approve { version } => self.approve(*version, (by, now))?,
            Command::RequestChanges { version, text, comments } => {
                self.request_changes(*version, (text, comments), by)?
            }
            Command::Decide { claim, choice, text } => {
                self.decide_escalation(*claim, (*choice, text), asked)?
            }
            Command::Answer { key, text } => self.answer(key, text, by)?,
            Command::Provide { item } => self.provide(*item, by)?,
            Command::Decline { item, why } => self.decline(*item, why, asked)?,
            Command::Tell { text } => self.tell(text, by)?,
            Command::Pause { why } => self.pause(why, asked)?,
            Command::TakeOver => self.take_over(asked)?,
            Command::Resume => self.resume(by)?,
            Command::EndLimit => self.end_limit(asked)?,
            Command::Cancel { why } => self.cancel(why, now)?,
            Command::Fail { .. } if matches!(by, Actor::Agent { .. }) => {
                return Err(Rejected::reserved("failing a task"));
            }
            Command::Fail { why } => self.fail(why, now),
            Command::Retry { task } => self.retry(task)?,
            Command::Archive => self.archive()?,
            Command::Delete => self.delete(asked)?,
            Command::Restore { checkpoint } => self.restore(*checkpoint, by)?,
            Command::DropDependency { task } => self.drop_dependency(task, by)?,
            Command::Align => self.align().unwrap_or_else(Decision::nothing),
            of_engine => self.decide_for_engine(of_engine, now)?,
        })
    }

    fn decide_for_engine(&self, command: &Command, now: Time) -> Result<Decision<Event>, Rejected> {
        Ok(match command {
            Command::Assign { plan, workspace, met } => self.assign(plan, workspace, met)?,
            Command::Engage { plan } => self.engage(plan)?,
            Command::Launch { attempt } => self.launch(*attempt),
            Command::Converse { attempt, conversation } => self.converse(*attempt, conversation),
            Command::Exit { attempt, cause, why } => self.exit((*attempt, *cause), why, now),
            Command::Account { attempt, account } => self.account(*attempt, account),
            Command::Deliver { attempt, up_to } => self.deliver(*attempt, *up_to),
            Command::Hear { attempt, signals, limits } => {
                self.hear(*attempt, signals, (limits, now))
            }
            Command::Ask { attempt, prompt, question } => self.ask(*attempt, prompt, question),
            Command::Observe { phase, steps_done, current_step } => {
                self.observe(*phase, *steps_done, current_step.as_deref())
            }
            Command::Verify { claim, report, usage, commit, diff, escalation_timeout } => self
                .verify(&Verification {
                    claim: *claim,
                    report,
                    usage,
                    commit: commit.as_deref(),
                    diff: diff.as_ref(),
                    escalation_timeout: *escalation_timeout,
                }),
            Command::GiveUpVerifying { claim, why, seen, escalation_timeout } => {
                self.give_up_verifying(*claim, (why, seen), *escalation_timeout)
            }
            Command::Limit { attempt, parked } => self.limit(*attempt, parked),
            Command::Hinder { why, next } => self.hinder(why, next),
            Command::EndHindrance => self.end_hindrance(),
            Command::Quarantine { attempt, why, kept } => {
                self.quarantine(*attempt, (why, kept.as_deref()), now)
            }
            Command::Checkpoint { taken } => self.keep(taken, now),
            Command::LoseDependency { task, cause } => self.lose_dependency(task, *cause),
            _ => return Err(Rejected::misrouted("command of the engine")),
        })
    }

    fn apply(&mut self, event: &Event, at: Time) {
        match event.clone() {
            Event::Created { .. } => {}
            Event::Edited { change } => {
                self.fields.change(&change);
                let named = &self.fields.dependencies;
                self.lost.retain(|task, _| named.contains(task));
            }
            Event::Submitted { shape } => {
                self.shape = shape;
                self.times.submitted = Some(at);
            }
            Event::Moved { task, agent, trigger, .. } => {
                self.status = task.unwrap_or(self.status);
                self.agent = agent.unwrap_or(self.agent);
                self.note_move(trigger, at);
            }
            Event::Told { text, .. } => self.tell_agent(MessageBody::Note { text }),
            Event::Failed { reason, is_cancelled } => {
                self.reason = Some(reason);
                self.times.failed = Some(at);
                self.times.cancelled = is_cancelled.then_some(at);
                self.clear_waiting();
            }
            Event::Completed {} => {
                self.times.completed = Some(at);
                self.clear_waiting();
            }
            Event::Retried { task } => self.retried_as = Some(task),
            Event::Archived {} => self.is_archived = true,
            Event::Deleted {} => {
                let kept = Self::new(self.id.clone(), super::TaskFields::default(), at);
                let (status, times) = (self.status, self.times);
                *self = Self { status, times, is_deleted: true, ..kept };
            }
            Event::DependencyLost { task, cause } => {
                self.lost.insert(task, cause);
            }
            Event::DependencyDropped { task } => {
                self.lost.remove(&task);
                self.fields.dependencies.retain(|it| *it != task);
            }
            other => self.apply_work(other, at),
        }
    }

    fn note_move(&mut self, trigger: Trigger, at: Time) {
        if self.status == ServerTaskStatus::InProgress && trigger == Trigger::Assign {
            self.times.started.get_or_insert(at);
        }
    }

    /// Events of attempts and of what their agents say.
    fn apply_work(&mut self, event: Event, at: Time) {
        match event {
            Event::Assigned { plan, workspace } => {
                self.workspace = Some(workspace);
                self.engaged(plan);
            }
            Event::Engaged { plan } => {
                self.restoring = None;
                self.engaged(plan);
            }
            Event::Launched { .. } => self.set_life(AttemptLife::Live { since: at }),
            Event::Conversed { conversation } => self.trail.conversation = Some(conversation),
            Event::Exited { is_counted, not_before, .. } => {
                self.set_life(AttemptLife::Over { at });
                self.restarts += u32::from(is_counted);
                self.not_before = not_before;
            }
            Event::Accounted { attempt, account } => self.trail.note_account(attempt, &account),
            Event::Delivered { up_to } => self.delivered = up_to,
            Event::Heard { attempt, offset, signal, cut } => {
                if !cut.is_empty() {
                    self.tell_agent(MessageBody::Cut { fields: cut });
                }
                self.heard(ItemKey { attempt, offset }, signal, at);
            }
            Event::AgentAsked { prompt } => self.trail.note_asked(&prompt),
            Event::Observed { steps_done, current_step } => {
                (self.steps_done, self.current_step) = (steps_done, current_step);
            }
            Event::PromptAnswered { key, text } => self.trail.note_answered(&key, &text),
            Event::Answered { item, text, by } => self.note_answer(item, text, &by),
            Event::Provided { item, name, .. } => {
                if let Some(OpenItem { want: ItemWant::Value(value), .. }) =
                    self.items.remove(&item)
                {
                    let kind = value.kind;
                    let name = name.clone();
                    self.tell_agent(MessageBody::ValueProvided { item, kind, name });
                }
                self.defaults.remove(&name);
                self.values.insert(name);
            }
            Event::Declined { item, why, .. } => self.note_declined(item, why),
            Event::Paused { pause } => self.pauses.person = Some(pause),
            Event::Quarantined { pause, .. } => {
                self.pauses.person = Some(pause);
                self.set_life(AttemptLife::Over { at });
            }
            Event::Resumed { .. } => {
                self.pauses.person = None;
                (self.restarts, self.not_before) = (0, None);
            }
            Event::Limited { parked } => {
                self.limits_in_a_row = parked.in_a_row;
                self.pauses.limit = Some(parked);
            }
            Event::LimitEnded { .. } => self.pauses.limit = None,
            other => self.apply_phase(other),
        }
    }

    /// Events of phases, reviews and checkpoints.
    fn apply_phase(&mut self, event: Event) {
        match event {
            Event::PhaseBegun { phase } => {
                self.phase = (phase > 0).then_some(phase);
                self.messages.retain(|it| it.number > self.delivered);
                (self.claim, self.review, self.report) = (None, None, None);
                (self.reworks, self.steps_done, self.current_step) = (0, 0, None);
                self.comments = Vec::new();
                self.tell_agent(MessageBody::BeginPhase { phase });
            }
            Event::Claimed { claim, phase, deliverables } => {
                self.claim_count = claim;
                (self.restarts, self.not_before, self.limits_in_a_row) = (0, None, 0);
                let (number, stage) = (claim, ClaimStage::Verifying);
                self.claim = Some(PhaseClaim { number, phase, deliverables, stage });
            }
            Event::Verified { report, usage, .. } => {
                self.trail.usage.add(&usage);
                self.report = Some(report);
            }
            Event::ReworkAsked { phase, findings, rework, limit } => {
                self.reworks = rework;
                self.claim = None;
                self.tell_agent(MessageBody::Rework { phase, findings, rework, limit });
            }
            Event::Escalated { work, .. } => {
                self.set_stage(ClaimStage::Escalated);
                self.escalated = work;
            }
            Event::EscalationDecided { .. } => self.escalated = EscalatedWork::default(),
            Event::ReviewOpened { review } => {
                self.set_stage(ClaimStage::InReview);
                self.review_count = review.version;
                self.review = Some(review);
            }
            Event::ChangesRequested { text, comments, .. } => {
                let phase = self.phase.unwrap_or_default();
                (self.claim, self.review, self.reworks) = (None, None, 0);
                self.comments.clone_from(&comments);
                self.tell_agent(MessageBody::Changes { phase, text, comments });
            }
            Event::Checkpointed { checkpoint } => {
                self.checkpoint_count = checkpoint.id;
                self.checkpoints.push(checkpoint);
            }
            Event::CheckpointsPruned { ids } => {
                self.checkpoints.retain(|checkpoint| !ids.contains(&checkpoint.id));
            }
            Event::Restored { checkpoint, .. } => self.restored(checkpoint),
            // What follows from these is told by other events.
            _ => {}
        }
    }

    fn engaged(&mut self, plan: super::AttemptPlan) {
        if plan.conversation.is_some() {
            self.trail.conversation.clone_from(&plan.conversation);
        }
        self.attempt = Some(TaskAttempt { plan, life: AttemptLife::Planned, heard_to: 0 });
    }

    fn set_life(&mut self, life: AttemptLife) {
        if let Some(attempt) = &mut self.attempt {
            attempt.life = life;
        }
    }

    fn set_stage(&mut self, stage: ClaimStage) {
        if let Some(claim) = &mut self.claim {
            claim.stage = stage;
        }
    }

    pub(super) fn tell_agent(&mut self, body: MessageBody) {
        self.message_count += 1;
        self.messages.push(TaskMessage { number: self.message_count, body });
    }

    fn heard(&mut self, key: ItemKey, signal: TaskSignal, at: Time) {
        if let Some(attempt) = &mut self.attempt {
            attempt.heard_to = attempt.heard_to.max(key.offset.saturating_add(1));
        }
        self.is_misunderstood = matches!(signal, TaskSignal::Malformed(_));
        let want = match signal {
            TaskSignal::ValueWanted(ValueRequest { name, kind, .. })
                if self.values.contains(&name) =>
            {
                return self.tell_agent(MessageBody::ValueProvided { item: key, kind, name });
            }
            TaskSignal::ValueWanted(value) => ItemWant::Value(value),
            TaskSignal::Question(question) => ItemWant::Answer(question),
            TaskSignal::Malformed(block) => {
                let (block, why) = (block.block, block.why);
                return self.tell_agent(MessageBody::Malformed { block, why });
            }
            TaskSignal::PhaseComplete { .. }
            | TaskSignal::CustomComplete {}
            | TaskSignal::Problem(_) => return,
        };
        self.items.insert(key, OpenItem { since: at, want });
    }

    fn note_answer(&mut self, item: ItemKey, answer: String, by: &Actor) {
        let Some(OpenItem { want: ItemWant::Answer(asked), .. }) = self.items.remove(&item) else {
            return;
        };
        let (question, is_default) = (asked.question, !by.is_person());
        self.tell_agent(MessageBody::Answered { item, question, answer, is_default });
    }

    fn note_declined(&mut self, item: ItemKey, why: String) {
        match self.items.remove(&item).map(|it| it.want) {
            Some(ItemWant::Answer(asked)) => {
                let question = asked.question;
                self.tell_agent(MessageBody::Unanswered { item, question, why });
            }
            Some(ItemWant::Value(ValueRequest { name, default, .. })) => {
                if let Some(default) = &default {
                    self.defaults.insert(name.clone(), default.clone());
                }
                self.tell_agent(MessageBody::ValueDeclined { item, name, default, why });
            }
            None => {}
        }
    }

    fn restored(&mut self, id: u32) {
        let checkpoint = self.checkpoint(id);
        let phase = checkpoint.and_then(|checkpoint| checkpoint.phase);
        let asked = checkpoint.into_iter().flat_map(|checkpoint| self.asked_at(checkpoint));
        let asked = asked.map(|(key, item)| (*key, item.clone())).collect();
        self.phase = phase.or(self.phase);
        self.restoring = Some(id);
        self.clear_waiting();
        self.items = asked;
        (self.reworks, self.restarts, self.not_before) = (0, 0, None);
        (self.steps_done, self.current_step, self.report) = (0, None, None);
        self.tell_agent(MessageBody::Restored { checkpoint: id, phase });
    }

    /// Nothing is waited for any more; a person's pause holds on.
    fn clear_waiting(&mut self) {
        self.items.clear();
        self.trail.asked.clear();
        (self.claim, self.review, self.is_misunderstood) = (None, None, false);
        (self.pauses.limit, self.escalated) = (None, EscalatedWork::default());
    }
}
