//! Tests of expectations: client-go's rules, slow start, expiry.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::Status;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::{super::*, factory, millis, name};
use crate::{
    Kind as _,
    cache::{Change, Object},
    client::{ApiRequest, ClientError, ClientErrorCause},
    workqueue::{NoQueueMetrics, WorkQueue, default_limiter},
};

fn rejected(code: u16, reason: &str) -> ClientError {
    let call = ApiRequest::new(ConfigMap::info(), "create", None).unwrap();
    let status = Status::failure("scripted", reason).with_code(code);
    call.fail(ClientErrorCause::Refused(Box::new(status)))
}

fn lost() -> ClientError {
    let call = ApiRequest::new(ConfigMap::info(), "create", None).unwrap();
    let error = kube::Error::Service("the connection is lost".into());
    call.fail(ClientErrorCause::Unanswered(error))
}

fn connected() -> (Expectations, Arc<WorkQueue>) {
    let queue = Arc::new(WorkQueue::with_metrics(
        Box::new(default_limiter()),
        Arc::new(NoQueueMetrics),
    ));
    let expectations = Expectations::new();
    expectations.connect("test", &queue).unwrap();
    let running = expectations.clone();
    tokio::spawn(async move { running.run_expiry().await });
    (expectations, queue)
}

async fn is_enqueued(queue: &WorkQueue) -> bool {
    let key = timeout(millis(1), queue.get()).await;
    if let Ok(Some(key)) = &key {
        queue.done(key);
    }
    key.is_ok()
}

/// kube-controller-manager: TestControllerExpectations
#[tokio::test(start_paused = true)]
async fn expectations_are_satisfied_when_all_are_observed() {
    let (expectations, queue) = connected();
    let key = name("default/a");
    assert!(expectations.are_satisfied(&key), "nothing is expected");
    expectations.expect_creations(&key, 2);
    expectations.expect_deletions(&key, ["x", "y"]);
    assert!(!expectations.are_satisfied(&key));
    assert!(expectations.are_satisfied(&name("default/b")), "another key");
    expectations.creation_observed(&key);
    expectations.creation_observed(&key);
    expectations.deletion_observed(&key, "x");
    assert!(!expectations.are_satisfied(&key));
    assert!(!is_enqueued(&queue).await);
    expectations.deletion_observed(&key, "y");
    assert!(is_enqueued(&queue).await, "the key awaited it");
    assert!(expectations.are_satisfied(&key));

    // More creations than expected are ignored.
    expectations.creation_observed(&key);
    expectations.expect_creations(&key, 1);
    assert!(!expectations.are_satisfied(&key));
    expectations.creation_observed(&key);
    assert!(expectations.are_satisfied(&key));
}

/// kube-controller-manager: TestUIDExpectations
#[tokio::test(start_paused = true)]
async fn deletion_counts_once() {
    let (expectations, _queue) = connected();
    let key = name("default/a");
    expectations.expect_deletions(&key, ["x", "y"]);
    expectations.deletion_observed(&key, "x");
    expectations.deletion_observed(&key, "x");
    expectations.deletion_observed(&key, "unknown");
    assert!(!expectations.are_satisfied(&key));
    expectations.deletion_observed(&key, "y");
    assert!(expectations.are_satisfied(&key));
}

/// kube-controller-manager: TestControllerExpectations, its expiry.
#[tokio::test(start_paused = true)]
async fn expectations_expire_after_five_minutes_and_enqueue_the_key() {
    let (expectations, queue) = connected();
    let key = name("default/a");
    expectations.expect_creations(&key, 1);
    assert!(!expectations.are_satisfied(&key));
    sleep(Duration::from_secs(299)).await;
    assert!(!is_enqueued(&queue).await);
    assert!(!expectations.are_satisfied(&key));
    sleep(Duration::from_secs(2)).await;
    assert!(is_enqueued(&queue).await);
    assert!(expectations.are_satisfied(&key));
}

