//! Tests of `Cluster`, on the embedded API server and (ignored by default) on a real one.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use http::Request;
use http_body_util::BodyExt as _;
use kubewright_testkit::{Cluster, ControlPlane, Failure, Fault, PermissionUnit, RequestMatcher, until};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn start_real() -> Cluster {
    let builder = ControlPlane::builder().controller_manager(&["garbage-collector-controller"]);
    Cluster::start_real(builder).unwrap()
}

fn permissions() -> [PermissionUnit; 2] {
    [
        PermissionUnit::new("", "configmaps", ["list", "watch"]),
        PermissionUnit::new("", "configmaps", ["create", "update"]),
    ]
}

/// A client with its own service account.
struct TestClient {
    user: String,
    client: kube::Client,
}

impl TestClient {
    async fn new(cluster: &Cluster) -> Self {
        Self::with(cluster, &permissions()).await
    }

    /// Creates a client with these permissions, which must include list and create.
    async fn with(cluster: &Cluster, permissions: &[PermissionUnit]) -> Self {
        let identity = cluster.operator("tester", permissions).unwrap();
        let mut config = identity.config().await.unwrap();
        config.default_retry = false;
        let client = kube::Client::try_from(config).unwrap();
        let client = Self {
            user: identity.user().to_owned(),
            client,
        };
        // A real API server applies new permissions with a short delay.
        until("the permissions are effective", || async {
            client.list().await.is_ok() && client.create("probe").await != Err(403)
        })
        .await;
        client
    }

    async fn list(&self) -> Result<Value, u16> {
        self.send(Request::get(CONFIG_MAPS).body(vec![])).await
    }

    async fn create(&self, name: &str) -> Result<Value, u16> {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        let request = Request::post(CONFIG_MAPS).header("Content-Type", "application/json");
        self.send(request.body(map.to_string().into_bytes())).await
    }

    /// Returns the object, or the status code; 0 without a response.
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

    /// Watches from now on.
    async fn watch(&self) -> ReceivedNames {
        let list = self.list().await.unwrap();
        self.watch_after(&list).await.unwrap()
    }

    /// Watches from the version of an object or list; an error without a response.
    async fn watch_after(&self, seen: &Value) -> Result<ReceivedNames, kube::Error> {
        use futures::{AsyncBufReadExt as _, StreamExt as _};
        let version = seen["metadata"]["resourceVersion"].as_str().unwrap();
        let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}");
        let request = Request::get(path).body(vec![]).unwrap();
        let mut lines = self.client.request_stream(request).await?.lines();
        let received = ReceivedNames::default();
        let names = received.clone();
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
        Ok(received)
    }
}

/// Recorded when the connection of a watch breaks.
const BROKEN: &str = "(broken)";

/// The object names of the events of a watch so far; none for its end.
type ReceivedNames = Arc<Mutex<Vec<Option<String>>>>;

/// Waits until a watch has received these names; the empty name is its end.
async fn expect_names(received: &ReceivedNames, expected: &[&str]) {
    until(&format!("the watch has received {expected:?}"), || async {
        let names = received.lock().await.clone();
        let names: Vec<&str> = names
            .iter()
            .map(|name| name.as_deref().unwrap_or_default())
            .collect();
        if names == expected {
            Ok(())
        } else {
            Err(format!("{names:?}"))
        }
    })
    .await;
}

async fn check_exact_permissions(cluster: Cluster) {
    let permissions = permissions();
    let identity = cluster.operator("op", &permissions).unwrap();
    let client = kube::Client::try_from(identity.config().await.unwrap()).unwrap();
    let get = |path: &str| Request::get(path).body(vec![]).unwrap();
    until("the permissions are effective", || async {
        client.request::<Value>(get(CONFIG_MAPS)).await.is_ok()
    })
    .await;
    let found = cluster.audit().unwrap();
    let unused = found.unused_units(&permissions, identity.user());
    assert_eq!(unused, [&permissions[1]], "the second is unused so far");
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    let create = Request::post(CONFIG_MAPS).header("Content-Type", "application/json");
    let create = create.body(map.to_string().into_bytes()).unwrap();
    client.request::<Value>(create).await.unwrap();
    let forbidden = cluster
        .audit()
        .unwrap()
        .by_user(identity.user())
        .forbidden()
        .len();
    if cluster.control_plane().is_none() {
        // A real API server applies new permissions with a short delay.
        assert_eq!(forbidden, 0);
        cluster.assert_exact_permissions(&identity).await;
    }
    client
        .request::<Value>(get("/api/v1/namespaces/default/secrets"))
        .await
        .unwrap_err();
    let mismatch = cluster
        .audit()
        .unwrap()
        .check_exact(&permissions, identity.user());
    let mismatch = mismatch.unwrap_err().to_string();
    assert!(mismatch.contains("list core secrets default: 403 "), "{mismatch}");
}

