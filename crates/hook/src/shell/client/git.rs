//! `git` inside a wall: push, fetch and pull go through the broker.

use super::{ask, asked, become_real, commit, real};
use crate::shell::{NOT_RUN, say};
use std::{
    env,
    ffi::OsString,
    io::Write as _,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
    process::{Command, ExitCode, Stdio},
};
use waypost_model::layout;

/// Global options of git that have a value in the next word.
const WITH_VALUE: [&str; 7] =
    ["-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"];

/// A tree's registration is read by the person's git, and says where that finds its settings: none comes from inside.
/// Made in the call's own view, it would be gone with the call, and the tree without it.
const NO_TREES: &str = "work trees cannot be registered or changed from behind the wall, so nothing was done; \
                        `git clone --shared . /tmp/NAME` makes a folder to try something in";

const NONE: &str = "0000000000000000000000000000000000000000";

pub(super) fn run(words: &[OsString]) -> ExitCode {
    let texts: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let Some(texts) = texts else { return become_real("git", words) };
    let Some((folders, at)) = command_at(&texts) else { return become_real("git", words) };
    let rest = &texts[at + 1..];
    if rest.iter().any(|word| ["-h", "--help"].contains(word)) {
        return become_real("git", words);
    }
    // A repository in a folder needs no credentials: git does what it may inside.
    let is_path =
        |word: &&&str| ["/", "./", "../", "file://"].iter().any(|it| word.starts_with(it));
    let is_remote = ["push", "fetch", "pull"].contains(&texts[at]);
    if is_remote && rest.iter().find(|word| !word.starts_with('-')).filter(is_path).is_some() {
        return become_real("git", words);
    }
    if texts[at] == "worktree" && writes_trees(rest) && has_journal(&texts[..at]) {
        say(NO_TREES);
        return ExitCode::from(NOT_RUN);
    }
    let act = match texts[at] {
        "push" => push,
        "fetch" => fetch,
        "pull" => pull,
        "branch" if !commit::is_needed() && has_journal(&texts[..at]) => {
            let Some((old, new)) = renamed(rest) else { return become_real("git", words) };
            return rename(words, &texts[..at], old, new);
        }
        "add" | "stage" if commit::is_needed() => commit::add,
        "commit" if commit::is_needed() => commit::commit,
        other if commit::is_needed() && commit::is_writing(other) => {
            return commit::try_and_explain(other, words);
        }
        _ => return become_real("git", words),
    };
    // A repository of the call's own making has no one outside who would speak for it. An attempt's may have its
    // journal elsewhere, and is known outside.
    let is_attempt = env::var_os(layout::variable::ATTEMPT).is_some();
    if is_remote && !is_attempt && !has_journal(&texts[..at]) {
        return become_real("git", words);
    }
    for folder in folders {
        if let Err(error) = env::set_current_dir(folder) {
            say(&format!("cannot go to {folder}: {error}"));
            return ExitCode::from(128);
        }
    }
    act(rest).unwrap_or_else(|why| {
        say(&why);
        ExitCode::from(NOT_RUN)
    })
}

/// The names in the words after `git branch` if those rename a branch: the old one, if it is said, and the new one.
fn renamed<'a>(words: &[&'a str]) -> Option<(Option<&'a str>, &'a str)> {
    let (options, names): (Vec<&str>, Vec<&str>) =
        words.iter().copied().partition(|word| word.starts_with('-'));
    let is_rename = |word: &&str| ["-m", "-M", "--move"].contains(word);
    let is_known = |word: &&str| is_rename(word) || ["-f", "--force", "-q"].contains(word);
    let is_plain = options.iter().any(is_rename) && options.iter().all(is_known);
    match (is_plain, names.as_slice()) {
        (true, [new]) => Some((None, new)),
        (true, [old, new]) => Some((Some(old), new)),
        _ => None,
    }
}

