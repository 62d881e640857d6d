//! `waypost doctor`: what is wrong here, and what to do.

use super::{pin, task::parse};
use crate::data::Examined;
use crate::{
    Context,
    error::{CliError, Kind},
    output::{CYAN, GREEN, RED, YELLOW, styled},
    spelling,
};
use std::{collections::BTreeSet, path::PathBuf, process::ExitCode};
use waypost_engine::{Doctor, Finding, Health, WantedWorkspaces, identify};

/// Look the project over and say what to do
///
/// Checks the journal entry by entry, the windows, the configuration, git, work trees, branches and
/// every recorded commit against the journal, and whether agent programs ask their hooks here. Exits
/// 1 if something is wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Fix what can be fixed without loss
    #[arg(long)]
    fix: bool,

    /// With --fix: make a draft of this workspace, whose task the journal does not know; may be given several times
    #[arg(long, value_name = "ID", requires = "fix")]
    take_up: Vec<String>,

    /// With --fix: make drafts of all workspaces whose tasks the journal does not know
    #[arg(long, requires = "fix", conflicts_with = "take_up")]
    take_up_all: bool,

    /// Where `waypost serve` keeps workspaces; `.waypost` in the project if left out
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl DoctorArgs {
    fn wanted(&self) -> Result<WantedWorkspaces, CliError> {
        if self.take_up_all {
            return Ok(WantedWorkspaces::All);
        }
        let ids: BTreeSet<_> = self.take_up.iter().map(|id| parse(id)).collect::<Result<_, _>>()?;
        Ok(if ids.is_empty() { WantedWorkspaces::None } else { WantedWorkspaces::These(ids) })
    }
}

pub(crate) fn run(context: &Context, args: &DoctorArgs) -> Result<ExitCode, CliError> {
    let data = args.data_dir.as_ref().map(|path| context.path(path));
    let doctor = Doctor::new(&context.directory, identify(), pin::typed_unseen)?;
    let doctor = doctor.workspaces(data, args.wanted()?);
    let mut findings = doctor.examine();
    if args.fix {
        let mut repairs: Vec<_> = findings.iter().filter_map(|it| it.repair.as_ref()).collect();
        // One repair may be for many findings.
        repairs.dedup();
        for repair in repairs {
            let done = doctor.repair(repair)?;
            context.out.note(format!("{} {done}", styled(GREEN, "fixed:")));
        }
        findings = doctor.examine();
    }
    print_all(context, &findings)?;
    let is_bad = findings.iter().any(|finding| finding.verdict == Health::Bad);
    Ok(if is_bad { ExitCode::from(Kind::Failed as u8) } else { ExitCode::SUCCESS })
}

/// Prints what was found, as lines or as data.
pub(crate) fn print_all(context: &Context, findings: &[Finding]) -> Result<(), CliError> {
    if context.out.json {
        let rows: Vec<_> = findings.iter().map(finding_json).collect();
        return Ok(context.out.json_list(&rows)?);
    }
    findings.iter().try_for_each(|finding| print(context, finding))
}

fn print(context: &Context, finding: &Finding) -> Result<(), CliError> {
    let word = match finding.verdict {
        Health::Good => styled(GREEN, "ok  "),
        Health::Note => styled(YELLOW, "note"),
        Health::Bad => styled(RED, "bad "),
    };
    context.out.line(format!("{word} {:14} {}", finding.subject, finding.text))?;
    if let Some(remedy) = &finding.remedy {
        context.out.line(format!("     {:14} {} {remedy}", "", styled(CYAN, "hint:")))?;
    }
    if let Some(next) = spelling::any_of(&finding.next) {
        context.out.line(format!("     {:14} {} {next}", "", styled(CYAN, "next:")))?;
    }
    Ok(())
}

fn finding_json(finding: &Finding) -> Examined<'_> {
    let verdict = match finding.verdict {
        Health::Good => "ok",
        Health::Note => "note",
        Health::Bad => "bad",
    };
    Examined {
        subject: finding.subject,
        verdict,
        text: &finding.text,
        remedy: finding.remedy.as_deref(),
        next: spelling::any_of(&finding.next),
        next_steps: spelling::data(&finding.next),
        fixable: finding.repair.is_some(),
    }
}
