//! What hangs on a word in Korean and Japanese and says little about what is looked for.

/// Endings of Korean nouns, longer ones first.
const KOREAN: [&str; 36] = [
    "으로부터",
    "에서는",
    "에게서",
    "이라는",
    "으로는",
    "에서",
    "에게",
    "까지",
    "부터",
    "처럼",
    "보다",
    "으로",
    "이나",
    "라도",
    "하고",
    "에는",
    "에도",
    "와의",
    "과의",
    "한테",
    "마다",
    "밖에",
    "을",
    "를",
    "이",
    "가",
    "은",
    "는",
    "의",
    "에",
    "로",
    "와",
    "과",
    "도",
    "만",
    "랑",
];

/// A word has at least so many syllables before its ending.
const STEM_MIN: usize = 2;

/// How much a syllable says that may be an ending: a single one may as well be the word's own.
const OF_ENDING: f64 = 0.4;
const OF_LONG_ENDING: f64 = 0.15;

/// How much a pair says in which both characters are hiragana, or one of them is.
const OF_HIRAGANA: f64 = 0.3;
const OF_HALF_HIRAGANA: f64 = 0.5;

/// How much each pair of a run says, between 0 and 1.
pub(super) fn pair_weights(run: &[char]) -> Vec<f64> {
    let stem = stem_length(run);
    let is_kana_only = run.iter().all(|c| is_hiragana(*c));
    let ending = if run.len() - stem > 1 { OF_LONG_ENDING } else { OF_ENDING };
    let weight = |at: usize, pair: &[char]| {
        let hiragana = pair.iter().filter(|c| is_hiragana(**c)).count();
        match hiragana {
            _ if at + 1 >= stem => ending,
            0 => 1.0,
            _ if is_kana_only => 1.0,
            1 => OF_HALF_HIRAGANA,
            _ => OF_HIRAGANA,
        }
    };
    run.windows(2).enumerate().map(|(at, pair)| weight(at, pair)).collect()
}

/// How many characters come before a Korean ending; all of them where there is none.
fn stem_length(run: &[char]) -> usize {
    if !run.iter().all(|c| ('\u{ac00}'..='\u{d7a3}').contains(c)) {
        return run.len();
    }
    let word: String = run.iter().collect();
    let ending = KOREAN.iter().find(|ending| word.ends_with(**ending));
    let stem = run.len() - ending.map_or(0, |ending| ending.chars().count());
    if stem >= STEM_MIN { stem } else { run.len() }
}

fn is_hiragana(c: char) -> bool {
    ('\u{3041}'..='\u{309f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_with_an_ending_say_less() {
        let table: [(&str, &[f64]); 6] = [
            ("인증", &[1.0]),
            ("인증을", &[1.0, OF_ENDING]),
            ("인증에서는", &[1.0, OF_LONG_ENDING, OF_LONG_ENDING, OF_LONG_ENDING]),
            ("도로", &[1.0]),
            ("認証を使う", &[1.0, OF_HALF_HIRAGANA, OF_HALF_HIRAGANA, OF_HALF_HIRAGANA]),
            ("ひらがな", &[1.0, 1.0, 1.0]),
        ];
        for (word, want) in table {
            let run: Vec<char> = word.chars().collect();
            assert_eq!(pair_weights(&run), want, "{word}");
        }
    }
}
