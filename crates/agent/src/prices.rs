//! What models cost, as their vendors' public lists said on [`PRICES_OF`].
//!
//! A model that is not in the table counts as the dearest of its vendor, so that a budget holds;
//! a person who knows better says so in the configuration.

use crate::{adapter::Adapter, programs::Programs};

/// When the table was last compared with the vendors' lists.
pub const PRICES_OF: &str = "2026-01";

/// Dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    pub input: f64,
    /// Input that came from a cache.
    pub cached: f64,
    /// Input that was written to a cache.
    pub written: f64,
    pub output: f64,
}

/// The models of one vendor.
#[derive(Clone, Copy, Debug)]
pub struct Models {
    /// How their names begin.
    pub prefix: &'static str,
    /// Where a price depends on the length of the context, the higher one.
    pub prices: &'static [(&'static str, Price)],
}

pub const fn price(input: f64, cached: f64, written: f64, output: f64) -> Price {
    Price { input, cached, written, output }
}

/// Waypost's own simulated models.
static SIMULATED: Models = Models { prefix: "sim", prices: &[("sim", price(0.0, 0.0, 0.0, 0.0))] };

/// What a model costs if no vendor is known at all.
const DEAREST: Price = price(15.0, 15.0, 18.75, 120.0);

impl Programs {
    /// The models of all vendors, and our own.
    fn priced(&self) -> impl Iterator<Item = &'static Models> {
        self.all().filter_map(|program| program.models).chain([&SIMULATED])
    }

    /// The price of a model that a program works with; none if no table has it.
    pub fn price(&self, adapter: Adapter, model: &str) -> Option<Price> {
        let name = plain(model);
        let tables = adapter.models().into_iter().chain(self.priced());
        let mut known = tables.flat_map(|models| models.prices);
        known.find(|(known, _)| is_same(&name, known)).map(|(_, price)| *price)
    }

    /// What a model counts as that no table has: the dearest of its vendor, else of all.
    pub fn dearest(&self, adapter: Adapter, model: &str) -> (&'static str, Price) {
        let name = plain(model);
        let own = adapter.models();
        let mut tables = own.into_iter().chain(self.priced());
        let by_name = tables.find(|models| name.starts_with(models.prefix));
        let of_vendor = by_name.or(own).map(|models| vec![models]);
        let tables = of_vendor.unwrap_or_else(|| self.priced().collect());
        let prices = tables.iter().flat_map(|models| models.prices);
        let dearest = prices.max_by(|(_, one), (_, other)| {
            one.output.total_cmp(&other.output).then(one.input.total_cmp(&other.input))
        });
        dearest.copied().unwrap_or(("", DEAREST))
    }
}

/// A model's own name: without the service that offers it, and without what stands in brackets.
fn plain(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.split('[').next().unwrap_or(name).trim().to_lowercase();
    match name.find("claude-") {
        Some(at) => name[at..].to_owned(),
        None => name,
    }
}

/// Whether a name is the known one, perhaps with a date or a word for the newest behind it.
fn is_same(name: &str, known: &str) -> bool {
    let Some(rest) = name.strip_prefix(known) else { return false };
    let rest = rest.trim_start_matches(['-', '@', ':', '.']);
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    rest.is_empty() || rest.starts_with("latest") || rest.starts_with("preview") || digits >= 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::BUILT_IN;

    #[test]
    fn models_are_found_with_dates_and_behind_services() {
        let output = |model: &str| BUILT_IN.price(Adapter::ACP, model).map(|price| price.output);
        #[rustfmt::skip]
        let table = [
            ("claude-sonnet-4-5-20250929", Some(15.0)),
            ("claude-sonnet-4-5[1m]", Some(15.0)),
            ("claude-opus-4-20250514", Some(75.0)),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", Some(5.0)),
            ("anthropic/claude-opus-4-5", Some(25.0)),
            ("gpt-5-2025-08-07", Some(10.0)),
            ("gpt-5-mini", Some(2.0)),
            ("gpt-5.1-codex-mini", Some(2.0)),
            ("gemini-3-pro-preview", Some(18.0)),
            ("sim", Some(0.0)),
            // Another number is another model.
            ("claude-opus-4-8", None),
            ("gpt-5.9", None),
            ("gpt-6", None),
            ("", None),
        ];
        for (model, want) in table {
            assert_eq!(output(model), want, "{model}");
        }
    }

    #[test]
    fn an_unknown_model_counts_as_the_dearest_of_its_vendor() {
        let table = [
            (Adapter::CLAUDE, "claude-opus-9", 75.0),
            (Adapter::CLAUDE, "", 75.0),
            (Adapter::CODEX, "gpt-9", 120.0),
            (Adapter::ACP, "gemini-9", 18.0),
            (Adapter::ACP, "something", 120.0),
        ];
        for (adapter, model, want) in table {
            assert!((BUILT_IN.dearest(adapter, model).1.output - want).abs() < 1e-9, "{model}");
        }
    }
}
