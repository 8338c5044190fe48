//! Whole terms: the lease is acquired, renewed, lost and released. After client-go's TestReleaseRetriesOnConflict and others.

use super::*;

#[tokio::test(start_paused = true)]
async fn release_waits_until_a_cancelled_write_cannot_arrive() {
    let server = Shared::default();
    let fence = Fence::default();
    let mut elector = elector_with(&server, "baz", &fence);
    elector.acquire().await;
    let cancelled = timeout(Duration::from_secs(1), fence.guard(std::future::pending::<()>()));
    assert!(cancelled.await.is_err());
    let began = Instant::now();
    elector.release().await;
    assert_eq!(began.elapsed(), Duration::from_millis(2500));
    assert_eq!(server.lock().unwrap().spec().holder_identity.as_deref(), Some(""));
}

#[tokio::test(start_paused = true)]
async fn acquires_an_expired_lease() {
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
async fn acquire_retries_failed_requests() {
    let server = Shared::default();
    for code in [500, 403] {
        server.lock().unwrap().failures.push_back((Method::GET, code));
    }
    elector(&server, "baz").acquire().await;
    assert_eq!(requests(&server), ["get", "get", "get", "create"]);
}

#[tokio::test(start_paused = true)]
async fn lease_is_lost_at_the_renew_deadline() {
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
        matches!(&lost, LostLease::NotRenewed { reason, .. } if reason.contains("no response")),
        "{lost}"
    );
}

#[tokio::test(start_paused = true)]
async fn failed_renewals_are_retried_before_the_renew_deadline() {
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
async fn lease_held_by_another_is_lost_at_once() {
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
    assert!(
        requests(&server).is_empty(),
        "a lease of another holder is not written"
    );
}

#[tokio::test(start_paused = true)]
async fn leader_recreates_a_deleted_lease() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    elector.attempt().await.unwrap();
    server.lock().unwrap().lease = None;
    requests(&server);
    assert!(matches!(elector.attempt().await, Ok(AttemptOutcome::Held(_))));
    assert_eq!(requests(&server), ["update", "get", "create"]);
}

/// client-go: TestReleaseRetriesOnConflict, TestReleaseMethodCallsGet.
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
    // A second release sends nothing, and the next candidate need not wait.
    elector.release().await;
    assert!(requests(&server).is_empty());
    assert!(matches!(
        self::elector(&server, "next").attempt().await,
        Ok(AttemptOutcome::Held(_))
    ));
}

/// client-go: TestReleaseLeaseLeases, "release acquired lock from no object".
#[tokio::test(start_paused = true)]
async fn release_does_not_recreate_a_deleted_lease() {
    let server = Shared::default();
    let mut elector = elector(&server, "baz");
    elector.acquire().await;
    server.lock().unwrap().lease = None;
    requests(&server);
    elector.release().await;
    assert_eq!(requests(&server), ["get"]);
    assert!(server.lock().unwrap().lease.is_none());
}

/// client-go: TestReleaseOnCancellation_Leases, "release acquired lock on cancellation of update", "release acquired lock on cancellation
/// of get". Whether the cancelled renewal arrived or not.
#[tokio::test(start_paused = true)]
async fn release_after_a_cancelled_renewal() {
    for (fails, arrived) in [(false, false), (false, true), (true, false)] {
        let server = Shared::default();
        let mut elector = elector(&server, "baz");
        let since = elector.acquire().await;
        if fails {
            // The update without a read fails, and the following read hangs.
            server.lock().unwrap().failures.push_back((Method::PUT, 409));
        }
        server.lock().unwrap().hangs_at = Some(if fails { Method::GET } else { Method::PUT });
        assert!(
            timeout(Duration::from_secs(3), elector.hold(since))
                .await
                .is_err()
        );
        {
            let mut server = server.lock().unwrap();
            server.hangs_at = None;
            if arrived {
                server.put(&held_by("baz", 0));
            }
        }
        requests(&server);
        elector.release().await;
        assert_eq!(requests(&server), ["get", "update"]);
        let spec = server.lock().unwrap().spec();
        assert_eq!(spec.holder_identity.as_deref(), Some(""));
    }
}

#[tokio::test(start_paused = true)]
async fn release_stops_if_another_candidate_acquired_the_lease() {
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
