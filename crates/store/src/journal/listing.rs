//! Rows by which many streams of one kind are listed without reading any of their events.

use waypost_model::{id::StreamName, time::Time};

/// A row that is to be kept for a stream, in the place of the one that it may have.
#[derive(Clone, Copy, Debug)]
pub struct NewListing<'a> {
    pub state: &'a str,
    pub rank: i64,
    pub since: Time,
    pub is_hidden: bool,
    /// What it is searched by, in lower case.
    pub text: &'a str,
    /// What it shows; only its machine's kind reads it.
    pub body: &'a str,
}

/// A row as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedStream {
    pub stream: StreamName,
    pub state: String,
    pub rank: i64,
    pub since: Time,
    pub is_hidden: bool,
    pub body: String,
}

/// Which rows are wanted, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingQuery<'a> {
    /// The kind of machine.
    pub kind: &'a str,
    /// One of these; empty: any.
    pub states: &'a [&'a str],
    pub rank: Option<i64>,
    /// Stands in its text; case does not matter.
    pub text: Option<&'a str>,
    /// Also those that lists leave out.
    pub with_hidden: bool,
    pub order: ListingOrder,
    /// Only what follows this row in that order.
    pub after: Option<ListingPlace>,
    pub limit: usize,
}

impl<'a> ListingQuery<'a> {
    /// All rows of a kind that lists show, the newest first.
    pub fn of(kind: &'a str) -> Self {
        Self {
            kind,
            states: &[],
            rank: None,
            text: None,
            with_hidden: false,
            order: ListingOrder::Newest,
            after: None,
            limit: usize::MAX,
        }
    }
}

/// In which order rows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingOrder {
    /// The latest time first.
    Newest,
    /// The greatest rank first, then the earliest time.
    Queue,
}

/// Where a row stands, whatever the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingPlace {
    pub rank: i64,
    pub since: Time,
    pub stream: StreamName,
}

impl ListedStream {
    pub fn place(&self) -> ListingPlace {
        let Self { rank, since, stream, .. } = self;
        ListingPlace { rank: *rank, since: *since, stream: stream.clone() }
    }
}

/// How many rows of a kind have one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingCount {
    pub state: String,
    pub is_hidden: bool,
    pub count: u64,
}
