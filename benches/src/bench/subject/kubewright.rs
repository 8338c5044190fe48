//! kubewright, as its controllers work: a sink adds keys to a work queue, and a worker reads objects through the lister.

use std::{hint::black_box, sync::Arc};

use anyhow::Result;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::core::PartialObjectMeta;
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
    /// Gets the first object of the same owner, as a reconciler that is called for each change of what its object owns.
    DecodesFirstOfOwner,
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
        match worker {
            Worker::ReadsMetadata => {
                if let Some(object) = lister.object(&key) {
                    black_box(object.metadata().resource_version());
                }
            }
            Worker::Decodes => match lister.get(&key) {
                Ok(object) => drop(black_box(object)),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            },
            Worker::DecodesFirstOfOwner => {
                if let Some(first) = first_of_owner(&lister, &key)? {
                    drop(black_box(lister.get(&first)));
                }
            }
        }
        queue.forget(&key);
        queue.done(&key);
        count_key(key.namespace());
    }
    Ok(())
}

/// Returns the first of the objects with the same controller, in the order of the index.
fn first_of_owner<V: View>(lister: &Lister<V>, key: &NamespacedName) -> Result<Option<NamespacedName>> {
    let Some(object) = lister.object(key) else {
        return Ok(None);
    };
    let Some(controller) = object.metadata().controller() else {
        return Ok(Some(key.clone()));
    };
    let owner = ObjectMeta {
        name: Some(controller.name.to_string()),
        namespace: key.namespace().map(str::to_owned),
        uid: Some(controller.uid.to_string()),
        ..ObjectMeta::default()
    };
    let owner = PartialObjectMeta::<Pod> {
        metadata: owner,
        ..Default::default()
    };
    let first = lister.owned_by(&owner)?.objects().next();
    Ok(first.map(|object| object.name().clone()))
}
