//! Runs the tests with the real agent programs against our scripted model, and with other clients of our
//! server of tools.
//!
//! The programs are installed by npm into the target folder, in versions that are known to work, and
//! nowhere else; a library for Python goes into an environment there. They run in an empty environment and talk to loopback only, so no account and no key
//! is needed. Where they cannot be had (no npm, no registry) their tests are skipped, and the last
//! line says which and why: no gate depends on a service being up.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::command_line::{CommandLine, is_on_path, target};
use crate::install::{self, Purpose};
use crate::test::Runner;
use crate::wall;

/// An agent program, or another program that is a client of ours: its package, and where the package for
/// this machine keeps the real thing.
///
/// The program is called directly, because the package's own starter needs a newer node than some
/// machines have, and a script at install time that npm may be told not to run.
#[derive(Debug)]
struct Client {
    name: &'static str,
    /// What the names of its tests contain.
    word: &'static str,
    package: &'static str,
    /// A version that the tests have been seen to pass with.
    version: &'static str,
    /// The path below `node_modules`; a `*` stands for the rest of a name.
    program: &'static [&'static str],
    /// What tells the tests where it is.
    variable: &'static str,
    /// Whether node runs it.
    needs_node: bool,
}

/// What Gemini CLI asks for; machines may have an older one for other purposes. The Inspector asks for a
/// newer one, and was seen to work with this.
const NODE_VERSION_MIN: u32 = 20;

/// The official library for Python, and the version that the tests have been seen to pass with.
const LIBRARY: (&str, &str) = ("mcp", "2.3.0");

/// A program that the tests run with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Usable {
    name: &'static str,
    version: &'static str,
    variable: &'static str,
    path: PathBuf,
}

/// The tests of a program that are not run, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Skipped {
    name: &'static str,
    word: &'static str,
    reason: String,
}

const CLIENTS: &[Client] = &[
    Client {
        name: "Claude Code",
        word: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        program: &["@anthropic-ai", "claude-code-*", "claude"],
        variable: "WAYPOST_E2E_CLAUDE",
        needs_node: false,
    },
    Client {
        name: "Codex",
        word: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        program: &["@openai", "codex-*", "vendor", "*", "bin", "codex"],
        variable: "WAYPOST_E2E_CODEX",
        needs_node: false,
    },
    Client {
        name: "Gemini CLI",
        word: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        program: &["@google", "gemini-cli", "bundle", "gemini.js"],
        variable: "WAYPOST_E2E_GEMINI",
        needs_node: true,
    },
    Client {
        name: "MCP Inspector",
        word: "inspector",
        package: "@modelcontextprotocol/inspector",
        version: "2.12.0",
        program: &[
            "@modelcontextprotocol",
            "inspector",
            "clients",
            "launcher",
            "build",
            "index.js",
        ],
        variable: "WAYPOST_E2E_INSPECTOR",
        needs_node: true,
    },
];

pub(crate) fn run() -> Result<()> {
    let folder = target().join("e2e");
    // Folders of tests that failed were left for a look; by now a person has had it.
    let _nothing = std::fs::remove_dir_all(folder.join("scratch"));
    let modules = folder.join("npm").join("node_modules");
    let trouble = install_clients(&folder.join("npm"), &modules)?;
    let (mut programs, mut skipped) = (Vec::new(), Vec::new());
    for client in CLIENTS {
        let Client { name, word, version, variable, .. } = *client;
        match usable(client, &modules, trouble.as_deref()) {
            Ok(path) => programs.push(Usable { name, version, variable, path }),
            Err(reason) => skipped.push(Skipped { name, word, reason }),
        }
    }
    match python_library(&folder.join("python")) {
        Ok(program) => programs.push(program),
        Err(reason) => skipped.push(Skipped { name: LIBRARY_NAME, word: "python_sdk", reason }),
    }
    note(&folder, &skipped)?;
    if !programs.is_empty() {
        for line in lines(Runner::find(), &folder, &programs, &skipped).map(wall::required) {
            println!("running {line}");
            line.run()?;
        }
    }
    println!("{}", summary(&programs, &skipped));
    Ok(())
}

/// The last line: with which programs the tests ran, and which were skipped for what reason.
fn summary(programs: &[Usable], skipped: &[Skipped]) -> String {
    let ran = programs.iter().map(|it| format!("{} {}", it.name, it.version));
    let ran: Vec<String> = ran.collect();
    let ran = if ran.is_empty() { "no program".to_owned() } else { ran.join(", ") };
    let skipped: Vec<String> = skipped.iter().map(skip_line).collect();
    match skipped.is_empty() {
        true => format!("end-to-end tests: passed with {ran}"),
        false => format!("end-to-end tests: passed with {ran}; skipped: {}", skipped.join("; ")),
    }
}

