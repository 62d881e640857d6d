//! Finds what follows a name that sounds secret: `password=…`, `"api_key": "…"`, `--token …`.
//!
//! A name is a word whose end says so; the sign behind it and the quotes around it may be escaped.
//! In prose a colon also follows such words (`unexpected token: x`), so behind a colon and a blank
//! only what looks like a secret counts, unless the name is that of a password.
//!
//! A text is read once: a value is skipped when it has been found.

use crate::MARK;
use std::ops::Range;

/// What names of passwords end with.
const PASSWORDS: [&str; 4] = ["password", "passwd", "passphrase", "pwd"];

/// What other secret names end with, without the signs that divide their words.
const SECRETS: [&str; 11] = [
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "credential",
    "credentials",
    "webhookurl",
    "connectionstring",
];

/// Variables of a shell that only sound like it.
const HARMLESS: [&str; 2] = ["pwd", "oldpwd"];

/// What a variable holds when it holds nothing.
const NOTHING: [&str; 6] = ["null", "none", "nil", "true", "false", "undefined"];

/// No name that a person chose is longer; of more only the end is looked at.
const NAME_MAX: usize = 64;

/// So many blanks may stand around the sign.
const BLANKS_MAX: usize = 8;

/// So long is what looks like a secret at least.
const VALUE_MIN: usize = 8;

/// How secret a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrecy {
    Password,
    Other,
}

/// Where `text` has values of names that sound secret; ascending.
pub(crate) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(is_name) {
        let start = at + start;
        let end = text[start..].find(|c| !is_name(c)).map_or(text.len(), |end| start + end);
        at = end;
        let name = &text[start..end];
        let Some(secrecy) = secrecy(name) else { continue };
        let value = match sign(&text[end..]) {
            Some(sign) => value(text, end + sign.length, secrecy, sign.is_loose),
            None if name.starts_with("--") => flag_value(text, end),
            None => None,
        };
        if let Some(value) = value {
            at = value.end;
            found.push(value);
        }
    }
    found
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn secrecy(name: &str) -> Option<Secrecy> {
    let tail = &name[name.len().saturating_sub(NAME_MAX)..];
    let plain: String =
        tail.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let last = tail.rsplit(['_', '-', '.']).next().unwrap_or(tail);
    if HARMLESS.contains(&plain.as_str()) {
        return None;
    }
    if PASSWORDS.iter().any(|word| plain.ends_with(word)) || last.eq_ignore_ascii_case("pass") {
        return Some(Secrecy::Password);
    }
    SECRETS.iter().any(|word| plain.ends_with(word)).then_some(Secrecy::Other)
}

/// What stands between a name and its value.
struct Sign {
    length: usize,
    /// Whether it may as well be a colon of prose.
    is_loose: bool,
}

/// Reads `=`, `:`, `:=` or `=>`, with quotes in front and blanks around.
fn sign(text: &str) -> Option<Sign> {
    let quoted = text.trim_start_matches('\\');
    let is_quoted = quoted.starts_with(['"', '\'', '`']);
    let rest = if is_quoted { &quoted[1..] } else { text };
    let rest = without_blanks(rest);
    let behind = [":=", "=>", "=", ":"].iter().find_map(|sign| rest.strip_prefix(sign))?;
    // Another sign makes it a comparison or a path, as in `token == x` and `token::new`.
    if behind.starts_with(['=', ':']) {
        return None;
    }
    let value = without_blanks(behind);
    let is_colon = rest.starts_with(':') && !rest.starts_with(":=");
    let is_loose = is_colon && !is_quoted && value.len() < behind.len();
    Some(Sign { length: text.len() - value.len(), is_loose })
}

fn without_blanks(text: &str) -> &str {
    let blanks = text.bytes().take(BLANKS_MAX).take_while(|byte| matches!(byte, b' ' | b'\t'));
    &text[blanks.count()..]
}

