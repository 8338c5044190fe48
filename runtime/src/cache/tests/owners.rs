//! Lookups by controller owner: `Lister::owned_by`.

use k8s_openapi::api::{
    apps::v1::ReplicaSet,
    core::v1::{Node, Pod},
};

use super::{server::Server, *};

fn owner(namespace: &str, name: &str, uid: &str) -> ReplicaSet {
    let metadata = json!({"namespace": namespace, "name": name, "uid": uid});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"selector": {}}})).unwrap()
}

fn reference(owner: &ReplicaSet, is_controller: bool) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner.metadata.name, "uid": owner.metadata.uid,
        "controller": is_controller,
    })
}

fn pod(namespace: &str, name: &str, owners: &[Value]) -> Value {
    json!({"metadata": {"namespace": namespace, "name": name, "ownerReferences": owners}})
}

fn owned(lister: &Lister<Pod>, owner: &impl Owner) -> Vec<String> {
    let dependents = lister.owned_by(owner).unwrap();
    let mut names: Vec<_> = dependents.objects().map(|pod| pod.name().to_string()).collect();
    names.sort();
    names
}

#[test]
fn owners_of_one_name_in_two_namespaces_are_not_mixed() {
    let pods = Server::new().factory().of::<Pod>();
    let [one, two] = [owner("one", "web", "1"), owner("two", "web", "2")];
    pods.seed(&pod("one", "a", &[reference(&one, true)])).unwrap();
    pods.seed(&pod("two", "a", &[reference(&two, true)])).unwrap();
    // References across namespaces are invalid: the garbage collector treats such an owner as absent.
    pods.seed(&pod("two", "b", &[reference(&one, true)])).unwrap();
    let lister = pods.lister();
    assert_eq!(
        (owned(&lister, &one), owned(&lister, &two)),
        (vec!["one/a".into()], vec!["two/a".into()])
    );
}

#[test]
fn recreated_owner_does_not_own_the_dependents_of_its_predecessor() {
    let pods = Server::new().factory().of::<Pod>();
    let [old, new] = [owner("one", "web", "1"), owner("one", "web", "2")];
    pods.seed(&pod("one", "a", &[reference(&old, true)])).unwrap();
    let lister = pods.lister();
    assert_eq!(
        (owned(&lister, &old), owned(&lister, &new)),
        (vec!["one/a".into()], vec![])
    );
    pods.seed(&pod("one", "b", &[reference(&new, true)])).unwrap();
    assert_eq!(owned(&lister, &new), ["one/b"]);
}

#[tokio::test(start_paused = true)]
async fn adopted_and_orphaned_objects_move_with_their_controller_reference() {
    let server = Server::new();
    let factory = server.factory();
    let maps = factory.of::<ConfigMap>();
    factory.start();
    factory.wait_for_cache_sync().await;
    let lister = maps.lister();
    let [one, two] = [owner("default", "one", "1"), owner("default", "two", "2")];
    for (owners, of_one, of_two) in [
        (vec![], 0, 0),
        (vec![reference(&one, true)], 1, 0),
        // Two owners, one of them the controller.
        (vec![reference(&one, false), reference(&two, true)], 0, 1),
        (vec![reference(&two, false)], 0, 0),
        (vec![reference(&one, true)], 1, 0),
    ] {
        let mut object = config_map("a", "1");
        object["metadata"]["ownerReferences"] = owners.into();
        server.put(&object);
        run_until_idle().await;
        let count = |owner: &ReplicaSet| lister.owned_by(owner).unwrap().len();
        assert_eq!((count(&one), count(&two)), (of_one, of_two));
    }
    server.delete("default", "a");
    run_until_idle().await;
    assert_eq!(lister.owned_by(&one).unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn owner_index_is_added_by_the_first_lookup_also_to_projections_after_the_start() {
    let server = Server::new();
    let owner = owner("default", "web", "1");
    let mut object = config_map("a", "1");
    object["metadata"]["ownerReferences"] = json!([reference(&owner, true)]);
    server.put(&object);
    let factory = server.factory();
    let metadata = factory.metadata_only::<ConfigMap>();
    let projected = factory.projected::<super::storage_modes::Datum>();
    factory.start();
    factory.wait_for_cache_sync().await;
    let lister = projected.lister();
    assert_eq!(lister.indexes(), [""; 0]);
    assert_eq!(
        (lister.owned_by(&owner).unwrap().len(), lister.indexes().len()),
        (1, 1)
    );
    assert_eq!(metadata.lister().indexes(), [""; 0]);
    let [dependent] =
        <[_; 1]>::try_from(lister.owned_by(&owner).unwrap().objects().collect::<Vec<_>>()).unwrap();
    assert_eq!(
        dependent.metadata().controller().map(|owner| &*owner.uid),
        Some("1")
    );
}

#[test]
fn owners_are_typed_objects_cached_objects_and_metadata_and_need_a_uid() {
    let factory = Server::new().factory();
    let (pods, sets, nodes) = (
        factory.of::<Pod>(),
        factory.of::<ReplicaSet>(),
        factory.of::<Node>(),
    );
    let owner = owner("one", "web", "1");
    sets.seed(&serde_json::to_value(&owner).unwrap()).unwrap();
    nodes
        .seed(&json!({"metadata": {"name": "n", "uid": "2"}}))
        .unwrap();
    let node = json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "2", "controller": true});
    pods.seed(&pod("one", "a", &[reference(&owner, true)])).unwrap();
    for namespace in ["one", "two"] {
        pods.seed(&pod(namespace, "checker", std::slice::from_ref(&node)))
            .unwrap();
    }
    let lister = pods.lister();
    let cached = sets
        .lister()
        .object(&NamespacedName::namespaced("one", "web"))
        .unwrap();
    assert_eq!(owned(&lister, &cached), ["one/a"]);
    assert_eq!(owned(&lister, cached.metadata()), ["one/a"]);
    // A cluster-scoped owner owns objects of all namespaces.
    let node = nodes.lister().get(&NamespacedName::cluster("n")).unwrap();
    assert_eq!(owned(&lister, &*node), ["one/checker", "two/checker"]);

    let unsaved = ReplicaSet {
        metadata: kube::core::ObjectMeta {
            uid: None,
            ..owner.metadata
        },
        ..ReplicaSet::default()
    };
    let error = lister.owned_by(&unsaved).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot look up the Pod objects that one/web owns: the owner has no uid"),
        "{error}"
    );
}
