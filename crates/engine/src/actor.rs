//! Who is giving commands: a person, or an agent.
//!
//! A person is a process with a controlling terminal and no agent program among its ancestors;
//! everything else is an agent, whatever its environment says.

use crate::environment::Environment;
use std::{env, fs};
use waypost_agent::programs::{BUILT_IN, Programs};
use waypost_model::{actor::Actor, layout};

/// How far up the process tree is looked; deeper trees count as an agent's.
const ANCESTORS_MAX: usize = 64;

/// Finds out who runs this process.
pub fn identify() -> Actor {
    identify_process(std::process::id(), &Environment::of_this_process(), &BUILT_IN)
}

/// Finds out who runs a process of this user; its environment only says which attempt an agent is
/// at.
pub(crate) fn identify_process(pid: u32, environment: &Environment, programs: &Programs) -> Actor {
    match ancestry(pid, programs) {
        Ancestry { agent: None, has_terminal: true, is_whole: true } => Actor::User(user_name()),
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
    is_whole: bool,
}

fn ancestry(mut pid: u32, programs: &Programs) -> Ancestry {
    let mut found = Ancestry { agent: None, has_terminal: false, is_whole: false };
    for depth in 0..ANCESTORS_MAX {
        let Some(stat) = Stat::read(pid) else { break };
        if depth == 0 {
            found.has_terminal = stat.terminal != 0;
        } else if let Some(agent) = agent_of(pid, programs) {
            found.agent = Some(agent);
            break;
        }
        if stat.parent == 0 {
            found.is_whole = true;
            break;
        }
        pid = stat.parent;
    }
    found
}

fn agent_of(pid: u32, programs: &Programs) -> Option<&'static str> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line).into_owned();
    programs.recognise(line.split('\0').filter(|part| !part.is_empty()))
}

/// The two fields of `/proc/PID/stat` that matter here.
struct Stat {
    parent: u32,
    terminal: i64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The command's name may contain anything; the fields come after its last bracket.
        let mut fields = text.rsplit_once(") ")?.1.split(' ');
        let parent = fields.nth(1)?.parse().ok()?;
        let terminal = fields.nth(2)?.parse().ok()?;
        Some(Self { parent, terminal })
    }
}

fn user_name() -> String {
    let uid = rustix::process::getuid().as_raw();
    let from_passwd = || {
        let table = fs::read_to_string("/etc/passwd").ok()?;
        table.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
        })
    };
    from_passwd().unwrap_or_else(|| format!("uid-{uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_has_a_parent() {
        assert!(Stat::read(std::process::id()).is_some_and(|stat| stat.parent > 0));
    }
}
