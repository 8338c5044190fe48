//! Mirrors client-go's TestTryAcquireOrRenewLeases, TestFastPathLeaderElection and TestReleaseRetriesOnConflict against an
//! API server of one Lease, with a paused clock.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, advance, timeout};

use super::*;

/// Holds one Lease as an API server does: versions, conflicts, 404; fails as scripted.
#[derive(Default)]
struct Server {
    lease: Option<Value>,
    version: u64,
    requests: Vec<&'static str>,
    /// For the next requests with this method: the status code to answer with.
    failures: VecDeque<(Method, u16)>,
    /// Whether nothing is answered at all.
    silent: bool,
}

type Shared = Arc<Mutex<Server>>;

impl Server {
    fn put(&mut self, spec: &Value) {
        self.version += 1;
        self.lease = Some(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "shop", "namespace": "default", "resourceVersion": self.version.to_string()},
            "spec": spec,
        }));
    }

    fn spec(&self) -> LeaseSpec {
        serde_json::from_value(self.lease.as_ref().unwrap()["spec"].clone()).unwrap()
    }

    fn answer(&mut self, method: &Method, body: &Value) -> (u16, Value) {
        self.requests.push(match *method {
            Method::GET => "get",
            Method::POST => "create",
            _ => "update",
        });
        if self
            .failures
            .front()
            .is_some_and(|(failing, _)| failing == method)
        {
            let (_, code) = self.failures.pop_front().unwrap();
            return (code, status(code));
        }
        match (method, &self.lease) {
            (&Method::GET, Some(lease)) => (200, lease.clone()),
            (&Method::POST, Some(_)) => (409, status(409)),
            (&Method::GET | &Method::PUT, None) => (404, status(404)),
            (&Method::PUT, Some(lease))
                if lease["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"] =>
            {
                (409, status(409))
            }
            _ => {
                self.put(&body["spec"]);
                (200, self.lease.clone().unwrap())
            }
        }
    }
}

fn status(code: u16) -> Value {
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        403 => "Forbidden",
        _ => "InternalError",
    };
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code})
}

fn elector(server: &Shared, identity: &str) -> Elector {
    let server = server.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = server.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            if server.lock().unwrap().silent {
                std::future::pending::<()>().await;
            }
            let (code, answer) = server.lock().unwrap().answer(&parts.method, &body);
            let answer = Body::from(serde_json::to_vec(&answer).unwrap());
            Ok::<_, tower::BoxError>(Response::builder().status(code).body(answer).unwrap())
        }
    });
    let lock = LeaseLock::new(kube::Client::new(service, "default"), "default", "shop");
    Elector::new(lock, identity.to_owned(), Timing::default())
}

fn held_by(holder: &str, transitions: i32) -> Value {
    json!({
        "holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": transitions,
        "acquireTime": "2020-01-01T00:00:00.000000Z", "renewTime": "2020-01-01T00:00:00.000000Z",
    })
}

fn requests(server: &Shared) -> Vec<&'static str> {
    std::mem::take(&mut server.lock().unwrap().requests)
}

#[tokio::test(start_paused = true)]
async fn creates_the_lease_where_there_is_none() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    assert_eq!(elector.attempt().await.unwrap(), Try::Held(Instant::now()));
    assert_eq!(requests(&server), ["get", "create"]);
    let spec = server.lock().unwrap().spec();
    assert_eq!(spec.holder_identity.as_deref(), Some("baz"));
    assert_eq!(
        (spec.lease_duration_seconds, spec.lease_transitions),
        (Some(15), Some(0))
    );
}

