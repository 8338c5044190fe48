//! DaemonSets: one pod, since there is one node.

use serde_json::{Value, json};

use crate::action::Action;
use crate::object;
use crate::pods::{is_active, is_ready};
use crate::step::Next;
use crate::world::{Kind, World};

/// The label by which pods of a former template are known.
const HASH: &str = "controller-revision-hash";

pub(crate) fn step(world: &World, next: &mut Next) {
    for set in world.all(Kind::DaemonSet).filter(|set| !object::is_deleted(set)) {
        let hash = object::hash(&set["spec"]["template"]);
        let owned: Vec<&Value> = world.owned(Kind::Pod, set).collect();
        let pods: Vec<&Value> = owned.iter().copied().filter(|pod| is_active(pod)).collect();
        // The next one comes when the last one is gone; one that ended makes room.
        if owned.is_empty() {
            let mut pod = object::pod(Kind::DaemonSet, set);
            pod["metadata"]["labels"][HASH] = json!(hash);
            next.act(Action::Create(Kind::Pod, pod));
        }
        for pod in owned
            .iter()
            .filter(|pod| !is_active(pod) && !object::is_deleted(pod))
        {
            next.act(Action::Delete(Kind::Pod, (*pod).clone()));
        }
        let is_new = |pod: &&&Value| pod["metadata"]["labels"][HASH] == hash.as_str();
        if set["spec"]["updateStrategy"]["type"] != "OnDelete" {
            for pod in pods.iter().filter(|pod| !is_new(pod)) {
                next.act(Action::Delete(Kind::Pod, (*pod).clone()));
            }
        }
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        let status = json!({
            "currentNumberScheduled": pods.len().min(1), "desiredNumberScheduled": 1, "numberMisscheduled": 0, "numberReady": ready,
            "numberAvailable": ready, "numberUnavailable": 1_usize.saturating_sub(ready),
            "updatedNumberScheduled": pods.iter().filter(is_new).count(),
            "observedGeneration": set["metadata"]["generation"],
        });
        object::report(Kind::DaemonSet, set, status, next);
    }
}
