//! Documents as text, the way they are written to disk.

use waypost_model::document::{Form, Syntax};

/// Writes a document down: JSON with two spaces of indentation, or YAML, or TOML.
///
/// The text ends with a line break and reads back as the same value, if that value passed its
/// own check: a float that is not a number has no text.
pub fn render<D: Form>(value: &D) -> String {
    let text = match D::SYNTAX {
        Syntax::Json => serde_json::to_string_pretty(value).map_err(|error| error.to_string()),
        Syntax::Yaml => serde_saphyr::to_string(value).map_err(|error| error.to_string()),
        Syntax::Toml => ::toml::to_string_pretty(value).map_err(|error| error.to_string()),
    };
    let mut text = text.expect("documents have string keys and nothing that cannot be written");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
