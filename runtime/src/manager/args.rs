//! The manager's own flags.

use std::path::PathBuf;

use tokio::time::Duration;

use super::{address::BindAddress, leader::Timing, logging, logging::LogFormat};

// Flags that every operator has. Each flag wins over its environment variable. A doc comment would be the program's help.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Manager")]
pub(super) struct ManagerArgs {
    /// Kubeconfig to connect with. Default: $KUBECONFIG, else the pod's service account, else ~/.kube/config
    #[arg(long, value_name = "PATH")]
    pub(super) kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig. Default: its current context
    #[arg(long, value_name = "NAME")]
    pub(super) context: Option<String>,

    /// Namespaces to watch, separated by commas. Default: all
    #[arg(long, env = "WATCH_NAMESPACE", value_name = "NAMES", value_delimiter = ',', value_parser = parse_namespace)]
    watch_namespace: Vec<String>,

    /// Whether replicas elect a leader, which alone reconciles. Default: in a cluster
    #[arg(long, env = "LEADER_ELECT", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(super) leader_elect: Option<bool>,

    /// Namespace of the leader lease. Default: $POD_NAMESPACE, else the pod's, else the kubeconfig context's
    #[arg(long, env = "LEADER_ELECTION_NAMESPACE", value_name = "NAME", value_parser = parse_namespace)]
    pub(super) leader_election_namespace: Option<String>,

    /// After how long without a renewal another replica takes the lease: whole seconds
    #[arg(long, env = "LEADER_ELECT_LEASE_DURATION", value_name = "DURATION", default_value = "15s", value_parser = parse_duration)]
    leader_elect_lease_duration: Duration,

    /// After how long without a renewal the leader gives up; shorter than the lease duration
    #[arg(long, env = "LEADER_ELECT_RENEW_DEADLINE", value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    leader_elect_renew_deadline: Duration,

    /// How often the lease is renewed, and looked at by others
    #[arg(long, env = "LEADER_ELECT_RETRY_PERIOD", value_name = "DURATION", default_value = "2s", value_parser = parse_duration)]
    leader_elect_retry_period: Duration,

    /// Where /metrics is served: `host:port`, `:port`, or 0 for off. Default: :8080 in a cluster, else any port of localhost
    #[arg(long, env = "METRICS_BIND_ADDRESS", value_name = "ADDRESS")]
    pub(super) metrics_bind_address: Option<BindAddress>,

    /// Where /healthz and /readyz are served, likewise. Default: :8081 in a cluster, else any port of localhost
    #[arg(long, env = "HEALTH_BIND_ADDRESS", value_name = "ADDRESS")]
    pub(super) health_bind_address: Option<BindAddress>,

    /// Whether /debug/kubewright beside /metrics shows caches and queues. Default: where metrics are served on a loopback address
    #[arg(long, env = "DEBUG_PAGE", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(super) debug_page: Option<bool>,

    /// How many requests a second typed clients may send on average. Default: no limit
    #[arg(long, env = "KUBE_API_QPS", value_name = "NUMBER", default_value = "0", hide_default_value = true, value_parser = parse_rate)]
    pub(super) kube_api_qps: f64,

    /// How many of them at once, where --kube-api-qps limits them
    #[arg(long, env = "KUBE_API_BURST", value_name = "NUMBER", default_value = "30", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) kube_api_burst: u32,

    /// How long everything may take to end after SIGTERM
    #[arg(long, env = "GRACE_PERIOD", value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    pub(super) grace_period: Duration,

    /// Controllers to run, separated by commas. Default: all
    #[arg(long, env = "CONTROLLERS", value_name = "NAMES", value_delimiter = ',')]
    controllers: Vec<String>,

    /// How log lines look
    #[arg(
        long,
        env = "LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value = "text"
    )]
    pub(super) log_format: LogFormat,

    /// What is logged: a level, or directives such as `info,kube=debug`
    #[arg(long, env = "RUST_LOG", value_name = "FILTER", default_value = "info", value_parser = logging::parse_filter)]
    pub(super) log_level: String,
}

impl ManagerArgs {
    /// The times of the leader election, or why they do not fit.
    pub(super) fn election_timing(&self) -> Result<Timing, String> {
        Timing {
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        }
        .check()
    }

    /// The namespaces to watch; empty: all. An empty variable says all, as operators are used to.
    pub(super) fn watched_namespaces(&self) -> Vec<String> {
        given(&self.watch_namespace)
    }

    /// The controllers to run; empty: all.
    pub(super) fn chosen_controllers(&self) -> Vec<String> {
        given(&self.controllers)
    }
}

fn given(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| !name.is_empty()).cloned().collect()
}

fn parse_namespace(text: &str) -> Result<String, String> {
    let text = text.trim();
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = text.len() <= 63 && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-');
    if fits {
        Ok(text.to_owned())
    } else {
        Err("no name of a namespace: lower-case letters, digits and `-` within".to_owned())
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    text.parse::<jiff::SignedDuration>()
        .ok()
        .and_then(|duration| Duration::try_from(duration).ok())
        .ok_or_else(|| "no duration: write one such as `30s` or `1m30s`".to_owned())
}

fn parse_rate(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|rate: &f64| rate.is_finite() && *rate >= 0.0)
        .ok_or_else(|| "no rate: write a number such as `20`, or 0 for no limit".to_owned())
}
