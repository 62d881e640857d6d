//! `waypost run [FILE]`: works through the tasks until nothing is left.

use super::{
    background,
    live::Live,
    rehearse::{Rehearsal, rehearse},
};
use crate::data::{Difference, RunEvent, RunEventLine};
use crate::{
    Context,
    command::{
        ask,
        inbox::{choose, show_question},
        say_notices,
    },
    error::{CliError, Kind},
    show::{plan as show_plan, run as show_run},
    suggest::{Misspelt, is_file},
};
use clap::ValueEnum;
use std::{
    collections::HashSet,
    env,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{
    Ahead, GivenReply, Onward, Project, RunEnd, RunOptions, adopt, answer, attendance, changes,
    host, isolation, summary, tasks,
};
use waypost_model::{
    code::Code,
    config::cents,
    id::TaskId,
    inbox::{Entry, QuestionKind, Reply, Subject},
    machine::Rejected,
    next::NextStep,
    run::{
        self, Active, Budget, Command, Earlier, EndStep, Isolation, Mode, PhaseStage, Run,
        RunOutcome, RunTopic, Settings, TaskStatus,
    },
};

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
    /// Make the state again from TASKS.md, merge commits and the journal; reserved for a person
    #[arg(long, conflicts_with = "resume")]
    rebuild_state: bool,
    /// Begin a new run in which everything is done again, but for boxes that a person has ticked.
    /// One that is not finished is given up, with `--yes` or after a question
    #[arg(long, conflicts_with_all = ["resume", "rebuild_state", "dry_run", "verify", "rehearse"])]
    new: bool,
    /// Go on although tasks that are completed say something else now: they stay completed
    #[arg(long, conflicts_with_all = ["new", "rebuild_state", "dry_run", "verify", "rehearse"])]
    keep_done: bool,
    /// Only this phase
    #[arg(long, value_name = "N")]
    phase: Option<u32>,
    /// Do not ask at the end of a phase, or before a run is given up
    #[arg(long, short)]
    yes: bool,
    /// Go on in the background; `run status --wait` watches it, `run stop` ends it
    #[arg(long, conflicts_with_all = ["dry_run", "verify"])]
    detach: bool,
    /// This is the process in the background, and everything is prepared
    #[arg(long, hide = true, conflicts_with_all = ["dry_run", "verify", "detach"])]
    in_background: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// How `--dry-run` shows it
    #[arg(long, value_name = "FORMAT", default_value = "table", requires = "dry_run")]
    format: Format,
    /// Run the whole graph with simulated agents in a folder of its own: no cost, and nothing of
    /// the project is run or changed
    #[arg(long, conflicts_with_all = ["dry_run", "verify", "detach", "resume", "rebuild_state"])]
    rehearse: bool,
    /// How many of a hundred attempts go wrong in a rehearsal
    #[arg(long, value_name = "PERCENT", default_value_t = 0, requires = "rehearse",
          value_parser = clap::value_parser!(u8).range(0..=100))]
    faults: u8,
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
    /// The line by which an agent says with `--ralph` that its task is complete
    #[arg(long, value_name = "TEXT")]
    completion_promise: Option<String>,
    /// Where tasks are worked on: in a work tree for each attempt, in one for each phase, or in the
    /// project's folder itself
    #[arg(long, value_name = "WHERE")]
    isolation: Option<IsolationWord>,
    /// The agent for tasks that name none and have no command
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// What all model agents of the run may spend, in dollars
    #[arg(long, value_name = "USD", value_parser = parse_dollars, conflicts_with = "no_budget")]
    budget: Option<u64>,
    /// Set no limit on what model agents may spend
    #[arg(long)]
    no_budget: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum IsolationWord {
    None,
    Phase,
    Task,
}

impl From<IsolationWord> for Isolation {
    fn from(word: IsolationWord) -> Self {
        match word {
            IsolationWord::None => Self::None,
            IsolationWord::Phase => Self::Phase,
            IsolationWord::Task => Self::Task,
        }
    }
}

