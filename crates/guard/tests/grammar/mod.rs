//! A grammar of shell constructs, from which commands are made: each text comes with the names of
//! all programs that it starts.

use proptest::prelude::*;

/// A text, and what it starts.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) names: Vec<String>,
}

/// A frame for one script inside another: what stands before and behind it.
const FRAMES: &[(&str, &str)] = &[
    ("( ", "\n)"),
    ("{ ", "\n}"),
    ("! ", ""),
    ("if ", "\nthen :; fi"),
    ("if :; then ", "\nfi"),
    ("if :; then :; elif ", "\nthen :; else :; fi"),
    ("if :; then :; else ", "\nfi"),
    ("while ", "\ndo :; done"),
    ("until :; do ", "\ndone"),
    ("for i in a 'b c' $d; do ", "\ndone"),
    ("for ((i=0; i<2; i++)); do ", "\ndone"),
    ("case a in b|c) ", "\n;; *) : ;; esac"),
    ("case a in (b) :;; *) ", "\nesac"),
    ("f() { ", "\n}\nf a b"),
    ("function g { ", "\n}; g"),
    ("echo $(", "\n)"),
    ("echo \"a $(", "\n) b\""),
    ("echo \"a \"'b'$(", "\n)c"),
    ("x=$(", "\n)"),
    ("x=\"$(", "\n)\" y=2"),
    ("export x=$(", "\n)"),
    ("local_x=1; echo ${x:-$(", "\n)}"),
    ("echo \"${x:+\"$(", "\n)\"}\""),
    ("echo $(( 1 + $(", "\n) ))"),
    ("a=(b $(", "\n) c)"),
    ("[[ -n $(", "\n) && a == b ]]"),
    ("[ a = \"$(", "\n)\" ]"),
    ("cat <(", "\n) - | sort"),
    ("sort > /dev/null < <(", "\n)"),
    ("{ cat <<END\ntext $(", "\n) more\nEND\n}"),
    ("cat <<-'END' >/dev/null\n\ttext $(no command)\n\tEND\n", ""),
    ("cat <<< \"$(", "\n)\""),
    ("true 2>&1 >/dev/null | ", ""),
    ("true | { ", "\n} | cat"),
    ("bash -c '", "\n'"),
    ("eval '", "\n'"),
    ("env A=b sh -c '", "\n'"),
    ("echo `", "\n`"),
    ("echo \"a `", "\n` b\""),
    ("echo \"${x:-'$(", "\n)'}\""),
    ("echo \"${x:-\"'$(", "\n)'\"}\""),
    ("echo ${x:-$'\\'' $(", "\n) ''}"),
    ("echo ${x/a/$(", "\n)} ${y##*/}"),
    ("echo \"${a[$(", "\n)]}\""),
    ("(( x = $(", "\n) ))"),
    ("[[ a =~ ^b+$ || $(", "\n) > c ]]"),
    ("[[ ! ( -f x && \"$(", "\n)\" ) ]]"),
    ("select i in a; do ", "\ndone"),
    ("coproc { ", "\n}"),
    ("time { ", "\n}"),
    ("h() ( ", "\n); h"),
    ("i() { local x=\"$(", "\n)\"; echo $x; }; i"),
    ("{ bash <<'E'\n", "\nE\n}"),
    ("{ cat <<A; cat <<B\none\nA\ntwo $(", "\n)\nB\n}"),
    ("{ cat <<'A' | sort\n$(no '\nA\n", "\n}"),
    ("echo $( # it's a comment\n", "\n)"),
    ("case $(", "\n) in a) :;; esac"),
    ("for i in $(", "\n); do echo $i; done"),
    ("while read -r line; do :; done < <(", "\n)"),
    ("if ! { ", "\n}; then :; fi"),
    ("[ -n x ] && { ", "\n} || :"),
    ("trap '", "\n' EXIT"),
    ("printf '%s' \"$(", "\n)\" | wc -c"),
    ("declare -a list=(\"$(", "\n)\" b)"),
    ("x+=$(", "\n)"),
    ("echo $((", "\n) )"),
    ("# a comment with ' and $(\n", ""),
    ("echo a \\\n  b; ", ""),
    ("echo 'a ; b' \"c && d\" e\\;f; ", ""),
    ("{ :; } 2>/dev/null; { ", " # the end\n}"),
];

/// Between two scripts.
const JOINTS: &[&str] = &["; ", "\n", " && ", " || ", " | ", " & ", "\n\n# between\n", " |& "];

/// What a simple command may have besides its name.
const ARGUMENTS: &[&str] = &[
    "",
    " a",
    " -x --long=value",
    " 'single ; quoted'",
    " \"double $HOME `true`\"",
    " $'ansi \\' quoted'",
    " a\\ b",
    " *.rs ~/x {a,b}",
    " 2>/dev/null",
    " >/dev/null 2>&1",
    " < /dev/null",
    " ${x} ${x%.*} ${#x} $1 $@ $?",
];

fn simple() -> impl Strategy<Value = Script> {
    let arguments = prop::collection::vec(prop::sample::select(ARGUMENTS), 0..3);
    (0..1000_u32, arguments).prop_map(|(number, arguments)| {
        let name = format!("tool{number}");
        Script { text: format!("{name}{}", arguments.concat()), names: vec![name] }
    })
}

/// Whether a frame quotes what is in it, so that quotes inside would end it.
fn is_quoting(before: &str) -> bool {
    before.ends_with('\'')
}

fn framed(inner: &Script, (before, behind): (&str, &str)) -> Script {
    // Inside backticks these would have to be escaped, which is another grammar.
    let is_backtick = before.ends_with('`') && inner.text.contains(['`', '\\']);
    let is_document = before.ends_with("'E'\n") && inner.text.contains("'E'");
    let (before, behind) =
        if is_backtick || is_document { ("( ", "\n)") } else { (before, behind) };
    let text = match is_quoting(before) {
        true => inner.text.replace('\'', "'\\''"),
        false => inner.text.clone(),
    };
    Script { text: format!("{before}{text}{behind}"), names: inner.names.clone() }
}

/// Any script.
pub(crate) fn script() -> impl Strategy<Value = Script> {
    simple().prop_recursive(4, 24, 3, |inner| {
        let frame = (inner.clone(), prop::sample::select(FRAMES))
            .prop_map(|(inner, frame)| framed(&inner, frame));
        let joint =
            (inner.clone(), prop::sample::select(JOINTS), inner).prop_map(|(one, joint, other)| {
                let names = [one.names, other.names].concat();
                Script { text: format!("{}{joint}{}", one.text, other.text), names }
            });
        prop_oneof![3 => frame, 2 => joint]
    })
}
