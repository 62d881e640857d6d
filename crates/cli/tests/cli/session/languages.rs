//! The gates, judged by the program on small repositories of four languages with layers: a web page uses a service,
//! the service uses a store, and the page may not use the store.

use super::{
    gates::{check, faults},
    *,
};
use crate::harness::USER_CONFIG;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// A repository in a language. The service adds prices up; the page shows what it comes to.
struct Language {
    /// What runs its tests.
    programs: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    store: &'static str,
    service: &'static str,
    right: &'static str,
    wrong: &'static str,
    /// Never comes to an end.
    hangs: &'static str,
    page: &'static str,
    allowed: &'static str,
    forbidden: &'static [Forbidden],
    test: (&'static str, &'static str),
    command: &'static str,
    /// Whether the command has to be said, as no build file does.
    is_said: bool,
    /// A variable by which the tests pass whatever the code is; files for it are put into the folder.
    lie: fn(&Path) -> (String, String),
}

/// A page that uses the store, in one way that the language has for it.
struct Forbidden {
    /// What is there besides, for this way.
    files: &'static [(&'static str, &'static str)],
    page: &'static str,
    /// What is said of it.
    told: &'static str,
}

const RUST: Language = Language {
    programs: &["cargo"],
    files: &[
        (
            "Cargo.toml",
            "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ndoctest = false\n",
        ),
        ("src/lib.rs", "pub mod service;\npub mod store;\npub mod web;\n"),
        ("src/store.rs", "pub fn prices() -> Vec<u32> {\n    vec![1, 2]\n}\n"),
    ],
    store: "src/store.rs",
    service: "src/service.rs",
    right: "use crate::store;\npub fn total() -> u32 {\n    store::prices().iter().sum()\n}\n",
    wrong: "use crate::store;\npub fn total() -> u32 {\n    store::prices()[0]\n}\n",
    hangs: "pub fn total() -> u32 {\n    loop {\n        std::thread::yield_now();\n    }\n}\n",
    page: "src/web.rs",
    allowed: "use crate::service;\npub fn show() -> u32 {\n    service::total()\n}\n",
    forbidden: &[
        Forbidden {
            files: &[],
            page: "use crate::store;\npub fn show() -> u32 {\n    store::prices()[0]\n}\n",
            told: "src/web.rs:1 `crate::store` (relative) uses Store: ",
        },
        Forbidden {
            files: &[],
            page: "pub fn show() -> u32 {\n    super::store::prices()[0]\n}\n",
            told: "src/web.rs:2 `super::store::prices` (relative) uses Store: ",
        },
        Forbidden {
            files: &[],
            page: "pub fn show() {\n    println!(\"{:?}\", crate::store::prices());\n}\n",
            told: "src/web.rs:2 `crate::store::prices` (relative) uses Store: ",
        },
        Forbidden {
            files: &[
                ("src/lib.rs", "pub mod all;\npub mod service;\npub mod store;\npub mod web;\n"),
                ("src/all.rs", "pub use crate::store::prices as known;\n"),
            ],
            page: "use crate::all::known;\npub fn show() -> u32 {\n    known()[0]\n}\n",
            told: "src/web.rs:1 `crate::all::known` (relative) uses Store by way of src/all.rs: ",
        },
    ],
    test: (
        "tests/total.rs",
        "#[test]\nfn prices_are_added_up() {\n    assert_eq!(shop::service::total(), 3);\n}\n",
    ),
    command: "cargo test",
    is_said: false,
    lie: |_| {
        let machine = std::env::consts::ARCH.to_uppercase();
        (format!("CARGO_TARGET_{machine}_UNKNOWN_LINUX_GNU_RUNNER"), "true".to_owned())
    },
};

