//! From a spec to a process: which program, with or without a shell, and what a failure means.
//!
//! Programs are looked up here, in the child's own `PATH`: the standard library would do that by
//! copying this whole process first, which costs more than everything else together.

use crate::{
    clock,
    spec::{CHILD_VARIABLE, KEEPER_VARIABLE, Program, Refusal, Spec},
};
use rustix::{fs::Access, io::Errno};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, PipeReader, PipeWriter},
    os::unix::{ffi::OsStrExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command},
    time::{Duration, Instant},
};

const SHELL: &str = "/bin/sh";
/// Where programs are looked for if the child has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// How long a place that was found for a program counts as the first in its `PATH`.
const FOUND_LASTS: Duration = Duration::from_millis(100);

/// First words that mean something else to a shell than the program of that name.
const SHELL_WORDS: &[&str] = &[
    ".", ":", "[", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue",
    "declare", "do", "done", "echo", "elif", "else", "esac", "eval", "exec", "exit", "export",
    "fg", "fi", "for", "function", "getopts", "hash", "if", "in", "jobs", "kill", "let", "local",
    "printf", "pwd", "read", "readonly", "return", "select", "set", "shift", "source", "test",
    "then", "time", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset",
    "until", "wait", "while",
];

/// The child's ends of its pipes.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Its stderr, and its stdout unless that is spoken with.
    pub(crate) log: PipeWriter,
    /// Its stdin and its stdout.
    pub(crate) talk: Option<(PipeReader, PipeWriter)>,
}

/// Starts the children of one keeper.
#[derive(Debug)]
pub(crate) struct Starter {
    keeper: String,
    /// What children read that are not spoken with; opening it for each would cost more than this.
    nothing: File,
    /// What was looked up last: the next child often is the same program.
    found: Option<FoundProgram>,
}

/// A program that was looked up.
#[derive(Debug)]
struct FoundProgram {
    name: OsString,
    folder: PathBuf,
    path: String,
    file: PathBuf,
    at: Instant,
}

impl Starter {
    pub(crate) fn new(keeper: String) -> io::Result<Self> {
        Ok(Self { keeper, nothing: File::open("/dev/null")?, found: None })
    }

    /// The file of a program, which was looked up just now or is looked up.
    fn find(&mut self, name: &OsStr, folder: &Path, path: &str) -> Option<PathBuf> {
        let now = clock::now();
        let is_same = |found: &&FoundProgram| {
            found.name == name
                && found.path == path
                && found.folder == folder
                && now < found.at + FOUND_LASTS
                && is_program(&found.file)
        };
        if let Some(found) = self.found.as_ref().filter(is_same) {
            return Some(found.file.clone());
        }
        let file = look_up(name, folder, path)?;
        let (name, folder, path) = (name.to_owned(), folder.to_owned(), path.to_owned());
        self.found = Some(FoundProgram { name, folder, path, file: file.clone(), at: now });
        Some(file)
    }

    pub(crate) fn start(&mut self, spec: &Spec, ends: &Ends) -> Result<Child, Refusal> {
        if !spec.folder.is_absolute() {
            return Err(impossible(format!("{} is not absolute", spec.folder.display())));
        }
        let path = spec.environment.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map_or(PATH_DEFAULT, |(_, value)| value);
        match &spec.program {
            Program::Argv(words) => {
                let Some(name) = words.first() else {
                    return Err(impossible("no program is given".into()));
                };
                let program = self
                    .find(name, &spec.folder, path)
                    .ok_or_else(|| impossible(format!("there is no program {}", name.display())))?;
                self.spawn(spec, &program, words, ends).map_err(|e| unstartable(spec, &program, &e))
            }
            Program::Shell(text) => {
                if let Some(words) = plain_words(text)
                    && let Some(program) = self.find(&words[0], &spec.folder, path)
                {
                    match self.spawn(spec, &program, &words, ends) {
                        // Only a shell runs a script that does not say by what.
                        Err(e) if e.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => {}
                        started => return started.map_err(|e| unstartable(spec, &program, &e)),
                    }
                }
                let words = ["sh", "-c", text].map(OsString::from);
                let started = self.spawn(spec, Path::new(SHELL), &words, ends);
                started.map_err(|e| unstartable(spec, Path::new(SHELL), &e))
            }
        }
    }

    fn spawn(
        &self,
        spec: &Spec,
        program: &Path,
        words: &[OsString],
        ends: &Ends,
    ) -> io::Result<Child> {
        #[expect(clippy::disallowed_methods, reason = "here processes are started")]
        let mut command = Command::new(program);
        command.arg0(&words[0]).args(&words[1..]).current_dir(&spec.folder).process_group(0);
        command.env_clear().envs(spec.environment.iter().map(|(name, value)| (name, value)));
        command.env(KEEPER_VARIABLE, &self.keeper).env(CHILD_VARIABLE, &spec.id);
        match &ends.talk {
            Some((input, output)) => command.stdin(input.try_clone()?).stdout(output.try_clone()?),
            None => command.stdin(self.nothing.try_clone()?).stdout(ends.log.try_clone()?),
        };
        command.stderr(ends.log.try_clone()?);
        command.spawn()
    }
}

fn impossible(detail: String) -> Refusal {
    Refusal::Impossible { detail }
}

