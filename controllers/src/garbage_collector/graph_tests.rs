use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{Kind as _, cache::Object, testing::Harness};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Makes cached objects, whose names are their uids.
struct Cache(Harness);

impl Cache {
    fn new() -> Self {
        Self(Harness::new(|setup| {
            setup.informers().of::<ConfigMap>();
        }))
    }

    fn object(&self, name: &str, owners: &[&str], finalizer: Option<&str>) -> Object<ConfigMap> {
        let references = owners.iter().map(|owner| reference(owner, true));
        self.with_references(name, &references.collect(), finalizer)
    }

    /// An object that is being deleted if it has a finalizer.
    fn with_references(&self, name: &str, references: &Value, finalizer: Option<&str>) -> Object<ConfigMap> {
        let mut metadata =
            json!({"namespace": "shop", "name": name, "uid": name, "ownerReferences": references});
        if let Some(finalizer) = finalizer {
            metadata["finalizers"] = json!([finalizer]);
            metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        self.0
            .seed(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}));
        let lister = self.0.setup().informers().of::<ConfigMap>().lister();
        lister.object(&NamespacedName::namespaced("shop", name)).unwrap()
    }
}

fn reference(owner: &str, blocks: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": owner, "blockOwnerDeletion": blocks})
}

fn kind() -> Arc<ApiResource> {
    Arc::new(ConfigMap::info())
}

