//! A call of an agent that is inside a wall itself: held to the rights of this moment, and kept from
//! what the agent signs in with.
//!
//! The wall around the agent holds in any case; this one is Landlock within it. Git folders inside are
//! views, so they can be open here: what is carried out of them is decided outside.

use super::{Wanted, agent::sign_in, around::UserFolders, explain, folder, say, variables};
use std::process::ExitCode;
use waypost_agent::programs::BUILT_IN;
use waypost_model::layout::variable;
use waypost_wall::{Call, Enclosure, Level, Surroundings, Tools, WallError, What, finish};

pub(super) fn call(wanted: Wanted, around: &Surroundings) -> Result<ExitCode, WallError> {
    let text = wanted.text().map(std::ffi::OsStr::to_owned);
    let call = Call {
        program: wanted.program,
        arguments: wanted.arguments,
        variables: variables(&[]),
        folder: folder(),
        level: Level::C,
        enclosure: enclosure(around, &UserFolders::find()),
        tools: Tools::default(),
        is_quiet: false,
    };
    let code = finish(call.start()?, &mut [], &say)?;
    // The wall around the agent is one of namespaces.
    explain(text.as_deref(), code, Level::B, around);
    Ok(ExitCode::from(code))
}

fn enclosure(around: &Surroundings, homes: &UserFolders) -> Enclosure {
    let mut enclosure = Enclosure::bare();
    enclosure.set("/", What::Write);
    for program in BUILT_IN.all() {
        for path in sign_in(program, homes) {
            enclosure.set(path, What::Hidden);
        }
        for home in &homes.all {
            for name in program.shell_files.iter().filter(|name| home.join(name).exists()) {
                enclosure.set(home.join(name), What::Read);
            }
        }
    }
    // What runs in here finds the real shell under its name.
    enclosure.variables.push((variable::CALL.to_owned(), "1".to_owned()));
    for project in &around.projects {
        if !around.rights.write {
            enclosure.set(&project.root, What::Read);
            let builds = around.build_folders.iter().map(|name| project.root.join(name));
            builds.filter(|path| path.is_dir()).for_each(|path| enclosure.set(path, What::Write));
        }
        for git in [&project.git_common, &project.git_folder].into_iter().flatten() {
            enclosure.set(git, What::Write);
            if !around.rights.commit {
                for name in ["refs", "logs", "HEAD", "packed-refs"] {
                    if git.join(name).exists() {
                        enclosure.set(git.join(name), What::Read);
                    }
                }
            }
        }
    }
    enclosure
}
