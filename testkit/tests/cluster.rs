//! The same on the embedded API server and, where it is asked for, on the real one.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use http::Request;
use http_body_util::BodyExt as _;
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
        Self::with(cluster, &rights()).await
    }

    /// They may at least list and create.
    async fn with(cluster: &Cluster, rights: &[Unit]) -> Self {
        let identity = cluster.operator("somebody", rights).unwrap();
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

    async fn get(&self, path: &str) -> Result<Value, u16> {
        self.send(Request::get(path).body(vec![])).await
    }

    /// A watch of what comes from now on.
    async fn watch(&self) -> Said {
        let list = self.list().await.unwrap();
        self.watch_after(&list).await.unwrap()
    }

    /// A watch of what came after that object or list; an error for no answer.
    async fn watch_after(&self, seen: &Value) -> Result<Said, kube::Error> {
        use futures::{AsyncBufReadExt as _, StreamExt as _};
        let version = seen["metadata"]["resourceVersion"].as_str().unwrap();
        let path = format!("{MAPS}?watch=true&resourceVersion={version}");
        let request = Request::get(path).body(vec![]).unwrap();
        let mut lines = self.client.request_stream(request).await?.lines();
        let said = Said::default();
        let names = said.clone();
        tokio::spawn(async move {
            while let Some(line) = lines.next().await {
                let Ok(line) = line else {
                    return names.lock().await.push(Some(BROKEN.to_owned()));
                };
                let event: Value = serde_json::from_str(&line).unwrap();
                let name = event["object"]["metadata"]["name"].as_str().map(str::to_owned);
                names.lock().await.push(name);
            }
            names.lock().await.push(None);
        });
        Ok(said)
    }
}

/// Stands for the end of a watch that the client takes for an error.
const BROKEN: &str = "(broken)";

/// The names that a watch has told of so far; None at its end.
type Said = Arc<Mutex<Vec<Option<String>>>>;

/// Waits until a watch has told of these, where the empty name is its end.
async fn tells(said: &Said, wanted: &[&str]) {
    until(&format!("the watch says {wanted:?}"), || async {
        let names = said.lock().await.clone();
        let names: Vec<&str> = names
            .iter()
            .map(|name| name.as_deref().unwrap_or_default())
            .collect();
        if names == wanted {
            Ok(())
        } else {
            Err(format!("{names:?}"))
        }
    })
    .await;
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
    somebody.create("one").await.unwrap();
    tells(&said, &["one"]).await;

    faults.hold(watches.clone());
    somebody.create("two").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(*said.lock().await, [Some("one".to_owned())], "held back");
    faults.release(&watches);
    tells(&said, &["one", "two"]).await;

    faults.lose(watches.clone());
    somebody.create("three").await.unwrap();
    // Time for the event to come, and get lost.
    tokio::time::sleep(Duration::from_millis(300)).await;
    faults.release(&watches);
    somebody.create("four").await.unwrap();
    tells(&said, &["one", "two", "four"]).await;

    assert_eq!(faults.close(&watches), 1);
    tells(&said, &["one", "two", "four", ""]).await;
    assert_eq!(faults.close(&watches), 0, "all have ended");
}

async fn the_history_expires(cluster: Cluster) {
    let faults = cluster.faults();
    let somebody = Somebody::new(&cluster).await;
    let watches = Matching::watch("configmaps").by(&somebody.user);
    for name in ["one", "two"] {
        somebody.create(name).await.unwrap();
    }
    let page = somebody.get(&format!("{MAPS}?limit=1")).await.unwrap();
    let open = somebody.watch().await;
    // Nothing happens after this: even the newest version expires.
    let seen = somebody.list().await.unwrap();
    let version = |list: &Value| list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let after = |list: &Value, more: &str| format!("{MAPS}?resourceVersion={}{more}", version(list));
    let token = page["metadata"]["continue"].as_str().unwrap();
    let of_the_past = [
        format!("{MAPS}?limit=1&continue={token}"),
        after(&seen, "&resourceVersionMatch=Exact"),
        after(&page, "&limit=1"),
    ];
    for path in &of_the_past {
        assert!(somebody.get(path).await.is_ok(), "{path}");
    }

    // No watch is open that matches: a client between two tries.
    assert_eq!(cluster.expire(&watches.clone().by("nobody")).unwrap(), 0);
    for path in &of_the_past {
        assert_eq!(somebody.get(path).await.unwrap_err(), 410, "{path}");
    }
    // As often as it is asked.
    for _ in 0..2 {
        let watch = after(&seen, "&watch=true&timeoutSeconds=1");
        let event = somebody.get(&watch).await.unwrap();
        assert_eq!(
            (
                &event["type"],
                &event["object"]["code"],
                &event["object"]["reason"]
            ),
            (&json!("ERROR"), &json!(410), &json!("Expired"))
        );
    }
    // Who lists anew goes on, and so does who had not to come back.
    assert!(somebody.get(&after(&seen, "")).await.is_ok(), "at least that");
    let again = somebody.list().await.unwrap();
    let again = somebody.watch_after(&again).await.unwrap();
    somebody.create("three").await.unwrap();
    tells(&again, &["three"]).await;
    tells(&open, &["three"]).await;

    faults.hold(watches.clone());
    somebody.create("four").await.unwrap();
    assert_eq!(cluster.expire(&watches).unwrap(), 2);
    faults.release(&watches);
    for said in [&open, &again] {
        tells(said, &["three", ""]).await;
    }
}

