//! What a tool call other than a plain shell command would do, by the tool's name and fields.
//!
//! Knows the tools of Claude Code, Codex and Gemini CLI that write files or run commands, and the
//! MCP tools that the configuration lists. Every other tool does nothing that a gate is about.

use crate::deed::{Context, Deed};
use crate::protected::joined;
use crate::walk::{Input, Walk, judge};

/// Fields in which a tool names the file that it writes.
const PATH_FIELDS: &[&str] =
    &["file_path", "notebook_path", "absolute_path", "path", "filename", "file"];

/// Fields in which a tool names the folder that it runs in.
const FOLDER_FIELDS: &[&str] = &["workdir", "cwd", "dir_path", "directory"];

/// Fields whose text is parsed; all others are only names.
pub const PARSED_FIELDS: &[&str] = &["command", "cmd", "chars", "input", "patch"];

/// Fields in which a patch is given.
const PATCH_FIELDS: &[&str] = &["input", "patch", "command"];

/// Judges a tool call by the tool's name and the text fields of its input. A command that is given
/// as a list of words comes as one text, each word quoted for the shell.
pub fn judge_tool(name: &str, fields: &[(&str, &str)], context: &Context<'_>) -> Deed {
    let first = |names: &[&str]| {
        let find = |name: &&str| fields.iter().find(|(field, _)| field == name);
        names.iter().find_map(find).map(|(_, text)| *text)
    };
    judge(context, |walk| match name {
        "Bash" | "Monitor" | "run_shell_command" | "exec_command" | "shell" | "shell_command"
        | "local_shell" => {
            if let Some(folder) = first(FOLDER_FIELDS) {
                walk.shell.folder = joined("", folder);
            }
            match first(&["command", "cmd"]) {
                Some(command) => walk.text(command),
                None => walk.unknowable("the tool names no command"),
            }
        }
        // Text for a program that already runs, which may be a shell.
        "write_stdin" => first(&["chars", "input"]).into_iter().for_each(|text| walk.text(text)),
        "apply_patch" => match first(PATCH_FIELDS) {
            Some(patch) => walk.patch(patch, name),
            None => walk.write_unknown(name),
        },
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "write_file" | "replace" | "edit" => {
            walk.named_file(first(PATH_FIELDS), name);
        }
        _ if context.writing_tools.iter().any(|tool| tool == name) => {
            walk.named_file(first(PATH_FIELDS), name);
        }
        _ => {}
    })
}

impl Walk<'_> {
    fn named_file(&mut self, path: Option<&str>, words: &str) {
        match path {
            Some(path) => self.write(path, words, false),
            None => self.write_unknown(words),
        }
    }

    /// `apply_patch` as a shell command: the patch is an argument or standard input.
    pub(crate) fn patch_program(&mut self, arguments: &[String], words: &str) {
        let text = match (arguments.first(), &self.shell.input) {
            (Some(text), _) | (None, Input::Text(text)) => text.clone(),
            _ => return self.write_unknown(words),
        };
        self.patch(&text, words);
    }

    /// Notes the files that a patch in the form of Codex names.
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
        paths.iter().for_each(|path| self.write(path, words, false));
    }
}