/// Dollars in cents.
fn parse_dollars(text: &str) -> Result<u64, String> {
    let dollars: f64 = text.trim_start_matches('$').parse().map_err(|_| "not an amount")?;
    let is_plausible = (0.01..=1_000_000.0).contains(&dollars);
    cents(dollars).filter(|_| is_plausible).ok_or_else(|| "not between 0.01 and 1000000".into())
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
    /// What the process in the background has to be told; all else is in the journal.
    pub(super) fn for_background(&self) -> Vec<String> {
        let phase = self.phase.map(|phase| format!("--phase={phase}"));
        ["run".to_owned(), "--in-background".to_owned()].into_iter().chain(phase).collect()
    }

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

    fn isolation(&self) -> Option<Isolation> {
        self.isolation.map(Isolation::from)
    }

    /// How far it goes by itself.
    pub(super) fn course(&self) -> Course {
        Course {
            phase: self.phase,
            yes: self.yes,
            is_patient: self.in_background,
            is_unattended: false,
        }
    }

    /// The settings with what was typed on top of them.
    fn over(&self, settings: &Settings) -> Settings {
        Settings {
            mode: self.mode().unwrap_or(settings.mode),
            max_parallel: self.max_parallel.unwrap_or(settings.max_parallel),
            retry_limit: self.retry_limit.unwrap_or(settings.retry_limit),
            max_iterations: self.max_iterations.unwrap_or(settings.max_iterations),
            agent: self.agent.clone().or_else(|| settings.agent.clone()),
            completion_promise: self
                .completion_promise
                .clone()
                .or_else(|| settings.completion_promise.clone()),
            budget: match self.budget {
                _ if self.no_budget => Budget::Unlimited,
                Some(cents) => Budget::Cents(cents),
                None => settings.budget,
            },
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
        && !is_file(word)
        && let Some(misspelt) = Misspelt::find(["run".to_owned(), word.to_owned()])
    {
        return Err(misspelt.error().hint("a file has a `/` in its name or ends in `.md`"));
    }
    let file = args.file.as_ref().map(|path| context.path(path));
    file.as_deref().map(|file| tasks::refuse_unreadable(&project, file)).transpose()?;
    let file = file.as_deref().or(tasks);
    if args.dry_run {
        return dry_run(context, &mut project, file, args.format);
    }
    if args.verify {
        return verify(context, &mut project, file);
    }
    if args.in_background {
        return background::go_on(context, project, args);
    }
    if args.rehearse {
        let settings = args.over(&project.configuration().values.run.settings());
        let (isolation, course) = (args.isolation(), args.course());
        let rehearsal = Rehearsal { faults: args.faults, isolation, course };
        return rehearse(context, &mut project, file, settings, &rehearsal);
    }
    project.refuse_stale()?;
    attendance::refuse_second_run(&project)?;
    let has_work = prepare(context, &mut project, args, file)?;
    say_notices(context, &mut project);
    if !has_work {
        return end_all_done(context, project, args);
    }
    // What is over is told here: a process in the background would have nothing to go on with.
    match args.detach && !is_at_its_end(&mut project, args.phase)? {
        true => background::detach(context, &mut project, args),
        false => {
            let live = Live::begin(context, project.setup().stop_grace())?;
            execute(project, &args.course(), live, context)
        }
    }
}

/// Begins a run, or goes on with the one that is there; false if nothing is left to do.
fn prepare(
    context: &Context,
    project: &mut Project,
    args: &ExecuteArgs,
    file: Option<&Path>,
) -> Result<bool, CliError> {
    adopt_loose(context, project)?;
    let onward = onward(context, project, args, file)?;
    let ahead = tasks::ahead(project, file, onward)?;
    if ahead == Ahead::Over {
        // What was moved or left out is shown, although there is nothing to do.
        tasks::work_on_run(project, &[], file)?;
        if args.phase.is_none() && is_all_done(project)? {
            return Ok(false);
        }
    }
    let defaults = project.configuration().values.run.settings();
    let found = project.run()?.active().map(|active| active.settings().clone());
    let found = match ahead.begins() {
        // Resumed, the next run goes on as the one before; it merges into the branch it begins on.
        true => found.filter(|_| args.resume).map(|it| Settings { target: None, ..it }),
        false => found,
    };
    let is_undecided =
        !ahead.begins() && found.as_ref().is_some_and(|it| it.isolation == Isolation::Undecided);
    let settings = args.over(found.as_ref().unwrap_or(&defaults));
    if args.detach && args.yes && settings.mode == Mode::Normal {
        return Err(CliError::bad_input(
            "`--yes` needs a person, and there is none in the background",
        )
        .hint("`--mode ultra-thin` does not ask; else each phase waits in the inbox"));
    }
    if args.yes && settings.mode == Mode::Normal && !project.actor().is_person() {
        return Err(Rejected::reserved("approving phases with `--yes`").into());
    }
    let settings = isolation::place_run(project, settings, args.isolation(), (file, onward))?;
    if is_undecided {
        isolation::say_place(project, &settings);
    }
    let configure = Command::Configure { settings };
    let commands = match args.rebuild_state {
        true => {
            let plan = tasks::read(project, file)?.plan;
            let completed = changes::merged_tasks(project, &plan)?;
            let before = changes::merged_phases(project, &plan)?;
            vec![Command::Rebuild { plan, completed, before }, configure]
        }
        false => vec![configure],
    };
    tasks::take_up_run(project, commands, file, args.phase, onward)?;
    Ok(true)
}

/// Offers a state file that was not adopted as the start; without a yes nothing begins over it.
fn adopt_loose(context: &Context, project: &mut Project) -> Result<(), CliError> {
    let Some(path) = adopt::loose_run_file(project)? else { return Ok(()) };
    let name = path.strip_prefix(project.root()).unwrap_or(&path).display().to_string();
    let question = format!("{name} holds the state of a run. Adopt it as the start? [y/N]");
    if project.actor().is_person() && is_yes(ask(&question)?.as_deref()) {
        adopt::adopt(project, &path)?;
        say_notices(context, project);
    }
    Ok(())
}

/// What is to become of the run that is there, by the flags and by the person who is asked.
fn onward(
    context: &Context,
    project: &mut Project,
    args: &ExecuteArgs,
    file: Option<&Path>,
) -> Result<Onward, CliError> {
    let unfinished = project.run()?.active().filter(|active| !active.is_over());
    let unfinished = unfinished.map(|active| active.number());
    match unfinished {
        _ if args.rebuild_state => return Ok(Onward::Stay),
        Some(number) if args.new => {
            let question = format!("Run {number} is not finished. Give it up? [y/N]");
            if !args.yes && !is_yes(ask(&question)?.as_deref()) {
                return Err(unfinished_run(number)
                    .hint("`--new --yes` gives it up and begins a new one")
                    .next(NextStep::ResumeRun));
            }
        }
        Some(number) if !args.resume && !args.keep_done => {
            context.out.done(format!("run {number} is not finished"));
            if !matches!(ask("Go on with it? [Y/n]")?.as_deref(), Some("" | "y" | "Y" | "yes")) {
                return Err(unfinished_run(number)
                    .hint(
                        "`--resume` goes on with it, `--rebuild-state` makes its state again, \
                         `--new` begins another",
                    )
                    .next(NextStep::ResumeRun));
            }
        }
        _ => {}
    }
    match (args.new, args.keep_done) {
        (true, _) => Ok(Onward::New(Earlier::IsDoneAgain)),
        (_, true) => Ok(Onward::KeepDone),
        _ => match tasks::ahead(project, file, Onward::GoOn)? {
            Ahead::Redefined(tasks) => ask_redefined(context, &tasks),
            _ => Ok(Onward::GoOn),
        },
    }
}

fn unfinished_run(number: u32) -> CliError {
    CliError::new(Code::RunUnfinished, format!("run {number} is not finished"))
}

/// Asks what becomes of tasks that are completed and say something else now. Without a terminal the
/// run's own rule answers.
fn ask_redefined(context: &Context, tasks: &[TaskId]) -> Result<Onward, CliError> {
    let names: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
    context.out.note(format!(
        "completed in this run, and changed in TASKS.md since: {}",
        names.join(", ")
    ));
    let answer = ask("Do them again in a new run, or keep them as completed? [new/keep]")?;
    Ok(match answer.as_deref() {
        Some("n" | "new") => Onward::New(Earlier::Counts),
        Some("k" | "keep") => Onward::KeepDone,
        _ => Onward::GoOn,
    })
}

fn is_yes(answer: Option<&str>) -> bool {
    matches!(answer, Some("y" | "Y" | "yes"))
}

/// Whether the run is over with everything completed.
fn is_all_done(project: &mut Project) -> Result<bool, CliError> {
    let run = summary::of_run(project)?.filter(|run| run.is_over);
    Ok(run.is_some_and(|run| run.count(TaskStatus::Completed) == run.total))
}

/// Whether the run is over, or the one phase that is asked for.
fn is_at_its_end(project: &mut Project, phase: Option<u32>) -> Result<bool, CliError> {
    let Some(active) = project.run()?.active() else { return Ok(true) };
    let is_closed = |phase| {
        use PhaseStage::{Closed, Ending};
        matches!(active.phase(phase), Some(Closed { .. } | Ending { step: EndStep::Approval, .. }))
    };
    Ok(active.is_over() || phase.is_some_and(is_closed))
}

/// Says that the run is over with everything completed. An engine that was killed may have left
/// work trees and notices, which another one takes care of first.
fn end_all_done(
    context: &Context,
    project: Project,
    args: &ExecuteArgs,
) -> Result<ExitCode, CliError> {
    let live = Live::begin(context, project.setup().stop_grace())?.shared();
    let (mut project, _) = host::execute(project, &options(&args.course())?, live.audience())?;
    live.clear();
    say_notices(context, &mut project);
    let Some(run) = summary::of_run(&mut project)? else { return Ok(ExitCode::SUCCESS) };
    if context.out.json {
        let event = RunEvent::Ended { run: Box::new((&run).into()) };
        context.out.json(&RunEventLine::from(event))?;
    } else if !context.out.quiet {
        context.out.raw(&show_run::text(&run))?;
    }
    context.out.note("nothing in TASKS.md is new; `waypost run --new` does everything again");
    Ok(ExitCode::SUCCESS)
}

/// How far a run goes by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Course {
    /// Only this phase.
    pub(crate) phase: Option<u32>,
    /// No person is asked at the end of a phase.
    pub(crate) yes: bool,
    /// No person is asked anything: what needs a person waits in the inbox, and the run with it.
    pub(crate) is_patient: bool,
    /// No person is asked at the terminal, also if there is one.
    pub(crate) is_unattended: bool,
}

fn options(course: &Course) -> Result<RunOptions, CliError> {
    let program = env::current_exe().map_err(CliError::from)?;
    Ok(RunOptions {
        keeper: vec![program.into(), "keeper".into()],
        phase: course.phase,
        waits: course.is_patient,
    })
}

/// Works on the run until it ends, a person has to answer, or it is asked to end.
pub(crate) fn execute(
    mut project: Project,
    course: &Course,
    live: Live,
    context: &Context,
) -> Result<ExitCode, CliError> {
    let options = options(course)?;
    let live = live.shared();
    let end = loop {
        let (back, end) = host::execute(project, &options, live.audience())?;
        project = back;
        live.clear();
        match end {
            RunEnd::Waits { phase } if course.yes || wants_next_phase(phase)? => {
                project.run_command(Command::ApprovePhase { phase })?;
            }
            RunEnd::Asks if !course.is_unattended && answer_agents(context, &mut project)? => {}
            end => break end,
        }
    };
    let outcome = summary(context, &mut project, course.phase)?;
    say_end(context, &mut project, &end)?;
    Ok(exit_code(outcome, live.signal_code()))
}

/// Says what holds a run that is not finished, and what to do about it.
fn say_end(context: &Context, project: &mut Project, end: &RunEnd) -> Result<(), CliError> {
    match end {
        RunEnd::Waits { phase } => say_waits(context, *phase),
        RunEnd::Asks => {
            context.out.note("what is left waits for a person's answer");
            context.out.note("next: `waypost inbox`, then `waypost run --resume`");
        }
        RunEnd::OutOfMoney => {
            context.out.note("the budget is used up; what is left waits");
            context.out.note("next: `waypost run --resume --budget USD` with more");
        }
        RunEnd::PhaseOutOfMoney { phase } => {
            context.out.note(format!("the budget of phase {phase} is used up; what is left waits"));
            context.out.note("next: a larger `run.phase_budget_usd`, then `waypost run --resume`");
        }
        RunEnd::Unavailable => {
            context.out.note("what is left waits until its agent can be used again");
            context.out.note("next: `waypost inbox` says what to do, then `waypost run --resume`");
        }
        RunEnd::NotJoined { phase } => say_not_joined(context, project, *phase)?,
        RunEnd::Over | RunEnd::PhaseDone | RunEnd::Stopped => {}
    }
    Ok(())
}

/// The exit code of a run: a script that goes on after it may rely on 0.
pub(super) fn exit_code(outcome: RunOutcome, by_signal: Option<u8>) -> ExitCode {
    match outcome {
        RunOutcome::Completed => ExitCode::SUCCESS,
        RunOutcome::Failed => Kind::Failed.into(),
        RunOutcome::Unfinished => by_signal.map_or_else(|| Kind::Unfinished.into(), ExitCode::from),
    }
}

/// Asks the person at the terminal what agents want to know. Says whether anything was answered.
fn answer_agents(context: &Context, project: &mut Project) -> Result<bool, CliError> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    let is_agents = |entry: &&Entry| {
        matches!(entry.question.kind, QuestionKind::Permission | QuestionKind::AgentQuestion)
    };
    let entries: Vec<Entry> = project.inbox()?.open().iter().filter(is_agents).cloned().collect();
    let mut is_answered = false;
    for entry in entries {
        show_question(context, &entry.question);
        let Some(text) = choose(&entry.question.choices)? else { continue };
        let given = GivenReply { reply: Reply::answer(text), version: Some(entry.version) };
        match answer::give(project, &entry.id, given) {
            Ok(_) => is_answered = true,
            Err(error) => context.out.warning(error.to_string()),
        }
    }
    Ok(is_answered)
}

