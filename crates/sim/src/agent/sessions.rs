//! The conversations that scripted agents remember: a file each, with what was spent so far.
//!
//! A file only grows, by one line at each begin and end of a turn; the last whole line counts. So
//! an agent that is killed at any moment leaves a conversation that can be resumed.

use super::script::Spent;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// How often another number is tried when another program has just taken one.
const TRIES_MAX: u64 = 100_000;

/// A folder of conversations.
#[derive(Debug)]
pub(super) struct Sessions {
    folder: PathBuf,
}

/// A conversation as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conversation {
    pub(super) id: String,
    /// The turns that were begun.
    pub(super) turns: u64,
    pub(super) spent: Spent,
    /// Where the script goes on when the last turn ended with a question in its text.
    pub(super) asked: Option<Asked>,
}

/// A place in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) attempt: u32,
    pub(super) step: usize,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    turns: u64,
    input: u64,
    output: u64,
    cost_micros: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<Asked>,
}

impl Conversation {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }
}

impl Sessions {
    /// Makes the folder where it is missing, for its owner alone.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// The conversation of that id, if it was ever begun.
    pub(super) fn find(&self, id: &str) -> io::Result<Option<Conversation>> {
        let Some(path) = self.path(id) else { return Ok(None) };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let last = text.lines().rev().find_map(|line| serde_json::from_str::<Line>(line).ok());
        Ok(Some(last.map_or_else(
            || Conversation::new(id),
            |line| Conversation {
                id: id.to_owned(),
                turns: line.turns,
                spent: Spent {
                    input: line.input,
                    output: line.output,
                    cost_micros: line.cost_micros,
                },
                asked: line.asked,
            },
        )))
    }

    /// Begins a conversation under an id that no conversation has yet. Ids are counted, not drawn, so that
    /// what an agent says in an empty folder is always the same.
    pub(super) fn begin(&self) -> io::Result<Conversation> {
        let first = fs::read_dir(&self.folder)?.count() as u64 + 1;
        for number in first..first + TRIES_MAX {
            let id = format!("51300000-0000-4000-8000-{number:012x}");
            match self.file(&id, OpenOptions::new().create_new(true)) {
                Ok(_) => return Ok(Conversation::new(&id)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no number for a conversation is free"))
    }

    /// Writes down how the conversation stands.
    pub(super) fn note(&self, conversation: &Conversation) -> io::Result<()> {
        let Conversation { id, turns, spent, asked } = conversation;
        let Spent { input, output, cost_micros } = *spent;
        let line = Line { turns: *turns, input, output, cost_micros, asked: *asked };
        // A break in front as well, in case that the last writer was killed within its line.
        let line = format!("\n{}\n", serde_json::to_string(&line)?);
        self.file(id, OpenOptions::new().create(true))?.write_all(line.as_bytes())
    }

    fn file(&self, id: &str, options: &mut OpenOptions) -> io::Result<File> {
        let bad = || io::Error::new(io::ErrorKind::InvalidInput, "this is no id of a conversation");
        options.append(true).mode(0o600).open(self.path(id).ok_or_else(bad)?)
    }

    /// The file of a conversation; none where the id could name a file elsewhere.
    fn path(&self, id: &str) -> Option<PathBuf> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_id = !id.is_empty() && id.len() <= 100 && id.chars().all(is_plain);
        is_id.then(|| self.folder.join(format!("{id}.jsonl")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_found_as_it_was_noted_last() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::open(&folder.path().join("a/b")).unwrap();
        let mut conversation = sessions.begin().unwrap();
        assert_eq!(conversation.id, "51300000-0000-4000-8000-000000000001");
        assert_eq!(sessions.find(&conversation.id).unwrap(), Some(conversation.clone()));
        sessions.note(&conversation).unwrap();
        conversation.turns = 2;
        conversation.spent = Spent { input: 3, output: 4, cost_micros: 5 };
        conversation.asked = Some(Asked { attempt: 1, step: 7 });
        sessions.note(&conversation).unwrap();
        // Half a line is what a killed agent leaves.
        let mut file = sessions.file(&conversation.id, &mut OpenOptions::new()).unwrap();
        file.write_all(b"{\"turns\":3,\"inp").unwrap();
        assert_eq!(sessions.find(&conversation.id).unwrap(), Some(conversation.clone()));
        conversation.turns = 3;
        sessions.note(&conversation).unwrap();
        assert_eq!(sessions.find(&conversation.id).unwrap(), Some(conversation));
    }

    #[test]
    fn ids_are_counted_and_never_lead_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::open(folder.path()).unwrap();
        let ids = [(); 3].map(|()| sessions.begin().unwrap().id);
        assert_eq!(
            ids.map(|id| id[24..].to_owned()),
            ["000000000001", "000000000002", "000000000003"]
        );
        for id in ["", "..", "../x", "a/b", "unknown"] {
            assert_eq!(sessions.find(id).unwrap(), None, "{id}");
        }
    }
}
