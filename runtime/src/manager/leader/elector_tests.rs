//! Single attempts, after client-go's TestTryAcquireOrRenewLeases and TestFastPathLeaderElection, on an in-memory API server with one Lease and
//! a paused clock.

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
use crate::cache::tests::support::log::Log;

/// Terms: acquire, renew, lose, release.
#[path = "term_tests.rs"]
mod terms;

/// An API server with one Lease: versions, conflicts, 404, scripted failures.
#[derive(Default)]
struct Server {
    lease: Option<Value>,
    version: u64,
    requests: Vec<&'static str>,
    /// Status codes for the next requests with these methods.
    failures: VecDeque<(Method, u16)>,
    /// Status code of every response; 200 returns an HTML page.
    always: Option<u16>,
    /// Whether no request gets a response.
    silent: bool,
    /// Requests with this method get no response.
    hangs_at: Option<Method>,
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
        if let Some(code) = self.always {
            return (
                code,
                if code == 200 {
                    json!("<html>Please log in</html>")
                } else {
                    status(code)
                },
            );
        }
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
        401 => "Unauthorized",
        _ => "InternalError",
    };
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code})
}

fn elector(server: &Shared, identity: &str) -> Elector {
    elector_with(server, identity, &Fence::default())
}

fn elector_with(server: &Shared, identity: &str, fence: &Fence) -> Elector {
    let server = server.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = server.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let hangs = {
                let server = server.lock().unwrap();
                server.silent || server.hangs_at.as_ref() == Some(&parts.method)
            };
            if hangs {
                std::future::pending::<()>().await;
            }
            let (code, answer) = server.lock().unwrap().answer(&parts.method, &body);
            let answer = Body::from(serde_json::to_vec(&answer).unwrap());
            Ok::<_, tower::BoxError>(Response::builder().status(code).body(answer).unwrap())
        }
    });
    let lock = LeaseLock::new(kube::Client::new(service, "default"), "default", "shop");
    Elector::new(
        lock,
        identity.to_owned(),
        ElectionTiming::default(),
        fence.clone(),
    )
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

/// client-go: TestTryAcquireOrRenewLeases, "acquire from no object".
#[tokio::test(start_paused = true)]
async fn creates_a_missing_lease() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    assert_eq!(
        elector.attempt().await.unwrap(),
        AttemptOutcome::Held(Instant::now())
    );
    assert_eq!(requests(&server), ["get", "create"]);
    let spec = server.lock().unwrap().spec();
    assert_eq!(spec.holder_identity.as_deref(), Some("baz"));
    assert_eq!(
        (spec.lease_duration_seconds, spec.lease_transitions),
        (Some(15), Some(0))
    );
}

/// client-go: TestTryAcquireOrRenewLeases, "acquire from object without annotations", "acquire from unled object",
/// "acquire from empty led, acked object".
#[tokio::test(start_paused = true)]
async fn acquires_a_lease_without_holder_at_once() {
    for spec in [json!({}), held_by("", 4)] {
        let server = Shared::default();
        let transitions = spec["leaseTransitions"].as_i64().unwrap_or(0);
        server.lock().unwrap().put(&spec);
        let mut elector = elector(&server, "baz");
        assert!(matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))));
        assert_eq!(requests(&server), ["get", "update"]);
        assert_eq!(
            server.lock().unwrap().spec().lease_transitions.map(i64::from),
            Some(transitions + 1)
        );
    }
}

/// client-go: TestTryAcquireOrRenewLeases, "don't acquire from led, acked object".
#[tokio::test(start_paused = true)]
async fn lease_expires_by_local_observation_not_by_its_renew_time() {
    let server = Shared::default();
    // By its renewTime this record expired years ago; clock skew must not matter.
    server.lock().unwrap().put(&held_by("bing", 2));
    let mut elector = elector(&server, "baz");
    for _ in 0..3 {
        assert_eq!(
            elector.attempt().await.unwrap(),
            AttemptOutcome::HeldBy("bing".into())
        );
        advance(Duration::from_secs(4)).await;
    }
    // A renewal by the holder extends it.
    let mut renewed = held_by("bing", 2);
    renewed["renewTime"] = json!("2020-01-01T00:00:02.000000Z");
    server.lock().unwrap().put(&renewed);
    for _ in 0..3 {
        assert_eq!(
            elector.attempt().await.unwrap(),
            AttemptOutcome::HeldBy("bing".into())
        );
        advance(Duration::from_secs(5)).await;
    }
    // A new resource version with the same record does not.
    let same = server.lock().unwrap().lease.as_ref().unwrap()["spec"].clone();
    server.lock().unwrap().put(&same);
    assert!(matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))));
    let spec = server.lock().unwrap().spec();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_transitions),
        (Some("baz"), Some(3))
    );
}

