//! `waypost session list` and `show`: sessions on disk, and earlier requests.

use super::tell;
use crate::data::{SessionFoundLine, SessionRequestLine};
use crate::{Context, error::CliError, output::BOLD, output::styled, show};
use waypost_engine::{
    Project,
    sessions::{self, FoundSession},
};
use waypost_model::{code::Code, document::RequestId, next::NextStep};

/// Show the session, one of its requests, or a session on disk
#[derive(Debug, clap::Args)]
pub(super) struct ShowSessionArgs {
    /// A request, as in R1, or the name of a session's folder
    #[arg(value_name = "ID")]
    id: Option<String>,
}

pub(super) fn list(context: &Context, project: &mut Project) -> Result<(), CliError> {
    let found = sessions::list(project)?;
    if context.out.json {
        let lines: Vec<SessionFoundLine<'_>> = found.iter().map(SessionFoundLine::from).collect();
        return Ok(context.out.json_list(&lines)?);
    }
    if found.is_empty() {
        context.out.note("there is no session here; `waypost session start` begins one");
    }
    for session in &found {
        context.out.line(line(session))?;
    }
    Ok(())
}

fn line(found: &FoundSession) -> String {
    let here = if found.is_here { " (here)" } else { "" };
    match &found.file {
        Some(file) => {
            let status = show::session::status_word(file.status);
            let hash = styled(BOLD, &found.hash);
            format!("{hash}{here}  {status}  {}  {}", file.updated_at, file.project.path)
        }
        None => {
            let fault = found.fault.as_deref().unwrap_or("it cannot be read");
            format!("{}{here}  {fault}", styled(BOLD, &found.hash))
        }
    }
}

pub(super) fn show(
    context: &Context,
    project: &mut Project,
    args: &ShowSessionArgs,
) -> Result<(), CliError> {
    let Some(id) = &args.id else { return tell(context, project) };
    if let Ok(wanted) = id.parse::<RequestId>() {
        let found = sessions::requests(project)?.into_iter().find(|it| it.state.id == wanted);
        let Some(found) = found else {
            let message = format!("there was no request {wanted}");
            return Err(CliError::new(Code::SessionUnknown, message).next(NextStep::ShowSession));
        };
        if context.out.json {
            return Ok(context.out.json(&SessionRequestLine::from(&found))?);
        }
        return Ok(context.out.raw(&show::session::request(&found.state))?);
    }
    let found = sessions::list(project)?.into_iter().find(|it| it.hash.as_str() == id);
    let Some(found) = found else {
        let message = format!("there is no session {id}");
        return Err(CliError::new(Code::SessionUnknown, message).next(NextStep::ListSessions));
    };
    if context.out.json {
        return Ok(context.out.json(&SessionFoundLine::from(&found))?);
    }
    Ok(context.out.line(line(&found))?)
}
