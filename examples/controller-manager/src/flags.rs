//! The flags, under kube-controller-manager's names.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use clap::{Parser, builder::RangedU64ValueParser};
use kubewright::kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_controllers::{FeatureGates, InvalidGates, Knobs, Options, catalog, parse_duration};

// Not a doc comment: clap would print it.
#[derive(Debug, Parser)]
#[command(
    name = "controller-manager",
    args_override_self = true,
    about = "Runs Kubernetes' controllers: deployments, cron jobs, namespaces, garbage collection and more"
)]
pub(crate) struct Flags {
    /// Print the roles that the controllers need, and end
    #[command(subcommand)]
    command: Option<Command>,

    /// Path of the kubeconfig. Default: $KUBECONFIG, else the pod's service account
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
    /// Address of the API server; overrides the kubeconfig's
    #[arg(long, value_name = "URL")]
    master: Option<String>,
    /// Controllers to run: `*` is all, `foo` adds one, `-foo` removes one. Repeated: the lists are joined
    #[arg(long, value_name = "NAMES", default_value = "*", allow_hyphen_values = true)]
    controllers: Vec<String>,

    /// Deployments that are synced concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = worker_count())]
    concurrent_deployment_syncs: usize,
    /// ReplicaSets that are synced concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = worker_count())]
    concurrent_replicaset_syncs: usize,
    /// ReplicationControllers that are synced concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = worker_count())]
    concurrent_rc_syncs: usize,
    /// StatefulSets that are synced concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = worker_count())]
    concurrent_statefulset_syncs: usize,
    /// DaemonSets that are synced concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = worker_count())]
    concurrent_daemonset_syncs: usize,
    /// Jobs that are synced concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = worker_count())]
    concurrent_job_syncs: usize,
    /// CronJobs that are synced concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = worker_count())]
    concurrent_cron_job_syncs: usize,
    /// Finished Jobs that are checked concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = worker_count())]
    concurrent_ttl_after_finished_syncs: usize,
    /// Namespaces that are deleted concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = worker_count())]
    concurrent_namespace_syncs: usize,
    /// Objects that the garbage collector checks concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = worker_count())]
    concurrent_gc_syncs: usize,
    /// Token Secrets that are synced concurrently
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = worker_count())]
    concurrent_serviceaccount_token_syncs: usize,

    /// Average requests per second. Default: no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0)]
    kube_api_qps: f64,
    /// Maximum burst of requests, if --kube-api-qps is set
    #[arg(long, value_name = "NUMBER", default_value_t = 30)]
    kube_api_burst: u32,

    /// Only one of several replicas works
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    leader_elect: bool,
    /// How long other replicas wait before they take over
    #[arg(long, value_name = "DURATION", default_value = "15s")]
    leader_elect_lease_duration: String,
    /// How long the leader retries a renewal before it ends
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    leader_elect_renew_deadline: String,
    /// Interval between attempts to become or stay leader
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    leader_elect_retry_period: String,
    /// Namespace of the lease
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    leader_elect_resource_namespace: String,

    /// PEM file of the key that signs service account tokens
    #[arg(long, value_name = "PATH")]
    service_account_private_key_file: Option<PathBuf>,
    /// PEM file of the CA that pods trust
    #[arg(long, value_name = "PATH")]
    root_ca_file: Option<PathBuf>,
    /// How long a token that Kubernetes once made is unused before it is deleted
    #[arg(long, value_name = "DURATION", default_value = "8760h0m0s")]
    legacy_service_account_token_clean_up_period: String,

    /// How many pods that have ended are kept; 0 or less: all
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 12_500,
        allow_negative_numbers = true
    )]
    terminated_pod_gc_threshold: i32,

    /// Feature gates: `Gate=true,Other=false`. Repeated: the lists are joined
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    /// Version of Kubernetes to emulate: `kube=1.33`
    #[arg(long, value_name = "VERSION")]
    emulated_version: Vec<String>,

    /// Controllers act as service accounts of their own in kube-system
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) use_service_account_credentials: bool,

    /// Port of /healthz, /readyz and /metrics, with TLS; 0: none
    #[arg(long, value_name = "PORT", default_value_t = 10257)]
    secure_port: u16,
    /// Address of that port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind_address: String,
    /// PEM file of the certificate chain for that port. Default: a self-signed certificate
    #[arg(long, value_name = "PATH", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// PEM file of its key
    #[arg(long, value_name = "PATH", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// Verbosity of the log: 4 and more print debug messages
    #[arg(short, long, value_name = "LEVEL", default_value_t = 0)]
    v: u8,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the roles that the controllers need
    Manifests {
        /// As YAML, for people
        #[arg(long)]
        yaml: bool,
    },
}

