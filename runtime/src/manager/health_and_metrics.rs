//! How health checks and metrics are served: on which addresses, with which certificate, and who may get the metrics.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use tokio_rustls::TlsAcceptor;

use super::{
    Error,
    address::BindAddress,
    args::ManagerArgs,
    metrics_access::MetricsAccess,
    server::{HttpHandler, HttpHandlers},
    servers::ManagerServers,
    tls,
};
use crate::{
    Clock,
    client::Connection,
    webhooks::certificates::{CertificateKeeper, CertificateSource, ServerNames},
};

/// The default ports in a cluster.
const HEALTH_PORT: u16 = 8081;
const SECURE_METRICS_PORT: u16 = 8443;
const PLAIN_METRICS_PORT: u16 = 8080;

/// The servers of health checks and metrics, before they start.
pub(super) struct HealthAndMetrics {
    health: BindAddress,
    metrics: BindAddress,
    /// Whether metrics are served over HTTPS to authorized clients only.
    is_secure: bool,
    /// None: a self-signed certificate.
    certificates: Option<PathBuf>,
    /// The program's own certificate, for both; none: health checks are plain.
    tls: Option<TlsAcceptor>,
    /// Whether one server serves both, as kube-controller-manager's does.
    is_one_server: bool,
}

impl HealthAndMetrics {
    pub(super) fn new(args: &ManagerArgs, in_cluster: bool, tls: Option<TlsAcceptor>) -> Self {
        let (health, metrics) = (&args.health_bind_address, &args.metrics_bind_address);
        let port = match args.metrics_secure {
            Some(false) => PLAIN_METRICS_PORT,
            Some(true) | None => SECURE_METRICS_PORT,
        };
        let is_one_server = health.as_ref().is_some_and(BindAddress::has_port) && health == metrics;
        let metrics = BindAddress::or_default(metrics.clone(), in_cluster, port);
        Self {
            health: BindAddress::or_default(health.clone(), in_cluster, HEALTH_PORT),
            is_secure: metrics != BindAddress::Off && args.metrics_secure.unwrap_or(!metrics.is_loopback()),
            metrics,
            certificates: args.metrics_cert_dir.clone(),
            tls,
            is_one_server,
        }
    }

    /// Starts the servers. `metrics` gets the address that was bound. Reviews are sent with `connection`; `names` are those of a self-signed
    /// certificate.
    pub(super) async fn start(
        self,
        servers: &mut ManagerServers,
        connection: &Connection,
        (names, clock): (ServerNames, Clock),
        health: HttpHandler,
        metrics: impl FnOnce(SocketAddr) -> HttpHandler,
    ) -> Result<(), Error> {
        let access = self
            .is_secure
            .then(|| Arc::new(MetricsAccess::new(connection.kube_client())));
        let metrics_tls = match (&self.tls, self.certificates) {
            (None, Some(folder)) if self.is_secure => {
                let source = CertificateSource::Folder(folder);
                let keeper = CertificateKeeper::new(connection.clone(), source, names, clock);
                let serving = keeper.serving();
                servers.keep_metrics_certificate(keeper);
                Some(tls::acceptor_with(serving).map_err(Error::Tls)?)
            }
            (None, None) if self.is_secure => {
                let certificate = tls::self_signed(&names).map_err(Error::Tls)?;
                Some(tls::acceptor_with(certificate).map_err(Error::Tls)?)
            }
            (given, _) => given.clone(),
        };
        let of_health = HttpHandlers {
            health: Some(health),
            ..HttpHandlers::default()
        };
        let of_metrics = |address: SocketAddr, others: HttpHandlers| HttpHandlers {
            metrics: Some(metrics(address)),
            access,
            ..others
        };
        if self.is_one_server {
            let both = |address| of_metrics(address, of_health);
            let what = "health checks and metrics";
            return servers.start(what, &self.health, metrics_tls, both).await;
        }
        servers
            .start("health checks", &self.health, self.tls, |_| of_health)
            .await?;
        let only = |address| of_metrics(address, HttpHandlers::default());
        servers.start("metrics", &self.metrics, metrics_tls, only).await
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    fn planned(flags: &str, in_cluster: bool) -> HealthAndMetrics {
        let command = ManagerArgs::augment_args(Command::new("shop"));
        let line = ["shop"].into_iter().chain(flags.split_whitespace());
        let matches = command.try_get_matches_from(line).unwrap();
        let args = ManagerArgs::from_arg_matches(&matches).unwrap();
        HealthAndMetrics::new(&args, in_cluster, None)
    }

    #[test]
    fn metrics_are_secure_unless_only_this_machine_reaches_them_or_the_flag_says_so() {
        let cases = [
            ("", true, true, ":8443"),
            ("", false, false, "127.0.0.1:0"),
            ("--metrics-secure", false, true, "127.0.0.1:0"),
            ("--metrics-secure=false", true, false, ":8080"),
            ("--metrics-bind-address=0", true, false, "0"),
            ("--metrics-bind-address=127.0.0.1:9", true, false, "127.0.0.1:9"),
            ("--metrics-bind-address=:9", false, true, ":9"),
        ];
        for (flags, in_cluster, is_secure, address) in cases {
            let planned = planned(flags, in_cluster);
            assert_eq!(
                (planned.is_secure, &*planned.metrics.to_string()),
                (is_secure, address),
                "{flags:?}"
            );
        }
    }

    #[test]
    fn one_server_serves_both_on_the_same_port() {
        let both = |flags| planned(flags, true).is_one_server;
        assert!(both("--health-bind-address=:9 --metrics-bind-address=:9"));
        assert!(!both("") && !both("--health-bind-address=:0 --metrics-bind-address=:0"));
    }
}
