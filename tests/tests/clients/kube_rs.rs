//! kube-rs 5: a watcher into a store, and a controller. It has no leader election.

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
use kubewright_tests::{named, on_both_servers};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::world::{World, entry};

on_both_servers!(
    store_follows_by_pages,
    store_follows_by_a_stream,
    controller_keeps_what_it_owns
);

fn store_follows_by_pages(cluster: &Cluster) {
    // Twice a list, of five objects and of five others.
    store_follows(cluster, "kube-pages", Config::default().page_size(2), 6);
}

fn store_follows_by_a_stream(cluster: &Cluster) {
    store_follows(cluster, "kube-stream", Config::default().streaming_lists(), 0);
}

fn store_follows(cluster: &Cluster, name: &str, config: Config, lists: usize) {
    let world = World::of_maps(cluster, name);
    let runtime = Runtime::new().expect("a runtime");
    let client = runtime.block_on(client(&world.reader));
    let (store, writer) = reflector::store();
    let complete = Arc::new(AtomicUsize::new(0));
    let counter = complete.clone();
    let maps = Api::<ConfigMap>::namespaced(client, &world.namespace);
    let stream = reflector(writer, watcher(maps, config)).default_backoff();
    runtime.spawn(stream.for_each(move |event| {
        if matches!(event, Ok(watcher::Event::InitDone)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        std::future::ready(())
    }));
    world.try_follower(|| {
        let maps = store.state();
        let objects = maps.iter().map(|map| serde_json::to_value(&**map).expect("JSON"));
        objects.map(|object| entry(&object)).collect()
    });
    let complete = complete.load(Ordering::Relaxed);
    assert_eq!(
        complete, 2,
        "it begins anew where the history is lost, nowhere else"
    );
    assert_eq!(world.lists(), lists);
}

/// Each ConfigMap gets a Secret with its text.
fn controller_keeps_what_it_owns(cluster: &Cluster) {
    let rights = [
        PermissionUnit::new("", "configmaps", ["list", "watch"]),
        PermissionUnit::new("", "secrets", ["list", "watch", "create", "patch"]),
    ];
    let identity = cluster.operator("kube-controller", &rights).expect("an operator");
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

    let mut map = named("v1", "ConfigMap", namespace, "one");
    let secret = named("v1", "Secret", namespace, "one");
    let has = |what: &str, encoded: &str| {
        eventually(what, Duration::from_mins(1), || {
            let found = cluster.get(&secret).expect("asked").unwrap_or_default();
            if found["data"]["text"] == encoded {
                Ok(found)
            } else {
                Err(found)
            }
        })
    };
    map["data"] = json!({ "text": "first" });
    let owner = cluster.apply(&map).expect("applied");
    let made = has("the Secret is made", "Zmlyc3Q=");
    assert_eq!(
        made["metadata"]["ownerReferences"][0]["uid"],
        owner["metadata"]["uid"]
    );
    map["data"] = json!({ "text": "second" });
    cluster.apply(&map).expect("applied");
    let changed = has("the Secret follows", "c2Vjb25k");
    cluster.delete(&secret).expect("deleted");
    let again = has("the Secret is made again", "c2Vjb25k");
    assert_ne!(changed["metadata"]["uid"], again["metadata"]["uid"]);
    cluster.delete(&map).expect("deleted");
    eventually("the Secret goes with its owner", Duration::from_mins(1), || {
        cluster.get(&secret).expect("asked").is_none()
    });
    stop.send(()).expect("it runs");
    runtime.block_on(running).expect("it ends");
    // The real one knows rights a moment after they are written.
    if cluster.control_plane().is_none() {
        let audit = cluster.audit().expect("an audit log");
        audit.assert_exact(&rights, identity.user());
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
