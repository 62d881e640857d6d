//! A machine in a list: what a row shows and is found by, so that many machines can be listed without
//! loading any.
//!
//! The row is written in the transaction of the events that change it. It is derived: the events say
//! the same, and opening one machine reads these.

use crate::time::Time;

/// How one machine stands in the list of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The word by which it is filtered and counted.
    pub state: &'static str,
    /// What comes first where order matters: the greater the earlier.
    pub rank: i64,
    /// Among those of one rank the earlier comes first.
    pub since: Time,
    /// Whether lists leave it out unless they are asked for everything.
    pub is_hidden: bool,
    /// What it is searched by; case does not matter.
    pub text: String,
    /// What a list shows of it, as bytes of the codec that was handed in.
    pub row: Vec<u8>,
}
