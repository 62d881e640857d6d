//! Programs that start others in ways of their own: by their options, by what they read, later.
//!
//! Where the text of a command is known it is judged; where it is not, the deed is unknowable.

use crate::deed::{Reader, Script, UNKNOWN_VARIABLE};
use crate::options;
use crate::program::SHELLS;
use crate::protected::joined;
use crate::walk::{Input, Walk, spoken};
use crate::word::UNKNOWN;

/// Programs whose arguments are lines for a shell.
const SHELL_LINES: &[&str] = &["ssh", "tmux", "screen", "nix-shell", "hyperfine"];

impl Walk<'_> {
    /// Judges what a program starts in a way of its own; false if it is none of these.
    pub(crate) fn starter(&mut self, name: &str, fields: &[String]) -> bool {
        let arguments = &fields[1..];
        match name {
            "xargs" => self.xargs(arguments),
            "find" | "gfind" => self.find(fields),
            "parallel" => self.parallel(arguments),
            "watch" => {
                let start = options::skip(arguments, &["-n", "--interval", "-q", "--equexit"]);
                self.words_as_line(arguments.get(start..).unwrap_or_default());
            }
            "entr" => self.entr(arguments),
            "at" | "batch" => match options::value(arguments, &["-f"]) {
                Some(path) => self.script(path, &[], Reader::Shell),
                None => self.shell_input(name),
            },
            "crontab" => self.crontab(fields),
            "flock" => {
                let start = options::skip(arguments, &["-w", "-E", "--timeout"]) + 1;
                // A process that holds our lock keeps the gate from answering.
                let lock = arguments.get(start - 1);
                lock.iter().for_each(|path| self.touched(path, &spoken(fields)));
                let rest = arguments.get(start..).unwrap_or_default();
                match options::value(rest, &["-c", "--command"]) {
                    Some(line) => self.text(line),
                    None => self.program(rest),
                }
            }
            "su" | "runuser" | "sg" => self.other_user(name, arguments),
            "script" => self.typescript(fields),
            _ if SHELLS.contains(&name) => self.shell_program(name, arguments),
            _ if SHELL_LINES.contains(&name) => {
                self.proxies(arguments);
                let start = options::skip(arguments, &["-n", "-p", "-i", "-l", "-o", "-j"]);
                let lines = arguments.iter().skip(start).filter(|it| it.contains(' '));
                lines.for_each(|line| self.perhaps_line(line));
                if matches!(name, "tmux" | "screen") {
                    self.terminal(arguments);
                }
                self.stranger(arguments);
            }
            _ => return false,
        }
        true
    }

    /// A terminal of its own: what runs there is no child of the agent, and would pass for a person's.
    fn terminal(&mut self, arguments: &[String]) {
        for path in arguments.iter().filter(|it| it.contains('/') && !it.contains([' ', UNKNOWN])) {
            let whole = joined(&self.shell.folder, path);
            if self.look_once()
                && let Script::Shell(text) = self.context.look.script(&whole, Reader::Kernel)
            {
                self.apart(|walk| walk.lines(Script::Shell(text), path, &[]));
            }
        }
        // Keys may be given in pieces.
        let is_keys = |it: &String| matches!(it.as_str(), "send-keys" | "send" | "stuff");
        if let Some(at) = arguments.iter().position(is_keys) {
            let keys = options::positionals(&arguments[at + 1..], &["-t", "-N", "-X"]);
            let pieces = keys.into_iter().filter(|it| !["Enter", "C-m", "Space"].contains(it));
            self.perhaps_line(&pieces.collect::<String>());
        }
    }

    /// Judges the commands that a program is told to run by its options. What the program does
    /// besides is judged elsewhere.
    pub(crate) fn options_that_run(&mut self, name: &str, arguments: &[String]) {
        match name {
            "tar" | "gtar" | "bsdtar" => {
                const RUN: &[&str] = &[
                    "--to-command",
                    "--use-compress-program",
                    "-I",
                    "--info-script",
                    "--new-volume-script",
                    "-F",
                    "--rsh-command",
                    "--rmt-command",
                ];
                self.values_as_lines(arguments, RUN);
                let actions = options::values(arguments, &["--checkpoint-action"]);
                let lines = actions.iter().filter_map(|action| action.strip_prefix("exec="));
                lines.for_each(|line| self.text(line));
            }
            "rsync" => {
                self.values_as_lines(arguments, &["-e", "--rsh", "--rsync-path"]);
                let is_cluster = |it: &&[String]| {
                    it[0].starts_with('-') && !it[0].starts_with("--") && it[0].ends_with('e')
                };
                let pairs = arguments.windows(2).filter(is_cluster);
                pairs.for_each(|pair| self.text(&pair[1]));
            }
            "scp" | "sftp" => {
                self.values_as_lines(arguments, &["-S"]);
                self.proxies(arguments);
            }
            "man" => self.values_as_lines(arguments, &["-P", "--pager", "-H", "--html"]),
            "less" | "more" | "most" | "view" => {
                let lines = arguments.iter().filter(|it| it.starts_with('+'));
                let lines = lines.filter_map(|it| it.split_once('!'));
                lines.for_each(|(_, line)| self.text(line));
            }
            "sort" | "gsort" => self.values_as_lines(arguments, &["--compress-program"]),
            "rg" => self.values_as_lines(arguments, &["--pre", "--hostname-bin"]),
            "fd" | "fdfind" => self.fd(arguments),
            "zip" => self.values_as_lines(arguments, &["-TT", "--unzip-command"]),
            "split" => self.values_as_lines(arguments, &["--filter"]),
            _ => {}
        }
    }

    fn values_as_lines(&mut self, arguments: &[String], names: &[&str]) {
        options::values(arguments, names).iter().for_each(|line| self.text(line));
    }

    /// `-o ProxyCommand=…` and its kin of ssh.
    fn proxies(&mut self, arguments: &[String]) {
        for setting in options::values(arguments, &["-o"]) {
            let (key, line) = setting.split_once(['=', ' ']).unwrap_or((setting, ""));
            let key = key.trim().to_ascii_lowercase();
            if matches!(key.as_str(), "proxycommand" | "localcommand" | "knownhostscommand") {
                self.text(line.trim());
            }
        }
    }

    fn fd(&mut self, arguments: &[String]) {
        let is_run = |it: &String| matches!(it.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
        if let Some(at) = arguments.iter().position(is_run) {
            let command = arguments[at + 1..].iter().take_while(|it| *it != ";");
            let mut command: Vec<String> = command
                .map(|it| if it.starts_with('{') { "\0".to_owned() } else { it.clone() })
                .collect();
            command.push(UNKNOWN.to_string());
            self.program(&command);
        }
    }

    /// Words that a program joins and gives to a shell.
    fn words_as_line(&mut self, words: &[String]) {
        let unknown = format!("\"${UNKNOWN_VARIABLE}\"");
        let line = words.join(" ").replace(UNKNOWN, &unknown);
        self.apart(|walk| walk.text(&line));
    }

    fn parallel(&mut self, arguments: &[String]) {
        const VALUED: &[&str] = &[
            "-j",
            "-n",
            "-N",
            "-a",
            "--jobs",
            "-I",
            "-d",
            "-C",
            "--colsep",
            "--arg-file",
            "-L",
            "-S",
        ];
        let start = options::skip(arguments, VALUED);
        let rest = arguments.get(start..).unwrap_or_default();
        let end = rest.iter().position(|it| it.starts_with(":::")).unwrap_or(rest.len());
        let (command, given) = rest.split_at(end);
        if command.is_empty() && given.first().is_some_and(|it| it == ":::") {
            // The arguments are the commands.
            return given[1..].iter().for_each(|line| self.text(line));
        }
        if command.is_empty() {
            return self.unknowable("what parallel runs is only known at run time");
        }
        let is_place = |it: &String| it.contains('{') && it.contains('}');
        let mut words: Vec<String> = command.iter().map(|it| without_places(it)).collect();
        if !command.iter().any(is_place) {
            words.push(UNKNOWN.to_string());
        }
        self.words_as_line(&words);
    }

    fn entr(&mut self, arguments: &[String]) {
        let start = options::skip(arguments, &[]);
        let (own, rest) = arguments.split_at(start.min(arguments.len()));
        match rest {
            [line, ..] if options::has(own, &["-s"]) => self.apart(|walk| walk.text(line)),
            _ => {
                let words: Vec<String> = rest.iter().map(|it| it.replace("/_", "\0")).collect();
                self.program(&words);
            }
        }
    }

    /// Commands for a fixed time: judged as if they ran now.
    fn crontab(&mut self, fields: &[String]) {
        let arguments = &fields[1..];
        if options::has(arguments, &["-l"]) {
            return;
        }
        self.write_unknown(&spoken(fields));
        let named = options::positionals(arguments, &["-u"]);
        let is_input = named.is_empty() || named == ["-"];
        match self.shell.input.clone() {
            _ if options::has(arguments, &["-r"]) => {}
            Input::Text(text) if is_input => {
                text.lines().for_each(|line| self.text(timed_command(line)));
            }
            _ => self.unknowable("what crontab is given to run is not known here"),
        }
    }

    fn other_user(&mut self, name: &str, arguments: &[String]) {
        let line = options::value(arguments, &["-c", "--command", "--session-command"]);
        let user = options::value(arguments, &["-u", "--user"]);
        let own = if name == "sg" { 1 } else { 0 };
        match line {
            Some(line) => self.apart(|walk| {
                walk.shell.scope.choose("HOME");
                walk.text(line);
            }),
            None if name == "sg" || user.is_some() => {
                let start = options::skip(arguments, &["-u", "--user"]) + own;
                self.apart(|walk| {
                    walk.shell.scope.choose("HOME");
                    walk.words_as_line(arguments.get(start..).unwrap_or_default());
                });
            }
            None => self.shell_input(name),
        }
    }

    /// `script`, which records what a command prints.
    fn typescript(&mut self, fields: &[String]) {
        let arguments = &fields[1..];
        let is_line =
            |it: &String| it.starts_with('-') && !it.starts_with("--") && it.ends_with('c');
        let line = match arguments.iter().position(is_line) {
            Some(at) => arguments.get(at + 1).map(String::as_str),
            None => options::value(arguments, &["-c", "--command"]),
        };
        let start = options::skip(
            arguments,
            &["-c", "--command", "-E", "-m", "-o", "-I", "-O", "-B", "-T"],
        );
        let rest = arguments.get(start..).unwrap_or_default();
        let path = rest.iter().find(|it| Some(it.as_str()) != line);
        self.write(path.map_or("typescript", String::as_str), &spoken(fields), false);
        match line {
            Some(line) => self.apart(|walk| walk.text(line)),
            None => self.program(rest.get(1..).unwrap_or_default()),
        }
    }

    fn xargs(&mut self, arguments: &[String]) {
        const VALUED: &[&str] = &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-a",
            "-E",
            "-s",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
            "--max-lines",
        ];
        let start = options::skip(arguments, VALUED);
        let placeholder =
            options::value(&arguments[..start.min(arguments.len())], &["-I", "--replace"]);
        let own = &arguments[..start.min(arguments.len())];
        let is_default = own.iter().any(|it| it == "-i" || it == "--replace");
        let placeholder = if is_default { Some("{}") } else { placeholder };
        let command = arguments.get(start..).unwrap_or_default().iter();
        let mut command: Vec<String> = match placeholder {
            Some(mark) => command.map(|it| it.replace(mark, "\0")).collect(),
            None => command.cloned().chain([UNKNOWN.to_string()]).collect(),
        };
        if command.len() == 1 && placeholder.is_none() {
            // Without a command it echoes.
            command.clear();
        }
        let outer = std::mem::replace(&mut self.shell.input, Input::Unknown);
        self.program(&command);
        self.shell.input = outer;
    }

    fn find(&mut self, fields: &[String]) {
        let words = spoken(fields);
        let mut at = 1;
        while let Some(argument) = fields.get(at) {
            at += 1;
            match argument.as_str() {
                "-delete" => self.write_unknown(&words),
                "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                    let path = fields.get(at).map_or("\0", String::as_str);
                    self.write(path, &words, false);
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let rest = fields.get(at..).unwrap_or_default();
                    let end =
                        rest.iter().position(|it| it == ";" || it == "+").unwrap_or(rest.len());
                    let command: Vec<_> =
                        rest[..end].iter().map(|it| it.replace("{}", "\0")).collect();
                    self.program(&command);
                    at += end;
                }
                _ => {}
            }
        }
    }
}

/// A word of a command for `parallel`, with its places for arguments marked as not known.
fn without_places(word: &str) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inner, behind)) = after.split_once('}') else { break };
        text.push_str(before);
        // Letters and spaces inside make it something else of the shell's.
        if inner.contains(char::is_whitespace) {
            text.extend(["{", inner, "}"]);
        } else {
            text.push(UNKNOWN);
        }
        rest = behind;
    }
    text + rest
}

/// The command of a line of crontab.
fn timed_command(line: &str) -> &str {
    let line = line.trim();
    let is_time = |word: &str| word.starts_with('@');
    let fields = if line.split_whitespace().next().is_some_and(is_time) { 1 } else { 5 };
    let is_setting = line.split_whitespace().next().is_some_and(|word| word.contains('='));
    if line.starts_with('#') || is_setting {
        return "";
    }
    let mut rest = line;
    for _ in 0..fields {
        rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}
