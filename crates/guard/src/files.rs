//! Which files a program writes, for the programs whose business that is.
//!
//! A new folder holds nothing yet, so `mkdir` is no write. Code in another language given on the
//! command line counts as a write of some file, and as unknowable if it can start programs.

use crate::deed::{Reader, Script};
use crate::options::{has, positionals, value};
use crate::protected;
use crate::walk::{Input, Walk};
use crate::word::UNKNOWN;

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
    "github",
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
            "patch" if !has(arguments, &["--dry-run"]) => self.patch_files(arguments, &words),
            "sort" => {
                let path = value(arguments, &["-o", "--output"]).map(str::to_owned);
                path.iter().for_each(|path| self.write(path, &words, false));
            }
            "tar" | "gtar" | "bsdtar" => self.tar(arguments, &words),
            "zip" | "7z" => {
                let path = positionals(arguments, &[]).into_iter().find(|it| it.contains('.'));
                path.iter().for_each(|path| self.write(path, &words, false));
            }
            "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "zstd" | "unzstd"
                if !has(arguments, &["-c", "--stdout", "-t", "--test", "-l", "--list"]) =>
            {
                self.write_all(arguments, &[], &words);
            }
            "yq" if has(arguments, &["-i", "--inplace"]) => {
                positionals(arguments, &[])
                    .iter()
                    .skip(1)
                    .for_each(|it| self.write(it, &words, false));
            }
            "sqlite3" | "sqlite" | "litecli" => self.database(arguments, &words),
            "unzip" if !has(arguments, &["-l", "-t", "-p"]) => {
                self.filled(value(arguments, &["-d"]).unwrap_or("."), &words);
                self.write_unknown(&words);
            }
            "split" | "csplit" | "cpio" => self.write_unknown(&words),
            "ed" | "ex" => {
                self.editor(arguments, &words);
                self.edited_by_input();
            }
            "vi" | "vim" | "nvim" | "gvim" | "view" | "vimdiff" | "emacs" | "nano" | "micro"
            | "hx" | "kak" => self.editor(arguments, &words),
            "curl" | "wget" => self.fetched(name, arguments, &words),
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(arguments, &words),
            _ => return self.interpreter(name, arguments, &words),
        }
        true
    }

    fn patch_files(&mut self, arguments: &[String], words: &str) {
        self.write_unknown(words);
        let named = positionals(arguments, &["-i", "-p", "-d", "-o", "-r", "-D", "-F"]);
        named.iter().for_each(|path| self.touched(path, words));
        let input = value(arguments, &["-i", "--input"]);
        let patches: Vec<&str> = input.into_iter().chain(named.get(1).copied()).collect();
        self.patched(&patches, words);
    }

    /// A database: it may only be asked, so that only what is protected counts.
    fn database(&mut self, arguments: &[String], words: &str) {
        positionals(arguments, &[]).iter().take(1).for_each(|it| self.touched(it, words));
        let input = match &self.shell.input {
            Input::Text(text) => text.as_str(),
            _ => "",
        };
        let runs = |text: &str| {
            text.split('\n').any(|line| {
                let line = line.trim_start();
                line.starts_with(".sh ") || line.starts_with(".shell") || line.starts_with(".sys")
            })
        };
        if runs(input) || arguments.iter().any(|it| runs(it)) {
            self.unknowable("a command of sqlite can start programs");
        }
    }

    /// Notes the protected files that a patch names: in `files`, else on standard input.
    pub(crate) fn patched(&mut self, files: &[&str], words: &str) {
        let mut texts = Vec::new();
        let mut read = |walk: &mut Self, path: &str| {
            let path = protected::joined(&walk.shell.folder, path);
            if !path.contains(UNKNOWN)
                && walk.look_once()
                && let Script::Shell(text) = walk.context.look.script(&path, Reader::Shell)
            {
                texts.push(text);
            }
        };
        match self.shell.input.clone() {
            _ if files.iter().any(|path| *path != "-") => {
                files.iter().for_each(|path| read(self, path));
            }
            Input::Text(text) => texts.push(text),
            Input::File(path) => read(self, &path),
            Input::Inherited | Input::Unknown => {}
        }
        const MARKS: &[&str] = &["+++ ", "--- ", "rename to ", "copy to ", "diff --git "];
        for line in texts.iter().flat_map(|text| text.lines()) {
            let named = MARKS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or_default();
            for path in named.split([' ', '\t', '"']) {
                self.touched(path, words);
            }
        }
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
        let fills = match name {
            "cp" | "mv" => has(arguments, &["-T", "--no-target-directory"]),
            "ln" => has(arguments, &["-T", "-n", "--no-dereference", "--no-target-directory"]),
            _ => false,
        } || sources.iter().any(|it| it.ends_with("/.") || name == "rsync");
        self.write(folder, words, false);
        if fills {
            self.filled(folder, words);
        }
        // Into a folder, each file keeps its name; whether it is one cannot be seen from here.
        for source in sources {
            let base = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
            let path = protected::joined(&self.shell.folder, &format!("{folder}/{base}"));
            if self.is_protected_by_name(&path, false) {
                self.write(&format!("{folder}/{base}"), words, false);
            }
        }
    }

    /// A folder that is filled with names that are not known here: it counts if protected files are
    /// right in it. The project's top does not, for everything is in there.
    fn filled(&mut self, folder: &str, words: &str) {
        let path = protected::joined(&self.shell.folder, folder);
        if path != "." && path.rsplit('/').next().is_some_and(|name| name.starts_with('.')) {
            self.switched(folder, words);
        }
    }

    fn tar(&mut self, arguments: &[String], words: &str) {
        if is_unpacking(arguments) {
            let folder = value(arguments, &["-C", "--directory"]).unwrap_or(".");
            self.filled(folder, words);
            return self.write_unknown(words);
        }
        let is_listing = has(arguments, &["-t", "--list"])
            || arguments.first().is_some_and(|it| !it.starts_with('-') && it.contains('t'));
        let is_cluster = |(at, it): &(usize, &String)| {
            !it.starts_with("--") && (*at == 0 || it.starts_with('-')) && it.ends_with('f')
        };
        let cluster = arguments.iter().enumerate().find(is_cluster);
        let path = match cluster {
            Some((at, _)) => arguments.get(at + 1).map(String::as_str),
            None => value(arguments, &["-f", "--file"]),
        };
        if let Some(path) = path.filter(|_| !is_listing) {
            self.write(path, words, false);
        }
    }

    /// A change of rights writes no content, but can switch a hook off.
    fn switched(&mut self, path: &str, words: &str) {
        let whole = protected::joined(&self.shell.folder, path);
        if self.is_protected_by_name(&whole, true) {
            self.write(path, words, true);
        }
    }

    /// A file that a program may write or only read: it counts if it is a protected one.
    pub(crate) fn touched(&mut self, path: &str, words: &str) {
        let whole = protected::joined(&self.shell.folder, path);
        if self.is_protected_by_name(&whole, false) {
            self.write(path, words, false);
        }
    }

    fn editor(&mut self, arguments: &[String], words: &str) {
        const RUN: &[&str] =
            &["-c", "--cmd", "--eval", "--script", "--load", "--funcall", "-S", "-f", "-l"];
        self.write_all(arguments, &["-c", "-s", "-S", "--cmd", "-f", "-l"], words);
        if arguments.iter().any(|it| RUN.contains(&it.split('=').next().unwrap_or_default()))
            || arguments.iter().any(|it| it.starts_with('+') || it == "-sc" || it == "-esc")
        {
            self.unknowable("an editor is given commands that can do anything");
        }
    }

    /// Commands for an editor on standard input, in which `!` starts a program.
    fn edited_by_input(&mut self) {
        let is_plain = match &self.shell.input {
            Input::Inherited => true,
            Input::Text(text) => !text.contains(['!', UNKNOWN]),
            Input::File(_) | Input::Unknown => false,
        };
        if !is_plain {
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
            && self.shell.input != Input::Inherited
            && !is_one_liner;
        let edits = matches!(base, "perl" | "ruby") && has(own, &["-i"]);
        // Later keystrokes reach it without being judged.
        if arguments.is_empty() && self.shell.input == Input::Inherited {
            self.unknowable(&format!("`{name}` would take code that comes later"));
        }
        if is_one_liner || is_piped || edits {
            self.write_unknown(words);
            let mut code = arguments.join(" ");
            if let Input::Text(text) = &self.shell.input {
                code.push_str(text);
            }
            let is_unread = is_piped && !matches!(self.shell.input, Input::Text(_));
            if is_unread || starts_programs(base, &code) || code.contains(UNKNOWN) {
                self.unknowable(&format!("code given to `{name}` can start programs"));
            }
        }
        true
    }
}

/// Whether code has a word with which programs are started; `isdigit` is none.
fn starts_programs(language: &str, code: &str) -> bool {
    let is_start = |word: &str, at: usize| {
        let before = code[..at].chars().next_back();
        let after = &code[at + word.len()..];
        // A query of a database is executed, too, but not in a language that starts programs so.
        let is_query = word == "exec"
            && language == "python"
            && ["ute(", "utemany(", "utescript("].iter().any(|rest| after.starts_with(rest));
        let is_longer = word == "git" && after.starts_with(|char: char| char.is_ascii_lowercase());
        !before.is_some_and(|char| char.is_ascii_alphabetic() && word != "popen")
            && !is_query
            && !is_longer
    };
    STARTS.iter().any(|word| code.match_indices(word).any(|(at, _)| is_start(word, at)))
}

fn is_unpacking(arguments: &[String]) -> bool {
    let is_letters = |it: &String| it.trim_start_matches('-').chars().all(char::is_alphabetic);
    has(arguments, &["-x", "--extract"])
        || arguments.first().is_some_and(|it| is_letters(it) && it.contains('x'))
}
