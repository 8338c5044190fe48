//! When a finished Job is deleted.

use std::time::Duration;

use k8s_openapi::{
    api::batch::v1::Job,
    jiff::{SignedDuration, Timestamp},
};

use crate::shared::finished_job::finished_condition;

/// What is to be done about a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It has not finished, has no limit, or is being deleted.
    Keep,
    /// It expires after this time.
    Wait(Duration),
    /// It has expired.
    Delete,
}

/// The Job has finished, but its condition does not say when.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the condition of the finished Job has no time")]
pub(super) struct NoFinishTime;

/// Decides. A time in the future, of a clock that differs, only makes the Job live longer.
pub(super) fn decide(job: &Job, now: Timestamp) -> Result<Decision, NoFinishTime> {
    if job.metadata.deletion_timestamp.is_some() {
        return Ok(Decision::Keep);
    }
    let Some(expiry) = expiry(job)? else {
        return Ok(Decision::Keep);
    };
    Ok(match Duration::try_from(expiry.duration_since(now)) {
        Ok(left) if !left.is_zero() => Decision::Wait(left),
        _ => Decision::Delete,
    })
}

/// Returns when the Job expires; none if it has not finished, or has no limit.
pub(super) fn expiry(job: &Job) -> Result<Option<Timestamp>, NoFinishTime> {
    let ttl = job.spec.as_ref().and_then(|spec| spec.ttl_seconds_after_finished);
    let (Some(ttl), Some(condition)) = (ttl, finished_condition(job)) else {
        return Ok(None);
    };
    let finished = condition.last_transition_time.as_ref().ok_or(NoFinishTime)?.0;
    // Beyond the last time that there is, the Job never expires.
    let expiry = finished.checked_add(SignedDuration::from_secs(ttl.into()));
    Ok(Some(expiry.unwrap_or(Timestamp::MAX)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(ttl: Option<i32>, condition: Option<(&str, &str, Option<i64>)>) -> Job {
        let condition = condition.map(|(kind, status, second)| {
            let time = second.map(|second| Timestamp::from_second(second).unwrap().to_string());
            json!({"type": kind, "status": status, "lastTransitionTime": time})
        });
        let conditions: Vec<_> = condition.into_iter().collect();
        serde_json::from_value(json!({
            "metadata": {}, "spec": {"ttlSecondsAfterFinished": ttl, "template": {}}, "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn finished_job_expires_after_its_limit() {
        let now = Timestamp::from_second(1000).unwrap();
        let wait = |seconds| Ok(Decision::Wait(Duration::from_secs(seconds)));
        for (ttl, condition, expected) in [
            (None, Some(("Complete", "True", Some(0))), Ok(Decision::Keep)),
            (Some(10), None, Ok(Decision::Keep)),
            (Some(10), Some(("Complete", "False", Some(0))), Ok(Decision::Keep)),
            (
                Some(10),
                Some(("FailureTarget", "True", Some(0))),
                Ok(Decision::Keep),
            ),
            (Some(10), Some(("Complete", "True", Some(995))), wait(5)),
            (
                Some(10),
                Some(("Failed", "True", Some(990))),
                Ok(Decision::Delete),
            ),
            (
                Some(0),
                Some(("Failed", "True", Some(1000))),
                Ok(Decision::Delete),
            ),
            (Some(10), Some(("Complete", "True", Some(2000))), wait(1010)),
            (Some(10), Some(("Complete", "True", None)), Err(NoFinishTime)),
        ] {
            assert_eq!(
                decide(&job(ttl, condition), now),
                expected,
                "{ttl:?} {condition:?}"
            );
        }
    }

    #[test]
    fn expiry_is_the_end_and_the_limit() {
        let expired = expiry(&job(Some(10), Some(("Complete", "True", Some(990)))));
        assert_eq!(expired, Ok(Some(Timestamp::from_second(1000).unwrap())));
        assert_eq!(expiry(&job(Some(10), None)), Ok(None));
    }

    #[test]
    fn deleted_job_is_left_alone() {
        let mut job = job(Some(0), Some(("Complete", "True", Some(0))));
        job.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
            Timestamp::UNIX_EPOCH,
        ));
        assert_eq!(
            decide(&job, Timestamp::from_second(1000).unwrap()),
            Ok(Decision::Keep)
        );
    }
}
