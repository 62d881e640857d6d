//! Scripts and task runners of the project: what they run is judged as if it were written out.
//!
//! Compilers, test runners and package managers are allowed by what they are; only the named lines
//! that a project keeps for them are read.

use crate::deed::{Reader, Recipe, Runner, Script};
use crate::options::{self, positionals};
use crate::protected::joined;
use crate::walk::Walk;
use crate::word::UNKNOWN;

/// Words with which a package manager runs something of its own rather than a script.
const PACKAGE_WORDS: &[&str] = &[
    "install",
    "i",
    "ci",
    "add",
    "remove",
    "uninstall",
    "update",
    "upgrade",
    "outdated",
    "audit",
    "ls",
    "list",
    "info",
    "view",
    "init",
    "why",
    "link",
    "pack",
    "version",
    "config",
    "cache",
    "help",
];

impl Walk<'_> {
    /// Judges a script or the target of a task runner; false if it is neither.
    pub(crate) fn script_program(&mut self, word: &str, name: &str, arguments: &[String]) -> bool {
        match name {
            "make" | "gmake" => self.make(arguments),
            "npm" | "pnpm" | "yarn" | "bun" => self.package(name, arguments),
            "just" => self.just(arguments),
            _ if word.contains('/') => self.script(word, arguments, Reader::Kernel),
            _ => return false,
        }
        true
    }

    /// Judges the named lines of a task runner.
    fn recipe(&mut self, job: &Job, name: &str, arguments: &[String]) {
        let folder = joined(&self.shell.folder, &job.folder);
        let texts = [name, folder.as_str(), job.file.as_deref().unwrap_or_default()];
        if texts.iter().any(|text| text.contains(UNKNOWN)) {
            return self.unknowable("which target is made is only known at run time");
        }
        if self.context.is_walled || !self.look_once() {
            return;
        }
        let file = job.file.as_deref();
        let (runner, settings) = (job.runner, job.settings.as_slice());
        let found =
            self.context.look.recipe(&Recipe { runner, folder: &folder, file, name, settings });
        // What the runner does not know either, it refuses itself.
        if found == Script::Absent && file.is_none() {
            return;
        }
        self.apart(|walk| {
            walk.shell.folder = folder;
            walk.lines(found, name, arguments);
        });
    }

    fn make(&mut self, arguments: &[String]) {
        const VALUED: &[&str] =
            &["-C", "-f", "-I", "-o", "-W", "--directory", "--file", "--makefile", "--eval"];
        if options::has(arguments, &["--eval"]) {
            return self.unknowable("make is given rules that are not the project's");
        }
        const SPECIAL: &[&str] =
            &["SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "MAKE"];
        let is_special = |it: &String| {
            it.split_once('=')
                .is_some_and(|(name, _)| SPECIAL.contains(&name.trim_end_matches([':', '+', '?'])))
        };
        if arguments.iter().any(is_special) {
            return self.unknowable("make is told to work in a way of its own");
        }
        let files = options::values(arguments, &["-f", "--file", "--makefile"]);
        if files.len() > 1 {
            return self.unknowable("make is given rules in several files");
        }
        let folders = options::values(arguments, &["-C", "--directory"]);
        let (settings, targets): (Vec<&str>, Vec<&str>) =
            positionals(arguments, VALUED).into_iter().partition(|it| it.contains('='));
        let job = Job {
            runner: Runner::Make,
            folder: folders.iter().fold(String::new(), |folder, each| joined(&folder, each)),
            file: files.first().map(|&file| file.to_owned()),
            settings: settings.into_iter().map(str::to_owned).collect(),
        };
        if targets.is_empty() {
            self.recipe(&job, "", &[]);
        }
        targets.iter().for_each(|target| self.recipe(&job, target, &[]));
    }

    fn package(&mut self, name: &str, arguments: &[String]) {
        const FOLDERS: &[&str] = &["-C", "--prefix", "--cwd", "--dir"];
        const PACKAGES: &[&str] = &["--filter", "-w", "--workspace"];
        let valued = [FOLDERS, PACKAGES].concat();
        let own = arguments.split(|it| it == "--").next().unwrap_or_default();
        let folder = options::value(own, FOLDERS).unwrap_or_default();
        let mut jobs = vec![Job::new(Runner::Npm, folder)];
        if let Some(package) = options::value(own, PACKAGES) {
            // Where a package is cannot be told by its name; these are the usual places.
            let base = package.rsplit('/').next().unwrap_or(package);
            let places = [package.to_owned(), format!("packages/{base}"), format!("apps/{base}")];
            jobs.extend(places.iter().map(|place| Job::new(Runner::Npm, &joined(folder, place))));
        }
        options::values(own, &["--script-shell"]).iter().for_each(|line| self.text(line));
        let named = positionals(arguments, &valued);
        let rest = |skipped: usize| -> Vec<String> {
            named.iter().skip(skipped).map(|&it| it.to_owned()).collect()
        };
        match named.as_slice() {
            ["run" | "run-script" | "rum" | "urn", script, ..] => {
                self.package_script(&jobs, script, &rest(2));
            }
            ["exec" | "x" | "dlx", ..] => match options::value(own, &["-c", "--call"]) {
                Some(line) => self.apart(|walk| walk.text(line)),
                None => self.program(&rest(1)),
            },
            ["test" | "t" | "tst" | "start" | "stop" | "restart" | "publish" | "prepare", ..] => {
                let script = if matches!(named[0], "t" | "tst") { "test" } else { named[0] };
                self.package_script(&jobs, script, &rest(1));
            }
            // Installing a project runs the lines that it keeps for that.
            [] | ["install" | "i" | "ci" | "install-test" | "it"]
                if name != "bun" || !named.is_empty() =>
            {
                for script in ["install", "prepare"] {
                    self.package_script(&jobs, script, &[]);
                }
            }
            [word, ..] if name != "npm" && !PACKAGE_WORDS.contains(word) => {
                self.package_script(&jobs, word, &rest(1));
            }
            [word, ..] if word.contains(UNKNOWN) => {
                self.unknowable("which script is run is only known at run time");
            }
            _ => {}
        }
    }

    fn package_script(&mut self, jobs: &[Job], script: &str, arguments: &[String]) {
        for job in jobs {
            for stage in ["pre", "", "post"] {
                self.recipe(job, &format!("{stage}{script}"), arguments);
            }
        }
    }

    fn just(&mut self, arguments: &[String]) {
        const VALUED: &[&str] =
            &["-f", "--justfile", "-d", "--working-directory", "--shell", "--dotenv-path", "-E"];
        if options::has(arguments, &["-c", "--command", "--shell", "--set"]) {
            return self.unknowable("just is given more than the project's recipes");
        }
        let asks =
            ["-l", "--list", "--summary", "--show", "-s", "--dump", "--evaluate", "--version"];
        if asks.iter().any(|option| arguments.iter().any(|it| it == option)) {
            return;
        }
        let (settings, names): (Vec<&str>, Vec<&str>) =
            positionals(arguments, VALUED).into_iter().partition(|it| it.contains('='));
        let folder = options::value(arguments, &["-d", "--working-directory"]).unwrap_or_default();
        let mut job = Job::new(Runner::Just, folder);
        job.settings = settings.into_iter().map(str::to_owned).collect();
        // A named file is relative to where just was started.
        let file = options::value(arguments, &["-f", "--justfile"]);
        job.file = file.map(|file| match folder {
            "" => file.to_owned(),
            _ => joined(&"../".repeat(folder.split('/').count()), file),
        });
        if names.is_empty() {
            self.recipe(&job, "", &[]);
        }
        names.iter().for_each(|name| self.recipe(&job, name, &[]));
    }
}

/// How a task runner is started.
struct Job {
    runner: Runner,
    folder: String,
    file: Option<String>,
    settings: Vec<String>,
}

impl Job {
    fn new(runner: Runner, folder: &str) -> Self {
        Self { runner, folder: folder.to_owned(), file: None, settings: Vec::new() }
    }
}
