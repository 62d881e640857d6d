//! Where programs are found that judge an agent's work.
//!
//! An agent has its own `PATH` in its hands: a `cargo` of its making in front of the real one would pass every
//! test. So folders are known by what they are, whatever the environment says: those of the system, and those
//! below a person's home in which tools for languages put their programs. Within the wall an agent can
//! write to none of them. What lies elsewhere is named by a person, with a `PATH` in `[session.test_env]`.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Below a home, in the order in which a login shell usually has them: what a person has chosen a version with comes
/// before what was installed by hand.
const OF_HOME: &[&str] = &[
    ".cargo/bin",
    ".pyenv/shims",
    ".rbenv/shims",
    ".nodenv/shims",
    ".goenv/shims",
    ".jenv/shims",
    ".phpenv/shims",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".volta/bin",
    ".local/share/fnm/aliases/default/bin",
    ".fnm/aliases/default/bin",
    ".bun/bin",
    ".deno/bin",
    ".dotnet",
    ".ghcup/bin",
    ".juliaup/bin",
    ".local/share/pnpm",
    ".npm-global/bin",
    "go/bin",
    ".nix-profile/bin",
    ".local/bin",
];

/// Folders of the system; which of them there are depends on it.
const OF_SYSTEM: &[&str] = &[
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
    "/usr/local/go/bin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/snap/bin",
];

/// Versions of Node that nvm has installed, and the file that says which one a new shell has.
const NVM_VERSIONS: &str = ".nvm/versions/node";
const NVM_DEFAULT: &str = ".nvm/alias/default";

/// What SDKMAN has installed; each has a link `current`.
const SDKMAN: &str = ".sdkman/candidates";

/// The folders of programs that there are, for a person with this home.
pub(crate) fn known_folders(home: &Path) -> Vec<PathBuf> {
    let own = OF_HOME.iter().map(|name| home.join(name));
    let all = own.chain(nvm(home)).chain(sdkman(home)).chain(OF_SYSTEM.iter().map(PathBuf::from));
    // A home that is not known would make them relative.
    all.filter(|folder| folder.is_absolute() && folder.is_dir()).collect()
}

/// The version that a new shell would have, else the newest one.
fn nvm(home: &Path) -> Option<PathBuf> {
    let chosen = fs::read_to_string(home.join(NVM_DEFAULT)).unwrap_or_default();
    let chosen = numbers(&chosen);
    let mut versions: Vec<(Vec<u64>, PathBuf)> = below(&home.join(NVM_VERSIONS))
        .into_iter()
        .filter_map(|folder| Some((numbers(folder.file_name()?.to_str()?), folder)))
        .filter(|(version, _)| !version.is_empty())
        .collect();
    versions.sort();
    let is_chosen = |(version, _): &&(Vec<u64>, PathBuf)| version.starts_with(&chosen);
    let found = versions.iter().rfind(is_chosen).or_else(|| versions.last());
    found.map(|(_, folder)| folder.join("bin"))
}

/// `v20.11.1` and `20` as numbers; nothing for a name such as `lts/*`.
fn numbers(version: &str) -> Vec<u64> {
    let version = version.trim();
    let parts = version.strip_prefix('v').unwrap_or(version).split('.');
    parts.map(str::parse).collect::<Result<_, _>>().unwrap_or_default()
}

fn sdkman(home: &Path) -> Vec<PathBuf> {
    let mut found = below(&home.join(SDKMAN));
    found.sort();
    found.into_iter().map(|folder| folder.join("current/bin")).collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those below the home, from there.
    fn of_home(home: &Path) -> Vec<String> {
        let below = |folder: PathBuf| Some(folder.strip_prefix(home).ok()?.display().to_string());
        known_folders(home).into_iter().filter_map(below).collect()
    }

    #[test]
    fn folders_of_tools_come_before_those_of_the_system_and_only_where_they_are() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        assert!(of_home(home).is_empty());
        for name in [".local/bin", ".cargo/bin", ".pyenv/shims", "bin", ".sdkman/candidates/java"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::create_dir_all(home.join(".sdkman/candidates/maven/current/bin")).unwrap();
        let want =
            [".cargo/bin", ".pyenv/shims", ".local/bin", ".sdkman/candidates/maven/current/bin"];
        assert_eq!(of_home(home), want);
        let all = known_folders(home);
        let at = |name: &str| all.iter().position(|it| it == Path::new(name)).unwrap();
        assert!(at("/usr/bin") >= want.len());
        assert!(known_folders(Path::new("")).iter().all(|it| it.is_absolute()));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file of another program")]
    fn of_several_versions_of_node_there_is_the_one_that_a_new_shell_has() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        for version in ["v9.1.0", "v18.19.0", "v20.2.0", "v20.11.1", "v22.0.0", "old"] {
            fs::create_dir_all(home.join(NVM_VERSIONS).join(version).join("bin")).unwrap();
        }
        fs::create_dir_all(home.join(".nvm/alias")).unwrap();
        for (alias, want) in [
            ("20\n", "v20.11.1"),
            ("v18.19.0", "v18.19.0"),
            ("lts/*", "v22.0.0"),
            ("16", "v22.0.0"),
            ("", "v22.0.0"),
        ] {
            fs::write(home.join(NVM_DEFAULT), alias).unwrap();
            assert_eq!(of_home(home), [format!("{NVM_VERSIONS}/{want}/bin")], "{alias}");
        }
    }
}
