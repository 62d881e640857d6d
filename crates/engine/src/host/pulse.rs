//! Whether a host lives: a thread that depends on neither its loop nor a disk feels its pulse.
//!
//! The loop beats each time that it comes round, at least once a second, and with each beat puts off a
//! timer: the thread sleeps until that fires, which it does only when the loop hangs. That is said
//! within seconds; when the run stands still for longer, targets of notices are told at once, past the
//! outbox, which may be what cannot be written. A heartbeat is sent only while there is a pulse.

use crate::{
    bell::Bell,
    clock::Clock,
    error::{EngineError, Problem},
    execute::Voice,
    guest::Waits,
    notify::Messenger,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::{
    fmt,
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};
use waypost_model::{
    next::NextStep,
    notice::{Notice, NoticeKind},
    time::Time,
};

/// How often the pulse is felt while something is wrong or on its way. Times below are counted in
/// these, so that a machine which slept has missed nothing.
const TICK: Duration = Duration::from_secs(1);

/// A loop that has not come round for so long hangs in something that takes no time usually.
const SILENT_TICKS: u32 = 5;

/// After so many a notice that was not delivered is tried again.
const AGAIN_TICKS: u32 = 15;

/// The longest sleep while all is well; nothing follows from its end.
const CALM_MAX: Duration = Duration::from_secs(3_600);

/// What the loop and its guests tell.
pub(super) struct Pulse {
    vitals: Mutex<Vitals>,
    /// Fires when the loop was silent for all but the last of `SILENT_TICKS`; what has kept the whole
    /// process has then still a tick to go on.
    silence: OwnedFd,
    /// Wakes the thread for what is told and what has changed.
    bell: Bell,
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
    pub(super) fn new() -> Result<Self, EngineError> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        // This clock stands still while the machine sleeps.
        let silence = timerfd_create(TimerfdClockId::Monotonic, flags);
        let silence = silence.map_err(|error| Problem::system("cannot make a timer", error))?;
        Ok(Self { vitals: Mutex::default(), silence, bell: Bell::new()? })
    }

    /// The loop has come round.
    pub(super) fn beat(&self) {
        let mut vitals = self.vitals();
        vitals.beats = vitals.beats.wrapping_add(1);
        drop(vitals);
        let silence = Timespec { tv_sec: i64::from(SILENT_TICKS) - 1, tv_nsec: 0 };
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let put_off = Itimerspec { it_interval: once, it_value: silence };
        // It cannot fail for a timer and a time that are valid.
        let _before = timerfd_settime(&self.silence, TimerfdTimerFlags::empty(), &put_off);
    }

    /// The run stands still, and why; or it does not.
    pub(super) fn report(&self, stalled: Option<String>) {
        let mut vitals = self.vitals();
        let is_news = vitals.stalled.is_some() != stalled.is_some();
        vitals.stalled = stalled;
        drop(vitals);
        if is_news {
            self.bell.ring();
        }
    }

    /// The run is gone, and with it what it stood still for.
    pub(super) fn is_well(&self) {
        self.report(None);
        self.vitals().voice = None;
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
        self.bell.ring();
    }

    fn vitals(&self) -> MutexGuard<'_, Vitals> {
        self.vitals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until the loop is silent, something is told, or so much time is over.
    fn sleep(&self, longest: Duration) -> Woken {
        let mut waits = Waits::default();
        waits.readable(self.silence.as_fd());
        waits.readable(self.bell.as_fd());
        if waits.wait(Time::default(), longest).is_err() {
            // Without a way to wait, looking again and again would take a processor for nothing.
            thread::sleep(TICK);
        }
        // A beat that has come meanwhile has put the timer off, and nothing can be read.
        if rustix::io::read(&self.silence, &mut [0; 8]).is_ok() {
            Woken::Silence
        } else if self.bell.hear() {
            Woken::Bell
        } else {
            Woken::Time
        }
    }
}

/// What has ended a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Silence,
    Bell,
    Time,
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
        self.pulse.bell.ring();
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

fn attend(pulse: &Pulse, messenger: &Messenger) {
    let mut chart = Chart::new(messenger.stall_ticks(TICK), messenger.heartbeat_ticks(TICK));
    let mut undelivered = Undelivered(Vec::new());
    let mut felt_at = Clock.awake();
    loop {
        let is_calm = chart.is_calm() && undelivered.0.is_empty();
        let next = if is_calm { chart.heartbeat_after() } else { Some(1) };
        let next = next.map_or(CALM_MAX, |ticks| TICK * ticks);
        let woken = pulse.sleep((felt_at + next).saturating_sub(Clock.awake()));
        let mut vitals = pulse.vitals();
        let mut acts: Vec<PulseAct> = vitals.notices.drain(..).map(PulseAct::Tell).collect();
        let has_ended = vitals.has_ended;
        match woken {
            _ if has_ended && vitals.stalled.is_some() => {}
            // What was left to do may have taken less than a tick.
            _ if has_ended => acts.extend(chart.goes_on(messenger.now())),
            Woken::Silence => chart.is_silent_so_far(vitals.beats),
            Woken::Bell => chart.is_stalled = vitals.stalled.is_some(),
            Woken::Time => {
                let passed = whole_ticks(Clock.awake().saturating_sub(felt_at));
                felt_at += TICK * passed;
                let (beats, stalled) = (vitals.beats, vitals.stalled.as_deref());
                acts.extend(chart.tick(passed, beats, stalled, messenger.now()));
                undelivered.tick();
            }
        }
        drop(vitals);
        for act in acts {
            match act {
                PulseAct::Say(text) => pulse.say(&text),
                PulseAct::Tell(notice) => undelivered.0.push((notice, messenger.targets(), 0)),
                PulseAct::Beat => messenger.beat(),
            }
        }
        undelivered.deliver(messenger, has_ended);
        if has_ended {
            return;
        }
    }
}

