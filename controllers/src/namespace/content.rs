//! Deletes the objects of one resource in a namespace, and says what is left.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{api::core::v1::Pod, jiff::Timestamp};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use kubewright::NamespacedName;

use super::plan::{Remaining, is_pods};
use crate::shared::{
    discovery::ServedResource,
    metadata_client::{MetadataClient, ObjectMetadata, has_code, is_not_found},
};

/// Deletes the content of namespaces.
pub(super) struct ContentDeleter {
    pub(super) client: kube::Client,
    pub(super) metadata: MetadataClient,
    /// Background deletion: no orphan finalizer is added, whatever the resource's default is.
    pub(super) params: DeleteParams,
}

impl ContentDeleter {
    /// Deletes the objects of a resource. An empty collection costs one list; upstream deletes it as well and lists again.
    pub(super) async fn delete(
        &self,
        resource: &ServedResource,
        namespace: &str,
        deleted_at: Timestamp,
        now: Timestamp,
    ) -> Result<Remaining, kube::Error> {
        let grace = if is_pods(&resource.kind) {
            let grace = self.longest_grace_period(namespace).await?;
            let Some(grace) = grace else {
                return Ok(Remaining::default());
            };
            let passed = Duration::try_from(now.duration_since(deleted_at)).unwrap_or_default();
            if passed >= grace { Duration::ZERO } else { grace }
        } else {
            Duration::ZERO
        };
        let can_list = resource.has("list");
        let objects = if can_list {
            self.list(resource, namespace).await?
        } else {
            Vec::new()
        };
        if can_list && objects.is_empty() {
            return Ok(Remaining::default());
        }
        let is_deleted =
            resource.has("deletecollection") && self.delete_collection(resource, namespace).await?;
        if !is_deleted {
            self.delete_each(resource, &objects).await?;
        }
        if !can_list {
            return Ok(Remaining::default());
        }
        let objects = self.list(resource, namespace).await?;
        let mut finalizers: BTreeMap<String, usize> = BTreeMap::new();
        for finalizer in objects
            .iter()
            .flat_map(|object| object.metadata.finalizers.iter().flatten())
        {
            *finalizers.entry(finalizer.clone()).or_default() += 1;
        }
        Ok(Remaining {
            objects: objects.len(),
            finalizers,
            grace,
        })
    }

    /// Returns the longest grace period of the pods that have not ended; none without pods.
    async fn longest_grace_period(&self, namespace: &str) -> Result<Option<Duration>, kube::Error> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let pods = pods.list(&ListParams::default()).await?.items;
        if pods.is_empty() {
            return Ok(None);
        }
        let grace_period = |pod: &Pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            let seconds = pod.spec.as_ref()?.termination_grace_period_seconds?;
            (!matches!(phase, Some("Succeeded" | "Failed"))).then_some(seconds)
        };
        let seconds = pods.iter().filter_map(grace_period).max();
        let seconds = seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .unwrap_or(0);
        Ok(Some(Duration::from_secs(seconds)))
    }

    /// Lists a resource; one that is not served any more is empty.
    async fn list(
        &self,
        resource: &ServedResource,
        namespace: &str,
    ) -> Result<Vec<ObjectMetadata>, kube::Error> {
        match self.metadata.list(&resource.kind, namespace).await {
            Err(error) if is_unsupported(&error) => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// Returns whether the resource supports it.
    async fn delete_collection(
        &self,
        resource: &ServedResource,
        namespace: &str,
    ) -> Result<bool, kube::Error> {
        let deleted = self
            .metadata
            .delete_collection(&resource.kind, namespace, &self.params);
        match deleted.await {
            Err(error) if is_unsupported(&error) => Ok(false),
            deleted => deleted.map(|()| true),
        }
    }

    async fn delete_each(
        &self,
        resource: &ServedResource,
        objects: &[ObjectMetadata],
    ) -> Result<(), kube::Error> {
        for object in objects {
            let Some(name) = NamespacedName::of(&object.metadata) else {
                continue;
            };
            let deleted = self.metadata.delete(&resource.kind, &name, &self.params);
            match deleted.await {
                Err(error) if is_unsupported(&error) => {}
                deleted => deleted?,
            }
        }
        Ok(())
    }
}

/// Not found, or method not allowed: discovery was older than the resource's end, or promised too much.
fn is_unsupported(error: &kube::Error) -> bool {
    is_not_found(error) || has_code(error, 405)
}
