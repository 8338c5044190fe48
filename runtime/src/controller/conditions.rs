//! Conditions: what a status tells people and `kubectl wait`.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::Resource;

use crate::clock::reconcile_time;

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody knows.
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

/// A condition of `object` as it is now: its time is now, its observed generation the object's. Hand it to [`set_condition`].
///
/// API servers want a reason in CamelCase; the message is for people. The time is that of the running reconcile's [`Clock`](crate::Clock);
/// outside of a reconcile, and in tasks that it spawned, the system's.
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

/// Puts a condition into the list, in the place of the one of its type or behind all others. Answers whether that changes the list.
///
/// While the status is the same, `lastTransitionTime` stays as it was: a status that is written at each reconcile then changes nothing,
/// and wakes nobody.
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

/// The condition of that type.
pub fn find_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether there is a condition of that type and it holds.
pub fn is_condition_true(conditions: &[Condition], type_: &str) -> bool {
    find_condition(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// Whether a status with this `observedGeneration` speaks of the object's present spec.
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
    fn the_time_of_a_condition_stays_while_its_status_does() {
        let mut conditions = Vec::new();
        let starting = at(condition(&object(1), "Ready", false, "Starting", "0 of 1"), 1);
        assert!(set_condition(&mut conditions, starting.clone()));
        assert!(
            !set_condition(&mut conditions, at(starting.clone(), 2)),
            "the same, later, is no change"
        );
        assert_eq!(conditions, std::slice::from_ref(&starting));

        let failing = at(condition(&object(2), "Ready", false, "Failing", "no image"), 3);
        assert!(set_condition(&mut conditions, failing.clone()));
        assert_eq!(
            conditions,
            [at(failing, 1)],
            "another reason, and the generation, are taken over"
        );

        let ready = at(condition(&object(2), "Ready", true, "Available", "1 of 1"), 4);
        assert!(set_condition(&mut conditions, ready.clone()));
        assert_eq!(conditions, [ready]);
        assert!(is_condition_true(&conditions, "Ready"));
    }

    #[test]
    fn other_conditions_keep_their_place() {
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
    fn a_condition_carries_the_generation_that_it_speaks_of() {
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
