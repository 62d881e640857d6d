//! The executor without input and output: what it hears comes in, what is to be done goes out.
//!
//! No file, process, socket, thread, clock or journal is in here: the run is lent, the time is given,
//! and what is known of the place is plain data. `driver` turns readiness into inputs and outputs into
//! deeds, and may die between any two of them: what was done and not told is found again (`Surveyed`),
//! and leads to where it would have led.

mod attempts;
mod ends;
mod phases;
mod recovery;
#[cfg(test)]
mod tests;
mod troubles;
mod words;

pub(super) use attempts::{Core, Setup};
pub(super) use words::{
    AgentLimits, Concluded, GitTrace, Input, Output, Survey, Trace, TreesFound,
};
