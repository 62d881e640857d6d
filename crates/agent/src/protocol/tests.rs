//! Signals in all their forms, what only looks like one, and chunks of any size.

use super::*;
use insta::assert_snapshot;
use proptest::prelude::*;

/// The signals in a text, one per line.
fn shown(text: &str) -> String {
    read(text).iter().map(|signal| format!("{signal:?}\n")).collect()
}

#[track_caller]
fn assert_silent(text: &str) {
    assert_eq!(shown(text), "", "{text}");
}

#[track_caller]
fn assert_done(text: &str) {
    assert_eq!(shown(text), "Done { task: \"T1.1\" }\n", "{text}");
}

#[test]
fn tasks_end_with_a_line_of_their_own() {
    for text in [
        "DONE:T1.1",
        "All is well.\nDONE:T1.1\nBye.",
        "   DONE: T1.1  \r\n",
        "\x1b[32mDONE:T1.1\x1b[0m\n",
        "\x1b]0;title\x07DONE:T1.1\n",
        "\u{feff}DONE:T1.1\n",
        "```\nDONE:T9\n```\nDONE:T1.1\n",
        "~~~~ text\n~~~\nDONE:T9\n~~~~~\nDONE:T1.1\n",
    ] {
        assert_done(text);
    }
    let mut bytes = b"\xff\xfe broken\nDONE:T1.1\n".to_vec();
    bytes.extend(b"x\x00\n");
    assert_eq!(Scanner::new().push(&bytes), [Signal::Done { task: "T1.1".to_owned() }]);
    assert_snapshot!(shown("FAIL:T1:the tests: 3 of 5\nFAIL:T2\nFAIL: T3 : no disk"), @r#"
    Failed { task: "T1", reason: "the tests: 3 of 5" }
    Failed { task: "T2", reason: "" }
    Failed { task: "T3", reason: "no disk" }
    "#);
}

#[test]
fn a_marker_that_is_quoted_or_part_of_a_line_is_none() {
    for text in [
        "I will say DONE:T1.1 soon",
        "DONE:T1.1 and more",
        "DONE:",
        "    DONE:T1.1",
        "\tDONE:T1.1",
        "> DONE:T1.1",
        "`DONE:T1.1`",
        "```\nDONE:T1.1\n```",
        "```\nDONE:T1.1",
        "=== PHASE one COMPLETE ===",
        "=== PHASE 1 COMPLETE === now",
        "=== PHASE 1 COMPLETE",
        "[INFO] type: fatal",
    ] {
        assert_silent(text);
    }
}

#[test]
fn a_phase_ends_with_its_lists() {
    let text = "\
=== PHASE 2 COMPLETE ===
Completed: Design
Documents:
- docs/design/01_screen.md
- docs/design/02_data_model.md

Next: I wait for the review.
=== PHASE 3 COMPLETE 7f3a ===
I am done.
=== CUSTOM TASK COMPLETE ===
";
    assert_snapshot!(shown(text), @r#"
    PhaseComplete { phase: 2, nonce: None, lists: [("Completed", ["Design"]), ("Documents", ["docs/design/01_screen.md", "docs/design/02_data_model.md"])] }
    PhaseComplete { phase: 3, nonce: Some("7f3a"), lists: [] }
    CustomComplete { nonce: None }
    "#);
}

#[test]
fn a_phase_that_waits_for_lists_is_told_when_it_is_quiet() {
    let mut scanner = Scanner::new();
    assert_eq!(scanner.push(b"=== PHASE 1 COMPLETE ===\n- a\n"), []);
    let lists = vec![(String::new(), vec!["a".to_owned()])];
    let want = Signal::PhaseComplete { phase: 1, nonce: None, lists };
    assert_eq!(scanner.settle(), [want]);
    assert_eq!(scanner.settle(), []);
    assert_eq!(scanner.push(b"[USER_QUESTION]\n"), []);
    assert_eq!(scanner.settle(), [], "a block has an end and is waited for");
}

#[test]
fn blocks_have_fields_that_go_on_and_lists() {
    let text = "\
[DEPENDENCY_REQUEST]
type: api_key
name: STRIPE_KEY
description: To charge cards.
  Test mode is enough:

  - sk_test only
required: yes
[/DEPENDENCY_REQUEST]
  [USER_QUESTION]
  category: choice
  question: |
    Which database
    shall it be?
  options:
    - SQLite: one file,
      no server
    - PostgreSQL
  default: PostgreSQL
  required: false
  [/USER_QUESTION]
[ERROR]
Type: fatal
message: The disk is full.
details:
- /tmp
- /var
recovery: checkpoint_and_fail
[/ERROR]
";
    assert_snapshot!(shown(text), @r#"
    Dependency(Dependency { kind: ApiKey, name: "STRIPE_KEY", description: "To charge cards.\nTest mode is enough:\n\n- sk_test only", is_required: true, default: None, cut: [] })
    Question(Question { kind: Choice, question: "Which database\nshall it be?", options: ["SQLite: one file, no server", "PostgreSQL"], default: Some("PostgreSQL"), is_required: false, cut: [] })
    Problem(Problem { severity: Fatal, message: "The disk is full.", details: "- /tmp\n- /var", recovery: Some(CheckpointAndFail), cut: [] })
    "#);
}

#[test]
fn blocks_may_be_json_or_one_line() {
    let text = r#"
[USER_QUESTION_JSON]{"category": "confirmation", "question": "Go on?", "required": false}[/USER_QUESTION_JSON]
[DEPENDENCY_REQUEST_JSON]
{
  "type": "file",
  "name": "a.csv", "default": null
}
[/DEPENDENCY_REQUEST_JSON]
[USER_QUESTION_JSON]{
"question": "Which?", "category": "choice", "options": ["a", "b"]}[/USER_QUESTION_JSON]
[ERROR] type: recoverable, recovery: pause_and_retry
[ERROR] type: recoverable, message: no, nothing, at all, details: x [/ERROR]
[USER_QUESTION] question: Which, then?, options: [red, "green"], category: choice
"#;
    assert_snapshot!(shown(text), @r#"
    Question(Question { kind: Confirmation, question: "Go on?", options: [], default: None, is_required: false, cut: [] })
    Dependency(Dependency { kind: File, name: "a.csv", description: "", is_required: true, default: None, cut: [] })
    Question(Question { kind: Choice, question: "Which?", options: ["a", "b"], default: None, is_required: true, cut: [] })
    Problem(Problem { severity: Recoverable, message: "", details: "", recovery: Some(PauseAndRetry), cut: [] })
    Problem(Problem { severity: Recoverable, message: "no, nothing, at all", details: "x", recovery: None, cut: [] })
    Question(Question { kind: Choice, question: "Which, then?", options: ["red", "green"], default: None, is_required: true, cut: [] })
    "#);
}

#[test]
fn a_malformed_block_fires_nothing_and_says_why() {
    let table = [
        "[USER_QUESTION]\nquestion:\n[/USER_QUESTION]",
        "[USER_QUESTION]\nquestion: a\nquestion: b\n[/USER_QUESTION]",
        "[USER_QUESTION]\nWhich one?\n[/USER_QUESTION]",
        "[USER_QUESTION]\nprio: 1\n[/USER_QUESTION]",
        "[USER_QUESTION]\n- a\n[/USER_QUESTION]",
        "[USER_QUESTION]\ncategory: choice\nquestion: Which?\n[/USER_QUESTION]",
        "[USER_QUESTION]\nquestion: Which?\noptions: a\n- b\n[/USER_QUESTION]",
        "[USER_QUESTION] Which one?",
        "[DEPENDENCY_REQUEST]\ntype: key\nname: X\n[/DEPENDENCY_REQUEST]",
        "[DEPENDENCY_REQUEST]\ntype: file\nname: X\nrequired: maybe\n[/DEPENDENCY_REQUEST]",
        "[ERROR]\nmessage: x\n[/ERROR]",
        "[ERROR] type: bad",
        "[USER_QUESTION_JSON]{\"question\": }[/USER_QUESTION_JSON]",
        "[USER_QUESTION_JSON][1][/USER_QUESTION_JSON]",
        "[USER_QUESTION_JSON]{\"a\": 1}[/USER_QUESTION_JSON]",
        "[USER_QUESTION_JSON]{\"options\": [1]}[/USER_QUESTION_JSON]",
        "[USER_QUESTION]\n  question: Which?\n\u{3000}more\n[/USER_QUESTION]",
        "[/ERROR]",
        "=== VERIFICATION_RESULT ===\nIt passed.",
        "=== VERIFICATION_RESULT ===\n{\"a\": ]}",
        "=== VERIFICATION_RESULT ===\n{\"a\":",
    ];
    let why = |text: &&str| match read(text).as_slice() {
        [Signal::Malformed(Malformed { block, why, .. })] => format!("{block}: {why}\n"),
        other => panic!("{text}: {other:?}"),
    };
    assert_snapshot!(table.iter().map(why).collect::<String>(), @"
    USER_QUESTION: `question` is missing
    USER_QUESTION: `question` is there twice
    USER_QUESTION: expected `key: value` at `Which one?`
    USER_QUESTION: unknown field `prio`, expected category, question, options, default, required
    USER_QUESTION: `- a` belongs to no field
    USER_QUESTION: a `choice` needs `options`, two or more
    USER_QUESTION: `options` has both a text and a list
    USER_QUESTION: expected `key: value` at `Which one?`
    DEPENDENCY_REQUEST: `type` is `key`, expected api_key, env_variable, service, file, permission, package
    DEPENDENCY_REQUEST: `required` is `maybe`, expected true, false, yes, no
    ERROR: `type` is missing
    ERROR: `type` is `bad`, expected recoverable, fatal
    USER_QUESTION: not JSON: expected value at line 1 column 14
    USER_QUESTION: not a JSON object
    USER_QUESTION: unknown field `a`, expected category, question, options, default, required
    USER_QUESTION: `options` holds 1, expected texts
    USER_QUESTION: `question: Which?` belongs to no field
    ERROR: it closes a block that was not opened
    VERIFICATION_RESULT: no JSON object follows
    VERIFICATION_RESULT: not JSON: expected value at line 1 column 7
    VERIFICATION_RESULT: it was not closed
    ");
}

#[test]
fn a_block_without_its_end_hides_no_signal_behind_it() {
    let text = "[USER_QUESTION]\nquestion: Which?\nDONE:T1\n[ERROR]\ntype: fatal\n\
                [DEPENDENCY_REQUEST]\ntype: file\n";
    assert_snapshot!(shown(text), @r#"
    Malformed(Malformed { block: "USER_QUESTION", why: "another signal came before it was closed", text: "question: Which?\n" })
    Done { task: "T1" }
    Malformed(Malformed { block: "ERROR", why: "another signal came before it was closed", text: "type: fatal\n" })
    Malformed(Malformed { block: "DEPENDENCY_REQUEST", why: "it was not closed", text: "type: file\n" })
    "#);
}

#[test]
fn log_lines_of_errors_are_no_blocks() {
    assert_silent(
        "[ERROR] COMPILATION ERROR :\n[ERROR] \n[ERROR] Failed to execute goal: x\n[ERROR]\n\
         something else\n[ERROR]\n",
    );
}

#[test]
fn a_verification_is_json_behind_its_banner() {
    let text = "=== VERIFICATION_RESULT ===\n\n```json\n{\"passed\": true,\n \"note\": \"}{\\\"\"}\n```\n\
                DONE:T1\n=== VERIFICATION_RESULT === {\"passed\": false}\n";
    assert_snapshot!(shown(text), @r#"
    Verification(Object {"note": String("}{\""), "passed": Bool(true)})
    Done { task: "T1" }
    Verification(Object {"passed": Bool(false)})
    "#);
}

#[test]
fn what_is_too_long_is_cut_or_refused_and_said() {
    let long = "x".repeat(FIELD_LENGTH_MAX + 5);
    let text = format!("[USER_QUESTION]\nquestion: {long}\n[/USER_QUESTION]\n");
    let [Signal::Question(question)] = &read(&text)[..] else { panic!("no question") };
    assert_eq!((question.question.len(), &question.cut[..]), (FIELD_LENGTH_MAX, &["question"][..]));
    let lines = "  more\n".repeat(BLOCK_BYTES_MAX / 7 + 1);
    let text = format!("[USER_QUESTION]\nquestion: x\n{lines}[/USER_QUESTION]\nDONE:T1\n");
    let signals = read(&text);
    let [Signal::Malformed(long), Signal::Malformed(stray), Signal::Done { .. }] = &signals[..]
    else {
        panic!("{signals:?}")
    };
    assert_eq!(long.why, "it is longer than 100 KB");
    assert_eq!(stray.why, "it closes a block that was not opened");
    let flood = [vec![b'['; 3 << 20], b"\nDONE:T1.1\n".to_vec()].concat();
    assert_eq!(Scanner::new().push(&flood), [Signal::Done { task: "T1.1".to_owned() }]);
}

#[test]
fn signals_of_one_moment_are_put_in_order() {
    let text = "[USER_QUESTION] question: a\nDONE:T1\n[ERROR] type: recoverable\n";
    let rank = |text: &str| {
        let name =
            |signal: &Signal| format!("{signal:?}").split([' ', '(']).next().unwrap().to_owned();
        in_order(read(text)).iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(rank(text), ["Problem", "Done", "Question"]);
    assert_eq!(
        rank(&format!("{text}[ERROR] type: fatal\n[ERROR] type: recoverable\n")),
        ["Problem", "Problem"]
    );
}

/// Pieces of which a text can be made that means something.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "DONE:T1",
        "FAIL:T2:x",
        "=== PHASE 1 COMPLETE ===",
        "=== VERIFICATION_RESULT ===",
        "[ERROR]",
        "[/ERROR]",
        "[USER_QUESTION]",
        "[/USER_QUESTION]",
        "[USER_QUESTION_JSON]{",
        "type: fatal",
        "question: a",
        "- b",
        "```",
        "~~~",
        "\x1b[1m",
        "\r",
        "\n",
        "\n",
        "\n",
        "  ",
        "    ",
        "{",
        "}",
        "\"",
        "\u{feff}",
        "한글",
        "x: y",
        "[ERROR] type: fatal",
        "\x01",
    ];
    prop_oneof![
        8 => prop::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ]
}

proptest! {
    #[test]
    fn the_signals_do_not_depend_on_the_chunks(
        pieces in prop::collection::vec(piece(), 0..60),
        cuts in prop::collection::vec(0_usize..200, 0..12),
    ) {
        let bytes = pieces.concat();
        let mut whole = Scanner::new();
        let mut want = whole.push(&bytes);
        want.extend(whole.finish());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let (mut scanner, mut got, mut from) = (Scanner::new(), Vec::new(), 0);
        for cut in cuts.into_iter().chain([bytes.len()]) {
            got.extend(scanner.push(&bytes[from..cut]));
            from = cut;
        }
        got.extend(scanner.finish());
        prop_assert_eq!(got, want);
    }
}
