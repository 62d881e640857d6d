//! Keeping our files out of git's sight: a block of lines in `.git/info/exclude`, or in
//! `.gitignore` for everybody.
//!
//! The block is marked, and its first line says how the file ended before it, so that taking it
//! out gives back every byte.

use crate::error::GitError;
use std::path::Path;
use waypost_store::file;

/// Files of ours that git should neither track nor show as untracked.
pub const EXCLUDED: [&str; 5] = [
    "/.develop-workflow/",
    "/.claude/orchestrate-state.json*",
    "/.claude/memory/",
    "/.claude/orchestrator/",
    "/worktree/",
];

/// The largest exclude file that is edited.
const SIZE_MAX: u64 = 1 << 20;

const BEGIN: &[u8] = b"# waypost init: begin";
/// The file was made for the block.
const BEGIN_NEW: &[u8] = b"# waypost init: begin of a new file";
/// The line before the block had no end.
const BEGIN_OPEN: &[u8] = b"# waypost init: begin after an open line";
const END: &[u8] = b"# waypost init: end";

/// Adds lines to our block in a file that lacks them; what is in the block stays.
pub fn add(path: &Path, wanted: &[String]) -> Result<(), GitError> {
    let text = read(path)?;
    let found = text.as_deref().map(lines).unwrap_or_default();
    let is_missing = |line: &&str| !found.iter().any(|found| found == line.as_bytes());
    let missing: Vec<&str> = wanted.iter().map(String::as_str).filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let base = text.as_deref().and_then(without_block);
    let block = text.as_deref().map(block).unwrap_or_default();
    let block: Vec<&str> = block.iter().map(String::as_str).chain(missing).collect();
    let Some(with) = with_block(base.as_deref(), &block) else { return Ok(()) };
    file::clear_remains(path.parent().unwrap_or(path));
    Ok(file::rewrite(path, &with)?)
}

/// Takes our block out of a file; whether there was one.
pub fn clear(path: &Path) -> Result<bool, GitError> {
    if path.is_symlink() {
        return Ok(false);
    }
    let Some(text) = read(path)? else { return Ok(false) };
    match without_block(&text) {
        Some(base) if base == text => return Ok(false),
        Some(base) => file::rewrite(path, &base)?,
        None => file::remove(path)?,
    }
    Ok(true)
}

pub fn read(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    Ok(file::read_bounded(path, SIZE_MAX)?)
}

/// The lines of a text, without white space around them.
pub fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(|byte| *byte == b'\n').map(|line| line.trim_ascii().to_vec()).collect()
}

/// A text with our block at its end.
pub fn with_block(base: Option<&[u8]>, wanted: &[&str]) -> Option<Vec<u8>> {
    if wanted.is_empty() {
        return base.map(<[u8]>::to_vec);
    }
    let (mut text, begin) = match base {
        None => (Vec::new(), BEGIN_NEW),
        Some(base) if base.is_empty() || base.ends_with(b"\n") => (base.to_vec(), BEGIN),
        Some(base) => ([base, b"\n"].concat(), BEGIN_OPEN),
    };
    let wanted = wanted.iter().map(|line| line.as_bytes());
    for line in [begin].into_iter().chain(wanted).chain([END]) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    Some(text)
}

/// The lines of our block.
fn block(text: &[u8]) -> Vec<String> {
    let is_begin = |line: &Vec<u8>| [BEGIN, BEGIN_NEW, BEGIN_OPEN].contains(&&line[..]);
    let inner = lines(text).into_iter().skip_while(|line| !is_begin(line)).skip(1);
    let inner = inner.take_while(|line| line != END);
    inner.map(|line| String::from_utf8_lossy(&line).into_owned()).collect()
}

/// A text without our block; `None` if the file was made for it and has nothing else.
pub fn without_block(text: &[u8]) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let is = |line: &[u8], mark: &[u8]| line.trim_ascii() == mark;
    let is_begin = |line: &&[u8]| [BEGIN, BEGIN_NEW, BEGIN_OPEN].iter().any(|mark| is(line, mark));
    let Some(start) = lines.iter().position(is_begin) else { return Some(text.to_vec()) };
    let end = lines[start..].iter().position(|line| is(line, END));
    // A user who took the end away wanted the block's own lines to stay.
    let end = start + end.unwrap_or(0) + 1;
    let (mut before, after) = (lines[..start].concat(), lines[end..].concat());
    if is(lines[start], BEGIN_OPEN) && after.is_empty() && before.ends_with(b"\n") {
        before.pop();
    }
    before.extend(after);
    (!before.is_empty() || !is(lines[start], BEGIN_NEW)).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use waypost_model::layout::{session, window};

    #[test]
    fn what_is_kept_out_of_sight_is_what_the_layout_names() {
        let folder = |name: &str| format!("/{name}/");
        let names = [
            folder(window::WORKFLOW_FOLDER),
            format!("/{}*", window::RUN),
            folder(window::MEMORY_FOLDER),
            folder(session::FOLDER),
            folder(crate::tree::name::FOLDER),
        ];
        assert_eq!(EXCLUDED.map(str::to_owned), names);
    }

    #[test]
    fn what_was_put_in_comes_out_to_the_byte() {
        let list: [Option<&[u8]>; 7] = [
            None,
            Some(b""),
            Some(b"\n"),
            Some(b"a\nb"),
            Some(b"a\r\nb\r\n"),
            Some(b"\xff\n\n"),
            Some(b"# waypost\n "),
        ];
        for base in list {
            let with = with_block(base, &["/x/", "/y"]).unwrap();
            assert_eq!(without_block(&with).as_deref(), base);
            assert_eq!(with_block(base, &[]).as_deref(), base);
        }
    }

    #[test]
    fn lines_are_added_to_the_block_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("info/exclude");
        let line = |text: &str| vec![text.to_owned()];
        for wanted in ["/x/", "/y", "/x/"] {
            add(&path, &line(wanted)).unwrap();
        }
        let text = read(&path).unwrap().unwrap();
        assert_eq!(text, with_block(None, &["/x/", "/y"]).unwrap());
        assert_eq!(without_block(&text), None);
    }

    #[test]
    fn what_others_write_around_the_block_stays() {
        let with = with_block(Some(b"a"), &["/x/"]).unwrap();
        let with = [b"first\n", &with[..], b"last"].concat();
        assert_eq!(without_block(&with).unwrap(), b"first\na\nlast");
        let with = with_block(None, &["/x/"]).unwrap();
        assert_eq!(without_block(&[&with[..], b"last\n"].concat()).unwrap(), b"last\n");
    }
}
