//! Reads from a `Cargo.toml` what the layer rule needs: the package's name and its dependencies.
//!
//! By lines, because a finding needs the line and manifests are written one entry per line. It
//! does not validate TOML; cargo does that on every build.

/// Where a dependency is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// In what is shipped, or in building it.
    Product,
    Tests,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The package's real name, also where the manifest gives it another one.
    pub(crate) name: String,
    pub(crate) usage: Use,
    pub(crate) line: usize,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    /// The line of the name, 1 if there is none.
    pub(crate) line: usize,
    pub(crate) dependencies: Vec<Dependency>,
}

/// What the entries below a header mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Package,
    /// One dependency per entry.
    Dependencies(Use),
    /// Entries describe the dependency that the header named, the last one in the list.
    Dependency,
    Other,
}

impl Manifest {
    pub(crate) fn parse(text: &str) -> Self {
        let mut manifest = Self { line: 1, ..Self::default() };
        let mut section = Section::Other;
        for (line, entry) in (1..).zip(text.lines().map(|line| without_comment(line).trim())) {
            if let Some(header) = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = manifest.enter(header, line);
            } else if let Some((key, value)) = entry.split_once('=') {
                manifest.read(section, line, (key.trim(), value.trim()));
            }
        }
        manifest
    }

    fn enter(&mut self, header: &str, line: usize) -> Section {
        let parts = dotted(header);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        // `[target.'cfg(unix)'.dependencies]` has two parts in front that do not matter here.
        let parts = match parts.as_slice() {
            ["target", _, rest @ ..] => rest,
            all => all,
        };
        match parts {
            ["package"] => Section::Package,
            [table] => usage(table).map_or(Section::Other, Section::Dependencies),
            [table, name] => match usage(table) {
                Some(usage) => {
                    self.dependencies.push(Dependency { name: name.to_string(), usage, line });
                    Section::Dependency
                }
                None => Section::Other,
            },
            _ => Section::Other,
        }
    }

    fn read(&mut self, section: Section, line: usize, (key, value): (&str, &str)) {
        match section {
            Section::Package if key == "name" => {
                self.name = unquoted(value).to_owned();
                self.line = line;
            }
            Section::Dependencies(usage) => {
                let Some(name) = dotted(key).into_iter().next() else { return };
                let name = renamed(value).unwrap_or(name);
                self.dependencies.push(Dependency { name, usage, line });
            }
            Section::Dependency if key == "package" => {
                if let Some(last) = self.dependencies.last_mut() {
                    last.name = unquoted(value).to_owned();
                }
            }
            Section::Package | Section::Dependency | Section::Other => {}
        }
    }
}

fn usage(table: &str) -> Option<Use> {
    match table {
        "dependencies" | "build-dependencies" => Some(Use::Product),
        "dev-dependencies" => Some(Use::Tests),
        _ => None,
    }
}

/// The real name in `{ package = "real", … }`.
fn renamed(value: &str) -> Option<String> {
    let table = value.strip_prefix('{')?.strip_suffix('}')?;
    table.split(',').find_map(|entry| {
        let (key, value) = entry.split_once('=')?;
        (key.trim() == "package").then(|| unquoted(value.trim()).to_owned())
    })
}

/// The parts of a dotted key, where a quoted part may itself have dots.
fn dotted(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in key.trim().chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            (None, '.') => parts.push(String::new()),
            (None, c) if c.is_whitespace() => {}
            (_, c) => parts.last_mut().expect("starts with one and only grows").push(c),
        }
    }
    parts
}

fn unquoted(value: &str) -> &str {
    value.trim_matches(['"', '\''])
}

fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            _ => {}
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_dependency_is_understood() {
        let text = r#"[package]
name = "waypost-store" # ours
version.workspace = true

[dependencies]
serde.workspace = true
"quoted" = "1.0"
jiff = { workspace = true, features = ["std"] } # tokio = "1"
short = { package = "real-name", version = "1" }
multi = { version = "1", features = [
    "a",
] }

[dependencies.long]
version = "1"
package = "long-name"

[target.'cfg(target.os = "linux")'.dependencies]
rustix = "1"

[build-dependencies]
cc = "1"

[dev-dependencies]
insta = "1"

[dev-dependencies.tempfile]
version = "3"

[features]
default = []
"#;
        let product =
            |name: &str, line| Dependency { name: name.to_owned(), usage: Use::Product, line };
        let tests =
            |name: &str, line| Dependency { name: name.to_owned(), usage: Use::Tests, line };
        let want = Manifest {
            name: "waypost-store".to_owned(),
            line: 2,
            dependencies: vec![
                product("serde", 6),
                product("quoted", 7),
                product("jiff", 8),
                product("real-name", 9),
                product("multi", 10),
                product("long-name", 14),
                product("rustix", 19),
                product("cc", 22),
                tests("insta", 25),
                tests("tempfile", 27),
            ],
        };
        assert_eq!(Manifest::parse(text), want);
    }
}
