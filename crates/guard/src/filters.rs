//! Scripts of sed and awk: whether they start programs, and which files they write.
//!
//! They are read as far as that takes: where a command begins, and what is text or a pattern.

use std::iter::Peekable;
use std::str::Chars;

use crate::deed::{Reader, Script};
use crate::options::{has, positionals, value, values};
use crate::protected::joined;
use crate::walk::Walk;
use crate::word::UNKNOWN;

impl Walk<'_> {
    pub(crate) fn sed(&mut self, arguments: &[String], words: &str) {
        const VALUED: &[&str] = &["-e", "-f", "--expression", "--file", "-l", "-ne", "-nf", "-Ee"];
        let is_cluster = |it: &str, letter: char| {
            let letters = it.strip_prefix('-').filter(|it| !it.starts_with(['-', 'i']));
            letters.is_some_and(|it| it.len() > 1 && it.ends_with(letter) && !it.contains('i'))
        };
        let in_place = arguments.iter().any(|it| {
            it.starts_with("--in-place")
                || (it.starts_with('-') && !it.starts_with("--") && it.contains('i'))
        });
        let mut scripts: Vec<String> = Vec::new();
        let given = values(arguments, &["-e", "--expression"]);
        scripts.extend(given.into_iter().map(str::to_owned));
        let mut files: Vec<&str> = values(arguments, &["-f", "--file"]);
        for pair in arguments.windows(2) {
            if is_cluster(&pair[0], 'e') {
                scripts.push(pair[1].clone());
            } else if is_cluster(&pair[0], 'f') {
                files.push(&pair[1]);
            }
        }
        let is_given = !scripts.is_empty() || !files.is_empty();
        for path in files {
            scripts.extend(self.script_text(path, "sed"));
        }
        let named = positionals(arguments, VALUED);
        let (script, targets) = named.split_at(usize::from(!is_given).min(named.len()));
        scripts.extend(script.iter().map(|&script| script.to_owned()));
        if in_place {
            targets.iter().for_each(|path| self.write(path, words, false));
        }
        if Sed(scripts.join("\n").chars().peekable()).runs_or_writes() {
            self.unknowable("a command of sed can run programs or write files");
        }
    }

    pub(crate) fn awk(&mut self, arguments: &[String], words: &str) {
        const VALUED: &[&str] = &["-F", "-v", "-f", "--file", "-e", "--source", "-i", "--include"];
        let mut programs: Vec<String> =
            values(arguments, &["-e", "--source"]).into_iter().map(str::to_owned).collect();
        let files = values(arguments, &["-f", "--file"]);
        let is_given = !programs.is_empty() || !files.is_empty();
        for path in files {
            programs.extend(self.script_text(path, "awk"));
        }
        let first = positionals(arguments, VALUED).first().copied().filter(|_| !is_given);
        programs.extend(first.map(str::to_owned));
        let program = Awk::read(&programs.join("\n"));
        if program.starts_programs() {
            self.unknowable("a program of awk starts other programs");
        }
        program.texts.iter().for_each(|text| self.touched(text, words));
        for target in program.outputs() {
            match target {
                Some(path) => self.write(path, words, false),
                None => self.write_unknown(words),
            }
        }
        if value(arguments, &["-i", "--include"]).is_some() || has(arguments, &["--include"]) {
            self.write_unknown(words);
        }
    }

    /// The text of a script for another program; unknowable if it cannot be read.
    fn script_text(&mut self, path: &str, program: &str) -> Option<String> {
        let path = joined(&self.shell.folder, path);
        let found = match path.contains(UNKNOWN) || !self.look_once() {
            true => Script::Absent,
            false => self.context.look.script(&path, Reader::Shell),
        };
        match found {
            Script::Shell(text) => Some(text),
            Script::Other | Script::TooLong | Script::Absent => {
                self.unknowable(&format!("the commands for {program} in {path} cannot be read"));
                None
            }
        }
    }
}

/// A script of sed under way.
struct Sed<'a>(Peekable<Chars<'a>>);

