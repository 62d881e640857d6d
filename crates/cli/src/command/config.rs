//! `waypost config`: what holds, and where it came from.

use crate::data::SettingLine;
use crate::{
    Context,
    error::CliError,
    output::{DIM, styled},
};
use serde_json::json;
use std::process::ExitCode;
use waypost_engine::{Environment, ProjectSetup};

/// Show the configuration
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: ConfigAction,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigAction {
    /// Print every value and where it came from
    ///
    /// Layers, later ones win: defaults, ~/.config/waypost/config.toml, waypost.toml in the
    /// project, WAYPOST_* in the environment (not for the workflow, nor for what gates begin
    /// with), flags of a command.
    Show,
}

pub(crate) fn run(context: &Context, args: &ConfigArgs) -> Result<ExitCode, CliError> {
    let ConfigAction::Show = args.action;
    let setup = ProjectSetup::find(&context.directory, &Environment::of_this_process())?;
    let settings = setup.configuration().settings();
    if context.out.json {
        let values: Vec<_> = settings
            .iter()
            .map(|each| {
                let origin = each.origin.to_string();
                SettingLine { key: &each.key, value: json!(each.value), origin }
            })
            .collect();
        context.out.json_list(&values)?;
        return Ok(ExitCode::SUCCESS);
    }
    let lines: Vec<(String, String)> = settings
        .iter()
        .map(|each| (format!("{} = {}", each.key, each.value), each.origin.to_string()))
        .collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(60);
    for (line, origin) in lines {
        context.out.line(format!("{line:width$}  {}", styled(DIM, origin)))?;
    }
    Ok(ExitCode::SUCCESS)
}
