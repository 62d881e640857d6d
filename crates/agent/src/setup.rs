//! How agent programs come onto a machine and are signed in, as far as that can be told without
//! starting them.
//!
//! What is said here is used to refuse work before it begins, so it errs on the other side: a
//! program counts as signed out only where nothing at all hints at an account.

use crate::{programs::Programs, versions::Version};

/// What would be there if a program were signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// How the names of variables begin that carry credentials or lead elsewhere for them.
    pub variables: &'static [&'static str],
    /// Files and folders, below the home folder unless they are absolute.
    pub files: &'static [&'static str],
    /// Files of a project, and the words in them that lead elsewhere for credentials.
    pub project: &'static [(&'static str, &'static [&'static str])],
    /// What a person does about it.
    pub remedy: &'static str,
}

/// How a program comes onto a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The command that installs it.
    pub install: &'static str,
    /// The oldest version with which our end-to-end tests of runs have been seen to pass.
    pub oldest: Version,
    /// By what its account is seen; none where its absence would prove nothing.
    pub sign_in: Option<SignIn>,
}

impl Programs {
    /// The command that installs a program.
    pub fn install_command(&self, program: &str) -> Option<&'static str> {
        self.program(program)?.setup.map(|setup| setup.install)
    }

    /// By what a program's account is seen; none where its absence would prove nothing.
    pub fn sign_in(&self, program: &str) -> Option<SignIn> {
        self.program(program)?.setup?.sign_in
    }
}
