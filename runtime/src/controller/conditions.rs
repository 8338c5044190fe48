//! Status conditions, for people and for `kubectl wait`.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::Resource;

use crate::clock::reconcile_time;

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The controller cannot determine it.
    Unknown,
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// Returns a condition of `object` with the current time and the object's generation. Pass it to [`set_condition`].
///
/// The API server requires a reason in CamelCase; the message is free text.
/// The time is that of the running reconcile's [`Clock`](crate::Clock); outside of a reconcile, and in tasks that it spawned, the system's.
pub fn condition<K: Resource>(
    object: &K,
    type_: impl Into<String>,
    status: impl Into<ConditionStatus>,
    reason: impl Into<String>,
    message: impl Into<String>,
) -> Condition {
    Condition {
        type_: type_.into(),
        status: status.into().to_string(),
        reason: reason.into(),
        message: message.into(),
        observed_generation: object.meta().generation,
        last_transition_time: Time(reconcile_time()),
    }
}

/// Sets a condition in the list: replaces the one of its type, or appends it. Returns whether the list changed.
///
/// Keeps `lastTransitionTime` while the status is the same. So a reconcile that writes the same status again changes nothing, and causes
/// no event.
pub fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) -> bool {
    let Some(old) = conditions.iter_mut().find(|old| old.type_ == new.type_) else {
        conditions.push(new);
        return true;
    };
    if old.status == new.status {
        new.last_transition_time = old.last_transition_time.clone();
    }
    let changed = *old != new;
    *old = new;
    changed
}

/// Returns the condition of a type.
pub fn find_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition of a type exists and holds.
pub fn is_condition_true(conditions: &[Condition], type_: &str) -> bool {
    find_condition(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// Whether a status with this `observedGeneration` is up to date with the object's spec.
pub fn is_observed<K: Resource>(object: &K, observed_generation: Option<i64>) -> bool {
    match (object.meta().generation, observed_generation) {
        (Some(generation), Some(observed)) => observed >= generation,
        (generation, _) => generation.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::apps::v1::Deployment,
        jiff::{Timestamp, ToSpan},
    };

    use super::*;

    fn object(generation: i64) -> Deployment {
        let mut object = Deployment::default();
        object.metadata.generation = Some(generation);
        object
    }

    fn at(mut condition: Condition, minute: i64) -> Condition {
        condition.last_transition_time = Time(Timestamp::UNIX_EPOCH + minute.minutes());
        condition
    }

    #[test]
    fn transition_time_is_kept_while_the_status_is_the_same() {
        let mut conditions = Vec::new();
        let starting = at(condition(&object(1), "Ready", false, "Starting", "0 of 1"), 1);
        assert!(set_condition(&mut conditions, starting.clone()));
        assert!(
            !set_condition(&mut conditions, at(starting.clone(), 2)),
            "the same condition later is not a change"
        );
        assert_eq!(conditions, std::slice::from_ref(&starting));

        let failing = at(condition(&object(2), "Ready", false, "Failing", "no image"), 3);
        assert!(set_condition(&mut conditions, failing.clone()));
        assert_eq!(conditions, [at(failing, 1)], "reason and generation are updated");

        let ready = at(condition(&object(2), "Ready", true, "Available", "1 of 1"), 4);
        assert!(set_condition(&mut conditions, ready.clone()));
        assert_eq!(conditions, [ready]);
        assert!(is_condition_true(&conditions, "Ready"));
    }

    #[test]
    fn order_of_conditions_is_kept() {
        let mut conditions = Vec::new();
        for type_ in ["Ready", "Progressing", "Ready"] {
            set_condition(
                &mut conditions,
                condition(&object(1), type_, ConditionStatus::Unknown, "New", ""),
            );
        }
        let types: Vec<_> = conditions
            .iter()
            .map(|condition| condition.type_.as_str())
            .collect();
        assert_eq!(types, ["Ready", "Progressing"]);
        assert_eq!(find_condition(&conditions, "Ready").unwrap().status, "Unknown");
        assert!(!is_condition_true(&conditions, "Ready"));
        assert!(find_condition(&conditions, "Degraded").is_none());
    }

    #[test]
    fn condition_has_the_observed_generation() {
        assert_eq!(
            condition(&object(7), "Ready", true, "Ok", "").observed_generation,
            Some(7)
        );
        assert!(is_observed(&object(7), Some(7)));
        assert!(!is_observed(&object(7), Some(6)));
        assert!(!is_observed(&object(7), None));
        assert!(
            is_observed(&Deployment::default(), None),
            "kinds without generations are always observed"
        );
    }
}
