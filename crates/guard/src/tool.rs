//! What a tool call other than a plain shell command would do, by what is known of the tool and its fields.
//!
//! Knows kinds of tools; which tools a program has, and in which fields they say what they do, is handed in.
//! An MCP tool that the configuration does not list does something unknown, unless its name plainly says
//! that it reads. Every other tool does nothing that a gate is about.

use crate::deed::{Context, Deed, Target, Write};
use crate::protected::joined;
use crate::walk::{Input, Walk, judge};
use waypost_model::tool::{Tool, ToolKind};

/// Fields in which the MCP tools that the configuration lists name the file that they write.
const PATH_FIELDS: &[&str] =
    &["file_path", "notebook_path", "absolute_path", "path", "filename", "file"];

/// Verbs with which the name of a tool begins that only reads.
const READING_VERBS: &[&str] = &[
    "get", "list", "read", "search", "find", "fetch", "query", "show", "view", "describe",
    "lookup", "count",
];

/// Judges a tool call by what is known of the tool, and by its name and the text fields of its input. A
/// command that is given as a list of words comes as one text, each word quoted for the shell.
pub fn judge_tool(
    name: &str,
    known: Option<Tool>,
    fields: &[(&str, &str)],
    context: &Context<'_>,
) -> Deed {
    let first = |names: &[&str]| {
        let find = |name: &&str| fields.iter().find(|(field, _)| field == name);
        names.iter().find_map(find).map(|(_, text)| *text)
    };
    judge(context, |walk| match known {
        Some(tool) => {
            if let Some(folder) = first(tool.folders) {
                walk.shell.folder = joined("", folder);
            }
            walk.known(tool, first(tool.fields));
        }
        None if context.writing_tools.iter().any(|tool| tool == name) => {
            walk.named_file(first(PATH_FIELDS), name);
        }
        None if is_foreign(name) && !is_free(name, context.free_tools) && !plainly_reads(name) => {
            walk.deed.foreign = Some(name.to_owned());
        }
        None => {}
    })
}

/// Whether a tool comes from a server of another maker.
fn is_foreign(name: &str) -> bool {
    name.starts_with("mcp_")
}

fn is_free(name: &str, free: &[String]) -> bool {
    free.iter().any(|tool| match tool.strip_suffix('*') {
        // A star alone would free what no person has thought of.
        Some(start) => start.len() > "mcp__".len() && name.starts_with(start),
        None => tool == name,
    })
}

/// Whether the tool's own name begins with a verb of reading, and says nothing beside it.
fn plainly_reads(name: &str) -> bool {
    let own = match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((_server, own)) => own,
        // Others have single lines between server and tool; a server of one word is assumed.
        None => name.strip_prefix("mcp_").and_then(|it| it.split_once('_')).map_or("", |it| it.1),
    };
    let mut words = own.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(camel_words);
    let first = words.next().unwrap_or_default();
    READING_VERBS.contains(&first.as_str()) && !words.any(|word| word == "and" || word == "or")
}

/// The words of `readFile`, in small letters.
fn camel_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for c in text.chars() {
        if words.is_empty() || c.is_ascii_uppercase() {
            words.push(String::new());
        }
        words.last_mut().expect("there is one").push(c.to_ascii_lowercase());
    }
    words
}

impl Walk<'_> {
    /// Notes what a tool does that is known, by the text that says so.
    fn known(&mut self, tool: Tool, text: Option<&str>) {
        match (tool.kind, text) {
            (ToolKind::Shell | ToolKind::Typing, Some(text)) => self.text(text),
            (ToolKind::Shell, None) => self.unknowable("the tool names no command"),
            (ToolKind::Typing, None) => {}
            (ToolKind::Patch, Some(patch)) => self.patch(patch, tool.name),
            (ToolKind::Patch, None) => self.write_unknown(tool.name),
            (ToolKind::Writing, path) => self.named_file(path, tool.name),
        }
    }

    fn named_file(&mut self, path: Option<&str>, words: &str) {
        match path {
            Some(path) => self.file(path, words),
            None => self.write_unknown(words),
        }
    }

    /// Notes a file that an agent program writes by itself. What is a stream or a process to a shell
    /// is a way around to it.
    fn file(&mut self, path: &str, words: &str) {
        let lexical = joined(&self.shell.folder, path);
        let is_within = |folder: &str| {
            lexical
                .strip_prefix(folder)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if ["/dev", "/proc"].into_iter().any(is_within) || path.contains("/dev/fd") {
            let write = Write { target: Target::Path(lexical), words: words.to_owned() };
            self.deed.protected.push(write.clone());
            return self.deed.writes.push(write);
        }
        self.write(path, words, false);
    }

    /// `apply_patch` as a shell command: the patch is an argument or standard input.
    pub(crate) fn patch_program(&mut self, arguments: &[String], words: &str) {
        let text = match (arguments.first(), &self.shell.input) {
            (Some(text), _) | (None, Input::Text(text)) => text.clone(),
            _ => return self.write_unknown(words),
        };
        self.patch(&text, words);
    }

    /// Notes the files that a patch names, in the form that `apply_patch` reads.
    fn patch(&mut self, text: &str, words: &str) {
        const MARKS: &[&str] =
            &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
        let path = |line: &str| {
            let path = MARKS.iter().find_map(|mark| line.trim().strip_prefix(mark));
            path.map(|path| path.trim().to_owned())
        };
        let paths: Vec<String> = text.lines().filter_map(path).collect();
        if paths.is_empty() {
            self.write_unknown(words);
        }
        paths.iter().for_each(|path| self.file(path, words));
    }
}
