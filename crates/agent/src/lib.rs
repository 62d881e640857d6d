//! All we know of foreign agent programs. Pure: no process is started and nothing is read here.
//!
//! Only this crate knows the name of an agent product and of its fields: by which names the
//! programs run, what they tell a hook and understand as its answer, how a hook is registered in
//! their settings, how they are started and fed, what they say, and how that is answered.

mod adapter;
pub mod answer;
pub mod endpoint;
pub mod hook;
pub mod launch;
pub mod limits;
pub mod prices;
mod product;
mod program;
pub mod programs;
pub mod protocol;
pub mod registration;
mod rpc;
pub mod settings;
pub mod setup;
mod shell;
pub mod statusline;
pub mod stream;
pub mod versions;
mod want;

pub use adapter::{Adapter, CallGuard, Capability, Dialect, GivenSettings, HookWay};
pub use product::{Hooked, Product};
pub use program::conversation;
pub use want::want;
