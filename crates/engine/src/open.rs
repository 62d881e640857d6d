//! Taking over the conversation of a task's agent, for a person: the agent's process ends first,
//! and no engine starts another one until the task is handed back. The same for tasks of a run and of
//! the server.

use crate::{
    agent::{self, agents_folder, bury},
    attendance,
    error::{EngineError, Problem},
    project::Project,
    served, serving,
};
use std::{path::PathBuf, thread, time::Duration};
use waypost_agent::launch::interactive;
use waypost_model::{
    code::Code,
    document::ServerTaskId,
    id::TaskId,
    layout,
    machine::Rejected,
    next::NextStep,
    run::{self, Conversation},
    task::Command,
};
use waypost_proc::{Found, Report, Stop, find};
use waypost_store::file;

const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How long an agent may take to end; its keeper uses force long before.
const LOOKS_MAX: u32 = 1_200;

/// How a conversation is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    pub agent: String,
    /// The program with its arguments.
    pub words: Vec<String>,
    /// Where it is to be started.
    pub folder: PathBuf,
}

/// How the conversation of a task would be opened; nothing is changed.
pub fn conversation(project: &mut Project, id: &TaskId) -> Result<Opened, EngineError> {
    let active = project.run()?.active();
    let Some(view) = active.and_then(|active| active.task(id)) else {
        return Err(Rejected::unknown(Code::TaskUnknown, format!("there is no task {id}"))
            .next(NextStep::ShowRun)
            .into());
    };
    // Programs know a conversation by the folder that it was held in.
    let tree = active.and_then(|active| active.task_tree(id));
    let found = view.trail.and_then(|trail| trail.conversation.clone());
    let Some(Conversation { agent, id: conversation, .. }) = found else {
        let message = format!("no agent has worked on {id}: there is nothing to open");
        return Err(Rejected::rule(Code::NoConversation, message)
            .next(NextStep::ExplainTask { id: id.clone() })
            .into());
    };
    let (agent, words) = words_for(project, &agent, &conversation)?;
    let home = project.setup.shared_root();
    let folder = tree.map_or_else(|| project.root().to_owned(), |tree| home.join(tree));
    if !folder.exists() {
        let message = format!("{} is gone, and the conversation belongs to it", folder.display());
        return Err(Problem::new(Code::TreeGone, message)
            .next(NextStep::ListTrees)
            .next(NextStep::ShowChanges { id: id.clone() })
            .into());
    }
    Ok(Opened { agent, words, folder })
}

/// The agent of a name, and the words by which a person opens a conversation of it.
fn words_for(
    project: &Project,
    agent: &str,
    conversation: &str,
) -> Result<(String, Vec<String>), EngineError> {
    let agent = agent::named(&project.setup, agent)?;
    let words = interactive(agent.adapter, &agent.command, conversation);
    let words = words.ok_or_else(|| {
        let name = &agent.name;
        let message =
            format!("{name} has no terminal of its own in which {conversation} could be opened");
        Problem::new(Code::NoTerminal, message)
    })?;
    Ok((agent.name, words))
}

/// How the conversation of a task of the server would be opened; nothing is changed.
pub fn served_conversation(
    project: &mut Project,
    id: &ServerTaskId,
) -> Result<Opened, EngineError> {
    let file = served::located(project, id)?;
    let step = || NextStep::ShowServedTask { task: id.clone() };
    let Some(Conversation { agent, id: conversation, .. }) = file.trail.conversation else {
        let message = format!("no agent has worked on {id}: there is nothing to open");
        return Err(Rejected::rule(Code::NoConversation, message).next(step()).into());
    };
    let (agent, words) = words_for(project, &agent, &conversation)?;
    let folder = file.workspace.map(|it| PathBuf::from(it.folder)).unwrap_or_default();
    if !folder.is_dir() {
        let message = format!("{} is gone, and the conversation belongs to it", folder.display());
        return Err(Problem::new(Code::TreeGone, message).next(step()).into());
    }
    Ok(Opened { agent, words, folder })
}

/// Takes the conversation of a task of the server away from its agent, and waits until that has ended.
pub fn take_over_served(project: &mut Project, id: &ServerTaskId) -> Result<Opened, EngineError> {
    let opened = served_conversation(project, id)?;
    served::command(project, id, Command::TakeOver)?;
    for _ in 0..LOOKS_MAX {
        if !serving::is_at_work(&project.setup, id)? {
            return Ok(opened);
        }
        // A host that lives ends it; where there is none, it is ended here.
        if let Some(_alone) = attendance::alone(project, "open")? {
            serving::end_left(&project.setup, id)?;
        }
        thread::sleep(LOOK_INTERVAL);
    }
    hand_back_served(project, id)?;
    Err(Problem::new(Code::AgentStays, format!("the agent of {id} does not end"))
        .next(NextStep::ShowServedTask { task: id.clone() })
        .into())
}

/// Hands a task of the server back that a person has taken over.
pub fn hand_back_served(project: &mut Project, id: &ServerTaskId) -> Result<(), EngineError> {
    match served::file(project, id)?.is_taken() {
        true => served::command(project, id, Command::Resume),
        false => Ok(()),
    }
}

/// Takes a task's conversation away from its agent, and waits until that has ended.
pub fn take_over(project: &mut Project, id: &TaskId) -> Result<Opened, EngineError> {
    let opened = conversation(project, id)?;
    project.run_command(run::Command::TakeOver { id: id.clone() })?;
    let fence = project.setup.place.state.join(layout::state::FENCES).join(id.as_str());
    for _ in 0..LOOKS_MAX {
        if file::Mark::of(&fence)?.is_none() {
            return Ok(opened);
        }
        end_left_agent(project, id)?;
        thread::sleep(LOOK_INTERVAL);
    }
    hand_back(project, id)?;
    Err(Problem::new(Code::AgentStays, format!("the agent of {id} does not end"))
        .next(NextStep::ShowHistory { id: id.clone() })
        .into())
}

pub fn hand_back(project: &mut Project, id: &TaskId) -> Result<(), EngineError> {
    project.run_command(run::Command::HandBack { id: id.clone() })
}

/// Ends the agent of a task that no engine looks after any more. An engine that lives ends its
/// agents itself.
fn end_left_agent(project: &mut Project, id: &TaskId) -> Result<(), EngineError> {
    let Some(_alone) = attendance::alone(project, "open")? else { return Ok(()) };
    let start = format!("{id}#");
    let is_its = |reports: &[Report]| reports.iter().any(|it| it.id().starts_with(&start));
    for found in find(&agents_folder(&project.setup.place.state))? {
        match found {
            Found::Alive(keeper) => {
                let mut reports = keeper.next(Duration::ZERO)?;
                if !is_its(&reports) {
                    continue;
                }
                let is_end = |report: &Report| !matches!(report, Report::Started { .. });
                let name = reports[0].id().to_owned();
                keeper.stop(&name, Stop::Asked)?;
                while !reports.iter().any(is_end) {
                    reports = keeper.next(LOOK_INTERVAL)?;
                }
                keeper.close()?;
            }
            Found::Dead(dead) if is_its(&dead.reports) => {
                bury(&dead, "")?;
                dead.remove()?;
            }
            Found::Dead(_) | Found::Foreign { .. } => {}
        }
    }
    Ok(file::remove(&project.setup.place.state.join(layout::state::FENCES).join(id.as_str()))?)
}