/// client-go: TestTryAcquireOrRenewLeases, "renew already acquired object".
#[tokio::test(start_paused = true)]
async fn renewal_does_not_count_as_a_transition() {
    let server = Shared::default();
    server.lock().unwrap().put(&held_by("baz", 7));
    let mut elector = elector(&server, "baz");
    assert!(matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))));
    let spec = server.lock().unwrap().spec();
    assert_eq!(spec.lease_transitions, Some(7));
    assert_eq!(spec.acquire_time.unwrap().0.to_string(), "2020-01-01T00:00:00Z");
    assert_ne!(spec.renew_time.unwrap().0.to_string(), "2020-01-01T00:00:00Z");
}

/// client-go: TestTryAcquireOrRenewLeases, "acquire from led object with the lease duration seconds", "acquire from led, unacked object".
#[tokio::test(start_paused = true)]
async fn lease_duration_is_taken_from_the_record() {
    for (seconds, waits) in [(Some(3), 3), (None, 0), (Some(-5), 0), (Some(60), 60)] {
        let server = Shared::default();
        let mut record = held_by("bing", 0);
        record["leaseDurationSeconds"] = json!(seconds);
        server.lock().unwrap().put(&record);
        let mut elector = elector(&server, "baz");
        if waits > 0 {
            assert_eq!(
                elector.attempt().await.unwrap(),
                AttemptOutcome::HeldBy("bing".into())
            );
            advance(Duration::from_millis(waits * 1000 - 1)).await;
            assert_eq!(
                elector.attempt().await.unwrap(),
                AttemptOutcome::HeldBy("bing".into())
            );
            advance(Duration::from_millis(1)).await;
        }
        assert!(
            matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))),
            "{seconds:?}"
        );
        assert_eq!(server.lock().unwrap().spec().lease_transitions, Some(1));
    }
}

/// client-go: TestFastPathLeaderElection, "Exercise fast path after lock acquired".
#[tokio::test(start_paused = true)]
async fn renews_without_a_read() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    for _ in 0..3 {
        elector.attempt().await.unwrap();
    }
    assert_eq!(requests(&server), ["get", "create", "update", "update"]);
}

/// client-go: TestFastPathLeaderElection, "Fallback to slow path after fast path fails".
#[tokio::test(start_paused = true)]
async fn reads_the_lease_if_the_renewal_fails() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    elector.attempt().await.unwrap();
    requests(&server);
    for code in [409, 500] {
        server.lock().unwrap().failures.push_back((Method::PUT, code));
        assert!(matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))));
        assert_eq!(requests(&server), ["update", "get", "update"]);
    }
}

/// Another candidate may have acquired it.
#[tokio::test(start_paused = true)]
async fn reads_the_lease_if_its_own_has_expired() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    elector.attempt().await.unwrap();
    requests(&server);
    advance(Duration::from_secs(15)).await;
    elector.attempt().await.unwrap();
    assert_eq!(requests(&server), ["get", "update"]);
}

/// Wall clock timestamps in the record count only as changes.
#[tokio::test(start_paused = true)]
async fn wall_clock_jumps_of_the_holder_count_as_renewals() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    for time in [
        "2080-01-01T00:00:00Z",
        "1999-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
    ] {
        let mut record = held_by("bing", 0);
        record["renewTime"] = json!(time);
        server.lock().unwrap().put(&record);
        for _ in 0..2 {
            assert_eq!(
                elector.attempt().await.unwrap(),
                AttemptOutcome::HeldBy("bing".into())
            );
            advance(Duration::from_secs(7)).await;
        }
    }
    advance(Duration::from_secs(1)).await;
    assert!(matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))));
}