/// Why a program cannot be started, with its name.
fn unstartable(spec: &Spec, program: &Path, error: &io::Error) -> Refusal {
    let name = match program.strip_prefix(&spec.folder) {
        Ok(below) => Path::new(".").join(below.strip_prefix("./").unwrap_or(below)),
        Err(_) => program.to_owned(),
    };
    let name = name.display();
    let why = match error.kind() {
        _ if !spec.folder.is_dir() => return refusal(spec, error),
        io::ErrorKind::NotFound if program.exists() => {
            "the program that its first line names is not there".to_owned()
        }
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied if program.is_dir() => "it is a folder".to_owned(),
        io::ErrorKind::PermissionDenied if !is_program(program) => {
            "it is not executable (`chmod +x`)".to_owned()
        }
        _ => error.to_string(),
    };
    match refusal(spec, error) {
        Refusal::Busy { .. } => Refusal::Busy { detail: format!("cannot start {name}: {why}") },
        _ => impossible(format!("cannot start {name}: {why}")),
    }
}

/// Tells a failure that another try may cure from one that it cannot.
pub(crate) fn refusal(spec: &Spec, error: &io::Error) -> Refusal {
    let detail = match error.kind() {
        io::ErrorKind::NotFound if !spec.folder.is_dir() => {
            format!("there is no folder {}", spec.folder.display())
        }
        _ => error.to_string(),
    };
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    match code {
        Some(
            Errno::AGAIN
            | Errno::NOMEM
            | Errno::MFILE
            | Errno::NFILE
            | Errno::TXTBSY
            | Errno::NOSPC,
        ) => Refusal::Busy { detail },
        _ => Refusal::Impossible { detail },
    }
}

/// The file that a program's name means in a folder and a `PATH`, as `execvp` sees it.
fn look_up(name: &OsStr, folder: &Path, path: &str) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.as_bytes().contains(&b'/') {
        // Whatever is wrong with it, starting it will say so.
        return Some(folder.join(name));
    }
    let mut file = PathBuf::new();
    let is_found = path.split(':').any(|entry| {
        file.clear();
        file.extend([folder.as_os_str(), OsStr::new(entry), name]);
        is_program(&file)
    });
    is_found.then_some(file)
}

fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, Access::EXEC_OK).is_ok() && file.metadata().is_ok_and(|f| f.is_file())
}

/// The words of a text in which a shell would find nothing to do but start them.
fn plain_words(text: &str) -> Option<Vec<OsString>> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+, \t".contains(c);
    let text = text.trim_matches([' ', '\t', '\n']);
    if !text.chars().all(is_plain) {
        return None;
    }
    let words: Vec<&str> = text.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let first = words.first()?;
    if first.contains('=') || SHELL_WORDS.contains(first) {
        return None;
    }
    Some(words.into_iter().map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_what_a_shell_would_merely_start_goes_without_one() {
        let plain = |text: &str| {
            plain_words(text).map(|words| words.join(OsStr::new("|")).into_string().unwrap())
        };
        let table = [
            ("true", Some("true")),
            ("  cargo test -p x --all=1\n", Some("cargo|test|-p|x|--all=1")),
            ("./a.sh\t한글", Some("./a.sh|한글")),
            ("", None),
            ("A=1 true", None),
            ("cd /tmp", None),
            ("exit 3", None),
            ("echo -n x", None),
            ("a | b", None),
            ("a && b", None),
            ("a; b", None),
            ("a\nb", None),
            ("a > b", None),
            ("a 'b'", None),
            ("a $B", None),
            ("a ~/b", None),
            ("a *.c", None),
            ("a # b", None),
            ("a {b,c}", None),
            ("a \\b", None),
            ("! a", None),
        ];
        for (text, want) in table {
            assert_eq!(plain(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn the_shells_words_are_sorted_for_the_eye() {
        assert!(SHELL_WORDS.is_sorted());
    }

    /// Makes empty files with their modes.
    fn make(folder: &Path, files: &[(&str, u32)]) {
        for (name, mode) in files {
            let file = folder.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            drop(File::create(&file).unwrap());
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(*mode)).unwrap();
        }
    }

    #[test]
    fn a_program_is_found_as_execvp_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        make(at, &[("one/tool", 0o644), ("two/tool", 0o755), ("here", 0o755)]);
        std::fs::create_dir_all(at.join("one/folder")).unwrap();
        let check = |name: &str, path: &str, want: Option<&str>| {
            let want = want.map(|want| at.join(want));
            assert_eq!(look_up(OsStr::new(name), at, path), want, "{name} in {path}");
        };
        check("tool", "one:two", Some("two/tool"));
        check("folder", "one", None);
        check("here", "", Some("here"));
        check("here", "one:two", None);
        check("./here", "one", Some("./here"));
        check("no/such", "one", Some("no/such"));
        check("", "one", None);
    }

    #[test]
    fn what_was_found_before_has_to_be_there_still() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        make(at, &[("one/tool", 0o755), ("two/tool", 0o755), ("two/other", 0o755)]);
        let mut starter = Starter::new("keeper".into()).unwrap();
        let mut find = |name: &str, path: &str| starter.find(OsStr::new(name), at, path);
        assert_eq!(find("tool", "one:two"), Some(at.join("one/tool")));
        assert_eq!(find("other", "one:two"), Some(at.join("two/other")));
        assert_eq!(find("tool", "one:two"), Some(at.join("one/tool")));
        assert_eq!(find("tool", "two"), Some(at.join("two/tool")), "another PATH");
        assert_eq!(find("tool", "one:two"), Some(at.join("one/tool")));
        std::fs::remove_file(at.join("one/tool")).unwrap();
        assert_eq!(find("tool", "one:two"), Some(at.join("two/tool")));
        std::fs::remove_file(at.join("two/tool")).unwrap();
        assert_eq!(find("tool", "one:two"), None);
    }
}