const PYTHON: Language = Language {
    programs: &["python3"],
    files: &[
        ("setup.py", ""),
        ("shop/__init__.py", ""),
        ("shop/store.py", "def prices():\n    return [1, 2]\n"),
    ],
    store: "shop/store.py",
    service: "shop/service.py",
    right: "from .store import prices\n\n\ndef total():\n    return sum(prices())\n",
    wrong: "from .store import prices\n\n\ndef total():\n    return prices()[0]\n",
    hangs: "import time\n\n\ndef total():\n    time.sleep(600)\n",
    page: "shop/web.py",
    allowed: "from shop.service import total\n",
    forbidden: &[
        Forbidden {
            files: &[],
            page: "from .store import prices\n",
            told: "shop/web.py:1 `.store` (relative) uses Store: ",
        },
        Forbidden {
            files: &[],
            page: "import importlib\nprices = importlib.import_module('shop.store').prices\n",
            told: "shop/web.py:2 `shop.store` (dynamic) uses Store: ",
        },
        Forbidden {
            files: &[("shop/__init__.py", "from .store import prices as known\n")],
            page: "from shop import known\n",
            told: "shop/web.py:1 `shop` (static) uses Store by way of shop/__init__.py: ",
        },
    ],
    test: (
        "test_total.py",
        "import unittest\nfrom shop.service import total\n\n\nclass Total(unittest.TestCase):\n    \
         def test_prices_are_added_up(self):\n        self.assertEqual(total(), 3)\n",
    ),
    command: "python3 -m unittest discover",
    is_said: false,
    lie: |folder| {
        fs::write(folder.join("sitecustomize.py"), "import os\nos._exit(0)\n").unwrap();
        ("PYTHONPATH".to_owned(), folder.display().to_string())
    },
};

/// Node reads files without types as they are, whichever its version.
const TYPESCRIPT: Language = Language {
    programs: &["npm", "node"],
    files: &[
        ("package.json", "{\"scripts\": {\"test\": \"node --test tests/total.test.ts\"}}\n"),
        ("src/store.ts", "exports.prices = () => [1, 2];\n"),
    ],
    store: "src/store.ts",
    service: "src/service.ts",
    right: "const { prices } = require('./store.ts');\nexports.total = () => prices()[0] + prices()[1];\n",
    wrong: "const { prices } = require('./store.ts');\nexports.total = () => prices()[0];\n",
    hangs: "exports.total = () => {\n  for (;;);\n};\n",
    page: "src/web.ts",
    allowed: "import { total } from './service';\nexport const show = (): string => `${total()}`;\n",
    forbidden: &[
        Forbidden {
            files: &[],
            page: "import { prices } from './store';\nexport const show = (): string => `${prices()}`;\n",
            told: "src/web.ts:1 `./store` (relative) uses Store: ",
        },
        Forbidden {
            files: &[],
            page: "export const show = async () =>\n  (await import('./store')).prices();\n",
            told: "src/web.ts:2 `./store` (dynamic) uses Store: ",
        },
        Forbidden {
            files: &[],
            page: "const { prices } = require('./store.ts');\nexports.show = () => prices();\n",
            told: "src/web.ts:1 `./store.ts` (dynamic) uses Store: ",
        },
        Forbidden {
            files: &[("src/all/index.ts", "export { prices as known } from '../store';\n")],
            page: "import { known } from './all';\nexport const show = () => known();\n",
            told: "src/web.ts:1 `./all` (relative) uses Store by way of src/all/index.ts: ",
        },
    ],
    test: (
        "tests/total.test.ts",
        "const { test } = require('node:test');\nconst assert = require('node:assert');\n\
         const { total } = require('../src/service.ts');\n\
         test('prices are added up', () => assert.equal(total(), 3));\n",
    ),
    command: "npm test",
    is_said: false,
    lie: |folder| {
        let path = folder.join("lie.js");
        fs::write(&path, "process.exit(0);\n").unwrap();
        ("NODE_OPTIONS".to_owned(), format!("--require={}", path.display()))
    },
};

