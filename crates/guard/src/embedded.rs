//! Finds the commands that hide in text which the parser leaves alone: here-documents, arithmetic,
//! the defaults of parameters, terms of `[[ … ]]` and array literals.
//!
//! Only the outermost ones are cut out; what is inside them is found when they are parsed in turn.

/// The commands in `text`; `None` if one is never closed. With `quotes`, quoting is obeyed as in a
/// word; without, a quote is a letter like any other, as in a here-document.
pub(crate) fn commands(text: &str, quotes: bool) -> Option<Vec<String>> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut nesting = Nesting { open: Vec::new(), quotes };
    let mut at = 0;
    while let Some(&char) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        match (char, next) {
            // Arithmetic is no command, but may hold some: only its beginning is passed.
            ('$', Some('(')) if is_arithmetic(&chars, at + 2)? => at += 3,
            ('$', Some('(')) => at = cut(&chars, at + 2, close(&chars, at + 2)?, &mut found),
            ('<' | '>', Some('(')) if quotes && !nesting.is_quoted() => {
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
            _ => at = nesting.pass(&chars, at)?,
        }
    }
    Some(found)
}

/// What is open at one point of a text, the innermost last: `(`, `{` of a parameter, and `"`.
struct Nesting {
    open: Vec<char>,
    /// Whether quotes are more than letters.
    quotes: bool,
}

impl Nesting {
    fn top(&self) -> Option<char> {
        self.open.last().copied()
    }

    /// Whether double quotes are open, be it around a parameter in whose default we are: there,
    /// a single quote is a letter.
    fn is_quoted(&self) -> bool {
        self.open.iter().rev().take_while(|&&char| char != '(').any(|&char| char == '"')
    }

    /// Passes over one letter, or a quoted text as a whole, and returns where it ends.
    fn pass(&mut self, chars: &[char], at: usize) -> Option<usize> {
        let quotes = self.quotes && !self.is_quoted();
        match (chars[at], chars.get(at + 1)) {
            ('\\', _) | ('$', Some('$')) => return Some(at + 2),
            ('\'', _) if quotes => return Some(single_end(chars, at + 1)? + 1),
            ('$', Some('\'')) if quotes => return Some(escaped_end(chars, at + 2, '\'')? + 1),
            ('$', Some('{')) => {
                self.open.push('{');
                return Some(at + 2);
            }
            ('"', _) if self.quotes && self.top() == Some('"') => drop(self.open.pop()),
            ('"', _) if self.quotes => self.open.push('"'),
            ('}', _) if self.top() == Some('{') => drop(self.open.pop()),
            _ => {}
        }
        Some(at + 1)
    }
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
    escaped_end(chars, start, '`')
}

/// Where `end` stands without a backslash before it.
fn escaped_end(chars: &[char], start: usize, end: char) -> Option<usize> {
    let mut at = start;
    while let Some(&char) = chars.get(at) {
        match char {
            '\\' => at += 2,
            _ if char == end => return Some(at),
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
    let mut nesting = Nesting { open: vec!['('], quotes: true };
    let mut at = start;
    while let Some(&char) = chars.get(at) {
        match (char, nesting.top()) {
            ('(', top) if top == Some('(') || "$<>".contains(chars[at - 1]) => {
                nesting.open.push('(');
                at += 1;
            }
            (')', Some('(')) => {
                nesting.open.pop();
                if nesting.open.is_empty() {
                    return Some(at);
                }
                at += 1;
            }
            ('`', _) => at = backtick_end(chars, at + 1)? + 1,
            _ => at = nesting.pass(chars, at)?,
        }
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
        check("\"${x:-\"'$(a)'\"}\"", true, &["a"]);
        check("\"${x:-\"b\"'$(a)'}\" '$(c)'", true, &["a"]);
        check("${x:-$'\\'' $(a) ''}", true, &["a"]);
        check("\"$'$(a)'\" $$'$(b)'", true, &["a"]);
        check("$(a \"${x:-\"b)\"}\" ${y:-)} `c )`)", true, &["a \"${x:-\"b)\"}\" ${y:-)} `c )`"]);
        assert_eq!(commands("$(a", true), None);
    }
}