/// A blocking owner reference requires, and uses, the permission to update finalizers.
async fn check_finalizers_permission(cluster: Cluster) {
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let owner = cluster.apply(&map("owner")).unwrap();
    let mut child = map("owned");
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    }]);
    let permissions = [
        PermissionUnit::new("", "configmaps", ["create"]),
        PermissionUnit::new("", "configmaps/finalizers", ["update"]),
    ];
    let identity = cluster.operator("keeper", &permissions).unwrap();
    let client = kube::Client::try_from(identity.config().await.unwrap()).unwrap();
    until("the child object is created", || async {
        let request = Request::post(CONFIG_MAPS).header("Content-Type", "application/json");
        let request = request.body(child.to_string().into_bytes()).unwrap();
        client.request::<Value>(request).await
    })
    .await;
    let audit = cluster.audit().unwrap();
    assert_eq!(
        audit.unused_units(&permissions, identity.user()),
        Vec::<&PermissionUnit>::new()
    );
    // The dependent is garbage collected.
    cluster.delete(&owner).unwrap();
    until("the dependent is collected", || async {
        cluster.get(&child).unwrap().is_none()
    })
    .await;
}

async fn check_request_faults(cluster: Cluster) {
    let faults = cluster.faults();
    let client = TestClient::new(&cluster).await;
    let list = || {
        RequestMatcher::verb("list")
            .resource("configmaps")
            .user(&client.user)
    };
    for failure in [
        (Failure::conflict(), 409),
        (Failure::too_many_requests(1), 429),
        (Failure::internal(), 500),
        (Failure::unavailable(), 503),
    ] {
        let fault = faults.once(list(), Fault::Respond(failure.0));
        assert_eq!(client.list().await.unwrap_err(), failure.1);
        assert_eq!(fault.hits(), 1);
        assert!(client.list().await.is_ok(), "the fault applies once");
    }
    let create = || {
        RequestMatcher::verb("create")
            .resource("configmaps")
            .user(&client.user)
    };
    let _ = faults.once(create(), Fault::DropRequest);
    assert_eq!(client.create("before").await.unwrap_err(), 0);
    assert!(client.create("before").await.is_ok(), "the request had no effect");
    let _ = faults.once(create(), Fault::DropResponse);
    assert_eq!(client.create("after").await.unwrap_err(), 0);
    assert_eq!(
        client.create("after").await.unwrap_err(),
        409,
        "the request had an effect"
    );

    let delay = Duration::from_millis(200);
    let slow = faults.always(list(), Fault::Delay(delay));
    let start = Instant::now();
    assert!(client.list().await.is_ok() && start.elapsed() >= delay);
    slow.remove();
    let other = faults.always(list().user("other"), Fault::DropRequest);
    assert!(client.list().await.is_ok());
    assert_eq!(other.hits(), 0);

    let choices = |seed: u64| {
        let client = &client;
        let fault = faults.with_probability(0.5, seed, list(), Fault::Respond(Failure::internal()));
        async move {
            let mut choices = vec![];
            for _ in 0..16 {
                choices.push(client.list().await.is_ok());
            }
            fault.remove();
            choices
        }
    };
    let (one, relisted, another) = (choices(1).await, choices(1).await, choices(2).await);
    assert_eq!(one, relisted, "the same seed selects the same requests");
    assert!(one != another && one.contains(&true) && one.contains(&false));
}

async fn check_watch_faults(cluster: Cluster) {
    let faults = cluster.faults();
    let client = TestClient::new(&cluster).await;
    let watches = RequestMatcher::watch("configmaps").user(&client.user);
    let received = client.watch().await;
    client.create("one").await.unwrap();
    expect_names(&received, &["one"]).await;

    faults.hold_events(watches.clone());
    client.create("two").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(
        *received.lock().await,
        [Some("one".to_owned())],
        "events are held back"
    );
    faults.release_events(&watches);
    expect_names(&received, &["one", "two"]).await;

    faults.drop_events(watches.clone());
    client.create("three").await.unwrap();
    // Wait until the event has been sent, and dropped.
    tokio::time::sleep(Duration::from_millis(300)).await;
    faults.release_events(&watches);
    client.create("four").await.unwrap();
    expect_names(&received, &["one", "two", "four"]).await;

    assert_eq!(faults.close_watches(&watches), 1);
    expect_names(&received, &["one", "two", "four", ""]).await;
    assert_eq!(faults.close_watches(&watches), 0, "all watches are closed");
}

