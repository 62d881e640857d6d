//! GATE-4: the design was kept to, as far as imports tell.
//!
//! A component has files: those whose `file_refs` name it as their entity, else those whose names are its own. An
//! import from a file of X to a file of Y is a use of Y by X. What is said of it by name counts before what is
//! said of layers; of two that say as much, the one that forbids. Where nothing is said of Y and something else is
//! allowed to X, X may use that alone; where others are only forbidden, a report has to confirm it.

use super::{Judged, normal_path};
use crate::document::contract::{Boundary, DesignBrief, DesignContract, FileRef};
use std::collections::{BTreeMap, BTreeSet};

/// Which files are which component, and who may use whom.
#[derive(Clone, Debug, Default)]
pub struct Design {
    /// Components by the paths of their files.
    files: BTreeMap<String, BTreeSet<String>>,
    /// Layers of components.
    layers: BTreeMap<String, String>,
    boundaries: Vec<Boundary>,
}

/// An import of a file, with the files of the project that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    pub file: String,
    pub line: u32,
    /// As it is written, and how it imports.
    pub import: String,
    pub reached: Vec<UsedFile>,
}

/// A file that an import leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedFile {
    pub path: String,
    /// Through which others.
    pub by_way_of: Vec<String>,
    /// Whether the import means it and not one of several.
    pub is_certain: bool,
}

/// Whether a component may use another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    Allowed,
    Forbidden {
        why: String,
    },
    /// Nothing is said.
    Unsaid,
    /// Only others are spoken of, and these are forbidden.
    Open,
}

impl Design {
    /// The design of a task; `paths` are all files of the project, in languages whose imports are read.
    pub fn of<'p>(
        contract: &DesignContract,
        brief: Option<&DesignBrief>,
        roots: &[String],
        paths: impl IntoIterator<Item = &'p str> + Clone,
    ) -> Self {
        let mut design = Self { boundaries: contract.boundaries.clone(), ..Self::default() };
        for assignment in &contract.layer_assignments {
            design.layers.insert(assignment.component.clone(), assignment.layer.clone());
        }
        let refs = contract.file_refs.iter().chain(brief.into_iter().flat_map(|it| &it.file_refs));
        for file in refs {
            design.add(&normal_path(&file.path, roots), entity(file));
        }
        let layers: BTreeSet<&String> = design.layers.values().collect();
        let names = contract.boundaries.iter().flat_map(|it| [&it.from, &it.to]);
        let names = names.chain(contract.layer_assignments.iter().map(|it| &it.component));
        let has_file =
            |name: &&String| design.files.values().any(|components| components.contains(*name));
        let missing: BTreeSet<String> =
            names.filter(|it| !has_file(it) && !layers.contains(it)).cloned().collect();
        let by_name: BTreeMap<String, &String> =
            missing.iter().map(|name| (bare(name), name)).collect();
        for path in paths.into_iter().filter(|path| !is_test(path)) {
            if let Some(name) = by_name.get(&bare(stem(path))) {
                design.add(path, (*name).clone());
            }
        }
        design
    }

    fn add(&mut self, path: &str, component: String) {
        self.files.entry(path.to_owned()).or_default().insert(component);
    }

    /// The components that a file belongs to.
    pub fn components(&self, path: &str) -> impl Iterator<Item = &str> {
        self.files.get(path).into_iter().flatten().map(String::as_str)
    }

    /// Whether anything is said about who uses this component.
    fn is_guarded(&self, component: &str) -> bool {
        self.boundaries.iter().any(|it| self.rank(&it.to, component).is_some())
    }

    /// How exactly a boundary speaks of a component: by its name, or by its layer.
    fn rank(&self, word: &str, component: &str) -> Option<u8> {
        match word {
            word if word == component => Some(2),
            word if self.layers.get(component).is_some_and(|it| it == word) => Some(1),
            _ => None,
        }
    }

    /// Whether one component may use another.
    pub fn may(&self, from: &str, to: &str) -> Permission {
        if from == to {
            return Permission::Allowed;
        }
        let of_from = |it: &&Boundary| self.rank(&it.from, from).is_some();
        let said = self.boundaries.iter().filter_map(|it| {
            let rank = self.rank(&it.from, from)? + self.rank(&it.to, to)?;
            // Of two that say as much the one that forbids is the greater.
            Some(((rank, !it.allowed), it))
        });
        if let Some((_, boundary)) = said.max_by_key(|(key, _)| *key) {
            return match boundary.allowed {
                true => Permission::Allowed,
                false => {
                    let why = format!("{} may not use {}", boundary.from, boundary.to);
                    Permission::Forbidden { why }
                }
            };
        }
        let own: Vec<&Boundary> = self.boundaries.iter().filter(of_from).collect();
        let allowed: Vec<&str> =
            own.iter().filter(|it| it.allowed).map(|it| it.to.as_str()).collect();
        match (own.is_empty(), allowed.is_empty()) {
            (true, _) => Permission::Unsaid,
            (false, true) => Permission::Open,
            (false, false) => Permission::Forbidden {
                why: format!("{from} may use {} alone", allowed.join(", ")),
            },
        }
    }

    /// Judges imports of changed files.
    pub fn judge(&self, uses: &[FileUse]) -> Judged {
        let mut judged = Judged::default();
        for it in uses {
            self.judge_use(it, &mut judged);
        }
        judged
    }

    fn judge_use(&self, it: &FileUse, judged: &mut Judged) {
        let at = format!("{}:{} {}", it.file, it.line, it.import);
        let from: Vec<&str> = self.components(&it.file).collect();
        let mut doubtful: Vec<(String, bool)> = Vec::new();
        for used in &it.reached {
            for to in self.components(&used.path) {
                let told = format!("{at} uses {to}{}", way(used));
                if from.is_empty() {
                    if self.is_guarded(to) {
                        judged.open.push(format!("{told}, and the file belongs to no component"));
                    }
                    continue;
                }
                for own in &from {
                    match self.may(own, to) {
                        Permission::Forbidden { why } if used.is_certain => {
                            judged.faults.push(format!("{told}: {why}"));
                        }
                        Permission::Forbidden { why } => {
                            doubtful.push((format!("{told}: {why}"), true));
                        }
                        Permission::Open => {
                            judged.open.push(format!("{told}, of which no boundary speaks"));
                        }
                        Permission::Allowed | Permission::Unsaid if !used.is_certain => {
                            doubtful.push((told.clone(), false));
                        }
                        Permission::Allowed => judged.evidence.push(told.clone()),
                        Permission::Unsaid => {}
                    }
                }
            }
        }
        let is_sure = doubtful.iter().all(|(_, is_forbidden)| *is_forbidden);
        for (told, _) in doubtful.into_iter().filter(|(_, is_forbidden)| *is_forbidden) {
            match is_sure {
                true => judged.faults.push(told),
                false => judged.open.push(format!("{told}; the import may mean another file")),
            }
        }
    }
}

