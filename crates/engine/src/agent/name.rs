//! Names for conversations.

use std::hash::{BuildHasher as _, RandomState};

/// A name that no conversation has: a random UUID.
pub(crate) fn new_uuid() -> String {
    let part = || u128::from(RandomState::new().hash_one(std::process::id()));
    let random = part() << 64 | part();
    // Version 4, variant 1.
    let id = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let digits = format!("{id:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_conversation_has_a_name_of_its_own_in_the_form_of_a_uuid() {
        let (one, other) = (new_uuid(), new_uuid());
        assert_ne!(one, other);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(one.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&one.as_bytes()[19]), "{one}");
    }
}
