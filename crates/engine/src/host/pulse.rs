//! Whether a host lives: a thread that depends on neither its loop nor a disk feels its pulse.
//!
//! The loop beats each time that it comes round, at least once a second. When it does not, that is said
//! within seconds; when the run stands still for longer, targets of notices are told at once, past the
//! outbox, which may be what cannot be written. A heartbeat is sent only while there is a pulse.

use crate::{execute::Voice, notify::Messenger};
use std::{
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};
use waypost_model::{
    next::NextStep,
    notice::{Notice, NoticeKind},
    time::Time,
};

/// How often the pulse is felt. Times below are counted in these, so that a machine which slept has
/// missed nothing.
const TICK: Duration = Duration::from_secs(1);

/// A loop that has not come round for so long hangs in something that takes no time usually.
const SILENT_TICKS: u32 = 5;

/// After so many a notice that was not delivered is tried again.
const AGAIN_TICKS: u32 = 15;

/// What the loop and its guests tell.
#[derive(Default)]
pub(super) struct Pulse {
    vitals: Mutex<Vitals>,
    is_over: Condvar,
}

#[derive(Default)]
struct Vitals {
    beats: u64,
    /// Why the run stands still.
    stalled: Option<String>,
    voice: Option<Voice>,
    /// What is told at once.
    notices: Vec<Notice>,
    has_ended: bool,
}

impl fmt::Debug for Pulse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pulse").finish_non_exhaustive()
    }
}

impl Pulse {
    /// The loop has come round.
    pub(super) fn beat(&self) {
        let mut vitals = self.vitals();
        vitals.beats = vitals.beats.wrapping_add(1);
    }

    /// The run stands still, and why; or it does not.
    pub(super) fn report(&self, stalled: Option<String>) {
        self.vitals().stalled = stalled;
    }

    /// The run is gone, and with it what it stood still for.
    pub(super) fn is_well(&self) {
        let mut vitals = self.vitals();
        (vitals.stalled, vitals.voice) = (None, None);
    }

    /// What is said reaches a person this way.
    pub(super) fn speak_through(&self, voice: Option<Voice>) {
        self.vitals().voice = voice;
    }

    pub(super) fn say(&self, text: &str) {
        // The voice may wait for a terminal or a disk: no lock is held meanwhile.
        let voice = self.vitals().voice.clone();
        voice.into_iter().for_each(|voice| voice(text));
    }

    /// Has targets told, past the outbox.
    pub(super) fn tell(&self, notice: Notice) {
        self.vitals().notices.push(notice);
    }

    fn vitals(&self) -> MutexGuard<'_, Vitals> {
        self.vitals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that feels a pulse.
#[derive(Debug)]
pub(super) struct Attendant {
    pulse: Arc<Pulse>,
    thread: Option<JoinHandle<()>>,
}

impl Attendant {
    /// Begins to feel the pulse. Without a thread there is none who does; the host works all the same.
    pub(super) fn begin(pulse: &Arc<Pulse>, messenger: Messenger) -> Self {
        let felt = Arc::clone(pulse);
        let thread = thread::Builder::new().spawn(move || attend(&felt, &messenger)).ok();
        Self { pulse: Arc::clone(pulse), thread }
    }

