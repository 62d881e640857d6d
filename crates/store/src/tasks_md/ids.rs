//! The spelling of task ids, narrower than what the model stores.
//!
//! `T1.3`, `T0.5.1`, `T012`, and with a phase in front `P2-T1.1`, `P2-R1-T1`, `P2-S1-V`; a small
//! letter at the end (`T012a`) is how people squeeze a task in without renumbering. The narrow
//! spelling is what lets a word that is almost an id be reported rather than passed over.

use waypost_model::id::TaskId;

/// What an id looks like, for messages.
pub(super) const ID_FORMS: &str = "an id such as T1.3, T012, P2-T1.1 or P2-S1-V";

/// Two ids of the longest kind and the dash between them.
const RANGE_LENGTH_MAX: usize = 129;

/// What a word means where an id can stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Id(TaskId),
    /// Clearly meant as an id, as `T1..3` or `T1.`.
    Malformed,
    /// `P2`: a phase by its letter.
    Phase,
    /// `P2-R1`: names what several tasks have in common, as headings do.
    Group,
    Other,
}

/// How many bytes at the start of `text` can belong to an id.
pub(super) fn word_length(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Says what `word` is.
pub(super) fn classify(word: &str) -> Word {
    if is_id(word) {
        return word.parse().map_or(Word::Malformed, Word::Id);
    }
    if is_lettered(word, 'P') {
        return Word::Phase;
    }
    if is_group(word) {
        return Word::Group;
    }
    let small = word.starts_with(['t', 'p']) && word.contains(['.', '-']);
    let capitals = if small { word.to_ascii_uppercase() } else { word.to_owned() };
    if (small && is_id(&capitals)) || looks_meant(word) { Word::Malformed } else { Word::Other }
}

/// The phase that an id names: the number behind its `P`, or the first one of a dotted number.
///
/// `T012` names none. The outer `None` is a number that no phase can have.
pub(super) fn phase_of(id: &TaskId) -> Option<Option<u32>> {
    let text = id.as_str();
    let digits = match text.strip_prefix('P') {
        Some(rest) => rest.split('-').next(),
        None => text[1..].split_once('.').map(|(first, _)| first),
    };
    digits.map_or(Some(None), |digits| digits.parse().ok().map(Some))
}

/// Everything of an id before its last number, that number, and what stands behind it.
pub(super) fn stem(id: &TaskId) -> Option<(&str, u64)> {
    let text = id.as_str().trim_end_matches(|c: char| c.is_ascii_lowercase());
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, number) = text.split_at(text.len() - digits);
    Some((stem, number.parse().ok()?))
}

/// Splits `T1.1-T1.3` into its two ends.
pub(super) fn split_range(word: &str) -> Option<(TaskId, TaskId)> {
    // Trying every dash of a word without a bound would be quadratic in its length.
    if word.len() > RANGE_LENGTH_MAX {
        return None;
    }
    word.match_indices('-').find_map(|(at, _)| {
        let ends = (classify(&word[..at]), classify(&word[at + 1..]));
        if let (Word::Id(from), Word::Id(to)) = ends { Some((from, to)) } else { None }
    })
}

fn is_id(word: &str) -> bool {
    match word.rsplit_once('-') {
        None => is_numbered_task(word),
        Some((group, last)) => {
            let mut parts = group.split('-');
            parts.next().is_some_and(|phase| is_lettered(phase, 'P'))
                && parts.all(is_kind)
                && (is_numbered_task(last) || last == "V" || is_lettered(last, 'V'))
        }
    }
}

/// `T1`, `T1.2`, `T1.2.3`, `T12a`.
fn is_numbered_task(part: &str) -> bool {
    let Some(rest) = part.strip_prefix('T') else { return false };
    let rest = rest.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(rest);
    rest.split('.').all(is_digits)
}

/// `R1`, `S12`: a capital letter and a number.
fn is_kind(part: &str) -> bool {
    part.strip_prefix(|c: char| c.is_ascii_uppercase()).is_some_and(is_digits)
}

fn is_lettered(part: &str, letter: char) -> bool {
    part.strip_prefix(letter).is_some_and(is_digits)
}

fn is_group(word: &str) -> bool {
    let mut parts = word.split('-');
    parts.next().is_some_and(|phase| is_lettered(phase, 'P')) && parts.all(is_kind)
}

/// `T` and a digit, or `P`, a number and `-`: nothing else in a task list starts like this.
fn looks_meant(word: &str) -> bool {
    let after = |letter| word.strip_prefix(letter);
    let starts_with_digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    after('T').is_some_and(starts_with_digit)
        || after('P').is_some_and(|rest| {
            starts_with_digit(rest)
                && rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('-')
        })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TaskId {
        text.parse().unwrap()
    }

    #[test]
    fn words_are_told_apart() {
        for good in ["T1.3", "T0.5.1", "T012", "T012a", "P2-T1.1", "P2-R1-T1", "P2-S1-T2"] {
            assert_eq!(classify(good), Word::Id(id(good)));
        }
        for good in ["P2-S1-V", "P2-V1", "P10-T3"] {
            assert_eq!(classify(good), Word::Id(id(good)));
        }
        for bad in ["T1.", "T1..3", "T1_3", "T1-x", "t1.3", "P2-", "P2--T1", "p2-t1", "T1.3-"] {
            assert_eq!(classify(bad), Word::Malformed, "{bad}");
        }
        for other in ["", "T", "Test", "TXXX", "P2P", "t3", "1.3", "US1", "t-shirt", "-", "V"] {
            assert_eq!(classify(other), Word::Other, "{other}");
        }
        assert_eq!(classify("P2"), Word::Phase);
        assert_eq!(classify("P2-R1"), Word::Group);
        assert_eq!(classify(&format!("T{}", "1".repeat(80))), Word::Malformed);
    }

    #[test]
    fn the_phase_is_the_first_number_of_an_id_that_has_one() {
        let table = [
            ("T1.3", Some(Some(1))),
            ("T0.5.1", Some(Some(0))),
            ("T012", Some(None)),
            ("P2-T1.1", Some(Some(2))),
            ("P2-S1-V", Some(Some(2))),
            ("T99999999999.1", None),
        ];
        for (text, want) in table {
            assert_eq!(phase_of(&id(text)), want, "{text}");
        }
    }

    #[test]
    fn a_range_has_two_ids() {
        assert_eq!(split_range("T1.1-T1.3"), Some((id("T1.1"), id("T1.3"))));
        let long = split_range("P2-R1-T1-P2-R1-T3");
        assert_eq!(long, Some((id("P2-R1-T1"), id("P2-R1-T3"))));
        assert_eq!(split_range("T1.1-3"), None);
        assert_eq!(stem(&id("P2-R1-T12")), Some(("P2-R1-T", 12)));
        assert_eq!(stem(&id("T012a")), Some(("T", 12)));
        assert_eq!(stem(&id("P2-S1-V")), None);
    }
}
