//! Speaking with a remote: pushing commits that were looked at, and fetching.
//!
//! Git does so in a folder of ours, whose configuration is empty and which borrows the repository's
//! objects: nothing that the repository's own configuration names is run or used, no hook, no submodule, no
//! helper; only its remotes' addresses are read. The user's own configuration and credentials count.

use crate::{
    command::{Git, failure, is_safe_ref},
    content::ContentScratch,
    error::GitError,
    git_at,
};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use waypost_store::{file, lock::FileLock, place::Place};

/// Protocols that are spoken; the others start programs of the address's choosing.
const PROTOCOLS: &str = "file:git:http:https:ssh";

/// Settings that hold whatever the user has configured.
const SETTINGS: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "push.recurseSubmodules=no",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
];

/// Another repository, by the name that this one has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    url: String,
    push_url: String,
}

/// A commit that a ref of a remote is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    pub commit: String,
    pub reference: String,
}

impl Update {
    /// Reads `SHA:refs/…`; none if it is anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (commit, reference) = text.split_once(':')?;
        let is_hash = matches!(commit.len(), 40 | 64)
            && commit.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let is_ref = reference.starts_with("refs/heads/") || reference.starts_with("refs/tags/");
        (is_hash && is_ref && is_safe_ref(reference))
            .then(|| Self { commit: commit.to_owned(), reference: reference.to_owned() })
    }

    /// The branch that it is for.
    pub fn branch(&self) -> Option<&str> {
        self.reference.strip_prefix("refs/heads/")
    }
}

impl Remote {
    /// The remote of this name, from the repository's own configuration; none if there is none, or
    /// its address is none that is spoken to.
    pub fn find(common: &Path, name: &str) -> Result<Option<Self>, GitError> {
        if !is_safe_ref(name) || name.contains('.') {
            return Ok(None);
        }
        let file = common.join("config");
        let file = file.to_string_lossy();
        let git = Git::at(common);
        let get = |key: &str| {
            let key = format!("remote.{name}.{key}");
            git.try_text(&["config", "--file", &file, "--get", &key])
        };
        let Some(url) = get("url")?.filter(|url| is_address(url)) else { return Ok(None) };
        let push_url = get("pushurl")?.unwrap_or_else(|| url.clone());
        let root = common.parent().unwrap_or(common);
        let (url, push_url) = (absolute(&url, root), absolute(&push_url, root));
        Ok(is_address(&push_url).then(|| Self { name: name.to_owned(), url, push_url }))
    }

    /// The address without what may be a password in it, for people and forges.
    pub fn shown(&self) -> String {
        match self.push_url.split_once("://") {
            Some((scheme, rest)) => {
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
                format!("{scheme}://{host}/{path}")
            }
            None => self.push_url.clone(),
        }
    }
}

/// Whether an address names a place and starts nothing.
fn is_address(url: &str) -> bool {
    !url.is_empty()
        && !url.starts_with('-')
        && !url.contains("::")
        && !url.chars().any(char::is_control)
}

/// A path in an address is seen from the repository's work tree.
fn absolute(url: &str, root: &Path) -> String {
    let is_path = !url.contains("://") && (url.starts_with(['.', '/']) || !url.contains(':'));
    if is_path { root.join(url).to_string_lossy().into_owned() } else { url.to_owned() }
}

/// The content of a commit as `content` names that of a work tree: what is Waypost's own left out.
pub fn content_of_commit(place: &Place, commit: &str) -> Result<Option<String>, GitError> {
    let Some(common) = &place.repository() else { return Ok(None) };
    let scratch = ContentScratch::take(place)?;
    let index = scratch.folder.join("commit-index");
    file::remove(&index)?;
    let git = git_at(&place.root)?
        .under(&scratch.turn)
        .variable("GIT_INDEX_FILE", &index)
        .variable("GIT_OBJECT_DIRECTORY", scratch.folder.join("objects"))
        .variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", common.join("objects"));
    git.text(&["read-tree", commit])?;
    let removal = ["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--"];
    git.text(&[removal.as_slice(), crate::content::OWN.as_slice()].concat())?;
    let name = git.text(&["write-tree", "--missing-ok"])?;
    file::remove(&index)?;
    Ok(Some(name))
}

/// Pushes commits; all that git said, whatever came of it.
pub fn push(
    place: &Place,
    remote: &Remote,
    updates: &[Update],
    is_forced: bool,
) -> Result<Output, GitError> {
    let Some(common) = &place.repository() else { return Err(no_repository("push")) };
    let exchange = Exchange::take(place, common)?;
    let mut words = vec!["push".to_owned(), "--no-verify".into(), "--recurse-submodules=no".into()];
    words.extend(is_forced.then(|| "--force".to_owned()));
    words.push("--".into());
    words.push(remote.push_url.clone());
    words.extend(updates.iter().map(|it| format!("{}:{}", it.commit, it.reference)));
    let output = exchange.run(&words)?;
    if output.status.success() {
        for update in updates {
            if let Some(branch) = update.branch() {
                let tracking = format!("refs/remotes/{}/{branch}", remote.name);
                Git::at(common).text(&["update-ref", &tracking, &update.commit])?;
            }
        }
    }
    Ok(output)
}

