//! Text to typed documents and back, with the place of everything that is wrong.
//!
//! Files are untrusted: any bytes lead to a value or to findings, never to a panic, and memory
//! stays within a small multiple of the size limit. What the fields mean is the model's business.

mod blocks;
mod failure;
mod flow;
mod form;
mod json;
mod nearest;
mod reader;
mod registry;
mod render;
mod template;
mod text;
mod toml;
mod tree;
mod yaml;

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod tests;

pub use blocks::with_fields;
pub use flow::{Parsed, parse, parse_at, place_of};
pub(crate) use nearest::distance;
pub use nearest::nearest;
pub use registry::{schema, validate, validate_at, value};
pub use render::render;
pub use text::SIZE_MAX;
