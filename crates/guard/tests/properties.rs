//! What has to hold for any command: no wrapping hides a deed, no text breaks the judge, and the
//! work grows with the length alone.

mod kept;
mod world;

use proptest::prelude::*;
use world::{judged, verdict};

const DEEDS: &[&str] = &[
    "git push",
    "git -C d -c a=b push origin main",
    "git commit -m 'a b'",
    "gh pr create --title \"it's\"",
    "jj git push",
    "echo x > .develop-workflow/state.json",
    "rm -rf src",
    "waypost develop suspend --reason x",
    "$X push",
];

/// Ways to run a simple command by way of something else: each with the name for a failure.
const WRAPPINGS: &[fn(&str) -> String] = &[
    |it| format!("env A=b {it}"),
    |it| format!("command {it}"),
    |it| format!("nohup {it}"),
    |it| format!("timeout -s KILL 5 {it}"),
    |it| format!("sudo -u me {it}"),
    |it| format!("nice -n 5 {it}"),
    |it| format!("stdbuf -oL {it}"),
    |it| format!("setsid {it}"),
    |it| format!("exec {it}"),
    |it| format!("time {it}"),
    |it| format!("A=b {it}"),
];

/// Ways to put any command into another.
const FRAMES: &[fn(&str) -> String] = &[
    |it| format!("bash -c {}", quoted(it)),
    |it| format!("sh -lc {}", quoted(it)),
    |it| format!("eval {}", quoted(it)),
    |it| format!("( {it} )"),
    |it| format!("{{ {it}\n}}"),
    |it| format!("true && {it}"),
    |it| format!("false || {it}"),
    |it| format!("if true; then {it}\nfi"),
    |it| format!("while true; do {it}\ndone"),
    |it| format!("for i in 1 2; do {it}\ndone"),
    |it| format!("case a in a) {it}\n;; esac"),
    |it| format!("f() {{ {it}\n}}; f"),
    |it| format!("echo \"$({it}\n)\""),
    |it| format!("echo ${{x:-$({it}\n)}}"),
    |it| format!("echo $(( $({it}\n) + 1 ))"),
    |it| format!("[[ -n $({it}\n) ]]"),
    |it| format!("a=($({it}\n))"),
    |it| format!("cat <({it}\n)"),
    |it| format!("bash <<'END'\n{it}\nEND\n"),
    |it| format!("bash <<< {}", quoted(it)),
    |it| format!("printf '%s\\n' {} | bash", quoted(it)),
    |it| format!("trap {} EXIT", quoted(it)),
    |it| format!("find . -exec sh -c {} \\;", quoted(it)),
    |it| format!("{it}\ntrue"),
    |it| format!("true | {it}"),
    |it| format!("coproc {{ {it}\n}}"),
];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Whether everything that `before` says is still said in `after`, or that it cannot be told.
fn is_kept(before: &str, after: &str) -> bool {
    before
        .split(' ')
        .all(|word| after.split(' ').any(|other| other == word || other == "unknowable"))
}

/// The same bounds as those of the fuzz target: see `fuzz/fuzz_targets/shell.rs`.
fn assert_bounded(text: &str) {
    let deed = judged(text);
    let most = STEPS_PER_BYTE * text.len() as u64 + STEPS_MORE;
    assert!(deed.steps <= most, "{} steps for {} bytes: {text:?}", deed.steps, text.len());
}

/// What the judge allows itself for each byte.
const STEPS_PER_BYTE: u64 = 64;

/// What it allows itself besides, with the scripts and recipes that a text may name.
const STEPS_MORE: u64 = 30_000;

#[test]
fn every_kept_text_is_judged_within_bounds() {
    for (name, text) in kept::corpus() {
        let deed = judged(&text);
        let most = STEPS_PER_BYTE * text.len() as u64 + STEPS_MORE;
        assert!(deed.steps <= most, "{name}: {} steps for {} bytes", deed.steps, text.len());
    }
}

