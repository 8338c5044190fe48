//! The removal of pods that nothing holds: after they are marked for deletion.

use super::{Registry, Target};
use crate::meta;
use crate::storage::Object;
use std::sync::Arc;
use std::time::Duration;

/// How long a pod stays marked: about what a write of kube-apiserver takes. Controllers act on pods that are being deleted, and would never
/// see them in their caches if both events came at once.
const MARKED_TIME: Duration = Duration::from_millis(2);

/// A pod that is marked for deletion, and that nothing holds.
#[derive(Debug)]
pub(crate) struct MarkedPod {
    table: String,
    key: String,
    object: Arc<Object>,
}

impl MarkedPod {
    pub(super) fn new(target: &Target, object: Arc<Object>) -> Self {
        Self {
            table: target.kind.table(),
            key: target.key(),
            object,
        }
    }
}

impl Registry {
    /// Removes a marked pod after the time that it stays marked, and returns its last state. The future must be run to its end: without it,
    /// the pod stays marked.
    pub(crate) async fn remove_marked_pod(self: Arc<Self>, pod: MarkedPod) -> Arc<Object> {
        tokio::time::sleep(MARKED_TIME).await;
        self.remove_pod(pod)
    }

    /// As [`remove_marked_pod`](Self::remove_marked_pod), for several pods.
    pub(crate) async fn remove_marked_pods(self: Arc<Self>, pods: Vec<MarkedPod>) {
        tokio::time::sleep(MARKED_TIME).await;
        for pod in pods {
            self.remove_pod(pod);
        }
    }

    /// Removes a marked pod at once, unless somebody else has removed it since, and returns its last state.
    pub(super) fn remove_pod(&self, pod: MarkedPod) -> Arc<Object> {
        let MarkedPod { table, key, object } = pod;
        let mut last = object;
        loop {
            if let Ok(removed) = self.store.delete(&table, &key, &last) {
                return removed;
            }
            match self.store.get(&table, &key) {
                Some(now) if meta::uid(now.value()) == meta::uid(last.value()) => last = now,
                _ => return last,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::User;
    use crate::registry::{DeleteResult, Deletion, Eviction, WriteContext};
    use crate::request::{DeleteOptions, ListOptions, WriteOptions};
    use serde_json::json;

    /// Creates a pod that is not scheduled.
    fn create_pod(registry: &Registry) -> Target {
        let kind = registry.resource("", "pods").unwrap();
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        let pod = json!({ "metadata": { "name": "p" }, "spec": spec });
        registry.create_for_tests(&Target::new(&kind, "default", ""), pod);
        Target::new(&kind, "default", "p")
    }

    fn mark(registry: &Registry, target: &Target) -> MarkedPod {
        let (user, options) = (User::system(), WriteOptions::default());
        let context = WriteContext::new(&user, &options);
        match registry.begin_deletion(target, &DeleteOptions::default(), context, "p") {
            Ok(Deletion::Marked(pod)) => pod,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pod_stays_marked_before_it_is_removed() {
        let registry = Registry::for_tests(vec![]);
        let target = create_pod(&registry);
        let marked = mark(&registry, &target);
        let removal = tokio::spawn(registry.clone().remove_marked_pod(marked));
        tokio::time::sleep(MARKED_TIME / 2).await;
        let seen = registry.get(&target).unwrap();
        assert!(meta::is_being_deleted(seen.value()));
        let removed = removal.await.unwrap();
        assert_eq!(meta::uid(removed.value()), meta::uid(seen.value()));
        assert_eq!(registry.get(&target).unwrap_err().code, 404);
    }

    #[test]
    fn pod_that_was_changed_is_removed_and_a_new_one_stays() {
        let registry = Registry::for_tests(vec![]);
        let target = create_pod(&registry);
        let marked = mark(&registry, &target);
        let mut labelled = marked.object.value().clone();
        labelled["metadata"]["labels"] = json!({ "a": "b" });
        let (table, key) = (&marked.table, &marked.key);
        registry
            .store
            .update(table, key, &marked.object, labelled)
            .unwrap();
        let removed = registry.remove_pod(marked);
        assert_eq!(removed.value()["metadata"]["labels"]["a"], "b");
        assert_eq!(registry.get(&target).unwrap_err().code, 404);

        create_pod(&registry);
        let former = MarkedPod::new(&target, removed.clone());
        assert!(Arc::ptr_eq(&registry.remove_pod(former), &removed));
        assert!(registry.get(&target).is_ok());
    }

    #[test]
    fn pods_are_marked_by_collections_and_evictions_and_removed_at_once_by_the_server() {
        let registry = Registry::for_tests(vec![]);
        let target = create_pod(&registry);
        let (user, options) = (User::system(), WriteOptions::default());
        let context = WriteContext::new(&user, &options);
        let collection = Target::new(&target.kind, "default", "");
        let (selection, deletion, mut marked) = (ListOptions::default(), DeleteOptions::default(), vec![]);
        let listing = registry.begin_collection(&collection, &selection, &deletion, context, &mut marked);
        assert_eq!((listing.unwrap().objects.len(), marked.len()), (1, 1));
        assert!(meta::is_being_deleted(registry.get(&target).unwrap().value()));
        registry.remove_pod(marked.remove(0));

        create_pod(&registry);
        registry
            .delete_collection(&collection, &selection, &deletion)
            .unwrap();
        assert_eq!(registry.get(&target).unwrap_err().code, 404);
        create_pod(&registry);
        let Ok(Eviction::Evicted(Some(evicted))) = registry.evict(&target, &deletion) else {
            panic!("the pod is not marked");
        };
        assert!(meta::is_being_deleted(registry.get(&target).unwrap().value()));
        let second = registry.evict(&target, &deletion);
        assert_eq!(second.err().map(|error| error.code), Some(404));
        registry.remove_pod(evicted);

        create_pod(&registry);
        let deleted = registry.delete(&target, &deletion);
        assert!(matches!(deleted, Ok(DeleteResult::Deleted(_))));
        assert_eq!(registry.get(&target).unwrap_err().code, 404);
    }

    #[test]
    fn one_of_racing_evictions_succeeds_and_the_others_find_no_pod() {
        let registry = Registry::for_tests(vec![]);
        for _ in 0..50 {
            let target = create_pod(&registry);
            let outcomes: Vec<Result<MarkedPod, u16>> = std::thread::scope(|scope| {
                let evict = || match registry.evict(&target, &DeleteOptions::default()) {
                    Ok(Eviction::Evicted(Some(pod))) => Ok(pod),
                    Ok(_) => Err(200),
                    Err(error) => Err(error.code),
                };
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(evict)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let (evicted, others): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
            let codes: Vec<u16> = others.into_iter().filter_map(Result::err).collect();
            assert_eq!((evicted.len(), codes), (1, vec![404; 3]));
            for pod in evicted.into_iter().flatten() {
                registry.remove_pod(pod);
            }
            assert_eq!(registry.get(&target).unwrap_err().code, 404);
        }
    }
}
