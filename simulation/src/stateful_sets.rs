//! StatefulSets: pods with names that stay, one after the other.

use serde_json::{Value, json};

use crate::action::Action;
use crate::object::{self, count};
use crate::pods::{is_active, is_ready};
use crate::step::Next;
use crate::world::{Kind, World};

const REVISION: &str = "controller-revision-hash";

pub(crate) fn step(world: &World, next: &mut Next) {
    for set in world
        .all(Kind::StatefulSet)
        .filter(|set| !object::is_deleted(set))
    {
        one(world, set, next);
    }
}

fn one(world: &World, set: &Value, next: &mut Next) {
    let spec = &set["spec"];
    let revision = format!("{}-{}", object::name(set), object::hash(&spec["template"]));
    let first = count(&spec["ordinals"]["start"], 0);
    let wanted = first..first + count(&spec["replicas"], 1);
    let one_by_one = spec["podManagementPolicy"] != "Parallel";
    let mut pods: Vec<(i64, &Value)> = world
        .owned(Kind::Pod, set)
        .filter_map(|pod| Some((ordinal(pod)?, pod)))
        .collect();
    pods.sort_by_key(|(ordinal, _)| *ordinal);
    let is_new = |pod: &Value| pod["metadata"]["labels"][REVISION] == revision.as_str();

    let mut settled = true;
    for ordinal in wanted.clone() {
        match pods.iter().find(|(found, _)| *found == ordinal) {
            None => next.act(Action::Create(Kind::Pod, pod(set, ordinal, &revision))),
            Some((_, pod)) if is_active(pod) && is_ready(pod) => continue,
            // One that ended gives its name to the next.
            Some((_, pod)) if !is_active(pod) && !object::is_deleted(pod) => {
                next.act(Action::Delete(Kind::Pod, (*pod).clone()));
            }
            Some(_) => {}
        }
        settled = false;
        if one_by_one {
            break;
        }
    }
    // From the highest down, and one at a time where that is the policy.
    let excess = pods.iter().rev().filter(|(ordinal, _)| !wanted.contains(ordinal));
    for (_, pod) in excess.take(if one_by_one { 1 } else { usize::MAX }) {
        settled = false;
        if !object::is_deleted(pod) {
            next.act(Action::Delete(Kind::Pod, (*pod).clone()));
        }
    }
    let strategy = &spec["updateStrategy"];
    if settled && strategy["type"] != "OnDelete" {
        let from = count(&strategy["rollingUpdate"]["partition"], 0);
        let stale = pods
            .iter()
            .rev()
            .find(|(ordinal, pod)| *ordinal >= from && !is_new(pod));
        if let Some((_, pod)) = stale {
            next.act(Action::Delete(Kind::Pod, (*pod).clone()));
        }
    }

    let active: Vec<&Value> = pods
        .iter()
        .map(|(_, pod)| *pod)
        .filter(|pod| is_active(pod))
        .collect();
    let ready = active.iter().filter(|pod| is_ready(pod)).count();
    let updated = active.iter().filter(|pod| is_new(pod)).count();
    let known = &set["status"]["currentRevision"];
    let is_done = updated == active.len() && settled;
    let current = if is_done || known.is_null() {
        json!(revision)
    } else {
        known.clone()
    };
    let of_current = active
        .iter()
        .filter(|pod| pod["metadata"]["labels"][REVISION] == current)
        .count();
    let status = json!({
        "replicas": active.len(), "readyReplicas": ready, "availableReplicas": ready, "updatedReplicas": updated,
        "currentReplicas": of_current, "currentRevision": current, "updateRevision": revision, "collisionCount": 0,
        "observedGeneration": set["metadata"]["generation"],
    });
    object::report(Kind::StatefulSet, set, status, next);
}

fn ordinal(pod: &Value) -> Option<i64> {
    object::name(pod).rsplit_once('-')?.1.parse().ok()
}

fn pod(set: &Value, ordinal: i64, revision: &str) -> Value {
    let mut pod = object::pod(Kind::StatefulSet, set);
    let name = format!("{}-{ordinal}", object::name(set));
    if let Value::Object(metadata) = &mut pod["metadata"] {
        metadata.remove("generateName");
    }
    pod["metadata"]["name"] = json!(name);
    let labels = &mut pod["metadata"]["labels"];
    labels[REVISION] = json!(revision);
    labels["statefulset.kubernetes.io/pod-name"] = json!(name);
    labels["apps.kubernetes.io/pod-index"] = json!(ordinal.to_string());
    pod["spec"]["hostname"] = json!(name);
    if let Some(service) = set["spec"]["serviceName"]
        .as_str()
        .filter(|service| !service.is_empty())
    {
        pod["spec"]["subdomain"] = json!(service);
    }
    pod
}
