//! Where notices go: Slack, signed webhooks, a topic of ntfy.
//!
//! A target is named by what is configured, not by what that resolves to, so that every process
//! knows the same ones, and the outbox never holds an address. Addresses and secrets have no
//! `Debug` that shows them.

use std::{fmt, net::IpAddr};
use ureq::http::Uri;
use waypost_model::config::Config;
use waypost_store::hash::sha256_hex;

/// More places than a person reads.
pub(crate) const TARGETS_MAX: usize = 16;

/// A place that gets notices, as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name in the outbox: `slack`, `ntfy`, `webhook-` and eight digits.
    pub(crate) name: String,
    /// The key that configures it.
    pub(crate) key: String,
    pub(crate) channel: Channel,
    address: Hidden,
    secret: Hidden,
    allow_plain: bool,
}

/// In which way a target is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Slack,
    Ntfy,
    Webhook,
}

/// A target with everything that is needed to reach it.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub(crate) channel: Channel,
    pub(crate) address: Hidden,
    /// Empty if there is none.
    pub(crate) secret: Hidden,
    pub(crate) is_loopback: bool,
}

/// A text that is not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Hidden(pub(crate) String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(none)" } else { "(redacted)" })
    }
}

/// The configured targets, in order.
pub(crate) fn targets(config: &Config) -> Vec<Target> {
    let notify = &config.notify;
    let target = |name: &str, channel, key: &str, address: &str, secret: &str| Target {
        name: name.to_owned(),
        key: key.to_owned(),
        channel,
        address: Hidden(address.trim().to_owned()),
        secret: Hidden(secret.trim().to_owned()),
        allow_plain: notify.allow_plain,
    };
    let slack = &config.run.slack_webhook_url;
    let mut found = vec![
        target("slack", Channel::Slack, "run.slack_webhook_url", slack, ""),
        target("ntfy", Channel::Ntfy, "notify.ntfy", &notify.ntfy, &notify.ntfy_token),
    ];
    for (at, hook) in notify.webhooks.iter().enumerate() {
        let name = format!("webhook-{}", &sha256_hex(hook.url.trim().as_bytes())[..8]);
        let key = format!("notify.webhooks[{at}]");
        found.push(target(&name, Channel::Webhook, &key, &hook.url, &hook.secret));
    }
    let mut names = std::collections::BTreeSet::new();
    found.retain(|it| !it.address.0.is_empty() && names.insert(it.name.clone()));
    found.truncate(TARGETS_MAX);
    found
}

/// The address that wants to hear that an engine lives.
pub(crate) fn heartbeat(config: &Config) -> Option<Target> {
    let address = Hidden(config.notify.heartbeat.trim().to_owned());
    let (name, key) = ("heartbeat".to_owned(), "notify.heartbeat".to_owned());
    let (channel, secret) = (Channel::Webhook, Hidden::default());
    let allow_plain = config.notify.allow_plain;
    (!address.0.is_empty()).then_some(Target { name, key, channel, address, secret, allow_plain })
}

impl Target {
    /// Finds the address and the secret; the error says in words why that is not possible, without
    /// either of them.
    pub(crate) fn reach(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Reached, String> {
        let address = resolve(&self.address, &variable)?;
        let secret = resolve(&self.secret, &variable)?;
        let uri: Uri = address.0.parse().map_err(|_| "it is not an address".to_owned())?;
        let host = uri.host().unwrap_or_default();
        let is_loopback = is_loopback(host);
        match uri.scheme_str() {
            _ if host.is_empty() => return Err("it is not an address".to_owned()),
            Some("https") => {}
            Some("http") if is_loopback || self.allow_plain => {}
            Some("http") => {
                return Err("`http://` would send it in the clear; use `https://`, or set \
                            `notify.allow_plain`"
                    .to_owned());
            }
            _ => return Err("its address does not begin with `https://`".to_owned()),
        }
        Ok(Reached { channel: self.channel, address, secret, is_loopback })
    }

    /// What must not be in a text that leaves, as far as it can be found.
    pub(crate) fn secrets(&self, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let both = [&self.address, &self.secret];
        both.into_iter().filter_map(|it| resolve(it, &variable).ok()).map(|it| it.0).collect()
    }

    /// Where it is, as far as that may be shown: the variable's name, or the host.
    pub(crate) fn shown(&self) -> String {
        let place = match self.address.0.strip_prefix("env:") {
            Some(_) => self.address.0.clone(),
            None => {
                let uri: Option<Uri> = self.address.0.parse().ok();
                uri.as_ref().and_then(Uri::host).unwrap_or("(redacted)").to_owned()
            }
        };
        format!("{} ({place})", self.name)
    }
}

/// Takes a value from the environment if it says so.
fn resolve(value: &Hidden, variable: impl Fn(&str) -> Option<String>) -> Result<Hidden, String> {
    let Some(name) = value.0.strip_prefix("env:") else { return Ok(value.clone()) };
    let found = variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    found.map(Hidden).ok_or_else(|| format!("the environment variable {name} is not set"))
}

/// Whether messages to this host stay on this machine. A name that only looks like an address of
/// it does not count.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use waypost_model::config::{NotifyConfig, RunConfig, WebhookConfig};

