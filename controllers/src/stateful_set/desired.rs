//! What a StatefulSet asks for: its spec with the API's defaults, as numbers.

use std::ops::Range;

use k8s_openapi::{
    api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy},
    apimachinery::pkg::util::intstr::IntOrString,
};

/// How many old revisions are kept where the spec does not say.
const DEFAULT_HISTORY_LIMIT: i32 = 10;

/// What a StatefulSet asks for. Numbers of the API are 32 bits wide: sums of these do not overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DesiredSet {
    /// The ordinal of the first replica.
    pub(super) start: i64,
    pub(super) replicas: i64,
    /// Pods are created and deleted all at once, not one after another.
    pub(super) is_parallel: bool,
    pub(super) strategy: UpdateStrategy,
    pub(super) min_ready_seconds: i32,
    /// How many old revisions to keep; none: all.
    pub(super) history_limit: Option<usize>,
    pub(super) retention: Retention,
}

/// How pods of an old revision are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateStrategy {
    /// When a user deletes them.
    OnDelete,
    /// From the last replica to the first.
    RollingUpdate {
        /// The replicas before this one keep the current revision; none if the spec does not say.
        partition: Option<i64>,
        /// How many replicas may be unavailable; none: one after another, each when the one before is available.
        max_unavailable: Option<i64>,
    },
}

/// When claims are deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Retention {
    /// With the set.
    pub(super) deletes_with_set: bool,
    /// With a pod that is scaled down.
    pub(super) deletes_with_pod: bool,
}

impl DesiredSet {
    /// Reads the spec. `uses_max_unavailable` is the feature gate of that field.
    pub(super) fn of(set: &StatefulSet, uses_max_unavailable: bool) -> Self {
        let default = StatefulSetSpec::default();
        let spec = set.spec.as_ref().unwrap_or(&default);
        let replicas = i64::from(spec.replicas.unwrap_or(1)).max(0);
        let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start);
        let retention = spec.persistent_volume_claim_retention_policy.as_ref();
        let deletes = |policy: Option<&String>| policy.is_some_and(|policy| policy == "Delete");
        Self {
            start: i64::from(start.unwrap_or(0)).max(0),
            replicas,
            is_parallel: spec.pod_management_policy.as_deref() == Some("Parallel"),
            strategy: UpdateStrategy::of(spec.update_strategy.as_ref(), replicas, uses_max_unavailable),
            min_ready_seconds: spec.min_ready_seconds.unwrap_or(0).max(0),
            history_limit: usize::try_from(spec.revision_history_limit.unwrap_or(DEFAULT_HISTORY_LIMIT)).ok(),
            retention: Retention {
                deletes_with_set: deletes(retention.and_then(|policy| policy.when_deleted.as_ref())),
                deletes_with_pod: deletes(retention.and_then(|policy| policy.when_scaled.as_ref())),
            },
        }
    }

    /// The ordinals of the replicas.
    pub(super) fn ordinals(&self) -> Range<i64> {
        self.start..self.start + self.replicas
    }
}

impl UpdateStrategy {
    fn of(strategy: Option<&StatefulSetUpdateStrategy>, replicas: i64, uses_max_unavailable: bool) -> Self {
        let update = match strategy.and_then(|strategy| strategy.type_.as_deref()) {
            None | Some("RollingUpdate") => strategy.and_then(|strategy| strategy.rolling_update.as_ref()),
            // An unknown strategy replaces nothing.
            Some(_) => return Self::OnDelete,
        };
        let max_unavailable = update.and_then(|update| update.max_unavailable.as_ref());
        Self::RollingUpdate {
            partition: update.map(|update| i64::from(update.partition.unwrap_or(0)).max(0)),
            max_unavailable: uses_max_unavailable.then(|| resolve(max_unavailable, replicas)),
        }
    }
}

/// Resolves a number or a percentage, which is rounded down; at least one. So much is also the default, and taken for what is neither.
fn resolve(limit: Option<&IntOrString>, replicas: i64) -> i64 {
    let limit = match limit {
        Some(IntOrString::Int(number)) => Some(i64::from(*number)),
        Some(IntOrString::String(text)) => text
            .strip_suffix('%')
            .and_then(|percent| percent.parse::<i32>().ok())
            .map(|percent| i64::from(percent) * replicas / 100),
        None => None,
    };
    limit.unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn desired(spec: Value) -> DesiredSet {
        let mut spec = spec;
        spec["selector"] = json!({});
        spec["template"] = json!({});
        DesiredSet::of(&from_value(json!({"metadata": {}, "spec": spec})).unwrap(), true)
    }

    #[test]
    fn absent_fields_have_the_defaults_of_the_api() {
        let expected = DesiredSet {
            start: 0,
            replicas: 1,
            is_parallel: false,
            strategy: UpdateStrategy::RollingUpdate {
                partition: None,
                max_unavailable: Some(1),
            },
            min_ready_seconds: 0,
            history_limit: Some(10),
            retention: Retention::default(),
        };
        assert_eq!(desired(json!({})), expected);
        let no_spec = DesiredSet::of(&StatefulSet::default(), true);
        assert_eq!(no_spec, expected);
    }

    #[test]
    fn max_unavailable_is_rounded_down_and_at_least_one() {
        for (limit, replicas, expected) in [
            (json!(null), 10, 1),
            (json!(3), 10, 3),
            (json!(0), 10, 1),
            (json!(-2), 10, 1),
            (json!("20%"), 10, 2),
            (json!("25%"), 10, 2),
            (json!("100%"), 10, 10),
            (json!("5%"), 10, 1),
            (json!("many"), 10, 1),
            (json!("2147483647%"), i32::MAX, 46_116_860_141_324_206),
        ] {
            let update = json!({"rollingUpdate": {"maxUnavailable": limit, "partition": 2}});
            let state = desired(json!({"replicas": replicas, "updateStrategy": update}));
            let strategy = UpdateStrategy::RollingUpdate {
                partition: Some(2),
                max_unavailable: Some(expected),
            };
            assert_eq!(state.strategy, strategy, "{limit}");
        }
    }

    #[test]
    fn invalid_numbers_are_limited() {
        let state = desired(json!({
            "replicas": -1, "ordinals": {"start": -5}, "minReadySeconds": -1, "revisionHistoryLimit": -1,
            "updateStrategy": {"type": "Whenever"}, "podManagementPolicy": "Sometimes",
        }));
        assert_eq!((state.start, state.replicas, state.min_ready_seconds), (0, 0, 0));
        assert_eq!(
            (state.history_limit, state.strategy, state.is_parallel),
            (None, UpdateStrategy::OnDelete, false)
        );
        let state = desired(json!({"replicas": i32::MAX, "ordinals": {"start": i32::MAX}}));
        assert_eq!(state.ordinals(), 2_147_483_647..4_294_967_294);
    }
}