/// The leader's renewal repairs a Lease that a user edited.
#[tokio::test(start_paused = true)]
async fn leader_repairs_an_edited_lease() {
    for edit in [
        json!({"holderIdentity": "baz", "leaseDurationSeconds": 1}),
        json!({"holderIdentity": "baz"}),
        json!({"holderIdentity": "baz", "leaseTransitions": -3, "strategy": "OldestEmulationVersion"}),
    ] {
        let server = Shared::default();
        let mut elector = elector(&server, "baz");
        elector.attempt().await.unwrap();
        server.lock().unwrap().put(&edit);
        assert!(
            matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))),
            "{edit}"
        );
        let spec = server.lock().unwrap().spec();
        assert_eq!(spec.lease_duration_seconds, Some(15));
        let strategy = serde_json::to_value(spec.strategy).unwrap();
        assert_eq!(strategy, edit["strategy"], "other fields are preserved");
    }
}

/// Its holder creates it again, if it still runs.
#[tokio::test(start_paused = true)]
async fn deleted_lease_is_not_acquired_before_it_would_have_expired() {
    let server = Shared::default();
    server.lock().unwrap().put(&held_by("bing", 0));
    let mut elector = elector(&server, "baz");
    elector.attempt().await.unwrap();
    server.lock().unwrap().lease = None;
    advance(Duration::from_secs(14)).await;
    assert_eq!(
        elector.attempt().await.unwrap(),
        AttemptOutcome::HeldBy("bing".into())
    );
    advance(Duration::from_secs(1)).await;
    assert!(matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))));
}

/// At most one get and one update per retry period.
#[tokio::test(start_paused = true)]
async fn failures_are_retried_at_the_retry_period() {
    for code in [401, 403, 404, 409, 422, 429, 500, 503, 200] {
        let server = Shared::default();
        server.lock().unwrap().always = Some(code);
        let mut elector = elector(&server, "baz");
        assert!(timeout(Duration::from_mins(10), elector.acquire()).await.is_err());
        let asked = requests(&server).len();
        assert!((100..=600).contains(&asked), "{code}: {asked}");
    }
}

/// Logged once for all attempts.
#[tokio::test(start_paused = true)]
async fn unauthorized_and_forbidden_log_the_fix() {
    for (code, message) in [
        (
            401,
            "Unauthorized (the API server rejected the operator's credentials: renew the token or the certificate)",
        ),
        (
            403,
            "Forbidden (the operator has no permission for leases: run `kubewright generate`, then apply manifests/rbac)",
        ),
    ] {
        let server = Shared::default();
        server.lock().unwrap().always = Some(code);
        let log = Log::start();
        let mut elector = elector(&server, "baz");
        assert!(timeout(Duration::from_mins(1), elector.acquire()).await.is_err());
        let lines = log.lines("acquiring the leader lease failed");
        assert!(
            matches!(&*lines, [line] if line.contains(message)),
            "{code}: {lines:?}"
        );
    }
}

/// Open for the renew deadline after a renewal was sent; closed while the lease is not held.
#[tokio::test(start_paused = true)]
async fn fence_is_open_while_the_lease_is_held() {
    let server = Shared::default();
    let fence = Fence::default();
    let mut elector = elector_with(&server, "baz", &fence);
    let may_write = async || fence.guard(async {}).await.is_ok();
    assert!(!may_write().await, "a candidate must not write");
    let since = elector.acquire().await;
    assert!(may_write().await);
    advance(Duration::from_millis(9_999)).await;
    assert!(may_write().await);
    advance(Duration::from_millis(1)).await;
    assert!(!may_write().await, "10 s after the renewal was sent");
    assert!(matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))));
    assert!(may_write().await && since.elapsed() == Duration::from_secs(10));

    server.lock().unwrap().put(&held_by("bing", 1));
    elector.attempt().await.unwrap();
    assert!(!may_write().await, "taken");
}
