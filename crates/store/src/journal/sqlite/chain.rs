//! Checksums that chain each entry of a stream to the one before it.
//!
//! They find damage and careless tampering. They do not stop a person who may write the file and
//! computes them again: for that, a sum would have to be kept elsewhere.

use crate::journal::entry::EventRef;
use sha2::{Digest as _, Sha256};
use waypost_model::id::StreamName;

/// Half of a SHA-256: an accident cannot match it, and it keeps rows short.
pub(super) type Sum = [u8; 16];

/// What stands before a stream's first entry.
pub(super) fn start(stream: &StreamName) -> Sum {
    let mut hasher = Sha256::new();
    hasher.update(b"waypost stream ");
    hasher.update(stream.as_str());
    half(hasher)
}

/// The sum of `entry`, which follows the entry with the sum `previous`.
pub(super) fn link(previous: &Sum, entry: &EventRef<'_>) -> Sum {
    let mut hasher = Sha256::new();
    hasher.update(previous);
    hasher.update(entry.seq.to_le_bytes());
    hasher.update(entry.stream_seq.to_le_bytes());
    hasher.update(entry.at.millis().to_le_bytes());
    hasher.update(entry.format.to_le_bytes());
    for text in [entry.actor, entry.kind, entry.body] {
        // With its length in front, text cannot move from one field to the next unnoticed.
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    half(hasher)
}

fn half(hasher: Sha256) -> Sum {
    let whole = hasher.finalize();
    whole[..16].try_into().expect("a SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use waypost_model::time::Time;

    #[test]
    fn every_field_counts() {
        let entry = EventRef {
            seq: 9,
            stream_seq: 3,
            at: Time::from_millis(5),
            actor: "waypost",
            format: 1,
            kind: "started",
            body: "{}",
        };
        let start = start(&"run".parse().unwrap());
        let other_start = super::start(&"inbox".parse().unwrap());
        let sums = [
            link(&start, &entry),
            link(&other_start, &entry),
            link(&start, &EventRef { seq: 10, ..entry }),
            link(&start, &EventRef { stream_seq: 4, ..entry }),
            link(&start, &EventRef { at: Time::from_millis(6), ..entry }),
            link(&start, &EventRef { actor: "waypost-", ..entry }),
            link(&start, &EventRef { format: 2, ..entry }),
            link(&start, &EventRef { kind: "starte", body: "d{}", ..entry }),
            link(&start, &EventRef { body: "{ }", ..entry }),
        ];
        for (index, sum) in sums.iter().enumerate() {
            assert!(!sums[..index].contains(sum), "case {index} is like an earlier one");
        }
    }
}
