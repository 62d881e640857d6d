//! Which files are scratch: those in the folder for temporary files, and the plans that an agent
//! program writes for its person. No gate is about them.
//!
//! A path counts by where it really leads. A repository or a project in the temporary folder is
//! none, and neither is a home in there.

use crate::{Homes, Spot, look::resolved};
use std::path::{Path, PathBuf};
use waypost_agent::programs::BUILT_IN;

/// Where temporary files are, whatever a variable says: an agent chooses those of its commands.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Whether a path, relative to `folder` or absolute, is scratch for the work tree at `spot`.
pub(crate) fn is_scratch(homes: &Homes, spot: &Spot, folder: &Path, path: &str) -> bool {
    if path.is_empty() || path.contains(['\0', '*', '?', '[', '{']) {
        return false;
    }
    let home = homes.home.as_deref();
    let path = match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if path.starts_with('~') => return false,
        _ => folder.join(path),
    };
    let target = resolved(&path);
    let is_plan = || {
        let plans = BUILT_IN.all().filter_map(|program| program.plans);
        let mut folders = plans.zip(home.into_iter().cycle()).map(|(it, home)| home.join(it));
        folders.any(|folder| is_below(&target, &resolved(&folder)))
    };
    is_plan() || is_temporary(&target, home, spot)
}

fn is_temporary(target: &Path, home: Option<&Path>, spot: &Spot) -> bool {
    let Some(base) = TEMPORARY.map(PathBuf::from).into_iter().find(|it| is_below(target, it))
    else {
        return false;
    };
    let ours = [Some(spot.root.as_path()), spot.git_common.as_deref(), Some(&spot.state), home];
    let is_ours = ours.into_iter().flatten().any(|it| target.starts_with(resolved(it)));
    let is_repository = |folder: &Path| {
        folder.join(".git").symlink_metadata().is_ok()
            || (folder.join("HEAD").symlink_metadata().is_ok() && folder.join("objects").is_dir())
    };
    let mut above = target.ancestors().skip(1).take_while(|folder| **folder != *base);
    !is_ours && !above.any(is_repository)
}

fn is_below(path: &Path, folder: &Path) -> bool {
    path != folder && path.starts_with(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
    fn only_what_really_is_temporary_is_scratch() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["shop/.git/waypost", "home/.claude/plans", "other/.git", "bare/objects", "x"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        fs::write(base.join("bare/HEAD"), "").unwrap();
        let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, base.join(from)).unwrap();
        link("../shop", "x/shop");
        link("../home/.ssh", "x/keys");
        link("../../shop/src", "home/.claude/plans/src");
        let homes = Homes { home: Some(base.join("home")), ..Homes::default() };
        let spot = Spot {
            root: base.join("shop"),
            git_common: Some(base.join("shop/.git")),
            state: base.join("shop/.git/waypost"),
            tree: "main".into(),
        };
        let check = |path: &str, want: bool| {
            let path = path.replace("BASE", base.to_str().unwrap());
            let got = is_scratch(&homes, &spot, &base.join("shop"), &path);
            assert_eq!(got, want, "{path}");
        };
        check("BASE/notes.txt", true);
        check("BASE/x/new/notes.txt", true);
        check("../notes.txt", true);
        check("~/.claude/plans/plan.md", true);
        check("/var/tmp/x", true);
        check("src/lib.rs", false);
        check("BASE/shop/src/lib.rs", false);
        check("BASE/x/shop/src/lib.rs", false);
        check("BASE/x/../shop/src/lib.rs", false);
        check("BASE/x/keys/id", false);
        check("BASE/home/.bashrc", false);
        check("BASE/other/README.md", false);
        check("BASE/bare/refs/heads/main", false);
        check("~/.claude/plans/src/lib.rs", false);
        check("~/.claude/plans", false);
        check("~/notes.txt", false);
        check("/tmp", false);
        check("/tmpx", false);
        check("/etc/passwd", false);
        check("BASE/*", false);
    }
}
