//! The double as a program: which voice it has, how it begins, and how it ends.

use super::acp::Acp;
use super::arguments::{Arguments, is_uuid};
use super::claude::Claude;
use super::codex_exec::CodexExec;
use super::codex_server::CodexServer;
use super::ear::{Ear, Event};
use super::plain::Plain;
use super::player::{Player, Stop};
use super::script::AgentScript;
use super::sessions::Conversation;
use super::voice::{Message, Voice};
use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};
use signal_hook::{consts::SIGTERM, iterator::Signals};
use std::fmt;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;
use waypost_agent::Adapter;
use waypost_model::time::Time;

/// How long the player may take to end when it is told to: it may be stuck in a full pipe.
const GRACE: Duration = Duration::from_millis(500);

/// A program that can be played.
#[derive(Clone, Copy)]
pub struct Double {
    /// How the program speaks.
    pub adapter: Adapter,
    voice: fn(&ProgramOptions) -> Box<dyn Voice>,
    /// How it begins, and in what it is unlike the others.
    play: fn(&mut Player<'_>, &mut dyn Write) -> Result<(), Stop>,
}

/// All programs that can be played.
static DOUBLES: &[Double] = &[
    Double {
        adapter: Adapter::CLAUDE,
        voice: |it| Box::new(Claude::new(&Arguments(&it.arguments), &it.folder_text())),
        play: claude,
    },
    Double {
        adapter: Adapter::CODEX,
        voice: |it| Box::new(CodexServer::new(&it.folder_text())),
        play: |player, _| player.play(),
    },
    Double {
        adapter: Adapter::CODEX_EXEC,
        voice: |it| Box::new(CodexExec::new(&Arguments(&it.arguments))),
        play: codex_exec,
    },
    Double {
        adapter: Adapter::ACP,
        voice: |_| Box::new(Acp::default()),
        play: |player, _| player.play(),
    },
    Double {
        adapter: Adapter::PLAIN,
        voice: |_| Box::<Plain>::default(),
        play: |player, _| player.play(),
    },
];

impl Double {
    pub fn all() -> impl Iterator<Item = Self> {
        DOUBLES.iter().copied()
    }

    /// The double of the programs that an adapter is for; none where they cannot be played.
    pub fn of(adapter: Adapter) -> Option<Self> {
        Self::all().find(|double| double.adapter == adapter)
    }
}

impl fmt::Debug for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.adapter)
    }
}

/// What the program is and does.
#[derive(Clone, Debug)]
pub struct ProgramOptions {
    pub speak: Double,
    /// What the real program would be given.
    pub arguments: Vec<String>,
    pub script: AgentScript,
    /// Where conversations are remembered.
    pub sessions: PathBuf,
    /// The task, where it is known; else the first message may name it.
    pub task: Option<String>,
    /// Counted from 1.
    pub attempt: u32,
    /// Where files are written and commands run.
    pub folder: PathBuf,
    pub clock: fn() -> Time,
}

impl ProgramOptions {
    fn folder_text(&self) -> String {
        self.folder.display().to_string()
    }
}

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(u8),
    /// With a word about it on standard error.
    Crash(u8),
    /// By a signal that no program can hear.
    Kill,
}

/// Plays the program on the real standard input and output; returns its exit code.
pub fn run(options: &ProgramOptions) -> io::Result<u8> {
    let ear = Ear::open(io::stdin());
    let is_deaf = Arc::new(AtomicBool::new(false));
    obey(ear.sender(), Arc::clone(&is_deaf))?;
    let (mut output, mut errors) = (io::stdout().lock(), io::stderr());
    let exit = converse(options, ear, (&mut output, &mut errors), &is_deaf)?;
    match exit {
        Exit::Code(code) => Ok(code),
        Exit::Crash(code) => {
            writeln!(errors, "fatal: the script wants a crash")?;
            Ok(code)
        }
        Exit::Kill => {
            kill_process(getpid(), Signal::KILL)?;
            Ok(1)
        }
    }
}

/// Plays the program on any input and output.
pub fn talk(
    options: &ProgramOptions,
    input: impl Read + Send + 'static,
    output: &mut dyn Write,
    errors: &mut dyn Write,
) -> io::Result<Exit> {
    converse(options, Ear::open(input), (output, errors), &AtomicBool::new(false))
}

/// Passes the wish to end on, in a thread of its own.
fn obey(player: SyncSender<Event>, is_deaf: Arc<AtomicBool>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM])?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if !is_deaf.load(Ordering::SeqCst) {
                // It does not matter whether there was room: the time is up in any case.
                let _unheard = player.try_send(Event::Terminate);
                thread::sleep(GRACE);
                leave();
            }
        }
    });
    Ok(())
}

#[expect(clippy::exit, reason = "the player does not listen, and the program has to end")]
fn leave() {
    std::process::exit(143);
}

fn converse(
    options: &ProgramOptions,
    ear: Ear,
    (output, errors): (&mut dyn Write, &mut dyn Write),
    is_deaf: &AtomicBool,
) -> io::Result<Exit> {
    let mut player = Player::new(options, (options.speak.voice)(options), ear, output, is_deaf)?;
    let stop = (options.speak.play)(&mut player, errors);
    match stop {
        Ok(()) | Err(Stop::Turn(_)) => Ok(Exit::Code(player.voice.exit_code())),
        Err(Stop::Exit(exit)) => Ok(exit),
        Err(Stop::Io(error)) => Err(error),
    }
}

/// Claude Code knows its conversation from its arguments.
fn claude(player: &mut Player<'_>, errors: &mut dyn Write) -> Result<(), Stop> {
    let arguments = Arguments(&player.options.arguments);
    let conversation = if let Some(id) = arguments.option("--resume") {
        let Some(conversation) = player.sessions.find(id)? else {
            let message = format!("No conversation found with session ID: {id}");
            let lines = player.voice.opened(&json!(id), Err(&message));
            player.say(lines)?;
            return refuse(errors, &message);
        };
        conversation
    } else if let Some(id) = arguments.option("--session-id") {
        if !is_uuid(id) {
            return refuse(errors, "Error: Invalid session ID. Must be a valid UUID.");
        }
        if player.sessions.find(id)?.is_some() {
            return refuse(errors, &format!("Error: Session ID {id} is already in use."));
        }
        Conversation::new(id)
    } else {
        player.sessions.begin()?
    };
    player.open(&Value::Null, conversation)?;
    if arguments.option("--input-format") == Some("stream-json") {
        return player.play();
    }
    let text = player.whole_input()?;
    player.turn(&Message { text, request: Value::Null })
}

/// `codex exec` takes one message, and begins when it is there as a whole.
fn codex_exec(player: &mut Player<'_>, errors: &mut dyn Write) -> Result<(), Stop> {
    let words = &player.options.arguments;
    writeln!(errors, "Reading prompt from stdin...")?;
    let text = player.whole_input()?;
    let conversation = if Arguments(words).has("resume") {
        let id = words.iter().rev().find(|word| *word != "-").map_or("", String::as_str);
        let Some(conversation) = player.sessions.find(id)? else {
            let message = format!("thread/resume failed: no rollout found for thread id {id}");
            return refuse(errors, &format!("Error: {message}"));
        };
        conversation
    } else {
        player.sessions.begin()?
    };
    player.open(&Value::Null, conversation)?;
    player.turn(&Message { text, request: Value::Null })
}

/// Ends with a word on standard error.
fn refuse(errors: &mut dyn Write, message: &str) -> Result<(), Stop> {
    writeln!(errors, "{message}")?;
    Err(Stop::Exit(Exit::Code(1)))
}