fn names(keys: impl IntoIterator<Item = ObjectKey>) -> BTreeSet<String> {
    keys.into_iter().map(|key| key.uid.to_string()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn object_with_a_new_owner_is_looked_at_and_other_changes_are_not() {
    let (cache, mut graph) = (Cache::new(), Graph::default());
    let free = cache.object("free", &[], None);
    assert_eq!(graph.changed(&kind(), None, free.metadata()), Effect::default());
    let one = cache.object("child", &["a"], None);
    assert_eq!(
        names(graph.changed(&kind(), None, one.metadata()).enqueue),
        set(&["child"])
    );
    let same = graph.changed(&kind(), Some(one.metadata()), one.metadata());
    assert_eq!(same, Effect::default());
    let two = cache.object("child", &["a", "b"], None);
    let added = graph.changed(&kind(), Some(one.metadata()), two.metadata());
    assert_eq!(names(added.enqueue), set(&["child"]));
    assert_eq!(names(graph.dependents("b")), set(&["child"]));
    // The same uid under another name: the reference may be wrong.
    let mut wrong = reference("b", true);
    wrong["name"] = json!("other");
    let renamed = cache.with_references("child", &json!([wrong]), None);
    let changed = graph.changed(&kind(), Some(two.metadata()), renamed.metadata());
    assert_eq!(names(changed.enqueue), set(&["child"]));
    assert_eq!(graph.dependents("a").count(), 0);
}

#[tokio::test]
async fn dependents_of_a_lost_owner_are_looked_at() {
    let (cache, mut graph) = (Cache::new(), Graph::default());
    let owner = cache.object("owner", &[], None);
    for name in ["a", "b"] {
        graph.changed(&kind(), None, cache.object(name, &["owner"], None).metadata());
    }
    let effect = graph.removed(&kind(), owner.metadata());
    assert!(effect.is_lost_owner);
    assert_eq!(names(effect.enqueue), set(&["a", "b"]));
    assert!(
        !graph
            .removed(&kind(), cache.object("free", &[], None).metadata())
            .is_lost_owner
    );
}

#[tokio::test]
async fn foreground_deletion_enqueues_the_dependents_and_each_that_ends_the_owner() {
    let (cache, mut graph) = (Cache::new(), Graph::default());
    let (first, second) = (
        cache.object("a", &["owner"], None),
        cache.object("b", &["owner"], None),
    );
    graph.changed(&kind(), None, first.metadata());
    graph.changed(&kind(), None, second.metadata());
    let waiting = cache.object("owner", &[], Some(FOREGROUND));
    let effect = graph.changed(&kind(), None, waiting.metadata());
    assert_eq!(names(effect.enqueue), set(&["a", "b", "owner"]));
    let again = graph.changed(&kind(), Some(waiting.metadata()), waiting.metadata());
    assert_eq!(again, Effect::default());
    assert_eq!(
        names(graph.removed(&kind(), first.metadata()).enqueue),
        set(&["owner"])
    );
    let unblocked = cache.with_references("b", &json!([reference("owner", false)]), None);
    let effect = graph.changed(&kind(), Some(second.metadata()), unblocked.metadata());
    assert_eq!(names(effect.enqueue), set(&["owner"]));
}

/// `kubectl delete --cascade=foreground`, twice, of an object that another finalizer keeps.
#[tokio::test]
async fn owner_that_is_deleted_in_the_foreground_again_is_looked_at_again() {
    let (cache, mut graph) = (Cache::new(), Graph::default());
    let waiting = cache.object("owner", &[], Some(FOREGROUND));
    let begins = graph.changed(&kind(), None, waiting.metadata());
    assert_eq!(names(begins.enqueue), set(&["owner"]));
    let kept = cache.object("owner", &[], Some("example.com/keep"));
    let finished = graph.changed(&kind(), Some(waiting.metadata()), kept.metadata());
    assert_eq!(finished, Effect::default());
    let dependent = cache.object("a", &["owner"], None);
    graph.changed(&kind(), None, dependent.metadata());
    // It waits for nothing now: the loss of a dependent does not matter.
    let lost = graph.removed(&kind(), dependent.metadata());
    assert_eq!(lost, Effect::default());
    graph.changed(&kind(), None, dependent.metadata());
    let again = graph.changed(&kind(), Some(kept.metadata()), waiting.metadata());
    assert_eq!(names(again.enqueue), set(&["a", "owner"]));
}

#[tokio::test]
async fn orphaning_owner_is_looked_at_once() {
    let (cache, mut graph) = (Cache::new(), Graph::default());
    let owner = cache.object("owner", &[], Some(ORPHAN));
    let begins = graph.changed(&kind(), None, owner.metadata());
    assert_eq!(names(begins.enqueue), set(&["owner"]));
    let again = graph.changed(&kind(), Some(owner.metadata()), owner.metadata());
    assert_eq!(again, Effect::default());
}

#[tokio::test]
async fn recreated_owner_is_another_one() {
    let (cache, mut graph) = (Cache::new(), Graph::default());
    graph.changed(&kind(), None, cache.object("child", &["owner"], None).metadata());
    let old = cache.object("owner", &[], None);
    let mut new = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "owner", "uid": "new"}});
    new["metadata"]["resourceVersion"] = json!("2");
    cache.0.seed(&new);
    let lister = cache.0.setup().informers().of::<ConfigMap>().lister();
    let new = lister.object(old.name()).unwrap();
    let effect = graph.changed(&kind(), Some(old.metadata()), new.metadata());
    assert_eq!(names(effect.enqueue), set(&["child"]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// After any sequence of changes the graph has the edges of the objects that exist; whoever loses an owner is looked at, and so is an
    /// owner that waits and loses a dependent.
    #[test]
    fn edges_are_those_of_the_existing_objects(
        changes in prop::collection::vec((0_usize..5, prop::option::of((prop::collection::btree_set(0_usize..5, 0..3), any::<bool>()))), 1..30),
    ) {
        const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _guard = runtime.enter();
        let (cache, mut graph) = (Cache::new(), Graph::default());
        let mut model: BTreeMap<&str, (Object<ConfigMap>, BTreeSet<&str>, bool)> = BTreeMap::new();
        for (index, change) in changes {
            let name = NAMES[index];
            let before = model.remove(name);
            let lost: BTreeSet<&str>;
            let effect = if let Some((owners, is_waiting)) = change {
                    let owners: BTreeSet<&str> = owners.into_iter().map(|owner| NAMES[owner]).collect();
                    // A deletion is not taken back.
                    let is_waiting = is_waiting || before.as_ref().is_some_and(|(_, _, was)| *was);
                    let list: Vec<_> = owners.iter().copied().collect();
                    let object = cache.object(name, &list, is_waiting.then_some(FOREGROUND));
                    let old = before.as_ref().map(|(object, _, _)| object.metadata());
                    let effect = graph.changed(&kind(), old, object.metadata());
                    let old_owners = before.map(|(_, owners, _)| owners).unwrap_or_default();
                    lost = old_owners.difference(&owners).copied().collect();
                    model.insert(name, (object, owners, is_waiting));
                    effect
            } else {
                    let Some((object, owners, _)) = before else { continue };
                    lost = owners;
                    let effect = graph.removed(&kind(), object.metadata());
                    let of_it = model.iter().filter(|(_, (_, owners, _))| owners.contains(name));
                    for (dependent, _) in of_it {
                        prop_assert!(names(effect.enqueue.clone()).contains(*dependent));
                    }
                    effect
            };
            for owner in lost {
                if model.get(owner).is_some_and(|(_, _, is_waiting)| *is_waiting) {
                    prop_assert!(names(effect.enqueue.clone()).contains(owner));
                }
            }
            for owner in NAMES {
                let of_owner = model.iter().filter(|(_, (_, owners, _))| owners.contains(owner));
                let expected: BTreeSet<String> = of_owner.map(|(name, _)| (*name).to_owned()).collect();
                prop_assert_eq!(names(graph.dependents(owner)), expected);
            }
            let owners: BTreeSet<_> = model.values().flat_map(|(_, owners, _)| owners).collect();
            prop_assert_eq!(graph.owner_count(), owners.len());
        }
    }
}
