//! Searches a secret everywhere that a test can look: in files, also those that git has packed, in
//! environments and in command lines, and in every usual encoding.
//!
//! The encodings are written here once more: what takes secrets out must not be what looks for them.

use crate::harness::Project;
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A value that is nowhere unless it leaked.
#[derive(Clone, Debug)]
pub(crate) struct Canary {
    pub(crate) value: String,
    needles: BTreeSet<Vec<u8>>,
}

impl Canary {
    /// One with signs that each encoding writes differently.
    pub(crate) fn new(name: &str) -> Self {
        Self::of(format!("canary/{name}-{}&+\"é\"=4711", std::process::id()))
    }

    pub(crate) fn of(value: String) -> Self {
        let bytes = value.as_bytes();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let percent = |is_large: bool| -> Vec<u8> {
            let one = |byte: &u8| match (byte.is_ascii_alphanumeric(), is_large) {
                (true, _) => char::from(*byte).to_string(),
                (false, true) => format!("%{byte:02X}"),
                (false, false) => format!("%{byte:02x}"),
            };
            bytes.iter().map(one).collect::<String>().into_bytes()
        };
        let json = serde_json::to_string(&value).unwrap();
        let json = json[1..json.len() - 1].to_owned();
        let twice = serde_json::to_string(&json).unwrap();
        let mut needles = BTreeSet::from([
            bytes.to_vec(),
            hex.to_uppercase().into_bytes(),
            hex.into_bytes(),
            percent(true),
            percent(false),
            twice.as_bytes()[1..twice.len() - 1].to_vec(),
            json.into_bytes(),
        ]);
        // What of base64 does not depend on what stands around the value.
        for before in 0..3 {
            let padded = [&[b'x'; 2][..before], bytes].concat();
            for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
                let coded = engine.encode(&padded).into_bytes();
                let whole = padded.len() * 8 / 6;
                needles.insert(coded[(before * 8).div_ceil(6)..whole].to_vec());
            }
        }
        Self { value, needles }
    }

    /// Whether these bytes have it.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        self.needles.iter().any(|needle| bytes.windows(needle.len()).any(|part| part == needle))
    }

    /// The files below these folders that have it, and the git folders with an object that does.
    pub(crate) fn in_files(&self, folders: &[&Path]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting: Vec<PathBuf> = folders.iter().map(|it| it.to_path_buf()).collect();
        while let Some(path) = waiting.pop() {
            let Ok(kind) = path.symlink_metadata().map(|found| found.file_type()) else { continue };
            if kind.is_dir() {
                let is_git = path.join("HEAD").is_file() && path.join("objects").is_dir();
                if is_git && self.is_in(&objects(&path)) {
                    found.push(path.join("objects"));
                }
                let entries = fs::read_dir(&path).into_iter().flatten();
                waiting.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
            } else if kind.is_file() && fs::read(&path).is_ok_and(|bytes| self.is_in(&bytes)) {
                found.push(path.clone());
            }
            // A name is written too.
            if self.is_in(path.as_os_str().as_encoded_bytes()) {
                found.push(path);
            }
        }
        found.sort();
        found
    }

    /// The processes whose command line has it, or whose environment does; those of `given`, who are to have
    /// it in their environment, may.
    pub(crate) fn in_processes(&self, is_given: impl Fn(&str) -> bool) -> Vec<String> {
        let entries = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok());
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let own = std::process::id();
        let mut found = Vec::new();
        for pid in pids.filter(|pid| *pid != own) {
            let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let line = read("cmdline");
            let shown = String::from_utf8_lossy(&line).replace('\0', " ");
            if self.is_in(&line) {
                found.push(format!("{pid} has it in its command line"));
            } else if !is_given(&shown) && self.is_in(&read("environ")) {
                found.push(format!("{pid} has it in its environment: {shown}"));
            }
        }
        found
    }

    /// It is in no file of a project or its home but those below `kept`, which are to have it.
    #[track_caller]
    pub(crate) fn assert_in_no_file(&self, project: &Project, kept: &[&Path]) {
        let base = project.base();
        let mut found = self.in_files(&[&base]);
        found.retain(|path| !kept.iter().any(|kept| path.starts_with(kept)));
        assert_eq!(found, Vec::<PathBuf>::new(), "these have the canary");
    }
}

/// All objects of a git folder, unpacked.
fn objects(git: &Path) -> Vec<u8> {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(git)
        .args(["cat-file", "--batch-all-objects", "--batch", "--unordered"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .output();
    output.map(|output| output.stdout).unwrap_or_default()
}

#[test]
fn a_canary_is_found_wherever_and_however_it_is_written() {
    let canary = Canary::new("found");
    let project = Project::git();
    let coded = STANDARD_NO_PAD.encode(format!("user:{}", canary.value));
    let written = [
        ("plain.txt", format!("a {} b", canary.value)),
        ("base64.txt", coded),
        ("hex.txt", canary.value.bytes().map(|byte| format!("{byte:02X}")).collect()),
        ("json.txt", serde_json::json!({"deep": {"value": canary.value}}).to_string()),
        ("none.txt", canary.value.replace("4711", "4712")),
    ];
    for (name, text) in &written {
        project.write(name, text);
    }
    let names = |found: Vec<PathBuf>| -> Vec<String> {
        found.iter().map(|path| path.file_name().unwrap().display().to_string()).collect()
    };
    let want = ["base64.txt", "hex.txt", "json.txt", "plain.txt"];
    assert_eq!(names(canary.in_files(&[&project.root])), want);
    project.git_command("add .");
    project.git_command("commit -qm canary");
    project.git_command("rm -q base64.txt hex.txt json.txt plain.txt");
    assert_eq!(names(canary.in_files(&[&project.root])), ["objects"]);
    let mut child = Command::new("sleep").arg("60").env("GIVEN", &canary.value).spawn().unwrap();
    crate::execute::wait_for("the child to have its environment", || {
        !canary.in_processes(|_| false).is_empty()
    });
    assert_eq!(canary.in_processes(|line| line.starts_with("sleep 60")), Vec::<String>::new());
    child.kill().unwrap();
    child.wait().unwrap();
}
