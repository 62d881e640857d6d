//! The parser behind a fence: what would take it too long or too deep is refused before it begins.
//!
//! A judge that overflows its stack or runs out of time does not refuse, so both must be
//! impossible. The parser's time grows with the third power of nested substitutions, and its stack
//! with every kind of nesting. The counts here never fall short of the real depth; they may exceed
//! it.

use rable::Node;

use crate::documents;

/// Parentheses that may be open at once: at this depth the parser still takes milliseconds.
const OPEN_LIMIT: usize = 40;

/// Compound commands, or separators, in a text that needs no more stack than any thread has.
const SHALLOW: usize = 100;

/// Compound commands in a text at all: more than any readable script of 64 KB has.
const COMPOUND_LIMIT: usize = 1000;

/// Commands in a text: the parser nests a list once for every separator, and so does the code that
/// copies or drops it.
const SEPARATOR_LIMIT: usize = 8000;

/// Operators between two semicolons once arithmetic may have begun: the parser nests an expression
/// once for each of them, and a level takes up to 15 KB unoptimised. More than any code that stands
/// in a here-document has.
const OPERATOR_LIMIT: usize = 4000;

/// A stack with room for texts at these limits: a level of compounds takes some 8 KB unoptimised,
/// one of lists 2 KB. Only what is used of it is ever there.
pub(crate) const STACK: usize = 128 * 1024 * 1024;

/// Words that begin a compound command.
const COMPOUNDS: &[&str] = &[
    "if", "elif", "while", "until", "for", "case", "select", "time", "coproc", "function", "!",
    "[[",
];

/// Why a text has no syntax tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unparsed {
    Invalid,
    TooDeep,
    /// It may not mean what the tree says.
    Unsure,
}

/// The syntax tree of a text.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, Unparsed> {
    let is_deep = separators(text) > SEPARATOR_LIMIT
        || compounds(text) > COMPOUND_LIMIT
        || operators(text) > OPERATOR_LIMIT
        || most_open(text) > OPEN_LIMIT
        || is_tangled(text);
    if is_deep {
        return Err(Unparsed::TooDeep);
    }
    let nodes = rable::parse(text, false).map_err(|_| Unparsed::Invalid)?;
    if text.contains("<<") && documents::is_one_empty(&nodes) {
        return Err(Unparsed::Unsure);
    }
    Ok(nodes)
}

/// Whether a text may need a stack of [`STACK`] bytes.
pub(crate) fn needs_room(text: &str) -> bool {
    separators(text) > SHALLOW || compounds(text) > SHALLOW || operators(text) > SHALLOW
}

/// How many operators one arithmetic expression of a text can have at most. Where one begins is not
/// told by its letters alone: `a[…]=` and `${a:…}` hold arithmetic too. None spans a semicolon but
/// those of `for ((…; …))`, which are three.
fn operators(text: &str) -> usize {
    let Some(start) = text.find(['[', '{']).into_iter().chain(text.find("((")).min() else {
        return 0;
    };
    let is_operator = |c: &u8| b"!~+-*/%<>=?:,^&|[".contains(c);
    let count = |part: &[u8]| part.iter().filter(|c| is_operator(c)).count();
    text.as_bytes()[start..].split(|c| *c == b';').map(count).max().unwrap_or(0)
}

fn separators(text: &str) -> usize {
    text.matches([';', '\n', '&', '|']).count()
}

/// How many compound commands a text can hold at most.
fn compounds(text: &str) -> usize {
    let is_break = |char: char| char.is_whitespace() || ";&|()`\"'$<>".contains(char);
    let words = text.split(is_break).filter(|word| COMPOUNDS.contains(word)).count();
    words + text.matches('{').count() + text.matches("()").count()
}

/// Whether backticks and other substitutions or quotes may stand inside each other many times over.
/// The parser tries each of them in several ways, so that its time doubles with every level; with
/// quotes that are left open between backticks it grows with the third power.
fn is_tangled(text: &str) -> bool {
    const BACKTICKS: usize = 16;
    const OTHERS: usize = 8;
    const OPEN_QUOTES: usize = 40;
    let count = |opening: &str| text.matches(opening).count();
    let others = count("$(") + count("${") + count("<(") + count(">(");
    let is_open = |piece: &&str| piece.matches('"').count() % 2 == 1;
    (count("`") > BACKTICKS && others > OTHERS)
        || text.split('`').filter(is_open).count() > OPEN_QUOTES
}

