//! StatefulSet controller.

use serde_json::{Value, json};

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object::{self, int_or_default};
use crate::plan::Plan;
use crate::pods::{is_active, is_ready};

const REVISION_LABEL: &str = "controller-revision-hash";

pub(crate) fn reconcile(cache: &ObjectCache, plan: &mut Plan) {
    for set in cache
        .all(Kind::StatefulSet)
        .filter(|set| !object::is_being_deleted(set))
    {
        reconcile_one(cache, set, plan);
    }
}

fn reconcile_one(cache: &ObjectCache, set: &Value, plan: &mut Plan) {
    let spec = &set["spec"];
    let revision = format!(
        "{}-{}",
        object::name(set),
        object::template_hash(&spec["template"])
    );
    let first_ordinal = int_or_default(&spec["ordinals"]["start"], 0);
    let desired = first_ordinal..first_ordinal + int_or_default(&spec["replicas"], 1);
    let is_ordered = spec["podManagementPolicy"] != "Parallel";
    let mut pods: Vec<(i64, &Value)> = cache
        .owned(Kind::Pod, set)
        .filter_map(|pod| Some((ordinal(pod)?, pod)))
        .collect();
    pods.sort_by_key(|(ordinal, _)| *ordinal);
    let is_new = |pod: &Value| pod["metadata"]["labels"][REVISION_LABEL] == revision.as_str();

    let mut is_settled = true;
    for ordinal in desired.clone() {
        match pods.iter().find(|(found, _)| *found == ordinal) {
            None => plan.push(Action::Create(Kind::Pod, pod(set, ordinal, &revision))),
            Some((_, pod)) if is_active(pod) && is_ready(pod) => continue,
            // Delete a finished pod, so that its name can be reused.
            Some((_, pod)) if !is_active(pod) && !object::is_being_deleted(pod) => {
                plan.push(Action::Delete(Kind::Pod, (*pod).clone()));
            }
            Some(_) => {}
        }
        is_settled = false;
        if is_ordered {
            break;
        }
    }
    // Delete from the highest ordinal down, one at a time if the policy is ordered.
    let excess_pods = pods
        .iter()
        .rev()
        .filter(|(ordinal, _)| !desired.contains(ordinal));
    for (_, pod) in excess_pods.take(if is_ordered { 1 } else { usize::MAX }) {
        is_settled = false;
        if !object::is_being_deleted(pod) {
            plan.push(Action::Delete(Kind::Pod, (*pod).clone()));
        }
    }
    let strategy = &spec["updateStrategy"];
    if is_settled && strategy["type"] != "OnDelete" {
        let from = int_or_default(&strategy["rollingUpdate"]["partition"], 0);
        let outdated = pods
            .iter()
            .rev()
            .find(|(ordinal, pod)| *ordinal >= from && !is_new(pod));
        if let Some((_, pod)) = outdated {
            plan.push(Action::Delete(Kind::Pod, (*pod).clone()));
        }
    }

    let active: Vec<&Value> = pods
        .iter()
        .map(|(_, pod)| *pod)
        .filter(|pod| is_active(pod))
        .collect();
    let ready = active.iter().filter(|pod| is_ready(pod)).count();
    let updated = active.iter().filter(|pod| is_new(pod)).count();
    let current_revision = &set["status"]["currentRevision"];
    let is_done = updated == active.len() && is_settled;
    let current = if is_done || current_revision.is_null() {
        json!(revision)
    } else {
        current_revision.clone()
    };
    let current_replicas = active
        .iter()
        .filter(|pod| pod["metadata"]["labels"][REVISION_LABEL] == current)
        .count();
    let status = json!({
        "replicas": active.len(), "readyReplicas": ready, "availableReplicas": ready, "updatedReplicas": updated,
        "currentReplicas": current_replicas, "currentRevision": current, "updateRevision": revision, "collisionCount": 0,
        "observedGeneration": set["metadata"]["generation"],
    });
    plan.update_status(Kind::StatefulSet, set, status);
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
    labels[REVISION_LABEL] = json!(revision);
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
