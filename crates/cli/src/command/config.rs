//! `waypost config`: what holds, and where it came from.

use crate::{
    Context,
    error::CliError,
    output::{DIM, styled},
};
use serde_json::json;
use std::process::ExitCode;
use waypost_engine::{Project, identify};

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
    /// project, WAYPOST_* in the environment.
    Show,
}

/// Values that are not for everybody's eyes.
const SECRET_KEYS: [&str; 1] = ["run.slack_webhook_url"];

pub(crate) fn run(context: &Context, args: &ConfigArgs) -> Result<ExitCode, CliError> {
    let ConfigAction::Show = args.action;
    let project = Project::find(&context.directory, identify())?;
    let settings = project.configuration().settings();
    if context.out.json {
        let values: Vec<_> = settings
            .iter()
            .map(|each| {
                let is_secret = is_secret(&each.key, &each.value.to_string());
                let value = if is_secret { json!("(redacted)") } else { json!(each.value) };
                json!({ "key": each.key, "value": value, "origin": each.origin.to_string() })
            })
            .collect();
        context.out.json(&values)?;
        return Ok(ExitCode::SUCCESS);
    }
    let lines: Vec<(String, String)> = settings
        .iter()
        .map(|each| {
            let value = shown(&each.key, &each.value.to_string());
            (format!("{} = {value}", each.key), each.origin.to_string())
        })
        .collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(60);
    for (line, origin) in lines {
        context.out.line(format!("{line:width$}  {}", styled(DIM, origin)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(key: &str, value: &str) -> String {
    if is_secret(key, value) { "\"(redacted)\"".to_owned() } else { value.to_owned() }
}

/// A secret is shown only as far as it names an environment variable; an empty one is none.
fn is_secret(key: &str, value: &str) -> bool {
    SECRET_KEYS.contains(&key) && value.len() > 2 && !value.starts_with("\"env:")
}
