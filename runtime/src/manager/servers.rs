//! The manager's servers: health checks, metrics and webhooks.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    net::TcpListener,
    time::{Duration, Instant},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    Error,
    address::BindAddress,
    component::RunningComponent,
    health::{self, Checks},
    server::{HttpHandler, HttpHandlers, HttpServer},
    task_group::TaskGroup,
};
use crate::{
    ApiResource,
    cache::SharedInformerFactory,
    controller::{HealthCheck, Probe},
    webhooks::{
        certificates::CertificateKeeper,
        configurations::DEFAULT_PORT,
        router::Routes,
        server::{ServerTls, Shutdown, WebhookServer},
    },
};

/// How long running requests may take to finish when the servers close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Why the operator is not ready; none when it is ready.
pub(super) type NotReadyReason = Arc<Mutex<Option<&'static str>>>;

/// The servers of health checks, metrics and webhooks.
#[derive(Default)]
pub(super) struct ManagerServers {
    group: TaskGroup,
    /// Cancelled when the operator begins to stop.
    drain: CancellationToken,
    stop: CancellationToken,
}

impl ManagerServers {
    /// Starts a server on `address`; plain HTTP without an acceptor. `handlers` gets the address that was bound.
    pub(super) async fn start(
        &mut self,
        what: &'static str,
        address: &BindAddress,
        tls: Option<TlsAcceptor>,
        handlers: impl FnOnce(SocketAddr) -> HttpHandlers,
    ) -> Result<(), Error> {
        let flag = if what == "metrics" {
            "--metrics-bind-address"
        } else {
            "--health-bind-address"
        };
        let Some((listener, local)) = listen(what, flag, address).await? else {
            return Ok(());
        };
        let server = HttpServer::new(listener, handlers(local), tls);
        let stop = self.stop.clone();
        self.group.spawn(what, async move {
            server.run(stop).await;
            Ok(())
        });
        Ok(())
    }

    /// Starts the server of webhooks.
    pub(super) async fn start_webhooks(
        &mut self,
        address: Option<BindAddress>,
        in_cluster: bool,
        tls: ServerTls,
        routes: Routes,
    ) -> Result<(), Error> {
        let (what, flag) = ("webhooks", "--webhook-bind-address");
        if address == Some(BindAddress::Off) {
            warn!("webhooks are switched off by {flag}: the API server applies their failure policies");
            return Ok(());
        }
        let address = BindAddress::or_default(address, in_cluster, DEFAULT_PORT);
        let Some((listener, _)) = listen(what, flag, &address).await? else {
            return Ok(());
        };
        let server =
            WebhookServer::new(listener, tls, routes).map_err(|error| Error::Tls(error.to_string()))?;
        let (drain, stop) = (self.drain.clone(), self.stop.clone());
        self.group.spawn(what, async move {
            server.run(Shutdown { drain, stop }).await;
            Ok(())
        });
        Ok(())
    }

    /// Keeps the certificate of the webhooks. Until there is one, the operator is not ready.
    pub(super) fn keep_certificate(&mut self, keeper: CertificateKeeper, not_ready: NotReadyReason) {
        const WAITING: &str = "waiting for the certificate of the webhooks";
        *not_ready.lock() = Some(WAITING);
        let (serving, stop) = (keeper.serving(), self.stop.clone());
        self.group.spawn("webhook certificate", async move {
            let ready = async {
                serving.ready().await;
                // It may be stopping by now.
                let mut reason = not_ready.lock();
                if *reason == Some(WAITING) {
                    *reason = None;
                }
            };
            tokio::join!(keeper.run(stop.clone()), stop.run_until_cancelled(ready));
            Ok(())
        });
    }

    /// Reads a certificate of others again when it changes.
    pub(super) fn keep_metrics_certificate(&mut self, keeper: CertificateKeeper) {
        let stop = self.stop.clone();
        self.group.spawn("metrics certificate", async move {
            keeper.run(stop).await;
            Ok(())
        });
    }

    /// Has the API server's connections to webhooks close with their next response.
    pub(super) fn drain(&self) {
        self.drain.cancel();
    }

    /// Closes the servers; running requests may finish.
    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        self.group.drain(Instant::now() + CLOSE_TIMEOUT).await;
    }
}

/// Listens on the address of a flag. None if it is off.
async fn listen(
    what: &'static str,
    flag: &'static str,
    address: &BindAddress,
) -> Result<Option<(TcpListener, SocketAddr)>, Error> {
    let failed = |source| Error::Listen {
        what,
        address: address.to_string(),
        flag,
        source,
    };
    let Some(listener) = address.listen().await.map_err(failed)? else {
        return Ok(None);
    };
    let local = listener.local_addr().map_err(failed)?;
    info!(address = %local, "serving {what}");
    Ok(Some((listener, local)))
}

/// How long an informer's watch may be down before its controllers are unready. A lost watch usually reopens within 30 s.
pub(super) const WATCH_OUTAGE_MAX: Duration = Duration::from_mins(1);

/// What the health checks look at.
pub(super) struct HealthSources {
    /// Whether the operator is ready; with webhooks, whether it serves them.
    pub(super) not_ready: NotReadyReason,
    /// Whether its caches have synced; without webhooks the same as `not_ready`.
    pub(super) not_synced: NotReadyReason,
    pub(super) has_webhooks: bool,
    pub(super) informers: SharedInformerFactory,
    /// The kinds that each controller reconciles, owns and watches.
    pub(super) controllers: Vec<(String, Vec<ApiResource>)>,
    pub(super) components: Vec<RunningComponent>,
    pub(super) users: Vec<HealthCheck>,
}

impl HealthSources {
    /// Serves the health checks: live as long as the server responds; ready once the operator has started, and while the informers of every
    /// controller and component are up to date. Losing the API server does not fail liveness: a restart would not help.
    ///
    /// With webhooks, informers do not count for readiness: `/syncz` has their checks, in any case.
    pub(super) fn handler(self) -> HttpHandler {
        let mut livez = Checks::default().with("ping", || Ok(()));
        let syncz = self.informer_checks(started("operator", &self.not_synced));
        let mut readyz = started("operator", &self.not_ready);
        if !self.has_webhooks {
            readyz = self.informer_checks(readyz);
        }
        for HealthCheck { probe, name, check } in self.users {
            match probe {
                Probe::Live => livez = livez.with(name, check),
                Probe::Ready => readyz = readyz.with(name, check),
            }
        }
        health::handler(livez, readyz, syncz)
    }

    fn informer_checks(&self, mut checks: Checks) -> Checks {
        for (controller, kinds) in self.controllers.clone() {
            let informers = self.informers.clone();
            checks = checks.with(format!("controller-{controller}"), move || {
                kinds
                    .iter()
                    .try_for_each(|kind| informers.check(kind, WATCH_OUTAGE_MAX))
            });
        }
        for component in self.components.clone() {
            checks = checks.with(format!("component-{}", component.name), move || component.check());
        }
        let informers = self.informers.clone();
        checks.with("caches", move || {
            let unsynced = informers.unsynced();
            if unsynced.is_empty() {
                return Ok(());
            }
            let names: Vec<String> = unsynced.iter().map(ApiResource::group_resource).collect();
            Err(format!("waiting for cache sync of {}", names.join(", ")))
        })
    }
}

fn started(name: &str, reason: &NotReadyReason) -> Checks {
    let reason = reason.clone();
    Checks::default().with(name, move || {
        (*reason.lock()).map_or(Ok(()), |reason| Err(reason.to_owned()))
    })
}
