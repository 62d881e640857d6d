//! Takes secrets out of texts that leave the machine.
//!
//! Three nets: values that are known to be secret, wherever they stand and however they are encoded
//! (`known`), what follows a name that sounds secret (`fields`), and shapes of usual tokens. Each is
//! searched in a fixed number of passes, so that a hostile text costs no more than its length.
//! Texts are redacted whole and shortened afterwards: half a secret has no shape any more. What
//! was cut before it came here is looked for at both ends.

use crate::{MARK, fields, known::Known, secret::is_secret_name};
use std::{collections::BTreeSet, ops::Range};

/// A known value that is shorter is a word rather than a secret, and would be found everywhere.
const VALUE_MIN: usize = 8;

/// A token has at least so many characters after its prefix.
const TOKEN_MIN: usize = 10;

/// The first line of a private key is not longer.
const HEADER_MAX: usize = 64;

/// How tokens of usual services begin.
const PREFIXES: [&str; 25] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "pk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "hf_",
    "whsec_",
    "tk_",
];

/// Words after which a credential follows.
const ANNOUNCERS: [&str; 2] = ["bearer", "basic"];

/// Knows what must not leave.
#[derive(Default)]
pub struct Redactor {
    count: usize,
    known: Known,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} values)", self.count)
    }
}

impl Redactor {
    /// Knows these values; in values of several lines each line counts.
    pub fn of(values: impl IntoIterator<Item = String>) -> Self {
        let lines = values.into_iter().flat_map(|value| {
            let lines: Vec<String> = value.lines().map(|line| line.trim().to_owned()).collect();
            lines
        });
        let long: BTreeSet<String> = lines.filter(|line| line.len() >= VALUE_MIN).collect();
        Self { count: long.len(), known: Known::of(&long) }
    }

    /// Takes out what is secret, and everything that is no text.
    pub fn clean(&self, text: &str) -> String {
        let text = without_control(text);
        let text = without(&text, &self.known.find(&text));
        let text = without_keys(&text);
        without_shapes(&without(&text, &fields::find(&text)))
    }
}

/// The text with a mark in place of each of `ranges`, which are apart and ascending.
fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut copied = 0;
    for range in ranges {
        // Views are made of bytes; a character that is hit in part goes as a whole.
        let start = text.floor_char_boundary(range.start).max(copied);
        clean.push_str(&text[copied..start]);
        clean.push_str(MARK);
        copied = text.ceil_char_boundary(range.end);
    }
    clean.push_str(&text[copied..]);
    clean
}

/// The values of an environment that are secret by their names, or because tasks are given them.
pub fn secret_values(
    environment: impl Iterator<Item = (String, String)>,
    given: &[String],
) -> Vec<String> {
    let is_secret = |name: &str| given.iter().any(|it| it == name) || is_secret_name(name);
    environment.filter(|(name, _)| is_secret(name)).map(|(_, value)| value).collect()
}

/// Text without control characters and terminal sequences; lines stay lines.
fn without_control(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => clean.push(c),
            '\t' => clean.push(' '),
            '\u{1b}' => skip_sequence(&mut chars),
            c if c.is_control() || is_invisible(c) => {}
            c => clean.push(c),
        }
    }
    clean
}

/// What changes how a line looks and is not seen: directions, joiners, marks of order.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Skips what follows an escape: `[…m` and the like up to its final letter.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if chars.next_if_eq(&'[').is_none() {
        return;
    }
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Takes out private keys: everything from the first line of a block to its last, or to the end.
fn without_keys(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("-----BEGIN ") {
        let (before, block) = rest.split_at(at);
        clean.push_str(before);
        let header: String = block.chars().take(HEADER_MAX).take_while(|c| *c != '\n').collect();
        let is_key = header.contains("PRIVATE KEY-----");
        if !is_key {
            let (word, after) = block.split_at("-----BEGIN ".len());
            clean.push_str(word);
            rest = after;
            continue;
        }
        clean.push_str(MARK);
        rest = match block.find("-----END ") {
            None => "",
            Some(end) => {
                let last = &block[end + "-----END ".len()..];
                last.find("-----").map_or("", |close| &last[close + 5..])
            }
        };
    }
    clean + rest
}

/// Whether a token or an address may have this character in it.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_-./+=~:@%?&#!$*".contains(c)
}

/// Takes out words that look like tokens, what follows `Bearer`, and passwords in addresses.
fn without_shapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut is_announced = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_inside = is_word(c);
        let end = rest.find(|c| is_word(c) != is_inside).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        if !is_inside {
            // Only blanks and quotes may stand between the word and the credential.
            is_announced &= part.chars().all(|c| c.is_whitespace() || "\"'".contains(c));
            clean.push_str(part);
            continue;
        }
        let is_long = part.len() >= VALUE_MIN;
        match is_announced && is_long {
            true => clean.push_str(MARK),
            false => clean.push_str(&redacted_word(part)),
        }
        let last = part.rsplit([':', '=']).next().unwrap_or(part);
        is_announced = ANNOUNCERS.iter().any(|word| last.eq_ignore_ascii_case(word));
    }
    clean
}