/// What the server does every half hour: a client goes on where it was, and misses nothing.
async fn a_closed_watch_goes_on(cluster: Cluster) {
    let faults = cluster.faults();
    let somebody = Somebody::new(&cluster).await;
    let watches = Matching::watch("configmaps").by(&somebody.user);
    assert_eq!(faults.close(&watches), 0, "none is open");
    let said = somebody.watch().await;
    let one = somebody.create("one").await.unwrap();
    tells(&said, &["one"]).await;
    assert_eq!(faults.close(&watches.clone().within("other")), 0);
    assert_eq!(faults.close(&watches), 1);
    tells(&said, &["one", ""]).await;
    assert_eq!(faults.close(&watches), 0, "it is closed");

    somebody.create("two").await.unwrap();
    let said = somebody.watch_after(&one).await.unwrap();
    somebody.create("three").await.unwrap();
    tells(&said, &["two", "three"]).await;
}

/// What a lost connection does: the client is told of an error, and goes on where it was.
async fn a_watch_breaks_in_the_middle(cluster: Cluster) {
    let faults = cluster.faults();
    let somebody = Somebody::new(&cluster).await;
    let watches = Matching::watch("configmaps").by(&somebody.user);
    assert_eq!(faults.cut(&watches), 0, "none is open");
    let said = somebody.watch().await;
    let one = somebody.create("one").await.unwrap();
    tells(&said, &["one"]).await;
    assert_eq!(faults.cut(&watches.clone().by("other")), 0);
    // Held back, so that there is something that the break takes along.
    faults.hold(watches.clone());
    somebody.create("two").await.unwrap();
    assert_eq!(faults.cut(&watches), 1);
    tells(&said, &["one", BROKEN]).await;
    assert_eq!(faults.cut(&watches), 0, "it is gone");
    faults.release(&watches);

    let said = somebody.watch_after(&one).await.unwrap();
    somebody.create("three").await.unwrap();
    tells(&said, &["two", "three"]).await;
}

async fn watches_to_come_are_held_lost_and_broken(cluster: Cluster) {
    let faults = cluster.faults();
    let somebody = Somebody::new(&cluster).await;
    let watches = Matching::watch("configmaps").by(&somebody.user);
    let start = somebody.list().await.unwrap();
    somebody.create("one").await.unwrap();
    faults.hold(watches.clone());
    let held = somebody.watch_after(&start).await.unwrap();
    // Without the fault the events of the past come at once.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(*held.lock().await, [], "held back");
    faults.release(&watches);
    tells(&held, &["one"]).await;

    faults.lose(watches.clone());
    let lost = somebody.watch_after(&start).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    faults.release(&watches);
    somebody.create("two").await.unwrap();
    tells(&lost, &["two"]).await;
    tells(&held, &["one", "two"]).await;

    for fault in [Fault::BreakBefore, Fault::BreakAfter] {
        let broken = faults.once(watches.clone(), fault.clone());
        let refused = somebody.watch_after(&start).await;
        assert!(
            refused.is_err_and(|error| !matches!(error, kube::Error::Api(_))),
            "{fault:?}: no answer"
        );
        assert_eq!(broken.hits(), 1);
    }
    let said = somebody.watch_after(&start).await.unwrap();
    tells(&said, &["one", "two"]).await;
}

async fn a_429_says_when_to_come_again(cluster: Cluster) {
    let somebody = Somebody::new(&cluster).await;
    let lists = Matching::verb("list").on("configmaps").by(&somebody.user);
    let _ = cluster
        .faults()
        .once(lists, Fault::Answer(Failure::too_many_requests(7)));
    let request = Request::get(MAPS).body(kube::client::Body::empty()).unwrap();
    let answer = somebody.client.send(request).await.unwrap();
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["retry-after"], "7");
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&status["kind"], &status["reason"], &status["details"]),
        (
            &json!("Status"),
            &json!("TooManyRequests"),
            &json!({ "retryAfterSeconds": 7 })
        )
    );
}

