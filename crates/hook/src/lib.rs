//! The gate in front of an agent's tool calls.
//!
//! One small program answers before each tool call, from a record that is compiled beside the
//! journal. What the record cannot allow is handed to `waypost hook`, which reads the journal and
//! uses the same judgement.

mod design;
pub mod fence;
mod folders;
mod judge;
pub mod log;
mod look;
mod program;
mod record;
pub mod spelling;
mod spot;

pub use design::is_design;
pub use folders::folders;
pub use judge::{Case, Ruling};
pub use look::{Files, Homes};
pub use program::run;
pub use record::Standing;
pub use spot::Spot;
