//! What starting a program with known arguments means: built-in commands, shells, and programs that
//! start others. What a program does by itself is in `git`, `forge`, `files` and `scripts`.

use crate::deed::{Reader, Script, UNKNOWN_VARIABLE};
use crate::options;
use crate::parse::{Unparsed, parse};
use crate::protected::joined;
use crate::walk::{Input, MEANINGS, Walk, spoken, with_settings};
use crate::word::UNKNOWN;

/// A program that runs the command in its arguments.
struct Prefix {
    name: &'static str,
    /// Options that take the next argument as their value.
    valued: &'static [&'static str],
    /// Arguments of its own before the command.
    own: usize,
}

#[rustfmt::skip]
const PREFIXES: &[Prefix] = &[
    Prefix { name: "builtin", valued: &[], own: 0 },
    Prefix { name: "busybox", valued: &[], own: 0 },
    Prefix { name: "catchsegv", valued: &[], own: 0 },
    Prefix { name: "caffeinate", valued: &["-t", "-w"], own: 0 },
    Prefix { name: "chronic", valued: &[], own: 0 },
    Prefix { name: "chroot", valued: &[], own: 1 },
    Prefix { name: "chrt", valued: &["-T", "-P", "-D"], own: 1 },
    Prefix { name: "command", valued: &[], own: 0 },
    Prefix { name: "dbus-run-session", valued: &["--config-file"], own: 0 },
    Prefix { name: "doas", valued: &["-u", "-C"], own: 0 },
    Prefix { name: "exec", valued: &["-a"], own: 0 },
    Prefix { name: "fakeroot", valued: &["-l", "-s", "-i", "-b"], own: 0 },
    Prefix { name: "faketime", valued: &[], own: 1 },
    Prefix { name: "gosu", valued: &[], own: 1 },
    Prefix { name: "ionice", valued: &["-c", "-n", "--class", "--classdata"], own: 0 },
    Prefix { name: "ltrace", valued: &["-e", "-o", "-p", "-u"], own: 0 },
    Prefix { name: "nice", valued: &["-n", "--adjustment"], own: 0 },
    Prefix { name: "noglob", valued: &[], own: 0 },
    Prefix { name: "nohup", valued: &[], own: 0 },
    Prefix { name: "pkexec", valued: &["--user"], own: 0 },
    Prefix { name: "rlwrap", valued: &["-a", "-b", "-f", "-H", "-s"], own: 0 },
    Prefix { name: "setarch", valued: &[], own: 1 },
    Prefix { name: "setpriv", valued: &[], own: 0 },
    Prefix { name: "setsid", valued: &[], own: 0 },
    Prefix { name: "stdbuf", valued: &["-i", "-o", "-e", "--input", "--output", "--error"], own: 0 },
    Prefix { name: "strace", valued: &["-e", "-o", "-p", "-u", "-E", "-s"], own: 0 },
    Prefix { name: "sudo", valued: &["-u", "-g", "-h", "-p", "-C", "-T", "-U", "-r", "-t", "-D", "-R", "--user", "--group", "--chdir", "--prompt", "--host"], own: 0 },
    Prefix { name: "systemd-run", valued: &["-p", "--property", "-u", "--unit", "-E", "--setenv", "-M", "-H", "--slice", "--uid", "--gid", "--description"], own: 0 },
    Prefix { name: "taskset", valued: &[], own: 1 },
    Prefix { name: "time", valued: &["-o", "-f", "--output", "--format"], own: 0 },
    Prefix { name: "timeout", valued: &["-s", "-k", "--signal", "--kill-after"], own: 1 },
    Prefix { name: "unbuffer", valued: &[], own: 0 },
    Prefix { name: "unshare", valued: &["-R", "-w", "-S", "-G"], own: 0 },
    Prefix { name: "xvfb-run", valued: &["-e", "-f", "-n", "-p", "-s"], own: 0 },
];

/// Those among them that make it another user's command, with another home.
const OTHER_USER: &[&str] = &["sudo", "doas", "gosu", "pkexec", "chroot", "setpriv"];

pub(crate) const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "fish", "rbash"];

