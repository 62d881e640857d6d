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
    io,
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
        thread::spawn(move || {
            for _ in signals.forever() {
                flag.store(true, Ordering::SeqCst);
            }
        });
        Ok(Self {
            screen: Screen::is_wanted(context.out).then(Screen::default),
            is_quiet,
            is_stopped,
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
        if is_stopped && !self.has_said {
            self.has_said = true;
            self.tell("stopping; the same command goes on later where this ends");
        }
        is_stopped
    }
}

/// The program that keeps agents: this one.
pub(crate) fn keeper() -> io::Result<Vec<OsString>> {
    Ok(vec![env::current_exe()?.into(), "keeper".into()])
}