/// The value from `start` on, without quotes around it.
fn value(text: &str, start: usize, secrecy: Secrecy, is_loose: bool) -> Option<Range<usize>> {
    let rest = &text[start..];
    if rest.starts_with(MARK) {
        return None;
    }
    let slashes = rest.len() - rest.trim_start_matches('\\').len();
    let quote = rest[slashes..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let range = match quote {
        Some(quote) => {
            let inside = start + slashes + 1;
            inside..inside + quoted_length(&text[inside..], quote, slashes)
        }
        None => {
            let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
            let word = &word[..word.find(['"', '\'', '`']).unwrap_or(word.len())];
            let word = word.trim_end_matches([',', ';', '.', ')', ']', '}', '>', '\\']);
            start..start + word.len()
        }
    };
    let value = &text[range.clone()];
    let is_nothing = NOTHING.iter().any(|nothing| value.eq_ignore_ascii_case(nothing));
    if value.is_empty() || value == MARK || is_nothing {
        return None;
    }
    let has_shape = value.len() >= VALUE_MIN && value.contains(|c: char| !c.is_alphabetic());
    (secrecy == Secrecy::Password || !is_loose || has_shape).then_some(range)
}

/// How far a text goes that is quoted: to a quote with as many backslashes in front as the first one
/// has, to the end of its line, or to the end of all.
fn quoted_length(text: &str, quote: char, slashes: usize) -> usize {
    let mut before = 0;
    for (at, c) in text.char_indices() {
        match c {
            '\\' => before += 1,
            c if c == quote && before <= slashes => return at - before,
            '\n' => return at,
            _ => before = 0,
        }
    }
    text.len()
}

/// The value behind a flag and a blank, unless that is the next flag.
fn flag_value(text: &str, end: usize) -> Option<Range<usize>> {
    let rest = &text[end..];
    let word = without_blanks(rest);
    let is_value = word.len() < rest.len() && !word.starts_with('-');
    let start = text.len() - word.len();
    is_value.then(|| value(text, start, Secrecy::Password, false)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        let mut clean = text.to_owned();
        for range in find(text).into_iter().rev() {
            clean.replace_range(range, "*");
        }
        clean
    }

    #[test]
    fn values_of_secret_names_are_found_in_every_notation() {
        let table = [
            ("password=hunter2", "password=*"),
            ("PGPASSWORD=hunter2 psql -h db", "PGPASSWORD=* psql -h db"),
            ("db_pass = hunter2, next", "db_pass = *, next"),
            ("Password: hunter two", "Password: * two"),
            (
                "\"password\": \"hunter two\", \"user\": \"mina\"",
                "\"password\": \"*\", \"user\": \"mina\"",
            ),
            (r#"{\"api_key\":\"ab\\\"c\",\"n\":1}"#, r#"{\"api_key\":\"*\",\"n\":1}"#),
            ("'client-secret' => 'abc'", "'client-secret' => '*'"),
            ("AWS_SECRET_ACCESS_KEY=wJal/rXUt+n", "AWS_SECRET_ACCESS_KEY=*"),
            ("auth_token := \"x y\"", "auth_token := \"*\""),
            ("https://h/?user=a&access_token=b&c=d", "https://h/?user=a&access_token=*"),
            ("login --password hunter2 --user mina", "login --password * --user mina"),
            ("login --token=abc", "login --token=*"),
            ("token: abc123def456", "token: *"),
            ("password=\"never closed\nnext", "password=\"*\nnext"),
            ("spring.datasource.password=x", "spring.datasource.password=*"),
        ];
        for (text, want) in table {
            assert_eq!(cleaned(text), want, "{text}");
        }
    }

    #[test]
    fn what_only_sounds_like_it_stays() {
        let same = [
            "unexpected token: `}`",
            "invalid token: expected",
            "PWD=/srv/shop",
            "token == other",
            "Token::new(x)",
            "password=",
            "password: null",
            "secret = none",
            "the secret of it",
            "forgot the password",
            "--password --user mina",
            "key=value",
            "tokens: 512",
        ];
        for text in same {
            assert_eq!(cleaned(text), text);
        }
    }
}
