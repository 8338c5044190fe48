//! The manager's two servers: health checks and metrics.

use std::{net::SocketAddr, sync::Arc};

use http::StatusCode;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{
    Error,
    address::BindAddress,
    component::RunningComponent,
    health::{self, Checks},
    server::{HttpHandler, HttpServer},
    task_group::TaskGroup,
};
use crate::{
    ApiResource,
    cache::SharedInformerFactory,
    controller::{HealthCheck, Probe},
};

/// How long running requests may take to finish when the servers close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Why the operator is not ready; none when it is ready.
pub(super) type NotReadyReason = Arc<Mutex<Option<&'static str>>>;

/// The health and the metrics server.
#[derive(Default)]
pub(super) struct ManagerServers {
    group: TaskGroup,
    stop: CancellationToken,
    /// None: plain HTTP.
    tls: Option<TlsAcceptor>,
}

impl ManagerServers {
    /// Servers that are not started yet, with TLS if there is an acceptor.
    pub(super) fn new(tls: Option<TlsAcceptor>) -> Self {
        Self {
            tls,
            ..Self::default()
        }
    }

    /// Starts a server on `address`, or on the default for `port` if the flag is not set. `handler` gets the address that was bound.
    pub(super) async fn start(
        &mut self,
        what: &'static str,
        address: Option<BindAddress>,
        in_cluster: bool,
        port: u16,
        handler: impl FnOnce(SocketAddr) -> HttpHandler,
    ) -> Result<(), Error> {
        // In a pod, probes and scrapes come from outside. On a workstation a fixed port may be in use.
        let address = address.unwrap_or_else(|| {
            let (host, port) = if in_cluster {
                (None, port)
            } else {
                (Some("127.0.0.1".to_owned()), 0)
            };
            BindAddress::At { host, port }
        });
        let flag = if what == "metrics" {
            "--metrics-bind-address"
        } else {
            "--health-bind-address"
        };
        let failed = |source| Error::Listen {
            what,
            address: address.to_string(),
            flag,
            source,
        };
        let Some(listener) = address.listen().await.map_err(failed)? else {
            return Ok(());
        };
        let local = listener.local_addr().map_err(failed)?;
        let server = HttpServer::new(listener, handler(local), self.tls.clone());
        info!(address = %local, "serving {what}");
        let stop = self.stop.clone();
        self.group.spawn(what, async move {
            server.run(stop).await;
            Ok(())
        });
        Ok(())
    }

    /// Closes the servers; running requests may finish.
    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        self.group.drain(Instant::now() + CLOSE_TIMEOUT).await;
    }
}

/// Handles with `first`, and with `then` what `first` does not find.
pub(super) fn either(first: HttpHandler, then: HttpHandler) -> HttpHandler {
    Arc::new(move |uri| {
        let response = first(uri);
        if response.status == StatusCode::NOT_FOUND {
            return then(uri);
        }
        response
    })
}

/// How long an informer's watch may be down before its controllers are unready. A lost watch usually reopens within 30 s.
pub(super) const WATCH_OUTAGE_MAX: Duration = Duration::from_mins(1);

/// Serves the health checks: live as long as the server responds; ready once the operator has started, and while the informers of every
/// controller and component are up to date. Losing the API server does not fail liveness: a restart would not help.
pub(super) fn health_handler(
    not_ready: &NotReadyReason,
    informers: &SharedInformerFactory,
    controllers: Vec<(String, Vec<ApiResource>)>,
    components: Vec<RunningComponent>,
    users: Vec<HealthCheck>,
) -> HttpHandler {
    let not_ready = not_ready.clone();
    let started = move || (*not_ready.lock()).map_or(Ok(()), |reason| Err(reason.to_owned()));
    let mut livez = Checks::default().with("ping", || Ok(()));
    let mut readyz = Checks::default().with("operator", started);
    for (controller, kinds) in controllers {
        let informers = informers.clone();
        readyz = readyz.with(format!("controller-{controller}"), move || {
            kinds
                .iter()
                .try_for_each(|kind| informers.check(kind, WATCH_OUTAGE_MAX))
        });
    }
    for component in components {
        readyz = readyz.with(format!("component-{}", component.name), move || component.check());
    }
    let all_informers = informers.clone();
    readyz = readyz.with("caches", move || {
        let unsynced = all_informers.unsynced();
        if unsynced.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = unsynced.iter().map(ApiResource::group_resource).collect();
        Err(format!("waiting for cache sync of {}", names.join(", ")))
    });
    for HealthCheck { probe, name, check } in users {
        match probe {
            Probe::Live => livez = livez.with(name, check),
            Probe::Ready => readyz = readyz.with(name, check),
        }
    }
    health::handler(livez, readyz)
}
