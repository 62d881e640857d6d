//! `waypost develop`: one feature through its phases and gates.

mod ralph;
mod review;

use super::{ask, open, say_notices};
use crate::data::WorkflowReport;
use crate::{
    Context,
    error::{CliError, FIX_FIRST},
    show::workflow as show_workflow,
};
use clap::{Subcommand, ValueEnum};
use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{EngineError, GateClaim, Project, adopt, evidence, gate, own_conversation};
use waypost_model::{
    code::Code,
    id::CheckpointId,
    inbox::Subject,
    next::NextStep,
    retry::FailureClass,
    workflow::{CheckpointStep, Command, GateName, Strategy, WorkflowTopic},
};

/// Bring one feature through DESIGN, REVIEW, IMPLEMENT and PR
///
/// Phases follow each other only when their gates are passed, and a gate is passed with evidence.
/// The state is shown in .develop-workflow/state.json.
#[derive(Debug, clap::Args)]
pub(crate) struct DevelopArgs {
    #[command(subcommand)]
    action: DevelopAction,
}

#[derive(Debug, Subcommand)]
enum DevelopAction {
    /// Start a feature
    Start {
        /// What is to be built, in a line
        feature: String,
    },
    /// Show phase, gates, checkpoints and what comes next
    Status,
    /// Enter the next phase
    Advance {
        /// A checkpoint of the implementation; may be repeated (DESIGN to REVIEW)
        #[arg(long = "checkpoint", value_name = "ID")]
        checkpoints: Vec<String>,
        /// The checkpoint contract (DESIGN to REVIEW)
        #[arg(long, value_name = "FILE", conflicts_with = "checkpoints")]
        contract: Option<PathBuf>,
        /// How the implementation is divided (REVIEW to IMPLEMENT)
        #[arg(long)]
        strategy: Option<StrategyWord>,
    },
    /// Go back one phase; its gate and all later ones close again
    Back,
    Review(review::ReviewArgs),
    /// Pass or reset a gate
    #[command(subcommand)]
    Gate(GateAction),
    /// Work on a checkpoint of the implementation
    #[command(subcommand)]
    Checkpoint(CheckpointAction),
    Ralph(ralph::RalphArgs),
    /// Keep a checkpoint contract for the feature (in DESIGN)
    Contract {
        /// The contract, YAML
        file: PathBuf,
    },
    /// Take the feature up again
    Resume {
        /// What to start if there is nothing to take up
        feature: Option<String>,
        /// Go on where it stood
        #[arg(long = "continue")]
        go_on: bool,
        /// Start again from DESIGN, with the same feature unless one is given; reserved for a person
        #[arg(long, value_name = "FEATURE", num_args = 0..=1, conflicts_with = "go_on")]
        restart: Option<Option<String>>,
    },
    /// Switch the gates off until `resume`; reserved for a person
    Suspend {
        /// Why
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Subcommand)]
enum GateAction {
    /// Pass a gate, if what it needs holds
    ///
    /// What it needs is set in waypost.toml, [workflow.gates.NAME]: a check that Waypost runs, a
    /// review, a person. With nothing set, a report of the agent is enough for the first two gates.
    Pass {
        /// review_clean_pass, architect_verified or re_review_clean
        name: String,
        /// A report with a line `Blocking: N`, or JSON {"blocking": N}
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
        /// Confirm without being asked, for a person
        #[arg(long)]
        yes: bool,
    },
    /// Close a gate again
    Reset {
        /// review_clean_pass, architect_verified or re_review_clean
        name: String,
    },
}

