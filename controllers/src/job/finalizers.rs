//! Removes the tracking finalizer from pods.

use futures::{StreamExt as _, stream};
use kubewright::{
    NamespacedName,
    client::{ClientError, Patch, PatchBody, TypedClient},
};
use serde_json::json;

use super::{
    job_pod::{JobPod, TRACKING_FINALIZER},
    memory::JobMemory,
};
use crate::shared::pod::PodView;

/// How many patches of one Job are sent concurrently.
const MAX_CONCURRENT_PATCHES: usize = 32;

/// Removes the finalizer from a pod. A pod that does not exist has none.
pub(super) async fn remove_finalizer(
    client: &TypedClient<PodView, (Patch,)>,
    pod: &NamespacedName,
) -> Result<(), ClientError> {
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER]}});
    match client.patch(pod, &PatchBody::Strategic(patch)).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Removes the finalizers of a Job's pods, and remembers it. Returns the pods that have none now, and the first error.
pub(super) async fn remove_finalizers<'p>(
    client: &TypedClient<PodView, (Patch,)>,
    memory: &JobMemory,
    job: &str,
    pods: &[&'p JobPod],
) -> (Vec<&'p JobPod>, Option<ClientError>) {
    if pods.is_empty() {
        return (Vec::new(), None);
    }
    memory.add_untracked(job, pods.iter().map(|pod| &*pod.uid));
    let patches: Vec<_> = pods
        .iter()
        .map(|pod| async move { (*pod, remove_finalizer(client, &pod.name).await) })
        .collect();
    let mut patches = stream::iter(patches).buffer_unordered(MAX_CONCURRENT_PATCHES);
    let (mut removed, mut failed) = (Vec::with_capacity(pods.len()), None);
    while let Some((pod, patched)) = patches.next().await {
        match patched {
            Ok(()) => removed.push(pod),
            Err(error) => {
                memory.remove_untracked(job, &pod.uid);
                failed.get_or_insert(error);
            }
        }
    }
    (removed, failed)
}
