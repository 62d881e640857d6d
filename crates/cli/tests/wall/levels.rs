//! The level that is said is the level that is there, wherever the program runs.

use crate::site::{Phase, Site, Wall};
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// What a call in a project says of its level, when the whole is run by `around`.
fn level(site: &Site, around: &[&str]) -> Output {
    let shell = site.shell("echo level=$WAYPOST_WALL; echo evil >> .git/waypost/journal.db");
    let mut command = Command::new(around.first().copied().unwrap_or("env"));
    command.args(around.get(1..).unwrap_or_default());
    command.arg(shell.get_program()).args(shell.get_args());
    command.env_clear().current_dir(site.root());
    command.envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--help").output().is_ok()
}

/// Whether a wall that was said to be there has held, and none was said where it has not.
fn check(site: &Site, around: &[&str], want: &[&str]) {
    let journal = site.root().join(".git/waypost/journal.db");
    let before = fs::read(&journal).unwrap();
    let output = level(site, around);
    let found = said(&output);
    assert!(want.contains(&found.as_str()), "{around:?}: {found:?}, {output:?}");
    let is_intact = fs::read(&journal).unwrap() == before;
    assert_eq!(is_intact, found != "level=", "{around:?}: {found}");
    fs::write(&journal, before).unwrap();
}

#[test]
fn with_everything_it_is_b_and_without_bubblewrap_c() {
    if let Some(site) = Site::new(Wall::B, Phase::CommitsClosed) {
        check(&site, &[], &["level=b"]);
    }
    if let Some(site) = Site::new(Wall::C, Phase::CommitsClosed) {
        check(&site, &[], &["level=c"]);
    }
}

#[test]
fn without_user_namespaces_it_is_c() {
    let Some(site) = Site::new(Wall::B, Phase::CommitsClosed) else { return };
    // A user namespace whose own limit is none.
    let text = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let around = ["unshare", "--user", "--map-root-user", "sh", "-c", text, "sh"];
    if !is_there("unshare") {
        println!("skipped: `unshare` is missing (package util-linux)");
        return;
    }
    check(&site, &around, &["level=c"]);
    // What was found there does not count elsewhere.
    check(&site, &[], &["level=b"]);
}

/// A filter of system calls for bubblewrap, by which the kernel has no Landlock: its first call (444) fails as
/// on a kernel that does not know it.
fn without_landlock(site: &Site) -> String {
    let step = |code: u16, yes: u8, no: u8, value: u32| {
        let mut bytes = code.to_ne_bytes().to_vec();
        bytes.extend([yes, no]);
        bytes.extend(value.to_ne_bytes());
        bytes
    };
    const LOAD: u16 = 0x20;
    const IS_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const FAIL_UNKNOWN: u32 = 0x0005_0000 | 38;
    const ALLOW: u32 = 0x7fff_0000;
    let program = [
        step(LOAD, 0, 0, 0),
        step(IS_EQUAL, 0, 1, 444),
        step(RETURN, 0, 0, FAIL_UNKNOWN),
        step(RETURN, 0, 0, ALLOW),
    ];
    let path = site.path("no-landlock");
    fs::write(&path, program.concat()).unwrap();
    format!("exec bwrap --dev-bind / / --seccomp 3 \"$@\" 3<{}", path.display())
}

#[test]
fn without_landlock_it_is_what_namespaces_alone_hold_and_without_both_none() {
    if let Some(site) = Site::new(Wall::B, Phase::CommitsClosed) {
        let text = without_landlock(&site);
        // Some machines let no namespace be made within another one.
        check(&site, &["sh", "-c", &text, "sh"], &["level=b", "level="]);
    }
    if let Some(site) = Site::new(Wall::C, Phase::CommitsClosed) {
        // The path of the call has no bubblewrap; the one around it is found by its own.
        let bwrap = Command::new("sh").args(["-c", "command -v bwrap"]).output().unwrap();
        let bwrap = String::from_utf8_lossy(&bwrap.stdout).trim().to_owned();
        if bwrap.is_empty() {
            println!("skipped: `bwrap` is missing (package bubblewrap)");
            return;
        }
        let text = without_landlock(&site).replace("exec bwrap", &format!("exec {bwrap}"));
        check(&site, &["sh", "-c", &text, "sh"], &["level="]);
    }
}

#[test]
fn inside_a_container_it_is_what_the_container_allows() {
    let Some(site) = Site::new(Wall::B, Phase::CommitsClosed) else { return };
    let own: Vec<&str> =
        "bwrap --unshare-user --unshare-pid --unshare-ipc --dev-bind / / --proc /proc"
            .split(' ')
            .collect();
    // Some containers cannot hold another one.
    check(&site, &own, &["level=b", "level=c"]);
    let closed: Vec<&str> = own.into_iter().chain(["--disable-userns"]).collect();
    check(&site, &closed, &["level=c"]);
}

#[test]
fn inside_its_own_wall_it_does_not_open_anything() {
    let Some(site) = Site::new(Wall::B, Phase::CommitsClosed) else { return };
    let before = site.picture();
    let shell = site.path("programs/waypost-shell");
    let text =
        format!("{} 'echo evil > .git/waypost/x; git commit --allow-empty -m x'", shell.display());
    site.call(&text);
    assert_eq!(site.picture(), before);
}

