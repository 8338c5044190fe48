//! The manager's command-line flags.

use std::path::PathBuf;

use tokio::time::Duration;

use super::{address::BindAddress, leader::ElectionTiming, logging, logging::LogFormat};

// A flag overrides its environment variable. Not a doc comment, because clap would print that as the program's help.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Manager")]
pub(super) struct ManagerArgs {
    /// Path of the kubeconfig. Default: $KUBECONFIG, else the pod's service account, else ~/.kube/config
    #[arg(long, value_name = "PATH")]
    pub(super) kubeconfig: Option<PathBuf>,

    /// Kubeconfig context to use. Default: the current context
    #[arg(long, value_name = "NAME")]
    pub(super) context: Option<String>,

    /// Namespaces to watch, comma-separated. Default: all
    #[arg(long, env = "WATCH_NAMESPACE", value_name = "NAMES", value_delimiter = ',', value_parser = parse_namespace)]
    watch_namespace: Vec<String>,

    /// Enable leader election: only the leader reconciles. Default: true in a cluster
    #[arg(long, env = "LEADER_ELECT", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(super) leader_elect: Option<bool>,

    /// Namespace of the leader election lease. Default: $POD_NAMESPACE, else the pod's namespace, else the kubeconfig context's
    #[arg(long, env = "LEADER_ELECTION_NAMESPACE", value_name = "NAME", value_parser = parse_namespace)]
    pub(super) leader_election_namespace: Option<String>,

    /// How long other replicas wait after the last observed renewal before they acquire the lease; whole seconds
    #[arg(long, env = "LEADER_ELECT_LEASE_DURATION", value_name = "DURATION", default_value = "15s", value_parser = parse_duration)]
    leader_elect_lease_duration: Duration,

    /// How long the leader retries a renewal before it stops leading; shorter than the lease duration
    #[arg(long, env = "LEADER_ELECT_RENEW_DEADLINE", value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    leader_elect_renew_deadline: Duration,

    /// Interval between attempts to acquire or renew the lease
    #[arg(long, env = "LEADER_ELECT_RETRY_PERIOD", value_name = "DURATION", default_value = "2s", value_parser = parse_duration)]
    leader_elect_retry_period: Duration,

    /// Address of /metrics: `host:port`, `:port`, or 0 to switch it off. Default: in a cluster :8443, or :8080 with --metrics-secure=false; else a free port on localhost
    #[arg(long, env = "METRICS_BIND_ADDRESS", value_name = "ADDRESS")]
    pub(super) metrics_bind_address: Option<BindAddress>,

    /// Serve metrics over HTTPS, to clients whose bearer token the API server authenticates and authorizes to get the path. Default: true
    /// unless metrics are served on a loopback address
    #[arg(long, env = "METRICS_SECURE", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(super) metrics_secure: Option<bool>,

    /// Folder with tls.crt and tls.key for secure metrics, read again when they change. Default: a self-signed certificate
    #[arg(long, env = "METRICS_CERT_DIR", value_name = "FOLDER")]
    pub(super) metrics_cert_dir: Option<PathBuf>,

    /// Address of /livez, /healthz and /readyz, in the same form. Default: :8081 in a cluster, else a free port on localhost
    #[arg(long, env = "HEALTH_BIND_ADDRESS", value_name = "ADDRESS")]
    pub(super) health_bind_address: Option<BindAddress>,

    /// Address of the webhooks, in the same form, if there are any. Default: :9443 in a cluster, else a free port on localhost
    #[arg(long, env = "WEBHOOK_BIND_ADDRESS", value_name = "ADDRESS")]
    pub(super) webhook_bind_address: Option<BindAddress>,

    /// Folder with tls.crt and tls.key for the webhooks, read again when they change. Default: the operator makes and renews a certificate
    #[arg(long, env = "WEBHOOK_CERT_DIR", value_name = "FOLDER")]
    pub(super) webhook_cert_dir: Option<PathBuf>,

    /// File with CA certificates: webhooks answer only clients with a certificate that one of these CAs signed. Read at the start
    #[arg(long, env = "WEBHOOK_CLIENT_CA_FILE", value_name = "FILE")]
    pub(super) webhook_client_ca_file: Option<PathBuf>,

    /// Serve /debug/kubewright, a page on caches and queues, beside /metrics. Default: true if metrics are served on a loopback address
    #[arg(long, env = "DEBUG_PAGE", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(super) debug_page: Option<bool>,

    /// Average requests per second of the typed clients (QPS). Default: no limit
    #[arg(long, env = "KUBE_API_QPS", value_name = "NUMBER", default_value = "0", hide_default_value = true, value_parser = parse_rate)]
    pub(super) kube_api_qps: f64,

    /// Maximum burst of requests, if --kube-api-qps is set
    #[arg(long, env = "KUBE_API_BURST", value_name = "NUMBER", default_value = "30", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) kube_api_burst: u32,

    /// How long the shutdown after SIGTERM may take in total
    #[arg(long, env = "GRACE_PERIOD", value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    pub(super) grace_period: Duration,

    /// Controllers to run, comma-separated. Default: all
    #[arg(long, env = "CONTROLLERS", value_name = "NAMES", value_delimiter = ',')]
    controllers: Vec<String>,

    /// Log format
    #[arg(
        long,
        env = "LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value = "text"
    )]
    pub(super) log_format: LogFormat,

    /// Log filter: a level, or directives such as `info,kube=debug`
    #[arg(long, env = "RUST_LOG", value_name = "FILTER", default_value = "info", value_parser = logging::parse_filter)]
    pub(super) log_level: String,
}

impl ManagerArgs {
    /// Returns the leader election timing, or why it is invalid.
    pub(super) fn election_timing(&self) -> Result<ElectionTiming, String> {
        ElectionTiming {
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        }
        .check()
    }

    /// Returns the namespaces to watch; empty means all, and so does an empty `WATCH_NAMESPACE`.
    pub(super) fn watched_namespaces(&self) -> Vec<String> {
        non_empty(&self.watch_namespace)
    }

    /// Returns the names of the controllers to run; empty means all.
    pub(super) fn selected_controllers(&self) -> Vec<String> {
        non_empty(&self.controllers)
    }
}

fn non_empty(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| !name.is_empty()).cloned().collect()
}

fn parse_namespace(text: &str) -> Result<String, String> {
    let text = text.trim();
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = text.len() <= 63 && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-');
    if fits {
        Ok(text.to_owned())
    } else {
        Err(
            "invalid namespace: write lower-case letters, digits and `-`, which neither begins nor ends it"
                .to_owned(),
        )
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    text.parse::<jiff::SignedDuration>()
        .ok()
        .and_then(|duration| Duration::try_from(duration).ok())
        .ok_or_else(|| "invalid duration: write one such as `30s` or `1m30s`".to_owned())
}

fn parse_rate(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|rate: &f64| rate.is_finite() && *rate >= 0.0)
        .ok_or_else(|| "invalid rate: write a number such as `20`, or 0 for no limit".to_owned())
}