/// Programs that take words as words: what they are given only mentions a command.
#[rustfmt::skip]
const READERS: &[&str] = &[
    "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "ack", "which", "type", "whereis", "whatis", "man",
    "help", "info", "test", "[", "cat", "bat", "less", "more", "head", "tail", "wc", "ls", "sort", "uniq", "cut",
    "tr", "diff", "cmp", "comm", "jq", "yq", "apt", "apt-get", "brew", "dnf", "yum", "apk", "pacman", "true",
    "false", ":", "sleep", "exit", "return", "pwd", "basename", "dirname", "stat", "file", "seq", "date", "expr",
    "kill", "pgrep", "pkill", "ps", "fd", "tree", "mkdir", "logger", "notify-send", "say", "cowsay", "tldr", "xxd",
    "hexdump", "od", "sha256sum", "sha1sum", "md5sum", "cksum", "b2sum", "strings", "nl", "tac", "rev", "column", "fold",
    "paste", "join", "du", "df", "realpath", "readlink", "zcat", "xzcat", "zgrep", "delta", "batcat", "most", "eza", "exa", "lsd",
];

/// Options after which a program of any kind may take a line for a shell.
const LINE_OPTIONS: &[&str] =
    &["-ex", "-c", "--command", "--run", "--exec", "-x", "--cmd", "--call"];

/// What changes a repository or what others see of it, and our own program.
const FORGES: &[&str] = &["git", "gh", "hub", "glab", "jj", "hg", "waypost"];

