//! Reading of a file that may be anything: bounded, and without ever waiting.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// What the judge reads of one file; a longer script hides more than anyone would review.
pub(super) const TEXT_LIMIT: usize = 64 * 1024;

/// What became of a read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// All of it, or its first [`TEXT_LIMIT`] bytes and one more.
    Bytes(Vec<u8>),
    Folder,
    /// Not there, not ours to read, or not a plain file.
    None,
}

/// The beginning of a file.
pub(super) fn content(path: &Path) -> Content {
    // Looking first keeps devices from being opened at all, which some of them notice.
    match path.metadata() {
        Ok(found) if found.is_dir() => return Content::Folder,
        Ok(found) if found.is_file() => {}
        _ => return Content::None,
    }
    // It may have become a pipe since: opening must not wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(descriptor) = rustix::fs::open(path, flags, Mode::empty()) else { return Content::None };
    let file = File::from(descriptor);
    let Some(size) = file.metadata().ok().filter(|it| it.is_file()).map(|it| it.len()) else {
        return Content::None;
    };
    // One read for the whole of it, and one that finds its end.
    let room = usize::try_from(size).unwrap_or(TEXT_LIMIT).min(TEXT_LIMIT) + 1;
    let mut bytes = Vec::with_capacity(room);
    match file.take(TEXT_LIMIT as u64 + 1).read_to_end(&mut bytes) {
        Ok(_) => Content::Bytes(bytes),
        Err(_) => Content::None,
    }
}

/// A file's text.
pub(super) enum Text {
    Whole(String),
    TooLong,
    None,
}

/// The text of a file; bytes that are no text are replaced, as no command is spelled with them.
pub(super) fn text(path: &Path) -> Text {
    match content(path) {
        Content::Bytes(bytes) if bytes.len() > TEXT_LIMIT => Text::TooLong,
        Content::Bytes(bytes) => Text::Whole(String::from_utf8_lossy(&bytes).into_owned()),
        Content::Folder | Content::None => Text::None,
    }
}
