//! The metrics of the pod garbage collector, with upstream's names.

use kubewright::{
    NamespacedName,
    prometheus_client::{
        metrics::{counter::Counter, family::Family},
        registry::Registry,
    },
};

use super::plan::Reason;
use crate::shared::metrics::Labels;

pub(super) struct PodGcMetrics {
    deletions: Family<Labels, Counter>,
    pub(super) errors: Family<Labels, Counter>,
}

impl PodGcMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            deletions: Family::default(),
            errors: Family::default(),
        };
        for (name, help, counter) in [
            ("pods", "Forced deletions of pods", &metrics.deletions),
            ("pod_errors", "Those of them that failed", &metrics.errors),
        ] {
            let name = format!("pod_gc_collector_force_delete_{name}");
            registry.register(name, help, counter.clone());
        }
        metrics
    }

    /// Counts an attempt to delete a pod. As upstream, one that is gone is an error.
    pub(super) fn deleted(&self, pod: &NamespacedName, reason: Reason, is_success: bool) {
        let labels = vec![
            ("namespace", pod.namespace().unwrap_or_default().to_owned()),
            ("reason", reason.name().to_owned()),
        ];
        self.deletions.get_or_create(&labels).inc();
        if !is_success {
            self.errors.get_or_create(&labels).inc();
        }
    }
}
