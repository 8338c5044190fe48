//! ReplicaSets: as many pods as are wanted.

use serde_json::{Value, json};

use crate::action::Action;
use crate::object;
use crate::pods::{is_active, is_ready};
use crate::step::Next;
use crate::world::{Kind, World};

pub(crate) fn step(world: &World, next: &mut Next) {
    for set in world.all(Kind::ReplicaSet).filter(|set| !object::is_deleted(set)) {
        let mut pods: Vec<&Value> = world.owned(Kind::Pod, set).filter(|pod| is_active(pod)).collect();
        let wanted = usize::try_from(object::count(&set["spec"]["replicas"], 1)).unwrap_or(0);
        for _ in pods.len()..wanted {
            next.act(Action::Create(Kind::Pod, object::pod(Kind::ReplicaSet, set)));
        }
        // Who does no work yet goes first, then the youngest.
        pods.sort_by_key(|pod| (!is_ready(pod), object::version(pod)));
        for pod in pods.iter().skip(wanted).rev() {
            next.act(Action::Delete(Kind::Pod, (*pod).clone()));
        }
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        let status = json!({
            "replicas": pods.len(), "fullyLabeledReplicas": pods.len(), "readyReplicas": ready, "availableReplicas": ready,
            "observedGeneration": set["metadata"]["generation"],
        });
        object::report(Kind::ReplicaSet, set, status, next);
    }
}