impl Flags {
    /// Returns the options of the controllers. Reads the files that the flags name, and the variables that upstream's tests set.
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        let variable = |name: &str| env::var(name).unwrap_or_default();
        // The variable also knows versions that a command line of upstream's refuses.
        let gates = match variable("KUBEWRIGHT_GATES") {
            gates if !gates.is_empty() => {
                FeatureGates::parse_with_version(&gates).context("KUBEWRIGHT_GATES")?
            }
            _ => self.gates()?,
        };
        let options = Options {
            gates,
            knobs: Knobs::parse(&variable("KUBEWRIGHT_KNOBS"))?,
            concurrent_deployment_syncs: self.concurrent_deployment_syncs,
            concurrent_replicaset_syncs: self.concurrent_replicaset_syncs,
            concurrent_rc_syncs: self.concurrent_rc_syncs,
            concurrent_statefulset_syncs: self.concurrent_statefulset_syncs,
            concurrent_daemonset_syncs: self.concurrent_daemonset_syncs,
            concurrent_job_syncs: self.concurrent_job_syncs,
            concurrent_cron_job_syncs: self.concurrent_cron_job_syncs,
            concurrent_ttl_after_finished_syncs: self.concurrent_ttl_after_finished_syncs,
            concurrent_namespace_syncs: self.concurrent_namespace_syncs,
            concurrent_gc_syncs: self.concurrent_gc_syncs,
            concurrent_serviceaccount_token_syncs: self.concurrent_serviceaccount_token_syncs,
            terminated_pod_gc_threshold: usize::try_from(self.terminated_pod_gc_threshold).unwrap_or(0),
            service_account_private_key: read(
                "--service-account-private-key-file",
                self.service_account_private_key_file.as_deref(),
            )?,
            root_ca: self.root_ca()?,
            legacy_token_clean_up_period: self.legacy_token_clean_up_period()?,
            ..Options::default()
        };
        let mut options = options.select(&self.selected()).context("--controllers")?;
        if options.service_account_private_key.is_some() {
            select_token_controller(&mut options);
        }
        Ok(options)
    }

    fn root_ca(&self) -> anyhow::Result<Option<Arc<[u8]>>> {
        const FLAG: &str = "--root-ca-file";
        let content = read(FLAG, self.root_ca_file.as_deref())?;
        if let (Some(content), Some(path)) = (&content, &self.root_ca_file) {
            let has_certificate = String::from_utf8_lossy(content).contains("-----BEGIN CERTIFICATE-----");
            ensure!(
                has_certificate,
                "{FLAG}: no certificate in {}: name a PEM file of the CA's certificates",
                path.display()
            );
        }
        Ok(content)
    }

    fn legacy_token_clean_up_period(&self) -> anyhow::Result<Duration> {
        const FLAG: &str = "--legacy-service-account-token-clean-up-period";
        let period = parse_duration(&self.legacy_service_account_token_clean_up_period).context(FLAG)?;
        ensure!(!period.is_zero(), "{FLAG}: it must be longer than zero");
        Ok(period)
    }

    /// Returns the feature gates of the command line.
    fn gates(&self) -> anyhow::Result<FeatureGates> {
        let mut gates = FeatureGates::parse(&self.feature_gates.join(",")).context("--feature-gates")?;
        if !self.emulated_version.is_empty() {
            let version = self.emulated_version.join(",");
            gates = gates.emulate(&version).context("--emulated-version")?;
        }
        gates.validate().map_err(|error| {
            let flag = match error {
                InvalidGates::Version(_) => "--emulated-version",
                _ => "--feature-gates",
            };
            anyhow::Error::new(error).context(flag)
        })?;
        Ok(gates)
    }

    fn selected(&self) -> String {
        self.controllers.join(",")
    }

    /// Returns the certificate chain and the key of the port, in PEM.
    pub(crate) fn certificate(&self) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
        let certificate = read("--tls-cert-file", self.tls_cert_file.as_deref())?;
        let key = read("--tls-private-key-file", self.tls_private_key_file.as_deref())?;
        if let (Some(certificate), Some(key)) = (certificate, key) {
            return Ok((certificate.to_vec(), key.to_vec()));
        }
        let names = vec!["localhost".to_owned(), self.bind_address.clone()];
        let generated = rcgen::generate_simple_self_signed(names)
            .context("cannot make a self-signed certificate: name one with --tls-cert-file")?;
        Ok((
            generated.cert.pem().into_bytes(),
            generated.signing_key.serialize_pem().into_bytes(),
        ))
    }

    /// Returns the names in `--controllers` that are controllers of kube-controller-manager and not part of this program.
    pub(crate) fn absent_controllers(&self) -> Vec<String> {
        let selected = self.selected();
        let absent = catalog::absent(&selected).into_iter();
        absent.map(str::to_owned).collect()
    }

    /// Returns the client configuration if `--master` overrides the kubeconfig's address.
    pub(crate) async fn config(&self) -> anyhow::Result<Option<Config>> {
        let Some(master) = &self.master else {
            return Ok(None);
        };
        let master = master
            .parse()
            .with_context(|| format!("--master: {master:?} is no URL"))?;
        let Some(path) = &self.kubeconfig else {
            return Ok(Some(Config::new(master)));
        };
        let kubeconfig =
            Kubeconfig::read_from(path).with_context(|| format!("--kubeconfig {}", path.display()))?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.cluster_url = master;
        Ok(Some(config))
    }

    /// Returns the command line of kubewright's manager that does the same.
    pub(crate) fn manager_args(&self) -> Vec<String> {
        let address = match (self.secure_port, self.bind_address.contains(':')) {
            (0, _) => "0".to_owned(),
            (port, true) => format!("[{}]:{port}", self.bind_address),
            (port, false) => format!("{}:{port}", self.bind_address),
        };
        let level = if self.v >= 4 { "debug" } else { "info" };
        let mut args = vec![
            format!("--leader-elect={}", self.leader_elect),
            format!(
                "--leader-election-namespace={}",
                self.leader_elect_resource_namespace
            ),
            format!(
                "--leader-elect-lease-duration={}",
                self.leader_elect_lease_duration
            ),
            format!(
                "--leader-elect-renew-deadline={}",
                self.leader_elect_renew_deadline
            ),
            format!("--leader-elect-retry-period={}", self.leader_elect_retry_period),
            format!("--kube-api-qps={}", self.kube_api_qps),
            format!("--kube-api-burst={}", self.kube_api_burst),
            format!("--health-bind-address={address}"),
            format!("--metrics-bind-address={address}"),
            format!("--log-level={level}"),
        ];
        if let Some(path) = &self.kubeconfig {
            args.push(format!("--kubeconfig={}", path.display()));
        }
        if let Some(Command::Manifests { yaml }) = &self.command {
            args.truncate(0);
            args.push("manifests".to_owned());
            args.extend(yaml.then(|| "--yaml".to_owned()));
        }
        args
    }
}

/// As upstream, the token controller runs whatever `--controllers` says: others may need its tokens.
fn select_token_controller(options: &mut Options) {
    const NAME: &str = "serviceaccount-token-controller";
    let selected = &mut options.controllers;
    if selected.iter().any(|controller| controller.name == NAME) {
        return;
    }
    let found = catalog::CONTROLLERS.iter().find(|known| known.name == NAME);
    selected.extend(found.copied());
}

/// Without workers a controller would do nothing.
fn worker_count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// Reads the file that a flag names.
fn read(flag: &str, path: Option<&Path>) -> anyhow::Result<Option<Arc<[u8]>>> {
    let Some(path) = path else { return Ok(None) };
    let content = fs::read(path).with_context(|| format!("{flag}: cannot read {}", path.display()))?;
    Ok(Some(content.into()))
}

#[cfg(test)]
#[path = "flags_tests.rs"]
mod tests;
