//! Contexts of the files in `manifests/deploy`.

use serde::Serialize;

use crate::Template;

/// `manifests/deploy/Kustomization`.
#[derive(Debug, Clone, Serialize)]
pub struct DeployKustomization<'a> {
    /// Name of the operator and of its image.
    pub name: &'a str,
    /// The files that it lists.
    pub resources: &'a [&'a str],
}

impl Template for DeployKustomization<'_> {
    const SOURCE: &'static str = "deploy/Kustomization.hbs";
}

/// `manifests/deploy/operator.yaml`: the operator's namespace and Deployment.
#[derive(Debug, Clone, Serialize)]
pub struct OperatorManifest<'a> {
    /// Name of the operator.
    pub name: &'a str,
    /// The operator's own namespace.
    pub namespace: &'a str,
    /// The arguments of the container.
    pub args: &'a [String],
    /// Whether the operator serves webhooks.
    pub webhooks: bool,
    /// The mounted Secret of the webhooks' certificate; empty if the operator keeps the certificate itself.
    pub certificate_secret: &'a str,
    /// Whether the user creates that Secret.
    pub users_certificate: bool,
    /// Number of replicas.
    pub replicas: u8,
    /// Whether the replicas are spread over nodes.
    pub disruption_budget: bool,
    /// Port of the metrics.
    pub metrics_port: u16,
}

impl Template for OperatorManifest<'_> {
    const SOURCE: &'static str = "deploy/operator.yaml.hbs";
}

/// `manifests/deploy/disruption_budget.yaml`.
#[derive(Debug, Clone, Serialize)]
pub struct DisruptionBudget<'a> {
    /// Name of the operator.
    pub name: &'a str,
    /// The operator's own namespace.
    pub namespace: &'a str,
}

impl Template for DisruptionBudget<'_> {
    const SOURCE: &'static str = "deploy/disruption_budget.yaml.hbs";
}

/// `manifests/deploy/network_policy.yaml`.
#[derive(Debug, Clone, Serialize)]
pub struct NetworkPolicy<'a> {
    /// Name of the operator.
    pub name: &'a str,
    /// The operator's own namespace.
    pub namespace: &'a str,
    /// Whether the operator serves webhooks.
    pub webhooks: bool,
}

impl Template for NetworkPolicy<'_> {
    const SOURCE: &'static str = "deploy/network_policy.yaml.hbs";
}

/// `manifests/deploy/service_monitor.yaml`: the ServiceMonitor and its Service.
#[derive(Debug, Clone, Serialize)]
pub struct ServiceMonitor<'a> {
    /// Name of the operator.
    pub name: &'a str,
    /// The operator's own namespace.
    pub namespace: &'a str,
    /// Whether metrics are served over HTTPS, with authentication.
    pub secure: bool,
    /// Port of the Service.
    pub port: u16,
}

impl Template for ServiceMonitor<'_> {
    const SOURCE: &'static str = "deploy/service_monitor.yaml.hbs";
}
