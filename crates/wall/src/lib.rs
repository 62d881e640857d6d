//! The wall around an agent's processes: what the operating system lets them do.
//!
//! An [`Enclosure`] says as plain values what one call may read, write and not even see; it follows
//! from the [`Surroundings`] and the rights of the moment. Two ways build it: namespaces
//! (bubblewrap), and Landlock alone where those cannot be had. Which of them holds is found by a
//! real try ([`Level`]), never assumed.
//!
//! Deliberately absent: the journal, the configuration, agent programs by name, judgement of what
//! a command means. Nothing in here has privileges of its own.

pub mod broker;
mod bubblewrap;
mod call;
pub mod credentials;
mod disk;
mod enclosure;
mod error;
mod gitview;
mod landlock;
mod level;
mod mounts;
pub mod notices;
mod places;
mod watch;

pub use broker::Broker;
pub use call::{Attendant, Call, Ending, MOUNT, Tools, Walled, finish};
pub use disk::{Disk, Kind, RealDisk};
pub use enclosure::{Enclosure, Rule, What, plan};
pub use error::WallError;
pub use gitview::{GitViews, close as close_git};
pub use level::{Found, Level, PACKAGE, level, try_levels, usable};
pub use mounts::Mounts;
pub use places::{CACHES, NAMED_CACHES, Project, READABLE, Surroundings};
pub use watch::Watch;