/// What quotes a letter, as far as the group it stands in shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// A parenthesis that is open.
#[derive(Clone, Copy)]
struct Group {
    quote: Quote,
    /// Something in it may hide a parenthesis: it never counts as closed.
    is_unsure: bool,
}

/// How many parentheses can be open at once at most. One counts as closed only if everything in
/// between is plain enough to be sure.
fn most_open(text: &str) -> usize {
    const NEW: Group = Group { quote: Quote::None, is_unsure: false };
    let bytes = text.as_bytes();
    let mut groups: Vec<Group> = vec![NEW];
    let mut most = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let depth = groups.len();
        let Some(group) = groups.last_mut() else { break };
        match (byte, group.quote) {
            (b'(', _) => groups.push(NEW),
            (b')', Quote::None) if !group.is_unsure && depth > 1 => drop(groups.pop()),
            (b'\'', Quote::None) => group.quote = Quote::Single,
            (b'\'', Quote::Single) | (b'"', Quote::Double) => group.quote = Quote::None,
            (b'"', Quote::None) => group.quote = Quote::Double,
            (b'\\' | b'`' | b'#', _) => group.is_unsure = true,
            (b'<', _) if bytes.get(at + 1) == Some(&b'<') => group.is_unsure = true,
            (b'{', _) if !is_plain_parameter(&bytes[at + 1..]) => group.is_unsure = true,
            (b'c', _) if bytes[at..].starts_with(b"case") => group.is_unsure = true,
            _ => {}
        }
        most = most.max(groups.len() - 1);
    }
    most
}

/// Whether `${`, which ends before these bytes, is closed right after a name.
fn is_plain_parameter(bytes: &[u8]) -> bool {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let name = bytes.iter().take_while(is_name).count();
    bytes.get(name) == Some(&b'}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_parentheses_are_never_counted_short() {
        let check = |text: &str, want| assert_eq!(most_open(text), want, "{text}");
        check("a (b) (c (d))", 2);
        check("$(a \"b\" '(c)') $(d ${e})", 2);
        // Each of these seems to close what in truth stays open.
        check("( ')' ( \")\" (", 3);
        check("( # )\n( # )\n(", 3);
        check("( \\) ( `)` ( ${x:-)} (", 4);
        check("( case a in b) ( <<E\n)\nE\n(", 3);
    }

    #[test]
    fn what_is_too_deep_is_not_parsed() {
        let check = |open: &str, close: &str, count: usize, want: Option<Unparsed>| {
            let text = format!("{}true{}", open.repeat(count), close.repeat(count));
            assert_eq!(parse(&text).err(), want, "{count} of {open}");
        };
        check("$(", ")", 40, None);
        check("$(", ")", 65, Some(Unparsed::TooDeep));
        check("$(true \\) ", ")", 65, Some(Unparsed::TooDeep));
        check("{ ", ";}", 90, None);
        check("{ ", ";}", 2000, Some(Unparsed::TooDeep));
        check("true; ", "", 9000, Some(Unparsed::TooDeep));
        check("`$(", ")`", 17, Some(Unparsed::TooDeep));
        check("${x:-`", "`}", 17, Some(Unparsed::TooDeep));
        check("`<(", ")`", 17, Some(Unparsed::TooDeep));
        check("\"`", "`\"", 30, Some(Unparsed::TooDeep));
    }

    #[test]
    fn arithmetic_is_bounded_wherever_it_stands() {
        for operator in ["!", "~", "-", "+ ", "1=", "1?1:", "1**", "1+", "a[", "1,", "++"] {
            for (open, close) in [
                ("echo $((", "))"),
                ("((", "))"),
                ("a[", "]=1"),
                ("echo ${a:", "}"),
                ("let '", "'"),
            ] {
                for count in [90, 1_000, 5_900, 30_000] {
                    let text = format!("{open}{}1{close}", operator.repeat(count));
                    // Whatever comes of it, it comes back.
                    let room = std::thread::Builder::new().stack_size(STACK);
                    let parsed = room.spawn(move || parse(&text).is_ok());
                    let _either_way: bool = parsed.unwrap().join().unwrap();
                }
            }
        }
        let deep = format!("echo $(({}1))", "!".repeat(5_900));
        assert_eq!(parse(&deep).err(), Some(Unparsed::TooDeep));
        assert!(needs_room(&format!("echo $(({}1))", "!".repeat(200))));
        // Code in a here-document is no expression.
        let code =
            "    let total = items.iter().map(|it| it.price * it.count).sum();\n".repeat(600);
        assert!(operators(&format!("cat > x.rs <<'E'\n{code}E\n")) < SHALLOW);
    }
}
