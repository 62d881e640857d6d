//! Programs that a repository's own configuration would have git run.
//!
//! What the user has configured for himself (filters of git-lfs, a merge driver) is his to run.
//! What stands in the repository's configuration may come from anyone who could write there, an
//! agent among them: each such program gets an override that runs nothing, or git itself.

use super::Git;
use crate::error::GitError;

/// Everything that names a program, and who commits.
const KEYS: &str = concat!(
    r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver|",
    r"diff\..*\.(textconv|command)|trailer\..*\.(command|cmd)|",
    r"(user|author|committer)\.(name|email)|include\.path|includeif\..*\.path)$"
);

/// What git merges with by itself, spelled as a driver: a driver that is merely empty would pass
/// as one that has merged.
const MERGE: &str = "git merge-file --marker-size=%L %A %O %B";

/// What was found in one repository's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignPrograms {
    /// Settings that take the place of those that name a program.
    pub(super) overrides: Vec<(String, String)>,
    /// The configuration includes other files, which may change without this one.
    pub has_includes: bool,
    /// The configuration says who commits.
    pub has_identity: bool,
}

impl ForeignPrograms {
    /// Reads the configuration that `git` would use.
    pub fn read(git: &Git) -> Result<Self, GitError> {
        let list = ["config", "--null", "--show-scope", "--name-only", "--get-regexp", KEYS];
        let listed = git.try_bytes(&list)?.unwrap_or_default();
        Ok(Self::parse(&listed))
    }

    fn parse(listed: &[u8]) -> Self {
        let mut found = Self::default();
        let mut fields = listed.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let (mut has_name, mut has_email) = (false, false);
        while let (Some(scope), Some(key)) = (fields.next(), fields.next()) {
            let is_own = matches!(&*scope, "local" | "worktree");
            match key.split('.').next().unwrap_or_default() {
                "user" => {
                    has_name |= &*key == "user.name";
                    has_email |= &*key == "user.email";
                }
                "author" | "committer" => {}
                "include" | "includeif" => found.has_includes |= is_own,
                _ if is_own => found.overrides.push((key.to_string(), harmless(&key).to_owned())),
                _ => {}
            }
        }
        found.overrides.sort();
        found.overrides.dedup();
        found.has_identity = has_name && has_email;
        found
    }
}

/// What a setting that names a program is set to.
fn harmless(key: &str) -> &'static str {
    let last = key.rsplit('.').next().unwrap_or_default();
    match last {
        "required" => "false",
        "driver" => MERGE,
        // Git is told not to convert; where it does all the same, this changes nothing.
        "textconv" => "cat",
        "command" if key.starts_with("diff.") => "true",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_configured_for_himself_stays() {
        let listed = "global\0filter.lfs.clean\0local\0filter.x=y.clean\0local\0merge.m.driver\0\
                      worktree\0trailer.t.cmd\0system\0merge.n.driver\0local\0user.name\0\
                      global\0user.email\0local\0includeif.onbranch:x.path\0";
        let of = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            ForeignPrograms::parse(listed.as_bytes()),
            ForeignPrograms {
                overrides: vec![
                    of("filter.x=y.clean", ""),
                    of("merge.m.driver", MERGE),
                    of("trailer.t.cmd", ""),
                ],
                has_includes: true,
                has_identity: true,
            }
        );
        assert_eq!(ForeignPrograms::parse(b""), ForeignPrograms::default());
    }
}
