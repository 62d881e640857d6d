//! Finds the commands that hide in text which the parser leaves alone: here-documents, arithmetic,
//! the defaults of parameters, terms of `[[ … ]]` and array literals.
//!
//! Only the outermost ones are cut out; what is inside them is found when they are parsed in turn.

/// The commands in `text`; `None` if one is never closed. With `quotes`, quoting is obeyed as in a
/// word; without, a quote is a letter like any other, as in a here-document.
pub(crate) fn commands(text: &str, quotes: bool) -> Option<Vec<String>> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let (mut at, mut double) = (0, false);
    while let Some(&char) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        match (char, next) {
            ('\\', _) => at += 2,
            ('\'', _) if quotes && !double => at = single_end(&chars, at + 1)? + 1,
            ('"', _) if quotes => {
                double = !double;
                at += 1;
            }
            // Arithmetic is no command, but may hold some: only its beginning is passed.
            ('$', Some('(')) if is_arithmetic(&chars, at + 2)? => at += 3,
            ('$', Some('(')) => at = cut(&chars, at + 2, close(&chars, at + 2)?, &mut found),
            ('<' | '>', Some('(')) if quotes && !double => {
                at = cut(&chars, at + 2, close(&chars, at + 2)?, &mut found);
            }
            ('$', Some('{')) if matches!(chars.get(at + 2), Some(' ' | '|' | '\t' | '\n')) => {
                let end = (at + 3..chars.len()).find(|&at| chars[at] == '}')?;
                at = cut(&chars, at + 3, end, &mut found);
            }
            ('`', _) => {
                let end = backtick_end(&chars, at + 1)?;
                found.push(unescaped(&chars[at + 1..end]));
                at = end + 1;
            }
            _ => at += 1,
        }
    }
    Some(found)
}

/// Whether `$(`, which ends before `start`, opens arithmetic: the next parenthesis opens and closes
/// together with it. Otherwise it is a command that begins with a subshell.
fn is_arithmetic(chars: &[char], start: usize) -> Option<bool> {
    if chars.get(start) != Some(&'(') {
        return Some(false);
    }
    let (outer, inner) = (close(chars, start)?, close(chars, start + 1)?);
    Some(inner + 1 == outer)
}

fn cut(chars: &[char], start: usize, end: usize, found: &mut Vec<String>) -> usize {
    found.push(chars[start..end].iter().collect());
    end + 1
}

fn single_end(chars: &[char], start: usize) -> Option<usize> {
    (start..chars.len()).find(|&at| chars[at] == '\'')
}

fn backtick_end(chars: &[char], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(&char) = chars.get(at) {
        match char {
            '\\' => at += 2,
            '`' => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Inside backticks, a backslash before these letters belongs to the backticks.
fn unescaped(chars: &[char]) -> String {
    let mut text = String::new();
    let mut chars = chars.iter().copied().peekable();
    while let Some(char) = chars.next() {
        match (char, chars.peek()) {
            ('\\', Some('`' | '\\' | '$')) => text.extend(chars.next()),
            _ => text.push(char),
        }
    }
    text
}

/// The parenthesis that closes what was opened before `start`.
fn close(chars: &[char], start: usize) -> Option<usize> {
    // What is open at this point, the innermost last: parentheses and double quotes.
    let mut open = vec!['('];
    let mut at = start;
    while let Some(&char) = chars.get(at) {
        let in_quotes = open.last() == Some(&'"');
        match char {
            '\\' => at += 1,
            '\'' if !in_quotes => at = single_end(chars, at + 1)?,
            '"' if in_quotes => drop(open.pop()),
            '"' => open.push('"'),
            '(' if !in_quotes || chars[at - 1] == '$' => open.push('('),
            ')' if !in_quotes => {
                open.pop();
                if open.is_empty() {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_wherever_they_hide() {
        let check = |text: &str, quotes, want: &[&str]| {
            assert_eq!(commands(text, quotes).unwrap(), want, "{text}");
        };
        check("$(( $(a b) + `c` ))", true, &["a b", "c"]);
        check("${x:-$(a \")\" (b))}", true, &["a \")\" (b)"]);
        check("'$(a)' \"$(b '')\" \\$(c)", true, &["b ''"]);
        check("it's $(a)", false, &["a"]);
        check("`a \\`b\\``", true, &["a `b`"]);
        check("(x <(a) y)", true, &["a"]);
        check("$((a) )", true, &["(a) "]);
        check("$((a); (b))", true, &["(a); (b)"]);
        check("${ a; }", true, &["a; "]);
        assert_eq!(commands("$(a", true), None);
    }
}
