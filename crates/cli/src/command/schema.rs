//! `waypost schema`: the JSON Schemas of all files.

use crate::{Context, error::CliError};
use serde_json::json;
use std::process::ExitCode;
use waypost_model::{code::Code, document::Kind};

/// Print the JSON Schema of a kind of file
///
/// Draft 2020-12, for editors and for agents that write these files.
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// The kind of file; without it, all kinds are listed
    #[arg(value_name = "KIND")]
    kind: Option<String>,

    /// Print the names of all kinds, one per line
    #[arg(long, conflicts_with = "kind")]
    list: bool,
}

pub(crate) fn run(context: &Context, args: &SchemaArgs) -> Result<ExitCode, CliError> {
    match &args.kind {
        Some(name) => {
            let schema = waypost_engine::schema(find_kind(name)?);
            let text = serde_json::to_string_pretty(&schema).map_err(std::io::Error::other)?;
            context.out.line(text)?;
        }
        None if context.out.json => {
            let kinds: Vec<_> = Kind::ALL
                .iter()
                .map(|kind| json!({ "kind": kind.name(), "title": kind.title() }))
                .collect();
            context.out.json(&kinds)?;
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

/// Finds a kind by its name.
pub(crate) fn find_kind(name: &str) -> Result<Kind, CliError> {
    Kind::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        CliError::new(Code::KindUnknown, format!("`{name}` is no kind of file"))
            .hint(format!("one of {}", names.join(", ")))
    })
}
