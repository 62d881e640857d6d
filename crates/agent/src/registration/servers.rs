//! How our server of tools (MCP) is registered with a program: text in, text out, as for hooks.
//!
//! Where settings are JSON, the server is one entry among others and is put in and taken out by the same
//! means as a hook. TOML is not edited but added to: a block between two lines of ours, at the end.

use super::{
    edit::{self, Removal},
    layout::Shape,
    scan::{BadSettings, Document, Node},
};
use std::path::PathBuf;

/// The key below which JSON settings have their servers.
const SERVERS: &str = "mcpServers";

/// What our server is called everywhere.
pub const SERVER_NAME: &str = "waypost";

/// The word that makes our program a server.
const SERVE: &str = "mcp";

/// Where a program is told of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Below the project's root.
    pub file: &'static str,
    pub form: ServerForm,
}

/// How such a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerForm {
    Json,
    Toml,
}

/// Begins and ends our block in a TOML file.
const BLOCK_BEGIN: &str = "# >>> waypost\n";
/// The same, in a file that ended without a line end.
const BLOCK_BEGIN_OPEN: &str = "# >>> waypost (no line end before)\n";
const BLOCK_END: &str = "# <<< waypost\n";

/// The settings with our server in them, in the place of an older entry of ours. Doing it again changes
/// nothing. Without a text, a new file is begun.
pub fn register_server(
    form: ServerForm,
    text: Option<&str>,
    program: &str,
) -> Result<String, BadSettings> {
    if text.and_then(|text| registered_server(form, text)).as_deref() == Some(program) {
        return Ok(text.unwrap_or_default().to_owned());
    }
    let base = match text {
        Some(text) => unregister_server(form, text)?,
        None => None,
    };
    match form {
        ServerForm::Toml => Ok(with_block(&base.unwrap_or_default(), program)),
        ServerForm::Json => with_server(base.as_deref(), &[SERVERS], program),
    }
}

fn with_server(base: Option<&str>, keys: &[&str], program: &str) -> Result<String, BadSettings> {
    let server = Shape::Object(vec![
        ("command", Shape::text(program)),
        ("args", Shape::Array(vec![Shape::text(SERVE)])),
    ]);
    let with = edit::insert_server(base.unwrap_or_default(), keys, &server)?;
    Ok(if base.is_none() { edit::as_new_file(&with) } else { with })
}

fn without_server(text: &str, keys: &[&str]) -> Result<Option<String>, BadSettings> {
    Ok(match edit::remove_server(text, &Document::parse(text)?, keys) {
        Removal::Nothing => Some(text.to_owned()),
        Removal::Text(text) => Some(text),
        Removal::Everything => None,
    })
}

fn server_at(text: &str, keys: &[&str]) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let mut node = document.root.as_ref()?;
    for key in keys.iter().copied().chain([SERVER_NAME]) {
        node = node.member(key)?;
    }
    let program = node.member("command").and_then(Node::as_text).map(str::to_owned);
    program.filter(|_| is_our_server(node))
}

/// Where a program keeps the servers that one person has in one project, outside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServers {
    /// A file of the person's.
    pub file: PathBuf,
    /// What leads to the project in it.
    keys: Vec<String>,
}

impl LocalServers {
    /// Servers below `keys` and the usual name in a file of JSON.
    pub(crate) fn new(file: PathBuf, keys: &[&str]) -> Self {
        let keys = keys.iter().chain(&[SERVERS]).map(ToString::to_string).collect();
        Self { file, keys }
    }

    fn keys(&self) -> Vec<&str> {
        self.keys.iter().map(String::as_str).collect()
    }

    /// The file's text with our server in it, as `register_server` does it.
    pub fn register(&self, text: Option<&str>, program: &str) -> Result<String, BadSettings> {
        if text.and_then(|text| self.registered(text)).as_deref() == Some(program) {
            return Ok(text.unwrap_or_default().to_owned());
        }
        let base = match text {
            Some(text) => self.unregister(text)?,
            None => None,
        };
        with_server(base.as_deref(), &self.keys(), program)
    }

    /// The file's text without our server; `None` if there was nothing else.
    pub fn unregister(&self, text: &str) -> Result<Option<String>, BadSettings> {
        without_server(text, &self.keys())
    }

    /// The program that our server is, if it is registered.
    pub fn registered(&self, text: &str) -> Option<String> {
        server_at(text, &self.keys())
    }
}

/// The settings without our server; `None` if there was nothing else, so that the file can go.
pub fn unregister_server(form: ServerForm, text: &str) -> Result<Option<String>, BadSettings> {
    Ok(match form {
        ServerForm::Toml => without_block(text),
        ServerForm::Json => without_server(text, &[SERVERS])?,
    })
}

/// The program that our server is, if it is registered.
pub fn registered_server(form: ServerForm, text: &str) -> Option<String> {
    match form {
        ServerForm::Json => server_at(text, &[SERVERS]),
        ServerForm::Toml => {
            let (_, block, _) = block_of(text)?;
            let line = block.lines().find_map(|line| line.strip_prefix("command = "))?;
            serde_json::from_str(line).ok()
        }
    }
}