    /// Ends it, after what is left to be told.
    pub(super) fn end(mut self) {
        self.pulse.vitals().has_ended = true;
        self.pulse.is_over.notify_all();
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn attend(pulse: &Pulse, messenger: &Messenger) {
    let mut chart = Chart::new(messenger.stall_ticks(TICK), messenger.heartbeat_ticks(TICK));
    let mut undelivered: Vec<(Notice, Vec<String>, u32)> = Vec::new();
    loop {
        let vitals = pulse.vitals();
        let waited = pulse.is_over.wait_timeout_while(vitals, TICK, |it| !it.has_ended);
        let (mut vitals, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let mut acts: Vec<PulseAct> = vitals.notices.drain(..).map(PulseAct::Tell).collect();
        let has_ended = vitals.has_ended;
        if !has_ended {
            acts.extend(chart.tick(vitals.beats, vitals.stalled.as_deref(), messenger.now()));
        } else if vitals.stalled.is_none() {
            // What was left to do may have taken less than a tick.
            acts.extend(chart.goes_on(messenger.now()));
        }
        drop(vitals);
        for act in acts {
            match act {
                PulseAct::Say(text) => pulse.say(&text),
                PulseAct::Tell(notice) => undelivered.push((notice, messenger.targets(), 0)),
                PulseAct::Beat => messenger.beat(),
            }
        }
        for (notice, targets, wait) in &mut undelivered {
            *wait = wait.saturating_sub(1);
            if *wait == 0 || has_ended {
                targets.retain(|target| !messenger.deliver(notice, target));
                *wait = AGAIN_TICKS;
            }
        }
        undelivered.retain(|(notice, targets, _)| !targets.is_empty() && !messenger.is_old(notice));
        if has_ended {
            return;
        }
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PulseAct {
    Say(String),
    Tell(Notice),
    Beat,
}

/// What was felt so far.
#[derive(Debug)]
struct Chart {
    stall_ticks: u32,
    heartbeat_ticks: Option<u32>,
    beats: u64,
    silent: u32,
    stalled: u32,
    is_told: bool,
    since_heartbeat: u32,
}

impl Chart {
    fn new(stall_ticks: u32, heartbeat_ticks: Option<u32>) -> Self {
        let since_heartbeat = heartbeat_ticks.unwrap_or(0);
        let (silent, stalled, is_told) = (0, 0, false);
        Self { stall_ticks, heartbeat_ticks, beats: 0, silent, stalled, is_told, since_heartbeat }
    }

    /// Tells that the run goes on if it was told that it does not.
    fn goes_on(&mut self, now: Time) -> Option<PulseAct> {
        let notice = || Notice::new(NoticeKind::RunStalled, "the run goes on", now);
        std::mem::take(&mut self.is_told).then(|| PulseAct::Tell(notice()))
    }

    fn tick(&mut self, beats: u64, stalled: Option<&str>, now: Time) -> Vec<PulseAct> {
        let mut acts = Vec::new();
        let was_silent = self.silent >= SILENT_TICKS;
        self.silent = if beats == self.beats { self.silent.saturating_add(1) } else { 0 };
        self.beats = beats;
        let is_silent = self.silent >= SILENT_TICKS;
        if is_silent && !was_silent {
            acts.push(PulseAct::Say(format!(
                "the engine does not move: it waits for a disk or for the system since {SILENT_TICKS} s"
            )));
        }
        if was_silent && !is_silent {
            acts.push(PulseAct::Say("the engine moves again".to_owned()));
        }
        let hangs =
            is_silent.then_some("the engine does not move: it waits for a disk or the system");
        match hangs.or(stalled) {
            Some(why) => {
                self.stalled = self.stalled.saturating_add(1);
                if self.stalled >= self.stall_ticks && !std::mem::replace(&mut self.is_told, true) {
                    acts.push(PulseAct::Tell(
                        Notice::new(NoticeKind::RunStalled, "the run stands still", now)
                            .text(format!("{why}\nIt goes on by itself when that is gone."))
                            .next(NextStep::ShowRun),
                    ));
                }
            }
            None => {
                self.stalled = 0;
                acts.extend(self.goes_on(now));
            }
        }
        self.since_heartbeat = self.since_heartbeat.saturating_add(1);
        if self.heartbeat_ticks.is_some_and(|ticks| self.since_heartbeat >= ticks) && !is_silent {
            self.since_heartbeat = 0;
            acts.push(PulseAct::Beat);
        }
        acts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_millis(7);

    /// What is done at each tick, in a few words.
    fn told(chart: &mut Chart, ticks: &[(u64, Option<&str>)]) -> Vec<String> {
        let word = |act: PulseAct| match act {
            PulseAct::Say(text) => format!("say {text}"),
            PulseAct::Tell(notice) => format!("tell {}: {}", notice.title, notice.text),
            PulseAct::Beat => "beat".to_owned(),
        };
        let mut said = Vec::new();
        for (at, (beats, stalled)) in ticks.iter().enumerate() {
            let acts = chart.tick(*beats, *stalled, NOW);
            said.extend(acts.into_iter().map(|act| format!("{at} {}", word(act))));
        }
        said
    }

    #[test]
    fn a_run_that_stands_still_is_told_once_and_so_is_its_end() {
        let mut chart = Chart::new(2, None);
        let full = Some("no space");
        let ticks = [(1, None), (2, full), (3, full), (4, full), (5, None), (6, None), (7, full)];
        assert_eq!(
            told(&mut chart, &ticks),
            [
                "2 tell the run stands still: no space\nIt goes on by itself when that is gone.",
                "4 tell the run goes on: ",
            ]
        );
    }

    #[test]
    fn a_loop_that_hangs_is_said_and_has_no_heartbeat() {
        let mut chart = Chart::new(2, Some(2));
        let ticks = [1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4].map(|beats| (beats, None));
        let said = told(&mut chart, &ticks);
        let words: Vec<&str> = said.iter().map(|it| it.split(':').next().unwrap()).collect();
        assert_eq!(
            words,
            [
                "0 beat",
                "2 beat",
                "4 beat",
                "5 say the engine does not move",
                "6 tell the run stands still",
                "8 say the engine moves again",
                "8 tell the run goes on",
                "8 beat",
                "10 beat",
            ]
        );
    }
}
