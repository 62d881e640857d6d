//! Control groups (version 2): a name for everything that a child starts, which it cannot shed.
//!
//! A group freezes and kills all that is in it at once, also what is born meanwhile. It is used
//! where one can be made below the keeper's own, and nothing depends on it: whatever fails here
//! leaves the child without a group, and its tree is walked as it is everywhere else. The tree is
//! walked beside it too, because a child runs for an instant before it is put into its group: what
//! it started within that instant stays outside.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Groups in groups deeper than this are not looked into.
const DEPTH_MAX: u32 = 16;

/// Where a keeper makes its children's groups: the group that the keeper itself is in.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) folder: PathBuf,
    prefix: String,
}

/// The group of one child.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
}

impl Home {
    /// The group that this process is in; `None`: this system does not show it.
    pub(crate) fn of(keeper: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let folder =
            folders(&mounts, &own).into_iter().find(|folder| folder.join("cgroup.procs").exists());
        Some(Self::at(folder?, keeper))
    }

    pub(crate) fn at(folder: PathBuf, keeper: &str) -> Self {
        Self { folder, prefix: format!("waypost-{keeper}-") }
    }

    /// Makes a group and puts a process into it; `None`: that is not possible here.
    ///
    /// The process must be a child that has not been waited for, so that its number is its own.
    pub(crate) fn make(&self, number: u64, pid: u32) -> Option<Group> {
        let group = Group { folder: self.folder.join(format!("{}{number}", self.prefix)) };
        fs::create_dir(&group.folder).ok()?;
        if group.set("cgroup.procs", &pid.to_string()).is_ok() {
            return Some(group);
        }
        group.remove();
        None
    }

    /// All groups that were made here for children of this keeper.
    pub(crate) fn groups(&self) -> Vec<Group> {
        let is_ours = |folder: &PathBuf| {
            let name = folder.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(&self.prefix))
        };
        folders_in(&self.folder).filter(is_ours).map(|folder| Group { folder }).collect()
    }
}

impl Group {
    /// Makes all of it stand still, also what comes later; says whether that can be asked for.
    pub(crate) fn freeze(&self) -> bool {
        self.set("cgroup.freeze", "1").is_ok()
    }

    pub(crate) fn thaw(&self) {
        // It fails only where freezing did.
        let _never_frozen = self.set("cgroup.freeze", "0");
    }

    pub(crate) fn is_frozen(&self) -> bool {
        let events = fs::read_to_string(self.folder.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "frozen 1")
    }

    /// Kills all of it. Older systems cannot; signals to the walked tree are sent in any case.
    pub(crate) fn kill(&self) {
        let _by_signals = self.set("cgroup.kill", "1");
    }

    /// Who is in it now.
    ///
    /// A number read here belongs to the process whose identity was read before, if that one still
    /// lives.
    pub(crate) fn pids(&self) -> HashSet<u32> {
        let mut pids = HashSet::new();
        for folder in tree(&self.folder, DEPTH_MAX) {
            let list = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            pids.extend(list.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
        pids
    }

    /// Removes it, with the groups that were made in it. `false`: a process is still in it.
    pub(crate) fn remove(&self) -> bool {
        // The innermost come last.
        tree(&self.folder, DEPTH_MAX).iter().rev().all(|folder| match fs::remove_dir(folder) {
            Err(e) => e.kind() != io::ErrorKind::ResourceBusy,
            Ok(()) => true,
        })
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.folder.join(file))?.write_all(value.as_bytes())
    }
}

/// A folder and those below it, each before what is in it.
fn tree(folder: &Path, depth: u32) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    if depth > 0 {
        all.extend(folders_in(folder).flat_map(|inner| tree(&inner, depth - 1)));
    }
    all
}

fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir())).map(|entry| entry.path())
}

/// Where a process's own group is seen, given its `/proc` files `mountinfo` and `cgroup`.
fn folders(mounts: &str, own: &str) -> Vec<PathBuf> {
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Vec::new();
    };
    // What is above the namespace of groups that this process sees is not its own.
    if Path::new(path).components().any(|part| part.as_os_str() == "..") {
        return Vec::new();
    }
    mounts.lines().filter_map(|line| folder(line, path)).collect()
}

/// Where one mount shows the group `path`.
fn folder(mount: &str, path: &str) -> Option<PathBuf> {
    let (place, kind) = mount.split_once(" - ")?;
    if kind.split(' ').next()? != "cgroup2" {
        return None;
    }
    let mut fields = place.split(' ').skip(3);
    let (root, point) = (unescaped(fields.next()?)?, unescaped(fields.next()?)?);
    let inside = Path::new(path).strip_prefix(root).ok()?;
    Some(Path::new(&point).join(inside))
}

/// A field of `mountinfo`, in which a space is `\040`.
fn unescaped(field: &str) -> Option<String> {
    let mut parts = field.split('\\');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(3)?;
        text.push(char::from(u8::from_str_radix(digits, 8).ok()?));
        text.push_str(rest);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 master:2 - cgroup2 cgroup2 rw
";
    const UNIFIED: &str = "\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
";
    const PARTIAL: &str = "\
35 24 0:30 /box/a /sys/fs/cgroup ro - cgroup2 cgroup rw
36 24 0:30 /box/a /mnt/a\\040b\\134c rw - cgroup2 cgroup rw
";

    #[test]
    fn the_own_group_is_found_wherever_it_is_mounted() {
        let check = |mounts: &str, own: &str, want: &[&str]| {
            let want: Vec<PathBuf> = want.iter().map(PathBuf::from).collect();
            assert_eq!(folders(mounts, own), want, "{own}");
        };
        let slice = "/user.slice/user-1000.slice/user@1000.service/app.slice";
        check(HYBRID, "8:pids:/x\n0::/\n", &["/sys/fs/cgroup/unified/"]);
        check(HYBRID, "8:pids:/\n", &[]);
        check(UNIFIED, &format!("0::{slice}\n"), &[&format!("/sys/fs/cgroup{slice}")]);
        check(UNIFIED, "0::/../other\n", &[]);
        check(PARTIAL, "0::/box/a/b\n", &["/sys/fs/cgroup/b", "/mnt/a b\\c/b"]);
        check(PARTIAL, "0::/box/ab\n", &[]);
        check(PARTIAL, "0::/\n", &[]);
        check("", "0::/\n", &[]);
        check("41 31 0:38 / - cgroup2\n41 31 - cgroup2 x\nnot a mount\n", "0::/\n", &[]);
    }

    #[test]
    fn only_the_groups_of_one_keeper_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["waypost-keeper_a-1", "waypost-keeper_a-2", "waypost-keeper_ab-3", "other"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let home = Home::at(folder.path().to_owned(), "keeper_a");
        let mut found: Vec<PathBuf> = home.groups().into_iter().map(|it| it.folder).collect();
        found.sort();
        let want = ["waypost-keeper_a-1", "waypost-keeper_a-2"].map(|n| folder.path().join(n));
        assert_eq!(found, want);
        assert!(Home::at(folder.path().join("none"), "keeper_a").groups().is_empty());
    }

    #[test]
    fn what_is_no_control_group_makes_no_group() {
        let folder = tempfile::tempdir().unwrap();
        // An ordinary folder has no file that takes a process.
        let home = Home::at(folder.path().to_owned(), "keeper_a");
        assert!(home.make(1, std::process::id()).is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
