//! The core on data alone: the run's real machine in memory, and a keeper, git and agents that are
//! plain data.

mod faults;
mod properties;
mod troubles;
mod world;
