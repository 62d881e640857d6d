//! `waypost init`: makes a project ready, or takes out again what that put in.

use super::{open, pin, say_notices};
use crate::data::{HookReport, InitLine, RegisteredAgent, RemovedFile, RemovedSetup};
use crate::{Context, error::CliError};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::{path::Path, process::ExitCode};
use waypost_engine::{
    AgentChoice, AgentSetup, Change, GitHookSetup, InitOptions, InitReport, Product, Project,
    Removal, Removed, ServerSetup, Sharing, identify, init,
};

/// Make this project ready for Waypost
///
/// Makes the journal, registers the hook that holds the gates with the agent programs that are
/// installed, and keeps Waypost's files out of git's sight. All of it is private to you and nothing that git tracks is
/// touched, unless `--shared` is given. Repeating it changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Register the hook with this agent program only, installed or not; can be repeated
    #[arg(long = "agent", value_name = "AGENT", value_parser = agents())]
    agents: Vec<Product>,

    /// Register the hook with no agent program
    #[arg(long, conflicts_with = "agents")]
    no_agents: bool,

    /// Set up for everybody: in settings that git tracks, and in `.gitignore`
    #[arg(long)]
    shared: bool,

    /// Hold the gates in git's own pre-commit and pre-push too; existing hooks are kept and asked
    #[arg(long)]
    git_hooks: bool,

    /// Take out everything, to the last byte, but a journal with entries; reserved for a person
    #[arg(long, conflicts_with_all = ["agents", "no_agents", "git_hooks", "fresh"])]
    remove: bool,

    /// Begin a new journal where the old one is gone or damaged; reserved for a person
    #[arg(long)]
    fresh: bool,
}

fn agents() -> impl TypedValueParser<Value = Product> {
    let words = PossibleValuesParser::new(Product::all().map(Product::as_str));
    words.map(|word| Product::from_word(&word).expect("no other word is accepted"))
}

impl InitArgs {
    fn sharing(&self) -> Sharing {
        if self.shared { Sharing::Shared } else { Sharing::Private }
    }

    fn options(&self) -> InitOptions {
        let is_named = |product: &Product| self.agents.contains(product);
        let agents = match (self.no_agents, self.agents.is_empty()) {
            (false, true) => AgentChoice::Installed,
            _ => AgentChoice::These(Product::all().filter(is_named).collect()),
        };
        InitOptions { agents, sharing: self.sharing(), git_hooks: self.git_hooks }
    }
}

