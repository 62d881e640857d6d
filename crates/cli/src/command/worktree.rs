//! `waypost worktree`: the work trees of runs, listed, brought back and cleared up.

use super::open;
use crate::data::{PruneReport, PrunedTree, StayedTree, TreeList, TreeReport, UndoneTree};
use crate::{
    Context,
    error::CliError,
    output::{BOLD, DIM, styled},
};
use std::{process::ExitCode, time::Duration};
use waypost_engine::{Project, PruneOptions, TreeState};

/// List, bring back and clear up the work trees of runs
///
/// Tasks of a run are worked on in work trees below `worktree/`. Before one of them is removed,
/// everything in it that is nowhere else is kept in a snapshot, a commit under
/// `refs/waypost/snapshots`, from which it can be brought back.
#[derive(Debug, clap::Args)]
pub(crate) struct WorktreeArgs {
    #[command(subcommand)]
    command: WorktreeCommand,
}

#[derive(Debug, clap::Subcommand)]
enum WorktreeCommand {
    /// Show the work trees, and the snapshots of those that are gone
    List,
    Undo(UndoArgs),
    Prune(PruneArgs),
}

/// Bring a work tree back from its newest snapshot
///
/// Files, index, branch and head are as they were; what git ignores was not kept. The snapshot
/// stays.
#[derive(Debug, clap::Args)]
struct UndoArgs {
    /// The tree, as in phase-1-cart--T1.2-3; with /N behind it, its Nth snapshot
    name: String,
}

/// Remove work trees that are not used
///
/// Trees of failed tasks go when they were not used for `worktree.keep_days`, each with a snapshot
/// of what is nowhere else; snapshots are deleted after `worktree.snapshot_days`. What processes
/// that were killed have left is deleted. A tree with a process in it stays. Deleting snapshots is
/// reserved for a person at a terminal.
#[derive(Debug, clap::Args)]
struct PruneArgs {
    /// Trees that were not used for so many days, in place of `worktree.keep_days`
    #[arg(long, value_name = "DAYS")]
    older_than: Option<u32>,

    /// Remove trees, the oldest first, until so much is free
    #[arg(long, value_name = "MB")]
    need: Option<u64>,

    /// Remove also trees with repositories inside whose work is lost with them; reserved for a
    /// person
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(context: &Context, args: &WorktreeArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    match &args.command {
        WorktreeCommand::List => list(context, &mut project),
        WorktreeCommand::Undo(args) => undo(context, &mut project, args),
        WorktreeCommand::Prune(args) => prune(context, &mut project, args),
    }
}

fn list(context: &Context, project: &mut Project) -> Result<ExitCode, CliError> {
    let trees = waypost_engine::work_trees(project)?;
    let now = project.clock().now();
    if context.out.json {
        context.out.json(&TreeList { trees: trees.iter().map(TreeReport::from).collect() })?;
        return Ok(ExitCode::SUCCESS);
    }
    if trees.is_empty() {
        context.out.note("there are no work trees of runs, and no snapshots");
        return Ok(ExitCode::SUCCESS);
    }
    let heads = ["NAME", "TASK", "STATE", "CHANGES", "SIZE", "USED", "SNAPSHOTS"];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(trees.iter().map(|tree| {
        let is_gone = tree.state == TreeState::Removed;
        let short = tree.name.rsplit('/').next().unwrap_or(&tree.name);
        [
            short.to_owned(),
            tree.task.clone().unwrap_or_else(|| "-".into()),
            tree.state.as_str().to_owned(),
            if tree.is_dirty { "yes" } else { "-" }.to_owned(),
            if is_gone { "-".into() } else { size(tree.size_bytes) },
            tree.used_at.map_or_else(|| "-".into(), |at| age(now.since(at))),
            match tree.snapshots.len() {
                0 => "-".into(),
                count => count.to_string(),
            },
        ]
    }));
    for (number, line) in table(&rows).into_iter().enumerate() {
        context.out.line(if number == 0 { styled(BOLD, line) } else { line })?;
    }
    for tree in trees.iter().filter(|tree| !tree.processes.is_empty()) {
        let inside: Vec<String> =
            tree.processes.iter().map(|(pid, program)| format!("{program} ({pid})")).collect();
        context.out.line(styled(DIM, format!("in {}: {}", tree.name, inside.join(", "))))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn undo(context: &Context, project: &mut Project, args: &UndoArgs) -> Result<ExitCode, CliError> {
    let undone = waypost_engine::undo_work_tree(project, &args.name)?;
    if context.out.json {
        let (name, path) = (&undone.name, &undone.path);
        context.out.json(&UndoneTree { name, path, snapshot: undone.snapshot.as_deref() })?;
        return Ok(ExitCode::SUCCESS);
    }
    let from = match &undone.snapshot {
        Some(snapshot) => format!("from {snapshot}"),
        None => "from its branch and index: only its folder was gone".to_owned(),
    };
    context.out.done(format!("{} is back, {from}", undone.name));
    context.out.line(undone.path.display())?;
    Ok(ExitCode::SUCCESS)
}

fn prune(context: &Context, project: &mut Project, args: &PruneArgs) -> Result<ExitCode, CliError> {
    let PruneArgs { older_than, need, force } = *args;
    let options = PruneOptions { older_than_days: older_than, need_mb: need, force };
    let pruned = waypost_engine::prune_work_trees(project, &options)?;
    if context.out.json {
        let removed = pruned.removed.iter();
        let stayed = pruned.stayed.iter();
        context.out.json(&PruneReport {
            removed: removed
                .map(|(name, snapshot)| PrunedTree { name, snapshot: snapshot.as_deref() })
                .collect(),
            stayed: stayed.map(|(name, reason)| StayedTree { name, reason }).collect(),
            deleted_snapshots: &pruned.deleted,
            swept: pruned.swept,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    for (name, snapshot) in &pruned.removed {
        match snapshot {
            Some(snapshot) => context.out.line(format!("{name} removed, kept in {snapshot}"))?,
            None => context.out.line(format!("{name} removed, nothing was to be kept"))?,
        }
    }
    for snapshot in &pruned.deleted {
        context.out.line(format!("{snapshot} deleted"))?;
    }
    for (name, reason) in &pruned.stayed {
        context.out.warning(format!("{name} stays: {reason}"));
    }
    if pruned.removed.is_empty() && pruned.deleted.is_empty() {
        context.out.done("nothing was to be removed");
    }
    Ok(ExitCode::SUCCESS)
}

/// Columns that are as wide as their widest cell.
fn table(rows: &[[String; 7]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..7).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} kB", bytes.div_ceil(1_024)),
        1_048_576..10_737_418_240 => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}

fn age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds} s ago"),
        seconds @ 120..7_200 => format!("{} min ago", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}