impl Walk<'_> {
    /// Judges the start of a program.
    pub(crate) fn program(&mut self, fields: &[String]) {
        if self.spend(fields.len()) {
            self.deeper(|walk| walk.start(fields));
        }
    }

    fn start(&mut self, fields: &[String]) {
        let Some((word, arguments)) = fields.split_first() else { return };
        if let Some(programs) = &mut self.programs {
            programs.push(word.clone());
        }
        self.call(word, arguments);
        self.alias(word, arguments);
        self.beyond_functions(fields);
    }

    /// Judges the start of a program by something that knows no functions and aliases.
    fn beyond_functions(&mut self, fields: &[String]) {
        let Some((word, arguments)) = fields.split_first() else { return };
        let is_glob = word.contains(['*', '?', '[']) && word != "[";
        if is_glob || word.contains(UNKNOWN) {
            let words = spoken(fields);
            return self
                .unknowable(&format!("which program `{words}` starts is only known at run time"));
        }
        // Some file systems and systems do not care for case or add an ending.
        let name = word.rsplit('/').next().unwrap_or(word).to_ascii_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        self.options_that_run(name, arguments);
        let is_settled = self.builtin(name, arguments)
            || self.prefix(name, arguments)
            || self.starter(name, fields)
            || self.repository(name, fields)
            || self.file_program(name, fields)
            || self.script_program(word, name, arguments);
        if !is_settled && !READERS.contains(&name) {
            self.stranger(arguments);
        }
    }

    fn repository(&mut self, name: &str, fields: &[String]) -> bool {
        let words = spoken(fields);
        let arguments = &fields[1..];
        if (FORGES.contains(&name) || name.starts_with("git-")) && asks_for_help(arguments) {
            return true;
        }
        match name {
            "git" => self.git(arguments, &words),
            "hub" => self.hub(arguments, &words),
            "gh" => self.gh(arguments, &words),
            "glab" => self.glab(arguments, &words),
            "jj" => self.jj(arguments, &words),
            "hg" => self.hg(arguments, &words),
            "curl" | "wget" | "http" | "https" | "xh" => self.request(arguments, &words),
            "waypost" => self.own(arguments, &words),
            _ => match name.strip_prefix("git-") {
                Some(command) => {
                    let mut whole = vec![command.to_owned()];
                    whole.extend_from_slice(arguments);
                    self.git(&whole, &words);
                }
                None => return false,
            },
        }
        // Fetching may also write a file, which `file_program` knows.
        !matches!(name, "curl" | "wget")
    }

    fn call(&mut self, name: &str, arguments: &[String]) {
        let Some(bodies) = self.functions.get(name).cloned() else { return };
        let outer = self.shell.scope.arguments.replace(arguments.to_vec().into());
        bodies.iter().for_each(|body| self.node(body));
        self.shell.scope.arguments = outer;
    }

    fn alias(&mut self, name: &str, arguments: &[String]) {
        // While an alias is expanded its own name means the program.
        let Some(texts) = self.aliases.remove(name) else { return };
        for text in &texts {
            self.text_with(text, arguments);
        }
        self.aliases.insert(name.to_owned(), texts);
    }

    /// Judges a text as shell commands with further arguments at its end.
    pub(crate) fn text_with(&mut self, text: &str, arguments: &[String]) {
        let mut whole = text.to_owned();
        for argument in arguments {
            whole.push(' ');
            whole.push_str(&quoted(argument));
        }
        self.text(&whole);
    }

    fn builtin(&mut self, name: &str, arguments: &[String]) -> bool {
        if matches!(
            name,
            "let" | "read" | "unset" | "test" | "[" | "printf" | "declare" | "typeset"
        ) {
            arguments.iter().for_each(|argument| self.index(argument));
        }
        match name {
            "hash" if options::has(arguments, &["-p"]) => {
                self.unknowable("a name is given to another program");
            }
            "cd" | "pushd" => {
                let target = options::positionals(arguments, &[]).first().copied().unwrap_or("~");
                self.change_folder(if target == "-" { "\0" } else { target });
            }
            "popd" => self.change_folder("\0"),
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                arguments.iter().for_each(|argument| self.environment(argument));
                arguments.iter().for_each(|argument| self.assign(argument));
                if options::has(arguments, &["-f"]) && options::has(arguments, &["-x"])
                    || name == "export" && options::has(arguments, &["-f"])
                {
                    self.shell.scope.choose("ENV");
                }
                if name != "export" && name != "readonly" && options::has(arguments, &["-n"]) {
                    self.unknowable("one variable is given the name of another");
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" => {
                for name in options::positionals(arguments, &["-d", "-n", "-p", "-t", "-u", "-i"]) {
                    self.shell.scope.set(name, None);
                }
            }
            "set" => {
                if let Some(at) = arguments.iter().position(|argument| argument == "--") {
                    self.shell.scope.arguments = Some(arguments[at + 1..].to_vec().into());
                }
            }
            "printf" => match options::value(arguments, &["-v"]) {
                Some(name) => self.shell.scope.set(name, None),
                None => return false,
            },
            "shift" => self.shell.scope.arguments = None,
            "alias" => {
                for (name, text) in arguments.iter().filter_map(|it| it.split_once('=')) {
                    let texts = self.aliases.entry(name.to_owned()).or_default();
                    if texts.len() >= MEANINGS {
                        self.unknowable("one name is given many meanings");
                        break;
                    }
                    texts.push(text.to_owned());
                }
            }
            "eval" => self.text(&arguments.join(" ")),
            "trap" => {
                let action =
                    options::positionals(arguments, &[]).first().map(|&text| text.to_owned());
                action.iter().for_each(|text| self.text(text));
            }
            "source" | "." => match arguments.first() {
                Some(path) => self.script(path, &arguments[1..], Reader::Shell),
                None => return false,
            },
            _ => return false,
        }
        true
    }

    fn change_folder(&mut self, target: &str) {
        // Another folder may be in another work tree.
        if self.shell.scope.top.as_deref() != Some(target) {
            self.shell.scope.top = None;
        }
        self.shell.folder = joined(&self.shell.folder, target);
    }

    fn prefix(&mut self, name: &str, arguments: &[String]) -> bool {
        if name == "env" {
            self.env(arguments);
            return true;
        }
        let Some(prefix) = PREFIXES.iter().find(|prefix| prefix.name == name) else { return false };
        if name == "command"
            && options::has(arguments, &["-v", "-V"])
            && arguments[0].starts_with('-')
        {
            return true;
        }
        let mut start = options::skip(arguments, prefix.valued) + prefix.own;
        start += self.assignments(arguments.get(start..).unwrap_or_default());
        let rest = arguments.get(start..).unwrap_or_default();
        let own = &arguments[..start.min(arguments.len())];
        let scope = self.shell.scope.clone();
        if OTHER_USER.contains(&name) {
            self.shell.scope.choose("HOME");
        }
        if matches!(name, "sudo" | "doas") && options::has(own, &["-s", "-i", "--shell", "--login"])
        {
            self.apart(|walk| walk.text(&rest.join(" ")));
        }
        self.deeper(|walk| walk.beyond_functions(rest));
        if OTHER_USER.contains(&name) {
            self.shell.scope = scope;
        }
        true
    }

    /// Judges the assignments before a command, and returns how many there are.
    fn assignments(&mut self, arguments: &[String]) -> usize {
        let assignments = arguments.iter().take_while(|it| is_assignment(it));
        assignments.inspect(|text| self.environment(text)).count()
    }

    fn env(&mut self, arguments: &[String]) {
        const VALUED: &[&str] = &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"];
        let outer = self.shell.clone();
        let mut start = options::skip(arguments, VALUED).min(arguments.len());
        let own = &arguments[..start];
        let is_bare = arguments.get(start).is_some_and(|it| it == "-");
        start += usize::from(is_bare);
        if let Some(folder) = options::value(own, &["-C", "--chdir"]) {
            self.shell.folder = joined(&self.shell.folder, folder);
        }
        if is_bare || options::has(own, &["-i", "--ignore-environment", "-u", "--unset"]) {
            self.shell.scope.choose("HOME");
        }
        match split_string(arguments) {
            Some((line, rest)) => self.text_with(&line, rest),
            None => {
                let count = self.assignments(&arguments[start..]);
                let (settings, command) = arguments[start..].split_at(count);
                self.program(&with_settings(command.to_vec(), settings));
            }
        }
        self.shell.scope = outer.scope;
        self.shell.folder = outer.folder;
    }

    pub(crate) fn shell_program(&mut self, name: &str, arguments: &[String]) {
        let mut at = 0;
        let (mut is_line, mut is_input) = (false, false);
        // Without executing, a script is only checked.
        if matches!(arguments.first().map(String::as_str), Some("--version" | "--help" | "-n")) {
            return;
        }
        while let Some(argument) = arguments.get(at) {
            match argument.as_str() {
                "--" | "-" => {
                    at += 1;
                    break;
                }
                "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" => at += 1,
                "--command" => is_line = true,
                it if it.starts_with("--") => {}
                it if it.starts_with(['-', '+']) => {
                    is_line |= it.contains('c');
                    is_input |= it.contains('s');
                    at += usize::from(it.ends_with(['o', 'O']));
                }
                _ => break,
            }
            at += 1;
        }
        let rest = arguments.get(at..).unwrap_or_default();
        let arguments_after =
            |skipped| Some(rest.get(skipped..).unwrap_or_default().to_vec().into());
        self.apart(|walk| match rest.first() {
            Some(line) if is_line => {
                walk.shell.scope.arguments = arguments_after(2);
                walk.shell.scope.set("0", rest.get(1).cloned());
                walk.text(line);
            }
            Some(path) if !is_input && path != "/dev/stdin" => {
                walk.script(path, &rest[1..], Reader::Shell);
            }
            _ => {
                walk.shell.scope.arguments = arguments_after(0);
                walk.shell_input(name);
            }
        });
    }

    /// A shell that reads its commands from standard input.
    pub(crate) fn shell_input(&mut self, name: &str) {
        match self.shell.input.clone() {
            // Later keystrokes reach it without being judged.
            Input::Inherited => {
                self.unknowable(&format!("`{name}` would take commands that come later"));
            }
            Input::Text(text) => self.apart(|walk| {
                walk.shell.input = Input::Unknown;
                walk.text(&text);
            }),
            Input::File(path) => self.script(&path, &[], Reader::Shell),
            Input::Unknown => {
                self.unknowable(&format!("what is piped into `{name}` is only known at run time"));
            }
        }
    }

    /// Judges a text that may be a line for a shell, or something else altogether.
    pub(crate) fn perhaps_line(&mut self, text: &str) {
        let before = self.deed.unknowable.clone();
        self.apart(|walk| walk.text(text));
        let is_read = !self.wants_room && !text.contains(UNKNOWN);
        if is_read && parse(text) == Err(Unparsed::Invalid) {
            self.deed.unknowable = before;
        }
    }

    /// A program that we do not know: a command among its arguments counts as started.
    pub(crate) fn stranger(&mut self, arguments: &[String]) {
        for argument in arguments {
            let path = argument.rsplit('=').next().unwrap_or(argument);
            self.touched(path, &spoken(arguments));
        }
        for (at, argument) in arguments.iter().enumerate() {
            let name = argument.rsplit('/').next().unwrap_or(argument);
            if FORGES.contains(&name) || (SHELLS.contains(&name) && at + 1 < arguments.len()) {
                return self.program(&arguments[at..]);
            }
            if LINE_OPTIONS.contains(&argument.as_str())
                && let Some(line) = arguments.get(at + 1)
                && line.contains(' ')
            {
                let written = self.deed.writes.len();
                let before = self.deed.unknowable.clone();
                self.perhaps_line(line);
                // In another language a `>` is no redirection, and much is not known.
                self.deed.writes.truncate(written);
                self.deed.unknowable = before;
            }
        }
    }

    /// Judges a script of the project.
    pub(crate) fn script(&mut self, path: &str, arguments: &[String], reader: Reader) {
        if path.contains(UNKNOWN) || self.shell.folder.contains(UNKNOWN) {
            return self.unknowable("which script is run is only known at run time");
        }
        let path = joined(&self.shell.folder, path);
        let is_fresh = self.deed.writes.iter().any(
            |write| matches!(&write.target, crate::deed::Target::Path(written) if *written == path),
        );
        if is_fresh {
            return self.unknowable(&format!("{path} is written by the same command that runs it"));
        }
        if self.context.is_walled || reader == Reader::Kernel && is_wrapper(&path) {
            return;
        }
        if !self.look_once() {
            return;
        }
        let found = self.context.look.script(&path, reader);
        self.lines(found, &path, arguments);
    }

    /// Judges the shell lines that were found under a name.
    pub(crate) fn lines(&mut self, found: Script, name: &str, arguments: &[String]) {
        const SCRIPTS_DEEP: u32 = 3;
        match found {
            Script::Other => {}
            Script::TooLong => self.unknowable(&format!("{name} is longer than 64 KB")),
            Script::Absent => self.unknowable(&format!("{name} cannot be read")),
            Script::Shell(_) if self.script_depth >= SCRIPTS_DEEP => {
                self.unknowable("scripts run scripts too deeply to follow");
            }
            Script::Shell(text) => {
                self.script_depth += 1;
                self.bring_in(&text);
                let outer = self.shell.scope.arguments.replace(arguments.to_vec().into());
                self.text(&text);
                self.shell.scope.arguments = outer;
                self.script_depth -= 1;
            }
        }
    }
}

