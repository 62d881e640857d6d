//! A list that only grows and whose copies share what they have in common.

use std::sync::Arc;

/// What a copy costs is one reference for so many values; what the first push after it costs is a
/// copy of at most so many.
const CHUNK_LENGTH: usize = 256;

/// Full chunks but for the last one.
#[derive(Clone, Debug)]
pub(super) struct Chunks<T> {
    chunks: Vec<Arc<Vec<T>>>,
    length: usize,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), length: 0 }
    }
}

impl<T: Clone> Chunks<T> {
    pub(super) fn push(&mut self, value: T) {
        if self.length.is_multiple_of(CHUNK_LENGTH) {
            self.chunks.push(Arc::new(Vec::with_capacity(CHUNK_LENGTH)));
        }
        if let Some(last) = self.chunks.last_mut() {
            Arc::make_mut(last).push(value);
            self.length += 1;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// The values from position `start` on.
    pub(super) fn from(&self, start: usize) -> impl Iterator<Item = &T> {
        let chunks = self.chunks.get(start / CHUNK_LENGTH..).unwrap_or_default();
        chunks.iter().flat_map(|chunk| chunk.iter()).skip(start % CHUNK_LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_does_not_see_what_is_pushed_later() {
        let mut list = Chunks::default();
        let mut copies = Vec::new();
        for number in 0..CHUNK_LENGTH * 2 + 3 {
            copies.push(list.clone());
            list.push(number);
        }
        for (length, copy) in copies.iter().enumerate() {
            assert_eq!(copy.len(), length);
            assert!(copy.from(0).copied().eq(0..length), "after {length}");
        }
    }

    #[test]
    fn reading_begins_anywhere() {
        let mut list = Chunks::default();
        (0..CHUNK_LENGTH * 2).for_each(|number| list.push(number));
        for start in [0, 1, CHUNK_LENGTH - 1, CHUNK_LENGTH, list.len() - 1, list.len(), 9_999] {
            let expected = start..list.len().max(start);
            assert!(list.from(start).copied().eq(expected), "from {start}");
        }
    }
}
