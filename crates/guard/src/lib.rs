//! What a tool call would do, judged before it is done.
//!
//! Shell commands are judged on their syntax tree, other tools by their names and fields. The
//! result is a [`Deed`]; whether it is allowed is a second question, answered by [`refusal()`] from
//! the rights that the workflow gives. What cannot be told is said to be unknowable, never guessed.
//!
//! Pure: no file, no process, no clock. What has to be read comes through [`Look`].

mod deed;
mod documents;
mod embedded;
mod files;
mod filters;
mod forge;
mod git;
mod options;
mod output;
mod own;
mod parse;
mod program;
mod protected;
mod refusal;
mod scripts;
mod starters;
mod tool;
mod walk;
mod word;

pub use deed::{
    Branch, Context, Deed, Look, Push, Reach, Reader, Recipe, Runner, Script, Target,
    UNKNOWN_VARIABLE, Write,
};
pub use refusal::{Refusal, Rule, Standing, refusal};
pub use tool::judge_tool;
pub use walk::{judge_shell, started_programs};
