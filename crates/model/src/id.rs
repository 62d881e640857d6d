//! Typed ids: each cannot exist unless it is well formed.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};

/// The longest id of any kind; ids end up in file names, branch names and terminal columns.
pub(crate) const ID_LENGTH_MAX: usize = 64;

/// A text that is not an id of the kind that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {kind}: expected {expected}")]
pub struct BadId {
    pub kind: &'static str,
    pub text: String,
    pub expected: &'static str,
}

/// Declares an id type: its name in messages, its pattern for schemas, and its check. Ids are passed
/// around a lot, so a copy shares its text.
///
/// The module that uses it imports `BadId`, `ID_LENGTH_MAX`, and what the ids of this one import.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $expected:literal, $pattern:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        // By hand, because what serde derives with `into` copies the id first.
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;

            fn try_from(text: String) -> Result<Self, BadId> {
                let check: fn(&str) -> bool = $check;
                if text.len() <= ID_LENGTH_MAX && check(&text) {
                    Ok(Self(text.into()))
                } else {
                    Err(BadId { kind: $kind, text, expected: $expected })
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.as_str().to_owned()
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "description": $expected })
            }
        }
    };
}
pub(crate) use text_id;

text_id!(
    /// Names one task of a run, as TASKS.md spells it: `T1.3`, `T012`, `P2-S1-V`.
    TaskId,
    "a task id",
    "a capital letter, then letters, digits, `.` and `-`, with at least one digit, as in T1.3",
    r"^[A-Z][A-Za-z0-9]*([.-][A-Za-z0-9]+)*$",
    |text| text.starts_with(|c: char| c.is_ascii_uppercase())
        && is_words(text, &['.', '-'])
        && text.bytes().any(|byte| byte.is_ascii_digit())
);

impl TaskId {
    /// An id whose text was one before: it is not looked at again.
    pub(crate) fn known(text: &str) -> Self {
        Self(text.into())
    }
}

text_id!(
    /// Names one checkpoint of a workflow, as in `cp-1`.
    CheckpointId,
    "a checkpoint id",
    "letters and digits joined by `.`, `-` or `_`, as in cp-1",
    r"^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$",
    |text| is_words(text, &['.', '-', '_'])
);

text_id!(
    /// Names one entry of the inbox: `q` and a number that is never used again.
    EntryId,
    "an inbox id",
    "q and a number, as in q3",
    r"^q[1-9][0-9]*$",
    |text| text.strip_prefix('q').is_some_and(is_counted)
);

text_id!(
    /// Names one stream of the journal: a kind and, where there can be several, which one.
    StreamName,
    "a stream name",
    "a lowercase kind, optionally followed by `:` and a name",
    r"^[a-z]+(:.+)?$",
    |text| {
        let (kind, name) = text.split_once(':').unwrap_or((text, "-"));
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase()) && !name.is_empty()
    }
);

impl StreamName {
    /// The stream of a machine of this kind: of the only one, or of the one with this name.
    pub fn of(kind: &str, instance: Option<&str>) -> Result<Self, BadId> {
        match instance {
            Some(instance) => Self::try_from(format!("{kind}:{instance}")),
            None => kind.parse(),
        }
    }

    /// The kind of the machine that it belongs to.
    pub fn kind(&self) -> &str {
        self.as_str().split_once(':').map_or(self.as_str(), |(kind, _)| kind)
    }

    /// Which machine of its kind it belongs to, where there can be several.
    pub fn instance(&self) -> Option<&str> {
        self.as_str().split_once(':').map(|(_, instance)| instance)
    }
}

/// Whether `text` is one or more runs of ASCII letters and digits joined by single `joints`.
fn is_words(text: &str, joints: &[char]) -> bool {
    text.split(joints)
        .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Whether `text` is a number from 1 without leading zeros.
pub(crate) fn is_counted(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('0')
        && text.len() <= 9
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_ids_are_what_tasks_md_uses() {
        for good in ["T1.3", "T0.5.1", "T012", "P2-T1.1", "P2-R1-T1", "P2-S1-T2", "P2-S1-V"] {
            assert!(good.parse::<TaskId>().is_ok(), "{good}");
        }
        for bad in ["", "t1", "T", "T1.", "T1..2", "T1/2", "T 1", "1T", "--help", "T1\n"] {
            assert!(bad.parse::<TaskId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn inbox_ids_are_counted() {
        assert!("q12".parse::<EntryId>().is_ok());
        for bad in ["q", "q0", "q01", "12", "q-1", "q1234567890"] {
            assert!(bad.parse::<EntryId>().is_err(), "{bad:?}");
        }
    }
}
