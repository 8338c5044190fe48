//! What is logged.

use std::sync::Arc;

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::time::sleep;

use super::{super::*, millis, start};

/// Collects what is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_logged_with_their_key_cause_and_delay() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    // While there is only one subscriber, tracing asks that of the thread that comes first to a callsite, which may be another test's: none.
    let _second = tracing::Dispatch::new(tracing_subscriber::fmt().with_writer(std::io::sink).finish());
    let _guard = tracing::subscriber::set_default(subscriber);
    let running = start(1, millis(0), |_, call| {
        async move {
            match call {
                1 => Err(ReconcileError::new("disk full")),
                2 => panic!("slot {} is taken", 7),
                _ => Err(ReconcileError::new("no such size").terminal()),
            }
        }
        .boxed()
    });
    running.add("default/a");
    sleep(millis(100)).await;
    running.stop().await;
    let log = String::from_utf8(log.0.lock().clone()).unwrap();
    let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(errors.len(), 3, "{log}");
    for line in &errors {
        for field in [
            "controller=\"test\"",
            "namespace=\"default\"",
            "name=\"a\"",
            "reconcile_id=",
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
            "reconcile failed for good",
            "error=no such size",
            "not retried",
            "",
        ],
    ]) {
        assert!(fields.iter().all(|field| line.contains(field)), "{line}");
    }
}
