//! `waypost run [FILE]`: works through the tasks until nothing is left.

use super::live::Live;
use crate::{
    Context,
    command::{ask, say_notices},
    error::{CliError, Kind},
    show::{plan as show_plan, run as show_run},
};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{Project, RunEnd, RunOptions};
use waypost_model::run::{self, Active, Command, Mode, Run, Settings, TaskStatus};

#[derive(Debug, clap::Args)]
pub(crate) struct ExecuteArgs {
    /// The file with the tasks; it has a `/` or ends in `.md`
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Between tasks and phases: ask, never ask, or repeat each task until it is verified
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeWord>,
    /// The same as `--mode ultra-thin`
    #[arg(long, conflicts_with_all = ["mode", "ralph"])]
    ultra_thin: bool,
    /// The same as `--mode ralph`
    #[arg(long, conflicts_with = "mode")]
    ralph: bool,
    /// Go on with the run that is there
    #[arg(long)]
    resume: bool,
    /// Make the state anew from TASKS.md and the journal; reserved for a person
    #[arg(long, conflicts_with = "resume")]
    rebuild_state: bool,
    /// Only this phase
    #[arg(long, value_name = "N")]
    phase: Option<u32>,
    /// Do not ask at the end of a phase
    #[arg(long, short)]
    yes: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// How `--dry-run` shows it
    #[arg(long, value_name = "FORMAT", default_value = "table", requires = "dry_run")]
    format: Format,
    /// Compare TASKS.md with the state, print the differences, and change nothing
    #[arg(long, conflicts_with = "dry_run")]
    verify: bool,
    /// How many tasks at once; 0 is as many as are ready
    #[arg(long, value_name = "N")]
    max_parallel: Option<u32>,
    /// Retries after a task's first try
    #[arg(long, value_name = "N")]
    retry_limit: Option<u32>,
    /// Passes over one task with `--ralph`
    #[arg(long, value_name = "N")]
    max_iterations: Option<u32>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeWord {
    Normal,
    UltraThin,
    Ralph,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Mermaid,
    Dot,
    Svg,
    Json,
}

impl ExecuteArgs {
    fn mode(&self) -> Option<Mode> {
        match self.mode {
            _ if self.ultra_thin => Some(Mode::UltraThin),
            _ if self.ralph => Some(Mode::Ralph),
            Some(ModeWord::Normal) => Some(Mode::Normal),
            Some(ModeWord::UltraThin) => Some(Mode::UltraThin),
            Some(ModeWord::Ralph) => Some(Mode::Ralph),
            None => None,
        }
    }

