//! Deployments and ReplicaSets for the tests of plans.

use std::sync::Arc;

use k8s_openapi::{
    api::{
        apps::v1::{
            Deployment, DeploymentSpec, DeploymentStrategy, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus,
            RollingUpdateDeployment,
        },
        core::v1::PodTemplateSpec,
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, ObjectMeta, Time},
        util::intstr::IntOrString,
    },
    jiff::Timestamp,
};
use serde_json::json;

use super::{
    annotations,
    desired::DesiredState,
    plan::{Observed, Rollout},
    replica_sets::{ReplicaSetGroup, ReplicaSetWrite, TrackedReplicaSet},
};

/// The time of tests.
pub(super) fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// A pod template with one container.
pub(super) fn template(image: &str) -> PodTemplateSpec {
    serde_json::from_value(json!({
        "metadata": {"labels": {"app": "foo"}},
        "spec": {"containers": [{"name": "app", "image": image}]},
    }))
    .unwrap()
}

/// A Deployment `foo` with a rolling update, which allows one unavailable replica.
pub(super) fn deployment(replicas: i32) -> Deployment {
    Deployment {
        metadata: ObjectMeta {
            name: Some("foo".to_owned()),
            namespace: Some("default".to_owned()),
            uid: Some("foo".to_owned()),
            generation: Some(1),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(replicas),
            selector: LabelSelector {
                match_labels: Some([("app".to_owned(), "foo".to_owned())].into()),
                ..LabelSelector::default()
            },
            template: template("new"),
            strategy: Some(strategy(IntOrString::Int(0), IntOrString::Int(0))),
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn strategy(surge: IntOrString, unavailable: IntOrString) -> DeploymentStrategy {
    DeploymentStrategy {
        type_: Some("RollingUpdate".to_owned()),
        rolling_update: Some(RollingUpdateDeployment {
            max_surge: Some(surge),
            max_unavailable: Some(unavailable),
        }),
    }
}

/// Changes of a Deployment.
pub(super) trait TestDeployment: Sized {
    fn spec_with(self, change: impl FnOnce(&mut DeploymentSpec)) -> Self;

    fn recreate(self) -> Self {
        self.spec_with(|spec| {
            spec.strategy = Some(DeploymentStrategy {
                type_: Some("Recreate".to_owned()),
                rolling_update: None,
            });
        })
    }

    fn rolling(self, surge: i32, unavailable: i32) -> Self {
        self.spec_with(|spec| {
            spec.strategy = Some(strategy(IntOrString::Int(surge), IntOrString::Int(unavailable)));
        })
    }

    fn annotated(self, key: &str, value: &str) -> Self;
}

impl TestDeployment for Deployment {
    fn spec_with(mut self, change: impl FnOnce(&mut DeploymentSpec)) -> Self {
        change(self.spec.as_mut().unwrap());
        self
    }

    fn annotated(mut self, key: &str, value: &str) -> Self {
        let annotations = self.metadata.annotations.get_or_insert_default();
        annotations.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// A ReplicaSet with a template of its own, whose status is that of its pods being available.
pub(super) fn replica_set(name: &str, size: i32) -> ReplicaSet {
    let replica_set = ReplicaSet {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("default".to_owned()),
            uid: Some(name.to_owned()),
            generation: Some(1),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(size),
            template: Some(template(name)),
            ..ReplicaSetSpec::default()
        }),
        status: None,
    };
    replica_set.with_status(size, size, size)
}

/// Changes of a ReplicaSet.
pub(super) trait TestReplicaSet: Sized {
    /// The number of pods, of ready ones and of available ones.
    fn with_status(self, replicas: i32, ready: i32, available: i32) -> Self;
    fn status_with(self, change: impl FnOnce(&mut ReplicaSetStatus)) -> Self;
    /// The age: larger is newer.
    fn created(self, seconds: i64) -> Self;
    fn annotated(self, key: &str, value: &str) -> Self;
    /// As if the Deployment had given it its size.
    fn sized_by(self, deployment: &Deployment) -> Self;
    /// With the Deployment's template.
    fn of(self, deployment: &Deployment) -> Self;
}

impl TestReplicaSet for ReplicaSet {
    fn with_status(self, replicas: i32, ready: i32, available: i32) -> Self {
        self.status_with(|status| {
            status.observed_generation = Some(1);
            status.replicas = replicas;
            status.ready_replicas = Some(ready);
            status.available_replicas = Some(available);
        })
    }

    fn status_with(mut self, change: impl FnOnce(&mut ReplicaSetStatus)) -> Self {
        change(self.status.get_or_insert_default());
        self
    }

    fn created(mut self, seconds: i64) -> Self {
        self.metadata.creation_timestamp = Some(Time(Timestamp::from_second(seconds).unwrap()));
        self
    }

    fn annotated(mut self, key: &str, value: &str) -> Self {
        let annotations = self.metadata.annotations.get_or_insert_default();
        annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    fn sized_by(self, deployment: &Deployment) -> Self {
        let desired = DesiredState::of(deployment.spec.as_ref().unwrap()).unwrap();
        let sizes = annotations::of_sizes(&desired);
        sizes
            .iter()
            .fold(self, |replica_set, (key, size)| replica_set.annotated(key, size))
    }

    fn of(mut self, deployment: &Deployment) -> Self {
        let template = deployment.spec.as_ref().unwrap().template.clone();
        self.spec.as_mut().unwrap().template = Some(template);
        self
    }
}

/// A rollout with these ReplicaSets, whatever their templates.
pub(super) fn rollout(deployment: &Deployment, new: Option<ReplicaSet>, old: Vec<ReplicaSet>) -> Rollout<'_> {
    let mut rollout = Rollout::new(observed(deployment, Vec::new()), now()).unwrap();
    let tracked = |replica_set: ReplicaSet| TrackedReplicaSet::cached(Arc::new(replica_set));
    let mut old: Vec<_> = old.into_iter().map(tracked).collect();
    old.sort_by(TrackedReplicaSet::by_age);
    rollout.group = ReplicaSetGroup {
        new: new.map(tracked),
        old,
    };
    rollout
}

pub(super) fn observed(deployment: &Deployment, replica_sets: Vec<ReplicaSet>) -> Observed<'_> {
    Observed {
        deployment,
        replica_sets: replica_sets.into_iter().map(Arc::new).collect(),
        running: std::collections::BTreeSet::new(),
        counts_terminating: true,
    }
}

/// The writes, as short texts.
pub(super) fn texts(writes: &[ReplicaSetWrite]) -> Vec<String> {
    let name = |replica_set: &ReplicaSet| replica_set.metadata.name.clone().unwrap();
    let text = |write: &ReplicaSetWrite| match write {
        ReplicaSetWrite::Create(created) => {
            format!("create {}", created.spec.as_ref().unwrap().replicas.unwrap())
        }
        ReplicaSetWrite::Update {
            replica_set,
            resized: None,
        } => format!("update {}", name(replica_set)),
        ReplicaSetWrite::Update {
            replica_set,
            resized: Some((from, to)),
        } => format!("scale {} {from} {to}", name(replica_set)),
        ReplicaSetWrite::Delete(deleted) => format!("delete {}", name(deleted)),
    };
    writes.iter().map(text).collect()
}
