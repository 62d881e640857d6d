//! Any JSON value: what the documents' open maps hold.
//!
//! Read strictly: no key twice in an object, and no number that would come back as another one.
//! There is no arithmetic here; a value is kept and given back. `path` finds one inside another.

mod path;

pub use path::{BadPath, JsonPath};

use crate::ordered::Ordered;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::{borrow::Cow, fmt};

/// An object whose keys and values only its writer knows.
pub type OpenMap = Ordered<String, Json>;

/// How many items are reserved on a file's word before they have been read.
const RESERVED_MAX: usize = 1_024;

/// Any JSON value, keys in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Self>),
    /// Boxed because a map is several times larger than everything else here.
    Object(Box<OpenMap>),
}

/// A JSON number: a whole one of 64 bits, or a finite float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(Repr);

/// Whole numbers that are not negative are always `Unsigned`, so that equal numbers are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Repr {
    Unsigned(u64),
    Negative(i64),
    Float(f64),
}

impl Number {
    /// A float, unless it is infinite or not a number, which JSON cannot say.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(Repr::Float(value)))
    }

    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            Repr::Unsigned(value) => Some(value),
            Repr::Negative(_) | Repr::Float(_) => None,
        }
    }

    pub fn as_i64(self) -> Option<i64> {
        match self.0 {
            Repr::Unsigned(value) => i64::try_from(value).ok(),
            Repr::Negative(value) => Some(value),
            Repr::Float(_) => None,
        }
    }

    pub fn as_f64(self) -> f64 {
        match self.0 {
            Repr::Unsigned(value) => value as f64,
            Repr::Negative(value) => value as f64,
            Repr::Float(value) => value,
        }
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(Repr::Unsigned(value))
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(u64::try_from(value).map_or(Repr::Negative(value), Repr::Unsigned))
    }
}

impl Json {
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&OpenMap> {
        match self {
            Self::Object(map) => Some(map),
            _ => None,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Number(value.into())
    }
}

impl From<OpenMap> for Json {
    fn from(map: OpenMap) -> Self {
        Self::Object(Box::new(map))
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(Number(Repr::Unsigned(value))) => serializer.serialize_u64(*value),
            Self::Number(Number(Repr::Negative(value))) => serializer.serialize_i64(*value),
            Self::Number(Number(Repr::Float(value))) => serializer.serialize_f64(*value),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(map) => map.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_none<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        Json::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    /// Beyond 64 bits a whole number arrives here already rounded, so all of that size are refused.
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        const EXACT_MAX: f64 = u64::MAX as f64;
        match Number::from_f64(value) {
            Some(number) if value.abs() < EXACT_MAX => Ok(Json::Number(number)),
            _ => Err(E::custom(
                "the number would not be kept exactly: expected one of at most 64 bits, or text",
            )),
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut items = Vec::with_capacity(access.size_hint().unwrap_or(0).min(RESERVED_MAX));
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut map = OpenMap::new();
        while let Some(key) = access.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            map.insert(key, access.next_value()?);
        }
        Ok(map.into())
    }
}

impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Json, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_written_as_they_were_read() {
        for text in [
            "null",
            "true",
            "0",
            "-7",
            "18446744073709551615",
            "-9223372036854775808",
            "0.5",
            "-0.0",
            r#""한글 \"quoted\" \n""#,
            r#"[1,[],{}]"#,
            r#"{"z":1,"a":{"y":null,"b":[false]}}"#,
        ] {
            assert_eq!(serde_json::to_string(&read(text).unwrap()).unwrap(), text);
        }
    }

    #[test]
    fn a_key_that_occurs_twice_is_an_error_at_every_depth() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"x":{"a":1,"b":2,"a":3}}]"#] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with("duplicate key `a`"), "{error}");
        }
    }

    #[test]
    fn a_number_that_would_change_is_an_error() {
        for text in ["18446744073709551616", "-12345678901234567890123", "1e300"] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with("the number would not be kept exactly"), "{error}");
        }
    }

    #[test]
    fn equal_numbers_are_equal() {
        assert_eq!(Number::from(7_i64), Number::from(7_u64));
        assert_eq!(Number::from(-7_i64).as_i64(), Some(-7));
        assert_eq!(Number::from_f64(f64::NAN), None);
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            any::<i64>().prop_map(|value| Json::Number(value.into())),
            any::<u64>().prop_map(|value| Json::Number(value.into())),
            (-1e18..1e18).prop_map(|value| Json::Number(Number::from_f64(value).unwrap())),
            any::<String>().prop_map(Json::String),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            let entries = prop::collection::vec((any::<String>(), inner.clone()), 0..20);
            prop_oneof![
                prop::collection::vec(inner, 0..8).prop_map(Json::Array),
                entries.prop_map(|entries| entries.into_iter().collect::<OpenMap>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_survives_writing_and_reading(value in any_json()) {
            let text = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(read(&text).unwrap(), value);
        }
    }
}
