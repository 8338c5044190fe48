//! The same on the embedded API server and, where it is asked for, on the real one.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use http::Request;
use kubewright_testkit::{Cluster, ControlPlane, Failure, Fault, Matching, Unit, until};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn real() -> Cluster {
    let builder = ControlPlane::builder().controller_manager(&["garbage-collector-controller"]);
    Cluster::start_real(builder).unwrap()
}

fn rights() -> [Unit; 2] {
    [
        Unit::new("", "configmaps", ["list", "watch"]),
        Unit::new("", "configmaps", ["create", "update"]),
    ]
}

/// Somebody with those rights, and a client of theirs.
struct Somebody {
    user: String,
    client: kube::Client,
}

impl Somebody {
    async fn new(cluster: &Cluster) -> Self {
        let identity = cluster.operator("somebody", &rights()).unwrap();
        let mut config = identity.config().await.unwrap();
        config.default_retry = false;
        let client = kube::Client::try_from(config).unwrap();
        let somebody = Self {
            user: identity.user().to_owned(),
            client,
        };
        // On the real one rights are known a moment after they are written.
        until("the rights are known", || async {
            somebody.list().await.is_ok() && somebody.create("probe").await != Err(403)
        })
        .await;
        somebody
    }

    async fn list(&self) -> Result<Value, u16> {
        self.send(Request::get(MAPS).body(vec![])).await
    }

    async fn create(&self, name: &str) -> Result<Value, u16> {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        let request = Request::post(MAPS).header("Content-Type", "application/json");
        self.send(request.body(map.to_string().into_bytes())).await
    }

    /// The object, or the code; 0 for no answer.
    async fn send(&self, request: Result<Request<Vec<u8>>, http::Error>) -> Result<Value, u16> {
        match self.client.request::<Value>(request.unwrap()).await {
            Ok(object) => Ok(object),
            Err(kube::Error::Api(status)) => Err(status.code),
            Err(_) => Err(0),
        }
    }

    /// The names that a watch has told of so far; None at its end.
    async fn watch(&self) -> Arc<Mutex<Vec<Option<String>>>> {
        use futures::{AsyncBufReadExt as _, StreamExt as _};
        let version = self.list().await.unwrap()["metadata"]["resourceVersion"].clone();
        let path = format!("{MAPS}?watch=true&resourceVersion={}", version.as_str().unwrap());
        let request = Request::get(path).body(vec![]).unwrap();
        let mut lines = self.client.request_stream(request).await.unwrap().lines();
        let said = Arc::new(Mutex::new(vec![]));
        let names = said.clone();
        tokio::spawn(async move {
            while let Some(Ok(line)) = lines.next().await {
                let event: Value = serde_json::from_str(&line).unwrap();
                let name = event["object"]["metadata"]["name"].as_str().map(str::to_owned);
                names.lock().await.push(name);
            }
            names.lock().await.push(None);
        });
        said
    }
}

async fn rights_are_exact(cluster: Cluster) {
    let rights = rights();
    let identity = cluster.operator("op", &rights).unwrap();
    let client = kube::Client::try_from(identity.config().await.unwrap()).unwrap();
    let get = |path: &str| Request::get(path).body(vec![]).unwrap();
    until("the rights are known", || async {
        client.request::<Value>(get(MAPS)).await.is_ok()
    })
    .await;
    let found = cluster.audit().unwrap();
    let unused = found.unused_units(&rights, identity.user());
    assert_eq!(unused, [&rights[1]], "the second was granted in vain so far");
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    let create = Request::post(MAPS).header("Content-Type", "application/json");
    let create = create.body(map.to_string().into_bytes()).unwrap();
    client.request::<Value>(create).await.unwrap();
    let forbidden = cluster
        .audit()
        .unwrap()
        .by_user(identity.user())
        .forbidden()
        .len();
    if cluster.real().is_none() {
        // The real one learns of rights a moment after they are written.
        assert_eq!(forbidden, 0);
        cluster.audit().unwrap().assert_exact(&rights, identity.user());
    }
    client
        .request::<Value>(get("/api/v1/namespaces/default/secrets"))
        .await
        .unwrap_err();
    let mismatch = cluster.audit().unwrap().check_exact(&rights, identity.user());
    let mismatch = mismatch.unwrap_err().to_string();
    assert!(mismatch.contains("list core secrets default: 403 "), "{mismatch}");
}

/// A blocking owner reference is refused without the right to update finalizers, and uses it.
async fn owning_uses_the_right_to_finalizers(cluster: Cluster) {
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let owner = cluster.apply(&map("owner")).unwrap();
    let mut child = map("owned");
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    let rights = [
        Unit::new("", "configmaps", ["create"]),
        Unit::new("", "configmaps/finalizers", ["update"]),
    ];
    let identity = cluster.operator("keeper", &rights).unwrap();
    let client = kube::Client::try_from(identity.config().await.unwrap()).unwrap();
    until("the child object is created", || async {
        let request = Request::post(MAPS).header("Content-Type", "application/json");
        let request = request.body(child.to_string().into_bytes()).unwrap();
        client.request::<Value>(request).await
    })
    .await;
    let audit = cluster.audit().unwrap();
    assert_eq!(audit.unused_units(&rights, identity.user()), Vec::<&Unit>::new());
    // And garbage is collected.
    cluster.delete(&owner).unwrap();
    until("the child object goes with its owner", || async {
        cluster.get(&child).unwrap().is_none()
    })
    .await;
}

