//! Words of a shell command: quoting them, and taking apart what was quoted so.

/// Joins words into one text that a shell splits into the same words.
pub(crate) fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Words as one text that a shell splits into the same words.
pub fn quoted(words: &[&str]) -> String {
    join(words.iter().copied())
}

/// A word as a shell has to read it; plain where that is the same.
pub(crate) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Splits a command at unquoted spaces. Knows quotes and backslashes only: enough for what `join`
/// makes and for what people write by hand; nothing is expanded.
pub(crate) fn split(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(rest.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_needs_quotes_gets_them() {
        let table = [
            (vec!["/usr/bin/waypost-hook", "claude"], "/usr/bin/waypost-hook claude"),
            (vec!["/my tools/waypost", "hook"], "'/my tools/waypost' hook"),
            (
                vec!["bash", "-lc", "git push && echo 'it''s'"],
                r"bash -lc 'git push && echo '\''it'\'''\''s'\'''",
            ),
            (vec![""], "''"),
            (vec!["~/x", "$HOME", "*"], "'~/x' '$HOME' '*'"),
        ];
        for (words, want) in table {
            assert_eq!(join(words.iter().copied()), want);
        }
    }

    #[test]
    fn commands_are_split_as_people_write_them() {
        let table: [(&str, &[&str]); 5] = [
            ("waypost  hook\tclaude", &["waypost", "hook", "claude"]),
            (r#""/my tools/waypost" hook"#, &["/my tools/waypost", "hook"]),
            (r"/my\ tools/waypost", &["/my tools/waypost"]),
            (r#"a"b c"'d'"#, &["ab cd"]),
            ("", &[]),
        ];
        for (command, want) in table {
            assert_eq!(split(command), want, "{command}");
        }
    }

    proptest! {
        #[test]
        fn what_was_joined_is_split_into_the_same_words(words: Vec<String>) {
            prop_assert_eq!(split(&join(words.iter().map(String::as_str))), words);
        }
    }
}