#[test]
fn as_another_user_it_is_the_same() {
    if !rustix::process::getuid().is_root() || !is_there("setpriv") {
        println!("skipped: only root can be another user");
        return;
    }
    let Some(site) = Site::new(Wall::B, Phase::CommitsClosed) else { return };
    if !can_run(&site.path("programs")) {
        println!("skipped: another user cannot reach {}", site.path("programs").display());
        return;
    }
    let owned = Command::new("chown").args(["-R", "1000:1000"]).arg(site.path("")).status();
    assert!(owned.unwrap().success());
    let around = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"];
    check(&site, &around, &["level=b"]);
}

fn can_run(folder: &Path) -> bool {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=1000", "--regid=1000", "--clear-groups", "test", "-x"]);
    command.arg(folder.join("waypost-shell")).status().is_ok_and(|status| status.success())
}

#[test]
fn below_the_level_that_is_required_nothing_is_run() {
    let Some(site) = Site::new(Wall::C, Phase::CommitsClosed) else { return };
    let config = site.path("home/.config/waypost/config.toml");
    fs::write(config, "[wall]\nrequire = \"b\"\n").unwrap();
    let output = site.call("touch ran.txt; echo ran");
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("`wall.require` wants b"), "{said}");
    assert!(!site.root().join("ran.txt").exists());
}

#[test]
fn without_the_journal_nothing_is_allowed() {
    let Some(site) = Site::new(Wall::B, Phase::Open) else { return };
    let journal = site.root().join(".git/waypost/journal.db");
    fs::write(&journal, "no journal at all").unwrap();
    let before = site.picture();
    let output = site.call("echo in; echo evil > a.txt; git commit -q --allow-empty -m evil");
    assert_eq!(said(&output), "in");
    assert_eq!(site.picture(), before);
}

#[test]
fn a_forged_record_opens_nothing() {
    let Some(site) = Site::new(Wall::B, Phase::WritesClosed) else { return };
    let record = site.root().join(".git/waypost/gate/main");
    fs::create_dir_all(record.parent().unwrap()).unwrap();
    fs::write(&record, "waypost gate record 2\nsum 1c11ce5f5f1c4ea2\n").unwrap();
    let before = site.picture();
    site.call("echo evil > a.txt; git commit -q --allow-empty -m evil");
    let after = site.picture();
    for topic in ["written", "committed"] {
        assert_eq!(before[topic], after[topic], "{topic}");
    }
}

/// Asserts that a call that would write and commit does neither.
#[track_caller]
fn assert_closed(site: &Site, why: &str) {
    let before = site.picture();
    site.call("echo evil > a.txt; git commit -q --allow-empty -m evil");
    let after = site.picture();
    for topic in ["written", "committed"] {
        assert_eq!(before[topic], after[topic], "{why}: {topic}");
    }
}

#[test]
fn a_signed_record_from_before_opens_nothing() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    assert!(site.call("echo more >> a.txt").status.success());
    let record = site.root().join(".git/waypost/gate/main");
    let open = fs::read(&record).unwrap();
    site.waypost(&["develop", "gate", "reset", "review_clean_pass"]);
    fs::write(&record, open).unwrap();
    assert_closed(&site, "a record from before");
}

#[test]
fn a_journal_with_a_second_name_allows_nothing() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let journal = site.root().join(".git/waypost/journal.db");
    fs::hard_link(journal, site.path("outside/second")).unwrap();
    assert_closed(&site, "a second name");
}

#[test]
fn where_no_workflow_is_active_the_shell_is_as_it_was() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let elsewhere = site.path("outside");
    let mut command = site.shell("echo $GITHUB_TOKEN; grep NoNewPrivs /proc/self/status; exit 3");
    let output = command.current_dir(&elsewhere).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(said(&output), format!("{}\nNoNewPrivs:\t0", crate::site::CANARY));
}

#[test]
fn exit_codes_streams_and_signals_are_those_of_the_command() {
    for wall in [Wall::B, Wall::C] {
        let Some(site) = Site::new(wall, Phase::PushesClosed) else { continue };
        let code = |text: &str| site.call(text).status.code();
        let output = site.call("exit 42");
        assert_eq!(output.status.code(), Some(42), "{output:?}");
        assert_eq!(code("kill -9 $$"), Some(137));
        assert_eq!(code("no-such-program-at-all"), Some(127));
        let output =
            site.call("echo out; echo err >&2; cd docs && pwd > /tmp/waypost-wall-cd; cat");
        assert_eq!(said(&output), "out");
        assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "err");
        let output = site.call("head -c 3000000 /dev/zero | tr '\\0' x");
        assert_eq!(output.stdout.len(), 3_000_000);
        // A trap inside runs when the program is told to end.
        let mut child = site
            .shell("trap 'echo trapped; exit 9' TERM; echo up; sleep 60 & wait")
            .spawn()
            .unwrap();
        let mut first = [0; 3];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (said(&output).as_str(), output.status.code()),
            ("trapped", Some(9)),
            "{wall:?}"
        );
    }
}

