//! What models cost, as their vendors' public lists said on [`PRICES_OF`].
//!
//! A model that is not in the table counts as the dearest of its vendor, so that a budget holds;
//! a person who knows better says so in the configuration.

use crate::adapter::Adapter;

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

/// Who makes a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    Anthropic,
    OpenAi,
    Google,
    /// Waypost's own simulated models.
    Simulated,
}

const fn price(input: f64, cached: f64, written: f64, output: f64) -> Price {
    Price { input, cached, written, output }
}

/// Where a price depends on the length of the context, the higher one.
#[rustfmt::skip]
const TABLE: &[(&str, Vendor, Price)] = &[
    ("claude-opus-4-5",    Vendor::Anthropic, price(5.0, 0.5, 6.25, 25.0)),
    ("claude-opus-4-1",    Vendor::Anthropic, price(15.0, 1.5, 18.75, 75.0)),
    ("claude-opus-4",      Vendor::Anthropic, price(15.0, 1.5, 18.75, 75.0)),
    ("claude-3-opus",      Vendor::Anthropic, price(15.0, 1.5, 18.75, 75.0)),
    ("claude-sonnet-4-5",  Vendor::Anthropic, price(3.0, 0.3, 3.75, 15.0)),
    ("claude-sonnet-4",    Vendor::Anthropic, price(3.0, 0.3, 3.75, 15.0)),
    ("claude-3-7-sonnet",  Vendor::Anthropic, price(3.0, 0.3, 3.75, 15.0)),
    ("claude-3-5-sonnet",  Vendor::Anthropic, price(3.0, 0.3, 3.75, 15.0)),
    ("claude-haiku-4-5",   Vendor::Anthropic, price(1.0, 0.1, 1.25, 5.0)),
    ("claude-3-5-haiku",   Vendor::Anthropic, price(0.8, 0.08, 1.0, 4.0)),
    ("claude-3-haiku",     Vendor::Anthropic, price(0.25, 0.03, 0.3, 1.25)),
    ("gpt-5-pro",          Vendor::OpenAi,    price(15.0, 15.0, 15.0, 120.0)),
    ("gpt-5.2",            Vendor::OpenAi,    price(1.75, 0.175, 1.75, 14.0)),
    ("gpt-5.1",            Vendor::OpenAi,    price(1.25, 0.125, 1.25, 10.0)),
    ("gpt-5.1-codex",      Vendor::OpenAi,    price(1.25, 0.125, 1.25, 10.0)),
    ("gpt-5.1-codex-max",  Vendor::OpenAi,    price(1.25, 0.125, 1.25, 10.0)),
    ("gpt-5.1-codex-mini", Vendor::OpenAi,    price(0.25, 0.025, 0.25, 2.0)),
    ("gpt-5",              Vendor::OpenAi,    price(1.25, 0.125, 1.25, 10.0)),
    ("gpt-5-codex",        Vendor::OpenAi,    price(1.25, 0.125, 1.25, 10.0)),
    ("gpt-5-mini",         Vendor::OpenAi,    price(0.25, 0.025, 0.25, 2.0)),
    ("gpt-5-nano",         Vendor::OpenAi,    price(0.05, 0.005, 0.05, 0.4)),
    ("gpt-4.1",            Vendor::OpenAi,    price(2.0, 0.5, 2.0, 8.0)),
    ("gpt-4.1-mini",       Vendor::OpenAi,    price(0.4, 0.1, 0.4, 1.6)),
    ("gpt-4o",             Vendor::OpenAi,    price(2.5, 1.25, 2.5, 10.0)),
    ("o3",                 Vendor::OpenAi,    price(2.0, 0.5, 2.0, 8.0)),
    ("o4-mini",            Vendor::OpenAi,    price(1.1, 0.275, 1.1, 4.4)),
    ("gemini-3-pro",       Vendor::Google,    price(4.0, 0.4, 4.0, 18.0)),
    ("gemini-2.5-pro",     Vendor::Google,    price(2.5, 0.625, 2.5, 15.0)),
    ("gemini-2.5-flash",   Vendor::Google,    price(0.3, 0.075, 0.3, 2.5)),
    ("gemini-2.5-flash-lite", Vendor::Google, price(0.1, 0.025, 0.1, 0.4)),
    ("sim",                Vendor::Simulated, price(0.0, 0.0, 0.0, 0.0)),
];

/// The price of a model; none if the table does not have it.
pub fn of_model(model: &str) -> Option<Price> {
    let name = plain(model);
    TABLE.iter().find(|(known, ..)| is_same(&name, known)).map(|(.., price)| *price)
}

/// What a model counts as that the table does not have: the dearest of its vendor, else of all.
pub fn dearest(adapter: Adapter, model: &str) -> (&'static str, Price) {
    let name = plain(model);
    let vendor = match adapter {
        _ if name.starts_with("claude") => Some(Vendor::Anthropic),
        _ if name.starts_with("gpt") => Some(Vendor::OpenAi),
        _ if name.starts_with("gemini") => Some(Vendor::Google),
        Adapter::Claude => Some(Vendor::Anthropic),
        Adapter::Codex | Adapter::CodexExec => Some(Vendor::OpenAi),
        Adapter::Acp => None,
    };
    let of_vendor = TABLE.iter().filter(|(_, it, _)| vendor.is_none_or(|vendor| vendor == *it));
    let dearest = of_vendor.max_by(|(.., one), (.., other)| {
        one.output.total_cmp(&other.output).then(one.input.total_cmp(&other.input))
    });
    dearest.map_or(("", price(15.0, 15.0, 18.75, 120.0)), |(name, _, price)| (name, *price))
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

    #[test]
    fn models_are_found_with_dates_and_behind_services() {
        let output = |model: &str| of_model(model).map(|price| price.output);
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
            (Adapter::Claude, "claude-opus-9", 75.0),
            (Adapter::Claude, "", 75.0),
            (Adapter::Codex, "gpt-9", 120.0),
            (Adapter::Acp, "gemini-9", 18.0),
            (Adapter::Acp, "something", 120.0),
        ];
        for (adapter, model, want) in table {
            assert!((dearest(adapter, model).1.output - want).abs() < 1e-9, "{model}");
        }
    }
}
