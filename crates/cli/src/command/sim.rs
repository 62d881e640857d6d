//! `waypost sim`: stands in for a model or for a whole agent program, to rehearse without either.

use crate::{
    Context,
    data::{ModelServer, Programs},
    error::CliError,
    output::{BOLD, styled},
};
use clap::{Subcommand, builder::PossibleValuesParser};
use std::{
    env,
    error::Error as _,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf, absolute},
    process::ExitCode,
    thread,
};
use waypost_agent::{endpoint::Rehearsal, programs};
use waypost_engine::{Clock, EngineError, Product};
use waypost_model::{code::Code, diagnostic::Diagnostic, layout};
use waypost_sim::{
    Options, Script, Server, SimError, agent,
    agent::{AgentScript, Double},
};

/// The folder of conversations, below the system's folder for temporary files.
const SESSIONS: &str = "waypost-sim";

/// Rehearse without a model
#[derive(Debug, clap::Args)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    action: SimAction,
}

#[derive(Debug, Subcommand)]
enum SimAction {
    Model(ModelArgs),
    Agent(AgentArgs),
}

/// Serve a scripted model on loopback
///
/// Speaks the Anthropic Messages API, the OpenAI Responses API and the Gemini API, so that Claude
/// Code, Codex and Gemini CLI run against it without a network, an account or a cost. Prints how to point them to it, and serves
/// until Ctrl-C. The script is JSON:
///
/// {"version": 1, "turns": [{"blocks": [{"text": "…"}, {"tool": NAME, "input": {…}}]}, …]}
///
/// Every answer of the model is a turn; which one follows from how often it has spoken in the
/// conversation, so repeated requests do no harm. A turn may have `delay_ms`, `until` (a file that
/// has to be there first), `error` ({"status": 529, "times": 2}: these requests fail first;
/// with "until": FILE instead of "times", all of them until it is there) and
/// `usage` ({"input_tokens": N, "cached_input_tokens": N, "output_tokens": N}). `conversations`
/// ([{"marker": TEXT, "turns": […]}]) answer those whose prompt has the marker, `sub_turns` those
/// that have the text of `sub_marker` (SUBAGENT); `side_text` answers requests without tools. The input of a
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

/// Play an agent program by a script
///
/// Behaves on its standard input and output as the real program does: Claude Code, `codex
/// app-server`, `codex exec`, or an agent of the Agent Client Protocol. What stands behind `--` is
/// what the real program would be given. The script is JSON:
///
/// {"version": 1, "default": [{"steps": [{"say": "…"}, {"done": "…"}]}],
///  "tasks": {"T1.2": [{"steps": [{"crash": 3}]}, {"steps": [{"done": "second time"}]}]},
///  "faults": {"percent": 20, "seed": 7}}
///
/// A task has a list of attempts; the last one is repeated. The task is $WAYPOST_TASK, else that of
/// a line `TASK_ID: X` in the message; the attempt is $WAYPOST_ATTEMPT. A step is one of `say`,
/// `tool` (with `input`), `write` ({"file", "text", "append"}), `run`, `permission` ({"tool",
/// "input", "else": STEPS}), `question` ({"text", "choices"}), `wait_ms`, `usage` ({"input",
/// "output", "cost_usd"}), `limit` ({"resets_in_s"}), `turn_end`, `done`, `fail`, `exit`, `crash`
/// (a code or "SIGKILL"), `hang` (true or "deaf"), `flood` (bytes), `garbage`. Texts may have
/// {task}, {attempt} and {answer}. Without `--script` it is waypost-sim.json in the folder that it
/// works in; without that it looks busy for a moment and is done.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct AgentArgs {
    /// The program to be
    #[arg(long, value_name = "PROGRAM", value_parser = programs())]
    speak: String,

    /// The script
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Where conversations are remembered; below the folder for temporary files if left out
    #[arg(long, value_name = "DIR")]
    sessions: Option<PathBuf>,

    /// What the real program would be given
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

fn programs() -> PossibleValuesParser {
    PossibleValuesParser::new(Double::all().map(|double| double.adapter.as_str()))
}

pub(crate) fn run(context: &Context, args: &SimArgs) -> Result<ExitCode, CliError> {
    match &args.action {
        SimAction::Model(args) => serve(context, args),
        SimAction::Agent(args) => play(context, args),
    }
}

fn serve(context: &Context, args: &ModelArgs) -> Result<ExitCode, CliError> {
    let script = read(context, &args.script, "model", Script::parse)?;
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

fn play(context: &Context, args: &AgentArgs) -> Result<ExitCode, CliError> {
    // A project may bring along what the scripted agent does in it, as it brings along commands.
    let own = PathBuf::from(layout::AGENT_SCRIPT);
    let own = Some(own).filter(|path| context.path(path).is_file());
    let script = match args.script.as_ref().or(own.as_ref()) {
        Some(path) => read(context, path, "agent", AgentScript::parse)?,
        None => AgentScript::busy(),
    };
    let sessions = args.sessions.as_ref().map(|folder| context.path(folder));
    let attempt = env::var(layout::variable::ATTEMPT).ok().and_then(|number| number.parse().ok());
    let options = agent::ProgramOptions {
        speak: Double::all()
            .find(|double| double.adapter.as_str() == args.speak)
            .expect("clap takes only these words"),
        arguments: args.arguments.clone(),
        script,
        sessions: sessions.unwrap_or_else(|| env::temp_dir().join(SESSIONS)),
        task: env::var(layout::variable::TASK).ok().filter(|task| !task.is_empty()),
        attempt: attempt.unwrap_or(1),
        folder: absolute(&context.directory)?,
        clock: || Clock.now(),
    };
    Ok(ExitCode::from(agent::run(&options)?))
}

/// Reads a script of either kind.
fn read<T>(
    context: &Context,
    path: &Path,
    command: &str,
    parse: fn(&[u8]) -> Result<T, Vec<Diagnostic>>,
) -> Result<T, CliError> {
    let bytes = fs::read(context.path(path)).map_err(|error| {
        let message = format!("cannot read the script {}: {error}", path.display());
        CliError::bad_input(message)
            .hint(format!("`waypost sim {command} --help` shows the format"))
    })?;
    parse(&bytes).map_err(|findings| EngineError::invalid(path, &bytes, findings).into())
}

/// Prints where the server is, and what the programs need to find it.
fn tell(context: &Context, server: SocketAddr) -> Result<(), CliError> {
    let rehearsals = programs::BUILT_IN
        .all()
        .filter_map(|program| Some((program.product?, program.rehearsal?(server))));
    if context.out.json {
        let line = |(product, it): (Product, Rehearsal)| {
            let environment = it.environment.into_iter().map(|(name, it)| (name.to_owned(), it));
            let config = it.config.map(|config| config.text);
            let program = Programs { environment: environment.collect(), config };
            (product.as_str().to_owned(), program)
        };
        let programs = rehearsals.map(line).collect();
        context.out.json(&ModelServer { address: format!("http://{server}"), programs })?;
        return Ok(());
    }
    context.out.line(format!("the model listens on http://{server}"))?;
    for (product, Rehearsal { environment, config }) in rehearsals {
        context.out.line("")?;
        match config {
            Some(config) => {
                let title = format!("{}: in {}", product.title(), config.place);
                context.out.line(styled(BOLD, &title))?;
                context.out.line(config.text)?;
                context.out.line(styled(BOLD, "and in its environment"))?;
            }
            None => context.out.line(styled(BOLD, product.title()))?,
        }
        context.out.line(exports(&environment))?;
    }
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
        Self::new(Code::SimFailed, format!("{error}{cause}")).hint(hint)
    }
}
