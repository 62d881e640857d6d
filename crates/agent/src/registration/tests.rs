//! Settings of every form: the hook goes in, comes out, and leaves no trace.

use super::{
    BadSettings, HookProgram, Product, is_registered, register, registered_program, unregister,
};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn words(program: &[&str]) -> Vec<String> {
    program.iter().map(|word| (*word).to_owned()).collect()
}

/// As `init` registers it for one user.
fn program(words: &[String]) -> HookProgram<'_> {
    let (journal, shell) = (Some("0123abcd"), Some("/opt/bin/waypost-shell"));
    HookProgram { words, journal, shell }
}

fn registered(product: Product, text: Option<&str>) -> Result<String, BadSettings> {
    register(product, text, &program(&words(&["/opt/bin/waypost-hook"])))
}

/// Registers, looks, registers again, takes out again; returns the settings with the hook.
#[track_caller]
fn check(product: Product, text: &str) -> String {
    let with = registered(product, Some(text)).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert!(is_registered(product, &with), "{with}");
    assert!(!is_registered(product, text), "{text}");
    assert_eq!(registered(product, Some(&with)).unwrap(), with);
    assert_eq!(unregister(product, &with).unwrap().as_deref(), Some(text), "{with}");
    let moved = words(&["/my tools/waypost", "hook"]);
    let other = register(product, Some(&with), &HookProgram::new(&moved)).unwrap();
    assert_eq!(registered_program(product, &other), Some(moved));
    assert_eq!(unregister(product, &other).unwrap().as_deref(), Some(text), "{other}");
    with
}

#[test]
fn a_new_file_is_begun_and_goes_again() {
    for product in Product::all() {
        let text = registered(product, None).unwrap();
        assert_snapshot!(format!("new_{product}"), text);
        assert!(is_registered(product, &text));
        assert_eq!(registered(product, Some(&text)).unwrap(), text);
        assert_eq!(unregister(product, &text).unwrap(), None);
        serde_json::from_str::<Value>(&text).unwrap();
    }
}

#[test]
fn a_text_without_our_entries_stays_as_it_is() {
    for text in ["{}", " { } \n", "", "// nothing\n", r#"{"hooks":{}}"#, r#"{"hooks":7}"#] {
        assert_eq!(unregister(Product::GEMINI, text).unwrap().as_deref(), Some(text));
        assert_eq!(registered_program(Product::GEMINI, text), None);
    }
}

#[test]
fn settings_of_the_usual_form_keep_it() {
    let text = "{\n    \"permissions\": {\n        \"allow\": [\"Bash(ls:*)\"]\n    },\n    \
                \"hooks\": {\n        \"Stop\": [\n            { \"hooks\": [{ \"type\": \
                \"command\", \"command\": \"say done\" }] }\n        ]\n    }\n}\n";
    assert_snapshot!(check(Product::CLAUDE, text));
}

#[test]
fn comments_stay_where_they_are() {
    let text = "// mine\n{\n\t\"ui\": { \"theme\": \"dark\" }, // at night\n\t/* next */\n\t\
                \"model\": \"pro\" // the large one  \n\t// that was all\n}\n// end";
    assert_snapshot!(check(Product::GEMINI, text));
}

#[test]
fn settings_of_every_form_come_back_to_the_byte() {
    let list = [
        "{}",
        "{ }",
        "{\n}",
        "{\r\n}\r\n",
        "{\r}",
        "{\n\n  \n}\n\n",
        "",
        " \n\t",
        "\u{feff}{}",
        "\u{feff}",
        "// only a comment",
        "/* only a comment */ ",
        "// only a comment\r\n",
        "{ /* nothing */ }",
        "{ // nothing\n}",
        r#"{"a":1}"#,
        r#"{"a":1,}"#,
        "{\"a\":1 // one\n}",
        "{\n  \"a\": 1, // one\n}",
        "{\n  \"a\": 1 /* one */ // or so \n  // more\n}",
        "{\r\n\t\"a\": [\r\n\t\t1\r\n\t]\r\n}",
        r#"{"hooks":{}}"#,
        r#"{"hooks": {"PreToolUse": [], "BeforeTool": [ ], "Stop": [{"hooks": []}]}}"#,
        "{\n  \"hooks\": {\n    \"Stop\": [\n    ]\n  }\n}",
        r#"{"hooks":1,"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"waypost-hooks"}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"command":"waypost status"},{"command":""},{"command":7},3]},null]}}"#,
        r#"{"a":"\ud800","b\u0041":"\"//\\"}"#,
    ];
    for text in list {
        for product in Product::all() {
            check(product, text);
        }
    }
}