async fn requests_fail_as_they_are_told(cluster: Cluster) {
    let faults = cluster.faults();
    let somebody = Somebody::new(&cluster).await;
    let list = || Matching::verb("list").on("configmaps").by(&somebody.user);
    for failure in [
        (Failure::conflict(), 409),
        (Failure::too_many_requests(1), 429),
        (Failure::internal(), 500),
        (Failure::unavailable(), 503),
    ] {
        let added = faults.once(list(), Fault::Answer(failure.0));
        assert_eq!(somebody.list().await.unwrap_err(), failure.1);
        assert_eq!(added.hits(), 1);
        assert!(somebody.list().await.is_ok(), "once is once");
    }
    let create = || Matching::verb("create").on("configmaps").by(&somebody.user);
    let _ = faults.once(create(), Fault::BreakBefore);
    assert_eq!(somebody.create("before").await.unwrap_err(), 0);
    assert!(somebody.create("before").await.is_ok(), "it took no effect");
    let _ = faults.once(create(), Fault::BreakAfter);
    assert_eq!(somebody.create("after").await.unwrap_err(), 0);
    assert_eq!(somebody.create("after").await.unwrap_err(), 409, "it took effect");

    let delay = Duration::from_millis(200);
    let slow = faults.always(list(), Fault::Delay(delay));
    let start = Instant::now();
    assert!(somebody.list().await.is_ok() && start.elapsed() >= delay);
    slow.remove();
    let other = faults.always(list().by("other"), Fault::BreakBefore);
    assert!(somebody.list().await.is_ok());
    assert_eq!(other.hits(), 0);

    let choices = |seed: u64| {
        let somebody = &somebody;
        let added = faults.sometimes(0.5, seed, list(), Fault::Answer(Failure::internal()));
        async move {
            let mut choices = vec![];
            for _ in 0..16 {
                choices.push(somebody.list().await.is_ok());
            }
            added.remove();
            choices
        }
    };
    let (one, again, another) = (choices(1).await, choices(1).await, choices(2).await);
    assert_eq!(one, again, "the seed decides");
    assert!(one != another && one.contains(&true) && one.contains(&false));
}

async fn watches_do_as_they_are_told(cluster: Cluster) {
    let faults = cluster.faults();
    let somebody = Somebody::new(&cluster).await;
    let watches = Matching::watch("configmaps").by(&somebody.user);
    let said = somebody.watch().await;
    let names = || async { said.lock().await.clone() };
    let name = |name: &str| Some(name.to_owned());
    let tells = |wanted: Vec<Option<String>>| async move {
        let what = format!("the watch says {wanted:?}");
        until(&what, || async {
            let names = names().await;
            if names == wanted {
                Ok(())
            } else {
                Err(format!("{names:?}"))
            }
        })
        .await;
    };
    somebody.create("one").await.unwrap();
    tells(vec![name("one")]).await;

    faults.hold(watches.clone());
    somebody.create("two").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(names().await, [name("one")], "held back");
    faults.release(&watches);
    tells(vec![name("one"), name("two")]).await;

    faults.lose(watches.clone());
    somebody.create("three").await.unwrap();
    // Time for the event to come, and get lost.
    tokio::time::sleep(Duration::from_millis(300)).await;
    faults.release(&watches);
    somebody.create("four").await.unwrap();
    tells(vec![name("one"), name("two"), name("four")]).await;

    assert_eq!(faults.expire(&watches), 1);
    tells(vec![name("one"), name("two"), name("four"), None]).await;
    let version = somebody.list().await.unwrap()["metadata"]["resourceVersion"].clone();
    let path = format!(
        "{MAPS}?watch=true&timeoutSeconds=1&resourceVersion={}",
        version.as_str().unwrap()
    );
    let again = || {
        somebody
            .client
            .request_text(Request::get(&path).body(vec![]).unwrap())
    };
    let refused = again().await.unwrap_err();
    assert!(
        matches!(&refused, kube::Error::Api(status) if status.code == 410),
        "{refused}"
    );
    again().await.unwrap();
    assert_eq!(faults.close(&watches), 0, "all have ended");
}

macro_rules! on_both {
    ($($name:ident: $story:ident;)*) => {
        $(#[tokio::test]
        async fn $name() {
            $story(Cluster::embedded().unwrap()).await;
        })*
        mod on_the_real_one {
            use super::*;
            $(#[tokio::test]
            #[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
            async fn $name() {
                $story(real()).await;
            })*
        }
    };
}

on_both! {
    audit_finds_what_is_forbidden_and_what_is_granted_in_vain: rights_are_exact;
    owners_are_guarded_and_garbage_is_collected: owning_uses_the_right_to_finalizers;
    requests_fail_wait_and_get_lost: requests_fail_as_they_are_told;
    watches_are_held_lost_closed_and_expired: watches_do_as_they_are_told;
}
