//! What a process of an agent uses up: as its program counts it, and as its messages tell before it
//! does.
//!
//! Built from the stream alone, so a killed process is charged for what it asked for, and another
//! engine finds the same sum.

use super::Agent;
use std::collections::BTreeMap;
use waypost_agent::{prices::Price, stream::Usage as Counted};
use waypost_model::run::Usage;

/// How many bytes of text a token is, where its program does not count.
const BYTES_PER_TOKEN: u64 = 4;

/// What the stream of one process says of its usage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// The program's own count, of the whole conversation.
    counted: Option<Counted>,
    /// Messages since that count, by their names, with their models.
    fresh: BTreeMap<String, (String, Counted)>,
    /// Input of messages that the count has in it.
    told: u64,
    model: Option<String>,
    /// Whether its messages tell their usage: then nothing has to be estimated.
    has_messages: bool,
    /// What it wrote since the count, for an estimate where no message tells its usage.
    written: Counted,
    /// All that it wrote, which it sends again with every request.
    context: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, counted: Counted) {
        let fresh = std::mem::take(&mut self.fresh).into_values();
        self.told = fresh.map(|(_, usage)| usage.input).fold(self.told, u64::saturating_add);
        self.counted = Some(counted);
        self.written = Counted::default();
    }

    /// One message; said again, the later count takes the place of the earlier one.
    pub(crate) fn message(&mut self, id: String, model: String, usage: Counted) {
        self.model = Some(model.clone());
        self.has_messages = true;
        self.fresh.insert(id, (model, usage));
    }

    pub(crate) fn name_model(&mut self, model: String) {
        self.model = Some(model);
    }

    /// Something that it wrote, as a request to its model of its own.
    pub(crate) fn wrote(&mut self, bytes: usize) {
        let tokens = (bytes as u64).div_ceil(BYTES_PER_TOKEN);
        self.written.input = self.written.input.saturating_add(self.context);
        self.written.output = self.written.output.saturating_add(tokens);
        self.context = self.context.saturating_add(tokens);
    }
}

/// What an agent costs, where its program does not say.
#[derive(Clone, Debug, PartialEq)]
struct Rate {
    price: Price,
    /// The model that has no price of its own, and the one that it counts as.
    unknown: Option<(String, &'static str)>,
}

impl Rate {
    fn of(agent: &Agent, model: Option<&str>) -> Self {
        let (input, output) = (agent.config.input_price, agent.config.output_price);
        if agent.is_free() {
            return Self { price: Price::default(), unknown: None };
        }
        if input > 0.0 || output > 0.0 {
            let price = Price { input, cached: input, written: input, output };
            return Self { price, unknown: None };
        }
        let configured = Some(agent.config.model.as_str()).filter(|model| !model.is_empty());
        let model = model.filter(|model| !model.is_empty()).or(configured).unwrap_or_default();
        match agent.programs.price(agent.adapter, model) {
            Some(price) => Self { price, unknown: None },
            None => {
                let (name, price) = agent.programs.dearest(agent.adapter, model);
                Self { price, unknown: Some((model.to_owned(), name)) }
            }
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "money of this size is exact enough, and a cast of a float saturates"
    )]
    fn usage(&self, counted: &Counted) -> Usage {
        let Price { input, cached, written, output } = self.price;
        let plain = counted.input.saturating_sub(counted.cached).saturating_sub(counted.written);
        // A price is for a million tokens: so many dollars are so many millionths for one.
        let priced = plain as f64 * input
            + counted.cached as f64 * cached
            + counted.written as f64 * written
            + counted.output as f64 * output;
        let cost_micros = counted.cost_usd.map_or(priced, |dollars| dollars * 1e6);
        Usage {
            input: counted.input,
            output: counted.output,
            cached: counted.cached,
            cost_micros: cost_micros.round() as u64,
        }
    }
}

/// Tells what a process used up from what its stream says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    /// What was counted before this process.
    base: Usage,
    now: Usage,
    /// What came since the program's last count.
    fresh: Usage,
    /// The dearest request so far.
    request_micros: u64,
    is_estimated: bool,
    unknown: Option<(String, &'static str)>,
}

impl Meter {
    pub(crate) fn new(base: Usage) -> Self {
        Self { base, now: base, ..Self::default() }
    }

    pub(crate) fn read(&mut self, tally: &Tally, agent: &Agent) {
        let rate = |model: Option<&str>| Rate::of(agent, model);
        if let Some(counted) = &tally.counted {
            let rate = rate(tally.model.as_deref());
            self.now = rate.usage(counted);
            if counted.cost_usd.is_none() {
                self.unknown = rate.unknown.or_else(|| self.unknown.take());
            }
            // A program that counts less than it did, or less than its messages add to that, has
            // begun to count again.
            let least = self.base.input.saturating_add(tally.told);
            // Costs may have been estimated; they tell where nothing else is counted.
            let is_cheaper = self.now.input == 0 && self.now.cost_micros < self.base.cost_micros;
            if self.now.input < least || is_cheaper {
                self.base = Usage::default();
            }
        }
        self.fresh = Usage::default();
        for (model, usage) in tally.fresh.values() {
            let rate = rate(Some(model));
            let usage = rate.usage(usage);
            self.unknown = rate.unknown.or_else(|| self.unknown.take());
            self.request_micros = self.request_micros.max(usage.cost_micros);
            self.fresh.add(&usage);
        }
        self.is_estimated = !tally.has_messages && tally.written.output > 0;
        if self.is_estimated {
            let rate = rate(tally.model.as_deref());
            self.fresh = rate.usage(&tally.written);
            self.is_estimated = self.fresh.cost_micros > 0;
            self.unknown = rate.unknown.or_else(|| self.unknown.take());
        }
    }

