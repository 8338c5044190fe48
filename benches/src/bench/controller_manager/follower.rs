//! Follows the objects of a kind, to see within a millisecond when they are as expected.

use std::{collections::HashMap, fmt::Debug, pin::Pin, time::Duration};

use anyhow::{Context as _, Result, bail};
use futures::{Stream, TryStreamExt as _};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{ListParams, WatchEvent, WatchParams},
};
use serde::de::DeserializeOwned;

const TIMEOUT: Duration = Duration::from_mins(5);

/// The objects of a kind as they change.
pub(super) struct Follower<K> {
    objects: HashMap<String, K>,
    events: Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<K>>>>>,
}

impl<K: Resource + Clone + DeserializeOwned + Debug + 'static> Follower<K> {
    /// Lists the objects, and begins to watch them.
    pub(super) async fn new(api: &Api<K>) -> Result<Self> {
        let list = api.list(&ListParams::default()).await?;
        let version = list
            .metadata
            .resource_version
            .context("a list without a version")?;
        let objects = list.items.into_iter().map(|object| (object.name_any(), object));
        Ok(Self {
            objects: objects.collect(),
            events: Box::pin(api.watch(&WatchParams::default(), &version).await?),
        })
    }

    /// Waits until the objects satisfy the condition.
    pub(super) async fn until(mut self, condition: impl Fn(&HashMap<String, K>) -> bool) -> Result<()> {
        let follow = async {
            while !condition(&self.objects) {
                match self.events.try_next().await?.context("the watch ended")? {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        self.objects.insert(object.name_any(), object);
                    }
                    WatchEvent::Deleted(object) => {
                        self.objects.remove(&object.name_any());
                    }
                    WatchEvent::Bookmark(_) => {}
                    WatchEvent::Error(status) => bail!("the watch failed: {status:?}"),
                }
            }
            Ok(())
        };
        let followed = tokio::time::timeout(TIMEOUT, follow).await;
        followed.context("the objects are not as expected after five minutes")?
    }

    /// Waits until there are no objects.
    pub(super) async fn until_gone(self) -> Result<()> {
        self.until(HashMap::is_empty).await
    }
}
