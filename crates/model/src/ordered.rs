//! A map that keeps the order in which its entries were written.
//!
//! People and agents read these files, so an entry that comes back must stand where it stood.
//! A key never occurs twice: reading a second one is an error, because either of the two values
//! could be the one that was meant. Equality includes the order.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::{Borrow, Cow};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// From this many entries on an index is kept; below it, looking at each is faster and smaller.
const INDEXED_FROM: usize = 16;

/// How many entries are reserved on a file's word before they have been read.
const RESERVED_MAX: usize = 1_024;

/// A map that keeps the order in which its entries were inserted.
#[derive(Clone)]
pub struct Ordered<K, V> {
    entries: Vec<(K, V)>,
    /// Where each key stands in `entries`; made when a key is first looked for among
    /// `INDEXED_FROM` entries or more, because many maps are only written out.
    index: OnceLock<HashMap<K, usize>>,
}

impl<K: Eq + Hash + Clone, V> Ordered<K, V> {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.position(key).map(|at| &self.entries[at].1)
    }

    pub fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.position(key).map(|at| &mut self.entries[at].1)
    }

    pub fn contains_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.position(key).is_some()
    }

    /// Puts an entry at the end, or replaces the value where the key stands and returns the old one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(at) = self.position(&key) {
            return Some(std::mem::replace(&mut self.entries[at].1, value));
        }
        self.push(key, value);
        None
    }

    /// Takes an entry out; those behind it move up.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.position(key)?;
        self.index.take();
        Some(self.entries.remove(at).1)
    }

    /// Adds an entry whose key is known to be new.
    fn push(&mut self, key: K, value: V) {
        if let Some(index) = self.index.get_mut() {
            index.insert(key.clone(), self.entries.len());
        }
        self.entries.push((key, value));
    }

    fn position<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        if self.entries.len() < INDEXED_FROM {
            return self.entries.iter().position(|(known, _)| known.borrow() == key);
        }
        let index = self.index.get_or_init(|| {
            self.entries.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect()
        });
        index.get(key).copied()
    }
}

impl<K, V> Ordered<K, V> {
    /// Entries of which no two have the same key.
    pub(crate) fn of_distinct(entries: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { entries: entries.into_iter().collect(), index: OnceLock::new() }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &V)> + DoubleEndedIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    pub fn keys(&self) -> impl ExactSizeIterator<Item = &K> + DoubleEndedIterator {
        self.entries.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> + DoubleEndedIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: OnceLock::new() }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Ordered<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Ordered<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<K: Eq, V: Eq> Eq for Ordered<K, V> {}

impl<K: Eq + Hash + Clone, V> FromIterator<(K, V)> for Ordered<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K, V> IntoIterator for Ordered<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<K: Serialize, V: Serialize> Serialize for Ordered<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K, V> Deserialize<'de> for Ordered<K, V>
where
    K: Deserialize<'de> + Eq + Hash + Clone + fmt::Display,
    V: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntryVisitor(PhantomData))
    }
}

struct EntryVisitor<K, V>(PhantomData<(K, V)>);

impl<'de, K, V> Visitor<'de> for EntryVisitor<K, V>
where
    K: Deserialize<'de> + Eq + Hash + Clone + fmt::Display,
    V: Deserialize<'de>,
{
    type Value = Ordered<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut map = Ordered::default();
        map.entries.reserve(access.size_hint().unwrap_or(0).min(RESERVED_MAX));
        while let Some(key) = access.next_key::<K>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            map.push(key, access.next_value()?);
        }
        Ok(map)
    }
}

impl<K: JsonSchema, V: JsonSchema> JsonSchema for Ordered<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Map_of_{}_by_{}", V::schema_name(), K::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": generator.subschema_for::<K>(),
            "additionalProperties": generator.subschema_for::<V>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_the_order_of_the_file() {
        let text = r#"{"z":1,"a":2,"m":3}"#;
        let map: Ordered<String, u32> = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&map).unwrap(), text);
        assert_eq!(map.get("a"), Some(&2));
        assert_eq!(map.get("b"), None);
    }

    #[test]
    fn a_second_key_is_refused_by_name_at_every_size() {
        for size in [1, INDEXED_FROM - 1, INDEXED_FROM, INDEXED_FROM + 1, 100_000] {
            let keys: Vec<String> = (0..size).map(|n| format!("\"k{n}\":{n}")).collect();
            let good = format!("{{{}}}", keys.join(","));
            let map: Ordered<String, usize> = serde_json::from_str(&good).unwrap();
            assert_eq!(map.len(), size);
            assert_eq!(map.get(format!("k{}", size - 1).as_str()), Some(&(size - 1)));

            let bad = format!("{{{},\"k0\":0}}", keys.join(","));
            let error = serde_json::from_str::<Ordered<String, usize>>(&bad).unwrap_err();
            assert!(error.to_string().starts_with("duplicate key `k0`"), "{error}");
        }
    }

    #[test]
    fn inserting_a_known_key_replaces_in_place() {
        let mut map: Ordered<u32, &str> = (0..20).map(|key| (key, "old")).collect();
        assert_eq!(map.insert(3, "new"), Some("old"));
        assert_eq!(map.insert(99, "last"), None);
        assert_eq!(map.iter().nth(3), Some((&3, &"new")));
        assert_eq!(map.iter().next_back(), Some((&99, &"last")));
        assert_eq!(map.len(), 21);
    }

    #[test]
    fn order_is_part_of_equality() {
        let forth: Ordered<&str, u8> = [("a", 1), ("b", 2)].into_iter().collect();
        let back: Ordered<&str, u8> = [("b", 2), ("a", 1)].into_iter().collect();
        assert_ne!(forth, back);
    }
}
