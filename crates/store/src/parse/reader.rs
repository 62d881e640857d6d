//! Reads a tree into a type and collects everything that does not fit.
//!
//! Where a value has the wrong type its fault is recorded and a stand-in is given to the type, so
//! that reading goes on; the type that comes out is thrown away then. A field that is missing or malformed
//! ends the object in which it is, because there is no stand-in for it: what else is wrong there says `form`.

use super::failure::{BOOL, Failure, Fault, Sink, TEXT};
use super::text::Span;
use super::tree::{Entry, Node, Path, Value};
use serde::de::DeserializeOwned;
use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
};
use std::iter;
use std::slice::Iter;
use waypost_model::document::code;

/// Reads a tree into a type; when that fails, `sink` has at least one finding.
pub(super) fn read<T: DeserializeOwned>(root: &Node<'_>, sink: &Sink<'_>) -> Option<T> {
    let reader = Reader { node: root, key: None, path: &Path::Root, sink };
    reader.settle(T::deserialize(reader)).ok()
}

/// One value of the tree, on its way into a type.
#[derive(Clone, Copy)]
struct Reader<'r> {
    node: &'r Node<'r>,
    key: Option<Span>,
    path: &'r Path<'r>,
    sink: &'r Sink<'r>,
}

impl Reader<'_> {
    /// Records what a visitor refused, unless something further inside was recorded already.
    fn settle<T>(self, result: Result<T, Failure>) -> Result<T, Failure> {
        result.map_err(|failure| {
            if let Some(fault) = failure.0 {
                self.record(*fault);
            }
            Failure(None)
        })
    }

    fn record(self, fault: Fault) {
        self.sink.record(fault, self.node.anchor(self.key), self.path);
    }

    /// Records a value of the wrong type and goes on with what a stand-in leads to.
    fn stand_in<T>(
        self,
        expected: &str,
        visit: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.record(Fault::wrong_type(&self.node.value, expected));
        if self.sink.is_full() {
            return Err(Failure(None));
        }
        visit().map_err(|_| Failure(None))
    }

    /// A whole number within what its type can hold; the visitor gets 0 when there is none.
    fn whole<T>(
        self,
        min: i64,
        max: u64,
        visit: impl FnOnce(Whole) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self.node.value {
            Value::Unsigned(value) if value <= max => self.settle(visit(Whole::Unsigned(value))),
            Value::Negative(value) if value >= min => self.settle(visit(Whole::Negative(value))),
            Value::Unsigned(_) => self.not_within(&format!("a whole number up to {max}"), visit),
            Value::Negative(_) => self.not_within(&format!("a whole number from {min}"), visit),
            _ if min == 0 => self.stand_in("a whole number from 0", || visit(Whole::Unsigned(0))),
            _ => self.stand_in("a whole number", || visit(Whole::Unsigned(0))),
        }
    }

    /// Records a whole number that its type cannot hold, and goes on with 0.
    fn not_within<T>(
        self,
        expected: &str,
        visit: impl FnOnce(Whole) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let fault = Fault::wrong_type(&self.node.value, expected);
        self.record(Fault { code: code::OUT_OF_RANGE, ..fault });
        visit(Whole::Unsigned(0)).map_err(|_| Failure(None))
    }
}

/// A whole number as the tree holds it.
enum Whole {
    Unsigned(u64),
    Negative(i64),
}

