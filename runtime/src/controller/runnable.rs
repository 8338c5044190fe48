//! Runnables: tasks that the manager runs beside the controllers.

use std::{error::Error, fmt};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

type RunResult = Result<(), Box<dyn Error + Send + Sync>>;
pub(crate) type BoxRun = Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, RunResult> + Send>;

/// A task that the manager starts before the controllers; see [`Setup::runnable`](super::Setup::runnable).
pub struct Runnable {
    name: String,
    group: Option<String>,
    leader_only: bool,
    before_controllers: bool,
    ready: Option<BoxFuture<'static, ()>>,
    run: BoxRun,
    /// The index of the component that it is part of.
    pub(crate) component: Option<usize>,
}

impl Runnable {
    pub(crate) fn new<F, R>(name: String, run: F) -> Self
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
            component: None,
        }
    }

    /// Starts it only while this replica is the leader. By default it runs in every replica.
    pub fn leader_only(&mut self) -> &mut Self {
        self.leader_only = true;
        self
    }

    /// Delays the controllers until it has returned. For preconditions of the first reconcile.
    pub fn before_controllers(&mut self) -> &mut Self {
        self.before_controllers = true;
        self
    }

    /// Puts it into a group. Groups start one after the other, in the order in which they are first named, and stop in reverse order.
    ///
    /// A group starts when the runnables of the group before it that are [`before_controllers`](Self::before_controllers) have returned, and
    /// those with [`ready_when`](Self::ready_when) are ready. At shutdown the controllers stop first, and a group stops when the group after
    /// it has ended.
    ///
    /// A group can contain runnables of every replica and [`leader_only`](Self::leader_only) ones: the former start before leader election,
    /// the latter start, in the same order, when the replica becomes leader, and stop before it gives up the lease. Runnables without a
    /// group start before all groups, which do not wait for them, and stop with the controllers.
    pub fn group(&mut self, name: impl Into<String>) -> &mut Self {
        self.group = Some(name.into());
        self
    }

    /// Delays the next [group](Self::group) and the controllers until `ready` completes, for example until a server listens.
    pub fn ready_when(&mut self, ready: impl Future<Output = ()> + Send + 'static) -> &mut Self {
        self.ready = Some(Box::pin(ready));
        self
    }

    /// Returns the name, for logs and errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of its [`group`](Self::group).
    pub fn group_name(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// Takes the future of [`ready_when`](Self::ready_when).
    pub fn take_ready(&mut self) -> Option<BoxFuture<'static, ()>> {
        self.ready.take()
    }

    /// Whether it is [`leader_only`](Self::leader_only).
    pub fn is_leader_only(&self) -> bool {
        self.leader_only
    }

    /// Whether it is [`before_controllers`](Self::before_controllers).
    pub fn is_before_controllers(&self) -> bool {
        self.before_controllers
    }

    /// Whether groups or controllers may wait for it.
    pub(super) fn delays_others(&self) -> bool {
        self.group.is_some() || self.before_controllers || self.ready.is_some()
    }

    /// Returns the same runnable; `around` runs it, and decides about its failure.
    pub(crate) fn wrapped<R>(
        self,
        around: impl FnOnce(BoxRun, CancellationToken) -> R + Send + 'static,
    ) -> Self
    where
        R: Future<Output = RunResult> + Send + 'static,
    {
        let run = self.run;
        Self {
            run: Box::new(move |stop| Box::pin(around(run, stop))),
            ..self
        }
    }

    /// Runs it. It should end soon after `stop` is cancelled; an error stops the operator.
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
