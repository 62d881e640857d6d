//! Rows of lists in memory.

use crate::journal::{
    ListedStream, ListingCount, ListingOrder, ListingPlace, ListingQuery, NewListing,
};
use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeMap,
    sync::Arc,
};
use waypost_model::id::StreamName;

/// The rows of all streams that have one.
#[derive(Clone, Debug, Default)]
pub(super) struct Listings {
    rows: BTreeMap<StreamName, Arc<KeptListing>>,
}

#[derive(Debug)]
struct KeptListing {
    listed: ListedStream,
    text: String,
}

impl Listings {
    pub(super) fn put(&mut self, stream: &StreamName, listing: Option<&NewListing<'_>>) {
        let Some(NewListing { state, rank, since, is_hidden, text, body }) = listing.copied()
        else {
            self.rows.remove(stream);
            return;
        };
        let (state, body) = (state.to_owned(), body.to_owned());
        let listed = ListedStream { stream: stream.clone(), state, rank, since, is_hidden, body };
        self.rows.insert(stream.clone(), Arc::new(KeptListing { listed, text: text.to_owned() }));
    }

    pub(super) fn find(&self, query: &ListingQuery<'_>) -> Vec<ListedStream> {
        let wanted = self.rows.values().filter(|row| row.is_wanted(query)).map(|row| &row.listed);
        let mut found: Vec<&ListedStream> = wanted.collect();
        found.sort_by(|one, other| compare(query.order, &one.place(), &other.place()));
        found.into_iter().take(query.limit).cloned().collect()
    }

    pub(super) fn count(&self, kind: &str) -> Vec<ListingCount> {
        let mut counts: BTreeMap<(bool, &str), u64> = BTreeMap::new();
        for (_, row) in self.rows.iter().filter(|(stream, _)| stream.kind() == kind) {
            *counts.entry((row.listed.is_hidden, &row.listed.state)).or_default() += 1;
        }
        let counts = counts.into_iter();
        counts
            .map(|((is_hidden, state), count)| ListingCount {
                state: state.to_owned(),
                is_hidden,
                count,
            })
            .collect()
    }
}

impl KeptListing {
    fn is_wanted(&self, query: &ListingQuery<'_>) -> bool {
        let listed = &self.listed;
        let follows = |place| compare(query.order, &listed.place(), place) == Ordering::Greater;
        let has = |text: &str| self.text.contains(&text.to_lowercase());
        listed.stream.kind() == query.kind
            && (query.states.is_empty() || query.states.contains(&listed.state.as_str()))
            && query.rank.is_none_or(|rank| rank == listed.rank)
            && query.text.is_none_or(has)
            && (query.with_hidden || !listed.is_hidden)
            && query.after.as_ref().is_none_or(follows)
    }
}

fn compare(order: ListingOrder, one: &ListingPlace, other: &ListingPlace) -> Ordering {
    match order {
        ListingOrder::Newest => (other.since, &other.stream).cmp(&(one.since, &one.stream)),
        ListingOrder::Queue => {
            let key = |it: &ListingPlace| (Reverse(it.rank), it.since);
            key(one).cmp(&key(other)).then_with(|| one.stream.cmp(&other.stream))
        }
    }
}