#[test]
fn what_the_user_changes_in_between_stays_changed() {
    let before = "{\n  \"model\": \"a\",\n  \"hooks\": {\n    \"Stop\": []\n  },\n  \"z\": 1\n}\n";
    let change = |text: &str| {
        text.replace("\"a\"", "\"b\"").replace("  \"z\": 1", "  \"new\": [ ],\n  \"z\": 1")
    };
    let with = change(&registered(Product::CLAUDE, Some(before)).unwrap());
    assert_eq!(unregister(Product::CLAUDE, &with).unwrap(), Some(change(before)));
}

#[test]
fn what_others_put_beside_our_entries_stays() {
    let with = registered(Product::CLAUDE, None).unwrap();
    let handler = r#"{ "type": "command", "command": "say done" }"#;
    let group = format!("\"Stop\": [\n      {{ \"hooks\": [{handler}] }},");
    let beside = with.replacen("\"Stop\": [", &group, 1);
    let inside = with.replacen(
        "\"Stop\": [\n      {\n        \"hooks\": [",
        &format!("\"Stop\": [\n      {{\n        \"hooks\": [\n          {handler},"),
        1,
    );
    for text in [beside, inside] {
        assert_ne!(text, with);
        let left = unregister(Product::CLAUDE, &text).unwrap().unwrap();
        let want: Value = serde_json::from_str(&format!(
            "{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{handler}]}}]}}}}"
        ))
        .unwrap();
        assert_eq!(serde_json::from_str::<Value>(&left).unwrap(), want, "{left}");
    }
}

#[test]
fn a_file_that_a_program_wrote_anew_loses_our_entries_only() {
    let with = registered(Product::CLAUDE, Some("{\"a\":1}")).unwrap();
    let value: Value = serde_json::from_str(&with).unwrap();
    let anew = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(registered(Product::CLAUDE, Some(&anew)).unwrap(), anew);
    assert_eq!(unregister(Product::CLAUDE, &anew).unwrap().as_deref(), Some("{\n  \"a\": 1\n}"));
}

#[test]
fn older_entries_are_replaced_and_missing_ones_added() {
    let exec = json!({ "hooks": { "PreToolUse": [
        { "matcher": "Bash", "hooks": [{ "type": "command", "command": "/old/waypost", "args": ["hook", "claude"] }] },
        { "hooks": [{ "type": "command", "command": "'/old place/waypost-hook' claude" }] },
    ] } });
    let old = exec.to_string();
    assert!(!is_registered(Product::CLAUDE, &old));
    assert_eq!(registered_program(Product::CLAUDE, &old), Some(words(&["/old/waypost", "hook"])));
    assert_eq!(
        registered(Product::CLAUDE, Some(&old)).unwrap(),
        registered(Product::CLAUDE, None).unwrap()
    );
}

#[test]
fn our_entries_are_known_by_their_words() {
    let check = |command: &str, want: Option<&[&str]>| {
        let handler = json!({ "type": "command", "command": command });
        let text = json!({ "hooks": { "Stop": [{ "hooks": [handler] }] } }).to_string();
        assert_eq!(registered_program(Product::CLAUDE, &text), want.map(words), "{command}");
    };
    check("waypost-hook claude", Some(&["waypost-hook"]));
    check("/opt/bin/waypost-hook", Some(&["/opt/bin/waypost-hook"]));
    check("'/a b/waypost' hook claude", Some(&["/a b/waypost", "hook"]));
    check("/opt/waypost-0.2 hook claude", Some(&["/opt/waypost-0.2", "hook"]));
    check("waypost hook", Some(&["waypost", "hook"]));
    for foreign in [
        "waypost status",
        "waypost-hooks claude",
        "waypost-hook --version",
        "say hook claude",
        "echo waypost-hook claude",
        "waypost-hook claude && say done",
        "waypost hook git pre-commit",
    ] {
        check(foreign, None);
    }
}