#[derive(Debug, Subcommand)]
enum CheckpointAction {
    /// Start a checkpoint
    Start { id: String },
    /// Run its validation and pass it if that holds
    Pass { id: String },
    /// Count a failed try; past the limit it escalates
    Fail {
        id: String,
        /// Why: transient, validation, dependency, resource (ENV_ISSUE), structural
        /// (DESIGN_MISMATCH) or critical; what another try cannot fix escalates at once
        #[arg(long, default_value = "transient")]
        class: String,
    },
    /// Hand it to a person
    Escalate { id: String },
    /// Give an escalated checkpoint a new round of tries; reserved for a person
    Reopen { id: String },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StrategyWord {
    Direct,
    Subagent,
    AgentTeams,
}

impl From<StrategyWord> for Strategy {
    fn from(word: StrategyWord) -> Self {
        match word {
            StrategyWord::Direct => Self::Direct,
            StrategyWord::Subagent => Self::Subagent,
            StrategyWord::AgentTeams => Self::AgentTeams,
        }
    }
}

pub(crate) fn run(context: &Context, args: &DevelopArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let max_iterations = project.configuration().values.workflow.max_iterations;
    match &args.action {
        DevelopAction::Status => {}
        DevelopAction::Start { feature } => {
            project.develop(Command::Start { feature: feature.clone(), max_iterations })?;
        }
        DevelopAction::Advance { checkpoints, contract, strategy } => {
            let contract = contract.as_ref().map(|path| context.path(path));
            let contract = contract
                .as_deref()
                .map(|path| adopt::read_contract(&mut project, path))
                .transpose()?;
            let checkpoints =
                checkpoints.iter().map(|id| parse_id(id)).collect::<Result<_, _>>()?;
            let strategy = strategy.map(Strategy::from);
            gate::advance(&mut project, Command::Advance { checkpoints, contract, strategy })?;
        }
        DevelopAction::Back => project.develop(Command::Back)?,
        DevelopAction::Review(args) => return review::run(context, project, args),
        DevelopAction::Ralph(args) => return ralph::run(context, project, args),
        DevelopAction::Gate(action) => gate(context, &mut project, action)?,
        DevelopAction::Checkpoint(action) => checkpoint(&mut project, action)?,
        DevelopAction::Contract { file } => {
            let contract = adopt::read_contract(&mut project, &context.path(file))?;
            project.develop(Command::SetContract { contract })?;
        }
        DevelopAction::Resume { feature, go_on, restart } => {
            let wish = match restart {
                Some(name) => Some(Wish::Restart(name.clone())),
                None if *go_on => Some(Wish::GoOn),
                None => None,
            };
            resume(context, &mut project, feature.as_ref(), wish)?;
        }
        DevelopAction::Suspend { reason } => {
            project.develop(Command::Suspend { reason: reason.clone() })?;
        }
    }
    say_notices(context, &mut project);
    report(context, &mut project)
}

/// Prints how the workflow stands; every command ends with it.
fn report(context: &Context, project: &mut Project) -> Result<ExitCode, CliError> {
    let workflow = project.workflow()?;
    if context.out.json {
        let feature = workflow.feature.as_ref();
        context.out.json(&feature.map_or_else(WorkflowReport::none, show_workflow::data))?;
        return Ok(ExitCode::SUCCESS);
    }
    match &workflow.feature {
        Some(feature) if !context.out.quiet => context.out.raw(&show_workflow::text(feature))?,
        Some(_) => {}
        None => {
            context.out.note("no workflow is active; `waypost develop start FEATURE` begins one");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn gate(context: &Context, project: &mut Project, action: &GateAction) -> Result<(), CliError> {
    match action {
        GateAction::Reset { name } => {
            let gate = parse_gate(name)?;
            project.develop(Command::ResetGate { gate })?;
        }
        GateAction::Pass { name, report, yes } => {
            let gate = parse_gate(name)?;
            let is_confirmed = project.actor().is_person()
                && (*yes || wants_confirmation(project, gate, report.is_some()) && confirm(gate)?);
            let report = report.as_ref().map(|path| context.path(path));
            pass_gate(project, gate, (report.as_deref(), is_confirmed), &mut io::stderr())?;
        }
    }
    Ok(())
}

/// Passes a gate with a report, or with a person's word; `echo` gets what its check prints.
pub(crate) fn pass_gate(
    project: &mut Project,
    gate: GateName,
    (report, is_confirmed): (Option<&Path>, bool),
    echo: &mut dyn io::Write,
) -> Result<(), CliError> {
    let passed = evidence::pass_gate(project, gate, GateClaim { report, is_confirmed }, echo);
    passed.map_err(|error| with_next(error, vec![NextStep::PassGate { gate }]))?;
    say_if_asked(project, gate)
}

/// A gate that lacks a person's word is not passed: it was asked for, and that is said.
fn say_if_asked(project: &mut Project, gate: GateName) -> Result<(), CliError> {
    let feature = project.workflow()?.feature.as_ref();
    if feature.is_none_or(|feature| feature.waiting_for(gate).is_none()) {
        return Ok(());
    }
    let topic = WorkflowTopic::Gate(gate).into();
    let subject = Subject::of(&project.workflow_stream(), &topic);
    let inbox = project.inbox()?;
    let entry = inbox.about(&subject);
    let message = format!("{gate} waits for a person's word, asked for in the inbox");
    let told = |message| CliError::new(Code::PersonNeeded, message).hint("a person answers it");
    Err(match entry.map(|entry| entry.id.clone()) {
        Some(id) => {
            let answers = "confirm".to_owned();
            told(format!("{message} as {id}")).next(NextStep::AnswerEntry { id, answers })
        }
        None => told(message).next(NextStep::ShowInbox),
    })
}

/// Says what comes after a check that did not pass.
fn with_next(error: EngineError, next: Vec<NextStep>) -> CliError {
    match error {
        EngineError::CheckFailed { .. } => CliError::from(error).hint(FIX_FIRST).steps(next),
        other => other.into(),
    }
}

/// A person is asked where the configuration wants one, or where nothing else is given.
fn wants_confirmation(project: &Project, gate: GateName, has_report: bool) -> bool {
    let needs = project.configuration().values.workflow.requirement(gate);
    needs.human || (!has_report && needs.check.is_none() && !needs.review)
}

fn confirm(gate: GateName) -> Result<bool, CliError> {
    Ok(matches!(ask(&format!("Do you confirm {gate}? [y/N]"))?.as_deref(), Some("y" | "Y" | "yes")))
}

fn checkpoint(project: &mut Project, action: &CheckpointAction) -> Result<(), CliError> {
    let (id, step) = match action {
        CheckpointAction::Pass { id } => {
            return pass_checkpoint(project, &parse_id(id)?, &mut io::stderr());
        }
        CheckpointAction::Start { id } => {
            (id, CheckpointStep::Start { conversation: own_conversation() })
        }
        CheckpointAction::Fail { id, class } => {
            (id, CheckpointStep::Fail { class: parse_class(class)? })
        }
        CheckpointAction::Escalate { id } => (id, CheckpointStep::Escalate),
        CheckpointAction::Reopen { id } => (id, CheckpointStep::Reopen),
    };
    Ok(project.develop(Command::Checkpoint { id: parse_id(id)?, step })?)
}

/// Passes a checkpoint whose validation holds; `echo` gets what that prints.
pub(crate) fn pass_checkpoint(
    project: &mut Project,
    id: &CheckpointId,
    echo: &mut dyn io::Write,
) -> Result<(), CliError> {
    let passed = evidence::pass_checkpoint(project, id, echo);
    let (id, same) = (id.clone(), id.clone());
    let next = vec![NextStep::PassCheckpoint { id }, NextStep::FailCheckpoint { id: same }];
    passed.map_err(|error| with_next(error, next))
}

pub(crate) fn parse_class(word: &str) -> Result<FailureClass, CliError> {
    FailureClass::from_word(word).ok_or_else(|| {
        CliError::new(Code::ClassUnknown, format!("`{word}` is no class of failure")).hint(
            "one of transient, validation, dependency, resource, structural, critical, ENV_ISSUE, \
             DESIGN_MISMATCH",
        )
    })
}

/// What is wanted on resuming.
enum Wish {
    GoOn,
    Restart(Option<String>),
}

fn resume(
    context: &Context,
    project: &mut Project,
    feature: Option<&String>,
    wish: Option<Wish>,
) -> Result<(), CliError> {
    let max_iterations = project.configuration().values.workflow.max_iterations;
    let found = project.workflow()?.feature.as_ref();
    let Some(found) = found.filter(|found| !found.is_done()) else {
        if found.is_some() {
            context.out.done("the previous feature is done; this starts a new one");
        }
        let asked = match feature {
            Some(feature) => Some(feature.clone()),
            None => ask("What is to be built?")?.filter(|text| !text.is_empty()),
        };
        let Some(feature) = asked else {
            return Err(CliError::new(Code::NothingToResume, "there is nothing to resume")
                .next(NextStep::StartFeature));
        };
        return Ok(project.develop(Command::Start { feature, max_iterations })?);
    };
    context.out.done(show_workflow::resumed(found));
    let wish = match wish {
        Some(wish) => wish,
        None => match ask("[c]ontinue, or start from the [b]eginning?")?.as_deref() {
            Some("c" | "continue" | "") => Wish::GoOn,
            Some("b" | "beginning") => Wish::Restart(None),
            Some(other) => {
                return Err(CliError::bad_input(format!("`{other}` is neither c nor b")));
            }
            None => {
                return Err(CliError::new(Code::ChoiceNeeded, "say how to go on")
                    .next(NextStep::ContinueFeature));
            }
        },
    };
    match wish {
        Wish::GoOn => gate::take_up(project)?,
        Wish::Restart(name) => {
            let feature = name.or_else(|| feature.cloned());
            project.develop(Command::Restart { feature, max_iterations })?;
        }
    }
    Ok(())
}

fn parse_id(text: &str) -> Result<CheckpointId, CliError> {
    text.parse().map_err(|error: waypost_model::id::BadId| CliError::bad_input(error.to_string()))
}

pub(crate) fn parse_gate(name: &str) -> Result<GateName, CliError> {
    GateName::from_word(name).ok_or_else(|| {
        let names: Vec<&str> = GateName::ALL.iter().map(|gate| gate.as_str()).collect();
        CliError::new(Code::GateUnknown, format!("`{name}` is no gate"))
            .hint(format!("one of {}", names.join(", ")))
    })
}
