//! Watching a run: drawn anew at a terminal, as lines elsewhere, as JSON for programs.

use crate::{
    Context,
    output::{CYAN, DIM, GREEN, RED, YELLOW, say, styled},
    show::{self, bar, duration},
};
use serde_json::json;
use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use waypost_engine::{Audience, Doing, Happening, RunLog, Running, Wish};
use waypost_model::{
    run::{Active, TaskStatus},
    time::Time,
};

/// How many running tasks are shown one by one.
const RUNNING_SHOWN: usize = 12;
const BAR_WIDTH: usize = 24;

/// How what happens is shown.
enum Form {
    /// Drawn anew several times a second; so many lines were drawn last.
    Drawn {
        lines: usize,
    },
    Lines,
    Json,
}

/// Somebody at a terminal, in a log, or a program.
pub(crate) struct Live {
    form: Form,
    quiet: bool,
    began: Option<Time>,
    interrupts: Arc<AtomicUsize>,
    said: usize,
    /// Where everything goes that is said in the background.
    log: Option<RunLog>,
}

/// What a run in the background says first, on a line of its own: it is at work.
pub(super) fn first_word(is_json: bool) -> &'static str {
    if is_json { r#"{"event":"working"}"# } else { "the run is at work" }
}

impl Live {
    /// For the engine itself; interrupts are wishes from here on.
    pub(crate) fn begin(context: &Context) -> io::Result<Self> {
        let live = Self::watching(context);
        let count = Arc::clone(&live.interrupts);
        let signals = [
            signal_hook::consts::SIGINT,
            signal_hook::consts::SIGTERM,
            signal_hook::consts::SIGHUP,
        ];
        let mut signals = signal_hook::iterator::Signals::new(signals)?;
        thread::spawn(move || {
            for _ in signals.forever() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(live)
    }

    /// For somebody who only watches; an interrupt ends the watching.
    pub(super) fn watching(context: &Context) -> Self {
        let is_drawn = io::stderr().is_terminal() && !context.out.quiet;
        let form = match (context.out.json, is_drawn) {
            (true, _) => Form::Json,
            (false, true) => Form::Drawn { lines: 0 },
            (false, false) => Form::Lines,
        };
        let (quiet, interrupts) = (context.out.quiet, Arc::new(AtomicUsize::new(0)));
        Self { form, quiet, began: None, interrupts, said: 0, log: None }
    }

    /// The same in the background, where everything goes to a log.
    pub(super) fn into_log(self, log: RunLog) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Takes away what is drawn, so that something can be said.
    pub(super) fn clear(&mut self) {
        if let Form::Drawn { lines } = &mut self.form
            && *lines > 0
        {
            let _unseen = write!(io::stderr(), "\x1b[{lines}A\x1b[J");
            *lines = 0;
        }
    }

    fn line(&mut self, text: &str) {
        if !self.quiet {
            self.clear();
            say(text);
        }
    }
}

impl Audience for Live {
    fn tell(&mut self, happening: &Happening) {
        if matches!(self.form, Form::Json) {
            let _unheard = writeln!(io::stdout(), "{}", data(happening));
            return;
        }
        if self.quiet {
            return;
        }
        let is_drawn = matches!(self.form, Form::Drawn { .. });
        let text = match happening {
            Happening::Started { .. } if is_drawn => return,
            Happening::Started { id, attempt: 1 } => format!("{id} started"),
            Happening::Started { id, attempt } => format!("{id} started, attempt {attempt}"),
            Happening::Completed { id } => format!("{id} {}", styled(GREEN, "completed")),
            Happening::Retried { id, text, .. } => {
                format!("{id} {} {text}", styled(YELLOW, "is tried again:"))
            }
            Happening::Failed { id, text } => format!("{id} {} {text}", styled(RED, "failed:")),
            Happening::Interrupted { id, why } => format!("{id} waits again: {why}"),
            Happening::Parked { id, why, until } => {
                format!("{id} {} {until}: {why}", styled(YELLOW, "waits until"))
            }
            Happening::Asked { title, .. } => {
                format!("{} {title} ({})", styled(CYAN, "question:"), "waypost inbox")
            }
            Happening::PhaseClosed { phase, merge_commit, missing } => {
                let merged = merge_commit.as_deref().map(|it| it.get(..7).unwrap_or(it));
                let merged = merged.map(|it| format!(", merged as {it}")).unwrap_or_default();
                let how = match missing {
                    0 => styled(GREEN, "done"),
                    missing => {
                        styled(RED, format!("ended without {missing} tasks (PHASE_FAILED:{phase})"))
                    }
                };
                format!("phase {phase} {how}{merged}")
            }
            Happening::Note(text) => format!("{} {text}", styled(YELLOW, "note:")),
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
        let text = match &self.form {
            Form::Drawn { .. } => drawing(active, running, began, now),
            Form::Lines | Form::Json => return,
        };
        self.clear();
        if let Form::Drawn { lines } = &mut self.form {
            let _unseen = write!(anstream::stderr(), "{text}");
            *lines = text.lines().count();
        }
    }

    fn wish(&mut self) -> Wish {
        let count = self.interrupts.load(Ordering::SeqCst);
        if count > self.said {
            self.said = count;
            self.line(match count {
                1 => "no new tasks are started; running ones finish (again: they are stopped)",
                _ => "running tasks are stopped; they will be ready again",
            });
        }
        match count {
            0 => Wish::GoOn,
            1 => Wish::Finish,
            _ => Wish::Stop,
        }
    }
}

/// A happening as one JSON object.
fn data(happening: &Happening) -> serde_json::Value {
    match happening {
        Happening::Started { id, attempt } => {
            json!({ "event": "started", "id": id, "attempt": attempt })
        }
        Happening::Completed { id } => json!({ "event": "completed", "id": id }),
        Happening::Retried { id, text, not_before } => {
            json!({ "event": "retried", "id": id, "reason": text, "not_before": not_before.to_string() })
        }
        Happening::Failed { id, text } => json!({ "event": "failed", "id": id, "reason": text }),
        Happening::Interrupted { id, why } => {
            json!({ "event": "interrupted", "id": id, "reason": why })
        }
        Happening::Parked { id, why, until } => {
            json!({ "event": "parked", "id": id, "reason": why, "until": until.to_string() })
        }
        Happening::Asked { id, title } => json!({ "event": "asked", "id": id, "question": title }),
        Happening::PhaseClosed { phase, merge_commit, missing } => json!({
            "event": "phase_closed",
            "phase": phase,
            "merge_commit": merge_commit,
            "missing": missing,
        }),
        Happening::Note(text) => json!({ "event": "note", "text": text }),
    }
}

/// A bar per phase that is under way, a line per running task, and what is left.
fn drawing(active: &Active, running: &[Running<'_>], began: Time, now: Time) -> String {
    let (mut text, width) = (String::new(), width());
    let current = active.current_phase();
    for (number, name) in &active.plan().phases {
        let progress = active.progress(*number);
        if *number != current && (progress.completed == 0 || progress.is_settled()) {
            continue;
        }
        let bar = bar(progress.completed, progress.total, BAR_WIDTH);
        let failed = match progress.failed + progress.blocked {
            0 => String::new(),
            count => styled(RED, format!("  {count} failed or blocked")),
        };
        let counts = format!("{}/{}", progress.completed, progress.total);
        let name = shortened(name, width.saturating_sub(BAR_WIDTH + 55));
        let _infallible = writeln!(text, "phase {number} {bar} {counts} {name}{failed}");
    }
    for task in running.iter().take(RUNNING_SHOWN) {
        let title = active.task(task.id).map_or("", |view| view.planned.title.as_str());
        // A line that wraps would not be taken away as a whole.
        let title = shortened(title, (width / 2).saturating_sub(task.id.as_str().len() + 4));
        let doing = doing(task);
        let attempt = if task.attempt > 1 { format!(" #{}", task.attempt) } else { String::new() };
        let since = styled(DIM, duration(now.since(task.since)));
        let doing = shortened(&doing, (width / 2).saturating_sub(12));
        let doing = styled(DIM, doing);
        let _infallible =
            writeln!(text, "  {} {title}{attempt} {since} {doing}", styled(CYAN, task.id));
    }
    if running.len() > RUNNING_SHOWN {
        let _infallible = writeln!(text, "  and {} more", running.len() - RUNNING_SHOWN);
    }
    let elapsed = duration(now.since(began));
    let line = format!("{elapsed}{}{}", rest(active, running.len()), spent(active, running));
    let _infallible = writeln!(text, "{}", styled(DIM, line));
    text
}

/// What is being done for a task, in a few words.
fn doing(task: &Running<'_>) -> String {
    match &task.agent {
        _ if task.doing == Doing::Preparing => "preparing its work tree".to_owned(),
        _ if task.doing == Doing::Verifying => "verifying".to_owned(),
        _ if task.doing == Doing::Joining => "joining".to_owned(),
        Some(agent) if agent.waits => format!("{}: waits for you (waypost inbox)", agent.name),
        Some(agent) => format!("{}: {}", agent.name, agent.doing),
        None => String::new(),
    }
}

/// Tokens and money so far, where any were used.
fn spent(active: &Active, running: &[Running<'_>]) -> String {
    let mut usage = *active.usage();
    running.iter().filter_map(|task| task.agent).for_each(|agent| usage.add(&agent.usage));
    if usage.is_nothing() { String::new() } else { format!(", {}", show::usage(&usage)) }
}

/// How wide the terminal is.
fn width() -> usize {
    const USUAL: usize = 80;
    rustix::termios::tcgetwinsize(io::stderr())
        .map_or(USUAL, |size| usize::from(size.ws_col))
        .max(40)
}

/// A title in at most so many characters, without any that move the cursor.
fn shortened(text: &str, length: usize) -> String {
    let plain: String = text.chars().filter(|char| !char.is_control()).collect();
    match plain.char_indices().nth(length.max(10)) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}

/// How long the rest may take, from what tasks took so far.
fn rest(active: &Active, running: usize) -> String {
    let average = active.average_task_seconds();
    let left = [TaskStatus::Pending, TaskStatus::Ready, TaskStatus::InProgress]
        .into_iter()
        .map(|status| active.count(status) as u64)
        .sum::<u64>();
    if average == 0 || left == 0 {
        return String::new();
    }
    let seconds = average * left / (running.max(1) as u64);
    format!(", about {} left", duration(std::time::Duration::from_secs(seconds)))
}
