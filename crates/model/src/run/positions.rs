//! Where each task of a plan stands, by its id.
//!
//! The ids lie in one text, and the positions in the order of the ids: four bytes for each task, found
//! by halving. Unlike a map it needs no building when it comes from an image.

use crate::{
    id::TaskId,
    image::{NumberReader, NumberWriter, Numbers},
};
use std::cmp::Ordering;

/// Positions by id, and ids by position.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Positions {
    /// All ids, one behind another.
    text: String,
    /// Where each of them ends.
    ends: Numbers,
    /// The positions, sorted by id.
    sorted: Numbers,
}

impl Positions {
    pub(super) fn new<'a>(ids: impl Iterator<Item = &'a TaskId>) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for id in ids {
            text.push_str(id.as_str());
            ends.push(u32::try_from(text.len()).expect("the ids of a plan have less than 4 GiB"));
        }
        let count = u32::try_from(ends.len()).expect("a plan has fewer than 2^32 tasks");
        let none: &[u32] = &[];
        let mut positions = Self { text, ends: ends.as_slice().into(), sorted: none.into() };
        let mut sorted: Vec<u32> = (0..count).collect();
        sorted.sort_unstable_by_key(|at| positions.text_of(*at as usize));
        positions.sorted = sorted.as_slice().into();
        positions
    }

    pub(super) fn find(&self, id: &TaskId) -> Option<usize> {
        let (mut from, mut to) = (0, self.sorted.len());
        while from < to {
            let middle = from + (to - from) / 2;
            let at = self.sorted.at(middle) as usize;
            match self.text_of(at).cmp(id.as_str()) {
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
                Ordering::Equal => return Some(at),
            }
        }
        None
    }

    /// The id of the task at a position.
    pub(super) fn id(&self, at: usize) -> TaskId {
        TaskId::known(self.text_of(at))
    }

    /// The text of that id.
    #[inline]
    pub(super) fn text_of(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends.at(before) as usize);
        &self.text[start..self.ends.at(at) as usize]
    }

    pub(super) fn write(&self, out: &mut NumberWriter) {
        out.text(self.text.as_bytes());
        out.numbers(&self.ends);
        out.numbers(&self.sorted);
    }

    /// None if these are no positions of `count` tasks.
    pub(super) fn read(from: &mut NumberReader<'_>, count: usize) -> Option<Self> {
        let text = str::from_utf8(from.text()?).ok()?.to_owned();
        let (ends, sorted) = (from.numbers()?, from.numbers()?);
        let is_sound = ends.len() == count
            && sorted.len() == count
            && ends.iter().is_sorted()
            && ends.iter().next_back().is_none_or(|end| end as usize <= text.len())
            && sorted.iter().all(|at| (at as usize) < count);
        is_sound.then_some(Self { text, ends, sorted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn check(count: usize) {
        let id = |number: usize| -> TaskId { format!("T{number}").parse().unwrap() };
        let ids: Vec<TaskId> = (0..count).map(id).collect();
        let positions = Positions::new(ids.iter());
        let mut written = NumberWriter::default();
        positions.write(&mut written);
        let bytes = Arc::new(written.bytes);
        let read = Positions::read(&mut NumberReader::new(&bytes), count).unwrap();
        assert_eq!(read, positions);
        let found: Vec<Option<usize>> = (0..=count).map(|at| read.find(&id(at))).collect();
        let want: Vec<Option<usize>> = (0..count).map(Some).chain([None]).collect();
        assert_eq!(found, want);
        assert_eq!((0..count).map(|at| read.id(at)).collect::<Vec<_>>(), ids);
    }

    #[test]
    fn every_task_is_found_and_no_other() {
        [0, 1, 2, 3, 4, 5, 1_000].into_iter().for_each(check);
    }

    #[test]
    fn what_is_not_sound_is_not_read() {
        let mut written = NumberWriter::default();
        Positions::new(["T1".parse().unwrap(), "T2".parse().unwrap()].iter()).write(&mut written);
        for (at, byte) in [(0, 200), (4, 0xff), (14, 200), (26, 2)] {
            let mut bytes = written.bytes.clone();
            bytes[at] = byte;
            let read = Positions::read(&mut NumberReader::new(&Arc::new(bytes)), 2);
            assert_eq!(read, None, "byte {at}");
        }
    }
}