/// A word with its tokens taken out; `key=TOKEN` keeps its key.
fn redacted_word(word: &str) -> String {
    if let Some((scheme, rest)) = word.split_once("://") {
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let host = match authority.rsplit_once('@') {
            Some((_, host)) => format!("{MARK}@{host}"),
            None => authority.to_owned(),
        };
        let path = match host.ends_with("hooks.slack.com") && path.len() > 1 {
            true => format!("/{MARK}"),
            false => redacted_parts(path),
        };
        return format!("{}://{host}{path}", redacted_parts(scheme));
    }
    redacted_parts(word)
}

fn redacted_parts(word: &str) -> String {
    let is_mark = |c: char| "/:=@?&#!$*+~".contains(c);
    let parts = word.split_inclusive(is_mark).map(|part| {
        let bare = part.trim_end_matches(is_mark);
        match is_token(bare) {
            true => format!("{MARK}{}", &part[bare.len()..]),
            false => part.to_owned(),
        }
    });
    parts.collect()
}

/// Whether a word has the shape of a token: a prefix of a service and enough after it, or three
/// parts in base64 of which the first is the beginning of a JSON object.
fn is_token(word: &str) -> bool {
    let is_long =
        |rest: &str| rest.chars().filter(|c| c.is_ascii_alphanumeric()).count() >= TOKEN_MIN;
    let is_prefixed = |prefix: &&'static str| word.strip_prefix(*prefix).is_some_and(is_long);
    let is_jwt = word.starts_with("eyJ") && word.matches('.').count() >= 2 && is_long(word);
    is_jwt || PREFIXES.iter().any(is_prefixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[&str], table: &[(&str, &str)]) {
        let redactor = Redactor::of(values.iter().map(|value| (*value).to_owned()));
        for (text, want) in table {
            assert_eq!(redactor.clean(text), *want, "{text:?}");
        }
    }

    #[test]
    fn tokens_are_known_by_their_shapes() {
        check(
            &[],
            &[
                ("nothing secret, T1.2: a/b.rs failed", "nothing secret, T1.2: a/b.rs failed"),
                ("sk-ant-REDACTED.", "[redacted]"),
                ("key=sk-proj-0123456789abcdef, and on", "key=[redacted], and on"),
                ("ghp_0123456789abcdefghij", "[redacted]"),
                ("(github_pat_11ABCDEFG0123456789)", "([redacted])"),
                ("xoxb-12345-67890-abcdef", "[redacted]"),
                ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
                ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer [redacted]"),
                ("auth:bearer \"abcdefgh12345\"", "auth:bearer \"[redacted]\""),
                ("the bearer of news", "the bearer of news"),
                ("https://mina:pa55@db.example/x", "https://[redacted]@db.example/x"),
                ("postgres://u:p@h:5432/d?x=1", "postgres://[redacted]@h:5432/d?x=1"),
                ("https://hooks.slack.com/services/T0/B0/x", "https://hooks.slack.com/[redacted]"),
                ("url=https://h/ghp_0123456789abcdef?q", "url=https://h/[redacted]?q"),
                ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "[redacted]"),
                ("skip sk-short and task-1234567890ab", "skip sk-short and task-1234567890ab"),
                (
                    "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
                    "a\n[redacted]\nb",
                ),
                ("-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]"),
                ("-----BEGIN CERTIFICATE-----\nMIIE", "-----BEGIN CERTIFICATE-----\nMIIE"),
            ],
        );
    }

    #[test]
    fn known_values_are_found_anywhere_and_cut_at_an_edge() {
        check(
            &["canary-4711-secret", "canary-4711", "short", "line one is\nline two is"],
            &[
                ("xcanary-4711-secretx", "x[redacted]x"),
                ("canary-4711!", "[redacted]!"),
                ("it ends with canary-4711-sec", "it ends with [redacted]"),
                ("11-secret is its end", "[redacted] is its end"),
                ("short is a word", "short is a word"),
                ("line two is", "[redacted]"),
                ("can\u{1b}[31mary-4\u{200b}711-secret", "[redacted]"),
            ],
        );
    }

    #[test]
    fn only_text_is_left_of_a_text() {
        check(
            &[],
            &[
                ("\u{1b}[1;31mred\u{1b}[0m\tand \u{7}\u{202e}more\r\n한글", "red and more\n한글"),
                ("\u{1b}]0;title\u{7}x", "]0;titlex"),
                ("\u{1b}", ""),
            ],
        );
    }

    #[test]
    fn secret_variables_are_known_by_their_names() {
        let environment = [("API_KEY2", "a"), ("HOME", "b"), ("db_password", "c"), ("MINE", "d")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(secret_values(environment.into_iter(), &["MINE".into()]), ["a", "c", "d"]);
    }

    #[test]
    fn a_long_hostile_text_is_read_once() {
        let redactor = Redactor::of(["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab".to_owned()]);
        let parts = [
            "-----BEGIN ",
            "a",
            "sk-",
            "eyJ.",
            "://@",
            "Bearer ",
            "\u{1b}[",
            "%",
            "%61",
            "\\",
            "\\u0061",
            "password=\"\\",
            "--token ",
            "YWFh",
            "6161",
        ];
        for part in parts {
            let text = part.repeat(100_000);
            assert!(redactor.clean(&text).len() <= text.len() + 2 * MARK.len());
        }
    }
}
