//! Deployment controller: one ReplicaSet per template, and rolling updates.

use serde_json::{Value, json};

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object::{self, int_or_default};
use crate::plan::Plan;

const HASH_LABEL: &str = "pod-template-hash";
const REVISION_ANNOTATION: &str = "deployment.kubernetes.io/revision";
/// The default of `revisionHistoryLimit`.
const DEFAULT_REVISION_HISTORY_LIMIT: i64 = 10;

pub(crate) fn reconcile(cache: &ObjectCache, plan: &mut Plan) {
    for deployment in cache
        .all(Kind::Deployment)
        .filter(|found| !object::is_being_deleted(found))
    {
        Rollout::new(cache, deployment).reconcile(plan);
    }
}

/// A Deployment with its ReplicaSets.
struct Rollout<'a> {
    deployment: &'a Value,
    /// The ReplicaSet of the current template.
    new: Option<&'a Value>,
    /// The ReplicaSets of earlier templates, oldest first.
    old: Vec<&'a Value>,
    name: String,
    hash: String,
    desired: i64,
    surge: i64,
    unavailable: i64,
}

fn replicas(set: &Value) -> i64 {
    int_or_default(&set["spec"]["replicas"], 1)
}

fn available(set: &Value) -> i64 {
    int_or_default(&set["status"]["availableReplicas"], 0)
}