    /// The settings with what was typed on top of them.
    fn over(&self, settings: &Settings) -> Settings {
        Settings {
            mode: self.mode().unwrap_or(settings.mode),
            max_parallel: self.max_parallel.unwrap_or(settings.max_parallel),
            retry_limit: self.retry_limit.unwrap_or(settings.retry_limit),
            max_iterations: self.max_iterations.unwrap_or(settings.max_iterations),
            ..settings.clone()
        }
    }
}

pub(super) fn run(
    context: &Context,
    mut project: Project,
    args: &ExecuteArgs,
    tasks: Option<&Path>,
) -> Result<ExitCode, CliError> {
    if let Some(word) = args.file.as_deref().and_then(Path::to_str)
        && !word.contains('/')
        && !word.ends_with(".md")
    {
        return Err(CliError::bad_input(format!("`run` has no command `{word}`")).hint(
            "a file has a `/` in its name or ends in `.md`; `waypost run --help` lists commands",
        ));
    }
    let file = args.file.as_ref().map(|path| context.path(path));
    let file = file.as_deref().or(tasks);
    if args.dry_run {
        return dry_run(context, &mut project, file, args.format);
    }
    if args.verify {
        return verify(context, &mut project, file);
    }
    prepare(context, &mut project, args, file)?;
    say_notices(context, &mut project);
    execute(context, project, args)
}

/// Begins a run, or goes on with the one that is there.
fn prepare(
    context: &Context,
    project: &mut Project,
    args: &ExecuteArgs,
    file: Option<&Path>,
) -> Result<(), CliError> {
    let defaults = project.configuration().values.run.settings();
    let found = project.run()?.active().map(|active| (active.is_over(), active.settings().clone()));
    let commands = match found {
        Some((_, settings)) if args.rebuild_state => {
            let plan = project.read_tasks(file)?.plan;
            let rebuild = Command::Rebuild { plan, completed: Vec::new() };
            vec![rebuild, Command::Configure { settings: args.over(&settings) }]
        }
        Some((false, settings)) => {
            if !args.resume && !wants_to_go_on(context)? {
                return Err(CliError::new(Kind::Refused, "a run is under way and not finished")
                    .hint("`--resume` goes on with it, `--rebuild-state` makes its state anew")
                    .next("waypost run --resume"));
            }
            vec![Command::Configure { settings: args.over(&settings) }]
        }
        // What is completed is not done again; tasks that were added since are.
        Some((true, settings)) => vec![Command::Configure { settings: args.over(&settings) }],
        None => vec![Command::Configure { settings: args.over(&defaults) }],
    };
    Ok(project.drive_run(commands, file)?)
}

fn wants_to_go_on(context: &Context) -> Result<bool, CliError> {
    context.out.note("a run is under way and not finished");
    Ok(matches!(ask("Go on with it? [Y/n]")?.as_deref(), Some("" | "y" | "Y" | "yes")))
}

fn execute(context: &Context, project: Project, args: &ExecuteArgs) -> Result<ExitCode, CliError> {
    let program = env::current_exe().map_err(CliError::from)?;
    let options = RunOptions { keeper: vec![program.into(), "keeper".into()], phase: args.phase };
    let mut live = Live::begin(context)?;
    let mut project = project;
    loop {
        let (back, end) = project.execute(&options, &mut live)?;
        project = back;
        live.clear();
        match end {
            RunEnd::Waits { phase } if args.yes || wants_next_phase(phase)? => {
                project.run_command(Command::ApprovePhase { phase })?;
            }
            RunEnd::Waits { phase } => {
                context.out.note(format!("phase {phase} is done; the run waits for a person"));
                context.out.note("next: `waypost inbox`, then `waypost run --resume`");
                return summary(context, &mut project);
            }
            RunEnd::Over | RunEnd::PhaseDone | RunEnd::Stopped => {
                return summary(context, &mut project);
            }
        }
    }
}

fn wants_next_phase(phase: u32) -> Result<bool, CliError> {
    let answer = ask(&format!("Phase {phase} is done. Go on with the next one? [Y/n]"))?;
    Ok(matches!(answer.as_deref(), Some("" | "y" | "Y" | "yes")))
}

/// How the run stands at the end, and what to do next.
fn summary(context: &Context, project: &mut Project) -> Result<ExitCode, CliError> {
    say_notices(context, project);
    let Some(run) = project.run_summary()? else { return Ok(ExitCode::SUCCESS) };
    if context.out.json {
        context.out.json(&json!({ "event": "ended", "run": show_run::json(&run) }))?;
    } else if !context.out.quiet {
        context.out.raw(&show_run::text(&run))?;
        for task in run.failed.iter().take(3) {
            context.out.note(format!(
                "next: `waypost run logs {0}`, then `waypost run retry {0}`",
                task.id
            ));
        }
        if !run.is_over && run.failed.is_empty() {
            context.out.note("next: `waypost run --resume`");
        }
    }
    let has_failed = run.count(TaskStatus::Failed) + run.count(TaskStatus::Blocked) > 0;
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The run that is there, or the one that TASKS.md would begin.
fn imagined(project: &mut Project, file: Option<&Path>) -> Result<Option<Run>, CliError> {
    Ok(if project.run()?.active().is_some() { None } else { Some(project.preview_run(file)?) })
}

fn dry_run(
    context: &Context,
    project: &mut Project,
    file: Option<&Path>,
    format: Format,
) -> Result<ExitCode, CliError> {
    let imagined = imagined(project, file)?;
    let run = match &imagined {
        Some(run) => run,
        None => project.run()?,
    };
    let Some(active) = run.active() else { return Ok(ExitCode::SUCCESS) };
    match format {
        Format::Json => context.out.json(&show_plan::json(active))?,
        _ if context.out.json => context.out.json(&show_plan::json(active))?,
        Format::Table => context.out.raw(&show_plan::table(active))?,
        Format::Mermaid => context.out.raw(&show_plan::mermaid(active))?,
        Format::Dot => context.out.raw(&show_plan::dot(active))?,
        Format::Svg => context.out.raw(&show_plan::svg(active))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What differs between TASKS.md and the state.
fn verify(
    context: &Context,
    project: &mut Project,
    file: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let plan = project.read_tasks(file)?.plan;
    let Some(active) = project.run()?.active() else {
        context.out.note("no run has begun: there is nothing to compare");
        return Ok(ExitCode::SUCCESS);
    };
    let findings = differences(&plan, active);
    if context.out.json {
        let data: Vec<Value> = findings.iter().map(|text| json!({ "finding": text })).collect();
        context.out.json(&data)?;
    } else {
        for finding in &findings {
            context.out.line(finding)?;
        }
        if findings.is_empty() {
            context.out.note("TASKS.md and the state agree");
        }
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn differences(plan: &run::Plan, active: &Active) -> Vec<String> {
    let mut findings = Vec::new();
    for task in &plan.tasks {
        match active.task(&task.id) {
            None => findings.push(format!("{} is in TASKS.md and not in the run", task.id)),
            Some(view) => {
                let is_done = view.status == TaskStatus::Completed;
                if task.ticked && !is_done {
                    findings.push(format!(
                        "{} is ticked, and the run has it as {}",
                        task.id, view.status
                    ));
                }
                if !task.ticked && is_done {
                    findings.push(format!("{} is completed, and its box is not ticked", task.id));
                }
                if task.depends != view.planned.depends {
                    findings.push(format!("{} depends on other tasks than the run knows", task.id));
                }
            }
        }
    }
    let is_known = |id: &_| plan.tasks.iter().any(|task| task.id == *id);
    let gone = active.tasks().filter(|view| !is_known(&view.planned.id));
    findings
        .extend(gone.map(|view| format!("{} is in the run and not in TASKS.md", view.planned.id)));
    findings
}
