//! What the broker does for a call, at both levels and for both kinds of users: by what the remotes, the
//! repository and the forge's program have seen.

use crate::site::{CANARY, Phase, Site, User, Wall};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output},
};

/// A site whose last gate is passed, with a stand-in for the forge's program; none if it cannot be had.
fn open(wall: Wall, user: User) -> Option<Site> {
    if user == User::Other && !rustix::process::getuid().is_root() {
        println!("skipped: only root can be another user");
        return None;
    }
    let site = Site::new(wall, Phase::Open)?;
    // Where nothing can be put from inside.
    let gh = site.path("programs/gh");
    let calls = site.path("gh-calls");
    let text = format!(
        "#!/bin/sh\nfor word; do printf '%s|' \"$word\" >> {0}; done; echo >> {0}\n\
         echo https://forge.example/pull/7\n",
        calls.display()
    );
    fs::write(&gh, text).unwrap();
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    if user == User::Other {
        let owned = Command::new("chown").args(["-R", "1000:1000"]).arg(site.path("")).status();
        assert!(owned.unwrap().success());
    }
    Some(site)
}

/// A shell call of this user's, with the forge's program on the path.
fn call(site: &Site, user: User, text: &str) -> Output {
    let shell = site.shell(text);
    let mut command = match user {
        User::Own => Command::new(shell.get_program()),
        User::Other => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=1000", "--regid=1000", "--clear-groups"]);
            command.arg(shell.get_program());
            command
        }
    };
    command.args(shell.get_args()).env_clear().current_dir(site.root());
    let variables = shell.get_envs().filter_map(|(name, value)| Some((name, value?)));
    for (name, value) in variables {
        match name == "PATH" {
            true => {
                let path =
                    format!("{}:{}", site.path("programs").display(), value.to_string_lossy());
                command.env(name, path)
            }
            false => command.env(name, value),
        };
    }
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn each(check: impl Fn(&Site, User, &str)) {
    for wall in [Wall::B, Wall::C] {
        for user in [User::Own, User::Other] {
            if let Some(site) = open(wall, user) {
                check(&site, user, &format!("{wall:?} {user:?}"));
            }
        }
    }
}

/// A repository of the site's, looked at as the one who owns it.
fn look(site: &Site, folder: &str, words: &[&str]) -> String {
    let folder = site.path(folder);
    site.git(&folder, &[&["-c", "safe.directory=*"], words].concat())
}

#[test]
fn what_was_reviewed_is_pushed_to_a_folder_and_by_http() {
    each(|site, user, case| {
        for (remote, folder) in [("origin", "remote.git"), ("web", "served/repository.git")] {
            let text = format!("git push {remote} HEAD:refs/heads/topic");
            let output = call(site, user, &text);
            assert!(output.status.success(), "{case} {remote}: {}", said(&output));
            let found = look(site, folder, &["rev-parse", "refs/heads/topic"]);
            assert_eq!(found, site.child, "{case} {remote}");
            assert!(!said(&output).contains(CANARY), "{case}: {}", said(&output));
        }
        let output = call(site, user, "git fetch web && git rev-parse web/topic");
        assert!(said(&output).contains(&site.child), "{case}: {}", said(&output));
    });
}

#[test]
fn a_pull_request_is_opened_with_the_forges_own_program() {
    each(|site, user, case| {
        let text = "git push -q origin HEAD:refs/heads/topic && \
                    gh pr create --head topic --title 'A title' --body 'two words' --draft";
        let output = call(site, user, text);
        assert!(output.status.success(), "{case}: {}", said(&output));
        assert!(
            said(&output).contains("https://forge.example/pull/7"),
            "{case}: {}",
            said(&output)
        );
        let calls = fs::read_to_string(site.path("gh-calls")).unwrap_or_default();
        let want = "|--head|topic|--draft|--title|A title|--body|two words|\n";
        assert!(calls.starts_with("pr|create|--repo|") && calls.ends_with(want), "{case}: {calls}");
        assert_eq!(calls.lines().count(), 1, "{case}: {calls}");
        // Anything else of it has no credentials.
        call(site, user, "gh auth token; gh api user");
        let calls = fs::read_to_string(site.path("gh-calls")).unwrap();
        assert!(!said(&output).contains(CANARY) && !calls.contains(CANARY), "{case}: {calls}");
    });
}

#[test]
fn without_namespaces_commits_go_through_the_broker() {
    for user in [User::Own, User::Other] {
        let Some(site) = open(Wall::C, user) else { continue };
        let text = "echo new > src/new.txt && rm docs/design.md && git add -A && \
                    git commit -m one -m 'and why' && echo more >> src/lib.txt && git commit -am two";
        let output = call(&site, user, text);
        assert!(output.status.success(), "{user:?}: {}", said(&output));
        let log = look(&site, "project", &["log", "--format=%s", "-3"]);
        assert_eq!(log, "two\none\nchild", "{user:?}");
        let names = look(&site, "project", &["show", "--name-status", "--format=", "HEAD~1"]);
        assert_eq!(names, "D\tdocs/design.md\nA\tsrc/new.txt");
        assert_eq!(look(&site, "project", &["show", "HEAD:src/lib.txt"]), "lib two\nmore");
        // Other files than were reviewed: they stay here.
        let output = call(&site, user, "git push origin HEAD:refs/heads/evil");
        assert!(!output.status.success(), "{}", said(&output));
        assert!(!look(&site, "remote.git", &["for-each-ref"]).contains("evil"));
        // What is not done says why.
        let output = call(&site, user, "git switch -q side");
        assert!(said(&output).contains("at level C of the wall `git switch`"), "{}", said(&output));
        let output = call(&site, user, "git commit --fixup=HEAD");
        assert!(said(&output).contains("is not done at level C"), "{}", said(&output));
    }
}

