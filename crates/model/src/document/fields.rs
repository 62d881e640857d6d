//! Small field types that several documents share.

use crate::time::{BadTime, Stamp};
use jiff::civil::Date;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _, Unexpected};
use serde::{Deserialize, Serialize, Serializer};
use std::{borrow::Cow, fmt, str::FromStr};

/// A version that is always the number `N`; a file of another one is refused at this field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version<const N: u64>;

impl<const N: u64> Serialize for Version<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(N)
    }
}

impl<'de, const N: u64> Deserialize<'de> for Version<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = u64::deserialize(deserializer)?;
        if found == N {
            return Ok(Self);
        }
        Err(D::Error::invalid_value(Unexpected::Unsigned(found), &N.to_string().as_str()))
    }
}

impl<const N: u64> JsonSchema for Version<N> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Version{N}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": N })
    }
}

/// The version of the memory's files, which is always the text `1.0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextVersion;

impl TextVersion {
    const TEXT: &str = "1.0";
}

impl Serialize for TextVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::TEXT)
    }
}

impl<'de> Deserialize<'de> for TextVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = String::deserialize(deserializer)?;
        if found == Self::TEXT {
            return Ok(Self);
        }
        Err(D::Error::invalid_value(Unexpected::Str(&found), &"\"1.0\""))
    }
}

impl JsonSchema for TextVersion {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TextVersion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": Self::TEXT })
    }
}

/// A day (`2024-01-15`) or a time, as the knowledge file dates its decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DateOrTime {
    Date(Date),
    Time(Stamp),
}

impl FromStr for DateOrTime {
    type Err = BadTime;

    fn from_str(text: &str) -> Result<Self, BadTime> {
        // A date's own parser would take a time too and drop its clock.
        if text.len() == 10
            && let Ok(date) = text.parse()
        {
            return Ok(Self::Date(date));
        }
        text.parse().map(Self::Time)
    }
}

impl TryFrom<String> for DateOrTime {
    type Error = BadTime;

    fn try_from(text: String) -> Result<Self, BadTime> {
        text.parse()
    }
}

impl From<DateOrTime> for String {
    fn from(value: DateOrTime) -> Self {
        value.to_string()
    }
}

impl fmt::Display for DateOrTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Date(date) => write!(f, "{date}"),
            Self::Time(stamp) => write!(f, "{stamp}"),
        }
    }
}

impl JsonSchema for DateOrTime {
    fn schema_name() -> Cow<'static, str> {
        "DateOrTime".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a day, as in 2024-01-15, or a time",
            "anyOf": [
                { "type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$" },
                generator.subschema_for::<Stamp>(),
            ]
        })
    }
}

/// Reads a field that may be absent, but is not null when it is there.
pub(super) fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Writes a float that is a whole number as people do: `240`, not `240.0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(super) fn plain_number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    /// Every whole number up to here is exact in a float.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && (0.0..=EXACT_MAX).contains(value) {
        return serializer.serialize_u64(*value as u64);
    }
    serializer.serialize_f64(*value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused() {
        assert_eq!(serde_json::from_str::<Version<2>>("2").unwrap(), Version);
        let error = serde_json::from_str::<Version<2>>("1").unwrap_err().to_string();
        assert!(error.starts_with("invalid value: integer `1`, expected 2"), "{error}");
        assert_eq!(serde_json::from_str::<TextVersion>("\"1.0\"").unwrap(), TextVersion);
        for bad in ["1.0", "\"1\"", "\"2.0\"", "1"] {
            assert!(serde_json::from_str::<TextVersion>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn days_and_times_are_both_dates() {
        for text in ["2024-01-15", "2024-01-15T10:00:00Z", "2024-01-15T10:00:00"] {
            assert_eq!(text.parse::<DateOrTime>().unwrap().to_string(), text);
        }
        for bad in ["", "2024-02-30", "2024-1-15", "yesterday", "20240115", "2024-01-15T"] {
            assert!(bad.parse::<DateOrTime>().is_err(), "{bad:?}");
        }
    }
}