async fn check_expired_history(cluster: Cluster) {
    let faults = cluster.faults();
    let client = TestClient::new(&cluster).await;
    let watches = RequestMatcher::watch("configmaps").user(&client.user);
    for name in ["one", "two"] {
        client.create(name).await.unwrap();
    }
    let page = client.get(&format!("{CONFIG_MAPS}?limit=1")).await.unwrap();
    let open = client.watch().await;
    // No writes after this: even the newest version expires.
    let seen = client.list().await.unwrap();
    let version = |list: &Value| list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let after = |list: &Value, more: &str| format!("{CONFIG_MAPS}?resourceVersion={}{more}", version(list));
    let token = page["metadata"]["continue"].as_str().unwrap();
    let old_versions = [
        format!("{CONFIG_MAPS}?limit=1&continue={token}"),
        after(&seen, "&resourceVersionMatch=Exact"),
        after(&page, "&limit=1"),
    ];
    for path in &old_versions {
        assert!(client.get(path).await.is_ok(), "{path}");
    }

    // No matching watch is open, as for a client that is between two watches.
    assert_eq!(
        cluster.expire_watches(&watches.clone().user("nobody")).unwrap(),
        0
    );
    for path in &old_versions {
        assert_eq!(client.get(path).await.unwrap_err(), 410, "{path}");
    }
    // Each attempt fails.
    for _ in 0..2 {
        let watch = after(&seen, "&watch=true&timeoutSeconds=1");
        let event = client.get(&watch).await.unwrap();
        assert_eq!(
            (
                &event["type"],
                &event["object"]["code"],
                &event["object"]["reason"]
            ),
            (&json!("ERROR"), &json!(410), &json!("Expired"))
        );
    }
    // A relist succeeds, and the open watch continues.
    assert!(
        client.get(&after(&seen, "")).await.is_ok(),
        "a list not older than the version"
    );
    let relisted = client.list().await.unwrap();
    let relisted = client.watch_after(&relisted).await.unwrap();
    client.create("three").await.unwrap();
    expect_names(&relisted, &["three"]).await;
    expect_names(&open, &["three"]).await;

    faults.hold_events(watches.clone());
    client.create("four").await.unwrap();
    assert_eq!(cluster.expire_watches(&watches).unwrap(), 2);
    faults.release_events(&watches);
    for received in [&open, &relisted] {
        expect_names(received, &["three", ""]).await;
    }
}

/// As the server does every half hour: the client resumes and misses no event.
async fn check_closed_watch(cluster: Cluster) {
    let faults = cluster.faults();
    let client = TestClient::new(&cluster).await;
    let watches = RequestMatcher::watch("configmaps").user(&client.user);
    assert_eq!(faults.close_watches(&watches), 0, "no watch is open");
    let received = client.watch().await;
    let one = client.create("one").await.unwrap();
    expect_names(&received, &["one"]).await;
    assert_eq!(faults.close_watches(&watches.clone().namespace("other")), 0);
    assert_eq!(faults.close_watches(&watches), 1);
    expect_names(&received, &["one", ""]).await;
    assert_eq!(faults.close_watches(&watches), 0, "the watch is closed");

    client.create("two").await.unwrap();
    let received = client.watch_after(&one).await.unwrap();
    client.create("three").await.unwrap();
    expect_names(&received, &["two", "three"]).await;
}

/// As after a lost connection: the client gets an error, resumes, and misses no event.
async fn check_broken_watch(cluster: Cluster) {
    let faults = cluster.faults();
    let client = TestClient::new(&cluster).await;
    let watches = RequestMatcher::watch("configmaps").user(&client.user);
    assert_eq!(faults.break_watches(&watches), 0, "no watch is open");
    let received = client.watch().await;
    let one = client.create("one").await.unwrap();
    expect_names(&received, &["one"]).await;
    assert_eq!(faults.break_watches(&watches.clone().user("other")), 0);
    // Hold back an event, which is then lost with the connection.
    faults.hold_events(watches.clone());
    client.create("two").await.unwrap();
    assert_eq!(faults.break_watches(&watches), 1);
    expect_names(&received, &["one", BROKEN]).await;
    assert_eq!(faults.break_watches(&watches), 0, "the watch is broken");
    faults.release_events(&watches);

    let received = client.watch_after(&one).await.unwrap();
    client.create("three").await.unwrap();
    expect_names(&received, &["two", "three"]).await;
}

