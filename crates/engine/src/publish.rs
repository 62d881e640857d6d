//! What leaves the machine for an agent: pushes, fetches, pull requests.
//!
//! An agent behind a wall has no credentials. What the workflow lets it publish is published here, from
//! outside, with nothing of its choosing but the commit, the ref and the words: and the files of that commit
//! have to be those that the last gate was passed for. So it does not matter how a commit came about.

use crate::{
    error::{EngineError, Problem},
    gate,
    project::Project,
};
use std::{
    env,
    path::Path,
    process::{Command, Output, Stdio},
};
pub use waypost_git::record::{CommitOrder, Staged};
use waypost_git::{
    Git, filters,
    publish::{self, Remote, Update},
    record,
};
use waypost_model::{
    code::Code,
    layout::variable,
    machine::Rejected,
    next::NextStep,
    workflow::{GateName, Phase, Rights},
};

/// What an agent may do in more phases than one.
const COMMITTING: &str = "committing";

/// A push, as it was asked for.
#[derive(Clone, Debug)]
pub struct PushOrder {
    /// The remote's name.
    pub remote: String,
    /// `SHA:refs/…` each.
    pub updates: Vec<String>,
    pub is_forced: bool,
    /// The local branch that follows the first of them from now on.
    pub upstream: Option<String>,
}

/// What is said of a new pull request.
#[derive(Clone, Debug)]
pub struct PullRequest {
    pub remote: String,
    pub head: String,
    pub base: Option<String>,
    pub title: String,
    pub body: String,
    pub is_draft: bool,
}

/// How a program of the user's ended, and what it said.
#[derive(Clone, Debug)]
pub struct Said {
    pub code: u8,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        Self { code, stdout: output.stdout, stderr: output.stderr }
    }
}

/// Pushes commits, if the workflow lets these be pushed.
pub fn push(project: &mut Project, order: &PushOrder) -> Result<Said, EngineError> {
    let remote = start(project, &order.remote)?;
    let updates: Option<Vec<Update>> = order.updates.iter().map(|it| Update::parse(it)).collect();
    let Some(updates) = updates.filter(|updates| !updates.is_empty()) else {
        let message = "a push names commits and whole refs";
        return Err(Problem::new(Code::BadArgument, message).into());
    };
    let rights = rights(project)?;
    for update in &updates {
        let is_open = match update.branch() {
            Some(branch) if !is_default(project, &remote, branch)? => rights.push_branch,
            _ => rights.publish,
        };
        if !is_open {
            return Err(closed(project, "pushing")?);
        }
        require_reviewed(project, &update.commit)?;
    }
    let output = publish::push(project.place(), &remote, &updates, order.is_forced)?;
    if output.status.success()
        && let (Some(local), Some(branch)) = (&order.upstream, updates[0].branch())
    {
        follow(project, &remote, local, branch)?;
    }
    Ok(output.into())
}

/// Fetches branches of a remote; that is open in every phase.
pub fn fetch(
    project: &mut Project,
    remote: &str,
    branches: &[String],
) -> Result<Said, EngineError> {
    project.refuse_stale()?;
    refuse_others(project)?;
    let remote = find(project, remote)?;
    Ok(publish::fetch(project.place(), &remote, branches)?.into())
}

/// Opens a pull request with the forge's own program.
#[expect(clippy::disallowed_methods, reason = "the forge's program, with arguments of ours")]
pub fn open_pull_request(project: &mut Project, wish: &PullRequest) -> Result<Said, EngineError> {
    let remote = start(project, &wish.remote)?;
    if !rights(project)?.publish {
        return Err(closed(project, "opening a pull request")?);
    }
    let tracking = format!("refs/remotes/{}/{}", remote.name, wish.head);
    let git = Git::at(project.root());
    let Some(commit) = git.try_text(&["rev-parse", "--verify", "--quiet", &tracking])? else {
        let message = format!("{} was not pushed to {} yet", wish.head, remote.name);
        return Err(Problem::new(Code::CommitUnknown, message).hint("push it first").into());
    };
    require_reviewed(project, &commit)?;
    let mut command = Command::new("gh");
    command.args(["pr", "create", "--repo", &remote.shown(), "--head", &wish.head]);
    command.args(wish.base.iter().flat_map(|base| ["--base", base]));
    command.args(wish.is_draft.then_some("--draft"));
    command.args(["--title", &wish.title, "--body", &wish.body]);
    // Not in the project: git would be asked there, as its configuration says.
    command.current_dir(&project.place().state).stdin(Stdio::null());
    match command.output() {
        Ok(output) => Ok(output.into()),
        Err(error) => {
            let message = "GitHub's program `gh` is not installed outside, so no pull request can \
                           be opened from here";
            let hint = "the branch is pushed; a person opens the pull request at the forge";
            Err(Problem::new(Code::ProgramMissing, message).hint(hint).because(error).into())
        }
    }
}

/// Stages files for a caller that cannot write the git folder; that is open in every phase.
pub fn stage(project: &mut Project, folder: &Path, staged: &Staged) -> Result<(), EngineError> {
    project.refuse_stale()?;
    Ok(record::stage(project.place(), folder, staged)?)
}

/// Commits what is staged for such a caller, if the workflow lets it commit. The repository's hooks were
/// run where the caller is.
pub fn commit(
    project: &mut Project,
    folder: &Path,
    order: &CommitOrder,
) -> Result<Said, EngineError> {
    project.refuse_stale()?;
    if !rights(project)?.commit {
        return Err(closed(project, COMMITTING)?);
    }
    Ok(record::commit(project.place(), folder, order)?.into())
}

