//! What a DaemonSet asks for: its spec with the API's defaults, as numbers.

use k8s_openapi::{api::apps::v1::DaemonSetSpec, apimachinery::pkg::util::intstr::IntOrString};

use crate::shared::int_or_percent::{InvalidLimit, Rounding, resolve};

/// How many old revisions are kept where the spec does not say.
const DEFAULT_HISTORY_LIMIT: i32 = 10;

/// What a DaemonSet asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DesiredState {
    pub(super) strategy: UpdateStrategy,
    pub(super) min_ready_seconds: i32,
    /// How many old revisions to keep.
    pub(super) history_limit: usize,
}

/// How pods of an old revision are replaced.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum UpdateStrategy {
    /// Not at all: when a pod is deleted, the new one has the new revision.
    OnDelete,
    /// A few at a time.
    RollingUpdate {
        max_surge: IntOrString,
        max_unavailable: IntOrString,
    },
}

/// The limits of a rolling update, for the present number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RolloutLimits {
    /// On how many nodes a new pod may run beside an available old one. If it is zero, old pods are deleted first.
    pub(super) surge: usize,
    /// On how many nodes the pod may be unavailable.
    pub(super) unavailable: usize,
}

impl DesiredState {
    pub(super) fn of(spec: Option<&DaemonSetSpec>) -> Self {
        let strategy = spec.and_then(|spec| spec.update_strategy.as_ref());
        let history_limit = spec.and_then(|spec| spec.revision_history_limit);
        Self {
            strategy: match strategy.and_then(|strategy| strategy.type_.as_deref()) {
                None | Some("RollingUpdate") => {
                    let update = strategy.and_then(|strategy| strategy.rolling_update.clone());
                    let update = update.unwrap_or_default();
                    UpdateStrategy::RollingUpdate {
                        max_surge: update.max_surge.unwrap_or(IntOrString::Int(0)),
                        max_unavailable: update.max_unavailable.unwrap_or(IntOrString::Int(1)),
                    }
                }
                Some(_) => UpdateStrategy::OnDelete,
            },
            min_ready_seconds: spec.and_then(|spec| spec.min_ready_seconds).unwrap_or(0),
            history_limit: usize::try_from(history_limit.unwrap_or(DEFAULT_HISTORY_LIMIT)).unwrap_or(0),
        }
    }

    /// Whether a node may have two pods, of an old and of the new revision.
    pub(super) fn allows_surge(&self) -> bool {
        match &self.strategy {
            UpdateStrategy::OnDelete => false,
            UpdateStrategy::RollingUpdate { max_surge, .. } => {
                resolve(max_surge, 1, Rounding::Up).is_ok_and(|surge| surge > 0)
            }
        }
    }
}

impl RolloutLimits {
    /// Resolves percentages of the nodes; parts are rounded up. If both limits are zero, one pod may be unavailable: the rollout would stand
    /// still otherwise.
    pub(super) fn resolve(
        max_surge: &IntOrString,
        max_unavailable: &IntOrString,
        nodes: usize,
    ) -> Result<Self, InvalidLimit> {
        let total = i32::try_from(nodes).unwrap_or(i32::MAX).into();
        let resolved = |limit| -> Result<usize, InvalidLimit> {
            let resolved = resolve(limit, total, Rounding::Up)?;
            Ok(usize::try_from(resolved).unwrap_or(usize::MAX))
        };
        let (surge, unavailable) = (resolved(max_surge)?, resolved(max_unavailable)?);
        let stands_still = nodes > 0 && surge == 0 && unavailable == 0;
        Ok(Self {
            surge,
            unavailable: if stands_still { 1 } else { unavailable },
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn desired(mut spec: Value) -> DesiredState {
        spec["selector"] = json!({});
        spec["template"] = json!({});
        DesiredState::of(Some(&from_value(spec).unwrap()))
    }

    fn limits(update: &Value, nodes: usize) -> Result<RolloutLimits, InvalidLimit> {
        let desired = desired(json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": update}}));
        match &desired.strategy {
            UpdateStrategy::RollingUpdate {
                max_surge,
                max_unavailable,
            } => RolloutLimits::resolve(max_surge, max_unavailable, nodes),
            UpdateStrategy::OnDelete => panic!("{desired:?}"),
        }
    }

    #[test]
    fn limits_are_rounded_up_and_never_both_zero() {
        for (update, nodes, surge, unavailable) in [
            (json!(null), 3, 0, 1),
            (json!({"maxUnavailable": 0}), 3, 0, 1),
            (json!({"maxUnavailable": 0}), 0, 0, 0),
            (json!({"maxUnavailable": "50%"}), 3, 0, 2),
            (json!({"maxUnavailable": "0%", "maxSurge": "1%"}), 3, 1, 0),
            (json!({"maxUnavailable": 0, "maxSurge": 5}), 3, 5, 0),
            (json!({"maxUnavailable": "100%", "maxSurge": "0%"}), 2, 0, 2),
            (json!({"maxUnavailable": -4}), 2, 0, 1),
        ] {
            let expected = RolloutLimits { surge, unavailable };
            assert_eq!(limits(&update, nodes), Ok(expected), "{update} {nodes}");
        }
        assert!(limits(&json!({"maxUnavailable": "two"}), 2).is_err());
        assert!(limits(&json!({"maxSurge": "2"}), 2).is_err());
    }

    #[test]
    fn surge_needs_the_strategy_and_a_valid_limit() {
        for (strategy, expected) in [
            (json!(null), false),
            (json!({"type": "RollingUpdate"}), false),
            (json!({"rollingUpdate": {"maxSurge": "10%"}}), true),
            (json!({"rollingUpdate": {"maxSurge": "ten"}}), false),
            (
                json!({"type": "OnDelete", "rollingUpdate": {"maxSurge": 1}}),
                false,
            ),
            (json!({"type": "Canary"}), false),
        ] {
            assert_eq!(
                desired(json!({"updateStrategy": strategy})).allows_surge(),
                expected,
                "{strategy}"
            );
        }
    }

    #[test]
    fn history_limit_has_a_default_and_is_not_negative() {
        for (limit, expected) in [(json!(null), 10), (json!(0), 0), (json!(3), 3), (json!(-1), 0)] {
            let desired = desired(json!({"revisionHistoryLimit": limit}));
            assert_eq!(desired.history_limit, expected);
        }
        assert_eq!(DesiredState::of(None).history_limit, 10);
    }
}
