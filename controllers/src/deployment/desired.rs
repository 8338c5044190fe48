//! What a Deployment asks for: its spec with the API's defaults, as numbers.

use k8s_openapi::{
    api::apps::v1::{DeploymentSpec, RollingUpdateDeployment},
    apimachinery::pkg::util::intstr::IntOrString,
    jiff::SignedDuration,
};

use crate::shared::int_or_percent::{InvalidLimit, Rounding, resolve};

/// A deadline or a history of this size has no limit.
const UNLIMITED: i32 = i32::MAX;

/// What a Deployment asks for. Numbers of the API are 32 bits wide: sums of these do not overflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DesiredState {
    pub(super) replicas: i64,
    pub(super) strategy: Strategy,
    pub(super) min_ready_seconds: i32,
    pub(super) is_paused: bool,
    /// How long a rollout may make no progress; none: as long as it likes.
    pub(super) progress_deadline: Option<SignedDuration>,
    /// How many old ReplicaSets to keep; none: all.
    pub(super) history_limit: Option<usize>,
}

/// How pods of an old template are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// All old pods end before new ones start.
    Recreate,
    /// A few at a time.
    RollingUpdate {
        /// How many pods may exist beyond the replicas.
        max_surge: i64,
        /// How many replicas may be unavailable.
        max_unavailable: i64,
    },
}

/// A spec that the API server would refuse, stored before it was validated.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidSpec {
    #[error("the Deployment has no spec")]
    Missing,
    #[error("unexpected deployment strategy type: {0}")]
    Strategy(String),
    #[error(transparent)]
    Limit(#[from] InvalidLimit),
}

impl InvalidSpec {
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "NoSpec",
            Self::Strategy(_) => "UnknownStrategy",
            Self::Limit(_) => "InvalidLimit",
        }
    }
}

impl DesiredState {
    pub(super) fn of(spec: &DeploymentSpec) -> Result<Self, InvalidSpec> {
        let replicas = i64::from(spec.replicas.unwrap_or(1)).max(0);
        let strategy = spec.strategy.as_ref();
        let strategy = match strategy.and_then(|strategy| strategy.type_.as_deref()) {
            Some("Recreate") => Strategy::Recreate,
            None | Some("RollingUpdate") => {
                let update = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
                Strategy::rolling_update(update, replicas)?
            }
            Some(other) => return Err(InvalidSpec::Strategy(other.to_owned())),
        };
        let limited = |limit: Option<i32>| limit.filter(|limit| *limit != UNLIMITED);
        Ok(Self {
            replicas,
            strategy,
            min_ready_seconds: spec.min_ready_seconds.unwrap_or_default(),
            is_paused: spec.paused.unwrap_or_default(),
            progress_deadline: limited(spec.progress_deadline_seconds)
                .map(|seconds| SignedDuration::from_secs(seconds.into())),
            history_limit: limited(spec.revision_history_limit)
                .map(|limit| usize::try_from(limit).unwrap_or(0)),
        })
    }

    /// How many pods may exist beyond the replicas.
    pub(super) fn max_surge(&self) -> i64 {
        match self.strategy {
            Strategy::Recreate => 0,
            Strategy::RollingUpdate { max_surge, .. } => max_surge,
        }
    }

    /// How many replicas may be unavailable.
    pub(super) fn max_unavailable(&self) -> i64 {
        match self.strategy {
            Strategy::Recreate => 0,
            Strategy::RollingUpdate { max_unavailable, .. } => max_unavailable.min(self.replicas),
        }
    }

    /// How many replicas must be available.
    pub(super) fn min_available(&self) -> i64 {
        self.replicas - self.max_unavailable()
    }

    /// How many pods may exist.
    pub(super) fn max_replicas(&self) -> i64 {
        self.replicas + self.max_surge()
    }
}

