//! kube-runtime: watcher, reflector, and the cheapest queue that hands each key out once.

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

use super::{slim::SlimPod, worked};

/// Everything that the API server sends.
pub(crate) async fn whole(config: Config) -> Result<()> {
    run::<Pod>(config, |_| {}).await
}

/// What kube's documentation advises for less memory.
pub(crate) async fn trimmed(config: Config) -> Result<()> {
    run::<Pod>(config, |pod| pod.managed_fields_mut().clear()).await
}

/// What a user can do who knows which fields are read.
pub(crate) async fn slim(config: Config) -> Result<()> {
    run::<SlimPod>(config, |_| {}).await
}

/// kube-runtime's `Controller` has a scheduler with delays, and a task for each reconciliation; here is only what a queue cannot do
/// without, which is cheaper.
struct Queue<K: Resource<DynamicType = ()>> {
    waiting: Mutex<HashSet<ObjectRef<K>>>,
    keys: mpsc::UnboundedSender<ObjectRef<K>>,
}

async fn run<K>(config: Config, modify: impl FnMut(&mut K)) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (keys, received) = mpsc::unbounded_channel();
    let queue = Arc::new(Queue {
        waiting: Mutex::default(),
        keys,
    });
    let (store, writer) = reflector::store::<K>();
    tokio::spawn(work(queue.clone(), received, store));
    let pods = Api::<K>::all(Client::try_from(config)?);
    let events = watcher(pods, watcher::Config::default());
    let touched = events
        .default_backoff()
        .modify(modify)
        .reflect(writer)
        .touched_objects();
    let mut touched = std::pin::pin!(touched);
    while let Some(pod) = touched.next().await {
        // An expired watch; the watcher lists again.
        let Ok(pod) = pod else { continue };
        let key = ObjectRef::from_obj(&pod);
        if queue.waiting.lock().insert(key.clone()) {
            queue.keys.send(key)?;
        }
    }
    Ok(())
}

async fn work<K>(
    queue: Arc<Queue<K>>,
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
        worked(key.namespace.as_deref());
    }
    Ok(())
}