proptest! {
    #[test]
    fn no_wrapping_hides_a_deed(
        deed in prop::sample::select(DEEDS),
        prefixes in prop::collection::vec(prop::sample::select(WRAPPINGS), 0..4),
        frames in prop::collection::vec(prop::sample::select(FRAMES), 0..4),
    ) {
        let want = verdict(&judged(deed));
        let is_simple = !deed.contains('>');
        let prefixes = prefixes.iter().filter(|_| is_simple);
        let inner = prefixes.fold(deed.to_owned(), |text, wrap| wrap(&text));
        let whole = frames.iter().fold(inner, |text, frame| frame(&text));
        let got = verdict(&judged(&whole));
        prop_assert!(is_kept(&want, &got), "{whole:?}: want {want}, got {got}");
    }

    #[test]
    fn each_frame_alone_keeps_the_exact_verdict(
        deed in prop::sample::select(DEEDS),
        frame in prop::sample::select(FRAMES),
    ) {
        let whole = frame(deed);
        let want = verdict(&judged(deed));
        prop_assert_eq!(verdict(&judged(&whole)), want, "{}", whole);
    }

    #[test]
    fn no_text_breaks_the_judge(text in "\\PC{0,200}") {
        assert_bounded(&text);
    }

    #[test]
    fn no_shell_like_text_breaks_the_judge(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40),
    ) {
        assert_bounded(&pieces.concat());
    }

    #[test]
    fn no_bytes_break_the_judge(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        assert_bounded(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_change_of_a_kept_text_breaks_the_judge(
        which in any::<prop::sample::Index>(),
        cut in any::<(prop::sample::Index, prop::sample::Index)>(),
        piece in prop::sample::select(PIECES),
    ) {
        let corpus = kept::corpus();
        let text: Vec<char> = which.get(&corpus).1.chars().collect();
        let (one, other) = (cut.0.index(text.len() + 1), cut.1.index(text.len() + 1));
        let changed: String = text[..one].iter().copied()
            .chain(piece.chars())
            .chain(text[other..].iter().copied())
            .collect();
        assert_bounded(&changed);
    }
}

const PIECES: &[&str] = &[
    "git",
    " ",
    "push",
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "${",
    "}",
    "((",
    "))",
    "[[",
    "]]",
    ";",
    "&&",
    "|",
    "<<E\n",
    "E\n",
    "\n",
    ">",
    "<(",
    "x=",
    "$x",
    "\\",
    "if ",
    "then ",
    "fi",
    "for i in ",
    "do ",
    "done",
    "case ",
    "in ",
    "esac",
    "{",
    "(",
    "bash -c ",
    "eval ",
    "é",
    "*",
    "$'",
    "\\x67",
    "#",
    "&",
    "@",
    "$@",
    "!",
    "-",
    "xargs ",
];

/// Texts that grow in one respect, `size` times.
const GROWING: &[fn(usize) -> String] = &[
    |size| (0..size).map(|it| format!("true && x{it}=1\n")).collect(),
    |size| format!("f() {{ {} }}; f", "true; ".repeat(size)),
    |size| "git status; ".repeat(size),
    |size| "x=git\n$x status\n".repeat(size),
    |size| format!("echo {}", "$(echo a) ".repeat(size)),
    |size| format!("echo {}", "a ".repeat(size)),
    |size| "f() { g; }\nf\n".repeat(size),
    |size| "for i in 1 2 3; do echo $i; done\n".repeat(size),
    |size| format!("cat <<E\n{}\nE\n", "$(true)\n".repeat(size)),
    |size| "bash -c 'echo a'\n".repeat(size),
];

#[test]
fn work_grows_with_the_length_alone() {
    for (index, text) in GROWING.iter().enumerate() {
        let (small, large) = (judged(&text(20)).steps, judged(&text(400)).steps);
        assert!(large <= small * 24, "text {index}: {small} steps became {large}");
    }
}

#[test]
fn work_that_explodes_is_given_up() {
    let level = |level: u32| format!("f{}() {{ f{level}; f{level}; f{level}; }}\n", level + 1);
    let levels: String = (0..15).map(level).collect();
    let text = format!("f0() {{ true; }}\n{levels}f15\n");
    assert_eq!(verdict(&judged(&text)), "unknowable");
}

#[test]
fn what_grows_by_doubling_is_given_up() {
    let check = |text: &str, want: &str| {
        assert_bounded(text);
        assert_eq!(verdict(&judged(text)), want, "{text:.40}");
    };
    let doubling = "x=$x$x; ".repeat(60);
    check(&format!("x=git; {doubling} $x push"), "unknowable");
    check(&format!("x=git; {doubling} echo $x"), "ok");
    check(
        &format!("set -- git; {} \"$@\" push", "set -- \"$@\" \"$@\"; ".repeat(60)),
        "unknowable",
    );
    check(&format!("set -- ''; {} true", "set -- \"$@\" \"$@\"; ".repeat(60)), "unknowable");
    let long = "a".repeat(7000);
    check(&format!("x={long}; echo {}", "$x".repeat(10_000)), "unknowable");
    check(&format!("echo $(printf '{long}%s' {}) | sh", "a ".repeat(20_000)), "unknowable");
    let name = "n".repeat(50_000);
    check(&format!("{name}=git; ${name} push"), "unknowable");
}

#[test]
fn many_scripts_are_not_looked_for() {
    assert_eq!(verdict(&judged(&"./test.sh\n".repeat(100))), "ok");
    assert_eq!(verdict(&judged(&"./test.sh\n".repeat(101))), "unknowable");
    assert_eq!(verdict(&judged(&format!("make {}", "test ".repeat(9000)))), "unknowable");
}

#[test]
fn a_long_list_is_followed_to_its_end() {
    for separator in ["; ", "\n", " && ", " || "] {
        let text = format!("f() {{ {}git push; }}; f", format!("true{separator}").repeat(1000));
        assert_eq!(verdict(&judged(&text)), "push", "{separator:?}");
    }
}

#[test]
fn a_long_command_is_refused_unread() {
    let deed = judged(&"git push\n".repeat(8000));
    assert_eq!((verdict(&deed).as_str(), deed.steps), ("unknowable", 0));
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    let open_and_close =
        [("( ", ")"), ("$(", ")"), ("{ ", ";}"), ("`", "`"), ("\"$(", ")\""), ("if ", "")];
    for (open, close) in open_and_close {
        for depth in [60, 900, 9000] {
            let text = format!("{}git push{}", open.repeat(depth), close.repeat(depth));
            let got = verdict(&judged(&text));
            assert!(is_kept("push", &got), "{depth} of {open}: {got}");
        }
    }
}
