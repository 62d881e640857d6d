//! The image of a state: its parts as bytes, so that a process reads only those that it needs.
//!
//! An image is a cache. What is kept of it beside a journal says for which state it holds; a part is
//! read, and becomes a value, when it is first looked at.

use serde::{Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// How values become bytes and bytes values.
pub trait Codec {
    fn encode<T: Serialize>(value: &T) -> Vec<u8>;

    /// None if these are no bytes of such a value.
    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T>;
}

/// What is counted over the values of a part, so that it need not be read for that.
pub type Counts = [u64; 3];

/// Names one part: what kind of part it is to its machine, and which one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartKey {
    pub kind: u32,
    pub number: u32,
}

/// A part as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub key: PartKey,
    pub counts: Counts,
    pub bytes: Vec<u8>,
}

/// Parts that were taken from a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenParts {
    /// Whether these are all there are; otherwise those that have changed since the last time.
    pub is_whole: bool,
    pub parts: Vec<Part>,
}

/// Where a part that was written can be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartPlace {
    pub at: u64,
    pub length: usize,
    pub checksum: u64,
    pub counts: Counts,
}

/// What holds the bytes of parts.
pub trait PartFile: fmt::Debug + Send + Sync {
    /// None if these are not the bytes that were written.
    fn read(&self, place: &PartPlace) -> Option<Vec<u8>>;

    /// Ends a process that relies on a part which is not as it was written any more, after it has
    /// made sure that the next one does not.
    fn lost(&self) -> !;
}

/// An image that can be read.
#[derive(Clone, Debug)]
pub struct Image {
    file: Arc<dyn PartFile>,
    parts: BTreeMap<PartKey, PartPlace>,
}

impl Image {
    pub fn new(file: Arc<dyn PartFile>, parts: BTreeMap<PartKey, PartPlace>) -> Self {
        Self { file, parts }
    }

    /// The bytes of a part; none if there is no such part, or it is not as it was written.
    pub fn part(&self, kind: u32, number: u32) -> Option<Vec<u8>> {
        self.file.read(self.parts.get(&PartKey { kind, number })?)
    }

    /// Whether every part is as it was written.
    pub fn is_sound(&self) -> bool {
        self.parts.values().all(|place| self.file.read(place).is_some())
    }

    /// A part that is read when it is looked at.
    pub(crate) fn later(&self, kind: u32, number: u32) -> Option<LaterPart> {
        let place = *self.parts.get(&PartKey { kind, number })?;
        Some(LaterPart { file: Arc::clone(&self.file), place })
    }
}

/// A part that has not been read yet.
#[derive(Clone, Debug)]
pub(crate) struct LaterPart {
    file: Arc<dyn PartFile>,
    place: PartPlace,
}

impl LaterPart {
    pub(crate) fn counts(&self) -> Counts {
        self.place.counts
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.file.read(&self.place).unwrap_or_else(|| self.file.lost())
    }

    /// The value that `read` makes of its bytes.
    pub(crate) fn value<T>(&self, read: impl Fn(&[u8]) -> Option<T>) -> T {
        read(&self.bytes()).unwrap_or_else(|| self.file.lost())
    }
}

/// Writes lists of numbers one after another.
#[derive(Debug, Default)]
pub(crate) struct NumberWriter {
    pub(crate) bytes: Vec<u8>,
}

impl NumberWriter {
    pub(crate) fn number(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn numbers(&mut self, numbers: &[u32]) {
        self.number(count_of(numbers.len()));
        self.bytes.reserve(size_of_val(numbers));
        numbers.iter().for_each(|number| self.number(*number));
    }

    pub(crate) fn text(&mut self, text: &[u8]) {
        self.number(count_of(text.len()));
        self.bytes.extend_from_slice(text);
    }
}

/// Reads what a `NumberWriter` has written.
#[derive(Debug)]
pub(crate) struct NumberReader<'a> {
    rest: &'a [u8],
}

impl<'a> NumberReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        let bytes = self.take(size_of::<u32>())?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    pub(crate) fn numbers(&mut self) -> Option<Vec<u32>> {
        let count = self.number()? as usize;
        let bytes = self.take(count.checked_mul(size_of::<u32>())?)?;
        let (numbers, _) = bytes.as_chunks::<{ size_of::<u32>() }>();
        Some(numbers.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }

    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let count = self.number()? as usize;
        self.take(count)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }
}

fn count_of(length: usize) -> u32 {
    u32::try_from(length).expect("an image has parts of less than 4 GiB")
}
