//! A program that behaves badly in every way that a supervised one can, for the tests.
//!
//! `chaos-agent DEED [WORD…]`; whatever it starts carries the same last word, so that a test finds
//! all of it by its command line. Each process says `up` when it is where it wants to be.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a fixture starts processes, prints, and ends as it likes"
)]

use std::{
    env,
    ffi::OsString,
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio, exit},
    thread,
    time::Duration,
};
use waypost_proc::{Keeper, Limits, Program, Spec};

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["keeper", folder] => waypost_proc::serve(Path::new(folder)).unwrap(),
        ["engine", folder, token] => engine(Path::new(folder), token),
        ["exit", code, ..] => exit(code.parse().unwrap()),
        ["stay", ..] => stay(),
        ["deaf", token] => deaf(&["stay", token]),
        ["session", token] => in_session(token),
        ["daemon", token] => drop(daemon(token).spawn().unwrap()),
        ["wiped", token] => {
            drop(daemon(token).env_clear().spawn().unwrap());
            stay();
        }
        ["tree", token] => tree(token),
        ["leave", token] => drop(itself(&["stay", token]).spawn().unwrap()),
        ["leave-silent", token] => {
            drop(itself(&["session", token]).stdout(Stdio::null()).stderr(Stdio::null()).spawn());
        }
        ["bomb", count, token] => bomb(count.parse().unwrap(), token),
        ["flood", count, ..] => flood(count.parse().unwrap()),
        ["echo", ..] => echo(),
        ["bytes", ..] => io::stdout().write_all(&bytes()).unwrap(),
        ["write", file, seconds] => {
            thread::sleep(Duration::from_secs_f64(seconds.parse().unwrap()));
            drop(std::fs::File::create(file).unwrap());
        }
        _ => exit(64),
    }
}

fn itself(words: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(words);
    command
}

/// Stays until it is killed.
fn stay() {
    println!("up");
    loop {
        thread::park();
    }
}

/// Becomes one that ignores every signal that can be ignored: that is kept through exec.
fn deaf(words: &[&str]) {
    let script = r#"trap "" TERM INT HUP TSTP; exec "$0" "$@""#;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).arg(env::current_exe().unwrap()).args(words);
    panic!("{}", command.exec());
}

fn in_session(token: &str) {
    let _leads_already = rustix::process::setsid();
    deaf(&["stay", token]);
}

/// One that has forgotten its parents once this process is gone.
fn daemon(token: &str) -> Command {
    let _leads_already = rustix::process::setsid();
    itself(&["deaf", token])
}

/// Four that are hard to find or to kill, and itself.
fn tree(token: &str) {
    drop(itself(&["stay", token]).spawn().unwrap());
    drop(itself(&["session", token]).env_clear().spawn().unwrap());
    drop(itself(&["deaf", token]).spawn().unwrap());
    itself(&["daemon", token]).spawn().unwrap().wait().unwrap();
    stay();
}

/// Starts half of what is left twice, and stays.
fn bomb(count: u32, token: &str) {
    let rest = count.saturating_sub(1);
    for part in [rest / 2, rest - rest / 2].into_iter().filter(|part| *part > 0) {
        drop(itself(&["bomb", &part.to_string(), token]).spawn().unwrap());
    }
    stay();
}

/// Writes without a single line end.
fn flood(mut count: usize) {
    let piece = vec![b'x'; 1 << 20];
    let mut output = io::stdout().lock();
    while count > 0 {
        let size = count.min(piece.len());
        output.write_all(&piece[..size]).unwrap();
        count -= size;
    }
}

/// Says what it hears, at once.
fn echo() {
    let (mut input, mut output, mut piece) = (io::stdin().lock(), io::stdout().lock(), [0; 4096]);
    loop {
        let count = input.read(&mut piece).unwrap();
        if count == 0 {
            return;
        }
        output.write_all(&piece[..count]).unwrap();
        output.flush().unwrap();
    }
}

/// Every byte, broken code points, colours.
fn bytes() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend(b"\x1b[31mred\x1b[0m \xed\xa0\x80 \xf0\x9f \0 \r\n\xe2");
    bytes
}

/// Plays an engine that is killed: starts a keeper with one child that ends after a while, one
/// that stays, and one that waits for its turn.
fn engine(folder: &Path, token: &str) {
    let program = [env::current_exe().unwrap().into_os_string(), OsString::from("keeper")];
    let keeper = Keeper::start(&folder.join("keepers"), &program).unwrap();
    let own = env::current_exe().unwrap().into_os_string();
    let spec = |id: &str, words: &[&str]| Spec {
        id: id.into(),
        program: Program::Argv(
            std::iter::once(own.clone()).chain(words.iter().map(OsString::from)).collect(),
        ),
        folder: folder.to_owned(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        log: folder.join(format!("{id}.log")),
        limits: Limits { grace: Duration::from_millis(100), ..Limits::default() },
        talk: None,
        secrets: Vec::new(),
    };
    keeper.set_slots(2).unwrap();
    let gate = folder.join("gate").into_os_string().into_string().unwrap();
    let script = format!("while [ ! -e '{gate}' ]; do sleep 0.01; done; echo {token}; exit 7");
    let mut short = spec("short", &[]);
    short.program = Program::Shell(script);
    keeper
        .spawn(vec![short, spec("long", &["tree", token]), spec("late", &["exit", "0"])])
        .unwrap();
    let mut started = 0;
    while started < 2 {
        started += keeper.next(Duration::from_secs(60)).unwrap().len();
    }
    stay();
}
