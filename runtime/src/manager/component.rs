//! The running components of an operator: when each starts, what it acts as, and why it is not ready.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use tracing::{error, info};

use super::{Error, error::with_sources, servers::WATCH_OUTAGE_MAX};
use crate::{
    cache::{InformerHandle, SharedInformerFactory},
    client::{Connection, ServiceAccountToken, with_controller_agent},
    controller::{Component, RegisteredComponents, Runnable},
    panics,
};

/// A component of a running operator. Cloning copies pointers.
#[derive(Clone)]
pub(super) struct RunningComponent {
    pub(super) name: Arc<str>,
    pub(super) informers: Arc<[InformerHandle]>,
    factory: SharedInformerFactory,
    failure: Arc<Mutex<Option<String>>>,
    synced: Shared<BoxFuture<'static, ()>>,
    current: Shared<BoxFuture<'static, ()>>,
}

impl RunningComponent {
    pub(super) fn new(component: Component, factory: &SharedInformerFactory) -> Self {
        let Component { name, informers, .. } = component;
        let informers: Arc<[InformerHandle]> = informers.into();
        let synced = {
            let (factory, informers, name) = (factory.clone(), informers.clone(), name.clone());
            async move {
                factory.wait_for_cache_sync_of(&informers).await;
                info!(component = &*name, "caches are synced");
            }
        };
        let synced = synced.boxed().shared();
        let current = {
            let (factory, informers, synced) = (factory.clone(), informers.clone(), synced.clone());
            async move {
                synced.await;
                factory.wait_until_current_of(&informers).await;
            }
        };
        Self {
            name,
            informers,
            factory: factory.clone(),
            failure: Arc::default(),
            synced,
            current: current.boxed().shared(),
        }
    }

    /// Completes when its caches have synced.
    pub(super) fn synced(&self) -> Shared<BoxFuture<'static, ()>> {
        self.synced.clone()
    }

    /// Waits until its caches are at least as new as a quorum list at the time of the first call. Call it when this replica leads.
    pub(super) async fn wait_until_current(&self) {
        self.current.clone().await;
    }

    /// The readiness check: why it does not work, or works with old caches.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(failure) = &*self.failure.lock() {
            return Err(failure.clone());
        }
        self.informers
            .iter()
            .try_for_each(|informer| self.factory.check(informer.info(), WATCH_OUTAGE_MAX))
    }

    /// Returns a runnable of the component that starts when its caches have synced, and does not stop the operator when it fails.
    pub(super) fn wrap(&self, runnable: Runnable) -> Runnable {
        let (component, runnable_name) = (self.clone(), runnable.name().to_owned());
        let start = if runnable.is_leader_only() {
            self.current.clone()
        } else {
            self.synced.clone()
        };
        runnable.wrapped(move |run, stop| async move {
            if stop.run_until_cancelled(start).await.is_none() {
                return Ok(());
            }
            let run = with_controller_agent(&component.name, run(stop));
            let reason = match AssertUnwindSafe(run).catch_unwind().await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => with_sources(&*error),
                Err(panic) => format!("panicked: {}", panics::message(&*panic)),
            };
            error!(
                component = &*component.name,
                runnable = runnable_name,
                reason,
                "runnable failed: the component goes on without it"
            );
            component
                .failure
                .lock()
                .get_or_insert(format!("runnable {runnable_name:?} failed: {reason}"));
            Ok(())
        })
    }
}

/// Connects the clients of the components as `connection` is, or with `config` as the service account of each.
pub(super) fn connect_components(
    components: &RegisteredComponents,
    connection: &Connection,
    config: Option<&kube::Config>,
    user_agent: &str,
) -> Result<(), Error> {
    let Some(namespace) = &components.service_accounts else {
        for component in &components.all {
            component.connection.connect_to(connection);
        }
        return Ok(());
    };
    let config = config.ok_or(Error::ServiceAccountsOfClient)?;
    for component in &components.all {
        let Some(account) = &component.service_account else {
            component.connection.connect_to(connection);
            continue;
        };
        let token = ServiceAccountToken::new(connection.kube_client(), namespace, account);
        component
            .connection
            .connect_to(&Connection::connect_as(config.clone(), user_agent, token)?);
    }
    Ok(())
}