/// What has to hold before anything is published.
fn start(project: &mut Project, remote: &str) -> Result<Remote, EngineError> {
    project.refuse_stale()?;
    if project.is_in_attempt() {
        let message = "an attempt publishes nothing: Waypost joins and lands its work";
        return Err(Rejected::rule(Code::WaypostOnly, message).into());
    }
    refuse_others(project)?;
    find(project, remote)
}

/// A call speaks with remotes for the projects that it is made for. From any other repository, such as a clone that it
/// has made itself, it could publish whatever it likes, with a person's credentials.
fn refuse_others(project: &Project) -> Result<(), EngineError> {
    let Some(held) = env::var_os(variable::BROKERED) else { return Ok(()) };
    if env::split_paths(&held).any(|state| state == project.place().state) {
        return Ok(());
    }
    let message = format!(
        "the call is not made for {}, so nothing is pushed or fetched for it from there",
        project.root().display()
    );
    Err(Rejected::rule(Code::WaypostOnly, message).into())
}

fn find(project: &Project, name: &str) -> Result<Remote, EngineError> {
    let common = project.place().git_common.as_deref();
    let found = common.map(|common| Remote::find(common, name)).transpose()?.flatten();
    found.ok_or_else(|| {
        let message =
            format!("the repository's configuration has no remote `{name}` to speak with");
        Problem::new(Code::BadArgument, message).into()
    })
}

fn rights(project: &mut Project) -> Result<Rights, EngineError> {
    let held = gate::record(project)?.held;
    Ok(held.map_or(Rights::ALL, |held| held.rights))
}

/// Why something is closed, with what leads on.
fn closed(project: &mut Project, what: &str) -> Result<EngineError, EngineError> {
    let feature = project.workflow()?.feature.as_ref();
    let next = feature.map_or(NextStep::ShowWorkflow, |feature| feature.next_step());
    let message = match feature {
        Some(feature) if feature.phase == Phase::Pr => {
            let is_closed = |gate: &GateName| !feature.has_passed(*gate);
            let closed: Vec<&str> =
                GateName::ALL.iter().filter(|it| is_closed(it)).map(|it| it.as_str()).collect();
            format!("{what} needs {}", closed.join(" and "))
        }
        Some(feature) if what == COMMITTING => {
            format!("{what} is closed in phase {}", feature.phase)
        }
        Some(feature) => format!("{what} needs phase PR, and this is {}", feature.phase),
        None => format!("{what} is not allowed here"),
    };
    Ok(Rejected::rule(Code::GateClosed, message).next(next).into())
}

/// Refuses a commit whose files are not those that the last gate was passed for.
fn require_reviewed(project: &mut Project, commit: &str) -> Result<(), EngineError> {
    let feature = project.workflow()?.feature.as_ref();
    let held = feature.filter(|it| it.phase == Phase::Pr && it.suspended.is_none());
    let Some(feature) = held else { return Ok(()) };
    let pass = feature.passes.iter().find(|pass| pass.gate == GateName::ReReviewClean);
    let reviewed = pass.and_then(|pass| pass.tree.clone());
    let found = publish::content_of_commit(project.place(), commit)?;
    if reviewed.is_some() && found == reviewed {
        return Ok(());
    }
    let short = commit.get(..12).unwrap_or(commit);
    if let Some(filter) = filters(project.root())?.first() {
        let message = format!(
            "git's content filter `{filter}` changes what is committed, so the files of {short} cannot be \
             compared with those that were reviewed; a person pushes"
        );
        return Err(Rejected::rule(Code::NotReviewed, message).into());
    }
    let message = format!(
        "the files of {short} are not those that {} was passed for",
        GateName::ReReviewClean
    );
    let next = NextStep::PassGate { gate: GateName::ReReviewClean };
    Err(Rejected::rule(Code::NotReviewed, message).next(next).into())
}

/// Whether a branch is the remote's default one; where that is not known, those that usually are.
fn is_default(project: &Project, remote: &Remote, branch: &str) -> Result<bool, EngineError> {
    let head = format!("refs/remotes/{}/HEAD", remote.name);
    let git = Git::at(project.root());
    let known = git.try_text(&["symbolic-ref", "--quiet", &head])?;
    let below = format!("refs/remotes/{}/", remote.name);
    let known = known.and_then(|name| name.strip_prefix(&below).map(str::to_owned));
    let usual = || -> Result<bool, EngineError> {
        let configured = git.config("init.defaultBranch")?;
        Ok(matches!(branch, "main" | "master" | "trunk") || configured.as_deref() == Some(branch))
    };
    match known {
        Some(known) => Ok(known == branch),
        None => usual(),
    }
}

/// Notes that a local branch follows one of a remote.
fn follow(
    project: &Project,
    remote: &Remote,
    local: &str,
    branch: &str,
) -> Result<(), EngineError> {
    let Some(common) = &project.place().git_common else { return Ok(()) };
    if Update::parse(&format!("{}:refs/heads/{local}", "0".repeat(40))).is_none() {
        return Ok(());
    }
    let git = Git::at(common);
    git.text(&["config", &format!("branch.{local}.remote"), &remote.name])?;
    git.text(&["config", &format!("branch.{local}.merge"), &format!("refs/heads/{branch}")])?;
    Ok(())
}
