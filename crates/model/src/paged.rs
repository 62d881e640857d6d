//! A list in pages, each of which is read when one of its values is first looked at.
//!
//! A command looks at a few tasks of a run that may have a hundred thousand. What an image keeps
//! comes as bytes, and becomes values page by page, as they are asked for.

use crate::image::{Codec, Counts, LaterPart};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use std::{fmt, iter::repeat_n, ops::Index, sync::OnceLock};

/// How many values a page has: one page is read in the time of a few system calls. In tests a few
/// values make several pages.
const PAGE_SIZE: usize = if cfg!(test) { 3 } else { 64 };

/// What a value adds to the counts of its list.
pub trait Counted {
    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// A list of values, some of which are not read yet.
pub struct Paged<T> {
    len: usize,
    pages: Vec<Page<T>>,
}

struct Page<T> {
    values: OnceLock<Vec<T>>,
    /// As it was kept, and how it is read; none once a value has changed.
    kept: Option<KeptPage<T>>,
    /// Whether it is not as the image has it.
    is_changed: bool,
}

struct KeptPage<T> {
    part: LaterPart,
    read: fn(&[u8]) -> Option<Vec<T>>,
}

impl<T> Clone for KeptPage<T> {
    fn clone(&self) -> Self {
        Self { part: self.part.clone(), read: self.read }
    }
}

impl<T> Page<T> {
    fn of(values: Vec<T>) -> Self {
        Self { values: values.into(), kept: None, is_changed: true }
    }

    fn values(&self) -> &Vec<T> {
        self.values.get_or_init(|| {
            let kept = self.kept.as_ref().expect("a page is read or kept");
            kept.part.value(kept.read)
        })
    }

    fn change(&mut self) -> &mut Vec<T> {
        self.values();
        self.is_changed = true;
        self.kept = None;
        self.values.get_mut().expect("it was read just now")
    }
}

impl<T> Paged<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn get(&self, at: usize) -> Option<&T> {
        self.pages.get(at / PAGE_SIZE)?.values().get(at % PAGE_SIZE)
    }

    /// A value that is about to change.
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.pages.get_mut(at / PAGE_SIZE)?.change().get_mut(at % PAGE_SIZE)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.pages.iter().flat_map(|page| page.values())
    }

    /// All values, which are about to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pages.iter_mut().flat_map(Page::change)
    }

    /// The values, read all at once.
    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        self.pages.into_iter().flat_map(|page| {
            page.values();
            page.values.into_inner().expect("it was read just now")
        })
    }
}

impl<T: Clone> Paged<T> {
    pub(crate) fn repeat(value: T, count: usize) -> Self {
        repeat_n(value, count).collect()
    }
}

impl<T: Counted> Paged<T> {
    /// The counts of all values.
    pub(crate) fn counts(&self) -> Counts {
        self.pages.iter().map(Page::counts).fold(Counts::default(), add)
    }

    /// The counts of the page in which the value is.
    pub(crate) fn counts_around(&self, at: usize) -> Counts {
        self.pages.get(at / PAGE_SIZE).map_or_else(Counts::default, Page::counts)
    }
}

impl<T: Counted> Page<T> {
    fn counts(&self) -> Counts {
        match &self.kept {
            Some(kept) => kept.part.counts(),
            None => self.values().iter().map(Counted::counts).fold(Counts::default(), add),
        }
    }
}

fn add(one: Counts, other: Counts) -> Counts {
    [one[0] + other[0], one[1] + other[1], one[2] + other[2]]
}

impl<T: Counted + Serialize + DeserializeOwned> Paged<T> {
    /// The pages as an image keeps them, with their numbers: all of them, or those that have
    /// changed since they were taken last.
    pub(crate) fn take_pages<C: Codec>(&mut self, all: bool) -> Vec<(u32, TakenPage)> {
        let wanted = self.pages.iter_mut().zip(0..).filter(|(page, _)| all || page.is_changed);
        let take = |page: &mut Page<T>| {
            page.is_changed = false;
            page.encode::<C>()
        };
        wanted.map(|(page, number)| (number, take(page))).collect()
    }

    /// All pages as an image keeps them, with their numbers.
    pub(crate) fn pages<C: Codec>(&self) -> Vec<(u32, TakenPage)> {
        self.pages.iter().zip(0..).map(|(page, number)| (number, page.encode::<C>())).collect()
    }

    /// A list of `len` values whose pages are kept; none if one is missing.
    pub(crate) fn kept<C: Codec>(
        len: usize,
        mut page: impl FnMut(u32) -> Option<LaterPart>,
    ) -> Option<Self> {
        let count = u32::try_from(len.div_ceil(PAGE_SIZE)).ok()?;
        let pages = (0..count).map(|number| Some(Page::kept::<C>(page(number)?)));
        Some(Self { len, pages: pages.collect::<Option<_>>()? })
    }
}

/// A page as an image keeps it.
pub(crate) struct TakenPage {
    pub(crate) counts: Counts,
    pub(crate) bytes: Vec<u8>,
}

impl<T: Counted + Serialize + DeserializeOwned> Page<T> {
    fn encode<C: Codec>(&self) -> TakenPage {
        let bytes = match &self.kept {
            Some(kept) => kept.part.bytes(),
            None => C::encode(self.values()),
        };
        TakenPage { counts: self.counts(), bytes }
    }

    fn kept<C: Codec>(part: LaterPart) -> Self {
        let kept = KeptPage { part, read: C::decode::<Vec<T>> };
        Self { values: OnceLock::new(), kept: Some(kept), is_changed: false }
    }
}

impl<T> Index<usize> for Paged<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        self.get(at).expect("the position is in the list")
    }
}

impl<T> FromIterator<T> for Paged<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values = values.into_iter();
        let (mut pages, mut len) = (Vec::new(), 0);
        loop {
            let page: Vec<T> = values.by_ref().take(PAGE_SIZE).collect();
            len += page.len();
            if page.is_empty() {
                return Self { len, pages };
            }
            pages.push(Page::of(page));
        }
    }
}

impl<T> From<Vec<T>> for Paged<T> {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect()
    }
}

impl<T> Default for Paged<T> {
    fn default() -> Self {
        Self { len: 0, pages: Vec::new() }
    }
}

impl<T: Clone> Clone for Paged<T> {
    fn clone(&self) -> Self {
        let page = |page: &Page<T>| Page {
            values: page.values.clone(),
            kept: page.kept.clone(),
            is_changed: page.is_changed,
        };
        Self { len: self.len, pages: self.pages.iter().map(page).collect() }
    }
}

impl<T: PartialEq> PartialEq for Paged<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<T: fmt::Debug> fmt::Debug for Paged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The same as a list of all values: how they are held does not show.
impl<T: Serialize> Serialize for Paged<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Paged<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}
