//! The arguments that the real program would get. All are accepted, a few are looked at.

/// Words of a command line, without the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a>(pub(super) &'a [String]);

impl<'a> Arguments<'a> {
    /// The value of an option, as `--name=value` or as `--name value`.
    pub(super) fn option(&self, name: &str) -> Option<&'a str> {
        self.0.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(name)? {
            "" => self.0.get(at + 1).map(String::as_str),
            rest => rest.strip_prefix('='),
        })
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.0.iter().any(|own| own == word)
    }
}

/// Whether a text is a UUID, the only form of id that Claude Code takes.
pub(super) fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    lengths == [8, 4, 4, 4, 12] && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_in_both_forms() {
        let words = ["-p", "--resume=a", "--model", "m", "--resumes=b"].map(str::to_owned);
        let arguments = Arguments(&words);
        let options = ["--resume", "--model", "--settings"].map(|name| arguments.option(name));
        assert_eq!(options, [Some("a"), Some("m"), None]);
        assert_eq!((arguments.has("-p"), arguments.has("a")), (true, false));
    }

    #[test]
    fn only_a_uuid_is_a_uuid() {
        assert!(is_uuid("0f8fad5b-d9cb-469f-a165-70867728950e"));
        for text in ["", "s1", "0f8fad5b-d9cb-469f-a165-70867728950g", "0f8fad5bd9cb469fa165"] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
