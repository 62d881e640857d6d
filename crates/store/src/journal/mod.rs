//! The journal: every event of every machine, in the order in which it became true.
//!
//! Invariants
//! - An event is durable before `commit` returns; entries are never changed or removed.
//! - Streams are gap-free, and a store that can be damaged finds a flipped bit, a lost or a forged
//!   entry when the stream is read.
//! - Events, effects and notes of one transaction land together or not at all.
//! - Any process may commit; writers take turns.
//! - A damaged or missing journal is never replaced by an empty one.
//!
//! `Journals` tells where a project's journal is and opens it; `Journal`, `View` and `Transaction`
//! are what is done with it. Behind them stand the traits of `backend`, implemented by `sqlite`
//! (the embedded store) and `memory` (simulations and tests).
//!
//! Deliberately not here: what events mean. Bodies are text. No type or path of the database
//! library is in a public signature, so that PostgreSQL can stand behind the same surface.

pub mod backend;
mod changes;
mod cursor;
mod entry;
mod journals;
mod listing;
mod memory;
mod open;
mod sqlite;
mod transaction;
mod view;

pub use changes::Changes;
pub use cursor::{BadCursor, Cursor};
pub use entry::{
    Append, Appended, Birth, DocumentNote, EventRef, Mode, NewEffect, NewEvent, OpenEffect,
    Recorded, Snapshot, SnapshotKey, StreamHead,
};
pub use journals::{Backup, JournalFile, Journals};
pub use listing::{
    ListedStream, ListingCount, ListingOrder, ListingPlace, ListingQuery, NewListing,
};
pub use memory::{CommitFault, MemoryStore};
pub use open::{Check, Journal};
pub use sqlite::SqliteStore;
pub use transaction::Transaction;
pub use view::View;
