//! `gh` inside a wall: a pull request is opened through the broker.

use super::{ask, asked, become_real, real};
use crate::shell::{NOT_RUN, say};
use std::{ffi::OsString, fs, process::ExitCode};

/// What is said of a new pull request.
#[derive(Debug, Default, PartialEq, Eq)]
struct PullRequestWish {
    title: Option<String>,
    body: Option<String>,
    body_file: Option<String>,
    base: Option<String>,
    head: Option<String>,
    is_draft: bool,
    is_filled: bool,
}

pub(super) fn run(words: &[OsString]) -> ExitCode {
    let texts: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let is_help = texts.iter().any(|word| ["-h", "--help"].contains(word));
    match texts.as_slice() {
        ["pr", "create" | "new", rest @ ..] if !is_help => create(rest).unwrap_or_else(|why| {
            say(&why);
            ExitCode::from(NOT_RUN)
        }),
        _ => {
            let is_asking = is_help || texts.is_empty() || texts == ["--version"];
            if real("gh").is_some() && !is_asking {
                say("gh has no credentials behind the wall; `gh pr create` is done from outside, \
                     everything else is left to a person");
            }
            become_real("gh", words)
        }
    }
}

impl PullRequestWish {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut wish = Self::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word, None),
            };
            match name {
                "-d" | "--draft" => wish.is_draft = true,
                "-f" | "--fill" | "--fill-first" | "--fill-verbose" => wish.is_filled = true,
                _ => {
                    let slot = match name {
                        "-t" | "--title" => &mut wish.title,
                        "-b" | "--body" => &mut wish.body,
                        "-F" | "--body-file" => &mut wish.body_file,
                        "-B" | "--base" => &mut wish.base,
                        "-H" | "--head" => &mut wish.head,
                        other => return Err(unknown(other)),
                    };
                    let value = value.or_else(|| words.next().map(str::to_owned));
                    *slot = Some(value.ok_or_else(|| format!("{name} lacks its value"))?);
                }
            }
        }
        Ok(wish)
    }
}

fn unknown(word: &str) -> String {
    format!(
        "`gh pr create {word}` is not done from behind the wall; what it knows is --title, --body, \
         --body-file, --base, --head, --draft and --fill"
    )
}

fn create(words: &[&str]) -> Result<ExitCode, String> {
    let wish = PullRequestWish::parse(words)?;
    let branch = || asked(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let head = wish.head.or_else(branch).ok_or("HEAD is on no branch; name one with --head")?;
    let remote = asked(&["config", "--get", &format!("branch.{head}.remote")]);
    let remote = remote.filter(|it| !it.is_empty()).unwrap_or_else(|| "origin".to_owned());
    let from_commit = |format: &str| asked(&["log", "-1", &format!("--format={format}")]);
    let title = wish.title.or_else(|| from_commit("%s").filter(|_| wish.is_filled));
    let title = title.ok_or("a pull request needs a --title, or --fill")?;
    let body = match (wish.body, wish.body_file) {
        (Some(body), _) => body,
        (None, Some(file)) if file != "-" => {
            fs::read_to_string(&file).map_err(|error| format!("cannot read {file}: {error}"))?
        }
        (None, Some(_)) => std::io::read_to_string(std::io::stdin()).map_err(|e| e.to_string())?,
        (None, None) if wish.is_filled => from_commit("%b").unwrap_or_default(),
        (None, None) => return Err("a pull request needs a --body, or --fill".to_owned()),
    };
    let mut words: Vec<OsString> = ["broker", "pull-request"].map(OsString::from).to_vec();
    words.extend([format!("--title={title}").into(), format!("--body={body}").into()]);
    words.extend(wish.base.map(|base| format!("--base={base}").into()));
    words.extend(wish.is_draft.then(|| "--draft".into()));
    words.extend(["--".into(), remote.into(), head.into()]);
    Ok(ask("waypost", words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_pull_request_is_read() {
        let wish =
            PullRequestWish::parse(&["-t", "A title", "--body=text = text", "-d", "-B", "main"]);
        let want = PullRequestWish {
            title: Some("A title".into()),
            body: Some("text = text".into()),
            base: Some("main".into()),
            is_draft: true,
            ..PullRequestWish::default()
        };
        assert_eq!(wish, Ok(want));
        for words in [&["--web"][..], &["--repo", "x/y"], &["-t"], &["x"]] {
            assert!(PullRequestWish::parse(words).is_err(), "{words:?}");
        }
    }
}
