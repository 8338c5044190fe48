//! How many pods have ended with the tracking finalizer, and how many of those lost it, with upstream's name: the difference is the number of
//! pods that Jobs must still count.

use std::collections::HashSet;

use kubewright::{
    cache::{Change, Lister, Metadata},
    prometheus_client::{
        metrics::{counter::Counter, family::Family},
        registry::Registry,
    },
};
use parking_lot::Mutex;

use super::job_pod::has_finalizer;
use crate::shared::{metrics::Labels, pod::PodView};

pub(super) struct TrackedPods {
    pods: Lister<PodView>,
    events: Family<Labels, Counter>,
    /// The uids of the pods that have ended and have the finalizer.
    ended: Mutex<HashSet<Box<str>>>,
}

impl TrackedPods {
    pub(super) fn register(registry: &mut Registry, pods: Lister<PodView>) -> Self {
        let pods = Self {
            pods,
            events: Family::default(),
            ended: Mutex::default(),
        };
        registry.register(
            "job_controller_terminated_pods_tracking_finalizer",
            "Pods that have ended with the tracking finalizer (add), and those of them that lost it (delete)",
            pods.events.clone(),
        );
        pods
    }

    /// Counts a change of a pod.
    pub(super) fn observe(&self, change: &Change<'_>) {
        match *change {
            Change::Added { new, .. } => self.update(new),
            Change::Updated { old, new } => {
                // Another pod of the same name.
                if old.uid() != new.uid() {
                    self.remove(old.uid());
                }
                self.update(new);
            }
            Change::Deleted { old, .. } => self.remove(old.uid()),
        }
    }

    fn update(&self, pod: &Metadata) {
        if !has_finalizer(pod) {
            self.remove(pod.uid());
            return;
        }
        // Before the pod is decoded, since each later change of it comes here, too.
        let is_counted = self.ended.lock().contains(pod.uid());
        if !is_counted && self.has_ended(pod) && self.ended.lock().insert(pod.uid().into()) {
            self.count("add");
        }
    }

    /// Whether the pod has ended by now, which the metadata of a change does not say.
    fn has_ended(&self, pod: &Metadata) -> bool {
        let cached = self.pods.object(pod.name()).and_then(|pod| pod.decode().ok());
        cached.is_some_and(|pod| pod.is_terminal())
    }

    fn remove(&self, uid: &str) {
        if self.ended.lock().remove(uid) {
            self.count("delete");
        }
    }

    fn count(&self, event: &str) {
        let labels = vec![("event", event.to_owned())];
        self.events.get_or_create(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use kubewright::{NamespacedName, testing::Harness};
    use serde_json::{Value, json};

    use super::*;
    use crate::job::job_pod::TRACKING_FINALIZER;

    #[tokio::test]
    async fn ended_pods_are_counted_when_they_have_the_finalizer_and_when_they_lose_it() {
        let test = Harness::new(|setup| {
            setup.informers().projected::<PodView>();
        });
        let pods = test.setup().informers().projected::<PodView>().lister();
        let tracked = TrackedPods::register(&mut Registry::default(), pods.clone());
        let object = |name: &str| pods.object(&NamespacedName::namespaced("shop", name)).unwrap();
        let pod = |name: &str, phase: &str, finalizers: Value| {
            test.seed(&json!({
                "apiVersion": "v1", "kind": "Pod", "status": {"phase": phase},
                "metadata": {"namespace": "shop", "name": name, "uid": name, "finalizers": finalizers},
            }));
            let pod = object(name);
            tracked.observe(&Change::Updated {
                old: pod.metadata(),
                new: pod.metadata(),
            });
        };
        let counts = || {
            ["add", "delete"].map(|event| {
                let labels = vec![("event", event.to_owned())];
                tracked.events.get_or_create(&labels).get()
            })
        };
        pod("a", "Running", json!([TRACKING_FINALIZER]));
        pod("other", "Succeeded", json!(["example.com/other"]));
        assert_eq!(counts(), [0, 0]);
        pod("a", "Failed", json!([TRACKING_FINALIZER]));
        pod("b", "Succeeded", json!([TRACKING_FINALIZER]));
        pod("b", "Succeeded", json!([TRACKING_FINALIZER, "example.com/other"]));
        assert_eq!(counts(), [2, 0]);
        pod("a", "Failed", json!([]));
        pod("a", "Failed", json!([]));
        assert_eq!(counts(), [2, 1]);
        tracked.observe(&Change::Deleted {
            old: object("b").metadata(),
            final_state_known: true,
        });
        assert_eq!(counts(), [2, 2]);
    }
}
