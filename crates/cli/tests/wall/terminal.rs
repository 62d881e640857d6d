//! Calls with a terminal: what is shown and what is typed there is the command's.

use crate::site::{Phase, Site, Wall};
use std::{
    io::{Read as _, Write as _},
    process::{Child, Command, Stdio},
};

/// A call at a terminal of its own; none if `script` is missing, which is said.
fn at_terminal(site: &Site, text: &str) -> Option<Child> {
    let shell = site.shell(text);
    let words: Vec<String> = std::iter::once(shell.get_program())
        .chain(shell.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', "'\\''")))
        .collect();
    let mut command = Command::new("script");
    command.args(["-qfec", &words.join(" "), "/dev/null"]).env_clear().current_dir(site.root());
    command.envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("TERM", "xterm").env("SHELL", "/bin/sh");
    match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            println!("skipped: `script` is missing (package bsdutils): {error}");
            None
        }
    }
}

/// All that is shown up to a word.
fn until(child: &mut Child, word: &str) -> String {
    let mut shown = Vec::new();
    let mut byte = [0; 1];
    let output = child.stdout.as_mut().unwrap();
    while output.read(&mut byte).unwrap() == 1 {
        shown.push(byte[0]);
        if shown.ends_with(word.as_bytes()) {
            break;
        }
    }
    String::from_utf8_lossy(&shown).into_owned()
}

fn each(check: impl Fn(&Site, Wall)) {
    for wall in [Wall::B, Wall::C] {
        if let Some(site) = Site::new(wall, Phase::PushesClosed) {
            check(&site, wall);
        }
    }
}

#[test]
fn ctrl_c_ends_the_command_and_all_that_it_has_started() {
    each(|site, wall| {
        let text = "sleep 1000 & echo ready; wait";
        let Some(mut child) = at_terminal(site, text) else { return };
        until(&mut child, "ready");
        child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
        until(&mut child, "no such word: until its end");
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(130), "{wall:?}");
        if wall == Wall::B {
            assert_eq!(site.left(), Vec::<u32>::new());
        }
        site.left().into_iter().for_each(end);
    });
}

/// Ends what a call without namespaces has left.
fn end(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
