//! What programs write when their service cannot be used: overload, network, sign-in, credit.
//!
//! As with limits, only known wordings count, and only where the program itself reports an error.

use super::{TEXT_LENGTH_MAX, read};

/// Why a service cannot be used. None of it is the fault of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Overloaded, broken, or out of reach.
    Outage,
    /// Not signed in, or the key is not accepted.
    SignIn,
    /// The account has no credit.
    Credit,
}

const CREDIT: &[&str] = &[
    "credit balance is too low",
    "credit balance too low",
    "billing_error",
    "insufficient_quota",
    "insufficient credits",
    "insufficient balance",
    "billing_hard_limit_reached",
    "payment required",
    "check your plan and billing",
];

const SIGN_IN: &[&str] = &[
    "please run /login",
    "invalid api key",
    "invalid x-api-key",
    "incorrect api key",
    "api key not valid",
    "authentication_error",
    "authentication_failed",
    "authentication required",
    "failed to authenticate",
    "oauth token has expired",
    "oauth token revoked",
    "401 unauthorized",
    "403 forbidden",
    "not logged in",
    "please log in",
    "refresh token",
    "unauthenticated",
    "must specify the gemini_api_key",
];

const OUTAGE: &[&str] = &[
    "overloaded",
    "internal server error",
    "internal_server_error",
    "bad gateway",
    "service unavailable",
    "service_unavailable",
    "gateway timeout",
    "server_error",
    "api_error",
    "experiencing high demand",
    "model is overloaded",
    "connection error",
    "connection refused",
    "connection reset",
    "unable to connect",
    "request timed out",
    "stream disconnected",
    "error sending request",
    "network error",
    "fetch failed",
    "econnrefused",
    "econnreset",
    "enotfound",
    "etimedout",
    "eai_again",
    "enetunreach",
    "dns error",
    "failed to lookup address",
];

impl Trouble {
    /// What an HTTP status of the service means; none where the request itself was wrong.
    pub fn of_status(status: u64) -> Option<Self> {
        match status {
            401 | 403 | 407 => Some(Self::SignIn),
            402 => Some(Self::Credit),
            408 | 500..=599 => Some(Self::Outage),
            _ => None,
        }
    }

    /// What a program's word for an error means.
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "authentication_failed" | "authentication_error" | "oauth_org_not_allowed" => {
                Some(Self::SignIn)
            }
            "billing_error" => Some(Self::Credit),
            "overloaded" | "overloaded_error" | "server_error" | "api_error" | "timeout_error" => {
                Some(Self::Outage)
            }
            _ => None,
        }
    }
}

/// The trouble that an error of a program tells of; none if it is about something else, such as a
/// limit.
pub fn trouble(text: &str) -> Option<Trouble> {
    let lower: String = text.chars().take(TEXT_LENGTH_MAX).collect::<String>().to_lowercase();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    match read(text) {
        // Some services name the bill where they only mean a limit that ends by itself.
        Some(limit) if limit.resets.is_some() || !has(CREDIT) => None,
        _ if has(CREDIT) => Some(Trouble::Credit),
        _ if has(SIGN_IN) => Some(Trouble::SignIn),
        _ if has(OUTAGE) => Some(Trouble::Outage),
        _ => status(&lower).and_then(Trouble::of_status),
    }
}

/// The status behind words such as `API Error: 529` or `last status: 503`.
fn status(lower: &str) -> Option<u64> {
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let is_said = |word: &str| matches!(word, "error" | "status" | "http" | "code");
    let found = words.windows(2).find_map(|pair| match pair {
        [before, number] if is_said(before) && number.len() == 3 => number.parse().ok(),
        _ => None,
    });
    found.filter(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_wordings_tell_what_is_wrong() {
        let (outage, sign_in, credit) =
            (Some(Trouble::Outage), Some(Trouble::SignIn), Some(Trouble::Credit));
        #[rustfmt::skip]
        let table = [
            ("API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}", outage),
            ("API Error: 500 Internal server error", outage),
            ("API Error: Connection error.", outage),
            ("API Error: 503", outage),
            ("Request timed out.", outage),
            ("stream disconnected before completion: error sending request for url (x)", outage),
            ("exceeded retry limit, last status: 503 Service Unavailable", outage),
            ("We're currently experiencing high demand, which may cause temporary errors.", outage),
            ("getaddrinfo ENOTFOUND generativelanguage.googleapis.com", outage),
            ("connect ECONNREFUSED 127.0.0.1:9", outage),
            ("Invalid API key · Please run /login", sign_in),
            ("API Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\"}}", sign_in),
            ("unexpected status 401 Unauthorized: Missing bearer or basic authentication", sign_in),
            ("OAuth token has expired. Please obtain a new token", sign_in),
            ("Authentication required", sign_in),
            ("API key not valid. Please pass a valid API key.", sign_in),
            ("Credit balance is too low", credit),
            ("You exceeded your current quota, please check your plan and billing details.", credit),
            ("insufficient_quota", credit),
            // Limits, and what the task itself is to blame for.
            ("You exceeded your current quota, please check your plan and billing details. Please retry in 11.05s.", None),
            ("exceeded retry limit, last status: 429 Too Many Requests", None),
            ("Claude AI usage limit reached|1794729600", None),
            ("No conversation found with session ID: x", None),
            ("prompt is too long: 210000 tokens > 200000 maximum", None),
            ("API Error: 400 invalid_request_error", None),
            ("error in line 503 of main.rs", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(trouble(text), want, "{text}");
        }
    }
}
