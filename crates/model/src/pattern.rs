//! Patterns of paths, as in `.gitignore`: `*` and `?` stay within a name, `**` spans folders, a pattern without
//! `/` means a file of that name anywhere. There is no negation.

/// Whether a pattern means a path, given as its names.
pub fn matches(pattern: &str, parts: &[&str]) -> bool {
    let pattern = pattern.trim();
    let whole = pattern.trim_start_matches("./").trim_start_matches('/');
    // A folder stands for all that is in it.
    let whole =
        whole.strip_suffix('/').map_or_else(|| whole.to_owned(), |folder| format!("{folder}/**"));
    let names: Vec<&str> = whole.split('/').filter(|name| !name.is_empty()).collect();
    match names.as_slice() {
        [] => false,
        [name] if !pattern.contains('/') => {
            parts.last().is_some_and(|last| *name == "**" || is_name(name, last))
        }
        names => is_path(names, parts),
    }
}

fn is_path(names: &[&str], parts: &[&str]) -> bool {
    // For each end of the parts: whether the names so far can stand for them. Every pattern takes
    // the same time, whatever its stars.
    let mut ends = vec![false; parts.len() + 1];
    ends[0] = true;
    for (at, name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        let mut next = vec![false; parts.len() + 1];
        for end in 0..=parts.len() {
            next[end] = match (*name, end) {
                // At the end it stands for what is inside, and not for the folder itself.
                ("**", _) if is_last => ends[..end].contains(&true),
                ("**", _) => ends[..=end].contains(&true),
                (_, 0) => false,
                _ => ends[end - 1] && is_name(name, parts[end - 1]),
            };
        }
        ends = next;
    }
    ends[parts.len()]
}

/// Whether a name fits a pattern of letters, `*` and `?`.
pub fn is_name(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut place) = (0, 0);
    // Where to go on if the last `*` has to stand for one letter more.
    let mut again: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some('*') => {
                again = Some((at, place));
                at += 1;
            }
            Some(&char) if char == '?' || char == name[place] => {
                at += 1;
                place += 1;
            }
            _ => match again {
                Some((star, start)) => {
                    again = Some((star, start + 1));
                    at = star + 1;
                    place = start + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&char| char == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        let check = |pattern: &str, path: &str, want: bool| {
            let parts: Vec<&str> = path.split('/').collect();
            assert_eq!(matches(pattern, &parts), want, "{pattern} for {path}");
        };
        check("*.md", "README.md", true);
        check("*.md", "a/b/c.md", true);
        check("*.md", "a.md/b.rs", false);
        check("*.md", "a.mdx", false);
        check("docs/**", "docs/a", true);
        check("docs/**", "docs/a/b/c.txt", true);
        check("docs/**", "docs", false);
        check("docs/**", "x/docs/a", false);
        check("docs/", "docs/a/b", true);
        check("/docs/**", "docs/a", true);
        check("docs/*", "docs/a", true);
        check("docs/*", "docs/a/b", false);
        check("**/docs/**", "x/y/docs/a", true);
        check("**/docs/**", "docs/a", true);
        check("docs/**/x.txt", "docs/x.txt", true);
        check("docs/**/x.txt", "docs/a/b/x.txt", true);
        check("docs/**/x.txt", "docs/a/b/y.txt", false);
        check("/*.md", "a.md", true);
        check("/*.md", "b/a.md", false);
        check("**", "a/b", true);
        check("design?.txt", "design1.txt", true);
        check("design?.txt", "design12.txt", false);
        check("*a*b*c", "xxaxxbxxc", true);
        check("*a*b*c", "xxaxxbxx", false);
        check("", "a", false);
        check("/", "a", false);
    }
}
