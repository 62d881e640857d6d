//! The gate in front of an agent's tool calls.
//!
//! One small program answers before each tool call, from a record that is compiled beside the
//! journal. What the record cannot allow is handed to `waypost hook`, which reads the journal and
//! uses the same judgement.

mod asked;
mod contracts;
mod design;
mod double;
pub mod fence;
mod folders;
mod judge;
mod level;
pub mod log;
mod look;
mod program;
mod record;
mod scratch;
pub mod shell;
pub mod spelling;
mod spot;
mod wall;

pub use asked::Asked;
pub use contracts::is_contract;
pub use design::is_design;
pub use double::is_second;
pub use folders::folders;
pub use judge::{Case, Ruling};
pub use level::wall_level;
pub use look::{Files, Homes};
pub use program::run;
pub use record::Standing;
pub use spot::Spot;
pub use wall::{Wall, is_whole, lost_shell};
pub use waypost_wall::Level;
