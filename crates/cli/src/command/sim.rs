//! `waypost sim`: stands in for a model, so that an agent program can be rehearsed.

use crate::{
    Context,
    error::{CliError, Kind},
    output::{BOLD, styled},
};
use clap::Subcommand;
use serde_json::{Map, Value, json};
use std::{error::Error as _, fs, io, net::SocketAddr, path::PathBuf, process::ExitCode, thread};
use waypost_agent::{claude_environment, codex_config, codex_environment};
use waypost_engine::EngineError;
use waypost_sim::{Options, Script, Server, SimError};

/// Rehearse without a model
#[derive(Debug, clap::Args)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    action: SimAction,
}

#[derive(Debug, Subcommand)]
enum SimAction {
    Model(ModelArgs),
}

/// Serve a scripted model on loopback
///
/// Speaks the Anthropic Messages API and the OpenAI Responses API, so that Claude Code and Codex run
/// against it without a network, an account or a cost. Prints how to point them to it, and serves
/// until Ctrl-C. The script is JSON:
///
/// {"version": 1, "turns": [{"blocks": [{"text": "…"}, {"tool": NAME, "input": {…}}]}, …]}
///
/// Every answer of the model is a turn; which one follows from how often it has spoken in the
/// conversation, so repeated requests do no harm. A turn may have `delay_ms`, `error` ({"status":
/// 529, "times": 2}: these requests fail first) and `usage` ({"input_tokens": N,
/// "cached_input_tokens": N, "output_tokens": N}). `sub_turns` answer conversations whose prompt has
/// the text of `sub_marker` (SUBAGENT); `side_text` answers requests without tools. The input of a
/// tool is an object, or a text for tools of Codex that take one.
#[derive(Debug, clap::Args)]
struct ModelArgs {
    /// The script
    #[arg(long, value_name = "FILE")]
    script: PathBuf,

    /// The port to listen on; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,

    /// Append every request to FILE, one line of JSON each
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// End when standard input is closed, for a program that started us
    #[arg(long)]
    until_stdin_closes: bool,
}

pub(crate) fn run(context: &Context, args: &SimArgs) -> Result<ExitCode, CliError> {
    match &args.action {
        SimAction::Model(args) => serve(context, args),
    }
}

fn serve(context: &Context, args: &ModelArgs) -> Result<ExitCode, CliError> {
    let script = read_script(context, args)?;
    let log = args.log.as_ref().map(|log| context.path(log));
    let server = Server::start(script, &Options { port: args.port, log })?;
    tell(context, server.address())?;
    if args.until_stdin_closes {
        io::copy(&mut io::stdin(), &mut io::sink())?;
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        thread::park();
    }
}

fn read_script(context: &Context, args: &ModelArgs) -> Result<Script, CliError> {
    let path = context.path(&args.script);
    let bytes = fs::read(&path).map_err(|error| {
        let message = format!("cannot read the script {}: {error}", args.script.display());
        CliError::bad_input(message).hint("`waypost sim model --help` shows the format")
    })?;
    Script::parse(&bytes)
        .map_err(|findings| EngineError::invalid(&args.script, &bytes, findings).into())
}

/// Prints where the server is, and what the programs need to find it.
fn tell(context: &Context, server: SocketAddr) -> Result<(), CliError> {
    let claude = claude_environment(server);
    let codex = codex_environment();
    if context.out.json {
        let object = |pairs: Vec<(&str, String)>| -> Map<String, Value> {
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
        };
        context.out.json(&json!({
            "address": format!("http://{server}"),
            "claude": {"environment": object(claude)},
            "codex": {"environment": object(codex), "config": codex_config(server)},
        }))?;
        return Ok(());
    }
    context.out.line(format!("the model listens on http://{server}\n"))?;
    context.out.line(styled(BOLD, "Claude Code"))?;
    context.out.line(format!("{}\n", exports(&claude)))?;
    context.out.line(styled(BOLD, "Codex: in $CODEX_HOME/config.toml"))?;
    context.out.line(codex_config(server))?;
    context.out.line(styled(BOLD, "and in its environment"))?;
    context.out.line(exports(&codex))?;
    Ok(())
}

fn exports(variables: &[(&str, String)]) -> String {
    let line = |(name, value): &(&str, String)| format!("export {name}={value}");
    variables.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl From<SimError> for CliError {
    fn from(error: SimError) -> Self {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let hint = match &error {
            SimError::Log { .. } => "name a file that can be written",
            SimError::Listen { .. } => "without --port any free one is taken",
        };
        Self::new(Kind::Missing, format!("{error}{cause}")).hint(hint)
    }
}
