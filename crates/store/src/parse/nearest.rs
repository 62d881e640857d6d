//! The known word that was probably meant.

/// The known word closest to what was written, if one is close enough to be meant.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written: Vec<char> = written.chars().flat_map(char::to_lowercase).collect();
    // A longer text is no misspelling of any known word, and would be slow to compare.
    if written.len() > WORD_LENGTH_MAX {
        return None;
    }
    let rated = known.iter().map(|word| (distance(&written, word), *word));
    let (edits, word) = rated.min_by_key(|(edits, _)| *edits)?;
    let allowed = (written.len().max(word.chars().count()) / 3).max(1);
    (edits <= allowed).then_some(word)
}

/// The longest text that is compared with known words.
const WORD_LENGTH_MAX: usize = 64;

/// How many letters were dropped, added, changed or swapped with a neighbour.
pub(crate) fn distance(written: &[char], word: &str) -> usize {
    let word: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    let (mut older, mut old) = (Vec::new(), (0..=word.len()).collect::<Vec<_>>());
    for (row, letter) in written.iter().enumerate() {
        let mut new = vec![row + 1];
        for (column, other) in word.iter().enumerate() {
            let change = old[column] + usize::from(letter != other);
            let mut best = change.min(old[column + 1] + 1).min(new[column] + 1);
            let is_swap =
                row > 0 && column > 0 && written[row - 1] == *other && *letter == word[column - 1];
            if is_swap {
                let before: &Vec<usize> = &older;
                best = best.min(before[column - 1] + 1);
            }
            new.push(best);
        }
        older = std::mem::replace(&mut old, new);
    }
    old[word.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_close_words_are_suggested() {
        let known = ["phase", "strategy", "feature", "started_at", "gates", "checkpoints"];
        let table = [
            ("stratgey", Some("strategy")),
            ("Strategy", Some("strategy")),
            ("startedAt", Some("started_at")),
            ("gate", Some("gates")),
            ("checkpoint", Some("checkpoints")),
            ("fase", None),
            ("phaes", Some("phase")),
            ("notes", None),
            ("", None),
            ("x", None),
        ];
        for (written, want) in table {
            assert_eq!(nearest(written, &known), want, "{written}");
        }
        assert_eq!(nearest("phase", &[]), None);
        assert_eq!(nearest(&"p".repeat(1_000_000), &known), None);
    }

    #[test]
    fn edits_are_counted() {
        let count = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), b);
        let table = [
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("acb", "abc", 1),
            ("ab", "abc", 1),
            ("한글", "한국", 1),
        ];
        for (a, b, want) in table {
            assert_eq!(count(a, b), want, "{a} {b}");
        }
    }
}
