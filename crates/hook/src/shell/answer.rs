//! The rights of the moment: from the gate records, else from the journal by `waypost hook rights`.
//!
//! A record says the same as the journal where it is signed with the key in the user's folder, which no call can
//! read, and nothing has changed that it was compiled from. In the last phase rights depend on what the files
//! contain as well, which a record does not know: then the journal is asked in any case. Whatever is no
//! clear answer counts as no rights at all.

use crate::{Spot, Standing, record};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use std::{
    env,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use waypost_model::{
    config::{WallConfig, WallLevel},
    layout::{self, variable},
    workflow::{GateRecord, Phase, Rights},
};

/// How long the journal may take to answer; then nothing is allowed.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// More than the answer for as many projects as have a say.
const SIZE_MAX: u64 = 1 << 20;

/// What holds a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The projects whose workflow holds it, or which an attempt works in.
    pub projects: Vec<Holding>,
    /// What all of them allow.
    pub rights: Rights,
    pub require: WallLevel,
    pub build_folders: Vec<String>,
    pub caches: Vec<String>,
    pub readable: Vec<String>,
    /// Servers of tools, with the variables that they keep.
    pub servers: Vec<(String, Vec<String>)>,
}

/// A project with a say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holding {
    pub spot: Spot,
    pub design_paths: Vec<String>,
}

impl Answer {
    /// What holds a call that is made in these folders now.
    pub(super) fn ask(folders: &[PathBuf]) -> Self {
        Self::by_records(folders).unwrap_or_else(|| Self::by_journals(folders))
    }

    /// What the records of all projects around say; none where one of them cannot say it.
    fn by_records(folders: &[PathBuf]) -> Option<Self> {
        let is_attempt = env::var_os(variable::ATTEMPT).is_some();
        let mut spots: Vec<Spot> = Vec::new();
        let mut answer = Self { rights: Rights::ALL, ..Self::strictest(&[]) };
        let mut wall = None;
        for folder in folders {
            let spot = Spot::find(folder)?;
            if spots.contains(&spot) {
                continue;
            }
            spots.push(spot.clone());
            let GateRecord { held, wall: said, .. } = record::whole(&spot)?;
            let design_paths = match held {
                Some(held) if held.phase == Phase::Pr => return None,
                Some(held) => {
                    answer.rights = meet(answer.rights, held.rights);
                    held.design_paths
                }
                None if is_attempt => Vec::new(),
                None => continue,
            };
            answer.require = answer.require.max(said.require);
            // A person's own lists are the same for all.
            wall.get_or_insert(said);
            answer.projects.push(Holding { spot, design_paths });
        }
        let WallConfig { build_folders, caches, readable, mcp, .. } = wall.unwrap_or_default();
        let servers = mcp.into_iter().map(|(name, server)| (name, server.variables)).collect();
        Some(Self { build_folders, caches, readable, servers, ..answer })
    }

    /// Asks the journals of all projects around.
    fn by_journals(folders: &[PathBuf]) -> Self {
        let text = asked(folders);
        let answer = text.and_then(|text| Self::read(&serde_json::from_str(&text).ok()?));
        let mut answer = answer.unwrap_or_else(|| Self::strictest(folders));
        for holding in &answer.projects {
            if let Standing::Held(held) = Standing::of(&holding.spot) {
                answer.rights = meet(answer.rights, held.rights);
            }
        }
        answer
    }

    /// What holds a call about which nothing is known.
    fn strictest(folders: &[PathBuf]) -> Self {
        let mut projects: Vec<Holding> = Vec::new();
        for folder in folders {
            let spot = Spot::find(folder).unwrap_or_else(|| assumed(folder));
            if !projects.iter().any(|known| known.spot == spot) {
                projects.push(Holding { spot, design_paths: Vec::new() });
            }
        }
        let WallConfig { build_folders, .. } = WallConfig::default();
        Self {
            projects,
            rights: Rights::NONE,
            require: WallLevel::None,
            build_folders,
            caches: Vec::new(),
            readable: Vec::new(),
            servers: Vec::new(),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        (value["v"] == 1).then_some(())?;
        let texts = |key: &str| texts(&value[key]);
        let mut projects = Vec::new();
        let mut rights = Rights::ALL;
        for project in value["projects"].as_array()? {
            let path = |key: &str| project[key].as_str().map(PathBuf::from);
            let spot = Spot {
                root: path("root")?,
                git_common: path("git_common"),
                state: path("state")?,
                tree: project["tree"].as_str()?.to_owned(),
            };
            let words = self::texts(&project["rights"])?;
            rights = meet(rights, Rights::from_words(words.iter().map(String::as_str))?);
            projects.push(Holding { spot, design_paths: self::texts(&project["design_paths"])? });
        }
        Some(Self {
            projects,
            rights,
            require: WallLevel::from_word(value["require"].as_str()?)?,
            build_folders: texts("build_folders")?,
            caches: texts("caches")?,
            readable: texts("readable")?,
            servers: servers(&value["servers"])?,
        })
    }
}

/// A project of which only the folder is known.
fn assumed(folder: &Path) -> Spot {
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let root = folder.ancestors().find(has_git).unwrap_or(folder);
    let git = root.join(".git");
    let git_common = git.is_dir().then_some(git);
    let state = match &git_common {
        Some(git) => git.join(layout::STATE_IN_GIT),
        None => root.join(layout::STATE_OUTSIDE_GIT),
    };
    Spot { root: root.into(), git_common, state, tree: "main".into() }
}

fn servers(value: &Value) -> Option<Vec<(String, Vec<String>)>> {
    let all = value.as_object()?.iter();
    all.map(|(name, variables)| Some((name.clone(), texts(variables)?))).collect()
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|it| it.as_str().map(str::to_owned)).collect()
}

/// What both allow.
pub(super) fn meet(one: Rights, other: Rights) -> Rights {
    Rights {
        write: one.write && other.write,
        write_design: one.write_design && other.write_design,
        commit: one.commit && other.commit,
        push_branch: one.push_branch && other.push_branch,
        publish: one.publish && other.publish,
    }
}

/// What the `waypost` beside this program says, within its time.
#[expect(clippy::disallowed_methods, reason = "a program of its own, which asks the journal")]
fn asked(folders: &[PathBuf]) -> Option<String> {
    let beside = env::current_exe().ok()?.with_file_name("waypost");
    let mut command = Command::new(beside);
    command.args(["hook", "rights"]).args(folders);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let output = child.stdout.take()?;
    let mut text = String::new();
    // It says everything at once, at its end.
    let is_ready = {
        let mut descriptors = [PollFd::new(&output, PollFlags::IN)];
        poll(&mut descriptors, Some(&PATIENCE)).is_ok_and(|count| count > 0)
    };
    if !is_ready {
        let _gone = child.kill();
    }
    let is_read = output.take(SIZE_MAX).read_to_string(&mut text).is_ok();
    let is_good = child.wait().is_ok_and(|status| status.success());
    (is_ready && is_read && is_good).then_some(text)
}
