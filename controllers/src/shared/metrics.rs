//! Metrics that several controllers have, with upstream's names.

use kubewright::{
    ApiResource,
    controller::Setup,
    prometheus_client::metrics::{counter::Counter, family::Family},
};

/// The labels of a metric.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// Registers the count of syncs that wait, because the cache does not show the owner's own writes. Returns what
/// [`on_write_wait`](kubewright::controller::ControllerBuilder::on_write_wait) takes.
pub(crate) fn stale_sync_counter(
    setup: &mut Setup,
    subsystem: &str,
) -> impl Fn(&ApiResource) + Send + Sync + use<> + 'static {
    let skips = Family::<Labels, Counter>::default();
    setup.metrics().register(
        format!("{subsystem}_stale_sync_skips"),
        "Syncs that were skipped, because the cache was stale",
        skips.clone(),
    );
    move |kind| {
        let labels = vec![
            ("group", kind.group.to_string()),
            ("resource", kind.plural.to_string()),
        ];
        skips.get_or_create(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
    use kubewright::{Kind, prometheus_client::encoding::text::encode, testing::Harness};

    use super::*;

    #[tokio::test]
    async fn stale_syncs_are_counted_by_resource() {
        let mut text = String::new();
        Harness::new(|setup| {
            let count = stale_sync_counter(setup, "job_controller");
            count(&Pod::info());
            count(&Pod::info());
            count(&Job::info());
            encode(&mut text, setup.metrics()).unwrap();
        });
        for expected in [
            "job_controller_stale_sync_skips_total{group=\"\",resource=\"pods\"} 2",
            "job_controller_stale_sync_skips_total{group=\"batch\",resource=\"jobs\"} 1",
        ] {
            assert!(text.contains(expected), "{text}");
        }
    }
}
