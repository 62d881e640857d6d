//! What follows from which rights, as tables over a disk of names.

use super::*;
use std::cell::RefCell;
use waypost_model::workflow::Rights;

/// A disk of names: folders end with `/`, links have their target.
struct Names(RefCell<BTreeMap<PathBuf, (Kind, PathBuf)>>);

impl Names {
    fn of(lines: &[&str]) -> Self {
        let mut known = BTreeMap::new();
        for line in lines {
            let (path, entry) = match line.split_once(" -> ") {
                Some((path, to)) => (path, (Kind::Link, PathBuf::from(to))),
                None if line.ends_with('/') => {
                    (line.trim_end_matches('/'), (Kind::Folder, "".into()))
                }
                None => (*line, (Kind::File, "".into())),
            };
            known.insert(PathBuf::from(path), entry);
        }
        Self(RefCell::new(known))
    }
}

impl Disk for Names {
    fn kind(&self, path: &Path) -> Option<Kind> {
        self.0.borrow().get(path).map(|(kind, _)| *kind)
    }

    fn names(&self, folder: &Path) -> Vec<OsString> {
        let known = self.0.borrow();
        let below = known.keys().filter_map(|path| path.strip_prefix(folder).ok());
        let first = below.filter_map(|path| path.iter().next().map(OsString::from));
        first.collect::<BTreeSet<OsString>>().into_iter().collect()
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        match self.0.borrow().get(path)? {
            (Kind::Link, to) => Some(to.clone()),
            _ => Some(path.to_owned()),
        }
    }
}

fn disk() -> Names {
    Names::of(&[
        "/tmp/",
        "/tmp/tmux-0/",
        "/tmp/tree/",
        "/run/",
        "/etc/resolv.conf -> /run/systemd/resolve/stub-resolv.conf",
        "/home/",
        "/home/me/",
        "/home/me/.ssh/",
        "/home/me/.cargo/bin/",
        "/home/me/.cargo/registry/",
        "/home/me/.cargo/credentials.toml",
        "/home/me/.rustup -> /big/rustup",
        "/home/me/.local/state/waypost/",
        "/opt/waypost/",
        "/p/",
        "/p/docs/",
        "/p/target/",
        "/p/README.md",
        "/p/waypost.toml",
        "/p/.claude/",
        "/p/.claude/memory/",
        "/p/.git/",
        "/p/.git/objects/",
        "/p/.git/refs/",
        "/p/.git/logs/",
        "/p/.git/waypost/",
    ])
}

fn surroundings(rights: Rights) -> Surroundings {
    let words = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    Surroundings {
        projects: vec![Project {
            root: "/p".into(),
            git_common: Some("/p/.git".into()),
            git_folder: Some("/p/.git".into()),
            state: "/p/.git/waypost".into(),
            shared: Vec::new(),
            design_paths: words(&["docs/**", "*.md"]),
        }],
        rights,
        homes: vec!["/home/me".into()],
        other_homes: vec!["/home".into()],
        user_folders: vec!["/home/me/.local/state/waypost".into()],
        programs: "/opt/waypost".into(),
        settings: words(&[".claude", ".codex", ".mcp.json", "waypost.toml"]),
        writable_settings: words(&[".claude/memory"]),
        readable: words(&[".cargo/bin", ".rustup"]),
        caches: words(&[".cargo/registry"]),
        build_folders: words(&["target"]),
        read_only: vec!["/tmp/tree".into()],
        named_caches: vec!["/p".into(), "/home".into()],
        hides_sockets: true,
        is_root: false,
    }
}

/// `w` writable, `r` readable, `-` hidden or another's.
fn access(enclosure: &Enclosure, path: &str) -> char {
    match (enclosure.may_read(Path::new(path)), enclosure.may_write(Path::new(path))) {
        (_, true) => 'w',
        (true, false) => 'r',
        (false, false) => '-',
    }
}

