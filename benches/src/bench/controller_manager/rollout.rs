//! Deployments are created, scaled down, and deleted. No kubelet runs, so pods stay pending: what is measured are the controllers.

use std::{collections::HashMap, path::Path};

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream, try_join};
use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::Pod,
};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::{PhaseCost, Program, follower::Follower, objects, testbed::ManagerTestbed};

const REPLICAS: usize = 20;
const SCALED_REPLICAS: usize = 5;
/// Maximum number of concurrent requests of the benchmark.
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// Figures of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RolloutFigures {
    pub(super) create: PhaseCost,
    pub(super) scale: PhaseCost,
    pub(super) delete: PhaseCost,
    /// Resident megabytes.
    pub(super) idle: f64,
    pub(super) after: f64,
    /// The anonymous part of `after`: without pages of files.
    pub(super) after_anonymous: f64,
}

impl RolloutFigures {
    /// Returns the sums of all phases.
    pub(super) fn total(&self) -> PhaseCost {
        let sum = |read: fn(&PhaseCost) -> f64| [self.create, self.scale, self.delete].iter().map(read).sum();
        PhaseCost {
            seconds: sum(|cost| cost.seconds),
            cpu: sum(|cost| cost.cpu),
            requests: sum(|cost| cost.requests),
            events: sum(|cost| cost.events),
        }
    }
}

/// Measures a program.
pub(super) async fn measure(
    program: &Program,
    logs: &Path,
    deployments: usize,
    prints_requests: bool,
) -> Result<RolloutFigures> {
    let testbed = ManagerTestbed::new().await?;
    let process = testbed.start(program, logs)?;
    let idle = process.resident_kb()?;

    // Every controller works, the garbage collector as well, before the measurement begins.
    let first = Deployments {
        testbed: &testbed,
        prefix: "first",
        count: 1,
    };
    first.create().await?;
    first.delete().await?;
    process.wait_until_idle()?;

    let all = Deployments {
        testbed: &testbed,
        prefix: "web",
        count: deployments,
    };
    let create = testbed.measure(&process, prints_requests, async || all.create().await);
    let create = create.await?;
    let scale = testbed.measure(&process, prints_requests, async || all.scale().await);
    let scale = scale.await?;
    let delete = testbed.measure(&process, prints_requests, async || all.delete().await);
    let delete = delete.await?;
    Ok(RolloutFigures {
        create,
        scale,
        delete,
        idle: idle / 1024.0,
        after: process.resident_kb()? / 1024.0,
        after_anonymous: process.anonymous_kb()? / 1024.0,
    })
}

/// Deployments with numbered names.
struct Deployments<'t> {
    testbed: &'t ManagerTestbed,
    prefix: &'static str,
    count: usize,
}

impl Deployments<'_> {
    async fn create(&self) -> Result<()> {
        let api = self.testbed.api::<Deployment>();
        let follower = Follower::new(&api).await?;
        let create = self.for_each(async |name| {
            let deployment = objects::deployment(&name, REPLICAS)?;
            api.create(&PostParams::default(), &deployment).await?;
            Ok(())
        });
        try_join!(create, follower.until(self.have_settled(REPLICAS)))?;
        Ok(())
    }

    async fn scale(&self) -> Result<()> {
        let api = self.testbed.api::<Deployment>();
        let follower = Follower::new(&api).await?;
        let patch = Patch::Merge(json!({ "spec": { "replicas": SCALED_REPLICAS } }));
        let scale = self.for_each(async |name| {
            api.patch(&name, &PatchParams::default(), &patch).await?;
            Ok(())
        });
        try_join!(scale, follower.until(self.have_settled(SCALED_REPLICAS)))?;
        Ok(())
    }

    async fn delete(&self) -> Result<()> {
        let api = self.testbed.api::<Deployment>();
        let replica_sets = Follower::new(&self.testbed.api::<ReplicaSet>()).await?;
        let pods = Follower::new(&self.testbed.api::<Pod>()).await?;
        let delete = self.for_each(async |name| {
            api.delete(&name, &DeleteParams::background()).await?;
            Ok(())
        });
        try_join!(delete, replica_sets.until_gone(), pods.until_gone())?;
        Ok(())
    }

    /// Whether all have the status of this many pods, of which none is available.
    fn have_settled(&self, replicas: usize) -> impl Fn(&HashMap<String, Deployment>) -> bool {
        let (count, replicas) = (self.count, i32::try_from(replicas).ok());
        move |deployments| {
            let settled = deployments.values().filter(|deployment| {
                deployment.status.as_ref().is_some_and(|status| {
                    status.observed_generation == deployment.metadata.generation
                        && status.replicas == replicas
                        && status.updated_replicas == replicas
                        && status.unavailable_replicas == replicas
                })
            });
            settled.count() == count
        }
    }

    async fn for_each<F: Future<Output = Result<()>>>(&self, act: impl Fn(String) -> F) -> Result<()> {
        stream::iter(0..self.count)
            .map(|number| act(format!("{}-{number:03}", self.prefix)))
            .buffer_unordered(MAX_CONCURRENT_REQUESTS)
            .try_collect()
            .await
    }
}
