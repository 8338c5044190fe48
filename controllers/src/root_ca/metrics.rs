//! The metrics of the publisher, with upstream's names.

use std::time::Duration;

use kubewright::{
    client::ClientError,
    controller::ReconcileError,
    prometheus_client::{
        metrics::{
            counter::Counter,
            family::Family,
            histogram::{Histogram, exponential_buckets},
        },
        registry::Registry,
    },
};

use crate::shared::metrics::Labels;

pub(super) struct RootCaMetrics {
    syncs: Family<Labels, Counter>,
    duration: Family<Labels, Histogram, fn() -> Histogram>,
}

impl RootCaMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let buckets: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 2.0, 15));
        let metrics = Self {
            syncs: Family::default(),
            duration: Family::new_with_constructor(buckets),
        };
        registry.register(
            "root_ca_cert_publisher_sync",
            "Syncs of namespaces, by the code of the answer",
            metrics.syncs.clone(),
        );
        registry.register(
            "root_ca_cert_publisher_sync_duration_seconds",
            "Duration of syncs of namespaces, by the code of the answer",
            metrics.duration.clone(),
        );
        metrics
    }

    pub(super) fn synced(&self, error: Option<&ReconcileError>, duration: Duration) {
        let labels = vec![("code", code(error).to_string())];
        self.syncs.get_or_create(&labels).inc();
        self.duration
            .get_or_create(&labels)
            .observe(duration.as_secs_f64());
    }
}

/// Returns the code of the API server's answer, 500 for other errors.
fn code(error: Option<&ReconcileError>) -> u16 {
    let Some(error) = error else { return 200 };
    let status = error.find::<ClientError>().and_then(ClientError::status);
    status
        .map(|status| status.code)
        .filter(|code| *code != 0)
        .unwrap_or(500)
}
