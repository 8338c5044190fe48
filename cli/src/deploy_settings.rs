//! The settings of what an operator is shipped with: the tables `[deploy]` and `[metrics]` of `kubewright.toml`.

use serde::Deserialize;

/// What is deployed beside the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeploySettings {
    /// Roles with which people edit and view the operator's kinds.
    pub user_roles: bool,
    /// Two replicas, and a PodDisruptionBudget that keeps one. Leader election, which is on by default in a cluster, makes that safe.
    pub disruption_budget: bool,
    /// A NetworkPolicy that lets in what the operator serves.
    ///
    /// Off by default: it closes the ports that an operator opens by itself, which its manifests do not know, and it ends scrapes from
    /// namespaces without its label.
    pub network_policy: bool,
}

impl Default for DeploySettings {
    fn default() -> Self {
        Self {
            user_roles: true,
            disruption_budget: true,
            network_policy: false,
        }
    }
}

/// How metrics are served and collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsSettings {
    /// Over HTTPS, to clients that the API server authenticates and authorizes; else plain, to everyone.
    pub secure: bool,
    /// A ServiceMonitor and its Service. Off by default: without prometheus-operator the API server does not know the kind.
    pub service_monitor: bool,
    /// A Grafana dashboard in a ConfigMap. Off by default: without Grafana nothing reads it.
    pub dashboard: bool,
}

impl Default for MetricsSettings {
    fn default() -> Self {
        Self {
            secure: true,
            service_monitor: false,
            dashboard: false,
        }
    }
}
