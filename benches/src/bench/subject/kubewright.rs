//! kubewright, as its controllers work: a sink adds keys to a work queue, and a worker reads objects through the lister.

use std::{hint::black_box, sync::Arc};

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kubewright::{
    ApiResource, NamespacedName, Scope, View,
    cache::{InformerOptions, Lister, SharedInformer, SharedInformerFactory, StorageMode},
    client::Connection,
    workqueue::{WorkQueue, default_limiter},
};

use super::{count_key, slim::ProjectedPod};

/// How the worker reads an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worker {
    /// Reads the extracted metadata only.
    ReadsMetadata,
    /// Decodes the object.
    Decodes,
}

/// Stores whole Pods in the given storage mode.
pub(crate) async fn whole_pods(config: kube::Config, storage: StorageMode, worker: Worker) -> Result<()> {
    let informers = factory(config)?;
    let options = InformerOptions {
        storage,
        ..InformerOptions::default()
    };
    let pods = informers.with::<Pod>(options);
    run_informer(&informers, pods, worker).await
}

/// Stores custom resources of a kind that is known only at run time.
pub(crate) async fn custom_resources(config: kube::Config) -> Result<()> {
    let informers = factory(config)?;
    let kind = ApiResource {
        group: "bench.dev".into(),
        version: "v1".into(),
        kind: "Mixed".into(),
        plural: "mixeds".into(),
        scope: Scope::Namespaced,
    };
    let objects = informers.dynamic(kind, InformerOptions::default());
    run_informer(&informers, objects, Worker::ReadsMetadata).await
}

/// Stores Pods projected to a few fields.
pub(crate) async fn projected_pods(config: kube::Config) -> Result<()> {
    let informers = factory(config)?;
    let pods = informers.projected::<ProjectedPod>();
    run_informer(&informers, pods, Worker::Decodes).await
}

/// Requests and stores metadata only.
pub(crate) async fn pod_metadata(config: kube::Config) -> Result<()> {
    let informers = factory(config)?;
    let pods = informers.metadata_only::<Pod>();
    run_informer(&informers, pods, Worker::ReadsMetadata).await
}

fn factory(config: kube::Config) -> Result<SharedInformerFactory> {
    Ok(SharedInformerFactory::new(Connection::connect(config, "bench")?))
}

async fn run_informer<V: View>(
    informers: &SharedInformerFactory,
    pods: SharedInformer<V>,
    worker: Worker,
) -> Result<()> {
    let queue = Arc::new(WorkQueue::<NamespacedName>::new(Box::new(default_limiter())));
    let sink = queue.clone();
    pods.add_sink(move |change| sink.add(change.name().clone()));
    informers.start();
    pods.wait_for_sync().await;
    tokio::spawn(run_worker(queue, pods.lister(), worker)).await?
}

async fn run_worker<V: View>(
    queue: Arc<WorkQueue<NamespacedName>>,
    lister: Lister<V>,
    worker: Worker,
) -> Result<()> {
    while let Some(key) = queue.get().await {
        if worker == Worker::Decodes {
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
        count_key(key.namespace());
    }
    Ok(())
}
