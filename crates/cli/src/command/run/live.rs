//! Watching a run: a picture that is kept up to date at a terminal, lines elsewhere (also where
//! `TERM` is `dumb`, and with `--no-progress`), JSON for programs.

use super::{
    drawing::{self, Moment},
    requests::Requests,
};
use crate::{
    Context,
    output::{CYAN, DIM, GREEN, RED, YELLOW, say, styled},
    screen::{Screen, Size},
    show::{countdown, duration},
};
use crate::{
    data::{Enveloped, RunEvent, RunEventLine},
    spelling,
};
use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use waypost_engine::{Audience, Happening, Haste, Ring, RunLog, RunNews, Running, Voice, Wish};
use waypost_model::{id::TaskId, run::Active, time::Time};

/// How often a picture is drawn while nothing happens.
const DRAWING_INTERVAL: Duration = Duration::from_millis(100);

/// How what happens is shown.
enum Form {
    /// A picture below the lines, several times a second.
    Drawn(Screen),
    Lines,
    Json,
}

/// Shows a run to a person at a terminal, in a log, or to a program.
pub(crate) struct Live {
    form: Form,
    quiet: bool,
    verbose: bool,
    began: Option<Time>,
    /// When it was last looked at.
    now: Option<Time>,
    /// What each agent did when it was last looked at, with `--verbose`.
    doing: BTreeMap<TaskId, String>,
    requests: Requests,
    /// How long running tasks have after a request that is no Ctrl-C.
    grace: Duration,
    /// The last level of requests that was told.
    said: usize,
    /// Where everything goes that is said in the background.
    log: Option<RunLog>,
}

/// What a run in the background says first, on a line of its own: it is at work.
pub(super) fn first_word(is_json: bool) -> String {
    match is_json {
        true => line_of(&RunEvent::Working.into()),
        false => "the run is at work".to_owned(),
    }
}

/// An event as one line of JSON.
fn line_of(event: &RunEventLine<'_>) -> String {
    // It has only strings and numbers.
    serde_json::to_string(&Enveloped::new(event)).unwrap_or_default()
}

impl Live {
    /// For the engine itself: signals are requests to end from here on. What runs has `grace` to
    /// finish when it is not Ctrl-C that asks.
    pub(crate) fn begin(context: &Context, grace: Duration) -> io::Result<Self> {
        let requests = Requests::listen(grace)?;
        Ok(Self { requests, grace, ..Self::watching(context) })
    }

    /// For a process that only watches; an interrupt ends the watching.
    pub(super) fn watching(context: &Context) -> Self {
        let form = match context.out.json {
            true => Form::Json,
            false if Screen::is_wanted(context.out) => Form::Drawn(Screen::default()),
            false => Form::Lines,
        };
        Self {
            form,
            quiet: context.out.quiet,
            verbose: context.out.verbose,
            began: None,
            now: None,
            doing: BTreeMap::new(),
            requests: Requests::default(),
            grace: Duration::ZERO,
            said: 0,
            log: None,
        }
    }

    /// The same in the background, where everything goes to a log.
    pub(super) fn into_log(self, log: RunLog) -> Self {
        Self { log: Some(log), ..self }
    }

    /// To be told in the thread of a host, and asked here.
    pub(super) fn shared(self) -> SharedLive {
        SharedLive(Arc::new(Mutex::new(self)))
    }

    /// Takes away what is drawn, so that something can be said.
    pub(super) fn clear(&mut self) {
        if let Form::Drawn(screen) = &mut self.form {
            screen.clear();
        }
    }

    fn line(&mut self, text: &str) {
        if !self.quiet {
            self.clear();
            say(text);
        }
    }

    /// Says what agents do, whenever that has changed.
    fn say_doing(&mut self, running: &[Running<'_>]) {
        for task in running {
            let Some(agent) = task.agent.filter(|agent| !agent.doing.is_empty()) else { continue };
            if self.doing.get(task.id).is_none_or(|last| last != agent.doing) {
                self.doing.insert(task.id.clone(), agent.doing.to_owned());
                let text = format!("{} {}: {}", task.id, agent.name, agent.doing);
                self.line(&styled(DIM, text));
            }
        }
    }

    /// How long it is until `time`, as in ` in 5 s`; nothing before the first look.
    fn until(&self, time: Time) -> String {
        let now = self.now.filter(|now| *now < time);
        now.map(|now| format!(" in {}", countdown(time.since(now)))).unwrap_or_default()
    }
}

/// A view that a host draws in its own thread.
#[derive(Clone)]
pub(super) struct SharedLive(Arc<Mutex<Live>>);

impl SharedLive {
    pub(super) fn audience(&self) -> Box<dyn Audience + Send> {
        Box::new(Arc::clone(&self.0))
    }

