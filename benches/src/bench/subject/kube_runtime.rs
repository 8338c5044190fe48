//! kube-runtime: watcher, reflector, and the cheapest queue that deduplicates keys.

use std::{collections::HashSet, fmt::Debug, hint::black_box, sync::Arc};

use anyhow::Result;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, Config, Resource, ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::{count_key, slim::SlimPod};

/// Stores whole Pods.
pub(crate) async fn whole_pods(config: Config) -> Result<()> {
    run_informer::<Pod>(config, |_| {}).await
}

/// Stores Pods without managedFields, as kube's documentation recommends to save memory.
pub(crate) async fn pods_without_managed_fields(config: Config) -> Result<()> {
    run_informer::<Pod>(config, |pod| pod.managed_fields_mut().clear()).await
}

/// Stores Pods as a struct that has only the fields that the operator reads.
pub(crate) async fn slim_pods(config: Config) -> Result<()> {
    run_informer::<SlimPod>(config, |_| {}).await
}

/// A queue that deduplicates keys and does nothing else. kube-runtime's `Controller` also has a scheduler with delays, and a task per
/// reconcile, so it costs more.
struct DedupQueue<K: Resource<DynamicType = ()>> {
    waiting: Mutex<HashSet<ObjectRef<K>>>,
    keys: mpsc::UnboundedSender<ObjectRef<K>>,
}

async fn run_informer<K>(config: Config, modify: impl FnMut(&mut K)) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (keys, received) = mpsc::unbounded_channel();
    let queue = Arc::new(DedupQueue {
        waiting: Mutex::default(),
        keys,
    });
    let (store, writer) = reflector::store::<K>();
    tokio::spawn(run_worker(queue.clone(), received, store));
    let pods = Api::<K>::all(Client::try_from(config)?);
    let events = watcher(pods, watcher::Config::default());
    let touched = events
        .default_backoff()
        .modify(modify)
        .reflect(writer)
        .touched_objects();
    let mut touched = std::pin::pin!(touched);
    while let Some(pod) = touched.next().await {
        // The watch has expired; the watcher lists again.
        let Ok(pod) = pod else { continue };
        let key = ObjectRef::from_obj(&pod);
        if queue.waiting.lock().insert(key.clone()) {
            queue.keys.send(key)?;
        }
    }
    Ok(())
}

async fn run_worker<K>(
    queue: Arc<DedupQueue<K>>,
    mut keys: mpsc::UnboundedReceiver<ObjectRef<K>>,
    store: Store<K>,
) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone,
{
    store.wait_until_ready().await?;
    while let Some(key) = keys.recv().await {
        queue.waiting.lock().remove(&key);
        if let Some(pod) = store.get(&key) {
            black_box(pod.resource_version());
        }
        count_key(key.namespace.as_deref());
    }
    Ok(())
}
