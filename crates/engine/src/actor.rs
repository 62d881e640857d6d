//! Who is giving commands: a person, or an agent.
//!
//! A person is a process with a controlling terminal, no agent program and no keeper among its
//! ancestors, and without the mark that a wall leaves on everything inside it (`NoNewPrivs`, which
//! neither a new session nor a terminal of one's own takes away). Everything else is an agent,
//! whatever its environment says; so is what a person types behind `!` in an agent program.

use crate::environment::Environment;
use std::{env, fs, io::Read as _, path::PathBuf};
use waypost_agent::programs::{BUILT_IN, Programs};
use waypost_model::{actor::Actor, layout};

/// How far up the process tree is looked; deeper trees count as an agent's.
const ANCESTORS_MAX: usize = 64;

/// Most of what the system tells about a process is shorter.
const PROC_FILE_SIZE: usize = 4 << 10;

/// More than any command line.
const PROC_FILE_SIZE_MAX: u64 = 8 << 20;

/// Finds out who runs this process.
pub fn identify() -> Actor {
    identify_process(std::process::id(), &Environment::of_this_process(), &BUILT_IN)
}

/// Finds out who runs a process of this user; its environment only says which attempt an agent is
/// at.
pub(crate) fn identify_process(pid: u32, environment: &Environment, programs: &Programs) -> Actor {
    match ancestry(pid, programs) {
        Ancestry { agent: None, has_terminal: true, is_marked: false, is_whole: true } => {
            Actor::User(user_name())
        }
        Ancestry { agent, .. } => Actor::Agent {
            id: agent.unwrap_or("unknown").to_owned(),
            attempt: environment
                .text(layout::variable::ATTEMPT)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0),
        },
    }
}

/// The conversation of the agent that runs this process, where its program says which.
pub fn own_conversation() -> Option<String> {
    waypost_agent::conversation(|name| env::var(name).ok())
}

/// Whether Waypost started the agent above this process, and judges itself what came of it.
pub fn is_sent_by_waypost() -> bool {
    env::var_os(layout::variable::ATTEMPT).is_some_and(|value| !value.is_empty())
}

struct Ancestry {
    agent: Option<&'static str>,
    has_terminal: bool,
    /// Whether it is below a keeper, or cannot gain privileges any more: both are an agent's.
    is_marked: bool,
    is_whole: bool,
}

fn ancestry(mut pid: u32, programs: &Programs) -> Ancestry {
    let is_marked = !may_gain_privileges(pid);
    let mut found = Ancestry { agent: None, has_terminal: false, is_marked, is_whole: false };
    for depth in 0..ANCESTORS_MAX {
        let Some(stat) = Stat::read(pid) else { break };
        if depth == 0 {
            found.has_terminal = stat.terminal != 0;
        } else {
            let line = command_line(pid).unwrap_or_default();
            let words = || line.split('\0').filter(|part| !part.is_empty());
            if let Some(agent) = programs.recognise(words()) {
                found.agent = Some(agent);
                break;
            }
            found.is_marked |= is_keeper(words());
        }
        if stat.parent == 0 {
            found.is_whole = true;
            break;
        }
        pid = stat.parent;
    }
    found
}

/// The words of a process's command line, each with a zero byte behind it.
fn command_line(pid: u32) -> Option<String> {
    read_about(pid, "cmdline")
}

/// What the system tells about a process. It has no size that could be asked for, so room is made at once.
fn read_about(pid: u32, what: &str) -> Option<String> {
    let file = fs::File::open(format!("/proc/{pid}/{what}")).ok()?;
    let mut bytes = Vec::with_capacity(PROC_FILE_SIZE);
    file.take(PROC_FILE_SIZE_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a command line is that of a process that keeps children of an engine.
fn is_keeper<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    let program = words.next().and_then(|path| path.rsplit('/').next());
    program == Some("waypost") && words.next() == Some("keeper")
}

/// Whether a process lacks the mark `NoNewPrivs`; what cannot be told is a no.
fn may_gain_privileges(pid: u32) -> bool {
    let status = read_about(pid, "status").unwrap_or_default();
    let mark = status.lines().find_map(|line| line.strip_prefix("NoNewPrivs:"));
    mark.is_some_and(|mark| mark.trim() == "0")
}

/// The two fields of `/proc/PID/stat` that matter here.
struct Stat {
    parent: u32,
    terminal: i64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        let text = read_about(pid, "stat")?;
        // The command's name may contain anything; the fields come after its last bracket.
        let mut fields = text.rsplit_once(") ")?.1.split(' ');
        let parent = fields.nth(1)?.parse().ok()?;
        let terminal = fields.nth(2)?.parse().ok()?;
        Some(Self { parent, terminal })
    }
}

fn user_name() -> String {
    let uid = rustix::process::getuid().as_raw();
    field_of_user(0).unwrap_or_else(|| format!("uid-{uid}"))
}

/// The home folder that the system knows for this user, whatever the environment says.
pub(crate) fn home_of_user() -> Option<PathBuf> {
    field_of_user(5).map(PathBuf::from).filter(|home| home.is_absolute())
}

/// A field of this user's line in the system's table of users.
fn field_of_user(at: usize) -> Option<String> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let table = fs::read_to_string("/etc/passwd").ok()?;
    let line = table.lines().find(|line| line.split(':').nth(2) == Some(&uid))?;
    line.split(':').nth(at).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_has_a_parent() {
        assert!(Stat::read(std::process::id()).is_some_and(|stat| stat.parent > 0));
    }

    #[test]
    fn a_keeper_is_known_by_its_command_line() {
        let table: &[(&[&str], bool)] = &[
            (&["/usr/bin/waypost", "keeper", "/x"], true),
            (&["waypost", "keeper"], true),
            (&["waypost", "run"], false),
            (&["bash", "keeper"], false),
            (&[], false),
        ];
        for (words, want) in table {
            assert_eq!(is_keeper(words.iter().copied()), *want, "{words:?}");
        }
    }
}
