//! How many replicas of each set may be unavailable, and how many are, with upstream's names.

use kubewright::{
    NamespacedName,
    prometheus_client::{
        metrics::{family::Family, gauge::Gauge},
        registry::Registry,
    },
};

use super::desired::{DesiredSet, UpdateStrategy};
use crate::shared::metrics::Labels;

/// The metrics of the controller. Cloning copies pointers.
#[derive(Clone, Debug, Default)]
pub(super) struct SetMetrics {
    max_unavailable: Family<Labels, Gauge>,
    unavailable: Family<Labels, Gauge>,
}

impl SetMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        for (name, help, gauge) in [
            (
                "max_unavailable",
                "Replicas that may be unavailable during a rolling update",
                &metrics.max_unavailable,
            ),
            (
                "unavailable_replicas",
                "Unavailable replicas",
                &metrics.unavailable,
            ),
        ] {
            let name = format!("statefulset_controller_statefulset_{name}");
            registry.register(name, help, gauge.clone());
        }
        metrics
    }

    /// Sets the figures of a set that is updated with a limit.
    pub(super) fn observe(&self, set: &NamespacedName, desired: &DesiredSet, available: i32) {
        let UpdateStrategy::RollingUpdate {
            max_unavailable: Some(limit),
            ..
        } = desired.strategy
        else {
            return;
        };
        let labels = labels(set, desired.is_parallel);
        let unavailable = (desired.replicas - i64::from(available)).max(0);
        self.max_unavailable.get_or_create(&labels).set(limit);
        self.unavailable.get_or_create(&labels).set(unavailable);
    }

    /// Drops the figures of a set that was deleted.
    pub(super) fn forget(&self, set: &NamespacedName) {
        for labels in [false, true].map(|is_parallel| labels(set, is_parallel)) {
            self.max_unavailable.remove(&labels);
            self.unavailable.remove(&labels);
        }
    }
}

fn labels(set: &NamespacedName, is_parallel: bool) -> Labels {
    let policy = if is_parallel { "Parallel" } else { "OrderedReady" };
    vec![
        (
            "statefulset_namespace",
            set.namespace().unwrap_or_default().to_owned(),
        ),
        ("statefulset_name", set.name().to_owned()),
        ("pod_management_policy", policy.to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use kubewright::prometheus_client::encoding::text::encode;
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn figures_of_a_set_last_until_it_is_deleted() {
        let mut registry = Registry::default();
        let (metrics, name) = (
            SetMetrics::register(&mut registry),
            NamespacedName::namespaced("shop", "db"),
        );
        let set = json!({"spec": {
            "replicas": 5, "podManagementPolicy": "Parallel", "selector": {}, "template": {}, "serviceName": "db",
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}},
        }});
        let set = from_value(set).unwrap();
        metrics.observe(&name, &DesiredSet::of(&set, true), 4);
        // Without the feature gate there is no limit.
        let other = NamespacedName::namespaced("shop", "other");
        metrics.observe(&other, &DesiredSet::of(&set, false), 4);
        let text = |registry: &Registry| {
            let mut text = String::new();
            encode(&mut text, registry).unwrap();
            text
        };
        let labels =
            r#"{statefulset_namespace="shop",statefulset_name="db",pod_management_policy="Parallel"}"#;
        let found = text(&registry);
        for expected in [
            format!("statefulset_max_unavailable{labels} 2"),
            format!("statefulset_unavailable_replicas{labels} 1"),
        ] {
            assert!(found.contains(&expected), "{found}");
        }
        assert!(!found.contains("other"), "{found}");
        metrics.forget(&name);
        assert!(!text(&registry).contains("shop"));
    }
}
