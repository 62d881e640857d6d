//! Rows of lists in the database.

use super::view::{SqliteView, as_limit, parsed};
use crate::{
    error::StoreError,
    journal::{ListedStream, ListingCount, ListingOrder, ListingPlace, ListingQuery},
};
use rusqlite::{Row, types::Value};
use waypost_model::time::Time;

/// The journal's version from which on it has rows of lists.
const SINCE_VERSION: u32 = 2;

/// A question that grows by its conditions.
struct Question {
    sql: String,
    values: Vec<Value>,
}

impl Question {
    /// Adds a condition; each `?` in it stands for one of the values.
    fn and(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values);
    }
}

impl SqliteView<'_> {
    pub(super) fn find_listings(
        &self,
        query: &ListingQuery<'_>,
    ) -> Result<Vec<ListedStream>, StoreError> {
        if !self.has_listings()? {
            return Ok(Vec::new());
        }
        let ListingQuery { kind, states, rank, text, with_hidden, order, after, limit } = query;
        let sql = "SELECT name, state, rank, since, is_hidden, body FROM listing WHERE kind = ?";
        let mut question = Question { sql: sql.to_owned(), values: vec![text_value(kind)] };
        let hidden = if *with_hidden { "is_hidden IN (0, 1)" } else { "is_hidden = 0" };
        question.and(hidden, []);
        if !states.is_empty() {
            let marks = vec!["?"; states.len()].join(", ");
            let states = states.iter().map(|state| text_value(state));
            question.and(&format!("state IN ({marks})"), states);
        }
        if let Some(rank) = rank {
            question.and("rank = ?", [Value::Integer(*rank)]);
        }
        if let Some(text) = text {
            question.and("instr(text, ?) > 0", [Value::Text(text.to_lowercase())]);
        }
        if let Some(place) = after {
            let (condition, values) = following(*order, place);
            question.and(condition, values);
        }
        question.sql.push_str(match order {
            ListingOrder::Newest => " ORDER BY since DESC, name DESC LIMIT ?",
            ListingOrder::Queue => " ORDER BY rank DESC, since, name LIMIT ?",
        });
        question.values.push(Value::Integer(as_limit(*limit)));
        self.collect(&question.sql, rusqlite::params_from_iter(question.values), listed_of)
    }

    pub(super) fn count_listings(&self, kind: &str) -> Result<Vec<ListingCount>, StoreError> {
        if !self.has_listings()? {
            return Ok(Vec::new());
        }
        let sql = "SELECT state, is_hidden, count(*) FROM listing WHERE kind = ?1
                   GROUP BY is_hidden, state ORDER BY is_hidden, state";
        self.collect(sql, [kind], |row| {
            Ok(ListingCount { state: row.get(0)?, is_hidden: row.get(1)?, count: row.get(2)? })
        })
    }

    /// A journal of an earlier version that is only read has none.
    fn has_listings(&self) -> Result<bool, StoreError> {
        let version: Option<u32> = self.first("PRAGMA user_version", [], |row| row.get(0))?;
        Ok(version.is_some_and(|it| it >= SINCE_VERSION))
    }
}

/// What comes behind a row in an order.
fn following(order: ListingOrder, place: &ListingPlace) -> (&'static str, Vec<Value>) {
    let (rank, since) = (Value::Integer(place.rank), Value::Integer(place.since.millis()));
    let name = text_value(place.stream.as_str());
    match order {
        ListingOrder::Newest => ("(since, name) < (?, ?)", vec![since, name]),
        ListingOrder::Queue => (
            "(rank < ? OR (rank = ? AND (since, name) > (?, ?)))",
            vec![rank.clone(), rank, since, name],
        ),
    }
}

fn text_value(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn listed_of(row: &Row<'_>) -> rusqlite::Result<ListedStream> {
    Ok(ListedStream {
        stream: parsed(row, 0)?,
        state: row.get(1)?,
        rank: row.get(2)?,
        since: Time::from_millis(row.get(3)?),
        is_hidden: row.get(4)?,
        body: row.get(5)?,
    })
}