fn whole_ticks(time: Duration) -> u32 {
    u32::try_from(time.as_secs() / TICK.as_secs()).unwrap_or(u32::MAX)
}

/// Notices on their way: to which targets still, and after how many ticks they are tried again.
struct Undelivered(Vec<(Notice, Vec<String>, u32)>);

impl Undelivered {
    fn tick(&mut self) {
        self.0.iter_mut().for_each(|(_, _, wait)| *wait = wait.saturating_sub(1));
    }

    /// Tries those whose time has come; at the end, all.
    fn deliver(&mut self, messenger: &Messenger, is_end: bool) {
        for (notice, targets, wait) in &mut self.0 {
            if *wait == 0 || is_end {
                targets.retain(|target| !messenger.deliver(notice, target));
                *wait = AGAIN_TICKS;
            }
        }
        self.0.retain(|(notice, targets, _)| !targets.is_empty() && !messenger.is_old(notice));
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
    /// Something is said to stand still.
    is_stalled: bool,
    is_told: bool,
    since_heartbeat: u32,
}

impl Chart {
    fn new(stall_ticks: u32, heartbeat_ticks: Option<u32>) -> Self {
        let since_heartbeat = heartbeat_ticks.unwrap_or(0);
        Self {
            stall_ticks,
            heartbeat_ticks,
            beats: 0,
            silent: 0,
            stalled: 0,
            is_stalled: false,
            is_told: false,
            since_heartbeat,
        }
    }

    /// Whether nothing is wrong, so that ticks need not be counted.
    fn is_calm(&self) -> bool {
        self.silent == 0 && self.stalled == 0 && !self.is_stalled && !self.is_told
    }

    /// After how many ticks the next heartbeat is due; none: there is none.
    fn heartbeat_after(&self) -> Option<u32> {
        self.heartbeat_ticks.map(|ticks| ticks.saturating_sub(self.since_heartbeat).max(1))
    }

    /// The timer has fired: there was no beat for all ticks but one.
    fn is_silent_so_far(&mut self, beats: u64) {
        (self.beats, self.silent) = (beats, self.silent.max(SILENT_TICKS - 1));
    }

    /// Tells that the run goes on if it was told that it does not.
    fn goes_on(&mut self, now: Time) -> Option<PulseAct> {
        let notice = || Notice::new(NoticeKind::RunStalled, "the run goes on", now);
        std::mem::take(&mut self.is_told).then(|| PulseAct::Tell(notice()))
    }

    /// Feels the pulse when so many ticks have passed since the last time: one if something is wrong,
    /// else as many as there were to the next heartbeat.
    fn tick(&mut self, passed: u32, beats: u64, stalled: Option<&str>, now: Time) -> Vec<PulseAct> {
        let mut acts = Vec::new();
        self.is_stalled = stalled.is_some();
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
        self.since_heartbeat = self.since_heartbeat.saturating_add(passed);
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
            let acts = chart.tick(1, *beats, *stalled, NOW);
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

    #[test]
    fn a_loop_that_has_fallen_silent_is_said_one_tick_after_the_timer_has_fired() {
        let mut chart = Chart::new(9, None);
        assert_eq!(told(&mut chart, &[(1, None)]), [""; 0]);
        chart.is_silent_so_far(1);
        assert!(!chart.is_calm());
        let said = told(&mut chart, &[(1, None), (2, None)]);
        let words: Vec<&str> = said.iter().map(|it| it.split(':').next().unwrap()).collect();
        assert_eq!(words, ["0 say the engine does not move", "1 say the engine moves again"]);
        assert!(chart.is_calm());
        // What has kept the whole process goes on within that tick.
        chart.is_silent_so_far(2);
        assert_eq!(told(&mut chart, &[(3, None)]), [""; 0]);
        assert!(chart.is_calm());
    }

    #[test]
    fn heartbeats_keep_their_pace_however_seldom_the_pulse_is_felt() {
        let mut chart = Chart::new(9, Some(60));
        assert_eq!(chart.heartbeat_after(), Some(1));
        assert_eq!(chart.tick(1, 1, None, NOW), [PulseAct::Beat]);
        assert_eq!(chart.heartbeat_after(), Some(60));
        // Something is wrong for a while; then the rest of the pause is left.
        assert_eq!(chart.tick(45, 2, Some("no space"), NOW), []);
        assert!(!chart.is_calm());
        assert_eq!(chart.tick(1, 3, None, NOW), []);
        assert_eq!((chart.is_calm(), chart.heartbeat_after()), (true, Some(14)));
        assert_eq!(chart.tick(14, 4, None, NOW), [PulseAct::Beat]);
        assert_eq!(Chart::new(9, None).heartbeat_after(), None);
    }

    #[test]
    fn the_thread_sleeps_as_long_as_the_loop_beats_and_is_woken_when_it_does_not() {
        let pulse = Pulse::new().unwrap();
        pulse.beat();
        assert_eq!(pulse.sleep(Duration::ZERO), Woken::Time);
        pulse.report(Some("no space".into()));
        assert_eq!(pulse.sleep(CALM_MAX), Woken::Bell);
        pulse.report(Some("no memory".into()));
        assert_eq!(pulse.sleep(Duration::ZERO), Woken::Time, "it stands still as before");
        pulse.is_well();
        assert_eq!(pulse.sleep(CALM_MAX), Woken::Bell);
        assert_eq!(pulse.sleep(CALM_MAX), Woken::Silence);
        assert_eq!(pulse.sleep(Duration::ZERO), Woken::Time, "once is enough");
    }
}
