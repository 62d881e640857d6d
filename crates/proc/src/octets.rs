//! Bytes inside JSON: each byte as the character of the same number.
//!
//! Lossless for anything, and plain to read for what is mostly ASCII, as paths, arguments and the
//! output of programs are.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::Serializer;
use std::borrow::Cow;

fn encode(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => bytes.iter().copied().map(char::from).collect::<String>().into(),
    }
}

fn decode(text: String) -> Result<Vec<u8>, &'static str> {
    if text.is_ascii() {
        return Ok(text.into_bytes());
    }
    let byte = |c: char| u8::try_from(c).map_err(|_| "a character that stands for no byte");
    text.chars().map(byte).collect()
}

fn decoded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
}

pub(crate) mod bytes {
    use super::{Deserializer, Serializer, decoded, encode};

    pub(crate) fn serialize<S: Serializer>(value: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&encode(value))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        decoded(from)
    }
}

pub(crate) mod path {
    use super::{Deserializer, Serializer, decoded, encode};
    use std::{
        ffi::OsString,
        os::unix::ffi::{OsStrExt as _, OsStringExt as _},
        path::{Path, PathBuf},
    };

    pub(crate) fn serialize<S: Serializer>(value: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&encode(value.as_os_str().as_bytes()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        decoded(from).map(OsString::from_vec).map(PathBuf::from)
    }
}

pub(crate) mod words {
    use super::{Deserialize as _, Deserializer, Serializer, decode, encode};
    use serde::de::Error as _;
    use std::{
        ffi::OsString,
        os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    };

    pub(crate) fn serialize<S: Serializer>(value: &[OsString], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(value.iter().map(|word| encode(word.as_bytes())))
    }

    pub(crate) fn deserialize<'de, D>(from: D) -> Result<Vec<OsString>, D::Error>
    where
        D: Deserializer<'de>,
    {
        let words = Vec::<String>::deserialize(from)?;
        let word = |text| decode(text).map(OsString::from_vec).map_err(D::Error::custom);
        words.into_iter().map(word).collect()
    }
}

/// Secret texts, as they are: what carries them is a socket of the user's own.
pub(crate) mod secrets {
    use super::{Deserialize as _, Deserializer, Serializer};
    use waypost_redact::Secret;

    pub(crate) fn serialize<S: Serializer>(value: &[Secret], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(value.iter().map(Secret::expose))
    }

    pub(crate) fn deserialize<'de, D>(from: D) -> Result<Vec<Secret>, D::Error>
    where
        D: Deserializer<'de>,
    {
        Ok(Vec::<String>::deserialize(from)?.into_iter().map(Secret::new).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ascii_stays_readable() {
        assert_eq!(encode(b"error: no such file\n"), "error: no such file\n");
        assert_eq!(encode(b"\xff\0"), "\u{ff}\0");
        assert_eq!(decode("한".into()), Err("a character that stands for no byte"));
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes: Vec<u8>) {
            prop_assert_eq!(decode(encode(&bytes).into_owned()).unwrap(), bytes);
        }
    }
}
