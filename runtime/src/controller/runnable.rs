//! What runs beside the controllers.

use std::{error::Error, fmt};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

type Run =
    dyn FnOnce(CancellationToken) -> BoxFuture<'static, Result<(), Box<dyn Error + Send + Sync>>> + Send;

/// Something that the manager starts before the controllers; see [`Setup::runnable`](super::Setup::runnable).
pub struct Runnable {
    name: String,
    leader_only: bool,
    before_controllers: bool,
    run: Box<Run>,
}

impl Runnable {
    pub(super) fn new<F, R>(name: String, run: F) -> Self
    where
        F: FnOnce(CancellationToken) -> R + Send + 'static,
        R: Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        Self {
            name,
            leader_only: false,
            before_controllers: false,
            run: Box::new(move |stop| Box::pin(run(stop))),
        }
    }

    /// Starts it only while this replica leads. Without this it runs in every replica.
    pub fn leader_only(&mut self) -> &mut Self {
        self.leader_only = true;
        self
    }

    /// Lets the controllers wait until it has returned: for what must be there before the first reconcile.
    pub fn before_controllers(&mut self) -> &mut Self {
        self.before_controllers = true;
        self
    }

    /// The name, for logs and errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// See [`leader_only`](Self::leader_only).
    pub fn is_leader_only(&self) -> bool {
        self.leader_only
    }

    /// See [`before_controllers`](Self::before_controllers).
    pub fn is_before_controllers(&self) -> bool {
        self.before_controllers
    }

    /// Runs it. It should end soon after `stop` was cancelled; an error ends the operator.
    pub fn run(
        self,
        stop: CancellationToken,
    ) -> BoxFuture<'static, Result<(), Box<dyn Error + Send + Sync>>> {
        (self.run)(stop)
    }
}

impl fmt::Debug for Runnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runnable")
            .field("name", &self.name)
            .field("leader_only", &self.leader_only)
            .field("before_controllers", &self.before_controllers)
            .finish_non_exhaustive()
    }
}
