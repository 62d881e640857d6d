//! TASKS.md: reads the tasks that people and agents write as Markdown, and ticks their boxes.
//!
//! The text goes one way: Markdown events → `outline` (blocks with their place) → `walk`
//! (tasks, fields and graphs as written) → `resolve` (dependencies by id) → the model's `Plan`,
//! which checks the graph as a whole. A Markdown parser decides what is a heading, an item, a
//! quote or code; the line grammars of this module only ever see text that it has let through, so
//! an example in a fenced block, a comment, a quote or inline code is never a task.
//!
//! Every step is linear in the text, and whatever the file can multiply (a phase reference on
//! every task, `A & B --> C & D` in a graph) is counted against a limit.
//!
//! What it deliberately does not do: read files, know the folder's name, or guess. A line that is
//! clearly meant as a task or as a dependency and cannot be understood is an error with its place,
//! because leaving it out would run the wrong things in the wrong order.

mod depends;
mod draft;
mod few;
mod field;
mod findings;
mod form;
mod ids;
mod line;
mod mention;
mod mermaid;
mod outline;
mod read;
mod resolve;
mod source;
mod spec_kit;
mod tick;
mod title;
mod value;
mod walk;

#[cfg(test)]
mod tests;

pub use read::{TasksFile, read};
pub use tick::{tick, untick};
