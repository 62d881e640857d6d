//! The hashes by which contents are named on disk: SHA-256, and BLAKE3 for what is hashed whole after
//! every command, which takes a quarter of the time. MD5 only where a format of others says so.

use md5::Md5;
use sha2::{Digest as _, Sha256};
use std::{fmt::Write as _, os::unix::ffi::OsStrExt as _, path::Path};
use waypost_model::document::ProjectHash;

/// The SHA-256 of `bytes` as 64 lowercase hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
        hex
    })
}

/// The BLAKE3 of `bytes` as 64 lowercase hexadecimal digits: names renderings of windows.
pub fn blake3_hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().as_str().to_owned()
}

/// The name of a project in the files of sessions: the first 8 digits of the MD5 of its path.
pub fn project_hash(root: &Path) -> ProjectHash {
    let digest = Md5::digest(root.as_os_str().as_bytes());
    let hex = digest.iter().take(4).fold(String::with_capacity(8), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
        hex
    });
    hex.parse().expect("four bytes are eight digits")
}

/// The first 16 digits: enough to name a file after something, not to prove anything.
pub(crate) fn short_hex(bytes: &[u8]) -> String {
    shortened(&sha256_hex(bytes))
}

/// The same of a hash that is known.
pub(crate) fn shortened(hex: &str) -> String {
    hex.chars().take(16).collect()
}

/// Whether this is the short name of these bytes, by either hash: earlier versions used the other one.
pub(crate) fn is_shortened(bytes: &[u8], name: &str) -> bool {
    shortened(&blake3_hex(bytes)) == name || short_hex(bytes) == name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), abc);
        assert_eq!(short_hex(b"abc"), "ba7816bf8f01cfea");
        let abc = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
        assert_eq!(blake3_hex(b"abc"), abc);
        assert_eq!(project_hash(Path::new("abc")).as_str(), "90015098");
    }
}
