//! What agents keep in their caches, and when it was last used.
//!
//! A use is a write, or a read through Waypost. When that was is remembered beside the journal, by
//! agent and key: losing it only makes entries stay longer.

use super::{
    documents::{MemoryDocument, change, load},
    folder,
};
use crate::{error::EngineError, project::Project};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};
use waypost_model::{
    json::{Json, JsonPath, OpenMap},
    layout::{self, memory::AGENTS},
    time::Time,
};
use waypost_store::{file, hash, lock::FileLock};

/// The largest list of uses that is read.
const USES_SIZE_MAX: u64 = 16 << 20;

/// What was cleared of one agent's cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedCache {
    pub agent: String,
    pub keys: Vec<String>,
}

/// When entries of caches were last used, by agent and key.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Uses {
    version: u32,
    agents: BTreeMap<String, BTreeMap<String, Use>>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Use {
    at: Time,
    /// Of the value: another one was written without us.
    hash: String,
}

impl Uses {
    fn path(project: &Project) -> PathBuf {
        project.place().state.join(layout::state::MEMORY_CACHE)
    }

    fn load(project: &Project) -> Self {
        let bytes = file::read_bounded(&Self::path(project), USES_SIZE_MAX).ok().flatten();
        let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.unwrap_or_default()
    }

    /// Changes the list while no other process does. It is a hint: what stands against it is passed over.
    fn change(project: &Project, change: impl FnOnce(&mut Self)) {
        let path = Self::path(project);
        let Ok(_turn) = FileLock::acquire(&path.with_extension("cache.lock")) else { return };
        let mut uses = Self::load(project);
        change(&mut uses);
        uses.version = 1;
        let bytes = serde_json::to_vec(&uses).expect("uses are plain data");
        let _hint = file::replace_volatile(&path, &bytes, file::PRIVATE);
    }
}

fn cache_of(document: &Json) -> Option<&OpenMap> {
    document.as_object()?.get("cache")?.as_object()
}

fn hash_of(value: &Json) -> String {
    hash::blake3_hex(serde_json::to_string(value).unwrap_or_default().as_bytes())
}

/// Notes that entries of a cache were used: those at or around `path`; new and changed ones as well.
pub(super) fn note_use(project: &Project, agent: &str, path: &JsonPath, document: &Json) {
    let Some(cache) = cache_of(document) else { return };
    if !project.has_journal() || cache.is_empty() {
        return;
    }
    let now = project.clock().now();
    let key = match path.names() {
        [first, key, ..] if first == "cache" => Some(key.as_str()),
        _ => None,
    };
    let is_all = matches!(path.names(), [only] if only == "cache");
    Uses::change(project, |uses| {
        let known = uses.agents.entry(agent.to_owned()).or_default();
        known.retain(|key, _| cache.contains_key(key));
        for (name, value) in cache.iter() {
            let hash = hash_of(value);
            let is_same = known.get(name).is_some_and(|it| it.hash == hash);
            if is_all || key == Some(name) || !is_same {
                known.insert(name.clone(), Use { at: now, hash });
            }
        }
    });
}

/// Clears what was neither written, nor read through Waypost, for so long. Entries that were never
/// seen before count from now on.
pub fn prune_cache(
    project: &mut Project,
    older_than: Duration,
) -> Result<Vec<PrunedCache>, EngineError> {
    project.refuse_stale()?;
    project.ensure_journal()?;
    let now = project.clock().now();
    let mut pruned = Vec::new();
    for name in file::list(&folder(project)?.join(AGENTS))? {
        let Some(agent) = name.strip_suffix(".json") else { continue };
        let Ok(document) = MemoryDocument::of_agent(agent) else { continue };
        let Some(bytes) = load(project, &document)? else { continue };
        let Ok(value) = serde_json::from_slice::<Json>(&bytes) else { continue };
        note_use(project, agent, &JsonPath::default(), &value);
        let uses = Uses::load(project);
        let known = uses.agents.get(agent);
        let is_old = |key: &&String| {
            let used = known.and_then(|known| known.get(*key));
            used.is_some_and(|used| now.since(used.at) >= older_than)
        };
        let keys: Vec<String> = match cache_of(&value) {
            Some(cache) => cache.keys().filter(is_old).cloned().collect(),
            None => Vec::new(),
        };
        if keys.is_empty() {
            continue;
        }
        change(project, &document, |json| {
            if let Json::Object(map) = json
                && let Some(Json::Object(cache)) = map.get_mut("cache")
            {
                keys.iter().for_each(|key| drop(cache.remove(key)));
            }
            Ok(())
        })?;
        pruned.push(PrunedCache { agent: agent.to_owned(), keys });
    }
    Ok(pruned)
}
