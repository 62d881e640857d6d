//! Watching agents at work in the foreground: a line that is kept up to date at a terminal, nothing
//! but what is worth a line elsewhere. Ctrl-C stops them; they can be taken up again.

use crate::{
    Context,
    output::{DIM, say, styled},
    screen::{Screen, Size},
    show::one_line,
};
use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};
use waypost_engine::Onlooker;

/// How much of what an agent does is shown.
const DOING_LENGTH_MAX: usize = 60;

/// Shows agents at work to a person at a terminal, or in a log.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Where something can be drawn.
    screen: Option<Screen>,
    is_quiet: bool,
    is_stopped: Arc<AtomicBool>,
    /// Readable once it is to be stopped, until that was seen.
    bell: UnixStream,
    has_said: bool,
    doing: BTreeMap<String, String>,
}

impl Watch {
    pub(crate) fn begin(context: &Context) -> io::Result<Self> {
        let is_quiet = context.out.quiet || context.out.json;
        let is_stopped = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_stopped);
        let signals = [
            signal_hook::consts::SIGINT,
            signal_hook::consts::SIGTERM,
            signal_hook::consts::SIGHUP,
        ];
        let mut signals = signal_hook::iterator::Signals::new(signals)?;
        let (bell, mut ringer) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ringer.set_nonblocking(true)?;
        thread::spawn(move || {
            for _ in signals.forever() {
                flag.store(true, Ordering::SeqCst);
                // A bell that cannot be rung again rings already.
                let _rings = ringer.write(&[1]);
            }
        });
        Ok(Self {
            screen: Screen::is_wanted(context.out).then(Screen::default),
            is_quiet,
            is_stopped,
            bell,
            has_said: false,
            doing: BTreeMap::new(),
        })
    }

    /// Takes away what is drawn, so that something can be said.
    pub(crate) fn clear(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.clear();
        }
    }
}

/// What was watched is over, and something is said about it.
impl Drop for Watch {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Onlooker for Watch {
    fn tell(&mut self, line: &str) {
        if !self.is_quiet {
            self.clear();
            say(line);
        }
    }

    fn look(&mut self, who: &str, doing: &str) {
        let Some(screen) = &mut self.screen else { return };
        self.doing.insert(who.to_owned(), one_line(doing, DOING_LENGTH_MAX));
        let all: Vec<String> =
            self.doing.iter().map(|(who, doing)| format!("{who}: {doing}")).collect();
        screen.draw(&[styled(DIM, all.join("  |  "))], Size::now());
    }

    fn wants_stop(&mut self) -> bool {
        let is_stopped = self.is_stopped.load(Ordering::SeqCst);
        let _silent = self.bell.read(&mut [0; 16]);
        if is_stopped && !self.has_said {
            self.has_said = true;
            self.tell("stopping; the same command goes on later where this ends");
        }
        is_stopped
    }

    fn bell(&self) -> Option<BorrowedFd<'_>> {
        Some(self.bell.as_fd())
    }
}

/// The program that keeps agents: this one.
pub(crate) fn keeper() -> io::Result<Vec<OsString>> {
    Ok(vec![env::current_exe()?.into(), "keeper".into()])
}
