//! Deployments: a ReplicaSet a template, and the way from one to the next.

use serde_json::{Value, json};

use crate::action::Action;
use crate::object::{self, count};
use crate::step::Next;
use crate::world::{Kind, World};

const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
/// How many ReplicaSets of old templates are kept.
const HISTORY: i64 = 10;

pub(crate) fn step(world: &World, next: &mut Next) {
    for deployment in world
        .all(Kind::Deployment)
        .filter(|found| !object::is_deleted(found))
    {
        Rollout::new(world, deployment).step(next);
    }
}

/// A Deployment and its ReplicaSets.
struct Rollout<'a> {
    deployment: &'a Value,
    /// The one of the present template.
    new: Option<&'a Value>,
    /// Those of former templates, the oldest first.
    old: Vec<&'a Value>,
    name: String,
    hash: String,
    wanted: i64,
    surge: i64,
    unavailable: i64,
}

fn replicas(set: &Value) -> i64 {
    count(&set["spec"]["replicas"], 1)
}

fn available(set: &Value) -> i64 {
    count(&set["status"]["availableReplicas"], 0)
}

fn revision(object: &Value) -> i64 {
    let text = object["metadata"]["annotations"][REVISION].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// A set has as many replicas as are wanted.
fn scale(set: &Value, wanted: i64, next: &mut Next) {
    if replicas(set) != wanted {
        let mut scaled = set.clone();
        scaled["spec"]["replicas"] = json!(wanted);
        next.act(Action::Update(Kind::ReplicaSet, scaled));
    }
}

impl<'a> Rollout<'a> {
    fn new(world: &'a World, deployment: &'a Value) -> Self {
        let spec = &deployment["spec"];
        let hash = object::hash(&spec["template"]);
        let name = format!("{}-{hash}", object::name(deployment));
        let sets = world
            .owned(Kind::ReplicaSet, deployment)
            .filter(|set| !object::is_deleted(set));
        let (new, mut old): (Vec<_>, Vec<_>) = sets.partition(|set| object::name(set) == name);
        old.sort_by_key(|set| revision(set));
        let wanted = count(&spec["replicas"], 1);
        let rolling = &spec["strategy"]["rollingUpdate"];
        let surge = object::portion(&rolling["maxSurge"], wanted, 1, true);
        let unavailable = object::portion(&rolling["maxUnavailable"], wanted, 0, false);
        // With neither, nothing would ever move.
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
            wanted,
            surge,
            unavailable: unavailable.min(wanted),
        }
    }

    fn step(&self, next: &mut Next) {
        let paused = self.deployment["spec"]["paused"] == true;
        match self.new {
            None if paused => {}
            None => next.act(Action::Create(Kind::ReplicaSet, self.replica_set())),
            Some(new) => {
                self.number(new, next);
                scale(new, self.wanted_of_new(replicas(new)), next);
                self.scale_old_down(new, next);
                self.forget_old(next);
            }
        }
        object::report(Kind::Deployment, self.deployment, self.status(), next);
    }

    fn recreates(&self) -> bool {
        self.deployment["spec"]["strategy"]["type"] == "Recreate"
    }

    /// How many pods the new ReplicaSet may have, which has `now`.
    fn wanted_of_new(&self, now: i64) -> i64 {
        let old: i64 = self.old.iter().map(|set| replicas(set)).sum();
        if self.recreates() {
            let left: i64 = self
                .old
                .iter()
                .map(|set| count(&set["status"]["replicas"], 0))
                .sum();
            return if old + left == 0 { self.wanted } else { now };
        }
        let room = (self.wanted + self.surge - old - now).max(0);
        (now + room).min(self.wanted)
    }

    /// Old pods go as new ones become available; those that do no work go at once.
    fn scale_old_down(&self, new: &Value, next: &mut Next) {
        let all: i64 = self.old.iter().copied().chain([new]).map(replicas).sum();
        let working = self.old.iter().copied().chain([new]).map(available).sum::<i64>();
        let needed = self.wanted - self.unavailable;
        // By what is wanted of the sets as well as by what they say they have: that may be out of date.
        let coming = replicas(new) - available(new);
        let (mut budget, mut spare) = if self.recreates() {
            (i64::MAX, i64::MAX)
        } else {
            ((all - needed - coming).max(0), (working - needed).max(0))
        };
        for set in &self.old {
            let idle = (replicas(set) - available(set)).clamp(0, budget);
            budget -= idle;
            let goes = (replicas(set) - idle).min(spare).min(budget);
            budget -= goes;
            spare -= goes;
            scale(set, replicas(set) - idle - goes, next);
        }
    }

    /// The present template has the highest revision, on its ReplicaSet and on the Deployment.
    fn number(&self, new: &Value, next: &mut Next) {
        let highest = self.old.iter().map(|set| revision(set)).max().unwrap_or(0);
        let wanted = if revision(new) > highest {
            revision(new)
        } else {
            highest + 1
        };
        for (kind, object) in [(Kind::ReplicaSet, new), (Kind::Deployment, self.deployment)] {
            if revision(object) != wanted {
                let mut numbered = object.clone();
                numbered["metadata"]["annotations"][REVISION] = json!(wanted.to_string());
                next.act(Action::Update(kind, numbered));
            }
        }
    }

    fn forget_old(&self, next: &mut Next) {
        let limit = count(&self.deployment["spec"]["revisionHistoryLimit"], HISTORY);
        let limit = usize::try_from(limit).unwrap_or(0);
        let is_empty = |set: &&&Value| replicas(set) == 0 && count(&set["status"]["replicas"], 0) == 0;
        let excess = self.old.len().saturating_sub(limit);
        for set in self.old.iter().filter(is_empty).take(excess) {
            next.act(Action::Delete(Kind::ReplicaSet, (*set).clone()));
        }
    }

    fn replica_set(&self) -> Value {
        let spec = &self.deployment["spec"];
        let mut template = spec["template"].clone();
        template["metadata"]["labels"][HASH] = json!(self.hash);
        let mut selector = spec["selector"].clone();
        selector["matchLabels"][HASH] = json!(self.hash);
        let metadata = json!({
            "name": self.name, "namespace": object::namespace(self.deployment), "labels": template["metadata"]["labels"],
            "ownerReferences": [object::owner_reference(Kind::Deployment, self.deployment)],
        });
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata,
            "spec": { "replicas": self.wanted_of_new(0), "selector": selector, "template": template },
        })
    }

    fn status(&self) -> Value {
        let all = || self.old.iter().copied().chain(self.new);
        let sum = |key: &str| all().map(|set| count(&set["status"][key], 0)).sum::<i64>();
        let (replicas_now, ready, available) =
            (sum("replicas"), sum("readyReplicas"), sum("availableReplicas"));
        let updated = self.new.map_or(0, |set| count(&set["status"]["replicas"], 0));
        let promised: i64 = all().map(replicas).sum();
        let is_available = available >= self.wanted - self.unavailable;
        let is_done = [updated, replicas_now, available]
            .iter()
            .all(|found| *found == self.wanted);
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
