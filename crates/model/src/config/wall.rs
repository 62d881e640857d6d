//! `[wall]`: what the system lets an agent's processes do.
//!
//! All of it but `require` opens something, so it counts from the person's own file only; the engine
//! refuses a repository's file that has it, or that requires less than the person does.

use crate::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Keys of `[wall]` that a repository cannot set.
pub const WALL_KEYS: [&str; 4] = ["build_folders", "caches", "readable", "mcp"];

/// `[wall]`: what the system lets an agent's processes do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WallConfig {
    /// Below which level of the wall nothing is done for an agent: none, c, b or a.
    pub require: WallLevel,
    /// Folders of a project that stay writable while writes are closed: what builds and tests
    /// leave behind. A person's own configuration only.
    pub build_folders: Vec<String>,
    /// Package caches below the home that are writable, beside the usual ones; and, by their whole
    /// path, other folders that agents may write. A person's own configuration only.
    pub caches: Vec<String>,
    /// What may be read below the home, beside the usual toolchains. A person's own configuration
    /// only.
    pub readable: Vec<String>,
    /// Servers of tools (MCP) that an agent program starts, by name. A person's own configuration
    /// only.
    pub mcp: BTreeMap<String, McpServerConfig>,
}

/// `[wall.mcp.NAME]`: a server of tools that an agent program starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpServerConfig {
    /// Variables of the environment that it keeps although they look like credentials.
    pub variables: Vec<String>,
}

/// How far a wall reaches: what is required, or what was there; more is greater.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WallLevel {
    /// Work goes on without a wall, with the guide alone.
    #[default]
    None,
    /// Files, signals and abstract sockets.
    C,
    /// Each call in namespaces of its own.
    B,
    /// The whole agent in namespaces.
    A,
}

impl WallLevel {
    pub const ALL: [Self; 4] = [Self::None, Self::C, Self::B, Self::A];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::C => "c",
            Self::B => "b",
            Self::A => "a",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

impl Default for WallConfig {
    fn default() -> Self {
        // What cargo, npm, Python, Gradle, Maven, Go, CMake and the usual test runners leave behind.
        let builds = [
            "target",
            "build",
            "dist",
            "out",
            "coverage",
            "node_modules/.cache",
            "node_modules/.vite",
            ".next/cache",
            ".gradle",
            ".pytest_cache",
            ".mypy_cache",
            ".ruff_cache",
            ".tox",
            ".nox",
            "__pycache__",
            ".turbo",
        ];
        Self {
            require: WallLevel::None,
            build_folders: builds.map(str::to_owned).to_vec(),
            caches: Vec::new(),
            readable: Vec::new(),
            mcp: BTreeMap::new(),
        }
    }
}

impl WallConfig {
    pub(super) fn check(&self) -> Vec<Diagnostic> {
        let lists = [
            ("build_folders", &self.build_folders),
            ("caches", &self.caches),
            ("readable", &self.readable),
        ];
        let mut findings = Vec::new();
        for (key, list) in lists {
            let is_sound = |path: &str| match path.strip_prefix('/') {
                Some(below) => key == "caches" && is_below(below),
                None => is_below(path),
            };
            for path in list.iter().filter(|path| !is_sound(path)) {
                let text = format!("`wall.{key}` has \"{path}\"");
                let finding = Diagnostic::error("out_of_range", text).path(format!("wall.{key}"));
                findings.push(finding.expected("a path below the folder, without `..`"));
            }
        }
        findings
    }
}

/// Whether a path stays below the folder that it is relative to, and is not that folder itself.
fn is_below(path: &str) -> bool {
    let parts = || path.split('/');
    parts().all(|part| !part.is_empty() && part != "." && part != ".." && part != ".git")
}
