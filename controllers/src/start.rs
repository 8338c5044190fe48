//! Runs controllers within another program.

use std::time::Duration;

use kubewright::{Manager, kube, tokio_util::sync::CancellationToken};
use tokio::{sync::oneshot, task::JoinError, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::{Options, UnknownController, register};

/// The name of the user agent and of the field manager: that of upstream's.
const NAME: &str = "kube-controller-manager";
/// How long [`start`] waits for the caches of all controllers.
const CACHE_SYNC_TIMEOUT: Duration = Duration::from_secs(30);
/// The manager's flags. They override the environment, which is meant for the program's own operator, if it is one.
const ARGS: [&str; 9] = [
    "--leader-elect=false",
    "--health-bind-address=0",
    "--metrics-bind-address=0",
    "--debug-page=false",
    "--watch-namespace=",
    "--controllers=",
    "--kube-api-qps=0",
    "--grace-period=10s",
    "--log-level=info",
];

/// Controllers that run in this process. They stop when the value is dropped; [`stop`](Self::stop) lets running reconciles end first.
#[must_use = "the controllers stop when this value is dropped"]
#[derive(Debug)]
pub struct Controllers {
    stop: CancellationToken,
    task: AbortOnDropHandle<Result<(), kubewright::Error>>,
}

/// Why the controllers do not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A selected name is that of no controller.
    #[error(transparent)]
    Unknown(#[from] UnknownController),
    /// The manager failed.
    #[error(transparent)]
    Manager(#[from] kubewright::Error),
    /// The manager's task panicked.
    #[error("the controllers ended: {0}")]
    Task(#[from] JoinError),
    /// The manager was stopped before the controllers ran.
    #[error("the controllers were stopped while they started")]
    Stopped,
}

/// Starts controllers in this process, with kube-controller-manager's defaults. `names` selects them as its flag `--controllers` does: `*`,
/// `*,-job`, `deployment,replicaset`. See [`start_with`].
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let config = kube::Config::infer().await?;
/// let controllers = kubewright_controllers::start(config, "deployment,replicaset").await?;
/// // … Deployments get pods …
/// controllers.stop().await?;
/// # Ok(())
/// # }
/// ```
pub async fn start(config: kube::Config, names: &str) -> Result<Controllers, StartError> {
    start_with(config, Options::default().select(names)?).await
}

/// Starts controllers in this process. They share one connection and its credentials, which need the permissions of all of them. They serve no
/// ports and take part in no leader election: do not run them beside others for the same kinds.
///
/// Returns when the caches of all controllers have synced. It waits for an API server that cannot be reached yet; dropping the future ends
/// that. Controllers of kinds that the API server does not serve delay the return for 30 seconds, and do not stop the others.
///
/// # Panics
///
/// Panics outside of a tokio runtime with time and I/O.
pub async fn start_with(config: kube::Config, options: Options) -> Result<Controllers, StartError> {
    let stop = CancellationToken::new();
    let (started, synced) = oneshot::channel();
    let manager = Manager::new(NAME)
        .with_config(config)
        .with_args(ARGS)
        .stop_on(&stop)
        .register(move |setup| {
            register(setup, &options);
            let informers = setup.informers().clone();
            setup.runnable("start", async move |stop| {
                let synced = timeout(CACHE_SYNC_TIMEOUT, informers.wait_for_cache_sync());
                if let Some(Err(_)) = stop.run_until_cancelled(synced).await {
                    tracing::warn!("some caches have not synced: their controllers start when they have");
                }
                // Without a receiver, the caller does not wait any more.
                let _ = started.send(());
                Ok(())
            });
        });
    let task = AbortOnDropHandle::new(tokio::spawn(manager.run()));
    if synced.await.is_err() {
        // The manager has dropped the sender: it ends.
        task.await??;
        return Err(StartError::Stopped);
    }
    Ok(Controllers { stop, task })
}

impl Controllers {
    /// Stops the controllers, and returns when they have ended. Running reconciles get up to ten seconds. Returns the error if the controllers
    /// had failed before, or reconciles were cancelled.
    pub async fn stop(self) -> Result<(), StartError> {
        self.stop.cancel();
        self.task.await??;
        Ok(())
    }
}
