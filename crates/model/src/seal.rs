//! What the user's own folder holds about a project's journal, so that what stands beside the
//! journal need not be believed: which journal it is, how far it went, and the key that gate
//! records are signed with.
//!
//! A record without the right signature is as good as none, and a journal that ends before it went
//! is an older one that was put back. Both hold as far as an agent cannot read and write the
//! user's folder: SECURITY.md says where.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The first line; another format has another number.
const TITLE: &str = "seal 1 of waypost";

/// The largest seal that is written or read: a path and a few numbers.
pub const SEAL_SIZE_MAX: usize = 8 << 10;

/// Begins the line of a record that has its signature.
const SIGNED: &str = "seal ";

/// What is known of one journal outside of its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The folder of the journal.
    pub folder: String,
    pub journal: String,
    /// The number of the last entry that a workflow was looked at with.
    pub head: u64,
    /// What gate records are signed with.
    pub key: [u8; 32],
}

impl Seal {
    /// The name of the file for the journal in `folder`.
    pub fn file_name(folder: &str) -> String {
        hex(&Sha256::digest(folder.as_bytes())[..8])
    }

    /// The seal as text; none if it would not come back as it is.
    pub fn render(&self) -> Option<String> {
        let Self { folder, journal, head, key } = self;
        let text =
            format!("{TITLE}\nfolder {folder}\njournal {journal}\nhead {head}\nkey {}\n", hex(key));
        (text.len() <= SEAL_SIZE_MAX && Self::parse(&text).as_ref() == Some(self)).then_some(text)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        (lines.next()? == TITLE).then_some(())?;
        let mut part = |word: &str| lines.next()?.strip_prefix(word)?.strip_prefix(' ');
        let folder = part("folder")?.to_owned();
        let journal = part("journal")?.to_owned();
        let head = part("head")?.parse().ok()?;
        let key = bytes(part("key")?)?;
        lines.next().is_none().then_some(Self { folder, journal, head, key })
    }

    /// A gate record of a work tree with its signature: a record of another project or tree, or of
    /// another journal, has another one.
    pub fn sign(&self, tree: &str, record: &str) -> String {
        let code = self.code(tree, record).finalize().into_bytes();
        format!("{record}{SIGNED}{}\n", hex(&code))
    }

    /// The record in a text that was signed for a work tree; none if it was not.
    pub fn verify<'t>(&self, tree: &str, text: &'t str) -> Option<&'t str> {
        let (record, signature) = text.strip_suffix('\n')?.rsplit_once(SIGNED)?;
        let signature: [u8; 32] = bytes(signature)?;
        self.code(tree, record).verify_slice(&signature).ok()?;
        Some(record)
    }

    fn code(&self, tree: &str, record: &str) -> Hmac<Sha256> {
        let mut code =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length is one");
        let Self { folder, journal, head, .. } = self;
        code.update(format!("{folder}\n{tree}\n{journal}\n{head}\n").as_bytes());
        code.update(record.as_bytes());
        code
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    (text.len() == 2 * N && text.is_ascii()).then_some(())?;
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal() -> Seal {
        let (folder, journal) = ("/p/my project/.git/waypost".into(), "0123abcd".into());
        Seal { folder, journal, head: 17, key: [7; 32] }
    }

    #[test]
    fn a_seal_comes_back_as_it_was() {
        let text = seal().render().unwrap();
        assert_eq!(Seal::parse(&text), Some(seal()));
        for cut in 0..text.len() {
            assert_eq!(Seal::parse(&text[..cut]), None, "cut at {cut}");
        }
        assert_eq!(Seal { folder: "/two\nlines".into(), ..seal() }.render(), None);
    }

    #[test]
    fn only_what_was_signed_for_this_journal_and_tree_is_believed() {
        let record = "waypost gate record 4\nphase PR\nsum 0\n";
        let text = seal().sign("main", record);
        assert_eq!(seal().verify("main", &text), Some(record));
        assert_eq!(seal().verify("other", &text), None);
        assert_eq!(seal().verify("main", record), None);
        assert_eq!(seal().verify("main", &text.replace("PR", "DONE")), None);
        let others = [
            Seal { folder: "/q/.git/waypost".into(), ..seal() },
            Seal { journal: "4567".into(), ..seal() },
            Seal { head: 18, ..seal() },
            Seal { key: [8; 32], ..seal() },
        ];
        for other in others {
            assert_eq!(other.verify("main", &text), None, "{other:?}");
        }
    }
}
