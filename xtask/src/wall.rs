//! Which walls the tests must find: those that this machine is seen to build without our programs.
//!
//! A test of the wall skips itself where the wall cannot be had, so that tests can be run on every
//! machine. A fault by which our programs find no wall would then pass as well, so what bubblewrap and
//! the kernel can do is tried here first, and what they can do is required of the tests.

use crate::command_line::CommandLine;

/// What the tests read: `b`, `c`, both with a comma, or nothing. What a person has set stays.
const VARIABLE: &str = "WAYPOST_WALL_REQUIRED";

/// Namespaces as a wall of level B has them.
const NAMESPACES: [&str; 11] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "true",
];

/// Asks the kernel for its version of Landlock (call 444 on every machine that we build for): level C
/// needs the sixth, which has signals and abstract sockets.
const LANDLOCK: [&str; 2] = ["-e", "exit(syscall(444, 0, 0, 1) < 6)"];

/// The same line, and that it must find the walls that can be had here.
pub(crate) fn required(line: CommandLine) -> CommandLine {
    if std::env::var_os(VARIABLE).is_some() {
        return line;
    }
    let walls = walls(
        CommandLine::new("bwrap", NAMESPACES).succeeds(),
        CommandLine::new("perl", LANDLOCK).succeeds(),
    );
    line.variable(VARIABLE, &walls)
}

fn walls(has_namespaces: bool, has_landlock: bool) -> String {
    let walls = [has_namespaces.then_some("b"), has_landlock.then_some("c")];
    walls.into_iter().flatten().collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_had_is_required_and_nothing_else() {
        assert_eq!(walls(true, true), "b,c");
        assert_eq!(walls(false, true), "c");
        assert_eq!(walls(true, false), "b");
        assert_eq!(walls(false, false), "");
    }

    #[test]
    fn a_line_of_tests_says_what_is_required() {
        let shown = required(CommandLine::cargo("test")).to_string();
        let is_set = std::env::var_os(VARIABLE).is_some();
        assert_eq!(shown.contains(VARIABLE), !is_set, "{shown}");
    }
}
