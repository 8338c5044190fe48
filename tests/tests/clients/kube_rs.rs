//! kube-rs 5: a watcher that fills a store, and a controller. kube-rs has no leader election.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{Patch, PatchParams},
    runtime::{
        Controller, WatchStreamExt as _,
        controller::Action,
        reflector,
        watcher::{self, Config, watcher},
    },
};
use kubewright_testkit::{Cluster, Identity, PermissionUnit, eventually};
use kubewright_tests::{new_object, on_both_servers};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::followed_kind::{FollowedKind, entry, lock_history};

on_both_servers!(
    store_follows_with_paged_lists,
    store_follows_with_streaming_lists,
    controller_restores_owned_objects
);

fn store_follows_with_paged_lists(cluster: &Cluster) {
    // Two lists of five objects, in pages of two: three requests each.
    store_follows(cluster, "kube-pages", Config::default().page_size(2), 6);
}

fn store_follows_with_streaming_lists(cluster: &Cluster) {
    store_follows(cluster, "kube-stream", Config::default().streaming_lists(), 0);
}

fn store_follows(cluster: &Cluster, name: &str, config: Config, lists: usize) {
    let _history = lock_history();
    let followed = FollowedKind::config_maps(cluster, name);
    let runtime = Runtime::new().expect("a runtime");
    let client = runtime.block_on(client(&followed.reader));
    let (store, writer) = reflector::store();
    let initial_lists = Arc::new(AtomicUsize::new(0));
    let counter = initial_lists.clone();
    let maps = Api::<ConfigMap>::namespaced(client, &followed.namespace);
    let stream = reflector(writer, watcher(maps, config)).default_backoff();
    runtime.spawn(stream.for_each(move |event| {
        if matches!(event, Ok(watcher::Event::InitDone)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        std::future::ready(())
    }));
    followed.check_follower(|| {
        let maps = store.state();
        let objects = maps.iter().map(|map| serde_json::to_value(&**map).expect("JSON"));
        objects.map(|object| entry(&object)).collect()
    });
    let initial_lists = initial_lists.load(Ordering::Relaxed);
    assert_eq!(
        initial_lists, 2,
        "the watcher must relist once, after the lost history"
    );
    assert_eq!(followed.lists(), lists);
}

/// The controller creates for each ConfigMap a Secret with the same text.
fn controller_restores_owned_objects(cluster: &Cluster) {
    let permissions = [
        PermissionUnit::new("", "configmaps", ["list", "watch"]),
        PermissionUnit::new("", "secrets", ["list", "watch", "create", "patch"]),
    ];
    let identity = cluster
        .operator("kube-controller", &permissions)
        .expect("an operator");
    let namespace = "kube-controller-system";
    let runtime = Runtime::new().expect("a runtime");
    let client = runtime.block_on(client(&identity));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(
        Controller::new(
            Api::<ConfigMap>::namespaced(client.clone(), namespace),
            Config::default(),
        )
        .owns(
            Api::<Secret>::namespaced(client.clone(), namespace),
            Config::default(),
        )
        .graceful_shutdown_on(async {
            let _ = stopped.await;
        })
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_secs(1)),
            Arc::new(client),
        )
        .for_each(|_| std::future::ready(())),
    );

    let mut map = new_object("v1", "ConfigMap", namespace, "one");
    let secret = new_object("v1", "Secret", namespace, "one");
    let has = |what: &str, encoded: &str| {
        eventually(what, Duration::from_mins(1), || {
            let found = cluster
                .get(&secret)
                .expect("the request succeeds")
                .unwrap_or_default();
            if found["data"]["text"] == encoded {
                Ok(found)
            } else {
                Err(found)
            }
        })
    };
    map["data"] = json!({ "text": "first" });
    let owner = cluster.apply(&map).expect("the ConfigMap is applied");
    let created = has("the Secret is created", "Zmlyc3Q=");
    assert_eq!(
        created["metadata"]["ownerReferences"][0]["uid"],
        owner["metadata"]["uid"]
    );
    map["data"] = json!({ "text": "second" });
    cluster.apply(&map).expect("the ConfigMap is applied");
    let changed = has("the Secret is updated", "c2Vjb25k");
    cluster.delete(&secret).expect("the object is deleted");
    let recreated = has("the Secret is recreated", "c2Vjb25k");
    assert_ne!(changed["metadata"]["uid"], recreated["metadata"]["uid"]);
    cluster.delete(&map).expect("the object is deleted");
    eventually(
        "the Secret is deleted with its owner",
        Duration::from_mins(1),
        || cluster.get(&secret).expect("the request succeeds").is_none(),
    );
    stop.send(()).expect("the controller runs");
    runtime.block_on(running).expect("the controller stops");
    // The real API server applies new RBAC rules after a short delay, so first requests may be forbidden.
    if cluster.control_plane().is_none() {
        let audit = cluster.audit().expect("an audit log");
        audit.assert_exact(&permissions, identity.user());
    }
}

async fn reconcile(map: Arc<ConfigMap>, client: Arc<Client>) -> Result<Action, kube::Error> {
    if map.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let namespace = map.namespace().unwrap_or_default();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": map.data,
        "metadata": { "name": map.name_any(), "ownerReferences": [map.controller_owner_ref(&())] },
    });
    let secrets = Api::<Secret>::namespaced(Client::clone(&client), &namespace);
    let manager = PatchParams::apply("kube-controller").force();
    secrets
        .patch(&map.name_any(), &manager, &Patch::Apply(&secret))
        .await?;
    Ok(Action::await_change())
}

async fn client(identity: &Identity) -> Client {
    let config = identity.config().await.expect("a configuration");
    Client::try_from(config).expect("a client")
}
