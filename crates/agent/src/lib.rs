//! All we know of foreign agent programs. Pure: no process is started and nothing is read here.
//!
//! Only this crate knows the name of an agent product. Command lines, streams and hook payloads
//! join it when they are needed.

mod program;

pub use program::recognise;
