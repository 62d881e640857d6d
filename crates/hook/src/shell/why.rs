//! One sentence for a call that may have met the wall: what it cannot do, and the way out.
//!
//! The kernel says `Read-only file system` or `Permission denied` and nothing else. Whether that is why a
//! command failed cannot be seen from outside, so the sentence says what holds, and is said where it may be
//! the reason: while something is closed, at level C, and after commands that never work behind a wall.

use std::path::Path;
use waypost_model::workflow::Rights;
use waypost_wall::Level;

/// Exit codes by which a shell says that nothing was run.
const NOT_RUN: [u8; 2] = [126, 127];

/// Exit codes by which a shell says which signal has ended a command. 128 is git's own, and npm's are above.
const OF_SIGNALS: std::ops::RangeInclusive<u8> = 129..=192;

/// Programs that do not work behind any wall, and why.
const NEVER: &[(&[&str], &str)] = &[
    (
        &["sudo", "su", "doas", "pkexec"],
        "no command gains rights behind the wall, so sudo and its like do not work; a person can run it",
    ),
    (
        &["docker", "podman", "nerdctl"],
        "containers cannot be reached behind the wall: who talks to their service is root outside of it; a \
         person can run it",
    ),
];

/// Words that put a process where the shell does not wait for it.
const LEAVES: &[&str] = &["nohup", "setsid", "disown", "daemonize"];

/// What stands between words, as far as it matters here.
const BETWEEN: &str = " \t\n;|&()<>\"'`=";

const MAYBE: &str = "if this failed because something cannot be written";

const OPENS: &str = "and `waypost develop status` says what opens them";

const OUTSIDE: &str =
    "behind the wall a command writes the project, /tmp and caches of packages, and nothing else";

const TOP: &str = "at level C of the wall a command cannot make, remove or rename anything in the top folder of \
                   the project or in the git folder; your file tools can do that in the project, and in \
                   folders below it commands can";

const LEFT: &str =
    "what this call may have left running was ended with it; a background call keeps it running";

const GIT_CONFIG: &str = "git's configuration is read-only behind the wall; a person can change it";

/// What is said when a call with this text has ended with this code; nothing where it went well, and where the
/// wall is hardly why it did not. `roots` are the projects.
pub(super) fn told(
    text: &str,
    code: u8,
    level: Level,
    rights: Rights,
    roots: &[&Path],
) -> Option<String> {
    if code == 0 {
        return (level >= Level::B && leaves_processes(text)).then(|| LEFT.to_owned());
    }
    if NOT_RUN.contains(&code) || OF_SIGNALS.contains(&code) {
        return None;
    }
    let words: Vec<&str> = text.split(|c| BETWEEN.contains(c)).collect();
    let is_one_of = |names: &[&str]| names.iter().any(|name| words.contains(name));
    if let Some((_, why)) = NEVER.iter().find(|(names, _)| is_one_of(names)) {
        return Some((*why).to_owned());
    }
    if words.windows(2).any(|pair| pair == ["git", "config"]) {
        return Some(GIT_CONFIG.to_owned());
    }
    if !rights.write {
        return Some(format!("{MAYBE}: writes are closed now, {OPENS}"));
    }
    if !rights.commit {
        return Some(format!("{MAYBE}: commits are closed now, {OPENS}"));
    }
    if words.iter().any(|word| is_outside(word, roots)) {
        return Some(format!("{MAYBE}: {OUTSIDE}"));
    }
    (level == Level::C).then(|| format!("{MAYBE}: {TOP}"))
}

/// Whether a text plainly starts something and does not wait for it.
fn leaves_processes(text: &str) -> bool {
    let text = text.trim_end();
    let ends_so = text.ends_with('&') && !text.ends_with("&&");
    ends_so || text.contains('&') && text.split_whitespace().any(|word| LEAVES.contains(&word))
}

/// Whether a word names a place beside the projects, as far as that is plain.
fn is_outside(word: &str, roots: &[&Path]) -> bool {
    let is_global = ["-g", "--global", "--system", "--user", "--location"].contains(&word);
    let is_beside = ["../", "~", "$HOME"].iter().any(|it| word.starts_with(it));
    let path = Path::new(word);
    let open = [Path::new("/tmp"), Path::new("/dev"), Path::new("/proc")];
    let is_elsewhere =
        path.is_absolute() && !open.iter().chain(roots).any(|it| path.starts_with(it));
    is_global || is_beside || is_elsewhere
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_what_may_have_stopped_it_and_nothing_else() {
        let all = Rights::ALL;
        let commits = Rights { commit: false, ..Rights::ALL };
        let table = [
            ("cargo test", 101, Level::B, all, None),
            ("grep x a.txt", 1, Level::B, all, None),
            ("grep x /p/a.txt > /dev/null", 1, Level::B, all, None),
            ("true", 0, Level::C, Rights::NONE, None),
            ("no-such", 127, Level::C, Rights::NONE, None),
            ("kill -9 $$", 137, Level::C, Rights::NONE, None),
            ("echo x > a.txt", 1, Level::B, Rights::NONE, Some("writes are closed")),
            ("git commit -m x", 128, Level::B, commits, Some("commits are closed")),
            ("sudo -n true", 1, Level::B, all, Some("gains rights")),
            ("docker ps", 1, Level::C, all, Some("containers")),
            ("git config a.b c", 4, Level::B, all, Some("configuration")),
            ("echo x > ../y", 1, Level::B, all, Some("and nothing else")),
            ("npm install -g x", 226, Level::B, all, Some("and nothing else")),
            ("rm a.txt", 1, Level::C, all, Some("top folder")),
            ("python3 -m http.server &", 0, Level::B, all, Some("ended with it")),
            ("nohup ./serve > /tmp/log 2>&1 &", 0, Level::B, all, Some("ended with it")),
            ("make a && make b", 0, Level::B, all, None),
            ("sleep 9 &", 0, Level::C, all, None),
        ];
        for (text, code, level, rights, want) in table {
            let told = told(text, code, level, rights, &[Path::new("/p")]);
            match want {
                None => assert_eq!(told, None, "{text}"),
                Some(want) => assert!(told.unwrap_or_default().contains(want), "{text}"),
            }
        }
    }
}