fn skip_line(skipped: &Skipped) -> String {
    format!("{} ({})", skipped.name, skipped.reason)
}

/// Where the last run says what it skipped, for those that report at the very end.
fn note_path(folder: &Path) -> PathBuf {
    folder.join("skipped.txt")
}

fn note(folder: &Path, skipped: &[Skipped]) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let lines: Vec<String> = skipped.iter().map(skip_line).collect();
    let text = match lines.is_empty() {
        true => String::new(),
        false => format!("skipped: end-to-end tests with {}\n", lines.join("; ")),
    };
    Ok(std::fs::write(note_path(folder), text)?)
}

/// What the last run of these tests has skipped, in one line; nothing if it ran them all.
pub(crate) fn skipped() -> Option<String> {
    let text = std::fs::read_to_string(note_path(&target().join("e2e"))).unwrap_or_default();
    Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
}

/// What the library is called in the last line.
const LIBRARY_NAME: &str = "MCP Python SDK";

/// The Python that has the library, installed by pip into an environment of its own.
fn python_library(folder: &Path) -> Result<Usable, String> {
    let (package, version) = LIBRARY;
    let python = folder.join("bin/python");
    let check =
        format!("import importlib.metadata as m; assert m.version('{package}') == '{version}'");
    let is_there = || {
        python.is_file() && CommandLine::new(&python.to_string_lossy(), ["-c", &check]).succeeds()
    };
    if !is_there() {
        install::ensure(Purpose::EndToEnd).map_err(|error| format!("{error:#}"))?;
        if !is_on_path("python3") {
            return Err("python3 is not installed".to_owned());
        }
        for line in library_lines(folder) {
            println!("running {line}");
            if let Err(error) = line.run() {
                println!("warning: {error:#}");
                return Err("pip could not install it; is its index reachable?".to_owned());
            }
        }
    }
    match is_there() {
        true => {
            Ok(Usable { name: LIBRARY_NAME, version, variable: "WAYPOST_E2E_PYTHON", path: python })
        }
        false => Err("it is not installed".to_owned()),
    }
}

fn library_lines(folder: &Path) -> [CommandLine; 2] {
    let (package, version) = LIBRARY;
    let wanted = format!("{package}=={version}");
    let python = folder.join("bin/python").to_string_lossy().into_owned();
    let folder = folder.to_string_lossy().into_owned();
    [
        CommandLine::new("python3", ["-m", "venv", &folder]),
        CommandLine::new(&python, ["-m", "pip", "install", "--quiet"]).with([
            "--disable-pip-version-check",
            "--retries",
            "1",
            &wanted,
        ]),
    ]
}

/// The program, or why its tests cannot run.
fn usable(client: &Client, modules: &Path, trouble: Option<&str>) -> Result<PathBuf, String> {
    let version = installed_version(modules, client.package);
    if version.as_deref() != Some(client.version) {
        return Err(trouble.unwrap_or("it is not installed").to_owned());
    }
    let Some(program) = find(modules, client.program) else {
        return Err("its package has no program for this machine".to_owned());
    };
    if client.needs_node && !has_node() {
        return Err(format!("it needs node {NODE_VERSION_MIN} or newer"));
    }
    Ok(program)
}

fn has_node() -> bool {
    let check =
        format!("process.exit(parseInt(process.versions.node) < {NODE_VERSION_MIN} ? 1 : 0)");
    is_on_path("node") && CommandLine::new("node", ["-e", &check]).succeeds()
}

/// Installs what is missing or has another version, as far as this machine lets us. Says why not.
fn install_clients(prefix: &Path, modules: &Path) -> Result<Option<String>> {
    let is_there =
        |it: &Client| installed_version(modules, it.package) == Some(it.version.to_owned());
    if CLIENTS.iter().all(is_there) {
        return Ok(None);
    }
    install::ensure(Purpose::EndToEnd)?;
    if !is_on_path("npm") {
        return Ok(Some("npm is not installed".to_owned()));
    }
    std::fs::create_dir_all(prefix)?;
    let line = install_line(prefix);
    println!("running {line}");
    // What did not arrive is told by name afterwards.
    Ok(line.run().err().map(|error| {
        println!("warning: {error:#}");
        "npm could not install it; is its registry reachable?".to_owned()
    }))
}

