//! What a sieve lets through, however its stream is cut.

use crate::{Form, MARK, Searcher, Sieve};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

const CANARY: &str = "canary-4711-secret";

fn searcher(values: &[&str]) -> Arc<Searcher> {
    Arc::new(Searcher::of(values.iter().copied()))
}

/// What comes of a text that is cut into pieces of these sizes, again and again.
fn sieved(searcher: &Arc<Searcher>, form: Form, text: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut sieve = Sieve::new(Arc::clone(searcher), form);
    let (mut clean, mut rest) = (Vec::new(), text);
    for cut in cuts.iter().cycle() {
        let (piece, after) = rest.split_at((*cut).clamp(1, rest.len().max(1)).min(rest.len()));
        sieve.push(piece, |bytes| clean.extend_from_slice(bytes));
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    sieve.finish(|bytes| clean.extend_from_slice(bytes));
    clean
}

#[track_caller]
fn check(values: &[&str], text: &str, want: &str) {
    let searcher = searcher(values);
    for form in [Form::Text, Form::Lines] {
        for cut in [1, 3, text.len().max(1)] {
            let clean = sieved(&searcher, form, text.as_bytes(), &[cut]);
            assert_eq!(String::from_utf8_lossy(&clean), want, "{text:?} {form:?} by {cut}");
        }
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_value_is_taken_out_in_every_spelling() {
    let odd = "pa&ss \"wo/rd\\ü";
    let table = [
        (CANARY, CANARY.to_owned()),
        (CANARY, hex(CANARY)),
        (CANARY, hex(CANARY).to_uppercase()),
        (odd, "pa%26ss%20%22wo%2Frd%5C%C3%BC".to_owned()),
        (odd, "pa%26ss+%22wo%2frd%5c%c3%bc".to_owned()),
        (odd, "pa%2526ss%2520%2522wo%252Frd%255C%25C3%25BC".to_owned()),
        (odd, "pa&ss \\\"wo/rd\\\\ü".to_owned()),
        (odd, "pa&ss \\\"wo\\/rd\\\\ü".to_owned()),
        (odd, "pa&ss \\\"wo/rd\\\\\\u00fc".to_owned()),
        (odd, "pa\\u0026ss \\\"wo/rd\\\\ü".to_owned()),
        (odd, "pa&ss \\\\\\\"wo/rd\\\\\\\\ü".to_owned()),
        (odd, "pa&ss \\\\\\\"wo/rd\\\\\\\\\\\\u00fc".to_owned()),
    ];
    for (value, spelled) in table {
        check(&[value], &format!("<{spelled}>"), "<[redacted]>");
    }
    check(&["canary-47"], "63:61:6e:61:72:79:2d:34:37", MARK);
    check(&["canary-47"], "\\x63\\x61\\x6e\\x61\\x72\\x79\\x2d\\x34\\x37", "\\x[redacted]");
}

#[test]
fn a_value_is_found_in_base64_wherever_it_begins() {
    for before in ["", "u", "us", "user:", "user::"] {
        for after in ["", "!", "!!", "!!!"] {
            let whole = format!("{before}{CANARY}{after}");
            for coded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                let text = format!("x {coded} y");
                let clean = sieved(&searcher(&[CANARY]), Form::Text, text.as_bytes(), &[5]);
                let clean = String::from_utf8(clean).unwrap();
                assert!(clean.contains(MARK), "{whole} {clean}");
                // At most one character at each end holds bits of it, beside those of others.
                let left = clean.len() - "x  y".len() - MARK.len();
                assert!(left <= (before.len() + after.len()) * 4 / 3 + 7, "{whole} {clean}");
            }
        }
    }
}

#[test]
fn long_values_are_found_in_broken_lines_of_base64_and_hex() {
    let value: String = (0..40).map(|n| format!("k{n}/")).collect();
    for coded in
        [STANDARD_NO_PAD.encode(&value), STANDARD_NO_PAD.encode(format!("ab{value}")), hex(&value)]
    {
        for width in [64, 76] {
            for line_end in ["\n", "\r\n", "\\n"] {
                let lines: Vec<&str> =
                    coded.as_bytes().chunks(width).map(|it| str::from_utf8(it).unwrap()).collect();
                let text = lines.join(line_end);
                let clean =
                    sieved(&searcher(&[&value]), Form::Text, text.as_bytes(), &[text.len()]);
                let clean = String::from_utf8(clean).unwrap();
                let left = clean.replace(MARK, "");
                // What a last line has that is shorter than a piece.
                assert!(left.len() <= 16 + lines.len() * 4, "{width} {clean}");
            }
        }
    }
}

#[test]
fn values_that_overlap_or_contain_each_other_leave_nothing() {
    check(&["abcdefgh", "ghijklmn"], "1abcdefghijklmn2", "1[redacted]2");
    check(&["abcdefgh", "abcdefgh-more"], "1abcdefgh-more2", "1[redacted]2");
    check(&["abcdefgh", "abcdefgh-more"], "1abcdefgh-mor 2", "1[redacted]-mor 2");
    check(&["abcdefgh", "cdef1234"], "abcdef1234", "ab[redacted]");
    check(&["aaaaaaaa"], &"a".repeat(100), MARK);
    check(&["abcdefgh"], "abcdefghabcdefgh", "[redacted][redacted]");
    check(&["abcd"], "xabcdx abc d", "x[redacted]x abc d");
    check(&["abc", ""], "abc", "abc");
    check(&["one value\nanother one\n"], "another one, one value", "[redacted], [redacted]");
    check(&[], "nothing is known", "nothing is known");
}

#[test]
fn what_is_cut_off_at_the_end_is_not_given_away() {
    check(&[CANARY], "ends canary-4711-sec", "ends [redacted]");
    check(&[CANARY], "ends canar", "ends canar");
}

#[test]
fn text_is_let_through_at_once_but_for_what_may_be_a_value() {
    let mut sieve = Sieve::new(searcher(&[CANARY]), Form::Text);
    let mut clean = Vec::new();
    sieve.push(b"Proceed? [y/n] ", |bytes| clean.extend_from_slice(bytes));
    assert_eq!(clean, b"Proceed? [y/n] ");
    sieve.push(b"can", |bytes| clean.extend_from_slice(bytes));
    assert_eq!(clean, b"Proceed? [y/n] ");
    sieve.push(b"cel", |bytes| clean.extend_from_slice(bytes));
    assert_eq!(clean, b"Proceed? [y/n] cancel");
}

#[test]
fn a_line_of_json_stays_json_where_a_mark_alone_would_break_it() {
    let table = [
        // A number that stands for itself, and as part of another.
        ("12345678", r#"{"n":12345678,"m":[9912345678.5]}"#),
        // The beginning is the letter of an escape, or one of its digits.
        ("nabcdefg", r#"{"text":"line\nabcdefg"}"#),
        ("e9abcdef", r#"{"text":"caf\u00e9abcdef"}"#),
        // The end is the first half of an escape.
        (r"abcdefg\", r#"{"text":"abcdefg\"quoted\""}"#),
        // It looks like the joints of the line.
        (r#"abcd":"efg"#, r#"{"abcd":"efg"}"#),
        (CANARY, r#"{"canary-4711-secret":{"canary-4711-secret":1},"x":"canary-4711-secret"}"#),
    ];
    for (value, line) in table {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
        let text = format!("{{\"before\":1}}\n{line}\n{{\"after\":2}}\n");
        for cut in [1, 7, text.len()] {
            let clean = sieved(&searcher(&[value]), Form::Lines, text.as_bytes(), &[cut]);
            let clean = String::from_utf8(clean).unwrap();
            let lines: Vec<&str> = clean.lines().collect();
            assert_eq!((lines.len(), lines[0], lines[2]), (3, r#"{"before":1}"#, r#"{"after":2}"#));
            assert!(serde_json::from_str::<Value>(lines[1]).is_ok(), "{line} {clean}");
            assert!(!clean.contains(value), "{clean}");
        }
    }
}

#[test]
fn a_line_without_end_is_let_through_in_parts() {
    let mut text = vec![b'x'; 5 << 20];
    text[(2 << 20) - 3..][..CANARY.len()].copy_from_slice(CANARY.as_bytes());
    let mut sieve = Sieve::new(searcher(&[CANARY]), Form::Lines);
    let (mut clean, mut most) = (Vec::new(), 0);
    for piece in text.chunks(64 << 10) {
        let before = clean.len();
        sieve.push(piece, |bytes| clean.extend_from_slice(bytes));
        most = most.max(clean.len() - before);
    }
    assert!(most <= (1 << 20) + (64 << 10), "{most}");
    sieve.push(b"y\n{\"n\":\"canary-4711-secret\"}\n", |bytes| clean.extend_from_slice(bytes));
    sieve.finish(|bytes| clean.extend_from_slice(bytes));
    let clean = String::from_utf8(clean).unwrap();
    assert_eq!(
        clean.len(),
        text.len() - CANARY.len() + MARK.len() + "y\n{\"n\":\"[redacted]\"}\n".len()
    );
    assert!(clean.ends_with("xy\n{\"n\":\"[redacted]\"}\n"));
    assert_eq!(clean.matches(MARK).count(), 2);
}

#[test]
fn hostile_text_comes_to_an_end() {
    let long = format!("{}b", "a".repeat(2_000));
    let values = [long.as_str(), "aaaaaaab", "abababab", "sk-ant-0123", "sk-ant-0124"];
    let searcher = searcher(&values);
    for part in
        ["a", "ab", "sk-ant-012", "YWFh", "6161", "\\", "\"", "%61", "aaaaaaa", "[redacted]"]
    {
        let text = part.repeat(40_000);
        for form in [Form::Text, Form::Lines] {
            let clean = sieved(&searcher, form, text.as_bytes(), &[64 << 10]);
            assert!(clean.len() <= text.len() + MARK.len(), "{part}");
        }
    }
}

/// Pieces of which texts are made that have values, beginnings of values, and neither.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let words =
        ["abcdefgh", "abcdefg", "efghabcd", "habc", "gh", "\"", "\\", "\n", "\r\n", "{", "}", "1"];
    let coded = ["abcdefgh", "xabcdefghx", "12345678"].map(|it| STANDARD.encode(it).into_bytes());
    prop_oneof![
        8 => prop::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::sample::select(coded.to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop::collection::vec(
        prop::sample::select(vec!["12345678", "quo\"te\\x", "\n", "\\", "\"", "ü", "a", "u00"]),
        0..5,
    );
    let leaf = prop_oneof![
        text.prop_map(|parts| Value::String(parts.concat())),
        Just(json!(12345678)),
        Just(json!(null)),
        any::<i32>().prop_map(|n| json!(n)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(
                (prop::sample::select(vec!["a", "12345678", "b\""]), inner),
                0..4
            )
            .prop_map(|members| {
                members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect()
            }),
        ]
    })
}

/// Every text in a value, names of members and numbers among them.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => found.push(number.to_string()),
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            found.push(name.clone());
            texts(member, found);
        }),
    }
}

proptest! {
    #[test]
    fn what_is_let_through_does_not_depend_on_the_pieces(
        pieces in prop::collection::vec(piece(), 0..40),
        cuts in prop::collection::vec(1_usize..20, 1..6),
    ) {
        let searcher = searcher(&["abcdefgh", "efghabcd", "12345678"]);
        let text = pieces.concat();
        for form in [Form::Text, Form::Lines] {
            let whole = sieved(&searcher, form, &text, &[text.len().max(1)]);
            prop_assert_eq!(&sieved(&searcher, form, &text, &cuts), &whole);
            let clean = String::from_utf8_lossy(&whole).replace(MARK, "\0");
            for value in ["abcdefgh", "efghabcd", "12345678", "YWJjZGVmZ2"] {
                prop_assert!(!clean.contains(value), "{}", clean);
            }
        }
    }

    #[test]
    fn what_no_value_is_in_stays_as_it_is(bytes: Vec<u8>, cuts in prop::collection::vec(1_usize..9, 1..4)) {
        let searcher = searcher(&["never in a text as short as this"]);
        for form in [Form::Text, Form::Lines] {
            prop_assert_eq!(&sieved(&searcher, form, &bytes, &cuts), &bytes);
        }
    }

    #[test]
    fn lines_of_json_stay_json_without_values(
        lines in prop::collection::vec(any_json(), 1..4),
        cuts in prop::collection::vec(1_usize..20, 1..6),
    ) {
        let values = ["12345678", "quo\"te\\x"];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let clean = sieved(&searcher(&values), Form::Lines, text.as_bytes(), &cuts);
        let clean = String::from_utf8(clean).unwrap();
        prop_assert_eq!(clean.lines().count(), lines.len());
        for line in clean.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            let mut found = Vec::new();
            texts(&value, &mut found);
            for text in found {
                prop_assert!(values.iter().all(|value| !text.contains(value)), "{}", text);
            }
        }
    }
}