#[test]
fn without_namespaces_a_commit_that_is_closed_stays_closed() {
    let Some(site) = Site::new(Wall::C, Phase::CommitsClosed) else { return };
    let before = look(&site, "project", &["for-each-ref"]);
    for text in [
        "git commit --allow-empty -m evil",
        "waypost broker commit --allow-empty --message evil",
        "git commit-tree -m evil HEAD^{tree}",
    ] {
        let output = site.call(text);
        assert!(!output.status.success(), "{text}: {}", said(&output));
    }
    let output = site.call("git commit --allow-empty -m evil");
    assert!(said(&output).contains("re_review_clean"), "{}", said(&output));
    // The index is open, as at level B.
    assert!(site.call("echo x >> a.txt; git add a.txt").status.success());
    assert_eq!(look(&site, "project", &["diff", "--cached", "--name-only"]), "a.txt");
    assert_eq!(look(&site, "project", &["for-each-ref"]), before);
}

#[test]
fn without_namespaces_hooks_run_inside_and_nothing_of_the_projects_outside() {
    let Some(site) = Site::new(Wall::C, Phase::PushesClosed) else { return };
    let (inside, outside) = ("/dev/shm/waypost-hook-inside", site.path("outside/ran"));
    let _none = fs::remove_file(inside);
    let hook = site.root().join(".git/hooks/pre-commit");
    let text =
        format!("#!/bin/sh\ncat $HOME/.netrc > {inside} 2>/dev/null; echo ran >> {inside}\n");
    fs::write(&hook, text).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let set = |key: &str| {
        let program = format!("touch {}", outside.display());
        site.git(&site.root(), &["config", key, &program]);
    };
    for key in ["core.fsmonitor", "core.editor", "gpg.program", "diff.external"] {
        set(key);
    }
    site.git(&site.root(), &["config", "commit.gpgSign", "true"]);
    // A repository in the project has settings of its own, which an agent writes.
    let nested = format!(
        "git init -q src/nested && git -C src/nested config core.fsmonitor 'touch {}' && \
         git add -A; git commit -m done --allow-empty",
        outside.display()
    );
    let output = site.call(&nested);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read_to_string(inside).unwrap(), "ran\n");
    assert!(!outside.exists(), "{}", said(&output));
    // One that refuses is obeyed.
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    let before = site.git(&site.root(), &["rev-parse", "HEAD"]);
    assert!(!site.call("git commit --allow-empty -m evil").status.success());
    assert_eq!(site.git(&site.root(), &["rev-parse", "HEAD"]), before);
}

#[test]
fn where_contents_are_filtered_it_is_said_why_nothing_is_pushed() {
    for wall in [Wall::B, Wall::C] {
        let filtered = |site: &Site| {
            let root = site.root();
            site.git(&root, &["config", "filter.large.clean", "sed s/a/b/"]);
            site.git(&root, &["config", "filter.large.smudge", "sed s/b/a/"]);
            fs::write(root.join(".gitattributes"), "a.txt filter=large\n").unwrap();
        };
        let Some(site) = Site::new_with(wall, Phase::Open, filtered) else { continue };
        let output = site.call("git push origin HEAD:refs/heads/topic");
        assert!(!output.status.success(), "{wall:?}: {}", said(&output));
        let why = "git's content filter `large` changes what is committed";
        assert!(said(&output).contains(why), "{wall:?}: {}", said(&output));
        assert!(!look(&site, "remote.git", &["for-each-ref"]).contains("topic"));
    }
}

#[test]
fn a_file_that_is_exchanged_while_it_is_asked_for_is_not_read() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    fs::create_dir_all(site.path("home/.config/gh")).unwrap();
    fs::write(site.path("home/.config/gh/report.md"), format!("Blocking: {CANARY}\n")).unwrap();
    // The folder is a link to where no call can read, and the next moment it is none.
    let text = format!(
        "mkdir -p d && echo 'Blocking: 1' > d/report.md && ln -s {} evil\n\
         (for i in $(seq 400); do mv -T d e; mv -T evil d; mv -T d evil; mv -T e d; done) &\n\
         for i in $(seq 40); do waypost validate --kind run-state d/report.md; \
         waypost develop gate pass architect_verified --report d/report.md; done 2>&1; wait",
        site.path("home/.config/gh").display()
    );
    let output = site.call(&text);
    assert!(!said(&output).contains(CANARY), "{}", said(&output));
    assert!(said(&output).contains("report.md"), "it was asked for: {}", said(&output));
}