#[test]
fn a_password_in_a_repository_is_not_shown_at_any_level() {
    for wall in [Wall::B, Wall::C] {
        let Some(site) = Site::new(wall, Phase::PushesClosed) else { continue };
        let secret = site.http.replace("http://", &format!("http://user:{}@", crate::site::CANARY));
        site.git(&site.root(), &["remote", "set-url", "web", &secret]);
        let output = site.call("cat .git/config; git remote -v; git push web HEAD:refs/heads/evil");
        let all = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        let all = String::from_utf8_lossy(&all).into_owned();
        assert!(!all.contains(crate::site::CANARY), "{wall:?}: {all}");
        assert_eq!(wall == Wall::C, all.contains("has a password in it"), "{wall:?}: {all}");
        let refs = site.git(&site.path("served/repository.git"), &["for-each-ref"]);
        assert!(!refs.contains("evil"), "{wall:?}: {refs}");
    }
}

#[test]
fn a_project_may_only_require_more() {
    let Some(site) = Site::new(Wall::B, Phase::PushesClosed) else { return };
    let status = |own: &str, project: &str| {
        fs::write(site.path("home/.config/waypost/config.toml"), own).unwrap();
        fs::write(site.root().join("waypost.toml"), project).unwrap();
        let mut command = site.outside(env!("CARGO_BIN_EXE_waypost"));
        let output = command.args(["config", "show"]).current_dir(site.root()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (is_fine, said) = status("[wall]\nrequire = \"c\"\n", "[wall]\nrequire = \"b\"\n");
    assert!(is_fine, "{said}");
    let (is_fine, said) = status("[wall]\nrequire = \"b\"\n", "[wall]\nrequire = \"c\"\n");
    assert!(!is_fine && said.contains("may only require more"), "{said}");
    let (is_fine, said) = status("", "[wall]\nbuild_folders = [\"src\"]\n");
    assert!(!is_fine && said.contains("opens the wall"), "{said}");
}

#[test]
fn tokens_in_settings_of_cargo_are_not_shown_at_any_level() {
    let names = ["credentials", "credentials.toml", "config", "config.toml"];
    let shown = names.map(|name| format!("cat \"$HOME/.cargo/{name}\"")).join("; ");
    for wall in [Wall::B, Wall::C] {
        let Some(site) = Site::new(wall, Phase::PushesClosed) else { continue };
        let all = |text: &str| {
            let output = site.call(text);
            let all = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
            String::from_utf8_lossy(&all).into_owned()
        };
        let told = all(&shown);
        assert!(!told.contains(crate::site::CANARY), "{wall:?}: {told}");
        // Settings without a token are what builds need.
        fs::write(site.path("home/.cargo/config.toml"), "[net]\noffline = true\n").unwrap();
        let told = all("cat \"$HOME/.cargo/config.toml\"");
        assert!(told.contains("offline = true"), "{wall:?}: {told}");
    }
}

#[test]
fn what_outlives_its_call_by_landlock_stays_restricted() {
    let Some(mut site) = Site::new(Wall::C, Phase::CommitsClosed) else { return };
    // In `/tmp`, where calls may write.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let (go, told) = (folder.path().join("go"), folder.path().join("told"));
    let deeds = "cp .git/refs/heads/side .git/refs/heads/evil; git commit -q --allow-empty -m evil; \
                 git push {remote} HEAD:refs/heads/evil; git push origin HEAD:refs/heads/evil; \
                 cat {home}/.netrc {home}/.ssh/id_ed25519; echo evil >> {out}/canary; kill {pid}; \
                 echo evil >> {state}/journal.db; waypost develop suspend --reason evil; echo FINISHED";
    let text = format!(
        "setsid sh -c 'while [ ! -e {} ]; do sleep 0.02; done; {deeds}' > {} 2>&1 < /dev/null &",
        go.display(),
        told.display(),
    );
    let before = site.picture();
    assert!(site.call(&site.filled(&text)).status.success());
    assert!(!site.left().is_empty(), "nothing has outlived the call");
    fs::write(&go, "").unwrap();
    let said = || fs::read_to_string(&told).unwrap_or_default();
    for _ in 0..1_000 {
        if said().contains("FINISHED") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(said().ends_with("FINISHED\n"), "{}", said());
    assert_eq!(site.picture(), before, "{}", said());
    assert!(!said().contains(crate::site::CANARY), "{}", said());
    assert!(site.canary_lives());
}

#[test]
fn what_must_be_there_is_not_skipped() {
    use crate::required::is_required;
    let table: [(&str, &[&str], bool); 6] = [
        ("", &["b"], false),
        ("c", &["b"], false),
        ("c", &["b", "c"], true),
        ("b,c", &["b"], true),
        ("b, c", &["c"], true),
        ("bc", &["b", "c"], false),
    ];
    for (required, levels, want) in table {
        assert_eq!(is_required(required, levels), want, "{required} {levels:?}");
    }
}
