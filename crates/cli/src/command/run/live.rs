//! Watching a run: drawn anew at a terminal, as lines elsewhere, as JSON for programs.

use crate::{
    Context,
    output::{CYAN, DIM, GREEN, RED, YELLOW, say, styled},
    show::{bar, duration},
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
use waypost_engine::{Audience, Happening, Running, Wish};
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
pub(super) struct Live {
    form: Form,
    quiet: bool,
    began: Option<Time>,
    interrupts: Arc<AtomicUsize>,
    said: usize,
}

impl Live {
    pub(super) fn begin(context: &Context) -> io::Result<Self> {
        let is_drawn = io::stderr().is_terminal() && !context.out.quiet;
        let form = match (context.out.json, is_drawn) {
            (true, _) => Form::Json,
            (false, true) => Form::Drawn { lines: 0 },
            (false, false) => Form::Lines,
        };
        let interrupts = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&interrupts);
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
        Ok(Self { form, quiet: context.out.quiet, began: None, interrupts, said: 0 })
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
            Happening::PhaseClosed { phase } => format!("phase {phase} {}", styled(GREEN, "done")),
            Happening::Note(text) => format!("{} {text}", styled(YELLOW, "note:")),
        };
        self.line(&text);
    }

    fn look(&mut self, active: &Active, running: &[Running<'_>], now: Time) {
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
        Happening::PhaseClosed { phase } => json!({ "event": "phase_closed", "phase": phase }),
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
        let title = shortened(title, width.saturating_sub(task.id.as_str().len() + 30));
        let doing = if task.is_verifying { " verifying" } else { "" };
        let attempt = if task.attempt > 1 { format!(" #{}", task.attempt) } else { String::new() };
        let since = styled(DIM, duration(now.since(task.since)));
        let _infallible =
            writeln!(text, "  {} {title}{attempt}{doing} {since}", styled(CYAN, task.id));
    }
    if running.len() > RUNNING_SHOWN {
        let _infallible = writeln!(text, "  and {} more", running.len() - RUNNING_SHOWN);
    }
    let elapsed = duration(now.since(began));
    let _infallible =
        writeln!(text, "{}", styled(DIM, format!("{elapsed}{}", rest(active, running.len()))));
    text
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
