//! Whether the hooks that were set up are still there and lead to a program.

use super::{agents, agents::is_executable, git_hooks, record::Record};
use crate::project::Project;
use std::{
    env,
    path::{Path, PathBuf},
};
use waypost_agent::{
    Product,
    registration::{self, Sharing},
};

/// How the hooks of this work tree are.
#[derive(Debug, Default)]
pub(crate) struct HookHealth {
    /// Settings that hold a hook of a program, below the root where they are.
    pub(crate) registered: Vec<(Product, String)>,
    /// Hooks of git's that lead to a program.
    pub(crate) git_hooks: Vec<String>,
    /// What is wrong, a line each.
    pub(crate) faults: Vec<String>,
}

/// Looks at every hook that is there or was noted.
pub(crate) fn examine_hooks(project: &Project) -> HookHealth {
    let record = Record::load(project);
    let mut health = HookHealth::default();
    let names = project.setup.programs.products().flat_map(|product| {
        let mut files = [Sharing::Private, Sharing::Shared]
            .map(|sharing| (product.settings_file(sharing), product))
            .to_vec();
        files.dedup();
        files
    });
    for (name, product) in names {
        let path = project.root().join(name);
        let text = agents::read_leniently(&path);
        match registration::registered_program(product, &text) {
            Some(program) if registration::is_registered(product, &text) => {
                let program = program.first().map_or("", String::as_str);
                if health.leads_somewhere(name, program) {
                    health.registered.push((product, name.to_owned()));
                }
            }
            Some(_) => health.faults.push(format!("a part of the hook in {name} is gone")),
            None if record.files.contains(&path) => {
                health.faults.push(format!("the hook in {name} is gone"));
            }
            None => {}
        }
    }
    for path in record.files.iter().filter(|path| git_hooks::is_hook(path)) {
        let name = path.strip_prefix(project.root()).unwrap_or(path).display().to_string();
        match git_hooks::program_of(path) {
            Some(program) => {
                if health.leads_somewhere(&name, &program) {
                    health.git_hooks.push(name);
                }
            }
            None => health.faults.push(format!("the hook in {name} is gone")),
        }
    }
    health
}

impl HookHealth {
    /// Whether the program that a hook calls is there; it is a fault if not.
    fn leads_somewhere(&mut self, name: &str, program: &str) -> bool {
        let is_there = is_there(program);
        if !is_there {
            self.faults.push(format!("the hook in {name} calls {program}, which is not there"));
        }
        is_there
    }
}

/// Whether a program can be started by this path or name.
pub(super) fn is_there(program: &str) -> bool {
    if program.contains('/') {
        return is_executable(Path::new(program));
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&folders).collect();
    folders.iter().any(|folder| is_executable(&folder.join(program)))
}
