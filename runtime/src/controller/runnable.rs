//! What runs beside the controllers.

use std::{error::Error, fmt};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

type Run =
    dyn FnOnce(CancellationToken) -> BoxFuture<'static, Result<(), Box<dyn Error + Send + Sync>>> + Send;

/// Something that the manager starts before the controllers; see [`Setup::runnable`](super::Setup::runnable).
pub struct Runnable {
    name: String,
    group: Option<String>,
    leader_only: bool,
    before_controllers: bool,
    ready: Option<BoxFuture<'static, ()>>,
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
            group: None,
            leader_only: false,
            before_controllers: false,
            ready: None,
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

    /// Puts it into a group. Groups are started one after the other, in the order in which they are first named, and stopped in the
    /// opposite order: the next one starts when those of this one that are [`before_controllers`](Self::before_controllers) have
    /// returned, and those that say when they are [ready](Self::ready_when) are so; on the way back, controllers end first, and a group is
    /// told to stop when the one after it has ended.
    ///
    /// A group may have runnables of every replica and such that are [`leader_only`](Self::leader_only): the groups of every replica
    /// stand before it asks for the lease, those of the leader are started, in their order, when it has it, and stopped before.
    /// Runnables without a group are started before all groups, which do not wait for them, and are told to stop with the controllers.
    pub fn group(&mut self, name: impl Into<String>) -> &mut Self {
        self.group = Some(name.into());
        self
    }

    /// What comes after it, the next [group](Self::group) and the controllers, waits until `ready` ends: that a server listens, say.
    pub fn ready_when(&mut self, ready: impl Future<Output = ()> + Send + 'static) -> &mut Self {
        self.ready = Some(Box::pin(ready));
        self
    }

    /// The name, for logs and errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// See [`group`](Self::group).
    pub fn group_name(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// Hands out what [`ready_when`](Self::ready_when) was given.
    pub fn take_ready(&mut self) -> Option<BoxFuture<'static, ()>> {
        self.ready.take()
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
            .field("group", &self.group)
            .field("leader_only", &self.leader_only)
            .field("before_controllers", &self.before_controllers)
            .finish_non_exhaustive()
    }
}
