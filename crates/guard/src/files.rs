//! Which files a program writes, for the programs whose business that is.
//!
//! A new folder holds nothing yet, so `mkdir` is no write. Code in another language given on the
//! command line counts as a write of some file, and as unknowable if it can start programs.

use crate::options::{has, positionals, value};
use crate::protected;
use crate::walk::Walk;

/// Words with which code in another language starts programs.
const STARTS: &[&str] = &[
    "subprocess",
    "system",
    "popen",
    "exec",
    "spawn",
    "child_process",
    "qx",
    "`",
    "__import__",
    "eval",
    "git",
    "import_module",
    "Deno.Command",
    "Process",
];

impl Walk<'_> {
    /// Notes what a program writes; false if it is none that is known for that.
    pub(crate) fn file_program(&mut self, name: &str, fields: &[String]) -> bool {
        let words = crate::walk::spoken(fields);
        let arguments = &fields[1..];
        match name {
            "tee" | "touch" | "sponge" | "mkfifo" => {
                self.write_all(arguments, &["-r", "-d", "-t"], &words);
            }
            "truncate" => self.write_all(arguments, &["-s", "-r", "--size", "--reference"], &words),
            "rm" | "rmdir" | "unlink" | "shred" | "trash" => {
                for path in positionals(arguments, &["-n", "-s"]) {
                    self.write(path, &words, true);
                }
            }
            "cp" | "install" | "ln" | "mv" | "rsync" | "scp" => {
                self.copied(name, arguments, &words);
            }
            "chmod" | "chown" | "chattr" | "setfacl" => {
                for path in positionals(arguments, &[]) {
                    self.switched(path, &words);
                }
            }
            "apply_patch" | "applypatch" => self.patch_program(arguments, &words),
            "dd" => {
                let paths = arguments.iter().filter_map(|it| it.strip_prefix("of="));
                paths.for_each(|path| self.write(path, &words, false));
            }
            "sed" | "gsed" => self.sed(arguments, &words),
            "patch" if !has(arguments, &["--dry-run"]) => self.write_unknown(&words),
            "sort" => {
                let path = value(arguments, &["-o", "--output"]).map(str::to_owned);
                path.iter().for_each(|path| self.write(path, &words, false));
            }
            "tar" | "bsdtar" if is_unpacking(arguments) => self.write_unknown(&words),
            "unzip" if !has(arguments, &["-l", "-t", "-p"]) => self.write_unknown(&words),
            "split" | "csplit" | "ed" | "ex" | "cpio" => self.write_unknown(&words),
            "vi" | "vim" | "nvim" | "emacs" => self.editor(arguments, &words),
            "curl" | "wget" => self.fetched(name, arguments, &words),
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(arguments, &words),
            _ => return self.interpreter(name, arguments, &words),
        }
        true
    }

    fn write_all(&mut self, arguments: &[String], valued: &[&str], words: &str) {
        for path in positionals(arguments, valued) {
            self.write(path, words, false);
        }
    }

    fn copied(&mut self, name: &str, arguments: &[String], words: &str) {
        const VALUED: &[&str] = &[
            "-t",
            "--target-directory",
            "-m",
            "-o",
            "-g",
            "-S",
            "--suffix",
            "--mode",
            "-e",
            "--exclude",
        ];
        let paths = positionals(arguments, VALUED);
        if name == "mv" {
            for path in paths.split_last().map_or(&paths[..], |(_, sources)| sources) {
                self.write(path, words, true);
            }
        }
        let folder = value(arguments, &["-t", "--target-directory"]);
        let (folder, sources) = match (folder, paths.split_last()) {
            (Some(folder), _) => (folder, &paths[..]),
            (None, Some((last, sources))) => (*last, sources),
            (None, None) => return,
        };
        if folder.contains(':') && matches!(name, "scp" | "rsync") {
            return;
        }
        self.write(folder, words, false);
        // Into a folder, each file keeps its name; whether it is one cannot be seen from here.
        for source in sources {
            let base = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
            let path = protected::joined(&self.shell.folder, &format!("{folder}/{base}"));
            if protected::is_protected(&path, false) {
                self.write(&format!("{folder}/{base}"), words, false);
            }
        }
    }

    /// A change of rights writes no content, but can switch a hook off.
    fn switched(&mut self, path: &str, words: &str) {
        let whole = protected::joined(&self.shell.folder, path);
        if protected::is_protected(&whole, true) {
            self.write(path, words, true);
        }
    }

    fn sed(&mut self, arguments: &[String], words: &str) {
        let in_place = arguments.iter().any(|it| {
            it.starts_with("--in-place")
                || (it.starts_with('-') && !it.starts_with("--") && it.contains('i'))
        });
        let given = value(arguments, &["-e", "--expression"]).map(str::to_owned);
        let named = positionals(arguments, &["-e", "-f", "--expression", "--file", "-l"]);
        let (script, files) = match &given {
            Some(script) => (script.as_str(), &named[..]),
            None => named.split_first().map_or(("", &named[..]), |(first, rest)| (*first, rest)),
        };
        if in_place {
            files.iter().for_each(|path| self.write(path, words, false));
        }
        if runs_or_writes(script) {
            self.unknowable("a command of sed can run programs or write files");
        }
    }

    fn editor(&mut self, arguments: &[String], words: &str) {
        self.write_all(arguments, &["-c", "-s", "-S"], words);
        if has(arguments, &["-c", "--eval", "-S"]) || arguments.iter().any(|it| it.starts_with('+'))
        {
            self.unknowable("an editor is given commands that can do anything");
        }
    }

    fn fetched(&mut self, name: &str, arguments: &[String], words: &str) {
        let path = match name {
            "curl" => value(arguments, &["-o", "--output"]),
            _ => value(arguments, &["-O", "--output-document"]),
        };
        match path {
            Some(path) => {
                let path = path.to_owned();
                self.write(&path, words, false);
            }
            None if name == "wget" && !has(arguments, &["--spider"]) => self.write_unknown(words),
            None if name == "curl" && has(arguments, &["-O", "--remote-name"]) => {
                self.write_unknown(words);
            }
            None => {}
        }
    }

    fn awk(&mut self, arguments: &[String], words: &str) {
        let named = positionals(arguments, &["-F", "-v", "-f", "--file"]);
        let program = named.first().copied().unwrap_or_default();
        if program.contains("system(")
            || program.contains("| \"")
            || program.contains("|\"")
            || program.contains("getline")
        {
            self.unknowable("a program of awk starts other programs");
        }
        if program.contains(">>")
            || program.contains("> \"")
            || program.contains(">\"")
            || has(arguments, &["--include", "-i"])
        {
            self.write_unknown(words);
        }
    }

    /// Code of another language on the command line or from standard input.
    fn interpreter(&mut self, name: &str, arguments: &[String], words: &str) -> bool {
        let base = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
        let inline = match base {
            "python" | "pypy" => &["-c"][..],
            "node" | "bun" | "deno" => &["-e", "--eval", "-p", "--print", "eval"],
            "perl" | "ruby" => &["-e", "-E"],
            "php" => &["-r"],
            "lua" | "osascript" | "rscript" | "elixir" | "groovy" => &["-e"],
            _ => return false,
        };
        let start = crate::options::skip(arguments, inline);
        let own = &arguments[..start.min(arguments.len())];
        let is_one_liner = own.iter().any(|it| {
            inline.contains(&it.as_str())
                || (!it.starts_with("--")
                    && it.starts_with('-')
                    && inline.iter().any(|i| i.len() == 2 && it.ends_with(&i[1..])))
        }) || arguments.first().is_some_and(|it| it == "eval");
        let is_piped = (start >= arguments.len() || arguments[start] == "-")
            && self.shell.input != crate::walk::Input::Inherited
            && !is_one_liner;
        let edits = matches!(base, "perl" | "ruby") && has(own, &["-i"]);
        if is_one_liner || is_piped || edits {
            self.write_unknown(words);
            let mut code = arguments.join(" ");
            if let crate::walk::Input::Text(text) = &self.shell.input {
                code.push_str(text);
            }
            let is_unread = is_piped && !matches!(self.shell.input, crate::walk::Input::Text(_));
            if is_unread || STARTS.iter().any(|word| code.contains(word)) || code.contains('\0') {
                self.unknowable(&format!("code given to `{name}` can start programs"));
            }
        }
        true
    }
}

fn is_unpacking(arguments: &[String]) -> bool {
    let is_letters = |it: &String| it.trim_start_matches('-').chars().all(char::is_alphabetic);
    has(arguments, &["-x", "--extract"])
        || arguments.first().is_some_and(|it| is_letters(it) && it.contains('x'))
}

/// Whether a script of sed uses `e`, `w`, `W` or their flags of `s`.
fn runs_or_writes(script: &str) -> bool {
    let pieces = script.split([';', '\n', '{', '}']).map(str::trim);
    pieces.into_iter().any(|piece| {
        let bare =
            piece.trim_start_matches(|char: char| char.is_ascii_digit() || ",$ ".contains(char));
        let is_command = |letter: &str| bare == letter || bare.starts_with(&format!("{letter} "));
        let flags = piece.rsplit('/').next().unwrap_or_default();
        let is_substitution = bare.starts_with("s/") && bare.matches('/').count() >= 3;
        ["e", "w", "W"].iter().any(|letter| is_command(letter))
            || (is_substitution && (flags.contains('e') || flags.contains('w')))
    })
}