/// Whole numbers of each size differ in their limits only.
macro_rules! whole_numbers {
    ($($method:ident: $min:expr, $max:expr;)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            self.whole($min, $max, |whole| match whole {
                Whole::Unsigned(value) => visitor.visit_u64(value),
                Whole::Negative(value) => visitor.visit_i64(value),
            })
        })+
    };
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.settle(match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Unsigned(value) => visitor.visit_u64(*value),
            Value::Negative(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(Items::new(self, items)),
            Value::Map(entries) => visitor.visit_map(Entries::new(self, entries, None)),
        })
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.node.value {
            Value::Bool(value) => self.settle(visitor.visit_bool(value)),
            _ => self.stand_in(BOOL, || visitor.visit_bool(false)),
        }
    }

    whole_numbers! {
        deserialize_i8: i8::MIN.into(), i8::MAX as u64;
        deserialize_i16: i16::MIN.into(), i16::MAX as u64;
        deserialize_i32: i32::MIN.into(), i32::MAX as u64;
        deserialize_i64: i64::MIN, i64::MAX as u64;
        deserialize_u8: 0, u8::MAX.into();
        deserialize_u16: 0, u16::MAX.into();
        deserialize_u32: 0, u32::MAX.into();
        deserialize_u64: 0, u64::MAX;
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.node.value {
            Value::Unsigned(value) => self.settle(visitor.visit_u64(value)),
            Value::Negative(value) => self.settle(visitor.visit_i64(value)),
            Value::Float(value) => self.settle(visitor.visit_f64(value)),
            _ => self.stand_in("a number", || visitor.visit_f64(0.0)),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::Text(text) => self.settle(visitor.visit_str(text)),
            _ => self.stand_in(TEXT, || visitor.visit_str("")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.node.value {
            Value::Null => self.settle(visitor.visit_none()),
            _ => self.settle(visitor.visit_some(self)),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.node.value {
            Value::Null => self.settle(visitor.visit_unit()),
            _ => self.stand_in("null", || visitor.visit_unit()),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.settle(visitor.visit_newtype_struct(self))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::List(items) => self.settle(visitor.visit_seq(Items::new(self, items))),
            _ => self.stand_in("a list", || {
                visitor.visit_seq(SeqDeserializer::new(iter::empty::<()>()))
            }),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::Map(entries) => {
                self.settle(visitor.visit_map(Entries::new(self, entries, None)))
            }
            _ => self.stand_in("an object", || {
                visitor.visit_map(MapDeserializer::new(iter::empty::<((), ())>()))
            }),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::Map(entries) => {
                self.settle(visitor.visit_map(Entries::new(self, entries, Some(fields))))
            }
            _ => self.stand_in("an object", || {
                visitor.visit_map(MapDeserializer::new(iter::empty::<((), ())>()))
            }),
        }
    }

    /// Enums are words; one that is unknown is recorded and the first known one stands in.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let first = known.first().copied().unwrap_or_default();
        match &self.node.value {
            Value::Text(text) if known.contains(&text.as_ref()) => {
                self.settle(visitor.visit_enum(word(text)))
            }
            Value::Text(text) => {
                self.record(Fault::unknown_value(text, known));
                visitor.visit_enum(word(first)).map_err(|_| Failure(None))
            }
            _ => {
                let expected = format!("one of {}", known.join(", "));
                self.stand_in(&expected, || visitor.visit_enum(word(first)))
            }
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.settle(visitor.visit_unit())
    }
}

/// A word as serde wants it: the name of a field or of an enum's variant.
fn word(text: &str) -> StrDeserializer<'_, Failure> {
    text.into_deserializer()
}

/// The items of a list.
struct Items<'r> {
    list: Reader<'r>,
    items: iter::Enumerate<Iter<'r, Node<'r>>>,
}

impl<'r> Items<'r> {
    fn new(list: Reader<'r>, items: &'r [Node<'r>]) -> Self {
        Self { list, items: items.iter().enumerate() }
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Failure> {
        let Some((at, node)) = self.items.next() else { return Ok(None) };
        let path = Path::Item(self.list.path, at);
        let reader = Reader { node, key: None, path: &path, sink: self.list.sink };
        reader.settle(seed.deserialize(reader)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The entries of an object; those of a type with known fields are checked against them.
struct Entries<'r> {
    object: Reader<'r>,
    entries: Iter<'r, Entry<'r>>,
    fields: Option<&'static [&'static str]>,
    current: Option<&'r Entry<'r>>,
}

impl<'r> Entries<'r> {
    fn new(
        object: Reader<'r>,
        entries: &'r [Entry<'r>],
        fields: Option<&'static [&'static str]>,
    ) -> Self {
        Self { object, entries: entries.iter(), fields, current: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Failure> {
        let Reader { path, sink, .. } = self.object;
        for entry in self.entries.by_ref() {
            let path = Path::Key(path, &entry.key);
            if let Some(fields) = self.fields
                && !fields.contains(&entry.key.as_ref())
            {
                sink.record(Fault::unknown_field(&entry.key, fields), entry.key_span, &path);
                if sink.is_full() {
                    return Err(Failure(None));
                }
                continue;
            }
            self.current = Some(entry);
            return seed.deserialize(word(&entry.key)).map(Some).map_err(|failure| {
                if let Some(fault) = failure.0 {
                    sink.record(*fault, entry.key_span, &path);
                }
                Failure(None)
            });
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Failure> {
        let Entry { key, key_span, node } =
            self.current.expect("serde asks for a value only after its key");
        let path = Path::Key(self.object.path, key);
        let sink = self.object.sink;
        let reader = Reader { node, key: Some(*key_span), path: &path, sink };
        reader.settle(seed.deserialize(reader))
    }
}
