//! `waypost man`: manual pages, from the commands themselves.

use crate::{Context, args, error::CliError};
use clap::Command;
use clap_mangen::Man;
use std::{fs, io, path::PathBuf, process::ExitCode};

/// Print the manual page, or write a page for every command
///
/// Without DIR, prints waypost(1) for `man -l -`. With it, writes waypost.1, waypost-run.1 and so
/// on into it, as in ~/.local/share/man/man1.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Where to write the pages; it is made if need be
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl ManArgs {
    /// Whether files are written.
    pub(crate) fn writes(&self) -> bool {
        self.folder.is_some()
    }
}

pub(crate) fn run(context: &Context, args: &ManArgs) -> Result<ExitCode, CliError> {
    let mut root = args::command();
    root.build();
    let Some(folder) = &args.folder else {
        let page = page(&root, "waypost")?;
        context.out.raw(&String::from_utf8_lossy(&page))?;
        return Ok(ExitCode::SUCCESS);
    };
    let folder = context.path(folder);
    fs::create_dir_all(&folder).map_err(|error| {
        CliError::bad_input(format!("cannot make the folder {}", folder.display())).because(&error)
    })?;
    let mut pages = Vec::new();
    collect(&root, "waypost", &mut pages)?;
    for (name, page) in &pages {
        waypost_engine::write_file(&folder.join(format!("{name}.1")), page)?;
    }
    context.out.done(format!("wrote {} pages to {}", pages.len(), folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// The page of a command, and those of its subcommands.
fn collect(command: &Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    pages.push((name.to_owned(), page(command, name)?));
    let is_shown = |inner: &&Command| !inner.is_hide_set() && inner.get_name() != "help";
    for inner in command.get_subcommands().filter(is_shown) {
        collect(inner, &format!("{name}-{}", inner.get_name()), pages)?;
    }
    Ok(())
}

fn page(command: &Command, name: &str) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone().display_name(name)).render(&mut page)?;
    Ok(page)
}
