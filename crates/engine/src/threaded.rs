//! Something that takes long, done in a thread of its own: a guest goes on meanwhile, and is woken by
//! its end.

use crate::{
    bell::Bell,
    error::{EngineError, Problem},
    guest::Waits,
};
use std::{
    os::fd::AsFd as _,
    sync::mpsc::{Receiver, TryRecvError, sync_channel},
    thread,
};
use waypost_model::code::Code;

/// What is being done in a thread of its own. It is done whether it is waited for or not.
#[derive(Debug)]
pub(crate) struct Threaded<T> {
    done: Receiver<T>,
    bell: Bell,
}

impl<T: Send + 'static> Threaded<T> {
    pub(crate) fn begin(work: impl FnOnce() -> T + Send + 'static) -> Result<Self, EngineError> {
        let (tell, done) = sync_channel(1);
        let bell = Bell::new()?;
        let ringing = RingsAtEnd(bell.clone());
        thread::spawn(move || {
            // After a panic it has to be found that nothing comes: the bell is rung last.
            let (_ringing, tell) = (ringing, tell);
            let _unwanted = tell.send(work());
        });
        Ok(Self { done, bell })
    }

    pub(crate) fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        waits.readable(self.bell.as_fd());
    }

    /// What came of it, once it has come.
    pub(crate) fn take(&mut self) -> Result<Option<T>, EngineError> {
        self.bell.hear();
        match self.done.try_recv() {
            Ok(done) => Ok(Some(done)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                Err(Problem::new(Code::Bug, "a thread has ended without a result").into())
            }
        }
    }
}

/// Rings when it is dropped.
struct RingsAtEnd(Bell);

impl Drop for RingsAtEnd {
    fn drop(&mut self) {
        self.0.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc::channel, time::Duration};
    use waypost_model::time::Time;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn wait<T: Send + 'static>(threaded: &Threaded<T>) {
        let mut waits = Waits::default();
        threaded.waits(&mut waits);
        waits.wait(Time::default(), PATIENCE).unwrap();
    }

    #[test]
    fn the_end_wakes_the_one_who_waits() {
        let (go, wanted) = channel::<u32>();
        let mut threaded = Threaded::begin(move || wanted.recv().unwrap() + 1).unwrap();
        assert!(threaded.take().unwrap().is_none());
        go.send(41).unwrap();
        wait(&threaded);
        assert_eq!(threaded.take().unwrap(), Some(42));
    }

    #[test]
    fn a_panic_is_no_endless_wait() {
        let mut threaded: Threaded<()> = Threaded::begin(|| panic!("as it should")).unwrap();
        wait(&threaded);
        assert!(threaded.take().is_err());
    }
}
