//! The operator's two servers, health checks and metrics.

use std::{net::SocketAddr, sync::Arc};

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{
    Error,
    address::BindAddress,
    health::{self, Checks},
    server::{Handler, Server},
    task_group::Group,
};
use crate::{
    ApiResource,
    cache::SharedInformerFactory,
    controller::{HealthCheck, Probe},
};

/// Why the operator is not ready; none when it is.
pub(super) type Readiness = Arc<Mutex<Option<&'static str>>>;

/// The health and the metrics server.
#[derive(Default)]
pub(super) struct Servers {
    group: Group,
    stop: CancellationToken,
}

impl Servers {
    /// Starts a server, on `port` unless the flag says otherwise. `handler` is made for the address where it listens.
    pub(super) async fn start(
        &mut self,
        what: &'static str,
        address: Option<BindAddress>,
        in_cluster: bool,
        port: u16,
        handler: impl FnOnce(SocketAddr) -> Handler,
    ) -> Result<(), Error> {
        // Probes and scrapers come from outside the pod; on a desk nobody does, and the port may be taken.
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
        let server = Server::new(listener, handler(local));
        info!(address = %local, "serving {what}");
        let stop = self.stop.clone();
        self.group.spawn(what, async move {
            server.run(stop).await;
            Ok(())
        });
        Ok(())
    }

    /// Closes the servers; a request that is being answered may end.
    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        self.group.drain(Instant::now() + Duration::from_secs(1)).await;
    }
}

/// A watch that was lost is opened again within half a minute, unless something is wrong.
const PATIENCE: Duration = Duration::from_mins(1);

/// Serves the health checks: alive as long as it answers; ready once nothing keeps the operator from being so, and while the informers
/// of every controller are up to date. A lost API server makes no replica start again: that would help nobody.
pub(super) fn health_handler(
    readiness: &Readiness,
    informers: &SharedInformerFactory,
    controllers: Vec<(String, Vec<ApiResource>)>,
    users: Vec<HealthCheck>,
) -> Handler {
    let readiness = readiness.clone();
    let started = move || (*readiness.lock()).map_or(Ok(()), |reason| Err(reason.to_owned()));
    let mut livez = Checks::default().with("ping", || Ok(()));
    let mut readyz = Checks::default().with("operator", started);
    for (controller, kinds) in controllers {
        let informers = informers.clone();
        readyz = readyz.with(format!("controller-{controller}"), move || {
            kinds.iter().try_for_each(|kind| informers.check(kind, PATIENCE))
        });
    }
    let rest = informers.clone();
    readyz = readyz.with("caches", move || {
        let waiting = rest.unsynced();
        if waiting.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = waiting.iter().map(ApiResource::group_resource).collect();
        Err(format!("waiting for the first list of {}", names.join(", ")))
    });
    for HealthCheck { probe, name, check } in users {
        match probe {
            Probe::Live => livez = livez.with(name, check),
            Probe::Ready => readyz = readyz.with(name, check),
        }
    }
    health::handler(livez, readyz)
}
