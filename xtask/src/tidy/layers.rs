//! The direction of dependencies: which of our crates may use which, and which foreign crates.
//!
//! The tables are the architecture. A crate that is not in them fails, so that a new one is
//! argued for here; a new arrow is one word, and shows in the diff for what it is.
//!
//! Tests are freer: they may use any foreign crate, and of ours all that are not above them.

use crate::tidy::Finding;
use crate::tidy::manifest::{Dependency, Manifest, Use};
use crate::tidy::tree::Tree;

/// A crate by its folder under `crates/`.
struct Layer {
    folder: &'static str,
    /// Arrows point from a higher level to a lower one; crates of one level are strangers.
    level: u8,
    uses: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    Layer { folder: "model", level: 0, uses: &[] },
    Layer { folder: "redact", level: 0, uses: &[] },
    Layer { folder: "agent", level: 1, uses: &["model"] },
    Layer { folder: "guard", level: 1, uses: &["model"] },
    Layer { folder: "api", level: 1, uses: &["model"] },
    Layer { folder: "store", level: 1, uses: &["model", "redact"] },
    Layer { folder: "proc", level: 1, uses: &["model", "redact"] },
    Layer { folder: "wall", level: 1, uses: &["model"] },
    Layer { folder: "imports", level: 1, uses: &[] },
    Layer { folder: "git", level: 2, uses: &["model", "store"] },
    Layer {
        folder: "engine",
        level: 3,
        uses: &["model", "redact", "agent", "store", "proc", "git", "wall", "imports"],
    },
    Layer { folder: "sim", level: 3, uses: &["model", "agent"] },
    Layer { folder: "hook", level: 3, uses: &["model", "agent", "guard", "wall"] },
    Layer { folder: "mcp", level: 1, uses: &[] },
    Layer { folder: "server", level: 4, uses: &["model", "api", "engine"] },
    Layer {
        folder: "cli",
        level: 5,
        uses: &["model", "api", "server", "engine", "agent", "guard", "hook", "mcp", "sim", "wall"],
    },
];

/// A foreign crate that only some of ours may use in what is shipped.
struct Fence {
    crates: &'static [&'static str],
    only: &'static [&'static str],
    reason: &'static str,
}

const FENCES: &[Fence] = &[
    Fence {
        crates: &["tokio", "tokio-util"],
        only: &["mcp", "server"],
        reason: "async stays at the rim",
    },
    Fence { crates: &["rmcp"], only: &["mcp"], reason: "its types change with the protocol" },
    Fence { crates: &["rusqlite"], only: &["store"], reason: "the database is the store's secret" },
    Fence {
        crates: &["serde_json"],
        only: &[
            "redact", "agent", "guard", "api", "store", "proc", "engine", "sim", "hook", "mcp",
            "server", "cli",
        ],
        reason: "the model does not know how it is written down",
    },
    Fence { crates: &["clap"], only: &["cli"], reason: "arguments are the command line's" },
    Fence { crates: &["anyhow"], only: &[], reason: "errors are typed outside xtask" },
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        if path == "xtask/Cargo.toml" {
            findings.extend(check_xtask(path, &Manifest::parse(text)));
        } else if let Some(folder) = folder(path) {
            findings.extend(match LAYERS.iter().find(|layer| layer.folder == folder) {
                Some(layer) => check_crate(path, &Manifest::parse(text), layer),
                None => {
                    let message = format!("crate `{folder}` is not in the layer table of xtask");
                    vec![Finding::new(path, 1, message)]
                }
            });
        }
    }
    findings
}

/// The crate's folder, if this is the manifest of one of our crates.
fn folder(path: &str) -> Option<&str> {
    let folder = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (!folder.contains('/')).then_some(folder)
}

fn check_crate(path: &str, manifest: &Manifest, layer: &Layer) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = package(layer.folder);
    if manifest.name != name {
        let message = format!("package `{}` should be called `{name}`", manifest.name);
        findings.push(Finding::new(path, manifest.line, message));
    }
    for dependency in &manifest.dependencies {
        let other = LAYERS.iter().find(|other| package(other.folder) == dependency.name);
        let message = match (other, dependency.usage) {
            (Some(other), Use::Product) => arrow(layer, other),
            (Some(other), Use::Tests) => test_arrow(layer, other),
            (None, Use::Product) => fence(layer, dependency),
            (None, Use::Tests) => None,
        };
        findings.extend(message.map(|message| Finding::new(path, dependency.line, message)));
    }
    findings
}

fn arrow(layer: &Layer, other: &Layer) -> Option<String> {
    let (from, to) = (layer.folder, other.folder);
    (!layer.uses.contains(&to)).then(|| match layer.uses {
        [] => format!("`{from}` may not use `{to}`; it uses no crate of ours"),
        uses => format!("`{from}` may not use `{to}`; it may use {}", uses.join(", ")),
    })
}

fn test_arrow(layer: &Layer, other: &Layer) -> Option<String> {
    let (from, to) = (layer.folder, other.folder);
    (other.level > layer.level)
        .then(|| format!("the tests of `{from}` may not use `{to}`, which is above it"))
}

