//! The values of fields that are more than text: durations, amounts, priorities, lists of files.

use super::{
    depends,
    line::{Kind, Origin, Slice},
};
use waypost_model::run::Priority;

/// Reads `90s`, `30m`, `2h`, `1h30m`, `30분` or a plain number of seconds; nothing lasts 0 seconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().filter(|&seconds| seconds > 0);
    }
    let (mut rest, mut total, mut last_unit) = (text, 0_u64, u64::MAX);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let length = after.find(|c: char| c.is_ascii_digit() || c.is_whitespace());
        let (unit, after) = after.split_at(length.unwrap_or(after.len()));
        let unit = unit_seconds(unit).filter(|&unit| unit < last_unit)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(unit)?)?;
        (rest, last_unit) = (after.trim_start(), unit);
    }
    Some(total).filter(|&total| total > 0)
}

fn unit_seconds(unit: &str) -> Option<u64> {
    match unit.to_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" | "초" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" | "분" => Some(60),
        "h" | "hr" | "hour" | "hours" | "시간" => Some(3_600),
        _ => None,
    }
}

/// Reads `$2.50`, `2.5 USD` or `2.5` as cents.
pub(super) fn cents(text: &str) -> Option<u64> {
    let text = text.trim();
    let text = text.strip_prefix('$').unwrap_or(text).trim_start();
    let unit = text.len().saturating_sub(3);
    let text = match text.get(unit..) {
        Some(end) if end.eq_ignore_ascii_case("usd") => text[..unit].trim_end(),
        _ => text,
    };
    let (dollars, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(dollars) || !is_number(fraction) || fraction.len() > 2 {
        return None;
    }
    let hundredths: u64 = format!("{fraction:0<2}").parse().ok()?;
    dollars.parse::<u64>().ok()?.checked_mul(100)?.checked_add(hundredths)
}

/// Reads a priority by its first word; symbols in front of it only decorate.
pub(super) fn priority(text: &str) -> Option<Priority> {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word = text.split(|c: char| !c.is_alphanumeric()).next()?.to_lowercase();
    match word.as_str() {
        "critical" | "긴급" | "p0" => Some(Priority::Critical),
        "high" | "높음" | "p1" => Some(Priority::High),
        "normal" | "medium" | "보통" | "p2" => Some(Priority::Normal),
        "low" | "낮음" | "p3" => Some(Priority::Low),
        _ => None,
    }
}

/// Whether a task may run beside its neighbours: yes, unless the value denies it.
pub(super) fn parallel(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    let first = text.split(|c: char| c.is_whitespace() || ",.(;".contains(c)).next();
    let denies = ["no", "false", "none", "n/a", "-", "–", "—", "x", "❌", "n", "없음", "아니오"];
    !(text.starts_with("불가") || first.is_some_and(|first| denies.contains(&first)))
}

/// The paths of a value: inline code is one path, other text is divided at commas and spaces.
///
/// Remarks in brackets and words that only join are left out. In an item of a list the path comes
/// first, and whatever follows it describes it.
pub(super) fn files(slice: &Slice<'_>, source: &str) -> Vec<String> {
    if depends::says_none(slice) {
        return Vec::new();
    }
    if slice.codes().next().is_none() {
        let count = if slice.origin == Origin::Item { 1 } else { usize::MAX };
        return plain_files(slice.typed(source)).into_iter().take(count).collect();
    }
    let mut found = Vec::new();
    for (kind, text) in slice.line.stretches(slice.range.clone()) {
        match (kind, slice.origin) {
            (Kind::Code, _) => found.push(text.trim().to_owned()),
            (Kind::Plain, Origin::Inline | Origin::Cell) => found.extend(plain_files(text)),
            (Kind::Plain, Origin::Item | Origin::Block) => {}
        }
    }
    found
}

fn plain_files(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_remark = false;
    for word in text.split(|c: char| c.is_whitespace() || ",，、".contains(c)) {
        // A route group such as `(auth)/page.tsx` is a path, `(new)` is a remark.
        let opens = word.starts_with('(') && !word.contains(")/");
        in_remark |= opens;
        let path = word.trim_end_matches([':', ';']);
        let joins = ["", "and", "&", "+", "-", "및", "와", "과", "그리고"].contains(&path);
        if !in_remark && !joins {
            found.push(path.to_owned());
        }
        in_remark &= !word.ends_with(')');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_either_language() {
        let table = [
            ("90s", Some(90)),
            ("30m", Some(1_800)),
            ("2h", Some(7_200)),
            ("1h30m", Some(5_400)),
            ("1h 30m", Some(5_400)),
            ("30분", Some(1_800)),
            ("2 시간", Some(7_200)),
            ("45", Some(45)),
            ("10 minutes", Some(600)),
            ("", None),
            ("0", None),
            ("0s", None),
            ("30x", None),
            ("m", None),
            ("30m1h", None),
            ("1.5h", None),
            ("-5", None),
            ("99999999999999999999", None),
            ("9999999999999999999h", None),
        ];
        for (text, want) in table {
            assert_eq!(seconds(text), want, "{text:?}");
        }
    }

    #[test]
    fn budgets_are_exact_cents() {
        let table = [
            ("$2.50", Some(250)),
            ("2.5 USD", Some(250)),
            ("2.5", Some(250)),
            ("$ 10", Some(1_000)),
            ("0.05usd", Some(5)),
            ("", None),
            ("$", None),
            ("-1", None),
            ("2.505", None),
            ("2.", None),
            (".5", None),
            ("1,000", None),
            ("2 EUR", None),
            ("달러", None),
            ("99999999999999999999", None),
        ];
        for (text, want) in table {
            assert_eq!(cents(text), want, "{text:?}");
        }
    }

    #[test]
    fn priorities_are_words_or_levels() {
        let table = [
            ("critical", Some(Priority::Critical)),
            ("긴급", Some(Priority::Critical)),
            ("P0", Some(Priority::Critical)),
            ("High", Some(Priority::High)),
            ("🔴 높음 (필수)", Some(Priority::High)),
            ("p1", Some(Priority::High)),
            ("medium", Some(Priority::Normal)),
            ("보통", Some(Priority::Normal)),
            ("P2", Some(Priority::Normal)),
            ("low", Some(Priority::Low)),
            ("낮음", Some(Priority::Low)),
            ("P3", Some(Priority::Low)),
            ("P4", None),
            ("soon", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(priority(text), want, "{text:?}");
        }
    }

    #[test]
    fn parallel_is_yes_unless_denied() {
        for yes in ["yes", "가능", "true", "O", "T1.2, T1.3", "✅"] {
            assert!(parallel(yes), "{yes}");
        }
        for no in ["no", "불가", "불가능", "False", "-", "없음", "X", "none (shared file)"] {
            assert!(!parallel(no), "{no}");
        }
    }

    #[test]
    fn paths_are_divided_at_commas_and_spaces() {
        let table: [(&str, &[&str]); 6] = [
            ("src/a.rs, src/b.rs", &["src/a.rs", "src/b.rs"]),
            ("src/a.rs src/__init__.py", &["src/a.rs", "src/__init__.py"]),
            ("src/a.rs (new, big) 및 Makefile", &["src/a.rs", "Makefile"]),
            ("app/(auth)/page.tsx (auth)/x.ts", &["app/(auth)/page.tsx", "(auth)/x.ts"]),
            ("", &[]),
            (" , ", &[]),
        ];
        for (text, want) in table {
            assert_eq!(plain_files(text), want, "{text:?}");
        }
    }
}
