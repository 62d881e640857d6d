//! What a checkpoint holds: its files, their bytes, and how it differs from another one.

use super::Workspace;
use crate::error::GitError;

/// A file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentFile {
    pub path: String,
    pub object: String,
    pub is_program: bool,
    pub size: u64,
}

impl Workspace {
    /// All plain files of a commit. Links are none: what they lead to may be anywhere.
    pub fn files(&self, commit: &str) -> Result<Vec<ContentFile>, GitError> {
        let listed = self.git()?.bytes(&["ls-tree", "-r", "-z", "-l", commit])?;
        let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        Ok(lines.filter_map(|line| entry(&String::from_utf8_lossy(line))).collect())
    }

    /// The bytes of a file.
    pub fn bytes(&self, file: &ContentFile) -> Result<Vec<u8>, GitError> {
        self.git()?.bytes(&["cat-file", "blob", &file.object])
    }

    /// How one commit differs from another, as a patch; from nothing, if that is none.
    pub fn diff(&self, from: Option<&str>, to: &str) -> Result<String, GitError> {
        let git = self.git()?;
        let empty;
        let from = match from {
            Some(from) => from,
            None => {
                empty = git.text(&["hash-object", "-t", "tree", "--stdin"])?;
                &empty
            }
        };
        git.text(&["diff", "--no-color", "--no-renames", from, to])
    }
}

/// Reads `MODE KIND OBJECT SIZE<TAB>PATH`.
fn entry(line: &str) -> Option<ContentFile> {
    let (words, path) = line.split_once('\t')?;
    let mut words = words.split_whitespace();
    let mode = words.next()?;
    let (_, object, size) = (words.next()?, words.next()?, words.next()?);
    let is_safe = !path.split('/').any(|part| matches!(part, "" | "." | ".."));
    (matches!(mode, "100644" | "100755") && is_safe).then(|| ContentFile {
        path: path.to_owned(),
        object: object.to_owned(),
        is_program: mode == "100755",
        size: size.parse().unwrap_or(0),
    })
}