async fn check_faults_of_future_watches(cluster: Cluster) {
    let faults = cluster.faults();
    let client = TestClient::new(&cluster).await;
    let watches = RequestMatcher::watch("configmaps").user(&client.user);
    let start = client.list().await.unwrap();
    client.create("one").await.unwrap();
    faults.hold_events(watches.clone());
    let held = client.watch_after(&start).await.unwrap();
    // Without the fault, the past events would arrive at once.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(*held.lock().await, [], "events are held back");
    faults.release_events(&watches);
    expect_names(&held, &["one"]).await;

    faults.drop_events(watches.clone());
    let lost = client.watch_after(&start).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    faults.release_events(&watches);
    client.create("two").await.unwrap();
    expect_names(&lost, &["two"]).await;
    expect_names(&held, &["one", "two"]).await;

    for fault in [Fault::DropRequest, Fault::DropResponse] {
        let broken = faults.once(watches.clone(), fault.clone());
        let result = client.watch_after(&start).await;
        assert!(
            result.is_err_and(|error| !matches!(error, kube::Error::Api(_))),
            "{fault:?}: expected no response"
        );
        assert_eq!(broken.hits(), 1);
    }
    let received = client.watch_after(&start).await.unwrap();
    expect_names(&received, &["one", "two"]).await;
}