/// Says why a phase could not be merged, and that nothing is lost.
fn say_not_joined(context: &Context, project: &mut Project, phase: u32) -> Result<(), CliError> {
    let subject = Subject::of(&Project::run_stream(), &RunTopic::Phase(phase).into());
    let inbox = project.inbox()?;
    match inbox.about(&subject) {
        Some(entry) => context.out.note(&entry.question.text),
        None => context.out.note(format!("phase {phase} could not be merged")),
    }
    context.out.note("nothing is lost; next: fix that, then `waypost run --resume`");
    Ok(())
}

pub(super) fn say_waits(context: &Context, phase: u32) {
    context.out.note(format!("phase {phase} is done; the run waits for a person"));
    context.out.note("next: `waypost inbox`, then `waypost run --resume`");
}

fn wants_next_phase(phase: u32) -> Result<bool, CliError> {
    let answer = ask(&format!("Phase {phase} is done. Go on with the next one? [Y/n]"))?;
    Ok(matches!(answer.as_deref(), Some("" | "y" | "Y" | "yes")))
}

/// How the run stands at the end, and what to do next.
pub(super) fn summary(
    context: &Context,
    project: &mut Project,
    phase: Option<u32>,
) -> Result<RunOutcome, CliError> {
    say_notices(context, project);
    let has_questions = !project.inbox()?.open().is_empty();
    let Some(run) = summary::of_run(project)? else { return Ok(RunOutcome::Completed) };
    if context.out.json {
        let event = RunEvent::Ended { run: Box::new((&run).into()) };
        context.out.json(&RunEventLine::from(event))?;
    } else if !context.out.quiet {
        context.out.raw(&show_run::text(&run))?;
        for task in run.failed.iter().take(3) {
            context.out.note(format!(
                "next: `waypost run logs {0}`, then `waypost run retry {0}`",
                task.id
            ));
        }
        if run.failed.len() > 3 {
            context.out.note(format!(
                "      and {} more: `waypost run status --all`, `waypost run retry --failed`",
                run.failed.len() - 3
            ));
        }
        if !run.is_over && run.failed.is_empty() && !has_questions {
            context.out.note("next: `waypost run --resume`");
        }
    }
    Ok(run.outcome(phase))
}

