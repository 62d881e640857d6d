//! What an enclosure follows from: the folders around a call, and the rights of the moment.

use std::path::PathBuf;
use waypost_model::workflow::Rights;

/// Everything that a plan needs to know. All paths are absolute and without links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The projects that have a say, the one that the call is made in first.
    pub projects: Vec<Project>,
    /// What all of them together let an agent do now.
    pub rights: Rights,
    /// The user's homes: `$HOME`, and the one that the system knows.
    pub homes: Vec<PathBuf>,
    /// Other folders with people's homes, hidden whole.
    pub other_homes: Vec<PathBuf>,
    /// The user's folders of Waypost: configuration and state.
    pub user_folders: Vec<PathBuf>,
    /// The folder of our own programs.
    pub programs: PathBuf,
    /// What in a project tells agent programs what to run: files and folders below its root.
    pub settings: Vec<String>,
    /// What stays writable below one of `settings`.
    pub writable_settings: Vec<String>,
    /// What a call may read below a home, beside the toolchains that everyone has.
    pub readable: Vec<String>,
    /// What it may write below a home: caches of packages, never programs.
    pub caches: Vec<String>,
    /// Folders of a project that stay writable while writes are closed.
    pub build_folders: Vec<String>,
    /// What is read-only wherever it is: repositories on this machine that are pushed to.
    pub read_only: Vec<PathBuf>,
    /// Caches and build folders that variables of the environment name.
    pub named_caches: Vec<PathBuf>,
    /// Whether sockets in `/tmp` can be hidden. Landlock has no say in who connects to one, and with something
    /// hidden in it the folder would be closed for new files.
    pub hides_sockets: bool,
    /// Whether the call runs as root, to which files of the system are no secret.
    pub is_root: bool,
}

/// A work tree with a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The top of the work tree.
    pub root: PathBuf,
    /// The repository that all its work trees share; none outside git.
    pub git_common: Option<PathBuf>,
    /// The git folder of this work tree: the same, or its registration there.
    pub git_folder: Option<PathBuf>,
    /// The journal's folder.
    pub state: PathBuf,
    /// Folders outside of it that its agents hand things to each other in: those of a session's files, which are in
    /// the repository's own work tree.
    pub shared: Vec<PathBuf>,
    /// Patterns of what may be written while writes are closed and the design is open.
    pub design_paths: Vec<String>,
}

impl Project {
    /// The git folders of the repository and of its work tree, which are often the same.
    pub(crate) fn git_folders(&self) -> impl Iterator<Item = &PathBuf> {
        let own = self.git_folder.as_ref().filter(|own| Some(*own) != self.git_common.as_ref());
        self.git_common.iter().chain(own)
    }
}

/// Toolchains and plain settings below a home that every call may read.
pub const READABLE: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".config/git/attributes",
    ".config/git/ignore",
    ".config/nvim",
    ".deno/bin",
    ".dotnet",
    ".fnm",
    ".ghcup",
    ".gitignore",
    ".gitignore_global",
    ".goenv",
    ".gradle/wrapper",
    ".jenv",
    ".juliaup",
    ".konan",
    ".local/bin",
    ".local/lib",
    ".local/opt",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".nodenv",
    ".nvm",
    ".opam",
    ".phpenv",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".stack/programs",
    ".volta",
    ".cache/Cypress",
    ".cache/ms-playwright",
    ".cache/pre-commit",
    ".cache/puppeteer",
    ".npm-global",
    "go/bin",
    "sdk",
];

/// Caches of packages below a home; none of them is a folder of programs that a person runs by name.
pub const CACHES: &[&str] = &[
    ".bun/install/cache",
    ".cabal/packages",
    ".cache/bazel",
    ".cache/ccache",
    ".cache/composer",
    ".cache/deno",
    ".cache/go-build",
    ".cache/node",
    ".cache/node-gyp",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/sccache",
    ".cache/typescript",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/git",
    ".cargo/registry",
    ".ccache",
    ".composer/cache",
    ".gradle/caches",
    ".gradle/daemon",
    ".gradle/native",
    ".gradle/notifications",
    ".ivy2/cache",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".npm/_cacache",
    ".npm/_logs",
    ".npm/_npx",
    ".nuget/packages",
    ".pub-cache/hosted",
    ".yarn/berry/cache",
    "go/pkg",
];

/// Variables that name a cache or a build folder outside of its usual place.
pub const NAMED_CACHES: &[&str] = &[
    "CARGO_TARGET_DIR",
    "CCACHE_DIR",
    "GOCACHE",
    "GOMODCACHE",
    "NPM_CONFIG_CACHE",
    "PIP_CACHE_DIR",
    "SCCACHE_DIR",
    "UV_CACHE_DIR",
    "YARN_CACHE_FOLDER",
    "npm_config_cache",
];