fn revision(object: &Value) -> i64 {
    let text = object["metadata"]["annotations"][REVISION_ANNOTATION].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Scales a ReplicaSet, unless it has that number of replicas.
fn scale(set: &Value, desired: i64, plan: &mut Plan) {
    if replicas(set) != desired {
        let mut scaled = set.clone();
        scaled["spec"]["replicas"] = json!(desired);
        plan.push(Action::Update(Kind::ReplicaSet, scaled));
    }
}

impl<'a> Rollout<'a> {
    fn new(cache: &'a ObjectCache, deployment: &'a Value) -> Self {
        let spec = &deployment["spec"];
        let hash = object::template_hash(&spec["template"]);
        let name = format!("{}-{hash}", object::name(deployment));
        let sets = cache
            .owned(Kind::ReplicaSet, deployment)
            .filter(|set| !object::is_being_deleted(set));
        let (new, mut old): (Vec<_>, Vec<_>) = sets.partition(|set| object::name(set) == name);
        old.sort_by_key(|set| revision(set));
        let desired = int_or_default(&spec["replicas"], 1);
        let rolling = &spec["strategy"]["rollingUpdate"];
        let surge = object::int_or_percent(&rolling["maxSurge"], desired, 1, true);
        let unavailable = object::int_or_percent(&rolling["maxUnavailable"], desired, 0, false);
        // If both are zero, no rollout would be possible.
        let unavailable = if surge == 0 {
            unavailable.max(1)
        } else {
            unavailable
        };
        Self {
            deployment,
            new: new.first().copied(),
            old,
            name,
            hash,
            desired,
            surge,
            unavailable: unavailable.min(desired),
        }
    }

    fn reconcile(&self, plan: &mut Plan) {
        let paused = self.deployment["spec"]["paused"] == true;
        match self.new {
            None if paused => {}
            None => plan.push(Action::Create(Kind::ReplicaSet, self.replica_set())),
            Some(new) => {
                self.set_revision(new, plan);
                scale(new, self.desired_new_replicas(replicas(new)), plan);
                self.scale_down_old(new, plan);
                self.delete_old_replica_sets(plan);
            }
        }
        plan.update_status(Kind::Deployment, self.deployment, self.status());
    }

    fn is_recreate(&self) -> bool {
        self.deployment["spec"]["strategy"]["type"] == "Recreate"
    }

    /// Returns the number of replicas for the new ReplicaSet, which has `current`.
    fn desired_new_replicas(&self, current: i64) -> i64 {
        let old: i64 = self.old.iter().map(|set| replicas(set)).sum();
        if self.is_recreate() {
            let left: i64 = self
                .old
                .iter()
                .map(|set| int_or_default(&set["status"]["replicas"], 0))
                .sum();
            return if old + left == 0 { self.desired } else { current };
        }
        let room = (self.desired + self.surge - old - current).max(0);
        (current + room).min(self.desired)
    }

    /// Scales old ReplicaSets down as new pods become available; unavailable pods first.
    fn scale_down_old(&self, new: &Value, plan: &mut Plan) {
        let all: i64 = self.old.iter().copied().chain([new]).map(replicas).sum();
        let available_replicas = self.old.iter().copied().chain([new]).map(available).sum::<i64>();
        let needed = self.desired - self.unavailable;
        // Limited by desired replicas as well as by reported ones, which may be stale.
        let starting = replicas(new) - available(new);
        let (mut budget, mut spare) = if self.is_recreate() {
            (i64::MAX, i64::MAX)
        } else {
            (
                (all - needed - starting).max(0),
                (available_replicas - needed).max(0),
            )
        };
        for set in &self.old {
            let unavailable_replicas = (replicas(set) - available(set)).clamp(0, budget);
            budget -= unavailable_replicas;
            let removed = (replicas(set) - unavailable_replicas).min(spare).min(budget);
            budget -= removed;
            spare -= removed;
            scale(set, replicas(set) - unavailable_replicas - removed, plan);
        }
    }

    /// Sets the highest revision on the new ReplicaSet and on the Deployment.
    fn set_revision(&self, new: &Value, plan: &mut Plan) {
        let highest = self.old.iter().map(|set| revision(set)).max().unwrap_or(0);
        let desired = if revision(new) > highest {
            revision(new)
        } else {
            highest + 1
        };
        for (kind, object) in [(Kind::ReplicaSet, new), (Kind::Deployment, self.deployment)] {
            if revision(object) != desired {
                let mut annotated = object.clone();
                annotated["metadata"]["annotations"][REVISION_ANNOTATION] = json!(desired.to_string());
                plan.push(Action::Update(kind, annotated));
            }
        }
    }

    fn delete_old_replica_sets(&self, plan: &mut Plan) {
        let limit = int_or_default(
            &self.deployment["spec"]["revisionHistoryLimit"],
            DEFAULT_REVISION_HISTORY_LIMIT,
        );
        let limit = usize::try_from(limit).unwrap_or(0);
        let is_empty =
            |set: &&&Value| replicas(set) == 0 && int_or_default(&set["status"]["replicas"], 0) == 0;
        let excess = self.old.len().saturating_sub(limit);
        for set in self.old.iter().filter(is_empty).take(excess) {
            plan.push(Action::Delete(Kind::ReplicaSet, (*set).clone()));
        }
    }

    fn replica_set(&self) -> Value {
        let spec = &self.deployment["spec"];
        let mut template = spec["template"].clone();
        template["metadata"]["labels"][HASH_LABEL] = json!(self.hash);
        let mut selector = spec["selector"].clone();
        selector["matchLabels"][HASH_LABEL] = json!(self.hash);
        let metadata = json!({
            "name": self.name, "namespace": object::namespace(self.deployment), "labels": template["metadata"]["labels"],
            "ownerReferences": [object::owner_reference(Kind::Deployment, self.deployment)],
        });
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata,
            "spec": { "replicas": self.desired_new_replicas(0), "selector": selector, "template": template },
        })
    }

    fn status(&self) -> Value {
        let all = || self.old.iter().copied().chain(self.new);
        let sum = |key: &str| {
            all()
                .map(|set| int_or_default(&set["status"][key], 0))
                .sum::<i64>()
        };
        let (replicas_now, ready, available) =
            (sum("replicas"), sum("readyReplicas"), sum("availableReplicas"));
        let updated = self
            .new
            .map_or(0, |set| int_or_default(&set["status"]["replicas"], 0));
        let promised: i64 = all().map(replicas).sum();
        let is_available = available >= self.desired - self.unavailable;
        let is_done = [updated, replicas_now, available]
            .iter()
            .all(|found| *found == self.desired);
        let condition = |kind: &str, status: bool, reason: &str, message: &str| {
            let mut made = object::make_condition(self.deployment, kind, status, reason, message);
            let before = object::condition(self.deployment, kind);
            let before = before.filter(|before| before["reason"] == made["reason"]);
            made["lastUpdateTime"] =
                before.map_or_else(|| json!(object::now()), |before| before["lastUpdateTime"].clone());
            made
        };
        let minimum = if is_available {
            condition(
                "Available",
                true,
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            )
        } else {
            let message = "Deployment does not have minimum availability.";
            condition("Available", false, "MinimumReplicasUnavailable", message)
        };
        let name = &self.name;
        let progress = if is_done {
            let message = format!("ReplicaSet \"{name}\" has successfully progressed.");
            condition("Progressing", true, "NewReplicaSetAvailable", &message)
        } else {
            let message = format!("ReplicaSet \"{name}\" is progressing.");
            condition("Progressing", true, "ReplicaSetUpdated", &message)
        };
        json!({
            "observedGeneration": self.deployment["metadata"]["generation"], "replicas": replicas_now, "updatedReplicas": updated,
            "readyReplicas": ready, "availableReplicas": available, "unavailableReplicas": (promised - available).max(0),
            "conditions": [minimum, progress],
        })
    }
}
