//! Two ReplicaSets with thousands of pods each: what a large one costs, and the memory with all pods in the caches.

use std::{path::Path, pin::pin};

use anyhow::{Context as _, Result};
use futures::TryStreamExt as _;
use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams},
};

use super::{PhaseCost, Program, follower::Follower, objects, testbed::ManagerTestbed};

/// Number of pods that are deleted, to be replaced.
const REPLACED_PODS: u32 = 20;

/// Figures of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct FullCachesFigures {
    pub(super) create: PhaseCost,
    /// CPU milliseconds for the replacement of a pod.
    pub(super) replaced_cpu: f64,
    /// Resident megabytes.
    pub(super) loaded: f64,
    pub(super) restarted: f64,
    /// The anonymous part of `restarted`: without pages of files.
    pub(super) restarted_anonymous: f64,
    /// CPU seconds from a restart until the program is idle.
    pub(super) restart_cpu: f64,
}

/// Measures a program.
pub(super) async fn measure(program: &Program, logs: &Path, replicas: usize) -> Result<FullCachesFigures> {
    let testbed = ManagerTestbed::new().await?;
    let process = testbed.start(program, logs)?;
    let create = async || create_replica_set(&testbed, "first", replicas).await;
    let create = testbed.measure(&process, false, create).await?;
    create_replica_set(&testbed, "second", replicas).await?;
    process.wait_until_idle()?;
    let loaded = process.resident_kb()?;
    let replaced = testbed.measure(&process, false, async || replace_pods(&testbed).await);
    let replaced = replaced.await?;
    drop(process);

    let restarted = testbed.start(program, logs)?;
    Ok(FullCachesFigures {
        create,
        replaced_cpu: replaced.cpu * 1e3 / f64::from(REPLACED_PODS),
        loaded: loaded / 1024.0,
        restarted: restarted.resident_kb()? / 1024.0,
        restarted_anonymous: restarted.anonymous_kb()? / 1024.0,
        restart_cpu: restarted.cpu_micros()? / 1e6,
    })
}

/// Creates a ReplicaSet, and waits until its status is complete.
async fn create_replica_set(testbed: &ManagerTestbed, name: &str, replicas: usize) -> Result<()> {
    let api = testbed.api::<ReplicaSet>();
    let follower = Follower::new(&api).await?;
    api.create(&PostParams::default(), &objects::replica_set(name, replicas)?)
        .await?;
    let replicas = i32::try_from(replicas)?;
    let is_complete = |replica_set: &ReplicaSet| {
        let status = replica_set.status.as_ref();
        status.is_some_and(|status| status.replicas == replicas)
    };
    follower
        .until(|replica_sets| replica_sets.get(name).is_some_and(is_complete))
        .await
}

/// Deletes pods of the first ReplicaSet one by one, and waits for each replacement.
async fn replace_pods(testbed: &ManagerTestbed) -> Result<()> {
    let api = testbed.api::<Pod>();
    let some = ListParams::default().limit(REPLACED_PODS);
    let some = api
        .list_metadata(&some.labels("app.kubernetes.io/name=first"))
        .await?;
    let version = some
        .metadata
        .resource_version
        .context("a list without a version")?;
    let mut events = pin!(api.watch_metadata(&WatchParams::default(), &version).await?);
    for pod in some.items {
        api.delete(&pod.name_any(), &DeleteParams::default()).await?;
        while !matches!(
            events.try_next().await?.context("the watch ended")?,
            WatchEvent::Added(_)
        ) {}
    }
    Ok(())
}