    fn config(ntfy: &str, token: &str, allow_plain: bool) -> Config {
        let notify = NotifyConfig {
            ntfy: ntfy.into(),
            ntfy_token: token.into(),
            allow_plain,
            ..NotifyConfig::default()
        };
        Config { notify, ..Config::default() }
    }

    fn variable(name: &str) -> Option<String> {
        let set = [("URL", "https://ntfy.example/t\n"), ("EMPTY", " "), ("WORD", "s3cret")];
        set.into_iter().find(|(it, _)| *it == name).map(|(_, value)| value.to_owned())
    }

    #[test]
    fn an_address_is_taken_only_if_nobody_on_the_way_can_read_along() {
        let plain = Err("`http://` would send it in the clear; use `https://`, or set \
                         `notify.allow_plain`");
        let table = [
            ("https://ntfy.example/t", false, Ok(false)),
            ("http://ntfy.example/t", false, plain),
            ("http://ntfy.example/t", true, Ok(false)),
            ("http://127.0.0.1:80/t", false, Ok(true)),
            ("http://[::1]:80/t", false, Ok(true)),
            ("http://localhost/t", false, Ok(true)),
            ("http://127.evil.example/t", false, plain),
            ("http://localhost.evil.example/t", false, plain),
            ("http://2130706433/t", false, plain),
            ("http://0.0.0.0/t", false, plain),
            ("http://127.0.0.1@evil.example/t", false, plain),
            ("http://[::ffff:127.0.0.1]/t", false, plain),
            ("env:URL", false, Ok(false)),
            ("env:WORD", false, Err("its address does not begin with `https://`")),
            ("env:NONE", false, Err("the environment variable NONE is not set")),
            ("env:EMPTY", false, Err("the environment variable EMPTY is not set")),
            ("ftp://ntfy.example", true, Err("its address does not begin with `https://`")),
            ("file:///etc/passwd", true, Err("it is not an address")),
            ("/t", false, Err("it is not an address")),
            ("https:// x", false, Err("it is not an address")),
        ];
        for (address, allow_plain, want) in table {
            let found = targets(&config(address, "", allow_plain));
            let [target] = found.as_slice() else { panic!("{address}") };
            let got = target.reach(variable).map(|reached| reached.is_loopback);
            assert_eq!(got, want.map_err(str::to_owned), "{address}");
        }
    }

    #[test]
    fn targets_have_names_without_their_addresses_and_nothing_shows_a_secret() {
        let hook =
            |url: &str, secret: &str| WebhookConfig { url: url.into(), secret: secret.into() };
        let mut config = config("https://ntfy.example/private-topic", "env:WORD", false);
        config.notify.webhooks =
            vec![hook("https://one.example/x/canary", "canary"), hook("env:URL", ""), hook("", "")];
        config.notify.webhooks.push(hook("env:URL", "again"));
        config.run = RunConfig { slack_webhook_url: " env:SLACK ".into(), ..RunConfig::default() };
        let found = targets(&config);
        let shown: Vec<String> = found.iter().map(Target::shown).collect();
        assert_eq!(
            shown,
            [
                "slack (env:SLACK)",
                "ntfy (ntfy.example)",
                "webhook-e9a608ac (one.example)",
                "webhook-8ce82e21 (env:URL)",
            ]
        );
        let debug = format!("{found:?} {:?}", found[1].reach(variable));
        assert!(!debug.contains("canary") && !debug.contains("s3cret"), "{debug}");
        assert!(!debug.contains("private-topic"), "{debug}");
        assert_eq!(found[1].secrets(variable), ["https://ntfy.example/private-topic", "s3cret"]);
    }
}
