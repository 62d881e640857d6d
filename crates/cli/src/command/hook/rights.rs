//! `waypost hook rights FOLDER…`: what an agent may do in the projects around these folders, from
//! the journal itself. `waypost-shell` asks this for every call that it makes.
//!
//! The answer is one line of JSON; no answer and any exit code but 0 mean that nothing is allowed.

use super::spot;
use serde_json::{Value, json};
use std::{
    env,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};
use waypost_engine::{EngineError, gate};
use waypost_hook::Spot;
use waypost_model::{
    config::WallConfig,
    layout::variable,
    workflow::{GateName, Held, Phase, Rights},
};

/// A project with a say, and what it says.
struct Holding {
    spot: Spot,
    rights: Rights,
    design_paths: Vec<String>,
    wall: WallConfig,
}

pub(super) fn answer(folders: &[String]) -> ExitCode {
    let mut holdings: Vec<Holding> = Vec::new();
    for folder in folders {
        let folder = Path::new(folder);
        match holding(folder) {
            Ok(Some(found)) if holdings.iter().all(|known| known.spot != found.spot) => {
                holdings.push(found);
            }
            Ok(_) => {}
            // The one who asks counts on nothing then.
            Err(error) if gate::may_be_held(folder, &error) => return ExitCode::FAILURE,
            Err(_) => {}
        }
    }
    let text = format!("{}\n", value(&holdings));
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The project around a folder, if its workflow holds an agent or an attempt works there.
fn holding(start: &Path) -> Result<Option<Holding>, EngineError> {
    let mut project = gate::open_to_judge(start)?;
    if !project.has_journal() {
        return Ok(None);
    }
    let mut record = gate::record(&mut project)?;
    // What finishes the work is allowed for the content that was looked at, and no other.
    let is_clean = |held: &Held| held.phase == Phase::Pr && held.rights.commit;
    if record.held.as_ref().is_some_and(is_clean)
        && gate::close_if_stale(&mut project, GateName::ReReviewClean)?
    {
        record = gate::record(&mut project)?;
    }
    gate::keep_record(&mut project, &record);
    let is_attempt = env::var_os(variable::ATTEMPT).is_some();
    let (rights, design_paths) = match record.held {
        Some(held) => (held.rights, held.design_paths),
        None if is_attempt => (Rights::ALL, Vec::new()),
        None => return Ok(None),
    };
    let wall = project.configuration().values.wall.clone();
    Ok(Some(Holding { spot: spot(&project), rights, design_paths, wall }))
}

fn value(holdings: &[Holding]) -> Value {
    let projects = holdings.iter().map(|Holding { spot, rights, design_paths, .. }| {
        json!({
            "root": spot.root,
            "git_common": spot.git_common,
            "state": spot.state,
            "tree": spot.tree,
            "rights": rights.words(),
            "design_paths": design_paths,
        })
    });
    let projects: Vec<Value> = projects.collect();
    // The person's own lists are the same for all; the strictest of what is required counts.
    let require = holdings.iter().map(|it| it.wall.require).max().unwrap_or_default();
    let wall = holdings.first().map(|it| it.wall.clone()).unwrap_or_default();
    json!({
        "v": 1,
        "projects": projects,
        "require": require.as_str(),
        "build_folders": wall.build_folders,
        "caches": wall.caches,
        "readable": wall.readable,
        "servers": wall
            .mcp
            .iter()
            .map(|(name, server)| (name.clone(), json!(server.variables)))
            .collect::<serde_json::Map<_, _>>(),
    })
}
