//! Questions of an agent's program in the middle of a turn: may this tool be used, which of these? What
//! the agent asks in its own words is a signal, and the task's business.

use super::agent::TaskAgent;
use crate::{agent::Asking, error::EngineError, permits, project::Project};
use std::path::Path;
use waypost_model::{
    permission::Grant,
    run::Prompt,
    task::{Command, TaskFile},
};

/// Tells the program the answers that are there. What is to be recorded: questions that have none.
pub(super) fn attend(
    project: &Project,
    file: &TaskFile,
    agent: &mut TaskAgent,
) -> Result<Vec<Command>, EngineError> {
    let heard = agent.life().heard();
    if heard.asks.is_empty() || heard.end.is_some() {
        return Ok(Vec::new());
    }
    let folder = file.workspace.as_ref().map(|it| it.folder.clone()).unwrap_or_default();
    let asking = Asking {
        work: &file.id,
        folder: Path::new(&folder),
        trail: Some(&file.trail),
        grants: &[Grant::Once, Grant::Task, Grant::Project],
        may_go_on: true,
    };
    let attempt = agent.attempt;
    let mut is_permitted = |prompts: &[Prompt]| is_permitted(project, file, prompts);
    let found = asking.attend(agent.life(), &mut is_permitted)?;
    let is_new = |prompt: &Prompt| !file.trail.asked.contains(&prompt.key);
    let open = found.open.into_iter().filter(|(prompt, _)| is_new(prompt));
    Ok(open.map(|(prompt, question)| Command::Ask { attempt, prompt, question }).collect())
}

/// Whether a person has allowed all of it before: for the task, or for the project.
fn is_permitted(
    project: &Project,
    file: &TaskFile,
    prompts: &[Prompt],
) -> Result<bool, EngineError> {
    for prompt in prompts {
        let Some(permit) = &prompt.permit else { return Ok(false) };
        if !file.trail.permits.contains(permit) && !permits::is_allowed(&project.setup, permit)? {
            return Ok(false);
        }
    }
    Ok(!prompts.is_empty())
}
