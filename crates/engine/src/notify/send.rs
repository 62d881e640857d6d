//! One try at delivering a message over HTTP.
//!
//! Whatever a host answers, only the status and `Retry-After` are looked at: its words are foreign
//! and could hold what was sent. Errors are told in our own words, without the address.

use super::{compose::Post, target::Hidden};
use jiff::fmt::rfc2822;
use std::{io, time::Duration};
use ureq::{Agent, Error};
use waypost_model::time::Time;

/// How long a host may take to answer a knock.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// How long one try may take.
const SEND_MAX: Duration = Duration::from_secs(15);

/// What came of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Delivered,
    /// It may work later; the host may have said when.
    Later {
        why: String,
        after: Option<Duration>,
    },
    /// It will not work however often it is tried.
    Never {
        why: String,
    },
}

impl Outcome {
    pub(crate) fn later(why: impl Into<String>) -> Self {
        Self::Later { why: why.into(), after: None }
    }
}

/// The one client. Redirects are not followed: a message goes where a person has said, or nowhere.
pub(crate) fn client() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(CONNECT_MAX))
        .timeout_global(Some(SEND_MAX))
        .user_agent(concat!("waypost/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

pub(crate) fn send(client: &Agent, post: &Post, now: Time) -> Outcome {
    let mut request = client.post(&post.address.0);
    for (name, value) in &post.headers {
        request = request.header(*name, value);
    }
    if post.is_loopback {
        // What stays on this machine is not given to another one that passes it on.
        request = request.config().proxy(None).build();
    }
    match request.send(&post.body) {
        Ok(response) => {
            let after = response.headers().get("retry-after").and_then(|value| {
                let text = value.to_str().ok()?.trim();
                let seconds = text.parse().ok().map(Duration::from_secs);
                seconds.or_else(|| until(text, now))
            });
            judge(response.status().as_u16(), after)
        }
        Err(error) => failure(&error),
    }
}

/// Calls an address only so that it was called; what it answers does not matter.
pub(crate) fn knock(client: &Agent, address: &Hidden, is_loopback: bool) {
    let mut request = client.get(&address.0);
    if is_loopback {
        request = request.config().proxy(None).build();
    }
    // One that was not heard is followed by the next.
    let _unheard = request.call();
}

/// How long it is until a date of HTTP.
fn until(text: &str, now: Time) -> Option<Duration> {
    let date = rfc2822::parse(text).ok()?.timestamp();
    Some(Time::from_millis(date.as_millisecond()).since(now))
}

fn judge(status: u16, after: Option<Duration>) -> Outcome {
    match status {
        200..=299 => Outcome::Delivered,
        300..=399 => Outcome::Never {
            why: format!("it answers with a redirect ({status}), which is not followed"),
        },
        408 | 429 | 500.. => {
            Outcome::Later { why: format!("it answers with status {status}"), after }
        }
        _ => Outcome::Never { why: format!("it answers with status {status}") },
    }
}

fn failure(error: &Error) -> Outcome {
    match error {
        Error::Timeout(_) => Outcome::later("it does not answer in time"),
        Error::HostNotFound => Outcome::later("its host is not found"),
        Error::Io(error) => Outcome::later(match error.kind() {
            io::ErrorKind::ConnectionRefused => "no server listens there",
            io::ErrorKind::TimedOut => "it does not answer in time",
            _ => "the connection broke",
        }),
        Error::ConnectionFailed => Outcome::later("it cannot be reached"),
        Error::Tls(_) | Error::Rustls(_) | Error::Pem(_) => {
            Outcome::later("no safe connection to it could be made")
        }
        Error::Http(_) | Error::BadUri(_) => {
            Outcome::Never { why: "its address or token has characters that cannot be sent".into() }
        }
        Error::InvalidProxyUrl => Outcome::later("the proxy's address is not one"),
        _ => Outcome::later("it does not speak HTTP as it should"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let table = [
            (200, "delivered"),
            (204, "delivered"),
            (301, "never"),
            (307, "never"),
            (400, "never"),
            (401, "never"),
            (404, "never"),
            (408, "later"),
            (410, "never"),
            (429, "later"),
            (500, "later"),
            (503, "later"),
        ];
        for (status, want) in table {
            let got = match judge(status, None) {
                Outcome::Delivered => "delivered",
                Outcome::Later { .. } => "later",
                Outcome::Never { .. } => "never",
            };
            assert_eq!(got, want, "{status}");
        }
    }

    #[test]
    fn a_date_says_how_long_to_wait() {
        let now = Time::from_millis(784_111_777_000);
        let wait = |text| until(text, now).map(|it| it.as_secs());
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10));
        assert_eq!(wait("Sun, 06 Nov 1994 08:40:00 GMT"), Some(0));
        assert_eq!(wait("soon"), None);
    }
}
