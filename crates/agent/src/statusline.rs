//! What agent programs say about themselves to the command behind their status line.

use serde_json::Value;

/// The folder that the program works in.
pub fn folder(input: &[u8]) -> Option<String> {
    let told: Value = serde_json::from_slice(input).ok()?;
    let places = [&told["workspace"]["current_dir"], &told["cwd"]];
    places.into_iter().find_map(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_found_in_what_a_program_says() {
        let told = r#"{"session_id":"s","cwd":"/a","workspace":{"current_dir":"/a/b","project_dir":"/a"}}"#;
        assert_eq!(folder(told.as_bytes()).as_deref(), Some("/a/b"));
        assert_eq!(folder(br#"{"cwd":"/a"}"#).as_deref(), Some("/a"));
        assert_eq!(folder(b"{}"), None);
        assert_eq!(folder(b"no"), None);
    }
}