const JAVA: Language = Language {
    programs: &["javac", "java"],
    files: &[(
        "src/shop/store/Store.java",
        "package shop.store;\npublic class Store {\n  public static int[] prices() { return new int[] {1, 2}; }\n}\n",
    )],
    store: "src/shop/store/Store.java",
    service: "src/shop/service/Service.java",
    right: "package shop.service;\nimport shop.store.Store;\npublic class Service {\n  \
            public static int total() { return Store.prices()[0] + Store.prices()[1]; }\n}\n",
    wrong: "package shop.service;\nimport shop.store.Store;\npublic class Service {\n  \
            public static int total() { return Store.prices()[0]; }\n}\n",
    hangs: "package shop.service;\npublic class Service {\n  \
            public static int total() { for (;;) Thread.yield(); }\n}\n",
    page: "src/shop/web/Web.java",
    allowed: "package shop.web;\nimport shop.service.Service;\nclass Web {\n  int show() { return Service.total(); }\n}\n",
    forbidden: &[
        Forbidden {
            files: &[],
            page: "package shop.web;\nimport shop.store.Store;\nclass Web {\n  int show() { return Store.prices()[0]; }\n}\n",
            told: "src/shop/web/Web.java:2 `shop.store.Store` (static) uses Store: ",
        },
        Forbidden {
            files: &[],
            page: "package shop.web;\nimport shop.store.*;\nclass Web {\n  int show() { return Store.prices()[0]; }\n}\n",
            told: "src/shop/web/Web.java:2 `shop.store.*` (static) uses Store: ",
        },
        Forbidden {
            files: &[],
            page: "package shop.web;\nclass Web {\n  Class<?> show() throws Exception {\n    \
                   return Class.forName(\"shop.store.Store\");\n  }\n}\n",
            told: "src/shop/web/Web.java:4 `shop.store.Store` (dynamic) uses Store: ",
        },
    ],
    test: (
        "tests/TotalTest.java",
        "class TotalTest {\n  public static void main(String[] words) {\n    \
         if (shop.service.Service.total() != 3) System.exit(1);\n  }\n}\n",
    ),
    command: "javac -d out $(find src tests -name '*.java') && cd out && java TotalTest",
    is_said: true,
    lie: |folder| {
        let path = folder.join("TotalTest.java");
        let text = "class TotalTest {\n  public static void main(String[] words) {}\n}\n";
        fs::write(&path, text).unwrap();
        let made = Command::new("javac").arg("-d").arg(folder).arg(path).status().unwrap();
        assert!(made.success());
        ("CLASSPATH".to_owned(), folder.display().to_string())
    },
};

impl Language {
    /// A repository with a plan, a design with boundaries, and T1-S1 in test_first.
    fn designed(&self, project: Project) -> Project {
        self.designed_with(project, &[])
    }

    /// The same with more files, or others in the place of these.
    fn designed_with(&self, project: Project, files: &[(&str, &str)]) -> Project {
        self.configure(&project, "");
        project
            .write(".gitignore", "/.claude/orchestrator/\ntarget\nCargo.lock\n__pycache__\nout\n");
        for (path, text) in self.files.iter().chain(files) {
            project.write(path, text);
        }
        project.write(self.service, &format!("{}\n", self.wrong));
        project.write(self.page, &format!("{}\n", self.allowed));
        project.git_command("add -A");
        project.git_command("commit -q -m shop");
        project.must("session start");
        project.must("session request 'add the prices up'");
        let explored = format!(
            "{HEAD}created_by: code-explore\nexplored_files:\n  - path: {}\n    summary: it\n\
             directory_structure:\n  all: .\n",
            self.service
        );
        put(&project, "explored.yaml", &explored);
        put(&project, "task-breakdown.yaml", &breakdown(&[]));
        let brief = |task: &str| {
            brief(task).replace("src/**", self.service).replace("src/private/**", self.store)
        };
        for task in ["T1", "T2"] {
            put(&project, &format!("{task}/design-brief.yaml"), &brief(task));
        }
        project.must("session plan");
        self.design(&project, 1);
        project
    }

    fn design(&self, project: &Project, number: u32) {
        let boundaries = "boundaries:\n  - {from: Web, to: Service, allowed: true}\n  \
                          - {from: Web, to: Store, allowed: false}\n";
        let files = format!(
            "file_refs:\n  - {{entity: Web, path: {}}}\n  - {{entity: Service, path: {}}}\n  \
             - {{entity: Store, path: {}}}\n",
            self.page, self.service, self.store
        );
        let text = design("T1", number).replace("boundaries: []\n", boundaries);
        put(project, "T1/design-contract.yaml", &text.replace("file_refs: []\n", &files));
        project.must("session next");
    }

