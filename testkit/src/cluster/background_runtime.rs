//! A background runtime for the embedded server, which responds while the test's thread blocks.

use std::future::Future;
use std::io;
use std::sync::mpsc;
use tokio::runtime::{Builder, Runtime};

/// A tokio runtime that can be blocked on, and dropped, from anywhere, including from within another runtime.
#[derive(Debug)]
pub(super) struct BackgroundRuntime(Option<Runtime>);

impl BackgroundRuntime {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("kubewright-testkit")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    /// Blocks the thread until the future completes. The error is a panic of the future.
    pub(super) fn block_on<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        if let Some(runtime) = &self.0 {
            runtime.spawn(async move {
                // The receiver is blocked on below, so it cannot be gone.
                let _ = sender.send(future.await);
            });
        }
        receiver
            .recv()
            .map_err(|_| io::Error::other("a task of the cluster has panicked"))
    }
}

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
