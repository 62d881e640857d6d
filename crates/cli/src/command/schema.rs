//! `waypost schema`: the JSON Schemas of all files.

use crate::data::{KINDS, KindLine, PrintedKind, TypeLine};
use crate::{Context, error::CliError};
use serde_json::Value;
use std::process::ExitCode;
use waypost_model::{code::Code, document::Kind};

/// Print the JSON Schema of a kind of file, or of what `--json` prints
///
/// Draft 2020-12, for editors and for agents that write these files. `schema json` lists the types of
/// objects that `--json` prints, `schema json TYPE` prints the schema of one.
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// The kind of file; without it, all kinds are listed
    #[arg(value_name = "KIND")]
    kind: Option<String>,

    /// With `json` as the kind: the type of object
    #[arg(value_name = "TYPE")]
    object: Option<String>,

    /// Print the names of all kinds, one per line
    #[arg(long)]
    list: bool,
}

/// The kind that is no file: what `--json` prints.
const PRINTED: &str = "json";

pub(crate) fn run(context: &Context, args: &SchemaArgs) -> Result<ExitCode, CliError> {
    match &args.kind {
        Some(name) if name == PRINTED => return printed(context, args),
        Some(_) if args.object.is_some() || args.list => {
            let message = format!("only `{PRINTED}` has types to name or to list");
            return Err(CliError::bad_input(message));
        }
        Some(name) => {
            show(context, &waypost_engine::schema(find_kind(name)?))?;
        }
        None if context.out.json => {
            let kinds: Vec<_> = Kind::ALL
                .iter()
                .map(|kind| KindLine { kind: kind.name(), title: kind.title() })
                .collect();
            context.out.json_list(&kinds)?;
        }
        None if args.list => {
            for kind in Kind::ALL {
                context.out.line(kind.name())?;
            }
        }
        None => {
            for kind in Kind::ALL {
                context.out.line(format!("{:20} {}", kind.name(), kind.title()))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The schemas of what `--json` prints.
fn printed(context: &Context, args: &SchemaArgs) -> Result<ExitCode, CliError> {
    let Some(name) = &args.object else {
        if context.out.json {
            let line = |kind: &PrintedKind| TypeLine { name: kind.name, commands: kind.commands };
            context.out.json_list(&KINDS.iter().map(line).collect::<Vec<_>>())?;
            return Ok(ExitCode::SUCCESS);
        }
        for kind in KINDS {
            context.out.line(match args.list {
                true => kind.name.to_owned(),
                false => format!("{:20} {}", kind.name, kind.commands),
            })?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        CliError::new(Code::KindUnknown, format!("`--json` prints no `{name}`"))
            .hint(format!("one of {}", names.join(", ")))
    })?;
    show(context, &(kind.schema)())?;
    Ok(ExitCode::SUCCESS)
}

/// A schema is JSON as it is; for a program on one line.
fn show(context: &Context, schema: &Value) -> Result<(), CliError> {
    if context.out.json {
        return Ok(context.out.json_as_it_is(schema)?);
    }
    let text = serde_json::to_string_pretty(schema).map_err(std::io::Error::other)?;
    Ok(context.out.line(text)?)
}

/// Finds a kind by its name.
pub(crate) fn find_kind(name: &str) -> Result<Kind, CliError> {
    Kind::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        CliError::new(Code::KindUnknown, format!("`{name}` is no kind of file"))
            .hint(format!("one of {}", names.join(", ")))
    })
}
