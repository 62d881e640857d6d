//! The agent programs that Waypost knows: a folder for each, and a line in one table.
//!
//! A new program is a folder here with its `AgentProgram`, its `mod` line and its line in `BUILT_IN`.
//! Everything else finds it through the table, or through the adapters and products that it brings.

mod acp;
mod claude;
mod codex;
mod gemini;
mod plain;

use crate::{
    adapter::Adapter, endpoint::Rehearsal, prices::Models, product::Product, registration::Sharing,
    setup::Setup,
};
use std::{borrow::Cow, net::SocketAddr};
use waypost_model::{
    layout::SettingsFile,
    tool::{Tool, ToolKind},
};

pub use plain::MESSAGE_END;

/// What Waypost brings along.
pub static BUILT_IN: Programs = Programs(Cow::Borrowed(&[
    &claude::PROGRAM,
    &codex::PROGRAM,
    &acp::PROGRAM,
    &gemini::PROGRAM,
    &plain::PROGRAM,
]));

/// The way in which our own scripted agent speaks if nothing else is wanted.
pub const SIMULATED: Adapter = Adapter::CLAUDE;

/// All that is known of an agent program, but for what its adapters and its product tell.
#[derive(Clone, Copy, Debug)]
pub struct AgentProgram {
    /// The name of its file; none for a protocol that many programs speak.
    pub file: Option<&'static str>,
    /// The ways to talk to it.
    pub adapters: &'static [Adapter],
    /// What it is as an agent without any configuration.
    pub agents: &'static [KnownAgent],
    /// Its tools that write files or run commands.
    pub tools: &'static [Tool],
    /// What is known of its hook.
    pub product: Option<Product>,
    /// The models of its vendor.
    pub models: Option<&'static Models>,
    /// How it comes onto a machine.
    pub setup: Option<&'static Setup>,
    /// Settings files in a project beside those that its hook is registered in.
    pub more_settings: &'static [&'static str],
    /// What in a project or a home tells it what to run next time: files, and folders with all in
    /// them.
    pub instructions: &'static [&'static str],
    /// The folder below a home in which it writes plans for its person.
    pub plans: Option<&'static str>,
    /// Its folder in a project, whose files tell it what to run.
    pub folder: Option<&'static str>,
    /// What its shell calls read below the user's home; never what it signs in with.
    pub shell_files: &'static [&'static str],
    /// What the program itself keeps below the user's home.
    pub own: HomeFiles,
    /// The name by which it looks up the shell for its calls, where it can be told no other way to make them.
    pub shell_by_name: Option<&'static str>,
    /// Where it is told which servers of tools to start: below a project or the user's home.
    pub server_files: &'static [&'static str],
    /// In which variable it names its conversation to the commands it runs.
    pub conversation_variable: Option<&'static str>,
    /// In which variable it tells a hook what it takes for the project.
    pub project_variable: Option<&'static str>,
    /// How it is made to talk to a scripted model.
    pub rehearsal: Option<fn(SocketAddr) -> Rehearsal>,
}

impl AgentProgram {
    /// A program of which nothing is known.
    pub const UNKNOWN: Self = Self {
        file: None,
        adapters: &[],
        agents: &[],
        tools: &[],
        product: None,
        models: None,
        setup: None,
        more_settings: &[],
        instructions: &[],
        plans: None,
        folder: None,
        shell_files: &[],
        own: HomeFiles::NONE,
        shell_by_name: None,
        server_files: &[],
        conversation_variable: None,
        project_variable: None,
        rehearsal: None,
    };
}

/// What a program keeps below the user's home: what it signs in with, its conversations, its settings.
#[derive(Clone, Copy, Debug)]
pub struct HomeFiles {
    /// Folders that it reads and writes. A later process of it finds there what an earlier one has left.
    pub folders: &'static [&'static str],
    /// Folders in these with what its other processes run: each process gets empty ones of its own.
    pub unshared: &'static [&'static str],
    /// Files that it writes all the time and that also tell it what to run: a process works on a copy, which
    /// goes with it. With each, what a new one holds.
    pub copied: &'static [(&'static str, &'static str)],
    /// Files that tell it what to run, and are not an agent's to change.
    pub settings: &'static [&'static str],
    /// Folders with such files, and with programs of its own.
    pub settings_folders: &'static [&'static str],
    /// The variable that names another place, and what that stands for: one of the folders, or the home.
    pub moved_by: Option<(&'static str, &'static str)>,
}