impl Strategy {
    /// Resolves percentages: surge is rounded up, unavailable down. If both are zero, which rounding can lead to, one replica may be
    /// unavailable: the rollout would stand still otherwise.
    fn rolling_update(update: Option<&RollingUpdateDeployment>, replicas: i64) -> Result<Self, InvalidSpec> {
        let resolved = |limit: Option<&IntOrString>, rounding| {
            limit.map_or(Ok(0), |limit| resolve(limit, replicas, rounding))
        };
        let max_surge = resolved(update.and_then(|update| update.max_surge.as_ref()), Rounding::Up)?;
        let max_unavailable = resolved(
            update.and_then(|update| update.max_unavailable.as_ref()),
            Rounding::Down,
        )?;
        Ok(Self::RollingUpdate {
            max_surge,
            max_unavailable: if max_surge == 0 {
                max_unavailable.max(1)
            } else {
                max_unavailable
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::DeploymentStrategy;

    use super::*;

    fn spec(replicas: i32, surge: Option<IntOrString>, unavailable: Option<IntOrString>) -> DeploymentSpec {
        DeploymentSpec {
            replicas: Some(replicas),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDeployment {
                    max_surge: surge,
                    max_unavailable: unavailable,
                }),
            }),
            ..DeploymentSpec::default()
        }
    }

    fn percent(text: &str) -> IntOrString {
        IntOrString::String(text.to_owned())
    }

    #[test]
    fn surge_is_rounded_up_and_unavailable_down() {
        for (surge, unavailable, replicas, expected) in [
            (Some("0%"), Some("0%"), 0, (0, 1)),
            (Some("39%"), Some("39%"), 10, (4, 3)),
            (None, Some("39%"), 10, (0, 3)),
            (Some("39%"), None, 10, (4, 0)),
            (None, None, 10, (0, 1)),
            (Some("0%"), Some("1%"), 2, (0, 1)),
            (Some("1%"), Some("25%"), 2, (1, 0)),
            (Some("1%"), Some("0%"), 1, (1, 0)),
            (Some("2000000000%"), Some("0%"), i32::MAX, (i32::MAX.into(), 0)),
        ] {
            let text = format!("{surge:?} {unavailable:?} {replicas}");
            let desired =
                DesiredState::of(&spec(replicas, surge.map(percent), unavailable.map(percent))).unwrap();
            let Strategy::RollingUpdate {
                max_surge,
                max_unavailable,
            } = desired.strategy
            else {
                panic!("{desired:?}");
            };
            assert_eq!((max_surge, max_unavailable), expected, "{text}");
        }
    }

    #[test]
    fn limits_that_are_no_percentages_are_errors() {
        for (surge, unavailable) in [("oops", "39%"), ("55%", "urg"), ("5", "0%"), ("%", "0%")] {
            let error =
                DesiredState::of(&spec(10, Some(percent(surge)), Some(percent(unavailable)))).unwrap_err();
            assert!(matches!(error, InvalidSpec::Limit(_)), "{error}");
        }
    }

    #[test]
    fn no_more_than_all_replicas_are_unavailable() {
        let number = IntOrString::Int;
        for (replicas, unavailable, expected) in [
            (10, number(5), 5),
            (10, number(10), 10),
            (5, number(10), 5),
            (0, number(10), 0),
            (10, percent("50%"), 5),
            (10, percent("60%"), 6),
            (10, percent("100%"), 10),
            (5, percent("100%"), 5),
        ] {
            let desired = DesiredState::of(&spec(replicas, Some(number(1)), Some(unavailable))).unwrap();
            assert_eq!(desired.max_unavailable(), expected, "{desired:?}");
            assert_eq!(
                desired.min_available(),
                i64::from(replicas) - expected,
                "{desired:?}"
            );
        }
    }

    #[test]
    fn recreate_has_neither_surge_nor_unavailable_replicas() {
        let mut spec = spec(10, Some(percent("50%")), Some(percent("50%")));
        spec.strategy.as_mut().unwrap().type_ = Some("Recreate".to_owned());
        let desired = DesiredState::of(&spec).unwrap();
        assert_eq!((desired.max_surge(), desired.max_unavailable()), (0, 0));
        spec.strategy.as_mut().unwrap().type_ = Some("Canary".to_owned());
        assert_eq!(
            DesiredState::of(&spec),
            Err(InvalidSpec::Strategy("Canary".to_owned()))
        );
    }

    #[test]
    fn the_largest_number_is_no_limit() {
        let spec = |limit| DeploymentSpec {
            progress_deadline_seconds: Some(limit),
            revision_history_limit: Some(limit),
            ..DeploymentSpec::default()
        };
        let unlimited = DesiredState::of(&spec(i32::MAX)).unwrap();
        assert_eq!(
            (unlimited.progress_deadline, unlimited.history_limit),
            (None, None)
        );
        let limited = DesiredState::of(&spec(3)).unwrap();
        assert_eq!(limited.progress_deadline, Some(SignedDuration::from_secs(3)));
        assert_eq!((limited.history_limit, limited.replicas), (Some(3), 1));
        let negative = DesiredState::of(&spec(-3)).unwrap();
        assert_eq!(negative.history_limit, Some(0));
    }
}