async fn check_retry_after(cluster: Cluster) {
    let client = TestClient::new(&cluster).await;
    let lists = RequestMatcher::verb("list")
        .resource("configmaps")
        .user(&client.user);
    let _ = cluster
        .faults()
        .once(lists, Fault::Respond(Failure::too_many_requests(7)));
    let request = Request::get(CONFIG_MAPS)
        .body(kube::client::Body::empty())
        .unwrap();
    let answer = client.client.send(request).await.unwrap();
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

async fn check_object_matching(cluster: Cluster) {
    let client = TestClient::with(
        &cluster,
        &[
            PermissionUnit::new("", "configmaps", ["list", "create", "get"]),
            PermissionUnit::new("", "events", ["list"]),
            PermissionUnit::new("events.k8s.io", "events", ["list"]),
        ],
    )
    .await;
    for name in ["a", "b"] {
        client.create(name).await.unwrap();
    }
    let fails = async |matcher: RequestMatcher, matching_path: &str, other: &str| {
        let fault = cluster
            .faults()
            .always(matcher.user(&client.user), Fault::Respond(Failure::internal()));
        assert_eq!(client.get(matching_path).await, Err(500), "{matching_path}");
        assert!(client.get(other).await.is_ok(), "{other}");
        assert_eq!(fault.hits(), 1);
        fault.remove();
    };
    let maps = || RequestMatcher::any().resource("configmaps");
    let (a, b) = (format!("{CONFIG_MAPS}/a"), format!("{CONFIG_MAPS}/b"));
    fails(maps().name("a"), &a, &b).await;
    fails(maps().name("b").with_verb("get"), &b, &a).await;
    let elsewhere = "/api/v1/namespaces/tester-system/configmaps";
    fails(maps().namespace("tester-system"), elsewhere, CONFIG_MAPS).await;
    fails(maps().namespace("default"), CONFIG_MAPS, elsewhere).await;

    let core = "/api/v1/namespaces/default/events";
    let events = "/apis/events.k8s.io/v1/namespaces/default/events";
    fails(
        RequestMatcher::verb("list")
            .resource("events")
            .group("events.k8s.io"),
        events,
        core,
    )
    .await;
    fails(
        RequestMatcher::verb("list").resource("events").group(""),
        core,
        events,
    )
    .await;
}

/// Faults match the authenticated or impersonated user, whatever token the request uses.
async fn check_user_matching(cluster: Cluster) {
    let client = TestClient::new(&cluster).await;
    let permissions = [
        PermissionUnit::new("", "serviceaccounts", ["impersonate"]),
        PermissionUnit::new("", "serviceaccounts/token", ["create"]),
    ];
    let bearer = cluster.operator("bearer", &permissions).unwrap();
    let config = bearer.config().await.unwrap();
    let client_with = |token: &str| {
        let mut config = config.clone();
        config.default_retry = false;
        config.auth_info = kube::config::AuthInfo::default();
        config.auth_info.token = Some(token.to_owned().into());
        kube::Client::try_from(config).unwrap()
    };
    let own = client_with(bearer.token());
    let token_path = "/api/v1/namespaces/tester-system/serviceaccounts/tester/token";
    let other_token = until("a token is minted", || async {
        let request = Request::post(token_path).header("Content-Type", "application/json");
        let request = request.body(json!({ "spec": {} }).to_string().into_bytes());
        own.request::<Value>(request.unwrap()).await
    })
    .await;
    let other_token = client_with(other_token["status"]["token"].as_str().unwrap());
    let code = async |client: &kube::Client, acting: Option<&str>| {
        let mut request = Request::get(CONFIG_MAPS);
        if let Some(user) = acting {
            request = request.header("Impersonate-User", user);
        }
        match client.request::<Value>(request.body(vec![]).unwrap()).await {
            Ok(_) => 200,
            Err(kube::Error::Api(status)) => status.code,
            Err(error) => panic!("{error}"),
        }
    };
    let user = client.user.as_str();
    until("impersonation is allowed", || async {
        (code(&own, Some(user)).await == 200).then_some(())
    })
    .await;
    let faults = cluster.faults();
    let fails = faults.always(
        RequestMatcher::any().user(user),
        Fault::Respond(Failure::internal()),
    );
    assert_eq!(
        code(&other_token, None).await,
        500,
        "another token of the same account"
    );
    assert_eq!(code(&own, Some(user)).await, 500, "the impersonated user matches");
    assert_eq!(
        code(&own, None).await,
        403,
        "the impersonating user does not match"
    );
    assert_eq!(code(&own, Some("system:anonymous")).await, 403);
    assert_eq!(fails.hits(), 2);
    fails.remove();
    let other = faults.always(
        RequestMatcher::any().user(bearer.user()),
        Fault::Respond(Failure::internal()),
    );
    assert_eq!(code(&own, Some(user)).await, 200);
    assert_eq!(code(&own, None).await, 500);
    assert_eq!(other.hits(), 1);
}

macro_rules! on_embedded_and_real {
    ($($name:ident: $check:ident;)*) => {
        $(#[tokio::test]
        async fn $name() {
            $check(Cluster::embedded().unwrap()).await;
        })*
        mod on_real {
            use super::*;
            $(#[tokio::test]
            #[ignore = "needs a real control plane: cargo xtask control-plane, then cargo test -- --include-ignored"]
            async fn $name() {
                $check(start_real()).await;
            })*
        }
    };
}

on_embedded_and_real! {
    audit_finds_forbidden_requests_and_unused_permissions: check_exact_permissions;
    blocking_owner_references_use_the_finalizers_permission: check_finalizers_permission;
    requests_are_rejected_delayed_and_dropped: check_request_faults;
    watch_events_are_held_and_dropped_and_watches_closed: check_watch_faults;
    expired_history_gets_410: check_expired_history;
    closed_watch_is_resumed_without_loss: check_closed_watch;
    broken_watch_is_resumed_without_loss: check_broken_watch;
    watch_faults_apply_to_future_watches: check_faults_of_future_watches;
    retry_after_is_in_header_and_status: check_retry_after;
    faults_match_the_impersonated_user: check_user_matching;
    faults_match_names_namespaces_and_groups: check_object_matching;
}

#[tokio::test]
async fn wait_until_returns_the_object_that_meets_the_condition() {
    let cluster = Cluster::embedded().unwrap();
    let map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "1" } });
    assert_eq!(cluster.wait_until(&map, Value::is_null).await, Value::Null);
    let write_later = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cluster.apply(&map).unwrap();
    };
    let (found, ()) = tokio::join!(
        cluster.wait_until(&map, |map| map["data"]["x"] == "1"),
        write_later
    );
    assert_eq!(found["metadata"]["name"], "a");
    cluster.delete(&map).unwrap();
    cluster.wait_until(&map, Value::is_null).await;
}

#[tokio::test]
#[should_panic(expected = "`admin` was not made by `Cluster::operator`")]
async fn permissions_of_another_identity_are_unknown() {
    let cluster = Cluster::embedded().unwrap();
    cluster.assert_exact_permissions(cluster.admin()).await;
}
