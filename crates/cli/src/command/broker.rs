//! `waypost broker`: what is published for a call behind the wall. Not for people: `git` and `gh` inside
//! ask for it.

use super::open;
use crate::{Context, error::CliError};
use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};
use waypost_engine::publish::{self, CommitOrder, PullRequest, PushOrder, Said, Staged};

/// Publish for a call behind the wall
#[derive(Debug, clap::Args)]
pub(crate) struct BrokerArgs {
    #[command(subcommand)]
    action: BrokerAction,
}

#[derive(Debug, clap::Subcommand)]
enum BrokerAction {
    /// Push commits to refs of a remote
    #[command(hide = true)]
    Push {
        remote: String,
        /// SHA:refs/heads/NAME
        #[arg(required = true)]
        updates: Vec<String>,
        #[arg(long)]
        force: bool,
        /// The local branch that follows the remote's from now on
        #[arg(long)]
        upstream: Option<String>,
    },
    /// Fetch branches of a remote, all if none is named
    #[command(hide = true)]
    Fetch { remote: String, branches: Vec<String> },
    /// Stage files, all if none is named
    #[command(hide = true)]
    Add {
        /// Only what git knows already
        #[arg(long)]
        known: bool,
        paths: Vec<String>,
    },
    /// Commit what is staged
    #[command(hide = true)]
    Commit {
        #[arg(long)]
        message: Option<String>,
        /// Stage what git knows before
        #[arg(long)]
        all: bool,
        #[arg(long)]
        amend: bool,
        #[arg(long)]
        allow_empty: bool,
    },
    /// Open a pull request
    #[command(hide = true)]
    PullRequest {
        remote: String,
        head: String,
        #[arg(long)]
        title: String,
        #[arg(long)]
        body: String,
        #[arg(long)]
        base: Option<String>,
        #[arg(long)]
        draft: bool,
    },
}

pub(crate) fn run(context: &Context, args: &BrokerArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let folder = env::current_dir()?.join(&context.directory);
    let said = match &args.action {
        BrokerAction::Push { remote, updates, force, upstream } => publish::push(
            &mut project,
            &PushOrder {
                remote: remote.clone(),
                updates: updates.clone(),
                is_forced: *force,
                upstream: upstream.clone(),
            },
        )?,
        BrokerAction::Fetch { remote, branches } => publish::fetch(&mut project, remote, branches)?,
        BrokerAction::Add { known, paths } => {
            let staged = if *known { Staged::Known } else { Staged::Named };
            publish::stage(&mut project, &folder, &staged(paths.clone()))?;
            return Ok(ExitCode::SUCCESS);
        }
        BrokerAction::Commit { message, all, amend, allow_empty } => {
            if *all {
                publish::stage(&mut project, &folder, &Staged::Known(Vec::new()))?;
            }
            let order = CommitOrder {
                message: message.clone(),
                is_amended: *amend,
                may_be_empty: *allow_empty,
            };
            publish::commit(&mut project, &folder, &order)?
        }
        BrokerAction::PullRequest { remote, head, title, body, base, draft } => {
            publish::open_pull_request(
                &mut project,
                &PullRequest {
                    remote: remote.clone(),
                    head: head.clone(),
                    base: base.clone(),
                    title: title.clone(),
                    body: body.clone(),
                    is_draft: *draft,
                },
            )?
        }
    };
    pass_on(&said)
}

/// What the program outside said is said here, byte for byte.
fn pass_on(said: &Said) -> Result<ExitCode, CliError> {
    io::stderr().write_all(&said.stderr)?;
    io::stdout().write_all(&said.stdout)?;
    Ok(ExitCode::from(said.code))
}
