//! Scripts and task runners of the project: what they run is judged as if it were written out.
//!
//! Compilers, test runners and package managers are allowed by what they are; only the named lines
//! that a project keeps for them are read.

use crate::deed::Runner;
use crate::options::{self, positionals};
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
            _ if word.contains('/') => self.script(word, arguments),
            _ => return false,
        }
        true
    }

    fn recipe(&mut self, runner: Runner, name: &str, arguments: &[String]) {
        if name.contains(UNKNOWN) {
            return self.unknowable("which target is made is only known at run time");
        }
        let found = self.context.look.recipe(runner, name);
        // What the runner does not know either, it refuses itself.
        if found != crate::deed::Script::Absent {
            self.apart(|walk| walk.lines(found, name, arguments));
        }
    }

    fn make(&mut self, arguments: &[String]) {
        const VALUED: &[&str] =
            &["-C", "-f", "-I", "-o", "-W", "--directory", "--file", "--makefile", "--eval"];
        if options::has(arguments, &["--eval", "--file", "--makefile"])
            || arguments.iter().any(|it| it.starts_with("-f"))
        {
            return self.unknowable("make is given rules that are not the project's");
        }
        let named = positionals(arguments, VALUED);
        let targets: Vec<&str> = named.into_iter().filter(|it| !it.contains('=')).collect();
        if targets.is_empty() {
            self.recipe(Runner::Make, "", &[]);
        }
        targets.iter().for_each(|target| self.recipe(Runner::Make, target, &[]));
    }

    fn package(&mut self, name: &str, arguments: &[String]) {
        let named =
            positionals(arguments, &["-C", "--prefix", "--filter", "-w", "--workspace", "--cwd"]);
        let rest = |skipped: usize| -> Vec<String> {
            named.iter().skip(skipped).map(|&it| it.to_owned()).collect()
        };
        match named.as_slice() {
            ["run" | "run-script" | "rum" | "urn", script, ..] => {
                for stage in ["pre", "", "post"] {
                    self.recipe(Runner::Npm, &format!("{stage}{script}"), &rest(2));
                }
            }
            ["exec" | "x" | "dlx", ..] => self.program(&rest(1)),
            ["test" | "t" | "start" | "stop" | "restart" | "publish" | "prepare", ..] => {
                let script = if named[0] == "t" { "test" } else { named[0] };
                self.recipe(Runner::Npm, script, &rest(1));
            }
            [word, ..] if name != "npm" && !PACKAGE_WORDS.contains(word) => {
                self.recipe(Runner::Npm, word, &rest(1));
            }
            [word, ..] if word.contains(UNKNOWN) => {
                self.unknowable("which script is run is only known at run time");
            }
            _ => {}
        }
    }

    fn just(&mut self, arguments: &[String]) {
        const VALUED: &[&str] = &["-f", "--justfile", "-d", "--working-directory", "--set"];
        let named = positionals(arguments, VALUED);
        if named.is_empty() && arguments.iter().all(|it| !it.starts_with('-')) {
            self.recipe(Runner::Just, "", &[]);
        }
        named.iter().for_each(|name| self.recipe(Runner::Just, name, &[]));
    }
}
