//! Log lines of reconciles.

use std::sync::Arc;

use futures::FutureExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::core::Status;
use tokio::time::sleep;

use super::{super::*, millis, start};
use crate::{
    Kind,
    client::{ApiRequest, ClientError, ClientErrorCause},
    test_log::CollectedLog,
};

/// Returns the log while the calls of one key return `results`.
async fn logged(results: impl Fn(usize) -> Result<Action, ReconcileError> + Send + Sync + 'static) -> String {
    let log = CollectedLog::start(tracing::Level::INFO);
    let results = Arc::new(results);
    let running = start(1, millis(0), move |_, call| {
        let results = results.clone();
        async move { results(call) }.boxed()
    });
    running.add("default/a");
    sleep(millis(500)).await;
    running.stop().await;
    log.text()
}

/// The API server's answer to a write with an outdated resource version.
fn conflict() -> ClientError {
    let call = ApiRequest::new(Deployment::info(), "update", None).unwrap();
    let status = Status::failure("the object has been modified", "Conflict").with_code(409);
    call.fail(ClientErrorCause::Refused(Box::new(status)))
}

#[tokio::test(start_paused = true)]
async fn conflict_is_logged_as_error_only_if_it_lasts() {
    let log = logged(|call| match call {
        1..=6 => Err(conflict().into()),
        _ => Ok(Action::await_change()),
    })
    .await;
    let lines = |part: &str| log.lines().filter(|line| line.contains(part)).count();
    assert_eq!((lines("failed with a conflict"), lines("ERROR")), (5, 1), "{log}");
    let last = log.lines().find(|line| line.contains("ERROR")).unwrap();
    assert!(
        last.contains("reconcile failed") && last.contains("failures=6"),
        "{last}"
    );
}

#[tokio::test(start_paused = true)]
async fn failures_are_logged_with_their_key_cause_and_delay() {
    let log = logged(|call| match call {
        1 => Err(ReconcileError::new("disk full")),
        2 => panic!("slot {} is taken", 7),
        _ => Err(ReconcileError::new("no such size").terminal()),
    })
    .await;
    let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(errors.len(), 3, "{log}");
    for line in &errors {
        for field in [
            "controller=\"test\"",
            "namespace=\"default\"",
            "name=\"a\"",
            "controllerGroup=\"apps\"",
            "controllerKind=\"Deployment\"",
            "reconcileID=",
        ] {
            assert!(line.contains(field), "{line}");
        }
    }
    for (line, fields) in errors.iter().zip([
        [
            "reconcile failed",
            "error=disk full",
            "retry_in=5ms",
            "failures=1",
        ],
        [
            "reconcile panicked",
            "error=\"slot 7 is taken\"",
            "retry_in=10ms",
            "failures=2",
        ],
        [
            "reconcile failed with a terminal error",
            "error=no such size",
            "not retried",
            "",
        ],
    ]) {
        assert!(fields.iter().all(|field| line.contains(field)), "{line}");
    }
}
