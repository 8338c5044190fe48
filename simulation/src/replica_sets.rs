//! ReplicaSet controller.

use serde_json::{Value, json};

use crate::action::Action;
use crate::cache::ObjectCache;
use crate::kind::Kind;
use crate::object;
use crate::plan::Plan;
use crate::pods::{is_active, is_ready};

pub(crate) fn reconcile(cache: &ObjectCache, plan: &mut Plan) {
    for set in cache
        .all(Kind::ReplicaSet)
        .filter(|set| !object::is_being_deleted(set))
    {
        let mut pods: Vec<&Value> = cache.owned(Kind::Pod, set).filter(|pod| is_active(pod)).collect();
        let desired = usize::try_from(object::int_or_default(&set["spec"]["replicas"], 1)).unwrap_or(0);
        for _ in pods.len()..desired {
            plan.push(Action::Create(Kind::Pod, object::pod(Kind::ReplicaSet, set)));
        }
        // Delete pods that are not ready first, then the youngest.
        pods.sort_by_key(|pod| (!is_ready(pod), object::resource_version(pod)));
        for pod in pods.iter().skip(desired).rev() {
            plan.push(Action::Delete(Kind::Pod, (*pod).clone()));
        }
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        let status = json!({
            "replicas": pods.len(), "fullyLabeledReplicas": pods.len(), "readyReplicas": ready, "availableReplicas": ready,
            "observedGeneration": set["metadata"]["generation"],
        });
        plan.update_status(Kind::ReplicaSet, set, status);
    }
}