    pub(crate) fn spent(&self) -> Usage {
        let mut spent = self.now.since(&self.base);
        spent.add(&self.fresh);
        spent
    }

    /// What is accounted for of the conversation: the program's own count, and what came since. A
    /// process that goes on in it counts from there.
    pub(crate) fn counted(&self) -> Usage {
        let mut counted = self.now;
        counted.add(&self.fresh);
        counted
    }

    /// What the dearest request of this process cost.
    pub(crate) fn request_micros(&self) -> u64 {
        self.request_micros
    }

    /// Whether what it used up is only estimated, from what it wrote.
    pub(crate) fn is_estimated(&self) -> bool {
        self.is_estimated
    }

    /// The model whose price is not known, and the one that it counts as.
    pub(crate) fn unknown(&self) -> Option<(&str, &'static str)> {
        self.unknown.as_ref().map(|(model, known)| (model.as_str(), *known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waypost_agent::{Adapter, programs::Programs};
    use waypost_model::config::AgentConfig;

    fn agent(adapter: Adapter, input_price: f64, output_price: f64) -> Agent {
        let config = AgentConfig { input_price, output_price, ..AgentConfig::default() };
        Agent {
            name: "x".into(),
            adapter,
            command: vec!["x".into()],
            config,
            programs: Programs::default(),
            wall: crate::wall::AgentWall::default(),
        }
    }

    fn counted(input: u64, output: u64, cost_usd: Option<f64>) -> Counted {
        Counted { input, output, cost_usd, ..Counted::default() }
    }

    fn usage(input: u64, output: u64, cost_micros: u64) -> Usage {
        Usage { input, output, cached: 0, cost_micros }
    }

    const SONNET: &str = "claude-sonnet-4-5";

    #[test]
    fn a_process_is_charged_for_its_own_part_of_the_conversation() {
        let mut meter = Meter::new(usage(100, 10, 500_000));
        assert_eq!(meter.spent(), Usage::default());
        let mut tally = Tally::default();
        tally.count(counted(150, 15, Some(0.75)));
        meter.read(&tally, &agent(Adapter::CLAUDE, 0.0, 0.0));
        assert_eq!(meter.spent(), usage(50, 5, 250_000));
    }

    #[test]
    fn a_program_that_counts_again_from_nothing_is_charged_for_all_it_counts() {
        let mut meter = Meter::new(usage(100, 10, 0));
        let mut tally = Tally::default();
        tally.count(counted(20, 2, None));
        meter.read(&tally, &agent(Adapter::CODEX, 3.0, 15.0));
        assert_eq!(meter.spent(), usage(20, 2, 90));
        // Its count is larger than before, and still too small to have the earlier part in it.
        let mut meter = Meter::new(usage(100, 10, 500_000));
        let mut tally = Tally::default();
        tally.message("m1".into(), SONNET.into(), counted(120, 20, None));
        tally.count(counted(120, 20, Some(0.6)));
        meter.read(&tally, &agent(Adapter::CLAUDE, 0.0, 0.0));
        assert_eq!(meter.spent(), usage(120, 20, 600_000));
    }

    #[test]
    fn messages_count_once_until_the_program_counts_itself() {
        let agent = agent(Adapter::CLAUDE, 0.0, 0.0);
        let (mut meter, mut tally) = (Meter::default(), Tally::default());
        tally.message("m1".into(), SONNET.into(), counted(1_000, 10, None));
        tally.message("m1".into(), SONNET.into(), counted(1_000, 100, None));
        let cached = Counted { cached: 1_000, ..counted(2_000, 0, None) };
        tally.message("m2".into(), SONNET.into(), cached);
        meter.read(&tally, &agent);
        // 1,000 at 3 and 100 at 15 dollars for a million; 1,000 at 3 and 1,000 at 0.30.
        let want = Usage { cached: 1_000, ..usage(3_000, 100, 3_000 + 1_500 + 3_000 + 300) };
        assert_eq!(meter.spent(), want);
        assert_eq!(meter.request_micros(), 4_500);
        tally.count(counted(3_000, 100, Some(0.01)));
        meter.read(&tally, &agent);
        assert_eq!(meter.spent(), usage(3_000, 100, 10_000));
    }

    #[test]
    fn what_has_no_price_counts_as_the_dearest_and_that_is_known() {
        let agent = agent(Adapter::CODEX, 0.0, 0.0);
        let (mut meter, mut tally) = (Meter::default(), Tally::default());
        tally.name_model("gpt-9".into());
        tally.count(counted(0, 1_000, None));
        meter.read(&tally, &agent);
        assert_eq!(meter.spent().cost_micros, 120_000);
        assert_eq!(meter.unknown(), Some(("gpt-9", "gpt-5-pro")));
    }

    #[test]
    fn a_stream_without_usage_is_estimated() {
        let agent = agent(Adapter::CODEX_EXEC, 1.0, 10.0);
        let (mut meter, mut tally) = (Meter::default(), Tally::default());
        tally.wrote(4_000);
        tally.wrote(400);
        meter.read(&tally, &agent);
        assert!(meter.is_estimated());
        assert_eq!(meter.spent(), usage(1_000, 1_100, 1_000 + 11_000));
        tally.count(counted(5_000, 900, None));
        meter.read(&tally, &agent);
        assert!(!meter.is_estimated());
        assert_eq!(meter.spent(), usage(5_000, 900, 14_000));
    }
}