fn fence(layer: &Layer, dependency: &Dependency) -> Option<String> {
    let (from, to) = (layer.folder, &dependency.name);
    let fence = FENCES.iter().find(|fence| fence.crates.contains(&to.as_str()))?;
    (!fence.only.contains(&from)).then(|| format!("`{from}` may not use `{to}`: {}", fence.reason))
}

fn check_xtask(path: &str, manifest: &Manifest) -> Vec<Finding> {
    let is_ours = |name: &str| LAYERS.iter().any(|layer| package(layer.folder) == name);
    let ours = manifest.dependencies.iter().filter(|dependency| is_ours(&dependency.name));
    let message = "xtask uses no crate of the workspace: it must run when they do not build";
    ours.map(|dependency| Finding::new(path, dependency.line, message)).collect()
}

/// The package's name carries the product's name, its folder does not.
fn package(folder: &str) -> String {
    match folder {
        "cli" => "waypost".to_owned(),
        other => format!("waypost-{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_finds;

    fn check_manifest(folder: &str, text: &str, want: &[&str]) {
        let text = format!("[package]\nname = \"{}\"\n{text}", package(folder));
        let path = format!("crates/{folder}/Cargo.toml");
        assert_finds(check, &[(&path, &text)], want);
    }

    #[test]
    fn arrows_of_the_table_are_fine() {
        check_manifest("model", "[dependencies]\nserde.workspace = true\n", &[]);
        check_manifest(
            "engine",
            "[dependencies]\nwaypost-store.workspace = true\nserde_json.workspace = true\n",
            &[],
        );
        check_manifest(
            "cli",
            "[dependencies]\nwaypost-engine.workspace = true\nclap = \"4\"\n",
            &[],
        );
    }

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_found() {
        check_manifest(
            "agent",
            "[dependencies]\nwaypost-store.workspace = true\n",
            &["crates/agent/Cargo.toml:4: `agent` may not use `store`; it may use model"],
        );
        check_manifest(
            "model",
            "[build-dependencies]\nwaypost-api.workspace = true\n",
            &["crates/model/Cargo.toml:4: `model` may not use `api`; it uses no crate of ours"],
        );
    }

    #[test]
    fn a_foreign_crate_on_the_wrong_side_of_its_fence_is_found() {
        check_manifest(
            "model",
            "[dependencies]\nserde_json = \"1\"\ntokio = \"1\"\nrusqlite = \"0\"\n",
            &[
                "crates/model/Cargo.toml:4: `model` may not use `serde_json`: \
                 the model does not know how it is written down",
                "crates/model/Cargo.toml:5: `model` may not use `tokio`: async stays at the rim",
                "crates/model/Cargo.toml:6: `model` may not use `rusqlite`: \
                 the database is the store's secret",
            ],
        );
        check_manifest(
            "cli",
            "[dependencies]\nanyhow = \"1\"\n",
            &["crates/cli/Cargo.toml:4: `cli` may not use `anyhow`: \
               errors are typed outside xtask"],
        );
    }

    #[test]
    fn tests_may_use_what_the_product_may_not_but_nothing_from_above() {
        check_manifest("model", "[dev-dependencies]\nserde_json = \"1\"\ntokio = \"1\"\n", &[]);
        check_manifest("engine", "[dev-dependencies]\nwaypost-sim.workspace = true\n", &[]);
        check_manifest(
            "store",
            "[dev-dependencies]\nwaypost-engine.workspace = true\n",
            &["crates/store/Cargo.toml:4: the tests of `store` may not use `engine`, \
               which is above it"],
        );
    }

    #[test]
    fn an_unknown_crate_and_a_misnamed_package_are_found() {
        assert_finds(
            check,
            &[
                ("crates/store/Cargo.toml", "[package]\nname = \"storage\"\n"),
                ("crates/utils/Cargo.toml", "[package]\nname = \"waypost-utils\"\n"),
            ],
            &[
                "crates/store/Cargo.toml:2: package `storage` should be called `waypost-store`",
                "crates/utils/Cargo.toml:1: crate `utils` is not in the layer table of xtask",
            ],
        );
    }

    #[test]
    fn xtask_may_not_use_the_workspace() {
        assert_finds(
            check,
            &[("xtask/Cargo.toml", "[dependencies]\nanyhow = \"1\"\nwaypost-model = \"0\"\n")],
            &["xtask/Cargo.toml:3: xtask uses no crate of the workspace: \
               it must run when they do not build"],
        );
    }

    #[test]
    fn the_table_itself_points_strictly_downward() {
        for layer in LAYERS {
            for used in layer.uses {
                let other = LAYERS.iter().find(|other| other.folder == *used);
                let level = other.map(|other| other.level);
                assert!(level < Some(layer.level), "{} uses {used}", layer.folder);
                assert!(level.is_some(), "{used} has no row");
            }
        }
        for folder in FENCES.iter().flat_map(|fence| fence.only) {
            assert!(LAYERS.iter().any(|layer| layer.folder == *folder), "{folder} has no row");
        }
    }
}
