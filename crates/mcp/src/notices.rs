//! Tells a client that the list of documents has changed.

use crate::desk::{Desk, ResourceSpec};
use rmcp::{Peer, RoleServer};
use std::{sync::Arc, time::Duration};
use tokio::{task, time};

/// How often is looked; a list that is older than that is read again anyway.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Looks at the documents until the client is gone. What a document says may change without a notice.
pub(crate) async fn watch(desk: Arc<dyn Desk>, peer: Peer<RoleServer>) {
    let mut known = list(&desk).await;
    loop {
        time::sleep(LOOK_INTERVAL).await;
        let found = list(&desk).await;
        if found != known {
            known = found;
            if peer.notify_resource_list_changed().await.is_err() {
                return;
            }
        }
    }
}

async fn list(desk: &Arc<dyn Desk>) -> Option<Vec<String>> {
    let desk = Arc::clone(desk);
    let look = move || {
        let uris = |specs: Vec<ResourceSpec>| specs.into_iter().map(|spec| spec.uri).collect();
        desk.resources().ok().map(uris)
    };
    task::spawn_blocking(look).await.ok().flatten()
}
