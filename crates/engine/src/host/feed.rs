//! What happens to a run, for all who watch it from other processes, and what they want of it.
//!
//! The host's own thread tells and never waits: each watcher has a queue of a limited length, from
//! which a thread of its own sends. A watcher that does not keep up is let go; it may come again.

use super::protocol::{self, Answer, TaskAtWork};
use crate::{
    attendance::Haste,
    bell::Bell,
    clock::Clock,
    execute::{Audience, Ring, RunNews, Running, Voice, Wish},
};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use waypost_model::{run::Active, time::Time};

/// How much may wait for a watcher: what a run of short tasks tells in seconds.
const WAITING_MAX: usize = 4_096;

/// What happens to one run.
#[derive(Debug)]
pub(super) struct Feed {
    watchers: Mutex<Watchers>,
    /// How soon it is to end, as watchers of their own wish: 0 not at all, 1 finish, 2 stop.
    level: AtomicUsize,
    /// What the run was last told of that, and of what its own audience wishes.
    told: AtomicUsize,
    /// What another process wants, and the run has not been told yet.
    stopping: Mutex<Option<Haste>>,
    /// Wakes the host.
    bell: Bell,
    /// How many connections there are to the client that handed the run over: one, but for a
    /// moment in which it comes again.
    owners: AtomicUsize,
}

#[derive(Debug, Default)]
struct Watchers {
    queues: Vec<Arc<WatcherQueue>>,
    /// What was told last of tasks at work; told again only if it has changed.
    looked: Vec<TaskAtWork>,
    /// The last word, for those who come after it.
    over: Option<Answer>,
}

/// What waits for one watcher.
#[derive(Debug, Default)]
pub(super) struct WatcherQueue {
    waiting: Mutex<WaitingLines>,
    ready: Condvar,
}

#[derive(Debug, Default)]
struct WaitingLines {
    lines: VecDeque<ToldLine>,
    is_over: bool,
}

#[derive(Debug)]
struct ToldLine {
    line: Arc<str>,
    /// The next look replaces it.
    is_look: bool,
}