fn install_line(prefix: &Path) -> CommandLine {
    let prefix = prefix.to_string_lossy().into_owned();
    CommandLine::new("npm", ["install", "--prefix", &prefix])
        .with(["--no-audit", "--no-fund", "--loglevel=error"])
        // A registry that does not answer is given up on after a minute or two.
        .with(["--fetch-retries=1", "--fetch-timeout=60000"])
        .with(CLIENTS.iter().map(|client| format!("{}@{}", client.package, client.version)))
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
fn lines(
    runner: Runner,
    folder: &Path,
    programs: &[Usable],
    skipped: &[Skipped],
) -> [CommandLine; 2] {
    let words = skipped.iter().map(|it| it.word);
    let test = match runner {
        Runner::Nextest => {
            let line = CommandLine::cargo("nextest run --workspace --test e2e --run-ignored all");
            let left_out: Vec<String> = words.map(|word| format!("not test({word})")).collect();
            match left_out.is_empty() {
                true => line,
                false => line.with(["-E", &left_out.join(" and ")]),
            }
        }
        Runner::Cargo => {
            let line = CommandLine::cargo("test --workspace --test e2e -- --include-ignored");
            line.with(words.flat_map(|word| ["--skip", word]))
        }
    };
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut test = test
        .variable("WAYPOST_E2E_BIN", &text(target().join("debug")))
        .variable("WAYPOST_E2E_SCRATCH", &text(folder.join("scratch")));
    for program in programs {
        test = test.variable(program.variable, &text(program.path.clone()));
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
             --fetch-timeout=60000 @anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0 \
             @google/gemini-cli@0.61.0 @modelcontextprotocol/inspector@2.12.0"
        );
        assert_eq!(
            library_lines(Path::new("out")).map(|line| line.to_string()),
            [
                "python3 -m venv out",
                "out/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 \
                 mcp==2.3.0"
            ]
        );
    }

    #[test]
    fn the_tests_are_told_where_everything_is() {
        let Client { name, version, variable, .. } = CLIENTS[1];
        let codex = Usable { name, version, variable, path: PathBuf::from("/n/codex") };
        let skipped = CLIENTS.iter().take(3).filter(|it| it.word != "codex").map(|it| Skipped {
            name: it.name,
            word: it.word,
            reason: "npm is not installed".to_owned(),
        });
        let skipped: Vec<Skipped> = skipped.collect();
        let folder = Path::new("/t/e2e");
        let [build, test] = lines(Runner::Nextest, folder, std::slice::from_ref(&codex), &skipped);
        assert_eq!(build.to_string(), "cargo build --workspace --bins --test e2e");
        let bin = target().join("debug");
        assert_eq!(
            test.to_string(),
            format!(
                "WAYPOST_E2E_BIN={} WAYPOST_E2E_SCRATCH=/t/e2e/scratch WAYPOST_E2E_CODEX=/n/codex \
                 cargo nextest run --workspace --test e2e --run-ignored all \
                 -E 'not test(claude) and not test(gemini)'",
                bin.display()
            )
        );
        let [_, test] = lines(Runner::Cargo, folder, std::slice::from_ref(&codex), &skipped);
        let want =
            "cargo test --workspace --test e2e -- --include-ignored --skip claude --skip gemini";
        assert!(test.to_string().ends_with(want), "{test}");
        assert_eq!(
            summary(&[codex], &skipped),
            "end-to-end tests: passed with Codex 0.166.0; skipped: Claude Code (npm is not \
             installed); Gemini CLI (npm is not installed)"
        );
    }

    #[test]
    fn what_was_skipped_is_kept_for_the_end_of_the_gate() {
        let folder = tempfile::tempdir().unwrap();
        let text = || std::fs::read_to_string(note_path(folder.path())).unwrap();
        let reason = "npm could not install it; is its registry reachable?".to_owned();
        note(folder.path(), &[Skipped { name: "Codex", word: "codex", reason }]).unwrap();
        assert_eq!(
            text(),
            "skipped: end-to-end tests with Codex (npm could not install it; is its registry \
             reachable?)\n"
        );
        note(folder.path(), &[]).unwrap();
        assert_eq!(text(), "");
    }

    #[test]
    fn a_program_that_is_not_there_has_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let found = usable(&CLIENTS[1], folder.path(), Some("npm is not installed"));
        assert_eq!(found, Err("npm is not installed".to_owned()));
    }

    #[test]
    fn a_program_is_found_in_the_package_for_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("@openai/codex-any/vendor/any-machine/bin");
        assert_eq!(find(folder.path(), CLIENTS[1].program), None);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::create_dir_all(folder.path().join("@openai/codex-aaa")).unwrap();
        assert_eq!(find(folder.path(), CLIENTS[1].program), None);
        std::fs::write(place.join("codex"), "").unwrap();
        assert_eq!(find(folder.path(), CLIENTS[1].program), Some(place.join("codex")));
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