/// A key with fulfilled expectations is not enqueued again at the time of their expiry.
#[tokio::test(start_paused = true)]
async fn fulfilled_expectations_do_not_expire() {
    let (expectations, queue) = connected();
    let (key, late) = (name("default/a"), name("default/late"));
    expectations.expect_creations(&late, 1);
    sleep(Duration::from_secs(100)).await;
    expectations.expect_creations(&key, 1);
    assert!(!expectations.are_satisfied(&key));
    assert!(
        !expectations.are_satisfied(&late),
        "it expires earlier, and is awaited later"
    );
    sleep(Duration::from_secs(1)).await;
    expectations.creation_observed(&key);
    assert!(is_enqueued(&queue).await);
    let begin = Instant::now();
    assert_eq!(
        timeout(Duration::from_mins(10), queue.get()).await,
        Ok(Some(late))
    );
    assert!(
        begin.elapsed() > Duration::from_secs(195),
        "{:?}",
        begin.elapsed()
    );
    assert!(timeout(Duration::from_mins(10), queue.get()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn key_that_does_not_await_its_expectations_is_not_enqueued() {
    let (expectations, queue) = connected();
    let key = name("default/a");
    expectations.expect_creations(&key, 1);
    expectations.creation_observed(&key);
    sleep(Duration::from_mins(10)).await;
    assert!(!is_enqueued(&queue).await);
}

/// kube-controller-manager: TestSlowStartBatch
#[tokio::test(start_paused = true)]
async fn creations_start_slowly_and_stop_at_the_first_batch_with_a_failure() {
    for (what, limit, successes, calls) in [
        ("all fail", 0, 0, 1),
        ("all succeed", 10, 10, 10),
        ("some succeed: 1 + 2 + 4", 5, 5, 7),
    ] {
        let (expectations, _queue) = connected();
        let key = name("default/a");
        let (called, at_once) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let most = AtomicUsize::new(0);
        let created = expectations.create(&key, 10, |number| {
            let (called, at_once, most) = (&called, &at_once, &most);
            async move {
                most.fetch_max(at_once.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                sleep(millis(1)).await;
                at_once.fetch_sub(1, Ordering::Relaxed);
                if called.fetch_add(1, Ordering::Relaxed) < limit {
                    Ok(number)
                } else {
                    Err(rejected(403, "Forbidden"))
                }
            }
        });
        let created = created.await;
        assert_eq!(called.load(Ordering::Relaxed), calls, "{what}");
        assert_eq!(created.is_ok(), successes == 10, "{what}");
        if let Ok(created) = created {
            assert_eq!(created.into_iter().collect::<BTreeSet<_>>(), (0..10).collect());
            assert_eq!(most.load(Ordering::Relaxed), 4, "batches of 1, 2, 4 and 3");
        }
        for observed in 0..successes {
            assert!(
                !expectations.are_satisfied(&key),
                "{what}: {observed} of {successes} were observed"
            );
            expectations.creation_observed(&key);
        }
        assert!(
            expectations.are_satisfied(&key),
            "{what}: rejected and unsent creations are not expected"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn creation_without_an_answer_is_still_expected() {
    for (error, is_expected) in [
        (lost as fn() -> ClientError, true),
        (|| rejected(504, "Timeout"), true),
        (|| rejected(409, "AlreadyExists"), false),
    ] {
        let (expectations, _queue) = connected();
        let key = name("default/a");
        let created = expectations
            .create(&key, 3, |_| async { Err::<(), _>(error()) })
            .await;
        assert!(created.is_err());
        assert_eq!(!expectations.are_satisfied(&key), is_expected, "{:?}", error());
        if is_expected {
            expectations.creation_observed(&key);
            assert!(
                expectations.are_satisfied(&key),
                "one, not three: the others were not sent"
            );
        }
    }
}

/// A reconcile that is cancelled between two batches still expects the creations that it sent.
#[tokio::test(start_paused = true)]
async fn sent_creations_of_a_cancelled_reconcile_are_expected() {
    let (expectations, _queue) = connected();
    let key = name("default/a");
    let slow = expectations.create(&key, 7, |number| async move {
        if number > 0 {
            sleep(Duration::from_hours(1)).await;
        }
        Ok(())
    });
    assert!(timeout(millis(10), slow).await.is_err());
    for _ in 0..3 {
        assert!(!expectations.are_satisfied(&key));
        expectations.creation_observed(&key);
    }
    assert!(
        expectations.are_satisfied(&key),
        "1 was created, 2 may have been, 4 were not sent"
    );
}

#[tokio::test(start_paused = true)]
async fn deletions_are_expected_unless_they_were_rejected() {
    let (expectations, _queue) = connected();
    let key = name("default/a");
    let answers = |uid: &str| match uid {
        "gone" => Err(rejected(404, "NotFound")),
        "mine" => Err(rejected(403, "Forbidden")),
        "lost" => Err(lost()),
        _ => Ok(()),
    };
    let deleted = expectations.delete(&key, ["ok", "gone"], |uid| {
        let answer = answers(uid);
        async { answer }
    });
    deleted.await.unwrap();
    expectations.deletion_observed(&key, "ok");
    assert!(
        expectations.are_satisfied(&key),
        "a missing object is neither expected nor an error"
    );
    let deleted = expectations.delete(&key, ["lost", "mine"], |uid| {
        let answer = answers(uid);
        async { answer }
    });
    assert!(deleted.await.is_err());
    assert!(!expectations.are_satisfied(&key));
    expectations.deletion_observed(&key, "lost");
    assert!(expectations.are_satisfied(&key));
}

fn child(uid: &str, is_deleting: bool) -> Object<ConfigMap> {
    let mut metadata = json!({"name": "child", "namespace": "default", "uid": uid, "resourceVersion": "1"});
    if is_deleting {
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    let informer = factory().of::<ConfigMap>();
    informer
        .seed(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
        .unwrap();
    informer.lister().object(&name("default/child")).unwrap()
}

/// kube-controller-manager: TestDeletionTimestamp, TestUpdatePods and others of the ReplicaSet controller
#[tokio::test(start_paused = true)]
async fn changes_of_objects_are_observed() {
    let (one, two, going) = (child("1", false), child("2", false), child("1", true));
    let (one, two, going) = (one.metadata(), two.metadata(), going.metadata());
    let is_in_initial_list = false;
    for (what, change, creations, deletions) in [
        (
            "added",
            Change::Added {
                new: one,
                is_in_initial_list,
            },
            1,
            0,
        ),
        (
            "added while being deleted",
            Change::Added {
                new: going,
                is_in_initial_list,
            },
            0,
            1,
        ),
        (
            "marked as being deleted",
            Change::Updated { old: one, new: going },
            0,
            1,
        ),
        ("updated", Change::Updated { old: one, new: one }, 0, 0),
        ("recreated", Change::Updated { old: one, new: two }, 1, 1),
        (
            "deleted",
            Change::Deleted {
                old: one,
                final_state_known: false,
            },
            0,
            1,
        ),
    ] {
        let (expectations, _queue) = connected();
        let (created, deleted) = (name("default/creates"), name("default/deletes"));
        expectations.expect_creations(&created, 1);
        expectations.expect_deletions(&deleted, ["1"]);
        expectations.observe(&change, || vec![created.clone(), deleted.clone()]);
        assert_eq!(expectations.are_satisfied(&created), creations == 1, "{what}");
        assert_eq!(expectations.are_satisfied(&deleted), deletions == 1, "{what}");
    }
}
