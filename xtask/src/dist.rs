//! Builds the programs as they are given away: optimised as a whole, stripped, and on Linux linked
//! static and without a movable address, which saves most of the time that starting them takes.
//!
//! The price is that the program itself is always loaded at the same address; stack, heap and the
//! kernel's own pages still are not.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::command_line::{CommandLine, target};

/// All programs stand in one folder: each finds the others there.
const PROGRAMS: [&str; 3] = ["waypost", "waypost-hook", "waypost-shell"];

/// The standard library asks at run time whether the C library has these, and starts processes by
/// copying itself where it has not. Nothing else names them, so a static program would not have them.
const SPAWN_SYMBOLS: &str = "link-arg=-Wl,--undefined=posix_spawn_file_actions_addchdir_np,\
                             --undefined=gnu_get_libc_version";

/// Where the built programs are copied to, if not left where they were built.
pub(crate) fn run(to: Option<&str>) -> Result<()> {
    match to {
        Some(to) => {
            install(Path::new(to))?;
            println!("installed {} in {to}", PROGRAMS.join(", "));
        }
        None => println!("built {} in {}", PROGRAMS.join(", "), build()?.display()),
    }
    Ok(())
}

/// Builds the programs and copies them to a folder, as users have them. What a linker has written
/// lies in memory in smaller pieces than a copy does, and starts more slowly for as long.
pub(crate) fn install(to: &Path) -> Result<()> {
    let built = build()?;
    std::fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for program in PROGRAMS {
        // A program that runs cannot be written to, but it can be replaced.
        let (from, aside) = (built.join(program), to.join(format!(".{program}.new")));
        std::fs::copy(&from, &aside)
            .and_then(|_| std::fs::rename(&aside, to.join(program)))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

/// Builds the programs and returns the folder that they are in.
fn build() -> Result<PathBuf> {
    for program in PROGRAMS {
        let line = line(program, cfg!(target_os = "linux"));
        println!("running {line}");
        line.run()?;
    }
    Ok(target().join("dist"))
}

fn line(program: &str, is_linux: bool) -> CommandLine {
    let line = CommandLine::cargo("rustc --profile dist --package waypost --bin").with([program]);
    let flags = ["target-feature=+crt-static", "relocation-model=static", SPAWN_SYMBOLS];
    let flags = ["--"].into_iter().chain(flags.into_iter().flat_map(|flag| ["-C", flag]));
    line.with(flags.filter(|_| is_linux))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_linux_gets_a_program_without_a_loader() {
        assert_eq!(
            line("waypost-hook", true).to_string(),
            "cargo rustc --profile dist --package waypost --bin waypost-hook -- -C \
             target-feature=+crt-static -C relocation-model=static -C \
             link-arg=-Wl,--undefined=posix_spawn_file_actions_addchdir_np,\
             --undefined=gnu_get_libc_version"
        );
        assert_eq!(
            line("waypost", false).to_string(),
            "cargo rustc --profile dist --package waypost --bin waypost"
        );
    }

    /// The entries of a section of the workspace's manifest.
    fn section(name: &str) -> Vec<String> {
        let manifest = std::fs::read_to_string(crate::command_line::root().join("Cargo.toml"));
        let manifest = manifest.expect("the workspace has a manifest");
        let lines = manifest.lines().skip_while(|line| *line != format!("[{name}]")).skip(1);
        let lines = lines.take_while(|line| !line.starts_with('['));
        lines.filter(|line| line.contains('=')).map(str::to_owned).collect()
    }

    #[test]
    fn installed_programs_have_no_symbols_and_a_profile_has() {
        assert_eq!(section("profile.release"), ["strip = true"]);
        let profiling = ["inherits = \"release\"", "strip = false", "debug = \"line-tables-only\""];
        assert_eq!(section("profile.profiling"), profiling);
        let keeps = |line: &String| line.starts_with("strip");
        assert!(!section("profile.dist").iter().any(keeps), "as release");
    }
}
