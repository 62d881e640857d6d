//! What an agent says: each signal becomes an event once, by its place in the stream of its attempt.

use super::{
    ask,
    command::SignalLimits,
    event::Event,
    item::{ITEMS_MAX, ItemKey, ItemWant},
    signal::{MalformedBlock, ProblemRecovery, SpokenProblem, SpokenSignal, TaskSignal},
    state::TaskFile,
    topic::TaskTopic,
    work::prefixed,
};
use crate::{
    document::server::Trigger,
    machine::{Decision, Effect},
    retry::{FailureClass, Outlook, Policy, Scope},
    run::{ParkCause, Parked},
    time::Time,
};

/// A signal on its way in.
struct Incoming<'a> {
    key: ItemKey,
    signal: &'a TaskSignal,
    cut: &'a [String],
    limits: &'a SignalLimits,
    now: Time,
}

impl Incoming<'_> {
    fn heard(&self, signal: TaskSignal) -> Event {
        let ItemKey { attempt, offset } = self.key;
        Event::Heard { attempt, offset, signal, cut: self.cut.to_vec() }
    }

    fn as_said(&self) -> Event {
        self.heard(self.signal.clone())
    }
}

impl TaskFile {
    /// A fatal error drops the rest of what was said at the same moment.
    pub(super) fn hear(
        &self,
        attempt: u32,
        signals: &[SpokenSignal],
        (limits, now): (&SignalLimits, Time),
    ) -> Decision<Event> {
        let newest = self.attempt.as_ref().filter(|it| it.number() == attempt);
        let Some(newest) = newest.filter(|_| self.is_alive()) else { return Decision::nothing() };
        let fresh: Vec<&SpokenSignal> =
            signals.iter().filter(|it| it.offset >= newest.heard_to).collect();
        let fatal = fresh.iter().copied().find(|it| is_fatal(&it.signal));
        let taken = fatal.map_or(fresh, |it| vec![it]);
        let (mut all, mut open, mut claimed) =
            (Decision::nothing(), self.items.len(), self.claim.is_some());
        for SpokenSignal { offset, signal, cut } in taken {
            let key = ItemKey { attempt, offset: *offset };
            let incoming = Incoming { key, signal, cut, limits, now };
            let one = self.corrected(self.take(&incoming, open, claimed));
            open += usize::from(one.events.iter().any(opens_item));
            claimed |= one.events.iter().any(|it| matches!(it, Event::Claimed { .. }));
            all.events.extend(one.events);
            all.effects.extend(one.effects);
        }
        all
    }

    /// After an agent is understood again no person has to look at what it said before.
    fn corrected(&self, decision: Decision<Event>) -> Decision<Event> {
        match self.is_misunderstood && !decision.events.iter().any(is_malformed) {
            true => decision.with(Effect::Settle { topic: TaskTopic::Malformed.into() }),
            false => decision,
        }
    }

    fn take(&self, incoming: &Incoming<'_>, open: usize, claimed: bool) -> Decision<Event> {
        match incoming.signal {
            TaskSignal::PhaseComplete { phase, deliverables } => {
                self.claim_phase(incoming, (*phase, *deliverables), claimed)
            }
            TaskSignal::CustomComplete {} if self.shape.phases.is_empty() => {
                self.claimed(incoming, (0, 0), claimed)
            }
            TaskSignal::CustomComplete {} => {
                let why = format!(
                    "this task has phases; say === PHASE {} COMPLETE === at the end of this one",
                    self.phase.unwrap_or(1)
                );
                self.malformed(incoming, "CUSTOM TASK COMPLETE", &why)
            }
            TaskSignal::ValueWanted(_) | TaskSignal::Question(_) if open >= ITEMS_MAX => {
                let why = format!("{open} questions are open already; wait for their answers");
                self.malformed(incoming, "USER_QUESTION", &why)
            }
            TaskSignal::ValueWanted(value) if self.values.contains(&value.name) => {
                Decision::events([incoming.as_said()])
            }
            TaskSignal::ValueWanted(value) => self.want(incoming, &ItemWant::Value(value.clone())),
            TaskSignal::Question(question) => {
                self.want(incoming, &ItemWant::Answer(question.clone()))
            }
            TaskSignal::Problem(problem) => self.problem(incoming, problem),
            TaskSignal::Malformed(block) => {
                let ask = Effect::Ask(ask::malformed(&self.id, block));
                Decision::events([incoming.as_said()]).with(ask)
            }
        }
    }

