//! Waiting for the end of a program that is asked something and given no work, for a bounded time.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};
use std::{
    process::{Child, ExitStatus},
    time::Duration,
};

/// How a program ended; none if it had to be ended because it took too long.
pub(super) fn end_of(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    // The system tells of its end by this descriptor; nothing is looked at in between.
    if let Ok(end) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) {
        let patience = Timespec::try_from(patience).ok();
        let wait = || poll(&mut [PollFd::new(&end, PollFlags::IN)], patience.as_ref());
        // After a signal to this process it is waited again; there are few of them.
        while wait() == Err(Errno::INTR) {}
    }
    if let Ok(Some(status)) = child.try_wait() {
        return Some(status);
    }
    // It has to go in any case, and the wait tells that it has.
    let _gone = child.kill();
    let _ended = child.wait();
    None
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "programs that do nothing, for a test")]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_program_that_ends_is_waited_for_and_one_that_hangs_is_ended() {
        let shell = |line: &str| Command::new("sh").args(["-c", line]).spawn().unwrap();
        let end = |line: &str, seconds| end_of(&mut shell(line), Duration::from_secs(seconds));
        assert_eq!(end("exit 3", 600).and_then(|status| status.code()), Some(3));
        let mut hanging = shell("exec sleep 600");
        assert_eq!(end_of(&mut hanging, Duration::ZERO), None);
        // Its end was taken note of: it is gone.
        assert!(hanging.try_wait().unwrap().is_some());
    }
}