fn way(used: &UsedFile) -> String {
    match used.by_way_of.as_slice() {
        [] => String::new(),
        files => format!(" by way of {}", files.join(", ")),
    }
}

/// What a file holds; the file's own name where that is not said.
fn entity(file: &FileRef) -> String {
    file.entity.clone().unwrap_or_else(|| stem(&file.path).to_owned())
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether a file has tests, by its name or its folder: those may use everything.
pub fn is_test(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_folder = |it: &str| matches!(it, "test" | "tests" | "__tests__" | "spec" | "specs");
    let stem = stem(name);
    folders.split('/').any(is_folder)
        || [".test.", ".spec."].iter().any(|part| name.contains(part))
        || stem.starts_with("test_")
        || ["_test", "_spec", "Test", "Tests", "Spec"].iter().any(|end| stem.ends_with(end))
}

/// Names are compared without their spelling: `AService`, `a_service` and `a-service` are one.
fn bare(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::contract::LayerAssignment;
    use crate::time::{Stamp, Time};

    fn contract(
        boundaries: &[(&str, &str, bool)],
        layers: &[(&str, &str)],
        refs: &[(&str, &str)],
    ) -> DesignContract {
        DesignContract {
            version: Default::default(),
            request_id: None,
            task_id: None,
            created_at: Stamp::At(Time::from_millis(0)),
            created_by: "architect".into(),
            task_name: None,
            invariants: Vec::new(),
            interfaces: Vec::new(),
            boundaries: boundaries
                .iter()
                .map(|(from, to, allowed)| Boundary {
                    from: (*from).into(),
                    to: (*to).into(),
                    allowed: *allowed,
                    note: None,
                })
                .collect(),
            layer_assignments: layers
                .iter()
                .map(|(component, layer)| LayerAssignment {
                    component: (*component).into(),
                    layer: (*layer).into(),
                })
                .collect(),
            file_refs: refs
                .iter()
                .map(|(entity, path)| FileRef {
                    entity: Some((*entity).into()),
                    path: (*path).into(),
                    status: None,
                })
                .collect(),
        }
    }

    fn permission(design: &Design, from: &str, to: &str) -> String {
        match design.may(from, to) {
            Permission::Allowed => "allowed".into(),
            Permission::Forbidden { why } => why,
            Permission::Unsaid => "unsaid".into(),
            Permission::Open => "open".into(),
        }
    }

    #[test]
    fn names_count_before_layers_and_what_forbids_before_what_allows() {
        let contract = contract(
            &[
                ("Controller", "Service", true),
                ("domain", "infrastructure", false),
                ("Order", "Clock", true),
                ("Order", "Mail", true),
                ("Order", "Mail", false),
                ("Lonely", "Mail", false),
            ],
            &[("Order", "domain"), ("Clock", "infrastructure"), ("Store", "infrastructure")],
            &[],
        );
        let design = Design::of(&contract, None, &["/w".to_owned()], []);
        for (from, to, want) in [
            ("Controller", "Service", "allowed"),
            ("Controller", "Repository", "Controller may use Service alone"),
            ("Controller", "Controller", "allowed"),
            ("Service", "Repository", "unsaid"),
            ("Order", "Store", "domain may not use infrastructure"),
            ("Order", "Clock", "allowed"),
            ("Order", "Mail", "Order may not use Mail"),
            ("Lonely", "Store", "open"),
        ] {
            assert_eq!(permission(&design, from, to), want, "{from} {to}");
        }
    }

    fn used(path: &str, is_certain: bool) -> UsedFile {
        UsedFile { path: path.into(), by_way_of: Vec::new(), is_certain }
    }

    fn file_use(file: &str, reached: Vec<UsedFile>) -> FileUse {
        FileUse { file: file.into(), line: 3, import: "x".into(), reached }
    }

    #[test]
    fn files_are_known_by_their_refs_and_else_by_their_names() {
        let contract = contract(
            &[("AController", "AService", true), ("AController", "ARepository", false)],
            &[],
            &[("AController", "/w/src/web/main.ts")],
        );
        let paths = ["src/service/a_service.ts", "src/store/a-repository.ts", "src/web/helper.ts"];
        let design = Design::of(&contract, None, &["/w".to_owned()], paths);
        let judged = design.judge(&[
            file_use("src/web/main.ts", vec![used("src/service/a_service.ts", true)]),
            file_use("src/web/main.ts", vec![used("src/store/a-repository.ts", true)]),
            file_use("src/web/helper.ts", vec![used("src/store/a-repository.ts", true)]),
            file_use("src/web/main.ts", vec![used("src/web/helper.ts", true)]),
        ]);
        assert_eq!(
            judged.faults,
            ["src/web/main.ts:3 x uses ARepository: AController may not use ARepository"]
        );
        assert_eq!(
            judged.open,
            ["src/web/helper.ts:3 x uses ARepository, and the file belongs to no component"]
        );
        assert_eq!(judged.evidence, ["src/web/main.ts:3 x uses AService"]);
    }

    #[test]
    fn tests_are_known_by_their_names_and_folders() {
        for path in [
            "tests/a.rs",
            "src/test/java/A.java",
            "src/a.test.ts",
            "a_test.go",
            "test_a.py",
            "ATest.kt",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/a.rs", "src/testing.rs", "src/contest.py", "src/latest/a.ts"] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn an_import_that_may_mean_several_is_a_fault_only_if_all_are_forbidden() {
        let contract = contract(
            &[("A", "B", true), ("A", "C", false), ("A", "D", false)],
            &[],
            &[("A", "a"), ("B", "b"), ("C", "c"), ("D", "d")],
        );
        let design = Design::of(&contract, None, &["/w".to_owned()], []);
        let judge = |paths: &[&str]| {
            let reached = paths.iter().map(|it| used(it, false)).collect();
            let judged = design.judge(&[file_use("a", reached)]);
            (judged.faults.len(), judged.open.len())
        };
        assert_eq!(judge(&["b", "c"]), (0, 1));
        assert_eq!(judge(&["c", "d"]), (2, 0));
        assert_eq!(judge(&["b"]), (0, 0));
    }
}