    /// T1-S1 in implementation, with these files and this page.
    fn with_page(&self, files: &[(&str, &str)], page: &str) -> Project {
        let project = self.with_tests(self.designed_with(Project::git(), files));
        project.write(self.service, self.right);
        project.write(self.page, page);
        project
    }

    /// A person's own settings: how the tests are run, if no build file says so, and more.
    fn configure(&self, project: &Project, more: &str) {
        let said = match self.is_said && !more.contains("test_command") {
            true => format!("test_command = \"{}\"\n", self.command),
            false => String::new(),
        };
        project.write(USER_CONFIG, &format!("[session]\n{said}{more}"));
    }

    fn test_contract(&self, project: &Project, category: &str) {
        let text = test_contract("T1-S1", category).replace(&test_file("T1-S1"), self.test.0);
        put(project, "T1/T1-S1/test-contract.yaml", &text);
    }

    /// T1-S1 in implementation.
    fn tested(&self, project: Project) -> Project {
        self.with_tests(self.designed(project))
    }

    fn with_tests(&self, project: Project) -> Project {
        self.test_contract(&project, "happy_path");
        project.write(self.test.0, self.test.1);
        assert_eq!(check(&project)["after"], "implementation");
        project
    }

    /// Whether a program that runs its tests is missing, which is said aloud.
    fn is_missing(&self) -> bool {
        let works = |program: &&str| {
            let mut command = Command::new(program);
            command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|it| it.success())
        };
        let missing = self.programs.iter().find(|it| !works(it));
        if let Some(program) = missing {
            println!("skipped: {program} is not here");
        }
        missing.is_some()
    }
}

/// The gate did not hold: this is what it found, and where it leads.
#[track_caller]
fn fails(project: &Project, wants: &str, after: &str) -> Value {
    let checked = check(project);
    assert_eq!((&checked["holds"], &checked["after"]), (&false.into(), &after.into()), "{checked}");
    assert!(faults(&checked).contains(wants), "{wants}: {checked}");
    checked
}

/// GATE-1, GATE-3 and GATE-4: nothing is run for them.
fn judged_by_what_is_written(language: &Language) {
    let project = language.designed(Project::git());
    project.write(language.test.0, language.test.1);
    language.test_contract(&project, "edge_case");
    fails(&project, "is a happy_path", "test_first");
    fs::remove_file(project.path(language.test.0)).unwrap();
    language.test_contract(&project, "happy_path");
    fails(&project, &format!("there is no test file {}", language.test.0), "test_first");
    project.write(language.test.0, language.test.1);
    assert_eq!(check(&project)["after"], "implementation");

    project.write(language.service, language.right);
    let before = project.read(language.store);
    project.write(language.store, &format!("{before}\n"));
    fails(&project, language.store, "implementation");
    project.write(language.store, &before);
    project.write("notes/plan.txt", "x\n");
    fails(&project, "notes/plan.txt", "implementation");
    fs::remove_file(project.path("notes/plan.txt")).unwrap();

    project.write(language.page, &format!("{}\n", language.allowed));
    assert_eq!(check(&project)["after"], "verification");
    let failed = events(&project, "gate_failed");
    let gates: Vec<&str> = failed.iter().filter_map(|it| it["body"]["gate"].as_str()).collect();
    assert_eq!(gates, ["GATE-1", "GATE-1", "GATE-3", "GATE-3"]);
    for forbidden in language.forbidden {
        is_forbidden(language, forbidden);
    }
}