impl HomeFiles {
    pub const NONE: Self = Self {
        folders: &[],
        unshared: &[],
        copied: &[],
        settings: &[],
        settings_folders: &[],
        moved_by: None,
    };
}

/// An agent that needs no configuration.
#[derive(Clone, Copy, Debug)]
pub struct KnownAgent {
    pub name: &'static str,
    pub adapter: Adapter,
    /// The program and its first arguments.
    pub command: &'static [&'static str],
}

/// Agent programs that are known together. Each adapter, agent and product has a word of its own.
#[derive(Clone, Debug)]
pub struct Programs(Cow<'static, [&'static AgentProgram]>);

impl Programs {
    /// The same and one more.
    #[must_use]
    pub fn with(&self, program: &'static AgentProgram) -> Self {
        let mut programs = self.0.to_vec();
        programs.push(program);
        Self(programs.into())
    }

    pub fn all(&self) -> impl DoubleEndedIterator<Item = &'static AgentProgram> {
        self.0.iter().copied()
    }

    /// The program with this name of its file.
    pub fn program(&self, file: &str) -> Option<&'static AgentProgram> {
        self.all().find(|program| program.file == Some(file))
    }

    pub fn adapters(&self) -> impl Iterator<Item = Adapter> {
        self.all().flat_map(|program| program.adapters).copied()
    }

    /// The adapter of a word.
    pub fn adapter(&self, word: &str) -> Option<Adapter> {
        self.adapters().find(|adapter| adapter.as_str() == word)
    }

    /// The agents that need no configuration.
    pub fn agents(&self) -> impl Iterator<Item = &'static KnownAgent> {
        self.all().flat_map(|program| program.agents)
    }

    pub fn products(&self) -> impl DoubleEndedIterator<Item = Product> {
        self.all().filter_map(|program| program.product)
    }

    /// What is known of a tool.
    pub fn tool(&self, name: &str) -> Option<Tool> {
        self.tools().find(|tool| tool.name == name)
    }

    pub fn tools(&self) -> impl Iterator<Item = Tool> {
        self.all().flat_map(|program| program.tools).copied()
    }

    /// The names of the tools that run a command in a shell.
    pub fn shells(&self) -> Vec<&'static str> {
        let shells = self.tools().filter(|tool| tool.kind == ToolKind::Shell);
        shells.map(|tool| tool.name).collect()
    }

    /// The files and folders of a project in which its agent programs are told what to run, and
    /// whether to ask our hook before.
    pub fn settings_files(&self) -> Vec<SettingsFile> {
        let mut files = Vec::new();
        for program in self.all() {
            let ways = [Sharing::Private, Sharing::Shared];
            let of_hook = program.product.map(|product| ways.map(|it| product.settings_file(it)));
            let of_hook = of_hook.into_iter().flatten().map(|path| (path, true));
            let server = program.product.and_then(|product| product.server_settings());
            let server = server.into_iter().map(|settings| settings.file);
            let more = program.more_settings.iter().chain(program.instructions).copied();
            let more = more.chain(server).map(|path| (path, false));
            files.extend(
                of_hook
                    .chain(more)
                    .map(|(path, is_known_by_name)| SettingsFile { path, is_known_by_name }),
            );
        }
        files.dedup();
        files
    }

    /// The product of a word.
    pub fn product(&self, word: &str) -> Option<Product> {
        self.products().find(|product| product.as_str() == word)
    }
}

/// Those that Waypost brings along.
impl Default for Programs {
    fn default() -> Self {
        BUILT_IN.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_word_of_the_table_is_there_once() {
        let adapters: Vec<&str> = BUILT_IN.adapters().map(Adapter::as_str).collect();
        assert_eq!(adapters, ["claude", "codex", "codex-exec", "acp", "plain"]);
        let products: Vec<&str> = BUILT_IN.products().map(Product::as_str).collect();
        assert_eq!(products, ["claude", "codex", "gemini"]);
        let agents: Vec<&str> = BUILT_IN.agents().map(|agent| agent.name).collect();
        assert_eq!(agents, ["claude", "codex", "codex-exec", "gemini"]);
        let files: Vec<&str> = BUILT_IN.all().filter_map(|it| it.file).collect();
        let tools: Vec<&str> = BUILT_IN.tools().map(|tool| tool.name).collect();
        for words in [adapters, products, agents, files, tools] {
            let unique: BTreeSet<&str> = words.iter().copied().collect();
            assert_eq!(unique.len(), words.len(), "{words:?}");
        }
    }
}
