//! Folders to try things in, apart from all work of people.

use crate::error::{EngineError, Problem};
use std::{fs, path::Path};
use waypost_git::Git;
use waypost_model::{code::Code, layout};
use waypost_store::file;

/// Makes a folder with some files, and a repository of it where git is installed.
pub fn make_scratch(folder: &Path, files: &[(&str, String)]) -> Result<(), EngineError> {
    if folder.exists() {
        let message = format!("{} is already there", folder.display());
        let hint = "name a folder that does not exist yet";
        return Err(Problem::new(Code::FolderExists, message).hint(hint).into());
    }
    // Without git this is what makes it a project.
    fs::create_dir_all(folder.join(layout::STATE_OUTSIDE_GIT)).map_err(|error| {
        Problem::new(Code::FileFailed, format!("cannot make {}", folder.display()))
            .hint("name a folder that can be made")
            .because(error)
    })?;
    for (name, text) in files {
        file::replace(&folder.join(name), text.as_bytes(), file::SHARED)?;
    }
    let git = Git::at(folder).setting("user.name=Waypost").setting("user.email=demo@localhost");
    if matches!(git.try_text(&["init", "--quiet", "--initial-branch=main"]), Ok(Some(_))) {
        fs::remove_dir(folder.join(layout::STATE_OUTSIDE_GIT)).ok();
        git.text(&["add", "--all"])?;
        git.text(&["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message=begin"])?;
    }
    Ok(())
}
