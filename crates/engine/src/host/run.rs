//! A run as the guest of a host.

use super::{
    Handle, Host, desk,
    guests::{Admission, GuestKind},
};
use crate::{
    error::EngineError,
    execute::{Audience, Executor, RunEnd, RunOptions},
    project::Project,
};
use std::sync::mpsc::sync_channel;

/// What other processes are told that a host is for which was started for a run.
const PURPOSE: &str = "run";

impl Handle {
    /// Works on the run until nothing is left, a person has to answer, or it is asked to end. One
    /// run at a time: where another is at work, it is refused.
    pub fn run(
        &self,
        options: RunOptions,
        audience: Box<dyn Audience + Send>,
    ) -> Result<RunEnd, EngineError> {
        let (tell, told) = sync_channel(1);
        let begin = move |project: &mut Project| Executor::begin(project, options, audience);
        let leave = move |ended: Result<(Executor<'static>, RunEnd), EngineError>| {
            let ended = ended.and_then(|(executor, end)| executor.finish().map(|()| end));
            // The thread that brought it waits for nothing else.
            let _gone = tell.send(ended);
        };
        self.desk.admit(Admission::new(GuestKind::Run, begin, leave))?;
        told.recv().map_err(|_| desk::closed())?
    }
}

impl Project {
    /// Works on the run in a host of its own, for as long as the run goes on. The project comes
    /// back in every case but an error.
    pub fn execute(
        self,
        options: &RunOptions,
        audience: Box<dyn Audience + Send>,
    ) -> Result<(Self, RunEnd), EngineError> {
        let host = Host::start(self, PURPOSE)?;
        let ended = host.handle().run(options.clone(), audience);
        let project = host.stop().ok_or_else(desk::closed)?;
        Ok((project, ended?))
    }
}
