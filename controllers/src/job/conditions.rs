//! The conditions of a Job.

use k8s_openapi::{
    api::batch::v1::{JobCondition, JobStatus},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};

pub(super) const SUSPENDED: &str = "Suspended";

pub(super) fn condition(
    kind: &str,
    is_true: bool,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> JobCondition {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    JobCondition {
        type_: kind.to_owned(),
        status: if is_true { "True" } else { "False" }.to_owned(),
        reason: text(reason),
        message: text(message),
        last_probe_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    }
}

/// Returns the condition if the Job has it and it is true.
pub(super) fn is_true<'s>(status: &'s JobStatus, kind: &str) -> Option<&'s JobCondition> {
    let mut conditions = status.conditions.iter().flatten();
    conditions
        .find(|condition| condition.type_ == kind)
        .filter(|condition| condition.status == "True")
}

/// Sets a condition. A false condition is not added, only changed. Returns whether the status changed.
pub(super) fn set(status: &mut JobStatus, new: JobCondition) -> bool {
    let conditions = status.conditions.get_or_insert_default();
    let known = conditions.iter_mut().find(|known| known.type_ == new.type_);
    match known {
        Some(known) => {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let key = |condition: &JobCondition| {
                (
                    condition.status.clone(),
                    text(&condition.reason),
                    text(&condition.message),
                )
            };
            let is_changed = key(known) != key(&new);
            if is_changed {
                *known = new;
            }
            is_changed
        }
        None if new.status == "False" => false,
        None => {
            conditions.push(new);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspended(is_true: bool, message: &str) -> JobCondition {
        condition(SUSPENDED, is_true, "Reason", message, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn condition_is_set_only_where_it_differs() {
        let mut status = JobStatus::default();
        assert!(!set(&mut status, suspended(false, "")));
        assert!(set(&mut status, suspended(true, "")));
        assert!(!set(&mut status, suspended(true, "")));
        assert!(set(&mut status, suspended(true, "other")));
        assert!(is_true(&status, SUSPENDED).is_some());
        assert!(set(&mut status, suspended(false, "")));
        assert!(is_true(&status, SUSPENDED).is_none());
        assert_eq!(status.conditions.unwrap().len(), 1);
    }
}