impl Sed<'_> {
    /// Whether it uses `e`, `w`, `W`, their flags of `s`, or what cannot be told.
    fn runs_or_writes(mut self) -> bool {
        loop {
            while self.0.next_if(|char| char.is_whitespace() || ";{}".contains(*char)).is_some() {}
            let has_address = self.address();
            match self.0.next() {
                None => return has_address,
                Some('s') if !self.substitution() => {}
                Some('y') => drop((self.part(), self.0.next())),
                Some('#' | 'a' | 'i' | 'c' | 'r' | 'R') => self.line(),
                Some('b' | 't' | 'T' | ':' | 'q' | 'Q' | 'l' | 'L' | 'v') => self.word(),
                Some(char) if "dDgGhHnNpPx=zF{}".contains(char) => {}
                Some(_) => return true,
            }
        }
    }

    /// Passes over addresses; whether one of them is only known at run time.
    fn address(&mut self) -> bool {
        let mut is_unknown = false;
        while let Some(&char) = self.0.peek() {
            match char {
                '/' => self.until('/'),
                '\\' => {
                    self.0.next();
                    let Some(&end) = self.0.peek() else { return true };
                    self.until(end);
                }
                UNKNOWN => {
                    is_unknown = true;
                    self.0.next();
                }
                _ if char.is_ascii_digit() || "$,+~!IM \t".contains(char) => drop(self.0.next()),
                _ => break,
            }
        }
        is_unknown
    }

    /// Passes over what stands between two of the letter `end`; the second one too.
    fn until(&mut self, end: char) {
        self.0.next();
        while let Some(char) = self.0.next() {
            match char {
                '\\' => drop(self.0.next()),
                _ if char == end => break,
                _ => {}
            }
        }
    }

    /// Passes over both parts of `s` or `y`, up to the last letter that ends them.
    fn part(&mut self) {
        let Some(&end) = self.0.peek() else { return };
        self.until(end);
        while let Some(char) = self.0.next_if(|&char| char != end) {
            if char == '\\' {
                self.0.next();
            }
        }
    }

    /// Passes over a substitution; whether its flags run or write something.
    fn substitution(&mut self) -> bool {
        self.part();
        self.0.next();
        while let Some(flag) =
            self.0.next_if(|char| !char.is_whitespace() && !";}#".contains(*char))
        {
            if matches!(flag, 'e' | 'w' | UNKNOWN) {
                return true;
            }
        }
        false
    }

    fn line(&mut self) {
        while let Some(char) = self.0.next_if(|&char| char != '\n') {
            if char == '\\' {
                self.0.next();
            }
        }
    }

    fn word(&mut self) {
        while self.0.next_if(|char| !"\n;}".contains(*char)).is_some() {}
    }
}

/// Stands for a text in the code of awk.
const TEXT: char = '\u{1}';

/// A program of awk, without its texts and patterns.
struct Awk {
    code: String,
    texts: Vec<String>,
}

impl Awk {
    fn read(program: &str) -> Self {
        let (mut code, mut texts) = (String::new(), Vec::new());
        // The last letter that is no blank: after a value, `/` divides.
        let mut last = None;
        let mut chars = program.chars();
        while let Some(char) = chars.next() {
            let is_value = |last: char| last.is_alphanumeric() || "_)]$\u{1}".contains(last);
            match char {
                '"' => {
                    texts.push(quoted(&mut chars, '"'));
                    code.push(TEXT);
                }
                '/' if !last.is_some_and(is_value) => drop(quoted(&mut chars, '/')),
                '#' => {
                    let _comment = chars.by_ref().find(|&char| char == '\n');
                    code.push('\n');
                }
                _ => code.push(char),
            }
            last = code.chars().next_back().filter(|char| !" \t".contains(*char)).or(last);
        }
        Self { code, texts }
    }

    fn starts_programs(&self) -> bool {
        let calls =
            |(at, word): (usize, &str)| self.code[at + word.len()..].trim_start().starts_with('(');
        let pipes = self.code.replace("||", "");
        self.code.match_indices("system").any(calls) || pipes.contains(['|', '@'])
    }

    /// What is printed to: a path, or something that is only known at run time.
    fn outputs(&self) -> Vec<Option<&str>> {
        let mut found = Vec::new();
        let mut texts = self.texts.iter();
        for statement in self.code.split([';', '{', '}', '\n']) {
            let own: Vec<&String> = texts.by_ref().take(statement.matches(TEXT).count()).collect();
            let Some(at) = statement.find("print") else { continue };
            let mut depth = 0;
            let outside = |(_, char): &(usize, char)| {
                depth += match char {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                depth == 0 && *char == '>'
            };
            let Some((arrow, _)) = statement[at..].char_indices().find(outside) else { continue };
            let target = statement[at + arrow..].trim_start_matches(['>', ' ', '\t']);
            let before = statement[..at + arrow].matches(TEXT).count();
            let is_text = target.trim_end() == TEXT.to_string();
            found.push(own.get(before).filter(|_| is_text).map(|text| text.as_str()));
        }
        found
    }
}

/// What stands before the letter `end`, which goes too.
fn quoted(chars: &mut Chars<'_>, end: char) -> String {
    let mut text = String::new();
    while let Some(char) = chars.next() {
        match char {
            '\\' => text.extend(chars.next()),
            _ if char == end => break,
            _ => text.push(char),
        }
    }
    text
}
