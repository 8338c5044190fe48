//! The options of the controllers, with kube-controller-manager's defaults.

use std::{sync::Arc, time::Duration};

use crate::{
    catalog::{self, CONTROLLERS, Controller, UnknownController},
    feature_gates::FeatureGates,
    knobs::Knobs,
};

/// The options of the controllers. The defaults are kube-controller-manager's.
#[derive(Clone, Debug)]
pub struct Options {
    /// The controllers to register. Default: all.
    pub controllers: Vec<Controller>,
    /// Feature gates.
    pub gates: FeatureGates,
    /// What upstream's tests set.
    pub knobs: Knobs,
    /// `--concurrent-deployment-syncs`. Default: 5.
    pub concurrent_deployment_syncs: usize,
    /// `--concurrent-replicaset-syncs`. Default: 5.
    pub concurrent_replicaset_syncs: usize,
    /// `--concurrent-rc-syncs`. Default: 5.
    pub concurrent_rc_syncs: usize,
    /// `--concurrent-statefulset-syncs`. Default: 5.
    pub concurrent_statefulset_syncs: usize,
    /// `--concurrent-daemonset-syncs`. Default: 2.
    pub concurrent_daemonset_syncs: usize,
    /// `--concurrent-job-syncs`. Default: 5.
    pub concurrent_job_syncs: usize,
    /// `--concurrent-cron-job-syncs`. Default: 5.
    pub concurrent_cron_job_syncs: usize,
    /// `--concurrent-ttl-after-finished-syncs`. Default: 5.
    pub concurrent_ttl_after_finished_syncs: usize,
    /// `--concurrent-namespace-syncs`. Default: 10.
    pub concurrent_namespace_syncs: usize,
    /// `--concurrent-gc-syncs`. Default: 20.
    pub concurrent_gc_syncs: usize,
    /// `--concurrent-serviceaccount-token-syncs`. Default: 5.
    pub concurrent_serviceaccount_token_syncs: usize,
    /// `--terminated-pod-gc-threshold`: how many ended pods are kept; zero: all. Default: 12,500.
    pub terminated_pod_gc_threshold: usize,
    /// How long the content of a namespace is left alone after its deletion was seen: other API servers may still accept objects. Upstream has
    /// no flag for it. Default: 5 seconds.
    pub namespace_grace_period: Duration,
    /// The PEM file of `--service-account-private-key-file`. Without it no tokens are made, and the token controller does not start.
    pub service_account_private_key: Option<Arc<[u8]>>,
    /// The PEM file of `--root-ca-file`, which ConfigMaps and token Secrets get.
    pub root_ca: Option<Arc<[u8]>>,
    /// `--legacy-service-account-token-clean-up-period`. Default: a year.
    pub legacy_token_clean_up_period: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            controllers: CONTROLLERS.to_vec(),
            gates: FeatureGates::default(),
            knobs: Knobs::default(),
            concurrent_deployment_syncs: 5,
            concurrent_replicaset_syncs: 5,
            concurrent_rc_syncs: 5,
            concurrent_statefulset_syncs: 5,
            concurrent_daemonset_syncs: 2,
            concurrent_job_syncs: 5,
            concurrent_cron_job_syncs: 5,
            concurrent_ttl_after_finished_syncs: 5,
            concurrent_namespace_syncs: 10,
            concurrent_gc_syncs: 20,
            concurrent_serviceaccount_token_syncs: 5,
            terminated_pod_gc_threshold: 12_500,
            namespace_grace_period: Duration::from_secs(5),
            service_account_private_key: None,
            root_ca: None,
            legacy_token_clean_up_period: Duration::from_hours(365 * 24),
        }
    }
}

impl Options {
    /// Selects controllers, as `--controllers` does: `*,-foo,bar`.
    pub fn select(self, text: &str) -> Result<Self, UnknownController> {
        Ok(Self {
            controllers: catalog::select(text)?,
            ..self
        })
    }
}