#[tokio::test(start_paused = true)]
async fn takes_a_lease_that_nobody_holds_at_once() {
    for spec in [json!({}), held_by("", 4)] {
        let server = Shared::default();
        let transitions = spec["leaseTransitions"].as_i64().unwrap_or(0);
        server.lock().unwrap().put(&spec);
        let mut elector = elector(&server, "baz");
        assert!(matches!(elector.attempt().await, Ok(Try::Held(_))));
        assert_eq!(requests(&server), ["get", "update"]);
        assert_eq!(
            server.lock().unwrap().spec().lease_transitions.map(i64::from),
            Some(transitions + 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn waits_for_the_locally_observed_end_whatever_the_record_says() {
    let server = Shared::default();
    // By its own renewTime this record expired years ago; a skewed clock must not matter.
    server.lock().unwrap().put(&held_by("bing", 2));
    let mut elector = elector(&server, "baz");
    for _ in 0..3 {
        assert_eq!(elector.attempt().await.unwrap(), Try::HeldBy("bing".into()));
        advance(Duration::from_secs(4)).await;
    }
    // A renewal by the other moves the end.
    let mut renewed = held_by("bing", 2);
    renewed["renewTime"] = json!("2020-01-01T00:00:02.000000Z");
    server.lock().unwrap().put(&renewed);
    for _ in 0..3 {
        assert_eq!(elector.attempt().await.unwrap(), Try::HeldBy("bing".into()));
        advance(Duration::from_secs(5)).await;
    }
    // A new version with the same record does not.
    let same = server.lock().unwrap().lease.as_ref().unwrap()["spec"].clone();
    server.lock().unwrap().put(&same);
    assert!(matches!(elector.attempt().await, Ok(Try::Held(_))));
    let spec = server.lock().unwrap().spec();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_transitions),
        (Some("baz"), Some(3))
    );
}

#[tokio::test(start_paused = true)]
async fn renews_its_own_lease_without_a_transition() {
    let server = Shared::default();
    server.lock().unwrap().put(&held_by("baz", 7));
    let mut elector = elector(&server, "baz");
    assert!(matches!(elector.attempt().await, Ok(Try::Held(_))));
    let spec = server.lock().unwrap().spec();
    assert_eq!(spec.lease_transitions, Some(7));
    assert_eq!(spec.acquire_time.unwrap().0.to_string(), "2020-01-01T00:00:00Z");
    assert_ne!(spec.renew_time.unwrap().0.to_string(), "2020-01-01T00:00:00Z");
}

#[tokio::test(start_paused = true)]
async fn renews_on_the_fast_path_and_falls_back_to_the_slow_one() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    elector.attempt().await.unwrap();
    elector.attempt().await.unwrap();
    assert_eq!(requests(&server), ["get", "create", "update"]);

    server.lock().unwrap().failures.push_back((Method::PUT, 409));
    assert!(matches!(elector.attempt().await, Ok(Try::Held(_))));
    assert_eq!(requests(&server), ["update", "get", "update"]);

    // After the lease's end it must be read first.
    advance(Duration::from_secs(15)).await;
    elector.attempt().await.unwrap();
    assert_eq!(requests(&server), ["get", "update"]);
}

#[tokio::test(start_paused = true)]
async fn acquires_after_the_other_stops_renewing() {
    let server = Shared::default();
    server.lock().unwrap().put(&held_by("bing", 0));
    let started = Instant::now();
    let since = elector(&server, "baz").acquire().await;
    let waited = since - started;
    assert!(
        waited >= Duration::from_secs(15) && waited < Duration::from_secs(20),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn acquires_although_requests_fail_at_first() {
    let server = Shared::default();
    for code in [500, 403] {
        server.lock().unwrap().failures.push_back((Method::GET, code));
    }
    elector(&server, "baz").acquire().await;
    assert_eq!(requests(&server), ["get", "get", "get", "create"]);
}

#[tokio::test(start_paused = true)]
async fn holds_while_it_renews_and_loses_at_the_renew_deadline() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    let since = elector.acquire().await;
    assert!(
        timeout(Duration::from_mins(1), elector.hold(since))
            .await
            .is_err()
    );
    let renewed = Instant::now();

    server.lock().unwrap().silent = true;
    let lost = elector.hold(renewed).await;
    assert_eq!(renewed.elapsed(), Duration::from_secs(10));
    assert!(
        matches!(&lost, LostLease::NotRenewed { reason, .. } if reason.contains("no answer")),
        "{lost}"
    );
}

#[tokio::test(start_paused = true)]
async fn one_failed_renewal_is_survived() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    let since = elector.acquire().await;
    for method in [Method::PUT, Method::GET, Method::PUT, Method::GET] {
        server.lock().unwrap().failures.push_back((method, 500));
    }
    assert!(
        timeout(Duration::from_secs(30), elector.hold(since))
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn loses_at_once_when_another_holds_the_lease() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    let since = elector.acquire().await;
    server.lock().unwrap().put(&held_by("bing", 1));
    let lost = elector.hold(since).await;
    let (lease, holder) = ("default/shop".into(), "bing".into());
    assert_eq!(lost, LostLease::Taken { lease, holder });
    assert_eq!(since.elapsed(), Duration::from_secs(2));
    requests(&server);
    elector.release().await;
    assert!(requests(&server).is_empty(), "another's lease is not touched");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_made_again_by_its_leader() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    elector.attempt().await.unwrap();
    server.lock().unwrap().lease = None;
    requests(&server);
    assert!(matches!(elector.attempt().await, Ok(Try::Held(_))));
    assert_eq!(requests(&server), ["update", "get", "create"]);
}

#[tokio::test(start_paused = true)]
async fn release_retries_on_conflict() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    elector.acquire().await;
    requests(&server);
    for _ in 0..2 {
        server.lock().unwrap().failures.push_back((Method::PUT, 409));
    }
    elector.release().await;
    assert_eq!(
        requests(&server),
        ["get", "update", "get", "update", "get", "update"]
    );
    let spec = server.lock().unwrap().spec();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_duration_seconds),
        (Some(""), Some(1))
    );
    // Nothing is left to release, and the next candidate need not wait.
    elector.release().await;
    assert!(requests(&server).is_empty());
    assert!(matches!(
        self::elector(&server, "next").attempt().await,
        Ok(Try::Held(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn release_stops_retrying_when_another_took_the_lease() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    elector.acquire().await;
    server.lock().unwrap().put(&held_by("bing", 1));
    requests(&server);
    elector.release().await;
    assert_eq!(requests(&server), ["get"]);
    assert_eq!(
        server.lock().unwrap().spec().holder_identity.as_deref(),
        Some("bing")
    );
}