#[test]
fn what_a_call_may_do_follows_from_its_rights() {
    let none = plan(&surroundings(Rights::NONE), &disk());
    let design = plan(&surroundings(Rights { write_design: true, ..Rights::NONE }), &disk());
    let write = Rights { write: true, write_design: true, ..Rights::NONE };
    let all = plan(&surroundings(Rights::ALL), &disk());
    let write = plan(&surroundings(write), &disk());
    #[rustfmt::skip]
    let table = [
        // path, nothing, design, writes, all
        ("/p/src/lib.rs",                        "rrww"),
        ("/p/new",                               "rrww"),
        ("/p/docs/a/b.md",                       "rwww"),
        ("/p/README.md",                         "rwww"),
        ("/p/target/debug/x",                    "wwww"),
        ("/p/waypost.toml",                      "rrrr"),
        ("/p/.claude/settings.json",             "rrrr"),
        ("/p/.claude/memory/x",                  "rrww"),
        ("/p/.git/config",                       "rrrr"),
        ("/p/.git/commondir",                    "rrrr"),
        ("/p/.git/refs/heads/x",                 "rrrw"),
        ("/p/.git/logs/HEAD",                    "rrrw"),
        ("/p/.git/objects/aa/bb",                "wwww"),
        ("/p/.git/waypost/journal.db",           "rrrr"),
        ("/tmp/x",                               "wwww"),
        ("/tmp/tmux-0/default",                  "----"),
        ("/tmp/tree/refs/heads/main",            "rrrr"),
        ("/run/docker.sock",                     "----"),
        ("/run/systemd/resolve/stub-resolv.conf", "rrrr"),
        ("/usr/bin/git",                         "rrrr"),
        ("/opt/waypost/waypost",                 "rrrr"),
        ("/home/me/.ssh/id",                     "----"),
        ("/home/me/notes",                       "----"),
        ("/home/you/notes",                      "----"),
        ("/home/me/.cargo/bin/cargo",            "rrrr"),
        ("/home/me/.cargo/registry/x",           "wwww"),
        ("/home/me/.cargo/credentials.toml",     "----"),
        ("/home/me/.local/state/waypost/pin",    "----"),
        ("/big/rustup/x",                        "rrrr"),
    ];
    for (path, want) in table {
        let got: String =
            [&none, &design, &write, &all].map(|it| access(it, path)).iter().collect();
        assert_eq!(got, want, "{path}");
    }
}

#[test]
fn the_files_of_a_session_are_open_to_the_tree_of_a_task_and_nothing_else_of_the_checkout() {
    let disk = Names::of(&[
        "/home/",
        "/home/me/",
        "/home/me/shop/.claude/orchestrator/",
        "/home/me/shop/worktree/request-R1--T1-1/",
    ]);
    let in_tree = |rights| {
        let mut around = surroundings(rights);
        let project = &mut around.projects[0];
        project.root = "/home/me/shop/worktree/request-R1--T1-1".into();
        project.shared = vec!["/home/me/shop/.claude/orchestrator".into()];
        plan(&around, &disk)
    };
    let (none, all) = (in_tree(Rights::NONE), in_tree(Rights::ALL));
    for (path, want) in [
        ("worktree/request-R1--T1-1/src/a", "rw"),
        (".claude/orchestrator/sessions/x", "rw"),
        (".claude/settings.json", "--"),
        ("src/a", "--"),
    ] {
        let path = format!("/home/me/shop/{path}");
        let got: String = [&none, &all].map(|it| access(it, &path)).iter().collect();
        assert_eq!(got, want, "{path}");
    }
}

#[test]
fn names_that_no_mount_can_hold_are_watched_while_their_folder_is_open() {
    let names = |enclosure: &Enclosure| -> Vec<String> {
        enclosure.watched.iter().map(|path| path.display().to_string()).collect()
    };
    assert_eq!(names(&plan(&surroundings(Rights::NONE), &disk())), Vec::<String>::new());
    let watched = names(&plan(&surroundings(Rights::ALL), &disk()));
    assert_eq!(watched, ["/p/.codex", "/p/.mcp.json", "/p/waypost.toml", "/p/.git"]);
}

#[test]
fn landlock_opens_what_the_enclosure_opens_and_no_more() {
    let enclosure = plan(&surroundings(Rights::ALL), &disk());
    let grants = crate::landlock::grants(&enclosure, &disk());
    let is_granted = |path: &str, writes: bool| {
        grants
            .iter()
            .any(|grant| Path::new(path).starts_with(&grant.path) && (grant.writes || !writes))
    };
    for grant in &grants {
        let (at, what) = enclosure.rule(&grant.path);
        assert!(!grant.writes || *what == What::Write, "{grant:?} by {at:?}");
    }
    for path in ["/p/.git/config", "/p/waypost.toml", "/p/.claude/settings.json", "/tmp/tree/HEAD"]
    {
        assert!(is_granted(path, false) && !is_granted(path, true), "{path}");
    }
    for path in ["/home/me/.ssh/id", "/run/docker.sock", "/home/me/.cargo/credentials.toml"] {
        assert!(!is_granted(path, false), "{path}");
    }
    assert!(is_granted("/p/docs/x", true) && is_granted("/home/me/.cargo/registry/x", true));
}

#[test]
fn by_landlock_the_folder_of_temporary_files_stays_open_beside_sockets() {
    let around =
        Surroundings { hides_sockets: false, read_only: Vec::new(), ..surroundings(Rights::NONE) };
    let grants = crate::landlock::grants(&plan(&around, &disk()), &disk());
    assert!(grants.iter().any(|it| it.path == Path::new("/tmp") && it.writes), "{grants:?}");
}
