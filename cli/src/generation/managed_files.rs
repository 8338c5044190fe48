//! Renders the managed files: those that both the user and kubewright change.

use std::path::PathBuf;

use kubewright_templates::{
    Ci, DeployKustomization, DisruptionBudget, Dockerfile, NetworkPolicy, OperatorManifest, RenderError,
    ServiceMonitor, render,
};

use crate::{
    cli_version::CLI_VERSION,
    deploy_settings::{DeploySettings, MetricsSettings},
    manifests::certificates::Certificates,
};

/// The operator's default ports of the metrics.
const SECURE_METRICS_PORT: u16 = 8443;
const PLAIN_METRICS_PORT: u16 = 8080;

/// The settings from which managed files are rendered.
pub(super) struct ManagedFiles<'a> {
    /// The operator's name.
    pub(super) name: &'a str,
    /// The operator's own namespace.
    pub(super) namespace: &'a str,
    /// The watched namespaces; empty means all.
    pub(super) watched: &'a [String],
    /// The source of the webhooks' certificate; none without webhooks.
    pub(super) certificates: Option<Certificates>,
    pub(super) deploy: DeploySettings,
    pub(super) metrics: MetricsSettings,
}

impl ManagedFiles<'_> {
    /// Renders the files. None: the file is switched off.
    pub(super) fn render(&self) -> Result<Vec<(PathBuf, Option<String>)>, RenderError> {
        let Self {
            name,
            namespace,
            watched,
            certificates,
            deploy,
            metrics,
        } = *self;
        let DeploySettings {
            disruption_budget,
            network_policy,
            ..
        } = deploy;
        let MetricsSettings {
            secure,
            service_monitor,
            ..
        } = metrics;
        let secret = certificates.and_then(|certificates| certificates.mounted_secret(name));
        let metrics_port = if secure {
            SECURE_METRICS_PORT
        } else {
            PLAIN_METRICS_PORT
        };
        let args = [
            (!watched.is_empty()).then(|| format!("--watch-namespace={}", watched.join(","))),
            secret
                .is_some()
                .then(|| "--webhook-cert-dir=/etc/webhook-certificate".to_owned()),
            (!secure).then(|| "--metrics-secure=false".to_owned()),
        ];
        let webhooks = certificates.is_some();
        let ci = Ci {
            kubewright_version: CLI_VERSION,
        };
        let operator = OperatorManifest {
            name,
            namespace,
            args: &args.into_iter().flatten().collect::<Vec<_>>(),
            webhooks,
            certificate_secret: secret.as_deref().unwrap_or_default(),
            users_certificate: certificates == Some(Certificates::Files),
            replicas: if disruption_budget { 2 } else { 1 },
            disruption_budget,
            metrics_port,
        };
        let resources = [
            ("disruption_budget.yaml", disruption_budget),
            ("network_policy.yaml", network_policy),
            ("operator.yaml", true),
            ("service_monitor.yaml", service_monitor),
        ];
        let resources: Vec<&str> = resources
            .into_iter()
            .filter_map(|(file, is_on)| is_on.then_some(file))
            .collect();
        let kustomization = DeployKustomization {
            name,
            resources: &resources,
        };
        let budget = DisruptionBudget { name, namespace };
        let policy = NetworkPolicy {
            name,
            namespace,
            webhooks,
        };
        let monitor = ServiceMonitor {
            name,
            namespace,
            secure,
            port: metrics_port,
        };
        let budget = disruption_budget.then(|| render(&budget)).transpose()?;
        let policy = network_policy.then(|| render(&policy)).transpose()?;
        let monitor = service_monitor.then(|| render(&monitor)).transpose()?;
        let below = |file: &str| format!("manifests/deploy/{file}").into();
        Ok(vec![
            ("Dockerfile".into(), Some(render(&Dockerfile { name })?)),
            (".github/workflows/ci.yml".into(), Some(render(&ci)?)),
            (below("Kustomization"), Some(render(&kustomization)?)),
            (below("operator.yaml"), Some(render(&operator)?)),
            (below("disruption_budget.yaml"), budget),
            (below("network_policy.yaml"), policy),
            (below("service_monitor.yaml"), monitor),
        ])
    }
}
