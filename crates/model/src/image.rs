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

    pub(crate) fn numbers(&mut self, numbers: &Numbers) {
        self.number(count_of(numbers.len()));
        self.bytes.reserve(numbers.len() * size_of::<u32>());
        numbers.iter().for_each(|number| self.number(number));
    }

    pub(crate) fn text(&mut self, text: &[u8]) {
        self.number(count_of(text.len()));
        self.bytes.extend_from_slice(text);
    }
}

/// A list of numbers as it was written. Of an image it is a view: a copy would cost more than what is
/// looked at, because memory that was not used before is the dearest.
#[derive(Clone)]
pub(crate) struct Numbers {
    bytes: Arc<Vec<u8>>,
    start: usize,
    count: usize,
}

impl Numbers {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    // The file of a run is rendered with several of these for each task.
    #[inline]
    pub(crate) fn at(&self, position: usize) -> u32 {
        let start = self.start + position * size_of::<u32>();
        let bytes =
            self.bytes.get(start..start + size_of::<u32>()).filter(|_| position < self.count);
        u32::from_le_bytes(bytes.and_then(|it| it.try_into().ok()).expect("the list has it"))
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        let end = self.start + self.count * size_of::<u32>();
        let (numbers, _) = self.bytes[self.start..end].as_chunks::<{ size_of::<u32>() }>();
        numbers.iter().map(|number| u32::from_le_bytes(*number))
    }
}

impl From<&[u32]> for Numbers {
    fn from(numbers: &[u32]) -> Self {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        Self { bytes: Arc::new(bytes), start: 0, count: numbers.len() }
    }
}

impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Numbers {}

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Reads what a `NumberWriter` has written.
#[derive(Debug)]
pub(crate) struct NumberReader<'a> {
    whole: &'a Arc<Vec<u8>>,
    rest: &'a [u8],
}

impl<'a> NumberReader<'a> {
    pub(crate) fn new(bytes: &'a Arc<Vec<u8>>) -> Self {
        Self { whole: bytes, rest: bytes }
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

    pub(crate) fn numbers(&mut self) -> Option<Numbers> {
        let count = self.number()? as usize;
        let start = self.whole.len() - self.rest.len();
        self.take(count.checked_mul(size_of::<u32>())?)?;
        Some(Numbers { bytes: Arc::clone(self.whole), start, count })
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