/// Whether a program is asked for its manual: its commands by name, then the question, and no option
/// that could take the question for its value.
fn asks_for_help(arguments: &[String]) -> bool {
    let Some((last, commands)) = arguments.split_last() else { return false };
    matches!(last.as_str(), "--help" | "-h")
        && !commands.is_empty()
        && commands.iter().all(|it| !it.starts_with('-') && !it.contains(UNKNOWN))
}

/// Whether a script of the project is one of those that only start a build or a test runner, which
/// are allowed by name.
fn is_wrapper(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    matches!(name, "gradlew" | "mvnw") || folder.ends_with("node_modules/.bin")
}

/// The text of `env -S`, alone or behind other letters, and what follows it.
fn split_string(arguments: &[String]) -> Option<(String, &[String])> {
    for (at, argument) in arguments.iter().enumerate() {
        let rest = match argument.strip_prefix("--split-string") {
            Some(rest) => rest.strip_prefix('=').unwrap_or(rest),
            None if !argument.starts_with('-') || argument.starts_with("--") => break,
            None => match argument.split_once('S') {
                Some((_, rest)) => rest,
                None => continue,
            },
        };
        let (line, after) = match rest {
            "" => (arguments.get(at + 1).cloned()?, at + 2),
            _ => (rest.to_owned(), at + 1),
        };
        return Some((line, arguments.get(after..).unwrap_or_default()));
    }
    None
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|char| char.is_alphanumeric() || char == '_')
    })
}

fn quoted(text: &str) -> String {
    // What is unknown stays so, as a variable that nothing sets.
    let unknown = format!("'\"${UNKNOWN_VARIABLE}\"'");
    let inner = text.replace('\'', "'\\''").replace(UNKNOWN, &unknown);
    format!("'{inner}'")
}
