//! Journal, outbox, locks and files on disk.
//!
//! Synchronous; no clock, no threads, no knowledge of machines: bodies of events are text.
//! Everything durable that Waypost does passes through here.

pub mod documents;
pub mod error;
pub mod file;
pub mod hash;
pub mod image;
pub mod import;
pub mod journal;
pub mod lock;
pub mod mentions;
pub mod parse;
pub mod permits;
pub mod place;
pub mod projects;
pub mod reserve;
pub mod search;
pub mod socket;
pub mod tasks_md;
pub mod vault;
pub mod windows;

pub use error::{StoreError, trouble_of};
