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
    /// The feature gate of the limit is on.
    is_on: bool,
    max_unavailable: Family<Labels, Gauge>,
    unavailable: Family<Labels, Gauge>,
}

impl SetMetrics {
    /// `is_on` is the feature gate of the limit, without which there are no figures.
    pub(super) fn register(registry: &mut Registry, is_on: bool) -> Self {
        let metrics = Self {
            is_on,
            ..Self::default()
        };
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

    /// Sets the figures of a set.
    pub(super) fn observe(&self, set: &NamespacedName, desired: &DesiredSet, unavailable: i64) {
        if !self.is_on {
            return;
        }
        let labels = labels(set, desired.is_parallel);
        let limit = match desired.strategy {
            // As upstream, which counts unavailable replicas only for rolling updates.
            UpdateStrategy::OnDelete => 1,
            UpdateStrategy::RollingUpdate { max_unavailable, .. } => {
                self.unavailable.get_or_create(&labels).set(unavailable);
                max_unavailable.unwrap_or(1)
            }
        };
        self.max_unavailable.get_or_create(&labels).set(limit);
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
    use serde_json::{Value, from_value, json};

    use super::*;

    #[test]
    fn figures_of_a_set_last_until_it_is_deleted() {
        let mut registry = Registry::default();
        let metrics = SetMetrics::register(&mut registry, true);
        let names = ["db", "manual"].map(|name| NamespacedName::namespaced("shop", name));
        let rolling = json!({"rollingUpdate": {"maxUnavailable": 2}});
        for (name, strategy) in names.iter().zip([rolling, json!({"type": "OnDelete"})]) {
            metrics.observe(name, &desired(&strategy, true), 3);
        }
        let labels = |name: &str| {
            format!(
                r#"{{statefulset_namespace="shop",statefulset_name="{name}",pod_management_policy="Parallel"}}"#
            )
        };
        let found = text(&registry);
        for expected in [
            format!("statefulset_max_unavailable{} 2", labels("db")),
            format!("statefulset_unavailable_replicas{} 3", labels("db")),
            format!("statefulset_max_unavailable{} 1", labels("manual")),
        ] {
            assert!(found.contains(&expected), "{found}");
        }
        let unexpected = format!("statefulset_unavailable_replicas{}", labels("manual"));
        assert!(!found.contains(&unexpected), "{found}");
        for name in &names {
            metrics.forget(name);
        }
        assert!(!text(&registry).contains("shop"));
    }

    #[test]
    fn without_the_feature_gate_there_are_no_figures() {
        let mut registry = Registry::default();
        let metrics = SetMetrics::register(&mut registry, false);
        let name = NamespacedName::namespaced("shop", "db");
        metrics.observe(&name, &desired(&json!({}), false), 3);
        assert!(!text(&registry).contains("shop"));
    }

    fn desired(strategy: &Value, uses_max_unavailable: bool) -> DesiredSet {
        let set = json!({"spec": {
            "replicas": 5, "podManagementPolicy": "Parallel", "selector": {}, "template": {}, "serviceName": "db",
            "updateStrategy": strategy,
        }});
        DesiredSet::of(&from_value(set).unwrap(), uses_max_unavailable)
    }

    fn text(registry: &Registry) -> String {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        text
    }
}
