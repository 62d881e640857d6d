//! The accounts of agents as the journal has them: when one is not used, and what was spent today.

use crate::{
    agent::{Purse, out_of_money},
    error::EngineError,
    project::Project,
};
use std::sync::LazyLock;
use waypost_model::{
    accounts::{self, Accounts},
    config,
    id::StreamName,
    machine::Machine as _,
    run::Parked,
    time::Time,
};

/// The stream of the accounts; there is one per repository.
pub(crate) fn accounts_stream() -> StreamName {
    static STREAM: LazyLock<StreamName> = LazyLock::new(|| {
        StreamName::of(Accounts::KIND, None).expect("a machine's kind names a stream")
    });
    STREAM.clone()
}

/// The accounts, brought up to date.
pub(crate) fn current(project: &mut Project) -> Result<&Accounts, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(const { &Accounts::none() }) };
    Ok(&project.ledger.get::<Accounts>(&journal.view()?, &accounts_stream())?.state)
}

/// The accounts as they were loaded or changed last, without a look at the journal.
pub(crate) fn seen(project: &mut Project) -> Result<&Accounts, EngineError> {
    if project.ledger.seen::<Accounts>(&accounts_stream()).is_none() {
        current(project)?;
    }
    let seen = project.ledger.seen(&accounts_stream());
    Ok(seen.unwrap_or(const { &Accounts::none() }))
}

/// What all agents of the project may spend today, in millionths of a dollar; none: no limit.
pub(crate) fn day_budget(project: &Project) -> Option<u64> {
    let cents = config::cents(project.configuration().values.run.day_budget_usd)?;
    Some(cents.saturating_mul(10_000))
}

/// What is left of that, as far as it is recorded.
pub(crate) fn day_left(project: &mut Project, now: Time) -> Result<Option<u64>, EngineError> {
    let Some(budget) = day_budget(project) else { return Ok(None) };
    Ok(Some(budget.saturating_sub(seen(project)?.spent_on(now))))
}

/// Why an agent is not to be started now.
pub(crate) fn hindrance(project: &mut Project, agent: &str) -> Result<Option<Parked>, EngineError> {
    let now = project.clock.now();
    let held = current(project)?.held(agent, now).cloned();
    if let Some(accounts::AccountHold { until, cause, why, in_a_row }) = held {
        let agent = agent.to_owned();
        return Ok(Some(Parked { until, cause, why, agent, in_a_row, trouble: None }));
    }
    let is_used_up = day_left(project, now)? == Some(0);
    Ok(is_used_up.then(|| out_of_money(agent, Purse::Day, now)))
}

/// Why an agent does not work now, and until when.
pub(crate) fn in_words(parked: &Parked) -> String {
    match parked.until {
        Some(until) => format!("{} does not work until {until}: {}", parked.agent, parked.why),
        None => format!("{} does not work: {}", parked.agent, parked.why),
    }
}