/// Has git rename a branch. It renames the reference first, and then what its configuration says of the branch,
/// which it cannot: that this is all it could not do is no failure.
#[expect(clippy::disallowed_methods, reason = "the real git, inside the wall")]
fn rename(words: &[OsString], options: &[&str], old: Option<&str>, new: &str) -> ExitCode {
    let git = |question: &[&str]| asked(&[options, question].concat());
    let current = || git(&["symbolic-ref", "--short", "-q", "HEAD"]);
    let Some(old) = old.map(str::to_owned).or_else(current) else {
        return become_real("git", words);
    };
    let commit_of =
        |name: &str| git(&["rev-parse", "-q", "--verify", &format!("refs/heads/{name}")]);
    let before = commit_of(&old);
    let output = real("git").map(|real| Command::new(real).arg0("git").args(words).output());
    let Some(Ok(output)) = output else { return become_real("git", words) };
    let is_renamed = before.is_some() && commit_of(&old).is_none() && commit_of(new) == before;
    if output.status.success() || !is_renamed {
        // What cannot be told has no one to hear it.
        let _unheard = std::io::stderr().write_all(&output.stderr);
        let _unheard = std::io::stdout().write_all(&output.stdout);
        let code = output.status.code().unwrap_or_else(|| i32::from(NOT_RUN));
        return ExitCode::from(u8::try_from(code).unwrap_or(NOT_RUN));
    }
    if git(&["config", "--get-regexp", &format!("^branch\\.{old}\\.")]).is_some() {
        say(&format!(
            "the branch is renamed, and what it follows is still kept under its old name; a person can run \
             `git config --rename-section branch.{old} branch.{new}`"
        ));
    }
    ExitCode::SUCCESS
}

/// Whether the words after `git worktree` change what is registered.
fn writes_trees(words: &[&str]) -> bool {
    let act = words.iter().find(|word| !word.starts_with('-'));
    act.is_some_and(|act| *act != "list")
}

/// Whether the repository that git means with these options is one that Waypost keeps a journal of.
fn has_journal(options: &[&str]) -> bool {
    let question = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let common = asked(&[options, &question].concat());
    common.is_some_and(|git| Path::new(&git).join(layout::STATE_IN_GIT).is_dir())
}

/// Where the command of a line of git's stands, and the folders that it goes to before; none if that
/// is not plain.
fn command_at<'a>(words: &[&'a str]) -> Option<(Vec<&'a str>, usize)> {
    let (mut at, mut folders) = (0, Vec::new());
    loop {
        match *words.get(at)? {
            "-C" => {
                folders.push(*words.get(at + 1)?);
                at += 2;
            }
            word if WITH_VALUE.contains(&word) => at += 2,
            word if word.starts_with('-') => at += 1,
            _ => return Some((folders, at)),
        }
    }
}

/// A push, as far as it is plain.
#[derive(Debug, Default, PartialEq, Eq)]
struct PushWish<'a> {
    names: Vec<&'a str>,
    is_forced: bool,
    follows: bool,
    skips_hooks: bool,
    is_dry: bool,
    with_tags: bool,
}

