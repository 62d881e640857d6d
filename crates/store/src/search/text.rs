//! Text into terms: the same for what is indexed and for what is looked for.
//!
//! Characters are normalised (NFKC, so that half-width and decomposed forms are the usual ones), case
//! and accents are folded. Korean, Japanese and Chinese have no dependable borders between words:
//! every two neighbouring characters are a term. Other words are terms by their stem; identifiers are
//! also terms by their parts, by two neighbouring parts, and as a whole.
//! Every term knows which bytes of the original it came from.

use std::ops::Range;
use unicode_normalization::{UnicodeNormalization as _, char::canonical_combining_class};

/// A term and where it stands in the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) term: String,
    pub(super) bytes: Range<usize>,
}

/// A piece of text without a border inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextPiece {
    /// Characters that are read in pairs, each with its place.
    Pairs(Vec<(char, Range<usize>)>),
    /// A word or an identifier, by its parts; a plain word has one.
    Word(Vec<(String, Range<usize>)>),
}

/// A character after normalisation, with the bytes that it came from.
#[derive(Clone, Debug)]
struct Folded {
    c: char,
    bytes: Range<usize>,
}

/// A longer word is no word: it is cut, so that a term stays small.
const WORD_CHARS_MAX: usize = 64;

/// The pieces of a text in order.
pub(super) fn pieces(text: &str) -> Vec<TextPiece> {
    let folded = fold(text);
    let mut pieces = Vec::new();
    let mut rest = &folded[..];
    while let Some(first) = rest.first() {
        let kind = kind_of(first.c);
        let length = rest.iter().take_while(|it| belongs(kind, it.c)).count().max(1);
        let (run, after) = rest.split_at(length);
        match kind {
            CharKind::Paired => {
                pieces.push(TextPiece::Pairs(
                    run.iter().map(|it| (it.c, it.bytes.clone())).collect(),
                ));
            }
            CharKind::Letter => {
                let run = trimmed(run);
                pieces.extend(run.chunks(WORD_CHARS_MAX).map(|run| TextPiece::Word(parts(run))));
            }
            CharKind::Border => {}
        }
        rest = after;
    }
    pieces
}

/// The terms of a text under which it is found, with their places.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for piece in pieces(text) {
        match piece {
            TextPiece::Pairs(run) => tokens.extend(pair_tokens(&run)),
            TextPiece::Word(parts) => word_tokens(&parts, &mut tokens),
        }
    }
    tokens
}

/// Every two neighbours, and the last character alone: so each one begins a term.
fn pair_tokens(run: &[(char, Range<usize>)]) -> impl Iterator<Item = Token> {
    let pairs = run.windows(2).map(|pair| {
        let (one, other) = (&pair[0], &pair[1]);
        Token { term: [one.0, other.0].iter().collect(), bytes: one.1.start..other.1.end }
    });
    let last = run.last().map(|(c, bytes)| Token { term: c.to_string(), bytes: bytes.clone() });
    pairs.chain(last)
}

fn word_tokens(parts: &[(String, Range<usize>)], tokens: &mut Vec<Token>) {
    let token = |term: String, bytes: Range<usize>| Token { term, bytes };
    tokens.extend(parts.iter().map(|(part, bytes)| token(stem(part), bytes.clone())));
    let joined = |run: &[(String, Range<usize>)]| -> String {
        run.iter().map(|(part, _)| part.as_str()).collect()
    };
    let place = |run: &[(String, Range<usize>)]| run[0].1.start..run[run.len() - 1].1.end;
    tokens.extend(parts.windows(2).map(|pair| token(stem(&joined(pair)), place(pair))));
    if parts.len() > 2 {
        tokens.push(token(whole(parts), place(parts)));
    }
}

/// An identifier as one term, however its parts are told apart.
pub(super) fn whole(parts: &[(String, Range<usize>)]) -> String {
    stem(&parts.iter().map(|(part, _)| part.as_str()).collect::<String>())
}

/// What a character is to a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CharKind {
    /// Of a script without dependable borders between words.
    Paired,
    Letter,
    Border,
}

fn kind_of(c: char) -> CharKind {
    match c {
        '\u{1100}'..='\u{11ff}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{30ff}'
        | '\u{3131}'..='\u{318e}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}' => CharKind::Paired,
        c if c.is_alphanumeric() => CharKind::Letter,
        _ => CharKind::Border,
    }
}

/// Whether a character goes on with a piece of this kind. An underscore joins parts of an identifier.
fn belongs(kind: CharKind, c: char) -> bool {
    match kind {
        CharKind::Letter => c == '_' || kind_of(c) == CharKind::Letter,
        kind => kind_of(c) == kind,
    }
}

fn trimmed(run: &[Folded]) -> &[Folded] {
    let end = run.iter().rposition(|it| it.c != '_').map_or(0, |last| last + 1);
    &run[..end]
}

