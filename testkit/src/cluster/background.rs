//! Threads of their own for the embedded server: it answers while the test's thread waits.

use std::future::Future;
use std::io;
use std::sync::mpsc;
use tokio::runtime::{Builder, Runtime};

/// A tokio runtime that may be waited for, and dropped, anywhere: within another runtime, too.
#[derive(Debug)]
pub(super) struct Background(Option<Runtime>);

impl Background {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("kubewright-testkit")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    /// Blocks the thread until the work is done. The error is a panic of the work.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        if let Some(runtime) = &self.0 {
            runtime.spawn(async move {
                // Nobody has stopped waiting.
                let _ = sender.send(work.await);
            });
        }
        receiver
            .recv()
            .map_err(|_| io::Error::other("a task of the cluster has panicked"))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