async fn names_namespaces_and_groups_are_told_apart(cluster: Cluster) {
    let somebody = Somebody::with(
        &cluster,
        &[
            Unit::new("", "configmaps", ["list", "create", "get"]),
            Unit::new("", "events", ["list"]),
            Unit::new("events.k8s.io", "events", ["list"]),
        ],
    )
    .await;
    for name in ["a", "b"] {
        somebody.create(name).await.unwrap();
    }
    let fails = async |matching: Matching, meant: &str, other: &str| {
        let added = cluster
            .faults()
            .always(matching.by(&somebody.user), Fault::Answer(Failure::internal()));
        assert_eq!(somebody.get(meant).await, Err(500), "{meant}");
        assert!(somebody.get(other).await.is_ok(), "{other}");
        assert_eq!(added.hits(), 1);
        added.remove();
    };
    let maps = || Matching::any().on("configmaps");
    let (a, b) = (format!("{MAPS}/a"), format!("{MAPS}/b"));
    fails(maps().named("a"), &a, &b).await;
    fails(maps().named("b").with_verb("get"), &b, &a).await;
    let elsewhere = "/api/v1/namespaces/somebody-system/configmaps";
    fails(maps().within("somebody-system"), elsewhere, MAPS).await;
    fails(maps().within("default"), MAPS, elsewhere).await;

    let core = "/api/v1/namespaces/default/events";
    let events = "/apis/events.k8s.io/v1/namespaces/default/events";
    fails(
        Matching::verb("list").on("events").of("events.k8s.io"),
        events,
        core,
    )
    .await;
    fails(Matching::verb("list").on("events").of(""), core, events).await;
}

/// As whom a request acts counts, by whatever token it comes.
async fn users_are_told_apart(cluster: Cluster) {
    let somebody = Somebody::new(&cluster).await;
    let rights = [
        Unit::new("", "serviceaccounts", ["impersonate"]),
        Unit::new("", "serviceaccounts/token", ["create"]),
    ];
    let bearer = cluster.operator("bearer", &rights).unwrap();
    let config = bearer.config().await.unwrap();
    let client = |token: &str| {
        let mut config = config.clone();
        config.default_retry = false;
        config.auth_info = kube::config::AuthInfo::default();
        config.auth_info.token = Some(token.to_owned().into());
        kube::Client::try_from(config).unwrap()
    };
    let own = client(bearer.token());
    let of_somebody = "/api/v1/namespaces/somebody-system/serviceaccounts/somebody/token";
    let minted = until("a token is minted", || async {
        let request = Request::post(of_somebody).header("Content-Type", "application/json");
        let request = request.body(json!({ "spec": {} }).to_string().into_bytes());
        own.request::<Value>(request.unwrap()).await
    })
    .await;
    let minted = client(minted["status"]["token"].as_str().unwrap());
    let code = async |client: &kube::Client, acting: Option<&str>| {
        let mut request = Request::get(MAPS);
        if let Some(user) = acting {
            request = request.header("Impersonate-User", user);
        }
        match client.request::<Value>(request.body(vec![]).unwrap()).await {
            Ok(_) => 200,
            Err(kube::Error::Api(status)) => status.code,
            Err(error) => panic!("{error}"),
        }
    };
    let user = somebody.user.as_str();
    until("impersonation is allowed", || async {
        (code(&own, Some(user)).await == 200).then_some(())
    })
    .await;
    let faults = cluster.faults();
    let fails = faults.always(Matching::any().by(user), Fault::Answer(Failure::internal()));
    assert_eq!(
        code(&minted, None).await,
        500,
        "a token that the test did not hand out"
    );
    assert_eq!(code(&own, Some(user)).await, 500, "somebody acts as the user");
    assert_eq!(code(&own, None).await, 403, "and is another without that");
    assert_eq!(code(&own, Some("system:anonymous")).await, 403);
    assert_eq!(fails.hits(), 2);
    fails.remove();
    let other = faults.always(
        Matching::any().by(bearer.user()),
        Fault::Answer(Failure::internal()),
    );
    assert_eq!(code(&own, Some(user)).await, 200);
    assert_eq!(code(&own, None).await, 500);
    assert_eq!(other.hits(), 1);
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
    watches_are_held_lost_and_closed: watches_do_as_they_are_told;
    an_expired_history_is_410: the_history_expires;
    watches_are_closed_and_go_on: a_closed_watch_goes_on;
    watches_break_in_the_middle: a_watch_breaks_in_the_middle;
    watches_to_come_do_as_they_are_told: watches_to_come_are_held_lost_and_broken;
    retry_after_is_said_twice: a_429_says_when_to_come_again;
    users_are_those_who_act: users_are_told_apart;
    faults_meet_whom_they_are_for: names_namespaces_and_groups_are_told_apart;
}
