//! The wall by effects: real commands through the real `waypost-shell`, in a real repository with
//! real remotes, credentials in a home of its own and a journal; then a look at what has happened.
//!
//! Nothing here asks what the program thinks of a command. The ordinary form takes a sample of the
//! commands, chosen by a seed that is printed; `WAYPOST_FAULTS=full` takes all of them, and
//! `WAYPOST_FAULTS_SEED` repeats a sample. What needs a tool that is not there is skipped, and says
//! so.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests start processes, write files and look at the clock as users and systems do"
)]

mod agent;
mod broker;
mod honest;
mod hostile;
mod levels;
mod outside;
mod picture;
mod required;
mod sample;
mod server;
mod site;
mod terminal;
