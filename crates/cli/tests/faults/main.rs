//! Faults: the built program is killed, starved, fed with hostile files, and set back in time.
//!
//! Every test drives the real binary on a real project in a temporary folder with a home of its
//! own. The ordinary form takes a sample of the points, chosen by a seed that is printed;
//! `WAYPOST_FAULTS=full` takes all of them and `WAYPOST_FAULTS_SEED` repeats a sample. What needs a
//! tool that is not there is skipped, and says so.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start processes, write files and look at the clock as users and systems do"
)]

mod chaos;
mod chaos_apart;
mod clock;
mod damage;
mod engines;
mod failing;
mod full_disk;
mod git_calls;
mod hostile;
mod judge;
mod killed;
mod outage;
mod power;
mod process;
mod repository;
mod sample;
mod scenario;
mod site;
mod tracer;
