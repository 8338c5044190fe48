//! List and watch of each kind.

use std::time::Duration;

use futures::TryStreamExt as _;
use http::Request;
use kube::Client;
use kube::api::WatchEvent;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object;

/// Delay before a new list after an error or the end of a watch.
const RELIST_DELAY: Duration = Duration::from_millis(500);

/// An update of the cache.
#[derive(Debug)]
pub(crate) enum CacheUpdate {
    /// The complete list of a kind, at a resource version.
    Listed(Kind, Vec<Value>, u64),
    /// An added or modified object.
    Upserted(Kind, Value),
    /// A deleted object.
    Deleted(Kind, Value),
}

impl CacheUpdate {
    pub(crate) fn apply_to(self, cache: &mut ObjectCache) {
        match self {
            Self::Listed(kind, list, version) => cache.replace_all(kind, list, version),
            Self::Upserted(kind, object) => cache.upsert(kind, object),
            Self::Deleted(kind, object) => cache.remove(kind, &object),
        }
    }
}

/// Lists and watches a kind until the receiver is dropped.
pub(crate) async fn list_and_watch_forever(client: Client, kind: Kind, updates: mpsc::Sender<CacheUpdate>) {
    while !updates.is_closed() {
        // After an error, the next list makes up for missed events.
        let _ = list_and_watch(&client, kind, &updates).await;
        tokio::time::sleep(RELIST_DELAY).await;
    }
}

async fn list_and_watch(
    client: &Client,
    kind: Kind,
    updates: &mpsc::Sender<CacheUpdate>,
) -> Result<(), kube::Error> {
    let path = kind.path("");
    let get = |path: String| {
        Request::get(path)
            .body(Vec::new())
            .map_err(kube::Error::HttpError)
    };
    let list: Value = client.request(get(path.clone())?).await?;
    let version = object::resource_version(&list);
    let mut items = match list {
        Value::Object(mut list) => list.remove("items"),
        _ => None,
    };
    let items = items.as_mut().and_then(Value::as_array_mut).map(std::mem::take);
    let _ = updates
        .send(CacheUpdate::Listed(kind, items.unwrap_or_default(), version))
        .await;
    let watch = get(format!(
        "{path}?watch=true&allowWatchBookmarks=true&resourceVersion={version}"
    ))?;
    let mut events = std::pin::pin!(client.request_events::<Value>(watch).await?);
    while let Some(event) = events.try_next().await? {
        let update = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => CacheUpdate::Upserted(kind, object),
            WatchEvent::Deleted(object) => CacheUpdate::Deleted(kind, object),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(_) => break,
        };
        if updates.send(update).await.is_err() {
            break;
        }
    }
    Ok(())
}
