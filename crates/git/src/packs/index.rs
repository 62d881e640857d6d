//! Which objects a pack has, by its index.

/// What an index of version 2 begins with.
const START: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];

/// Numbers of objects by the first byte of their names.
const COUNTS: usize = 256 * 4;

/// The names of a pack's objects; none if this is no index that we know.
pub(super) fn objects(index: &[u8], oid_length: usize) -> Option<Vec<String>> {
    let rest = index.strip_prefix(&START)?;
    let (counts, rest) = rest.split_at_checked(COUNTS)?;
    let count = u32::from_be_bytes(counts[COUNTS - 4..].try_into().ok()?);
    let names = rest.get(..usize::try_from(count).ok()?.checked_mul(oid_length)?)?;
    let hex = |name: &[u8]| name.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(names.chunks_exact(oid_length).map(hex).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_what_is_cut_short_is_not() {
        let mut index = START.to_vec();
        let counts = [vec![0; 17], vec![1; 3], vec![2; 236]].concat();
        index.extend(counts.iter().flat_map(|count: &u32| count.to_be_bytes()));
        index.extend([[0x11; 20], [0x14; 20]].concat());
        assert_eq!(objects(&index, 20), Some(vec!["11".repeat(20), "14".repeat(20)]));
        for length in 0..index.len() {
            assert_eq!(objects(&index[..length], 20), None, "{length}");
        }
    }
}
