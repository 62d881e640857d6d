//! The journal: every event of every machine, in the order in which it became true.
//!
//! Invariants
//! - An event is durable before `commit` returns; entries are never changed or removed.
//! - Streams are gap-free, and each entry carries a checksum over itself and the entry before it,
//!   so a flipped bit, a lost or a forged entry is found when the stream is read.
//! - Events, effects and notes of one transaction land together or not at all.
//! - Any process may commit. It takes a blocking lock on a side file first, because the
//!   database's own way of waiting starves one of many writers.
//! - A damaged or missing journal is never replaced by an empty one.
//!
//! Deliberately not here: what events mean. Bodies are text. No type or path of the database
//! library is in a public signature, so that PostgreSQL can stand behind the same surface.

mod cursor;
mod entry;
mod sqlite;

pub use cursor::{BadCursor, Cursor};
pub use entry::{
    Append, Appended, Birth, DocumentNote, EventRef, Mode, NewEffect, NewEvent, OpenEffect,
    Recorded, Snapshot, StreamHead,
};
pub use sqlite::{Backup, Changes, Check, Journal, Transaction, View, backups, put_aside, restore};