pub(crate) fn run(context: &Context, args: &InitArgs) -> Result<ExitCode, CliError> {
    if args.remove {
        return remove(context, args);
    }
    let mut project = if args.fresh {
        let mut project = Project::find(&context.directory, identify())?;
        project.ask_pin_by(pin::typed_unseen);
        init::begin_anew(&mut project)?;
        project
    } else {
        open(context)?
    };
    let report = init::set_up(&mut project, &args.options())?;
    say_notices(context, &mut project);
    if context.out.json {
        context.out.json(&InitLine {
            root: project.root(),
            journal: &project.place().state,
            made_journal: report.made_journal,
            excluded: report.excluded.iter().map(ToString::to_string).collect(),
            agents: report.agents.iter().map(agent_json).collect(),
            servers: report.servers.iter().map(server_json).collect(),
            skipped: report.skipped.iter().map(|it| it.as_str()).collect(),
            git_hooks: report.git_hooks.iter().map(git_hook_json).collect(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    say_report(context, &project, &report, args.sharing());
    pin::offer(context, project.actor())?;
    Ok(ExitCode::SUCCESS)
}

fn say_report(context: &Context, project: &Project, report: &InitReport, sharing: Sharing) {
    let state = project.place().state.display();
    if report.made_journal {
        context.out.note(format!("made the journal in {state}"));
    } else {
        context.out.note(format!("the journal is in {state}"));
    }
    report.agents.iter().for_each(|setup| say_agent(context, setup));
    report.servers.iter().for_each(|setup| say_server(context, setup));
    say_skipped(context, &report.skipped);
    report.git_hooks.iter().for_each(|setup| say_git_hook(context, setup));
    if !report.excluded.is_empty() {
        context.out.note(format!("git now ignores {}", report.excluded.join(", ")));
    }
    let is_new = |setup: &&AgentSetup| matches!(setup.change, Change::Added | Change::Updated);
    let files: Vec<&str> = report.agents.iter().filter(is_new).map(|setup| setup.file).collect();
    if sharing == Sharing::Shared && !files.is_empty() {
        context.out.note(format!(
            "commit {} and .gitignore; everybody who clones this needs `waypost-hook` on the PATH",
            files.join(", ")
        ));
    }
    context
        .out
        .note("next: `waypost develop start FEATURE`, or write a TASKS.md and `waypost run next`");
}

fn say_agent(context: &Context, setup: &AgentSetup) {
    let AgentSetup { product, file, change } = setup;
    let title = product.title();
    let said = match change {
        Change::Added => format!("{title}: the hook is in {file}"),
        Change::Updated => format!("{title}: the hook in {file} is up to date again"),
        Change::Unchanged => return,
        Change::Tracked => format!(
            "{title}: {file} is tracked by git and was left alone; `waypost init --shared` puts \
             the hook there for everybody"
        ),
    };
    context.out.note(said);
    if let Some(trust) = product.trust().filter(|_| *change != Change::Tracked) {
        context.out.note(format!("  {trust}"));
    }
}

fn say_server(context: &Context, setup: &ServerSetup) {
    let ServerSetup { product, file, local, change } = setup;
    let title = product.title();
    let local = local.as_ref().map(|path| path.display());
    context.out.note(match (change, local) {
        (Change::Unchanged, _) => return,
        (_, Some(path)) => format!(
            "{title}: {file} is tracked by git and was left alone; the tools (MCP) are in {path}, \
             for you alone"
        ),
        (change, None) => match change {
        Change::Added => format!("{title}: the tools (MCP) are in {file}"),
        Change::Updated => format!("{title}: the tools (MCP) in {file} are up to date again"),
        Change::Tracked => format!(
            "{title}: {file} is tracked by git and was left alone; add the server `waypost mcp` in \
             your own settings, or `waypost init --shared` puts it there for everybody"
        ),
        Change::Unchanged => return,
        },
    });
}

fn say_skipped(context: &Context, skipped: &[Product]) {
    let Some(first) = skipped.first() else { return };
    let titles: Vec<&str> = skipped.iter().map(|product| product.title()).collect();
    context.out.note(format!(
        "not installed, so no hook was registered: {}; run `waypost init` again once they are, or \
         `waypost init --agent {first}` now",
        titles.join(", ")
    ));
}

fn say_git_hook(context: &Context, setup: &GitHookSetup) {
    let GitHookSetup { name, path, change, earlier } = setup;
    let said = match change {
        Change::Added => format!("git: the {name} hook is in {}", path.display()),
        Change::Updated => format!("git: the {name} hook is up to date again"),
        Change::Unchanged | Change::Tracked => return,
    };
    let kept = earlier.as_deref().map(|earlier| {
        let name = earlier.file_name().unwrap_or_default().display();
        format!("; the earlier one is kept as {name} and asked first")
    });
    context.out.note(format!("{said}{}", kept.unwrap_or_default()));
}

fn remove(context: &Context, args: &InitArgs) -> Result<ExitCode, CliError> {
    let mut project = Project::find(&context.directory, identify())?;
    project.ask_pin_by(pin::typed_unseen);
    let removed = init::remove(&mut project, args.sharing())?;
    say_notices(context, &mut project);
    let state = &project.place().state;
    if context.out.json {
        let removed = removed.iter().map(removed_json).collect();
        let journal = state.is_dir().then_some(state.as_path());
        context.out.json(&RemovedSetup { removed, journal })?;
        return Ok(ExitCode::SUCCESS);
    }
    for each in &removed {
        context.out.note(removed_text(each, project.root()));
    }
    if removed.is_empty() {
        context.out.note("no hook of Waypost's is registered here, so there is none to take out");
    }
    if state.is_dir() {
        context.out.note(format!("the journal stays in {}", state.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn removed_text(removed: &Removed, root: &Path) -> String {
    let path = removed.path.strip_prefix(root).unwrap_or(&removed.path).display();
    match removed.removal {
        Removal::Cleaned => format!("took Waypost's part out of {path}"),
        Removal::Gone => format!("removed {path}"),
        Removal::Restored => format!("put the earlier {path} back"),
        Removal::Tracked => format!(
            "{path} is tracked by git and was left alone; `waypost init --remove --shared` takes \
             Waypost's part out"
        ),
        Removal::Blocked => format!(
            "{path} is not Waypost's and was left alone; an earlier one is kept as \
             {path}.before-waypost"
        ),
    }
}

fn change_word(change: Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Updated => "updated",
        Change::Unchanged => "unchanged",
        Change::Tracked => "tracked",
    }
}

fn agent_json(setup: &AgentSetup) -> RegisteredAgent<'_> {
    RegisteredAgent {
        agent: setup.product.as_str(),
        file: setup.file,
        change: change_word(setup.change),
    }
}

fn server_json(setup: &ServerSetup) -> RegisteredAgent<'_> {
    RegisteredAgent {
        agent: setup.product.as_str(),
        file: setup.local.as_deref().and_then(Path::to_str).unwrap_or(setup.file),
        change: change_word(setup.change),
    }
}

fn git_hook_json(setup: &GitHookSetup) -> HookReport<'_> {
    HookReport {
        hook: setup.name,
        file: &setup.path,
        change: change_word(setup.change),
        earlier: setup.earlier.as_deref(),
    }
}

fn removed_json(removed: &Removed) -> RemovedFile<'_> {
    let done = match removed.removal {
        Removal::Cleaned => "cleaned",
        Removal::Gone => "removed",
        Removal::Restored => "restored",
        Removal::Tracked => "tracked",
        Removal::Blocked => "blocked",
    };
    RemovedFile { file: &removed.path, done }
}