/// Fetches branches, all of them if none is named; all that git said, whatever came of it.
pub fn fetch(place: &Place, remote: &Remote, branches: &[String]) -> Result<Output, GitError> {
    let Some(common) = &place.repository() else { return Err(no_repository("fetch")) };
    let exchange = Exchange::take(place, common)?;
    exchange.know(common)?;
    let name = &remote.name;
    let mut words = vec!["fetch".to_owned(), "--no-write-fetch-head".into(), "--prune".into()];
    words.extend(["--no-auto-maintenance".into(), "--".into(), remote.url.clone()]);
    match branches {
        [] => words.push(format!("+refs/heads/*:refs/remotes/{name}/*")),
        some => words.extend(
            some.iter()
                .filter(|it| is_safe_ref(it))
                .map(|it| format!("+refs/heads/{it}:refs/remotes/{name}/{it}")),
        ),
    }
    let output = exchange.run(&words)?;
    if output.status.success() {
        exchange.hand_over(common, name, branches.is_empty())?;
    }
    Ok(output)
}

fn no_repository(command: &str) -> GitError {
    GitError::Failed { command: command.to_owned(), said: "there is no repository".to_owned() }
}

/// A git folder of ours, one process at a time.
struct Exchange {
    folder: PathBuf,
    objects: PathBuf,
    _turn: FileLock,
}

impl Exchange {
    fn take(place: &Place, common: &Path) -> Result<Self, GitError> {
        let above = place.state.join("scratch");
        file::make_private_folder(&above)?;
        let turn = FileLock::acquire(&above.join("publish.lock"))?;
        let folder = above.join("publish");
        // What a process that died has left.
        let _none = fs::remove_dir_all(&folder);
        file::make_private_folder(&folder)?;
        let objects = common.join("objects");
        let exchange = Self { folder, objects, _turn: turn };
        exchange.run(&["init", "--quiet", "--bare", "--template=", "."].map(str::to_owned))?;
        // A repository with a part of its history says so in a file.
        if let Ok(Some(bytes)) = file::read_bounded(&common.join("shallow"), 64 << 20) {
            file::replace_volatile(&exchange.folder.join("shallow"), &bytes, file::PRIVATE)?;
        }
        Ok(exchange)
    }

    /// Takes over the refs, so that what is there is not fetched again.
    fn know(&self, common: &Path) -> Result<(), GitError> {
        let format = "--format=%(objectname) %(refname)";
        let refs = Git::at(common).text(&["for-each-ref", format, "refs/heads", "refs/remotes"])?;
        let text = format!("# pack-refs with: sorted\n{refs}\n");
        Ok(file::replace_volatile(
            &self.folder.join("packed-refs"),
            text.as_bytes(),
            file::PRIVATE,
        )?)
    }

    /// Gives the repository what was fetched of a remote.
    fn hand_over(&self, common: &Path, remote: &str, is_all: bool) -> Result<(), GitError> {
        let below = format!("refs/remotes/{remote}/");
        let list = |git: &Git| -> Result<Vec<(String, String)>, GitError> {
            let text = git.text(&["for-each-ref", "--format=%(refname) %(objectname)", &below])?;
            let pair = |line: &str| {
                let (name, commit) = line.split_once(' ')?;
                Some((name.to_owned(), commit.to_owned()))
            };
            Ok(text.lines().filter_map(pair).collect())
        };
        let theirs = list(
            &Git::at(&self.folder)
                .variable("GIT_DIR", &self.folder)
                .variable("GIT_OBJECT_DIRECTORY", &self.objects),
        )?;
        let git = Git::at(common);
        let head = format!("{below}HEAD");
        let ours = list(&git)?;
        for (name, commit) in theirs.iter().filter(|(name, _)| *name != head) {
            if !ours.contains(&(name.clone(), commit.clone())) {
                git.text(&["update-ref", name, commit])?;
            }
        }
        for (name, _) in ours.iter().filter(|(name, _)| is_all && *name != head) {
            if !theirs.iter().any(|(kept, _)| kept == name) {
                git.text(&["update-ref", "-d", name])?;
            }
        }
        Ok(())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "git that speaks with a remote, and nothing else"
    )]
    fn run(&self, words: &[String]) -> Result<Output, GitError> {
        let mut command = Command::new("git");
        let is_of_git = |name: &OsStr| name.to_str().is_some_and(|name| name.starts_with("GIT_"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_git(name)) {
            command.env_remove(name);
        }
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting])).args(words);
        command.current_dir(&self.folder).stdin(Stdio::null());
        command.env("GIT_DIR", &self.folder).env("GIT_TERMINAL_PROMPT", "0");
        command.env("GIT_OBJECT_DIRECTORY", &self.objects).env("GIT_ALLOW_PROTOCOL", PROTOCOLS);
        let output = command.output().map_err(|source| GitError::Unavailable { source })?;
        match words.first().map(String::as_str) {
            Some("init") if !output.status.success() => Err(failure("init", &output)),
            _ => Ok(output),
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let _left = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_a_commit_and_a_whole_ref() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        for (text, want) in [
            (format!("{sha}:refs/heads/main"), true),
            (format!("{sha}:refs/tags/v1"), true),
            (format!("{sha}:main"), false),
            (format!("{sha}:refs/waypost/x"), false),
            (format!("{sha}:refs/heads/../x"), false),
            (format!("+{sha}:refs/heads/main"), false),
            (":refs/heads/main".to_owned(), false),
            ("HEAD:refs/heads/main".to_owned(), false),
        ] {
            assert_eq!(Update::parse(&text).is_some(), want, "{text}");
        }
    }

    #[test]
    fn an_address_starts_nothing_and_a_path_is_seen_from_the_work_tree() {
        for url in ["ext::sh -c x", "-x", "", "a\nb"] {
            assert!(!is_address(url), "{url}");
        }
        let table = [
            ("../remote.git", "/w/../remote.git"),
            ("/srv/remote.git", "/srv/remote.git"),
            ("git@example.org:shop.git", "git@example.org:shop.git"),
            ("https://example.org/shop.git", "https://example.org/shop.git"),
        ];
        for (url, want) in table {
            assert_eq!(absolute(url, Path::new("/w")), want, "{url}");
        }
    }
}
