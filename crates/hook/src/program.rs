//! The program `waypost-hook`: answers before a tool call from the gate record alone, or hands the
//! event on to `waypost hook`.
//!
//! It starts in a fraction of a millisecond, because every tool call of every agent waits for it:
//! no database, no configuration, no threads. Whatever goes wrong in here ends as a refusal where
//! a journal is near, never as silence, which agent programs take for a yes.

use crate::{Case, Spot, Standing, fence, folders, log, spelling};
use std::{
    env,
    ffi::OsStr,
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::process::CommandExt as _,
    panic,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};
use waypost_agent::hook::{
    Event, HookAnswer, INPUT_SIZE_MAX, Moment, Product, Reply, ToolCall, read, refuse_unread,
};
use waypost_model::{layout, time::Time, verdict::VerdictOutcome, workflow::Held};

/// Answers one event: the whole of the program.
pub fn run() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let product = words.first().and_then(|word| Product::from_word(word));
    let answered = panic::catch_unwind(|| answer(product, &words));
    say(&answered
        .unwrap_or_else(|_| refuse_unread(product, "waypost-hook has failed; this is a bug")))
}

fn say(reply: &Reply) -> ExitCode {
    // An answer that the agent program does not take cannot be given in another way.
    let _unheard = io::stderr().write_all(reply.stderr.as_bytes());
    let _unheard = io::stdout().write_all(reply.stdout.as_bytes());
    ExitCode::from(reply.code)
}

fn answer(product: Option<Product>, words: &[String]) -> Reply {
    let mut input = Vec::with_capacity(4 << 10);
    let limit = INPUT_SIZE_MAX as u64 + 1;
    let is_read = io::stdin().take(limit).read_to_end(&mut input).is_ok();
    if let Some(reply) = fence::refuse(product, is_read.then_some(input.as_slice()), now) {
        return reply;
    }
    if is_read
        && let Ok(event) = read(product, &input)
        && let Moment::BeforeTool(call) = &event.moment
        && let Some(reply) = by_record(&event, call)
    {
        return reply;
    }
    hand_on(product, words, &input)
}

/// A work tree that holds the agent, as its record says.
struct Holder {
    spot: Spot,
    held: Held,
}

/// The answer that the records of all projects around allow to give; none if one of them is not
/// known, or if it takes more than a record to allow the call.
fn by_record(event: &Event, call: &ToolCall) -> Option<Reply> {
    let folders = folders(Some(event));
    let mut spots: Vec<Spot> = Vec::new();
    for folder in &folders {
        let spot = Spot::find(folder)?;
        if !spots.contains(&spot) {
            spots.push(spot);
        }
    }
    let mut holders = Vec::new();
    for spot in spots {
        match Standing::of(&spot) {
            Standing::Free => {}
            Standing::Held(held) => holders.push(Holder { spot, held }),
            Standing::Unknown => return None,
        }
    }
    let mut is_finishing = false;
    for Holder { spot, held } in &holders {
        let ruling = Case { folder: folders.first()?, spot, held }.judge(call);
        is_finishing |= ruling.is_finishing;
        if let Some(refusal) = ruling.refusal {
            let message = spelling::told(&refusal);
            let outcome = VerdictOutcome::Refused {
                tool: call.name.clone(),
                call: call.id.clone(),
                rule: refusal.rule.as_str().to_owned(),
                message: message.clone(),
            };
            log::note(spot, event, now(), outcome);
            return Some(event.reply(&HookAnswer::Refuse(message)));
        }
    }
    if is_finishing {
        return None;
    }
    for Holder { spot, .. } in &holders {
        let outcome = VerdictOutcome::Allowed { tool: call.name.clone(), call: call.id.clone() };
        log::note(spot, event, now(), outcome);
    }
    Some(event.reply(&HookAnswer::Silent))
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, which asks for the time once")]
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Becomes `waypost hook`, with the same event on its standard input. Comes back only if that is
/// not possible; then nothing is allowed where a journal is near.
fn hand_on(product: Option<Product>, words: &[String], input: &[u8]) -> Reply {
    let error = match memory_file(input) {
        Ok(file) => exec(file, words),
        Err(error) => error,
    };
    let is_near = folders(None).iter().chain(&named_folder(product, input)).any(|folder| {
        folder.ancestors().any(|folder| {
            folder.join(layout::STATE_OUTSIDE_GIT).is_dir()
                || folder.join(".git/waypost").is_dir()
                || folder.join(".git").is_file()
        })
    });
    if !is_near {
        return Reply { stdout: String::new(), stderr: String::new(), code: 0 };
    }
    let reason = format!("the gate cannot be asked, because `waypost` cannot be run: {error}");
    match read(product, input) {
        Ok(event) => event.reply(&HookAnswer::Refuse(reason)),
        Err(_) => refuse_unread(product, &reason),
    }
}

fn named_folder(product: Option<Product>, input: &[u8]) -> Option<PathBuf> {
    read(product, input).ok()?.folder.map(PathBuf::from)
}

fn memory_file(input: &[u8]) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create(
        "waypost-hook-event",
        rustix::fs::MemfdFlags::CLOEXEC,
    )?);
    file.write_all(input)?;
    file.rewind()?;
    Ok(file)
}

/// Runs the `waypost` that stands beside this program, else the one on the path.
#[expect(clippy::disallowed_methods, reason = "this program becomes the other one")]
fn exec(input: File, words: &[String]) -> io::Error {
    let beside = env::current_exe().ok().map(|own| own.with_file_name("waypost"));
    let program = beside.filter(|path| path.is_file());
    let program = program.as_ref().map_or_else(|| OsStr::new("waypost"), |path| path.as_os_str());
    Command::new(program).arg("hook").args(words).stdin(Stdio::from(input)).exec()
}
