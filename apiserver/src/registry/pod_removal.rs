//! The removal of pods that nothing holds: after they are marked for deletion.

use super::{Registry, Target};
use crate::meta;
use crate::storage::Object;
use std::sync::Arc;
use std::time::Duration;

/// How long a pod stays marked: about what a write of kube-apiserver takes. Controllers act on pods that are being deleted, and would never
/// see them in their caches if both events came at once.
const MARKED_TIME: Duration = Duration::from_millis(2);

impl Registry {
    /// Removes a marked pod after the time that it stays marked, and returns its last state. The future must be run to its end: without the
    /// removal, the pod stays marked.
    pub(crate) async fn remove_marked_pod(
        self: Arc<Self>,
        target: Target,
        marked: Arc<Object>,
    ) -> Arc<Object> {
        tokio::time::sleep(MARKED_TIME).await;
        self.remove_pod(&target, marked)
    }

    /// Removes a marked pod at once, unless somebody else has removed it since, and returns its last state.
    pub(super) fn remove_pod(&self, target: &Target, marked: Arc<Object>) -> Arc<Object> {
        let (table, key) = (target.kind.table(), target.key());
        let mut last = marked;
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
    use crate::registry::{DeleteResult, Deletion, WriteContext};
    use crate::request::{DeleteOptions, WriteOptions};
    use serde_json::json;

    /// Creates a pod that is not scheduled.
    fn create_pod(registry: &Registry) -> Target {
        let kind = registry.resource("", "pods").unwrap();
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        let pod = json!({ "metadata": { "name": "p" }, "spec": spec });
        registry.create_for_tests(&Target::new(&kind, "default", ""), pod);
        Target::new(&kind, "default", "p")
    }

    fn mark(registry: &Registry, target: &Target) -> Arc<Object> {
        let (user, options) = (User::system(), WriteOptions::default());
        let context = WriteContext::new(&user, &options);
        match registry.begin_deletion(target, &DeleteOptions::default(), context) {
            Ok(Deletion::Marked(pod)) => pod,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pod_stays_marked_before_it_is_removed() {
        let registry = Registry::for_tests(vec![]);
        let target = create_pod(&registry);
        let marked = mark(&registry, &target);
        assert!(meta::is_being_deleted(marked.value()));
        let removal = tokio::spawn(registry.clone().remove_marked_pod(target.clone(), marked));
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
        let (table, key) = (target.kind.table(), target.key());
        let mut labelled = marked.value().clone();
        labelled["metadata"]["labels"] = json!({ "a": "b" });
        registry.store.update(&table, &key, &marked, labelled).unwrap();
        let removed = registry.remove_pod(&target, marked);
        assert_eq!(removed.value()["metadata"]["labels"]["a"], "b");
        assert_eq!(registry.get(&target).unwrap_err().code, 404);

        create_pod(&registry);
        let remaining = registry.remove_pod(&target, removed.clone());
        assert!(Arc::ptr_eq(&remaining, &removed));
        assert!(registry.get(&target).is_ok());
    }

    #[test]
    fn marked_pod_is_deleted_at_once_by_the_server_itself() {
        let registry = Registry::for_tests(vec![]);
        let target = create_pod(&registry);
        let deleted = registry.delete(&target, &DeleteOptions::default());
        assert!(matches!(deleted, Ok(DeleteResult::Deleted(_))));
        assert_eq!(registry.get(&target).unwrap_err().code, 404);
    }
}
