//! How the tests of a project are run, by the files that it is built with.

/// A file of a build, and the command that follows from it.
type Found = (&'static str, String);

/// What the files of a project say about its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownTests {
    /// The command, and the file that it follows from.
    Command {
        command: String,
        from: &'static str,
    },
    /// Several builds stand side by side: a person says which.
    Several(Vec<&'static str>),
    Unknown,
}

/// The command by which a project is tested; `read` gives the text of a file in its root, `json_field` a text
/// inside of a JSON file.
pub fn find(
    read: &dyn Fn(&str) -> Option<String>,
    json_field: &dyn Fn(&str, &[&str]) -> Option<String>,
) -> KnownTests {
    let builds = [cargo(read), node(read, json_field), python(read), jvm(read), go(read)];
    let mut found: Vec<Found> = builds.into_iter().flatten().collect();
    if found.is_empty() {
        found.extend(make(read));
    }
    match found.as_slice() {
        [] => KnownTests::Unknown,
        [(from, command)] => KnownTests::Command { command: command.clone(), from },
        several => KnownTests::Several(several.iter().map(|(from, _)| *from).collect()),
    }
}

fn cargo(read: &dyn Fn(&str) -> Option<String>) -> Option<Found> {
    let text = read("Cargo.toml")?;
    let has_members = text.lines().any(|line| line.trim() == "[workspace]");
    let command = if has_members { "cargo test --workspace" } else { "cargo test" };
    Some(("Cargo.toml", command.to_owned()))
}

fn node(
    read: &dyn Fn(&str) -> Option<String>,
    json_field: &dyn Fn(&str, &[&str]) -> Option<String>,
) -> Option<Found> {
    let script = json_field("package.json", &["scripts", "test"])?;
    // What a new package has in place of tests.
    if script.trim().is_empty() || script.contains("no test specified") {
        return None;
    }
    let runners = [
        ("pnpm-lock.yaml", "pnpm test"),
        ("yarn.lock", "yarn test"),
        ("bun.lock", "bun run test"),
        ("bun.lockb", "bun run test"),
    ];
    let runner = runners.iter().find(|(file, _)| read(file).is_some());
    Some(("package.json", runner.map_or("npm test", |(_, command)| command).to_owned()))
}

fn python(read: &dyn Fn(&str) -> Option<String>) -> Option<Found> {
    let command = "python3 -m pytest".to_owned();
    for file in ["pytest.ini", "conftest.py", "tests/conftest.py"] {
        if read(file).is_some() {
            return Some((file, command));
        }
    }
    let files =
        ["pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt", "requirements.txt"];
    let file = files.into_iter().find(|file| read(file).is_some_and(|it| it.contains("pytest")));
    if let Some(file) = file {
        return Some((file, command));
    }
    let is_package = ["pyproject.toml", "setup.py"].into_iter().find(|it| read(it).is_some());
    is_package.map(|file| (file, "python3 -m unittest discover".to_owned()))
}

fn jvm(read: &dyn Fn(&str) -> Option<String>) -> Option<Found> {
    let table = [
        ("gradlew", "./gradlew test"),
        ("build.gradle", "gradle test"),
        ("build.gradle.kts", "gradle test"),
        ("mvnw", "./mvnw -B test"),
        ("pom.xml", "mvn -B test"),
    ];
    let found = table.into_iter().find(|(file, _)| read(file).is_some());
    found.map(|(file, command)| (file, command.to_owned()))
}

fn go(read: &dyn Fn(&str) -> Option<String>) -> Option<Found> {
    // Without `-v` it does not say how many there are.
    read("go.mod").map(|_| ("go.mod", "go test -v ./...".to_owned()))
}

fn make(read: &dyn Fn(&str) -> Option<String>) -> Option<Found> {
    ["Makefile", "makefile", "GNUmakefile"].into_iter().find_map(|file| {
        let text = read(file)?;
        let is_target = |line: &str| {
            let targets = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='));
            !line.starts_with([' ', '\t', '#', '.'])
                && targets.is_some_and(|(names, _)| names.split_whitespace().any(|it| it == "test"))
        };
        text.lines().any(is_target).then(|| (file, "make test".to_owned()))
    })
}

#[cfg(test)]
mod unit {
    use super::*;

    fn check(files: &[(&str, &str)], want: &str) {
        let read = |name: &str| {
            files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned())
        };
        let field = |file: &str, _: &[&str]| read(file).filter(|it| !it.is_empty());
        let found = match find(&read, &field) {
            KnownTests::Command { command, from } => format!("{from}: {command}"),
            KnownTests::Several(files) => format!("several: {}", files.join(" ")),
            KnownTests::Unknown => "unknown".into(),
        };
        assert_eq!(found, want, "{files:?}");
    }

    #[test]
    fn the_build_file_says_how_tests_are_run() {
        check(&[], "unknown");
        check(&[("Cargo.toml", "[package]")], "Cargo.toml: cargo test");
        check(&[("Cargo.toml", "[workspace]\n")], "Cargo.toml: cargo test --workspace");
        check(&[("package.json", "vitest run")], "package.json: npm test");
        check(&[("package.json", "jest"), ("yarn.lock", "")], "package.json: yarn test");
        check(&[("package.json", "echo \"Error: no test specified\" && exit 1")], "unknown");
        check(&[("package.json", "")], "unknown");
        check(&[("pyproject.toml", "[tool.pytest]")], "pyproject.toml: python3 -m pytest");
        check(&[("setup.py", "")], "setup.py: python3 -m unittest discover");
        check(&[("gradlew", ""), ("build.gradle", "")], "gradlew: ./gradlew test");
        check(&[("pom.xml", "")], "pom.xml: mvn -B test");
        check(&[("go.mod", "module x")], "go.mod: go test -v ./...");
        check(&[("Makefile", "all:\n\ttest: no\ntest: all\n\tx\n")], "Makefile: make test");
        check(&[("Makefile", "test := 1\n# test:\n.PHONY: test\n")], "unknown");
        check(&[("Makefile", "test:"), ("Cargo.toml", "")], "Cargo.toml: cargo test");
        check(&[("Cargo.toml", ""), ("package.json", "jest")], "several: Cargo.toml package.json");
    }
}
