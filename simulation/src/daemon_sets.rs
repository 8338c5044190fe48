//! DaemonSet controller. It runs one pod, as there is one node.

use serde_json::{Value, json};

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object;
use crate::plan::Plan;
use crate::pods::{is_active, is_ready};

/// The label with the hash of a pod's template.
const HASH_LABEL: &str = "controller-revision-hash";

pub(crate) fn reconcile(cache: &ObjectCache, plan: &mut Plan) {
    for set in cache
        .all(Kind::DaemonSet)
        .filter(|set| !object::is_being_deleted(set))
    {
        let hash = object::template_hash(&set["spec"]["template"]);
        let owned: Vec<&Value> = cache.owned(Kind::Pod, set).collect();
        let pods: Vec<&Value> = owned.iter().copied().filter(|pod| is_active(pod)).collect();
        // The next pod is created when the last one is gone; a finished pod is deleted first.
        if owned.is_empty() {
            let mut pod = object::pod(Kind::DaemonSet, set);
            pod["metadata"]["labels"][HASH_LABEL] = json!(hash);
            plan.push(Action::Create(Kind::Pod, pod));
        }
        for pod in owned
            .iter()
            .filter(|pod| !is_active(pod) && !object::is_being_deleted(pod))
        {
            plan.push(Action::Delete(Kind::Pod, (*pod).clone()));
        }
        let is_current = |pod: &&&Value| pod["metadata"]["labels"][HASH_LABEL] == hash.as_str();
        if set["spec"]["updateStrategy"]["type"] != "OnDelete" {
            for pod in pods.iter().filter(|pod| !is_current(pod)) {
                plan.push(Action::Delete(Kind::Pod, (*pod).clone()));
            }
        }
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        let status = json!({
            "currentNumberScheduled": pods.len().min(1), "desiredNumberScheduled": 1, "numberMisscheduled": 0, "numberReady": ready,
            "numberAvailable": ready, "numberUnavailable": 1_usize.saturating_sub(ready),
            "updatedNumberScheduled": pods.iter().filter(is_current).count(),
            "observedGeneration": set["metadata"]["generation"],
        });
        plan.update_status(Kind::DaemonSet, set, status);
    }
}