#[test]
fn settings_that_cannot_be_edited_are_refused_with_their_place() {
    let deep = "[".repeat(100_000);
    let table = [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: expected `,` or `}`"),
        ("{\"ü\": x}", "line 1, column 7: expected a value"),
        ("{\"a\": \"x\n\"}", "line 1, column 7: this text has no end"),
        ("{a: 1}", "line 1, column 2: expected a key in double quotes or `}`"),
        ("{\"a\" 1}", "line 1, column 6: expected `:`"),
        ("{} {}", "line 1, column 4: expected the end of the file"),
        ("{", "line 1, column 2: expected a key in double quotes or `}`"),
        ("[]", "line 1, column 1: the settings are not an object"),
        ("{ /* ", "line 1, column 3: expected the end of this comment"),
        ("{\"hooks\": []}", "line 1, column 11: `hooks` is not an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "line 1, column 20: `hooks.Stop` is not a list"),
        (deep.as_str(), "line 1, column 130: this is nested too deeply"),
    ];
    for (text, want) in table {
        let error = registered(Product::CLAUDE, Some(text)).unwrap_err();
        assert_eq!(error.to_string(), want);
        assert!(!is_registered(Product::CLAUDE, text));
    }
}

/// Any JSON that is not too large.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"/]{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Settings with all sorts of hooks of others.
fn any_settings() -> impl Strategy<Value = Value> {
    let event =
        prop::sample::select(vec!["PreToolUse", "Stop", "BeforeTool", "SessionStart", "Other"]);
    let groups = prop::collection::vec(any_json(), 0..3).prop_map(Value::from);
    let hooks = prop::collection::btree_map(event.prop_map(str::to_owned), groups, 0..4);
    let others = prop::collection::btree_map("[a-z]{1,3}", any_json(), 0..3);
    (others, prop::option::of(hooks)).prop_map(|(others, hooks)| {
        let mut map: Map<String, Value> = others.into_iter().collect();
        if let Some(hooks) = hooks {
            map.insert("hooks".into(), Value::Object(hooks.into_iter().collect()));
        }
        Value::Object(map)
    })
}

/// Writes a value with spaces and comments that `dice` choose.
fn scribble(value: &Value, dice: &mut impl Iterator<Item = u8>, text: &mut String) {
    let space = |dice: &mut dyn Iterator<Item = u8>, text: &mut String| {
        const SPACES: [&str; 14] = [
            "",
            "",
            "",
            " ",
            "\n",
            "\n  ",
            "\n\t",
            "\r\n    ",
            "\r",
            "  ",
            " // note \n",
            "/**/",
            " /* , } */ \n ",
            "\n\n",
        ];
        text.push_str(SPACES[usize::from(dice.next().unwrap_or(0)) % SPACES.len()]);
    };
    let (open, close, parts): (_, _, Vec<(Option<&String>, &Value)>) = match value {
        Value::Object(map) => {
            ('{', '}', map.iter().map(|(key, value)| (Some(key), value)).collect())
        }
        Value::Array(list) => ('[', ']', list.iter().map(|value| (None, value)).collect()),
        other => return text.push_str(&other.to_string()),
    };
    text.push(open);
    for (at, (key, value)) in parts.iter().enumerate() {
        space(dice, text);
        if let Some(key) = key {
            text.push_str(&Value::from(key.as_str()).to_string());
            space(dice, text);
            text.push(':');
            space(dice, text);
        }
        scribble(value, dice, text);
        space(dice, text);
        if at + 1 < parts.len() || dice.next().is_some_and(|die| die % 8 == 0) {
            text.push(',');
        }
    }
    space(dice, text);
    text.push(close);
}

/// Settings as text, of one line or scribbled.
fn any_text() -> impl Strategy<Value = String> {
    (any_settings(), prop::collection::vec(any::<u8>(), 0..60)).prop_map(|(value, dice)| {
        let mut text = String::new();
        scribble(&value, &mut dice.into_iter(), &mut text);
        text
    })
}

/// Settings with our entries taken out of the value, for comparing what is left.
fn without_ours(mut value: Value, before: &Value) -> Value {
    let hooks = value["hooks"].as_object_mut().unwrap();
    for (event, groups) in hooks.iter_mut() {
        let groups = groups.as_array_mut().unwrap();
        let had = before["hooks"][event].as_array().map_or(0, Vec::len);
        assert!(groups.len() <= had + 1);
        groups.truncate(had);
    }
    hooks.retain(|event, _| before["hooks"].get(event).is_some());
    if before.get("hooks").is_none() {
        value.as_object_mut().unwrap().remove("hooks");
    }
    if before.get("env").is_none() {
        value.as_object_mut().unwrap().remove("env");
    }
    value
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_settings_come_back_to_the_byte(text in any_text(), which in 0_usize..3) {
        check(Product::all().nth(which).unwrap(), &text);
    }

    #[test]
    fn everything_else_in_the_settings_means_the_same(before in any_settings(), which in 0_usize..3, pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&before) } else { serde_json::to_string(&before) };
        let with = registered(Product::all().nth(which).unwrap(), Some(&text.unwrap())).unwrap();
        let after: Value = serde_json::from_str(&with).unwrap();
        prop_assert_eq!(without_ours(after, &before), before);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]{}\",:/*\\n\\\\ a1]{0,40}") {
        if let Ok(with) = registered(Product::CLAUDE, Some(&text)) {
            prop_assert_eq!(unregister(Product::CLAUDE, &with).unwrap(), Some(text));
        }
    }
}
