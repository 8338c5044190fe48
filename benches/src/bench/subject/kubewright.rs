//! kubewright, as its controllers do it: a sink feeds a work queue, a worker reads through the lister.

use std::{hint::black_box, sync::Arc};

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kubewright::{
    ObjectName,
    cache::{Lister, SharedInformerFactory},
    client::Connection,
    workqueue::{NoQueueMetrics, WorkQueue, default_limiter},
};

use super::worked;

pub(crate) async fn run(config: kube::Config, decode: bool) -> Result<()> {
    let informers = SharedInformerFactory::new(Connection::connect(config, "bench")?);
    let pods = informers.of::<Pod>();
    let queue = Arc::new(WorkQueue::<ObjectName>::new(
        Box::new(default_limiter()),
        Arc::new(NoQueueMetrics),
    ));
    let sink = queue.clone();
    pods.add_sink(move |change| sink.add(change.name().clone()));
    informers.start();
    pods.wait_for_sync().await;
    tokio::spawn(work(queue, pods.lister(), decode)).await?
}

async fn work(queue: Arc<WorkQueue<ObjectName>>, lister: Lister<Pod>, decode: bool) -> Result<()> {
    while let Some(key) = queue.get().await {
        if decode {
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