impl WatcherQueue {
    /// Waits for the next line; none: there will be none.
    pub(super) fn next(&self) -> Option<Arc<str>> {
        let mut waiting = locked(&self.waiting);
        loop {
            if let Some(told) = waiting.lines.pop_front() {
                return Some(told.line);
            }
            if waiting.is_over {
                return None;
            }
            waiting = self.ready.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Leaves a line; false if this watcher is too far behind.
    fn push(&self, line: &Arc<str>, is_look: bool) -> bool {
        let mut waiting = locked(&self.waiting);
        if is_look && waiting.lines.back().is_some_and(|last| last.is_look) {
            waiting.lines.pop_back();
        }
        if waiting.is_over || waiting.lines.len() >= WAITING_MAX {
            waiting.is_over = true;
            waiting.lines.clear();
        } else {
            waiting.lines.push_back(ToldLine { line: Arc::clone(line), is_look });
        }
        self.ready.notify_all();
        !waiting.is_over
    }

    /// Nothing more comes; what waits is still sent.
    pub(super) fn end(&self) {
        locked(&self.waiting).is_over = true;
        self.ready.notify_all();
    }
}

impl Feed {
    pub(super) fn new(bell: Bell) -> Self {
        Self {
            watchers: Mutex::default(),
            level: AtomicUsize::new(0),
            told: AtomicUsize::new(0),
            stopping: Mutex::default(),
            bell,
            owners: AtomicUsize::new(0),
        }
    }

    /// Adds a watcher. One that comes after the end hears how it ended.
    pub(super) fn watch(&self) -> Arc<WatcherQueue> {
        let queue = Arc::new(WatcherQueue::default());
        let mut watchers = locked(&self.watchers);
        let looked = Answer::Look { running: watchers.looked.clone() };
        queue.push(&protocol::write(&looked).into(), true);
        match &watchers.over {
            Some(over) => {
                queue.push(&protocol::write(over).into(), false);
                queue.end();
            }
            None => watchers.queues.push(Arc::clone(&queue)),
        }
        queue
    }

    /// Tells all watchers.
    pub(super) fn say(&self, answer: &Answer) {
        let mut watchers = locked(&self.watchers);
        watchers.say(answer);
    }

    /// Tells the last word.
    pub(super) fn end(&self, answer: Answer) {
        let mut watchers = locked(&self.watchers);
        watchers.say(&answer);
        watchers.queues.drain(..).for_each(|queue| queue.end());
        watchers.over = Some(answer);
    }

    fn is_watched(&self) -> bool {
        !locked(&self.watchers).queues.is_empty()
    }

    fn look(&self, running: &[Running<'_>]) {
        let mut watchers = locked(&self.watchers);
        if watchers.queues.is_empty() && watchers.looked.is_empty() {
            return;
        }
        let running: Vec<TaskAtWork> = match watchers.queues.is_empty() {
            true => Vec::new(),
            false => running.iter().map(TaskAtWork::of).collect(),
        };
        if watchers.looked != running {
            watchers.looked.clone_from(&running);
            watchers.say(&Answer::Look { running });
        }
    }

    /// Takes what the client wants that has handed the run over.
    pub(super) fn wish(&self, wish: Wish) {
        self.level.fetch_max(wish as usize, Ordering::SeqCst);
        self.bell.ring();
    }

    /// What the run knows is wished of it.
    pub(super) fn wished(&self) -> Wish {
        level(&self.told)
    }

    /// Takes what `run stop` asks for.
    pub(super) fn stop(&self, haste: Haste) {
        *locked(&self.stopping) = Some(haste);
        self.bell.ring();
    }

    /// Whether the client is there that can go on with the run.
    pub(super) fn is_owned(&self) -> bool {
        self.owners.load(Ordering::SeqCst) > 0
    }

    pub(super) fn owner_comes(&self) {
        self.owners.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn owner_goes(&self) {
        self.owners.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Watchers {
    fn say(&mut self, answer: &Answer) {
        if self.queues.is_empty() {
            return;
        }
        let (line, is_look) =
            (Arc::from(protocol::write(answer)), matches!(answer, Answer::Look { .. }));
        self.queues.retain(|queue| queue.push(&line, is_look));
    }
}

/// How often a run is looked at while nothing happens: when it is watched from outside, and else.
const WATCHED_PACE: Duration = Duration::from_millis(100);
const PACE: Duration = Duration::from_secs(1);

/// The audience of a run in a host: the one that its own process brought, if it did, and all who
/// watch from outside.
pub(super) struct Broadcast {
    own: Option<Box<dyn Audience + Send>>,
    feed: Arc<Feed>,
    /// How long running tasks have when another process wants the run to end.
    grace: Duration,
    /// When that is over.
    stops_at: Option<Time>,
}

impl Broadcast {
    pub(super) fn new(
        own: Option<Box<dyn Audience + Send>>,
        feed: Arc<Feed>,
        grace: Duration,
    ) -> Self {
        Self { own, feed, grace, stops_at: None }
    }

    /// What another process wants is obeyed in two steps, the second when the grace is over.
    fn stop(&mut self, haste: Haste) {
        self.feed.say(&Answer::Stopping { haste });
        if let Some(own) = &mut self.own {
            return own.end(haste);
        }
        self.feed.wish(if haste == Haste::Now { Wish::Stop } else { Wish::Finish });
        if haste == Haste::Finish {
            self.stops_at.get_or_insert_with(|| Clock.now().plus(self.grace));
        }
    }
}

impl Audience for Broadcast {
    /// Those who watch from outside read the journal by themselves, and are told the rest.
    fn tell(&mut self, news: &RunNews) {
        if let Some(own) = &mut self.own {
            own.tell(news);
        }
        if news.happening.is_word() && self.feed.is_watched() {
            self.feed.say(&Answer::Happening { news: news.clone() });
        }
    }

    fn look(&mut self, active: &Active, running: &[Running<'_>], now: Time) {
        if let Some(own) = &mut self.own {
            own.look(active, running, now);
        }
        self.feed.look(running);
    }

    fn wish(&mut self) -> Wish {
        let stopping = locked(&self.feed.stopping).take();
        if let Some(haste) = stopping {
            self.stop(haste);
        }
        if self.stops_at.take_if(|time| Clock.now() >= *time).is_some() {
            self.feed.wish(Wish::Stop);
        }
        let own = self.own.as_mut().map_or(Wish::GoOn, |own| own.wish());
        let wish = own.max(level(&self.feed.level));
        self.feed.told.store(wish as usize, Ordering::SeqCst);
        wish
    }

    fn end(&mut self, haste: Haste) {
        self.feed.stop(haste);
    }

    /// Those who watch from outside draw what they are told.
    fn pace(&self) -> Duration {
        let watched = self.feed.is_watched().then_some(WATCHED_PACE);
        let own = self.own.as_ref().map(|own| own.pace());
        let stop = self.stops_at.map(|time| time.since(Clock.now()));
        own.into_iter().chain(watched).chain(stop).min().unwrap_or(PACE).min(PACE)
    }

    /// Wishes from outside wake the host by themselves.
    fn ring_when_wished(&mut self, ring: Ring) {
        if let Some(own) = &mut self.own {
            own.ring_when_wished(ring);
        }
    }

    fn voice(&self) -> Option<Voice> {
        self.own.as_ref().and_then(|own| own.voice())
    }
}

fn level(level: &AtomicUsize) -> Wish {
    match level.load(Ordering::SeqCst) {
        0 => Wish::GoOn,
        1 => Wish::Finish,
        _ => Wish::Stop,
    }
}

/// For what a panic cannot leave half-changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Happening;
    use waypost_store::journal::Cursor;

    fn note(text: &str) -> Answer {
        let (happening, cursor) = (Happening::Note(text.to_owned()), Cursor::START);
        Answer::Happening { news: RunNews { happening, cursor } }
    }

    fn told(queue: &WatcherQueue) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = queue.next() {
            let answer: Answer = protocol::read(&line).unwrap();
            lines.push(format!("{answer:?}"));
        }
        lines
    }

    #[test]
    fn a_watcher_hears_everything_and_the_end_also_afterwards() {
        let feed = Feed::new(Bell::new().unwrap());
        let first = feed.watch();
        feed.say(&note("one"));
        feed.end(Answer::Over { end: crate::execute::RunEnd::Over });
        let look = "Look { running: [] }".to_owned();
        let over = "Over { end: Over }".to_owned();
        let one = format!("{:?}", note("one"));
        assert_eq!(told(&first), [look.clone(), one, over.clone()]);
        assert_eq!(told(&feed.watch()), [look, over]);
    }

    #[test]
    fn one_that_does_not_keep_up_is_let_go() {
        let feed = Feed::new(Bell::new().unwrap());
        let slow = feed.watch();
        let quick = feed.watch();
        for count in 0..WAITING_MAX {
            feed.say(&note(&count.to_string()));
            quick.next();
        }
        assert_eq!(told(&slow), Vec::<String>::new());
        feed.say(&note("still there"));
        assert!(quick.next().is_some());
    }
}