    /// A question or a value that the agent waits for. The inbox takes the default of what is not
    /// required when no person has answered in time.
    fn want(&self, incoming: &Incoming<'_>, want: &ItemWant) -> Decision<Event> {
        let question = ask::item(&self.id, incoming.key, (want, incoming.limits.optional_wait));
        Decision::events([incoming.as_said()]).with(Effect::Ask(question))
    }

    fn claim_phase(
        &self,
        incoming: &Incoming<'_>,
        (phase, deliverables): (u32, u32),
        claimed: bool,
    ) -> Decision<Event> {
        match self.phase {
            Some(present) if present == phase => {
                self.claimed(incoming, (phase, deliverables), claimed)
            }
            Some(present) => {
                let why = format!("phase {present} is being worked on, not phase {phase}");
                self.malformed(incoming, "PHASE COMPLETE", &why)
            }
            None => {
                let why = "this task has no phases; say === CUSTOM TASK COMPLETE === at its end";
                self.malformed(incoming, "PHASE COMPLETE", why)
            }
        }
    }

    fn claimed(
        &self,
        incoming: &Incoming<'_>,
        (phase, deliverables): (u32, u32),
        claimed: bool,
    ) -> Decision<Event> {
        let claim = self.claim_count + 1;
        let event = (!claimed).then_some(Event::Claimed { claim, phase, deliverables });
        Decision::events([incoming.as_said()].into_iter().chain(event))
    }

    /// What cannot be meant now: nothing fires, the agent is told, and a person can see it.
    fn malformed(&self, incoming: &Incoming<'_>, block: &str, why: &str) -> Decision<Event> {
        let (block, why) = (block.to_owned(), why.to_owned());
        let malformed = MalformedBlock { block, why, text: String::new() };
        let ask = Effect::Ask(ask::malformed(&self.id, &malformed));
        Decision::events([incoming.heard(TaskSignal::Malformed(malformed))]).with(ask)
    }

    fn problem(&self, incoming: &Incoming<'_>, problem: &SpokenProblem) -> Decision<Event> {
        let heard = incoming.as_said();
        if is_fatal(incoming.signal) {
            let failed = self.failed(Trigger::FatalError, &problem.message, incoming.now);
            return prefixed([heard], failed);
        }
        match problem.recovery {
            Some(ProblemRecovery::PauseAndRetry) => {
                let parked = self.limit_of(problem, incoming.limits, incoming.now);
                prefixed([heard], self.limited(&parked))
            }
            Some(ProblemRecovery::NotifyUser) => {
                let ask = ask::notice(&self.id, incoming.key, problem);
                Decision::events([heard]).with(Effect::Ask(ask))
            }
            Some(ProblemRecovery::CheckpointAndFail) | None => Decision::events([heard]),
        }
    }

    /// The wait after an error that is to be waited out: until the time that it names, else longer
    /// each time.
    fn limit_of(&self, problem: &SpokenProblem, limits: &SignalLimits, now: Time) -> Parked {
        let used = self.limits_in_a_row;
        let policy = Policy::of(Scope::RateLimit);
        let delay = match policy.after(used, FailureClass::Transient, self.id.as_str()) {
            Outlook::Again { delay } => delay,
            Outlook::GiveUp => policy.longest_delay,
        };
        Parked {
            until: Some(limits.limit_until.unwrap_or_else(|| now.plus(delay))),
            cause: ParkCause::Limit,
            why: problem.message.clone(),
            agent: self.attempt.as_ref().map(|it| it.plan.agent.clone()).unwrap_or_default(),
            in_a_row: used + 1,
            trouble: None,
        }
    }
}

/// Whether an error ends the task.
fn is_fatal(signal: &TaskSignal) -> bool {
    let TaskSignal::Problem(problem) = signal else { return false };
    problem.is_fatal || problem.recovery == Some(ProblemRecovery::CheckpointAndFail)
}

fn is_malformed(event: &Event) -> bool {
    matches!(event, Event::Heard { signal: TaskSignal::Malformed(_), .. })
}

fn opens_item(event: &Event) -> bool {
    let Event::Heard { signal, .. } = event else { return false };
    matches!(signal, TaskSignal::ValueWanted(_) | TaskSignal::Question(_))
}