    pub(super) fn clear(&self) {
        self.live().clear();
    }

    /// The exit code of a run that is not finished because a signal has ended it.
    pub(super) fn signal_code(&self) -> Option<u8> {
        self.live().requests.exit_code()
    }

    /// A drawing that panicked is drawn again.
    fn live(&self) -> MutexGuard<'_, Live> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Audience for Live {
    fn tell(&mut self, news: &RunNews) {
        if matches!(self.form, Form::Json) {
            let _unheard = writeln!(io::stdout(), "{}", line_of(&news.into()));
            return;
        }
        if self.quiet {
            return;
        }
        let is_drawn = matches!(self.form, Form::Drawn(_)) && !self.verbose;
        let text = match &news.happening {
            Happening::Started { .. } if is_drawn => return,
            Happening::Started { id, attempt: 1 } => format!("{id} started"),
            Happening::Started { id, attempt } => format!("{id} started, attempt {attempt}"),
            Happening::Completed { id } => format!("{id} {}", styled(GREEN, "completed")),
            Happening::Retried { id, text, not_before } => {
                let again = format!("is tried again{}:", self.until(*not_before));
                format!("{id} {} {text}", styled(YELLOW, again))
            }
            Happening::Failed { id, text } => format!("{id} {} {text}", styled(RED, "failed:")),
            Happening::Interrupted { id, why } => format!("{id} waits again: {why}"),
            Happening::Parked { id, why, until: Some(until), .. } => {
                format!("{id} {} {until}: {why}", styled(YELLOW, "waits until"))
            }
            Happening::Parked { id, why, until: None, .. } => {
                format!("{id} {} {why}", styled(YELLOW, "waits for a person:"))
            }
            Happening::Asked { title, .. } => {
                format!("{} {title} ({})", styled(CYAN, "question:"), "waypost inbox")
            }
            Happening::PhaseClosed { phase, merge_commit, missing } => {
                let merged = merge_commit.as_deref().map(|it| it.get(..7).unwrap_or(it));
                let merged = merged.map(|it| format!(", merged as {it}")).unwrap_or_default();
                let how = match missing {
                    0 => styled(GREEN, "done"),
                    1 => styled(RED, format!("failed: 1 task is not done (PHASE_FAILED:{phase})")),
                    count => styled(
                        RED,
                        format!("failed: {count} tasks are not done (PHASE_FAILED:{phase})"),
                    ),
                };
                format!("phase {phase} {how}{merged}")
            }
            Happening::Note(text) => format!("{} {text}", styled(YELLOW, "note:")),
            Happening::Remark(remark) => {
                format!("{} {}", styled(YELLOW, "note:"), spelling::line(remark))
            }
        };
        self.line(&text);
    }

    fn look(&mut self, active: &Active, running: &[Running<'_>], now: Time) {
        if let Some(log) = &self.log {
            if self.began.is_none() {
                let is_json = matches!(self.form, Form::Json);
                let _unheard = writeln!(io::stdout(), "{}", first_word(is_json));
            }
            // A log that cannot be kept small is no reason to stop.
            let _grows = log.keep_small();
        }
        let began = *self.began.get_or_insert(now);
        self.now = Some(now);
        match &mut self.form {
            Form::Drawn(screen) => {
                let size = Size::now();
                screen.draw(&drawing::lines(active, running, Moment { began, now, size }), size);
            }
            Form::Lines if self.verbose => self.say_doing(running),
            Form::Lines | Form::Json => {}
        }
    }

    /// A picture has clocks in it.
    fn pace(&self) -> Duration {
        match self.form {
            Form::Drawn(_) => DRAWING_INTERVAL,
            Form::Lines | Form::Json => Duration::from_secs(1),
        }
    }

    fn ring_when_wished(&mut self, ring: Ring) {
        self.requests.ring_when_asked(ring);
    }

    /// Past what is drawn: a picture that is spoilt is better than silence.
    fn voice(&self) -> Option<Voice> {
        Some(Arc::new(|text: &str| say(&format!("{} {text}", styled(YELLOW, "note:")))))
    }

    fn wish(&mut self) -> Wish {
        let level = self.requests.level();
        if level > self.said {
            self.said = level;
            let text = match level {
                1 if self.requests.has_grace() => format!(
                    "no new tasks are started; running ones have {} to finish",
                    duration(self.grace)
                ),
                1 => "no new tasks are started; running ones finish (again: they are stopped)"
                    .to_owned(),
                _ => "running tasks are stopped; they will be ready again".to_owned(),
            };
            self.line(&text);
        }
        match level {
            0 => Wish::GoOn,
            1 => Wish::Finish,
            _ => Wish::Stop,
        }
    }

    fn end(&mut self, haste: Haste) {
        self.requests.end(haste, self.grace);
    }
}