/// The run that TASKS.md would begin; none if it would go on with the one that is there.
fn imagined(project: &mut Project, file: Option<&Path>) -> Result<Option<Run>, CliError> {
    let begins = match project.run()?.active() {
        Some(_) => tasks::ahead(project, file, Onward::GoOn)?.begins(),
        None => true,
    };
    Ok(if begins { Some(tasks::preview_run(project, file)?) } else { None })
}

fn dry_run(
    context: &Context,
    project: &mut Project,
    file: Option<&Path>,
    format: Format,
) -> Result<ExitCode, CliError> {
    let warnings = tasks::read(project, file).ok();
    let warnings = warnings.map(|read| read.warning_lines().collect::<Vec<_>>());
    let imagined = imagined(project, file)?;
    let run = match &imagined {
        Some(run) => run,
        None => project.run()?,
    };
    let Some(active) = run.active() else { return Ok(ExitCode::SUCCESS) };
    if let Some(warnings) = warnings {
        warnings.iter().for_each(|line| context.out.note(line));
    }
    match format {
        Format::Json => context.out.json(&show_plan::data(active))?,
        _ if context.out.json => context.out.json(&show_plan::data(active))?,
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
    let plan = tasks::read(project, file)?.plan;
    let Some(active) = project.run()?.active() else {
        context.out.note("no run has begun: there is nothing to compare");
        return Ok(ExitCode::SUCCESS);
    };
    let mut findings = differences(&plan, active);
    findings.extend(changes::unmerged(project)?);
    if context.out.json {
        let data: Vec<_> = findings.iter().map(|finding| Difference { finding }).collect();
        context.out.json_list(&data)?;
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
    for task in plan.tasks.iter() {
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
    let known: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
    let gone = active.tasks().filter(|view| !known.contains(&view.planned.id));
    findings
        .extend(gone.map(|view| format!("{} is in the run and not in TASKS.md", view.planned.id)));
    findings
}