impl<'a> PushWish<'a> {
    fn parse(words: &[&'a str]) -> Result<Self, String> {
        let mut wish = Self::default();
        for word in words {
            match *word {
                "-u" | "--set-upstream" => wish.follows = true,
                "-f" | "--force" | "--force-with-lease" => wish.is_forced = true,
                "--no-verify" => wish.skips_hooks = true,
                "-n" | "--dry-run" => wish.is_dry = true,
                "--tags" | "--follow-tags" => wish.with_tags = true,
                "-q" | "--quiet" | "-v" | "--verbose" | "--progress" | "--no-progress"
                | "--porcelain" | "--verify" | "--atomic" | "--thin" | "--" => {}
                word if word.starts_with("--force-with-lease=") => wish.is_forced = true,
                word if is_cluster(word) => {
                    wish.follows |= word.contains('u');
                    wish.is_forced |= word.contains('f');
                    wish.is_dry |= word.contains('n');
                }
                word if word.starts_with('-') => {
                    return Err(format!(
                        "`git push {word}` is not done from behind the wall; push a branch by its \
                         name, or have a person do it"
                    ));
                }
                name => wish.names.push(name),
            }
        }
        Ok(wish)
    }
}

/// Whether a word is several short options in one, each of which is known.
fn is_cluster(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.len() > 1 && letters.chars().all(|letter| "fnquv".contains(letter))
}

fn push(words: &[&str]) -> Result<ExitCode, String> {
    let wish = PushWish::parse(words)?;
    let branch = asked(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let named = wish.names.first().map(|it| (*it).to_owned());
    let remote = named.unwrap_or_else(|| push_remote(branch.as_deref()));
    let mut is_forced = wish.is_forced;
    let mut updates = Vec::new();
    let specs: Vec<&str> = match wish.names.get(1..) {
        Some(specs) if !specs.is_empty() => specs.to_vec(),
        _ => vec!["HEAD"],
    };
    for spec in specs {
        is_forced |= spec.starts_with('+');
        updates.push(update(spec.trim_start_matches('+'), branch.as_deref())?);
    }
    if wish.with_tags {
        let tags = asked(&["for-each-ref", "--format=%(objectname):%(refname)", "refs/tags"]);
        let tags = tags.unwrap_or_default();
        updates.extend(tags.lines().map(|it| (String::new(), it.to_owned())));
    }
    if !wish.skips_hooks {
        pre_push(&remote, &updates)?;
    }
    if wish.is_dry {
        updates.iter().for_each(|(_, it)| say(&format!("would push {it} to {remote}")));
        return Ok(ExitCode::SUCCESS);
    }
    let mut words: Vec<OsString> = ["broker", "push"].map(OsString::from).to_vec();
    words.extend(is_forced.then(|| "--force".into()));
    if let Some(branch) = branch.filter(|_| wish.follows) {
        words.extend(["--upstream".into(), branch.into()]);
    }
    words.extend(["--".into(), remote.into()]);
    words.extend(updates.into_iter().map(|(_, it)| it.into()));
    Ok(ask("waypost", words))
}

/// Where a branch is pushed to if nothing else is said.
fn push_remote(branch: Option<&str>) -> String {
    let get = |key: &str| asked(&["config", "--get", key]).filter(|value| !value.is_empty());
    let of_branch = |key: &str| branch.and_then(|it| get(&format!("branch.{it}.{key}")));
    of_branch("pushRemote")
        .or_else(|| get("remote.pushDefault"))
        .or_else(|| of_branch("remote"))
        .unwrap_or_else(|| "origin".to_owned())
}

/// The local ref of a refspec, and the commit and the whole ref that it means.
fn update(spec: &str, branch: Option<&str>) -> Result<(String, String), String> {
    let (from, to) = spec.split_once(':').map_or((spec, None), |(from, to)| (from, Some(to)));
    if from.is_empty() || to == Some("") {
        return Err("deleting a branch of the remote is left to a person".to_owned());
    }
    let commit = asked(&["rev-parse", "--verify", "--quiet", &format!("{from}^{{commit}}")]);
    let commit = commit.ok_or_else(|| format!("there is no commit {from}"))?;
    let local = asked(&["rev-parse", "--symbolic-full-name", "--quiet", from]);
    let local = local.filter(|it| !it.is_empty()).unwrap_or_else(|| from.to_owned());
    let is_tag = local.starts_with("refs/tags/");
    let whole = |name: &str| match name {
        name if name.starts_with("refs/") => name.to_owned(),
        name if is_tag => format!("refs/tags/{name}"),
        name => format!("refs/heads/{name}"),
    };
    let reference = match to {
        Some(to) => whole(to),
        None if from == "HEAD" => whole(branch.ok_or("HEAD is on no branch; name one")?),
        None if local.starts_with("refs/") => local.clone(),
        None => return Err(format!("{from} is no branch; say where it goes: {from}:BRANCH")),
    };
    Ok((local, format!("{commit}:{reference}")))
}

/// Runs the repository's own hook for a push, inside.
#[expect(clippy::disallowed_methods, reason = "the repository's hook, inside the wall")]
fn pre_push(remote: &str, updates: &[(String, String)]) -> Result<(), String> {
    let Some(hook) = asked(&["rev-parse", "--git-path", "hooks/pre-push"]) else { return Ok(()) };
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    if !is_program(Path::new(&hook)) {
        return Ok(());
    }
    let top = asked(&["rev-parse", "--show-toplevel"]).unwrap_or_else(|| ".".to_owned());
    let hook = Path::new(&hook).canonicalize().map_err(|error| error.to_string())?;
    let url = asked(&["remote", "get-url", "--push", remote]).unwrap_or_else(|| remote.to_owned());
    let mut lines = String::new();
    for (local, update) in updates {
        let (commit, reference) = update.split_once(':').unwrap_or((update, ""));
        let branch = reference.strip_prefix("refs/heads/").unwrap_or(reference);
        let tracking = format!("refs/remotes/{remote}/{branch}");
        let known = asked(&["rev-parse", "--verify", "--quiet", &tracking]);
        let known = known.unwrap_or_else(|| NONE.to_owned());
        lines.push_str(&[local.as_str(), commit, reference, &known].join(" "));
        lines.push('\n');
    }
    let mut command = Command::new(&hook);
    command.args([remote, &url]).current_dir(top).stdin(Stdio::piped());
    let failed = |error: std::io::Error| format!("the pre-push hook cannot be run: {error}");
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // A hook need not read what it is told.
        let _unread = input.write_all(lines.as_bytes());
    }
    match child.wait().map_err(failed)?.success() {
        true => Ok(()),
        false => Err("the repository's pre-push hook refused; nothing was pushed".to_owned()),
    }
}

/// The remote and the branches that a fetch names.
fn source(words: &[&str]) -> (String, Vec<String>) {
    let mut names = words.iter().filter(|word| !word.starts_with('-'));
    let branch = asked(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let own = || {
        let key = format!("branch.{}.remote", branch.as_deref()?);
        asked(&["config", "--get", &key]).filter(|it| !it.is_empty())
    };
    let remote = names.next().map(|it| (*it).to_owned()).or_else(own);
    let plain = |spec: &&str| {
        let spec = spec.trim_start_matches('+');
        let from = spec.split(':').next().unwrap_or(spec);
        from.trim_start_matches("refs/heads/").to_owned()
    };
    (remote.unwrap_or_else(|| "origin".to_owned()), names.map(plain).collect())
}

fn fetch(words: &[&str]) -> Result<ExitCode, String> {
    let (remote, branches) = source(words);
    if asked(&["remote", "get-url", &remote]).is_none() {
        // Another repository by its address: what is public can be read without credentials.
        let words: Vec<OsString> = ["fetch"].iter().chain(words).map(OsString::from).collect();
        return Ok(become_real("git", &words));
    }
    let mut asked: Vec<OsString> = ["broker", "fetch", "--"].map(OsString::from).to_vec();
    asked.push(remote.into());
    asked.extend(branches.into_iter().map(OsString::from));
    Ok(ask("waypost", asked))
}

/// Fetches through the broker; the rest is git's own, inside.
#[expect(clippy::disallowed_methods, reason = "this program becomes the real git")]
fn pull(words: &[&str]) -> Result<ExitCode, String> {
    let fetched = fetch(words)?;
    if fetched != ExitCode::SUCCESS {
        return Ok(fetched);
    }
    let (remote, branches) = source(words);
    let upstream = || asked(&["rev-parse", "--symbolic-full-name", "@{upstream}"]);
    let from = match branches.first() {
        Some(branch) => Some(format!("refs/remotes/{remote}/{branch}")),
        None => upstream(),
    };
    let from =
        from.ok_or("this branch follows none of a remote; name one: git pull REMOTE BRANCH")?;
    let configured = asked(&["config", "--get", "pull.rebase"]);
    let is_rebase = words.iter().any(|it| *it == "-r" || it.starts_with("--rebase"))
        || configured.is_some_and(|it| it != "false") && !words.contains(&"--no-rebase");
    let mut line = vec![if is_rebase { "rebase" } else { "merge" }.to_owned()];
    if !is_rebase {
        let kept = ["--ff-only", "--no-ff", "--no-edit", "--squash"];
        line.extend(kept.iter().filter(|it| words.contains(it)).map(|it| (*it).to_owned()));
    }
    line.push(from);
    let git = real("git").ok_or("git is not installed")?;
    let error = Command::new(git).arg0("git").args(line).exec();
    Err(format!("git cannot be run: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_git_is_found_behind_its_options() {
        let table: &[(&[&str], Option<usize>)] = &[
            (&["push"], Some(0)),
            (&["-C", "x", "-c", "a=b", "--no-pager", "push", "origin"], Some(5)),
            (&["--git-dir=x", "push"], Some(1)),
            (&["--version"], None),
            (&["-C", "x"], None),
            (&[], None),
        ];
        for (words, want) in table {
            assert_eq!(command_at(words).map(|(_, at)| at), *want, "{words:?}");
        }
    }

    #[test]
    fn a_plain_rename_of_a_branch_is_told() {
        assert_eq!(renamed(&["-m", "a", "b"]), Some((Some("a"), "b")));
        assert_eq!(renamed(&["-M", "b"]), Some((None, "b")));
        for words in [&["b"][..], &["-m"], &["-d", "b"], &["-m", "a", "b", "c"], &["-c", "a", "b"]]
        {
            assert_eq!(renamed(words), None, "{words:?}");
        }
    }

    #[test]
    fn only_the_list_of_trees_is_read() {
        for (words, want) in [
            (&["list", "--porcelain"][..], false),
            (&[], false),
            (&["add", "-b", "x", "../x"], true),
            (&["prune"], true),
        ] {
            assert_eq!(writes_trees(words), want, "{words:?}");
        }
    }

    #[test]
    fn only_plain_pushes_are_understood() {
        let wish = PushWish::parse(&["-u", "origin", "HEAD:x", "--force-with-lease=a"]).unwrap();
        assert_eq!(wish.names, ["origin", "HEAD:x"]);
        assert!(wish.follows && wish.is_forced);
        let wish = PushWish::parse(&["-qu"]).unwrap();
        assert!(wish.follows && !wish.is_forced && !wish.is_dry);
        for word in ["--mirror", "--all", "--delete", "--receive-pack=x", "-o", "--exec=x"] {
            assert!(PushWish::parse(&["origin", word]).is_err(), "{word}");
        }
    }
}