/// Whether an entry among servers starts a program of ours.
pub(super) fn is_our_server(server: &Node) -> bool {
    let program = server.member("command").and_then(Node::as_text);
    let name = program.and_then(|program| program.rsplit('/').next());
    let first = server.member("args").and_then(|it| it.items().first());
    name.is_some_and(|name| name.starts_with("waypost"))
        && first.and_then(|it| it.value.as_text()) == Some(SERVE)
}

fn with_block(text: &str, program: &str) -> String {
    let is_open = !text.is_empty() && !text.ends_with('\n');
    let begin = if is_open { BLOCK_BEGIN_OPEN } else { BLOCK_BEGIN };
    let end = if is_open { "\n" } else { "" };
    // Texts of JSON are texts of TOML.
    let program = serde_json::Value::from(program);
    format!(
        "{text}{end}{begin}[mcp_servers.{SERVER_NAME}]\ncommand = {program}\nargs = [\"{SERVE}\"]\n{BLOCK_END}"
    )
}

fn without_block(text: &str) -> Option<String> {
    let Some((before, block, after)) = block_of(text) else { return Some(text.to_owned()) };
    let is_open = block.starts_with(BLOCK_BEGIN_OPEN);
    let before = if is_open { before.strip_suffix('\n').unwrap_or(before) } else { before };
    let rest = format!("{before}{after}");
    (!rest.is_empty()).then_some(rest)
}

/// What stands before our block, the block, and what stands after it.
fn block_of(text: &str) -> Option<(&str, &str, &str)> {
    let find = |mark: &str| text.find(mark).filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    let begin = find(BLOCK_BEGIN).or_else(|| find(BLOCK_BEGIN_OPEN))?;
    let end = begin + text[begin..].find(BLOCK_END)? + BLOCK_END.len();
    Some((&text[..begin], &text[begin..end], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/opt/way post/waypost";

    fn check(form: ServerForm, before: Option<&str>) {
        let with = register_server(form, before, PROGRAM).unwrap();
        assert_eq!(registered_server(form, &with).as_deref(), Some(PROGRAM), "{with}");
        assert_eq!(register_server(form, Some(&with), PROGRAM).unwrap(), with);
        let moved = register_server(form, Some(&with), "/usr/bin/waypost").unwrap();
        assert_eq!(registered_server(form, &moved).as_deref(), Some("/usr/bin/waypost"));
        assert_eq!(unregister_server(form, &moved).unwrap().as_deref(), before, "{moved}");
        assert_eq!(unregister_server(form, &with).unwrap().as_deref(), before, "{with}");
    }

    #[test]
    fn a_server_goes_in_and_out_without_a_trace() {
        let json = [
            "{}",
            "{\n}\n",
            "{\"mcpServers\": {}}",
            "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}\n  }\n}\n",
            "{\n\t\"theme\": \"dark\", // kept\n\t\"hooks\": {}\n}",
        ];
        check(ServerForm::Json, None);
        json.iter().for_each(|text| check(ServerForm::Json, Some(text)));
        check(ServerForm::Toml, None);
        for text in ["model = \"o\"\n", "model = \"o\"", "[mcp_servers.a]\ncommand = \"a\"\n\n"] {
            check(ServerForm::Toml, Some(text));
        }
    }

    #[test]
    fn a_server_of_one_project_goes_in_and_out_without_a_trace() {
        let local = LocalServers::new("/etc/mina/.claude.json".into(), &["projects", "/src/shop"]);
        let texts = [
            None,
            Some("{}"),
            Some("{\n  \"theme\": \"dark\"\n}"),
            Some("{\n  \"projects\": {}\n}\n"),
            Some(
                "{\n  \"projects\": {\n    \"/src/other\": {\"mcpServers\": {}}\n  },\n  \"id\": 7\n}",
            ),
            Some(
                "{\n  \"projects\": {\n    \"/src/shop\": {\n      \"allowedTools\": []\n    }\n  }\n}",
            ),
            Some(
                "{\"projects\": {\"/src/shop\": {\"mcpServers\": {\"a\": {\"command\": \"a\"}}}}}",
            ),
        ];
        for before in texts {
            let with = local.register(before, PROGRAM).unwrap();
            let value: serde_json::Value = serde_json::from_str(&with).unwrap();
            let server = &value["projects"]["/src/shop"]["mcpServers"]["waypost"];
            assert_eq!(server["command"], PROGRAM, "{with}");
            assert_eq!(local.register(Some(&with), PROGRAM).unwrap(), with);
            let moved = local.register(Some(&with), "/usr/bin/waypost").unwrap();
            assert_eq!(local.registered(&moved).as_deref(), Some("/usr/bin/waypost"));
            assert_eq!(local.unregister(&moved).unwrap().as_deref(), before, "{moved}");
        }
        assert!(local.register(Some("{\"projects\": 7}"), PROGRAM).is_err());
    }

    #[test]
    fn a_server_of_the_users_with_our_name_stays() {
        let own = r#"{"mcpServers": {"waypost": {"command": "npx", "args": ["other"]}}}"#;
        assert_eq!(register_server(ServerForm::Json, Some(own), PROGRAM).unwrap(), own);
        assert_eq!(unregister_server(ServerForm::Json, own).unwrap().as_deref(), Some(own));
        assert_eq!(registered_server(ServerForm::Json, own), None);
    }
}
