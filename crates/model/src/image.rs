//! The image of a state: its parts as bytes, so that a process reads only those that it needs.
//!
//! An image is a cache. What is kept of it beside a journal is checked as a whole when it is
//! opened; a part becomes a value when it is first looked at.

use serde::{Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, ops::Deref, ops::Range, sync::Arc};

/// How values become bytes and bytes values.
pub trait Codec {
    fn encode<T: Serialize>(value: &T) -> Vec<u8>;

    /// None if these are no bytes of such a value.
    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T>;
}

/// Names one part: what kind of part it is to its machine, and which one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartKey {
    pub kind: u32,
    pub number: u32,
}

/// Parts that were taken from a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenParts {
    /// Whether these are all there are; otherwise those that have changed since the last time.
    pub is_whole: bool,
    pub parts: Vec<(PartKey, Vec<u8>)>,
}

/// An image as it was read.
#[derive(Clone, Debug, Default)]
pub struct Image {
    bytes: Arc<Vec<u8>>,
    parts: BTreeMap<PartKey, Range<usize>>,
}

impl Image {
    /// Of these bytes, in which each part has its range.
    pub fn new(bytes: Vec<u8>, parts: BTreeMap<PartKey, Range<usize>>) -> Option<Self> {
        let is_inside = |range: &Range<usize>| range.start <= range.end && range.end <= bytes.len();
        parts.values().all(is_inside).then(|| Self { bytes: Arc::new(bytes), parts })
    }

    pub fn part(&self, kind: u32, number: u32) -> Option<PartBytes> {
        let range = self.parts.get(&PartKey { kind, number })?.clone();
        Some(PartBytes { all: Arc::clone(&self.bytes), range })
    }
}

/// The bytes of one part, or of a piece of it.
#[derive(Clone, Debug)]
pub struct PartBytes {
    all: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl PartBytes {
    /// The first `count` bytes, and those behind them; none if there are fewer.
    pub(crate) fn split_first(&self, count: usize) -> Option<(Self, Self)> {
        let middle = self.range.start.checked_add(count).filter(|at| *at <= self.range.end)?;
        let piece = |range| Self { all: Arc::clone(&self.all), range };
        Some((piece(self.range.start..middle), piece(middle..self.range.end)))
    }
}

impl Deref for PartBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.all[self.range.clone()]
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
