//! How objects get known: a list and a watch a kind, for ever.

use std::time::Duration;

use futures::TryStreamExt as _;
use http::Request;
use kube::Client;
use kube::api::WatchEvent;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::object;
use crate::world::{Kind, World};

/// The pause after a broken connection.
const PAUSE: Duration = Duration::from_millis(500);

/// Something that was seen.
#[derive(Debug)]
pub(crate) enum Seen {
    /// All objects of a kind, as of a version.
    All(Kind, Vec<Value>, u64),
    /// An object that is there.
    There(Kind, Value),
    /// An object that is gone.
    Gone(Kind, Value),
}

impl Seen {
    pub(crate) fn take_into(self, world: &mut World) {
        match self {
            Self::All(kind, list, version) => world.replace(kind, list, version),
            Self::There(kind, object) => world.put(kind, object),
            Self::Gone(kind, object) => world.remove(kind, &object),
        }
    }
}

/// Follows a kind until nobody listens.
pub(crate) async fn follow(client: Client, kind: Kind, seen: mpsc::Sender<Seen>) {
    while !seen.is_closed() {
        // Whatever ended it, the next list makes up for what was missed.
        let _ = once(&client, kind, &seen).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn once(client: &Client, kind: Kind, seen: &mpsc::Sender<Seen>) -> Result<(), kube::Error> {
    let path = kind.path("");
    let get = |path: String| {
        Request::get(path)
            .body(Vec::new())
            .map_err(kube::Error::HttpError)
    };
    let list: Value = client.request(get(path.clone())?).await?;
    let version = object::version(&list);
    let mut items = match list {
        Value::Object(mut list) => list.remove("items"),
        _ => None,
    };
    let items = items.as_mut().and_then(Value::as_array_mut).map(std::mem::take);
    let _ = seen
        .send(Seen::All(kind, items.unwrap_or_default(), version))
        .await;
    let watch = get(format!(
        "{path}?watch=true&allowWatchBookmarks=true&resourceVersion={version}"
    ))?;
    let mut events = std::pin::pin!(client.request_events::<Value>(watch).await?);
    while let Some(event) = events.try_next().await? {
        let message = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => Seen::There(kind, object),
            WatchEvent::Deleted(object) => Seen::Gone(kind, object),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(_) => break,
        };
        if seen.send(message).await.is_err() {
            break;
        }
    }
    Ok(())
}