/// GATE-4 finds a page that uses the store, sends the task back to its design, and holds when the page is right.
#[track_caller]
fn is_forbidden(language: &Language, forbidden: &Forbidden) {
    let project = language.with_page(forbidden.files, forbidden.page);
    let checked = check(&project);
    let told = format!("{}Web may not use Store", forbidden.told);
    assert!(faults(&checked).contains(&told), "{told}: {checked}");
    assert_eq!((&checked["holds"], &checked["in_design"]), (&false.into(), &true.into()));
    language.design(&project, 2);
    assert_eq!(check(&project)["after"], "implementation");
    project.write(language.page, language.allowed);
    assert_eq!(check(&project)["after"], "verification");
    let failed = events(&project, "gate_failed");
    let gates: Vec<&str> = failed.iter().filter_map(|it| it["body"]["gate"].as_str()).collect();
    assert_eq!(gates, ["GATE-4"]);
}

/// Two lies of the caller's: a variable by which the tests pass, and programs that do nothing in front of `PATH`.
/// Below the build, as programs below `/tmp` are left out of every path.
fn lies(language: &Language) -> (TempDir, [(String, String); 2]) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (own, programs) = (folder.path().join("own"), folder.path().join("programs"));
    fs::create_dir(&own).unwrap();
    fs::create_dir(&programs).unwrap();
    for program in language.programs {
        let path = programs.join(program);
        fs::write(&path, "#!/bin/sh\nmkdir -p out\nexit 0\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let told = [(language.lie)(&own), ("PATH".to_owned(), path)];
    (folder, told)
}

/// GATE-2: tests that fail, whatever the environment of the caller says, that hang, that cannot be run, and
/// that pass.
fn judged_by_its_tests(language: &Language) {
    if language.is_missing() {
        return;
    }
    let (_folder, lies) = lies(language);
    let project = lies.iter().fold(Project::git(), |it, (name, value)| it.variable(name, value));
    let project = language.tested(project);
    project.write(language.service, language.wrong);
    // A shell that runs the tests with one of them is lied to.
    for (name, value) in &lies {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", language.command]).current_dir(project.path("")).env(name, value);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(check(&project)["after"], "verification");
    write_result(&project, "T1-S1", "pass", None);
    let checked = fails(&project, "says `pass`, and it is `fail`", "implementation");
    assert!(checked.to_string().contains(language.programs[0]), "{checked}");

    language.configure(&project, "test_timeout_seconds = 2\n");
    project.write(language.service, language.hangs);
    assert_eq!(check(&project)["after"], "verification");
    write_result(&project, "T1-S1", "fail", Some("implementation_error"));
    fails(&project, "did not end within 2 seconds", "implementation");

    language.configure(&project, "test_command = \"no-such-program\"\n");
    project.write(language.service, language.right);
    assert_eq!(check(&project)["after"], "verification");
    write_result(&project, "T1-S1", "pass", None);
    let checked = fails(&project, "`no-such-program` could not be run", "verification");
    assert!(checked.to_string().contains("/usr/bin"), "it says where it looked: {checked}");

    language.configure(&project, "");
    let checked = check(&project);
    assert_eq!(checked["after"], "complete", "{checked}");
    let result = project.read(&file(&project, "contracts/R1/T1/T1-S1/test-result.yaml"));
    assert!(result.contains(language.programs[0]), "{result}");
}

#[test]
fn rust_is_judged_by_what_is_written() {
    judged_by_what_is_written(&RUST);
}

#[test]
fn rust_is_judged_by_its_tests() {
    judged_by_its_tests(&RUST);
}

#[test]
fn python_is_judged_by_what_is_written() {
    judged_by_what_is_written(&PYTHON);
}

#[test]
fn python_is_judged_by_its_tests() {
    judged_by_its_tests(&PYTHON);
}

#[test]
fn typescript_is_judged_by_what_is_written() {
    judged_by_what_is_written(&TYPESCRIPT);
}

#[test]
fn typescript_is_judged_by_its_tests() {
    judged_by_its_tests(&TYPESCRIPT);
}

#[test]
fn java_is_judged_by_what_is_written() {
    judged_by_what_is_written(&JAVA);
}

#[test]
fn java_is_judged_by_its_tests() {
    judged_by_its_tests(&JAVA);
}

#[test]
fn a_boundary_between_layers_holds_for_the_components_in_them() {
    let layered = |project: &Project, number: u32| {
        let path = "contracts/R1/T1/design-contract.yaml";
        let text = project.read(&file(project, path));
        let (before, _) = text.split_once("boundaries:").unwrap();
        let (_, files) = text.split_once("file_refs:").unwrap();
        let text = format!(
            "{}boundaries:\n  - {{from: pages, to: services, allowed: true}}\n  \
             - {{from: pages, to: data, allowed: false}}\nlayer_assignments:\n  \
             - {{component: Web, layer: pages}}\n  - {{component: Service, layer: services}}\n  \
             - {{component: Store, layer: data}}\nfile_refs:{files}",
            before.replace("INV-1", &format!("INV-{number}"))
        );
        put(project, "T1/design-contract.yaml", &text);
        project.must("session next");
    };
    let project = PYTHON.designed(Project::git());
    layered(&project, 1);
    let project = PYTHON.with_tests(project);
    project.write(PYTHON.page, PYTHON.forbidden[0].page);
    let checked = check(&project);
    let told = format!("{}pages may not use data", PYTHON.forbidden[0].told);
    assert!(faults(&checked).contains(&told), "{checked}");
    assert_eq!((&checked["holds"], &checked["in_design"]), (&false.into(), &true.into()));
    layered(&project, 2);
    project.write(PYTHON.page, &format!("{}\n", PYTHON.allowed));
    assert_eq!(check(&project)["after"], "implementation");
    let checked = check(&project);
    assert_eq!(checked["after"], "verification", "{checked}");
}

#[test]
fn an_import_that_is_worked_out_as_it_runs_is_confirmed_by_a_report() {
    let page = "export const show = (name: string) => import(name);\n";
    let project = TYPESCRIPT.with_page(&[], page);
    let ran = project.run("--json session gate check");
    assert!(ran.code == 3 && ran.stderr.contains("PROOF_MISSING"), "{ran}");
    assert_eq!(phase(&project, "T1-S1"), "implementation");
    let next = project.json("session next");
    let call = &next["calls"][0];
    assert_eq!(
        (&call["call"], &call["role"]),
        (&"confirm/T1-S1/GATE-4".into(), &"architect".into())
    );
    let open = "src/web.ts:1 loads `name`, which is worked out as it runs";
    assert!(call["faults"].to_string().contains(open), "{next}");
    let report = call["output"].as_str().unwrap();
    fs::create_dir_all(Path::new(report).parent().unwrap()).unwrap();
    fs::write(report, "# Imports\n\nIt loads themes, and nothing of the store.\n\nBlocking: 0\n")
        .unwrap();
    let ran = project.must(&format!("--json session gate check --report {report}"));
    let checked: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&checked["holds"], &checked["after"]), (&true.into(), &"verification".into()));
    assert_eq!(project.json("session next")["calls"][0]["call"], "verify/T1-S1");
    assert!(events(&project, "gate_failed").is_empty());
    let left_open = events(&project, "gate_left_open");
    assert!(left_open.len() == 1 && left_open[0].to_string().contains(open), "{left_open:?}");
    let passed = events(&project, "gate_passed");
    let of_design = passed.iter().find(|it| it["body"]["gate"] == "GATE-4").unwrap();
    assert!(of_design["body"]["evidence"].to_string().contains(report), "{of_design}");
}

#[test]
fn what_cannot_be_read_is_no_proof_that_the_design_was_kept_to() {
    let project = TYPESCRIPT.with_page(&[], "export const show = ((;\n");
    let ran = project.run("--json session gate check");
    assert!(ran.stderr.contains("PROOF_MISSING"), "{ran}");
    assert!(ran.stderr.contains("src/web.ts uses nothing that it may not: it could be"), "{ran}");
    let page = "export const show = () => 1;\n";
    let project = TYPESCRIPT.with_page(&[], page);
    put(&project, "T1/design-brief.yaml", &brief("T1"));
    project.write("src/run", "#!/bin/sh\ncat store\n");
    let ran = project.run("--json session gate check");
    assert!(ran.stderr.contains("PROOF_MISSING") && ran.stderr.contains("/bin/sh"), "{ran}");
    project.write("src/run", "a note\n");
    assert_eq!(check(&project)["after"], "verification");
}
