//! The program `waypost-hook`: answers before a tool call from the gate record alone, or hands the
//! event on to `waypost hook`.
//!
//! It starts in a fraction of a millisecond, because every tool call of every agent waits for it:
//! no database, no configuration, no threads. Whatever goes wrong in here ends as a refusal where
//! a journal is near, never as silence, which agent programs take for a yes.

use crate::{
    Asked, Case, Spot, Standing, Wall, contracts::is_contract, fence, folders, is_second, is_whole,
    log, lost_shell, spelling,
};
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

/// Answers one event: the whole of the program. Inside a wall the answer is given outside, where the
/// journal can be read and verdicts can be written down.
pub fn run() -> ExitCode {
    if waypost_wall::broker::is_inside()
        && let Some(code) = outside()
    {
        return code;
    }
    let asked = Asked::of(env::args().skip(1).collect());
    let answered = panic::catch_unwind(|| answer(&asked));
    let failed = || refuse_unread(asked.product, "waypost-hook has failed; this is a bug");
    say(&answered.unwrap_or_else(|_| failed()))
}

/// What the same program says outside; none if the broker could not be asked.
fn outside() -> Option<ExitCode> {
    let words = env::args_os().skip(1).collect();
    let code = crate::shell::ask_outside("waypost-hook", words).ok()?;
    // To an agent program only these two are answers; what ended otherwise must not be taken for a yes.
    Some(ExitCode::from(if code == 0 { 0 } else { REFUSED }))
}

/// The exit code by which a hook refuses.
const REFUSED: u8 = 2;

fn say(reply: &Reply) -> ExitCode {
    // An answer that the agent program does not take cannot be given in another way.
    let _unheard = io::stderr().write_all(reply.stderr.as_bytes());
    let _unheard = io::stdout().write_all(reply.stdout.as_bytes());
    ExitCode::from(reply.code)
}

fn answer(asked: &Asked) -> Reply {
    let product = asked.product;
    let mut input = Vec::with_capacity(4 << 10);
    let limit = INPUT_SIZE_MAX as u64 + 1;
    let is_read = io::stdin().take(limit).read_to_end(&mut input).is_ok();
    if let Some(reply) = fence::refuse(product, is_read.then_some(input.as_slice()), now) {
        return reply;
    }
    if is_read
        && let Ok(event) = read(product, &input)
        && let Moment::BeforeTool(call) = &event.moment
    {
        if let Some(reason) = lost_shell(event.product, call) {
            let outcome = refused(call, LOST_SHELL, &reason);
            fence::note_for_attempt(&event, now(), &outcome, &[]);
            return event.reply(&HookAnswer::Refuse(reason));
        }
        if event.asks_a_person() && is_contract(call) {
            return event.reply(&HookAnswer::Allow);
        }
        if let Some(reply) = by_record(asked, &event, call) {
            return reply;
        }
    }
    hand_on(product, &asked.words, &input)
}

/// What the verdict calls the refusal of a call whose shell is gone.
const LOST_SHELL: &str = "lost_shell";

fn refused(call: &ToolCall, rule: &str, message: &str) -> VerdictOutcome {
    let (tool, id) = (call.name.clone(), call.id.clone());
    VerdictOutcome::Refused { tool, call: id, rule: rule.to_owned(), message: message.to_owned() }
}

/// A work tree that holds the agent, as its record says.
struct Holder {
    spot: Spot,
    held: Held,
}

/// The answer that the records of all projects around allow to give; none if one of them is not
/// known, or if it takes more than a record to allow the call.
fn by_record(asked: &Asked, event: &Event, call: &ToolCall) -> Option<Reply> {
    let folders = folders(Some(event));
    let mut spots: Vec<Spot> = Vec::new();
    for folder in &folders {
        let spot = Spot::find(folder)?;
        if !spots.contains(&spot) {
            spots.push(spot);
        }
    }
    let mut holders = Vec::new();
    // The journal that the registration names has to be one of those around.
    let mut is_known = asked.journal.is_none();
    for spot in spots {
        let (standing, journal) = Standing::with_journal(&spot);
        is_known |= journal == asked.journal;
        match standing {
            Standing::Free => {}
            Standing::Held(held) => holders.push(Holder { spot, held }),
            Standing::Unknown => return None,
        }
    }
    is_known.then_some(())?;
    let is_walled = !holders.is_empty() || is_whole();
    let wall = is_walled.then(|| Wall::around(event.product, call)).flatten();
    let is_second = is_second(event.product, holders.iter().map(|it| it.spot.root.as_path()));
    let mut is_finishing = false;
    for Holder { spot, held } in &holders {
        let is_walled = wall.is_some();
        let ruling = Case { folder: folders.first()?, spot, held, is_walled }.judge(call);
        is_finishing |= ruling.is_finishing;
        if let Some(refusal) = ruling.refusal {
            let message = spelling::told(&refusal);
            let outcome = refused(call, refusal.rule.as_str(), &message);
            if !is_second {
                fence::note_for_attempt(event, now(), &outcome, &[spot]);
                log::note(spot, event, now(), outcome);
            }
            return Some(event.reply(&HookAnswer::Refuse(message)));
        }
    }
    if is_finishing {
        return None;
    }
    if is_second {
        return Some(event.reply(&HookAnswer::Silent));
    }
    let outcome = VerdictOutcome::Allowed { tool: call.name.clone(), call: call.id.clone() };
    let held: Vec<&Spot> = holders.iter().map(|it| &it.spot).collect();
    // What an agent of ours does is written down also where no gate is asked.
    fence::note_for_attempt(event, now(), &outcome, &held);
    for spot in held {
        log::note(spot, event, now(), outcome.clone());
    }
    let rewritten = wall.and_then(|wall| wall.rewrite(call));
    Some(event.reply(&rewritten.map_or(HookAnswer::Silent, HookAnswer::Rewrite)))
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
