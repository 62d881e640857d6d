//! Runs the tests with the real agent programs against our scripted model.
//!
//! The programs are installed by npm into the target folder, in versions that are known to work, and
//! nowhere else. They run in an empty environment and talk to loopback only, so no account and no key
//! is needed. Where they cannot be had (no npm, no registry) we say what is skipped and are content:
//! nobody's gate depends on a service being up.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::command_line::{CommandLine, is_on_path, target};
use crate::install::{self, Purpose};
use crate::test::Runner;

/// An agent program: its package, and where the package for this machine keeps the real thing.
///
/// The program is called directly, because the package's own starter needs a newer node than some
/// machines have, and a script at install time that npm may be told not to run.
#[derive(Debug)]
struct Agent {
    package: &'static str,
    /// A version that the tests have been seen to pass with.
    version: &'static str,
    /// The path below `node_modules`; a `*` stands for the rest of a name.
    program: &'static [&'static str],
    /// What tells the tests where it is.
    variable: &'static str,
}

const AGENTS: &[Agent] = &[
    Agent {
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        program: &["@anthropic-ai", "claude-code-*", "claude"],
        variable: "WAYPOST_E2E_CLAUDE",
    },
    Agent {
        package: "@openai/codex",
        version: "0.166.0",
        program: &["@openai", "codex-*", "vendor", "*", "bin", "codex"],
        variable: "WAYPOST_E2E_CODEX",
    },
];

pub(crate) fn run() -> Result<()> {
    let folder = target().join("e2e");
    // Folders of tests that failed were left for a look; by now somebody has had it.
    let _nothing = std::fs::remove_dir_all(folder.join("scratch"));
    let modules = folder.join("npm").join("node_modules");
    install_agents(&folder.join("npm"), &modules)?;
    let programs: Vec<(&Agent, PathBuf)> = AGENTS
        .iter()
        .filter_map(|agent| find(&modules, agent.program).map(|program| (agent, program)))
        .collect();
    for agent in AGENTS {
        if programs.iter().all(|(found, _)| found.package != agent.package) {
            println!("skipped: end-to-end tests with {}: it could not be installed", agent.package);
        }
    }
    if programs.is_empty() {
        return Ok(());
    }
    for line in lines(Runner::find(), &folder, &programs) {
        println!("running {line}");
        line.run()?;
    }
    Ok(())
}

/// Installs what is missing or has another version, as far as this machine lets us.
fn install_agents(prefix: &Path, modules: &Path) -> Result<()> {
    let is_there =
        |agent: &Agent| installed_version(modules, agent.package) == Some(agent.version.to_owned());
    if AGENTS.iter().all(is_there) {
        return Ok(());
    }
    install::ensure(Purpose::EndToEnd)?;
    if !is_on_path("npm") {
        return Ok(());
    }
    std::fs::create_dir_all(prefix)?;
    let line = install_line(prefix);
    println!("running {line}");
    // What did not arrive is told by name afterwards.
    if let Err(error) = line.run() {
        println!("warning: {error:#}");
    }
    Ok(())
}

fn install_line(prefix: &Path) -> CommandLine {
    let prefix = prefix.to_string_lossy().into_owned();
    CommandLine::new("npm", ["install", "--prefix", &prefix])
        .with(["--no-audit", "--no-fund", "--loglevel=error"])
        // A registry that does not answer is given up on after a minute or two.
        .with(["--fetch-retries=1", "--fetch-timeout=60000"])
        .with(AGENTS.iter().map(|agent| format!("{}@{}", agent.package, agent.version)))
}

fn installed_version(modules: &Path, package: &str) -> Option<String> {
    let text = std::fs::read_to_string(modules.join(package).join("package.json")).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(manifest.get("version")?.as_str()?.to_owned())
}

/// The first file that fits the pattern below `folder`.
fn find(folder: &Path, pattern: &[&str]) -> Option<PathBuf> {
    let Some((name, rest)) = pattern.split_first() else {
        return folder.is_file().then(|| folder.to_owned());
    };
    let Some(start) = name.strip_suffix('*') else { return find(&folder.join(name), rest) };
    let mut names: Vec<_> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    names.sort();
    let mut fitting = names.iter().filter(|name| name.to_string_lossy().starts_with(start));
    fitting.find_map(|name| find(&folder.join(name), rest))
}

/// What builds our programs, and what runs the tests.
///
/// Both take the whole workspace, as `cargo xtask test` does: with fewer packages cargo chooses other
/// features for what they share, and builds everything a second time.
fn lines(runner: Runner, folder: &Path, programs: &[(&Agent, PathBuf)]) -> [CommandLine; 2] {
    let test = match runner {
        Runner::Nextest => CommandLine::cargo("nextest run --workspace --test e2e"),
        Runner::Cargo => CommandLine::cargo("test --workspace --test e2e"),
    };
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut test = test
        .variable("WAYPOST_E2E_BIN", &text(target().join("debug")))
        .variable("WAYPOST_E2E_SCRATCH", &text(folder.join("scratch")));
    for (agent, program) in programs {
        test = test.variable(agent.variable, &text(program.clone()));
    }
    [CommandLine::cargo("build --workspace --bins --test e2e"), test]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_installed_in_their_versions_and_nowhere_else() {
        assert_eq!(
            install_line(Path::new("out")).to_string(),
            "npm install --prefix out --no-audit --no-fund --loglevel=error --fetch-retries=1 \
             --fetch-timeout=60000 @anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0"
        );
    }

    #[test]
    fn the_tests_are_told_where_everything_is() {
        let codex = (&AGENTS[1], PathBuf::from("/n/codex"));
        let [build, test] = lines(Runner::Nextest, Path::new("/t/e2e"), &[codex]);
        assert_eq!(build.to_string(), "cargo build --workspace --bins --test e2e");
        let bin = target().join("debug");
        assert_eq!(
            test.to_string(),
            format!(
                "WAYPOST_E2E_BIN={} WAYPOST_E2E_SCRATCH=/t/e2e/scratch WAYPOST_E2E_CODEX=/n/codex \
                 cargo nextest run --workspace --test e2e",
                bin.display()
            )
        );
    }

    #[test]
    fn a_program_is_found_in_the_package_for_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("@openai/codex-any/vendor/any-machine/bin");
        assert_eq!(find(folder.path(), AGENTS[1].program), None);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::create_dir_all(folder.path().join("@openai/codex-aaa")).unwrap();
        assert_eq!(find(folder.path(), AGENTS[1].program), None);
        std::fs::write(place.join("codex"), "").unwrap();
        assert_eq!(find(folder.path(), AGENTS[1].program), Some(place.join("codex")));
    }

    #[test]
    fn only_the_wanted_version_counts_as_installed() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("@openai/codex");
        assert_eq!(installed_version(folder.path(), "@openai/codex"), None);
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("package.json"), r#"{"version": "0.1.0"}"#).unwrap();
        let version = installed_version(folder.path(), "@openai/codex");
        assert_eq!(version.as_deref(), Some("0.1.0"));
    }
}