/// The parts of an identifier: between underscores, at a change from small to large letters, before
/// the last of several large ones (`HTTPServer`), and between letters and digits.
fn parts(run: &[Folded]) -> Vec<(String, Range<usize>)> {
    let mut parts: Vec<(String, Range<usize>)> = Vec::new();
    let mut begins_new = true;
    for (at, folded) in run.iter().enumerate() {
        if folded.c == '_' {
            begins_new = true;
            continue;
        }
        let before = at.checked_sub(1).map(|at| run[at].c);
        let after = run.get(at + 1).map(|it| it.c);
        let is_new = begins_new || before.is_some_and(|before| is_border(before, folded.c, after));
        begins_new = false;
        let lower = folded.c.to_lowercase();
        match parts.last_mut().filter(|_| !is_new) {
            Some((part, bytes)) => {
                part.extend(lower);
                bytes.end = folded.bytes.end;
            }
            None => parts.push((lower.collect(), folded.bytes.clone())),
        }
    }
    parts
}

fn is_border(before: char, c: char, after: Option<char>) -> bool {
    let rises = before.is_lowercase() && c.is_uppercase();
    let ends_capitals =
        before.is_uppercase() && c.is_uppercase() && after.is_some_and(char::is_lowercase);
    rises || ends_capitals || before.is_numeric() != c.is_numeric()
}

/// An English word without the endings of plural and tense; good enough to bring the forms of one
/// verb together, and the same for both sides, so that a wrong stem does no harm.
pub(super) fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let ended = |suffix: &str| word.strip_suffix(suffix).filter(|rest| rest.len() >= 3);
    let base = if let Some(rest) = ended("ies").or_else(|| ended("ied")) {
        format!("{rest}y")
    } else if ["sses", "shes", "ches", "xes", "zes"].iter().any(|it| word.ends_with(it)) {
        word[..word.len() - 2].to_owned()
    } else if let Some(rest) = ended("ing").or_else(|| ended("ed")) {
        without_double(rest).to_owned()
    } else if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        word.to_owned()
    } else {
        ended("s").unwrap_or(word).to_owned()
    };
    match base.strip_suffix('e').filter(|rest| rest.len() >= 3) {
        Some(rest) => rest.to_owned(),
        None => base,
    }
}

/// `runn` is `run`; `pass` and `call` stay.
fn without_double(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let [.., one, other] = bytes else { return rest };
    let is_double = one == other && !b"aeioulsz".contains(other) && bytes.len() > 3;
    if is_double { &rest[..rest.len() - 1] } else { rest }
}

/// Normalised characters with their places. What is normalised together (a letter and its marks,
/// the parts of a syllable) has one place.
fn fold(text: &str) -> Vec<Folded> {
    let mut folded = Vec::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        if c.is_ascii() && chars.peek().is_none_or(|(_, next)| next.is_ascii()) {
            folded.push(Folded { c, bytes: start..end });
            continue;
        }
        while let Some((at, next)) = chars.next_if(|(_, next)| is_attached(*next)) {
            end = at + next.len_utf8();
        }
        for c in text[start..end].nfkc() {
            folded.push(Folded { c: without_accent(c), bytes: start..end });
        }
    }
    folded
}

/// Whether a character changes the one before it: marks, half-width voicing, later parts of a syllable.
fn is_attached(c: char) -> bool {
    match c {
        '\u{ff9e}' | '\u{ff9f}' | '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}' => true,
        c => canonical_combining_class(c) != 0,
    }
}

/// A Latin letter without its accent.
fn without_accent(c: char) -> char {
    match c {
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => {
            [c].iter().copied().nfd().next().unwrap_or(c)
        }
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> String {
        tokens(text).into_iter().map(|token| token.term).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn terms_are_the_same_for_all_forms_of_a_word() {
        let table = [
            ("검색엔진", "검색 색엔 엔진 진"),
            ("검", "검"),
            ("\u{1100}\u{1165}\u{11b7}색", "검색 색"),
            ("ﾃﾞｰﾀ", "デー ータ タ"),
            ("テ\u{3099}ータ", "デー ータ タ"),
            ("ＡＰＩ를", "api 를"),
            ("parseConfigFile", "pars config fil parseconfig configfil parseconfigfil"),
            ("parse_config_file", "pars config fil parseconfig configfil parseconfigfil"),
            ("HTTPServer2", "http server 2 httpserver server2 httpserver2"),
            ("retries retrying retried retry", "retry retry retry retry"),
            ("caches cached caching cache", "cach cach cach cach"),
            ("processes process", "process process"),
            ("running runs run", "run run run"),
            ("Café __init__", "caf init"),
            ("東京都", "東京 京都 都"),
            ("", ""),
        ];
        for (text, want) in table {
            assert_eq!(terms(text), want, "{text}");
        }
    }

    #[test]
    fn every_term_knows_its_place_in_the_original() {
        let text = "ﾃﾞｰﾀ와 parseConfig()";
        let found: Vec<(&str, String)> = tokens(text)
            .into_iter()
            .map(|token| (&text[token.bytes.clone()], token.term))
            .collect();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(at, term)| (*at, term.as_str())).collect();
        let want = [
            ("ﾃﾞｰ", "デー"),
            ("ｰﾀ", "ータ"),
            ("ﾀ와", "タ와"),
            ("와", "와"),
            ("parse", "pars"),
            ("Config", "config"),
            ("parseConfig", "parseconfig"),
        ];
        assert_eq!(found, want);
    }
}
