//! The operator's two servers, health checks and metrics.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{
    Error,
    address::BindAddress,
    group::Group,
    health::{self, Checks},
    server::{Handler, Server},
};
use crate::{KindInfo, cache::SharedInformerFactory};

/// Why the operator is not ready; none when it is.
pub(super) type Readiness = Arc<Mutex<Option<&'static str>>>;

/// The health and the metrics server.
#[derive(Default)]
pub(super) struct Servers {
    group: Group,
    stop: CancellationToken,
}

impl Servers {
    /// Starts a server, on `port` unless the flag says otherwise.
    pub(super) async fn start(
        &mut self,
        what: &'static str,
        address: Option<BindAddress>,
        in_cluster: bool,
        port: u16,
        handler: Handler,
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
        let server = Server::new(listener, handler);
        let local = server.local_address().map_err(failed)?;
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

/// Serves the health checks: alive as long as it answers, ready once nothing keeps the operator from being so.
pub(super) fn health_handler(readiness: &Readiness, informers: &SharedInformerFactory) -> Handler {
    let (readiness, informers) = (readiness.clone(), informers.clone());
    let started = move || (*readiness.lock()).map_or(Ok(()), |reason| Err(reason.to_owned()));
    let caches = move || {
        let waiting = informers.unsynced();
        if waiting.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = waiting.iter().map(KindInfo::group_resource).collect();
        Err(format!("waiting for the first list of {}", names.join(", ")))
    };
    let healthz = Checks::default().with("ping", || Ok(()));
    health::handler(
        healthz,
        Checks::default().with("operator", started).with("caches", caches),
    )
}
