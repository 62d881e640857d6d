//! Finds the system calls of a command that touch a site, and lets one of them go wrong.
//!
//! A point is the Nth call of one kind in the whole process, which is how strace counts. The
//! program is deterministic enough for that: the same command on the same site makes the same
//! calls. Where it does not, the point is missed, and missed points are counted.

use crate::{
    process::{self, Ended},
    site::{Site, WAYPOST},
};
use std::{collections::HashMap, fs, path::Path, process::Command};

/// Calls that change something, or after which something else may have changed. A name with a
/// question mark is one that not every architecture has.
pub(crate) const CHANGING: &str = "openat,write,pwrite64,?writev,fsync,fdatasync,?rename,\
    ?renameat,?renameat2,?link,linkat,?unlink,unlinkat,ftruncate,?fallocate,close,?mkdir,mkdirat,\
    fcntl,?flock,mmap,munmap,utimensat,fchmod,?connect";

/// Calls that need space or a working disk to write to.
pub(crate) const WRITING: &str = "openat,write,pwrite64,?writev,fsync,fdatasync,?rename,\
    ?renameat,?renameat2,?link,linkat,?unlink,unlinkat,ftruncate,?fallocate,?mkdir,mkdirat,\
    utimensat,fchmod";

/// Calls that read: their answers decide what is done next.
pub(crate) const READING: &str =
    "openat,read,pread64,getdents64,newfstatat,statx,?stat,?lstat,fstat,lseek,?flock,fcntl,mmap";

/// One system call of a command.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) call: String,
    /// Counted from one, among the calls of the same name.
    pub(crate) number: usize,
    /// The call as strace shows it.
    pub(crate) line: String,
}

/// Why nothing can be traced here; `None`: it can.
pub(crate) fn obstacle() -> Option<String> {
    let probe = Command::new("strace").args(["-qq", "-f", "-o", "/dev/null", "true"]).output();
    match probe {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("strace cannot be started: {error}")),
    }
}

/// The calls among `calls` that touch the site while `args` are run to their end.
pub(crate) fn points(site: &Site, args: &[&str], calls: &str) -> (Vec<Point>, Ended) {
    let log = site.outside("trace");
    let ended = process::run(
        site.command("strace")
            .args(["-f", "--seccomp-bpf", "-qq", "-y", "-e", "signal=none", "-o"])
            .arg(&log)
            .args(["-e", &format!("trace={calls}"), WAYPOST])
            .args(args),
    );
    (parse(&fs::read_to_string(log).unwrap(), &site.root()), ended)
}

/// Runs `args` with one call going wrong: `fault` is `signal=SIGKILL` or `error=EIO`.
pub(crate) fn inject(site: &Site, args: &[&str], point: &Point, fault: &str) -> Ended {
    let Point { call, number, .. } = point;
    let mut command = site.command("strace");
    if fault.starts_with("error") {
        // Stopping at the wanted calls alone is faster, but loses injected signals.
        command.arg("--seccomp-bpf");
    }
    process::run(
        command
            .args(["-f", "-qq", "-e", "signal=none", "-o", "/dev/null"])
            .args(["-e", &format!("trace={call}")])
            .args(["-e", &format!("inject={call}:{fault}:when={number}"), WAYPOST])
            .args(args),
    )
}

/// Lines are `PID call(arguments) = result`; only the first process is ours.
fn parse(log: &str, root: &Path) -> Vec<Point> {
    let ours = log.split_ascii_whitespace().next().unwrap_or_default();
    let root = root.to_str().unwrap();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut found = Vec::new();
    for line in log.lines() {
        let Some((pid, rest)) = line.split_once(char::is_whitespace) else { continue };
        let Some((call, arguments)) = rest.trim_start().split_once('(') else { continue };
        if pid != ours {
            continue;
        }
        let count = counts.entry(call).or_default();
        *count += 1;
        if touches(arguments, root) {
            let line = rest.trim_start().to_owned();
            found.push(Point { call: call.to_owned(), number: *count, line });
        }
    }
    found
}

/// The working folder is named in every call with a path, and means nothing.
fn touches(arguments: &str, root: &str) -> bool {
    let rest = match arguments.strip_prefix("AT_FDCWD<") {
        Some(rest) => rest.split_once('>').map_or("", |(_, rest)| rest),
        None => arguments,
    };
    rest.contains(root)
}

#[test]
fn only_calls_that_touch_the_site_are_points() {
    let log = "\
7 openat(AT_FDCWD</t/live/project>, \"/etc/passwd\", O_RDONLY) = 3</etc/passwd>
7 openat(AT_FDCWD</t/live/project>, \"/t/live/project/a\", O_RDONLY) = 3</t/live/project/a>
8 write(4</t/live/project/b>, \"x\", 1) = 1
7 write(1<pipe:[3]>, \"x\", 1) = 1
7 write(3</t/live/project/a>, \"x\", 1) = 1
";
    let found = parse(log, Path::new("/t/live"));
    let found: Vec<(&str, usize)> = found.iter().map(|it| (it.call.as_str(), it.number)).collect();
    assert_eq!(found, [("openat", 2), ("write", 2)]);
}
