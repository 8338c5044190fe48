//! kubewright, as its controllers do it: a sink feeds a work queue, a worker reads through the lister.

use std::{hint::black_box, sync::Arc};

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kubewright::{
    ApiResource, NamespacedName, Scope, View,
    cache::{InformerOptions, Lister, SharedInformer, SharedInformerFactory, StorageMode},
    client::Connection,
    workqueue::{NoQueueMetrics, WorkQueue, default_limiter},
};

use super::{slim::ProjectedPod, worked};

/// What the worker does with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worker {
    /// Reads the metadata that was extracted.
    Looks,
    /// Gets it, decoded.
    Gets,
}

/// Whole Pods, kept as `storage` says.
pub(crate) async fn whole(config: kube::Config, storage: StorageMode, worker: Worker) -> Result<()> {
    let informers = factory(config)?;
    let options = InformerOptions {
        storage,
        ..InformerOptions::default()
    };
    let pods = informers.with::<Pod>(options);
    run(&informers, pods, worker).await
}

/// Custom resources, kept as an operator that knows their kind only at run time keeps them.
pub(crate) async fn custom(config: kube::Config) -> Result<()> {
    let informers = factory(config)?;
    let kind = ApiResource {
        group: "bench.dev".into(),
        version: "v1".into(),
        kind: "Mixed".into(),
        plural: "mixeds".into(),
        scope: Scope::Namespaced,
    };
    let objects = informers.dynamic(kind, InformerOptions::default());
    run(&informers, objects, Worker::Looks).await
}

/// A few fields.
pub(crate) async fn projected(config: kube::Config) -> Result<()> {
    let informers = factory(config)?;
    let pods = informers.projected::<ProjectedPod>();
    run(&informers, pods, Worker::Gets).await
}

/// Metadata, and nothing else is sent.
pub(crate) async fn metadata(config: kube::Config) -> Result<()> {
    let informers = factory(config)?;
    let pods = informers.metadata_only::<Pod>();
    run(&informers, pods, Worker::Looks).await
}

fn factory(config: kube::Config) -> Result<SharedInformerFactory> {
    Ok(SharedInformerFactory::new(Connection::connect(config, "bench")?))
}

async fn run<V: View>(
    informers: &SharedInformerFactory,
    pods: SharedInformer<V>,
    worker: Worker,
) -> Result<()> {
    let queue = Arc::new(WorkQueue::<NamespacedName>::new(
        Box::new(default_limiter()),
        Arc::new(NoQueueMetrics),
    ));
    let sink = queue.clone();
    pods.add_sink(move |change| sink.add(change.name().clone()));
    informers.start();
    pods.wait_for_sync().await;
    tokio::spawn(work(queue, pods.lister(), worker)).await?
}

async fn work<V: View>(
    queue: Arc<WorkQueue<NamespacedName>>,
    lister: Lister<V>,
    worker: Worker,
) -> Result<()> {
    while let Some(key) = queue.get().await {
        if worker == Worker::Gets {
            match lister.get(&key) {
                Ok(pod) => drop(black_box(pod)),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        } else if let Some(pod) = lister.object(&key) {
            black_box(pod.metadata().resource_version());
        }
        queue.forget(&key);
        queue.done(&key);
        worked(key.namespace());
    }
    Ok(())
}
