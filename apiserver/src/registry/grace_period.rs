//! The grace period of a deletion: the time that a pod has to end.

use crate::meta;
use crate::request::DeleteOptions;
use serde_json::{Value, json};

/// Returns the grace period of a pod's first deletion in seconds. It is 0 for a pod that is not scheduled or has finished.
pub(super) fn of_pod(pod: &Value, options: &DeleteOptions) -> i64 {
    let idle = pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty)
        || matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if idle {
        return 0;
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    valid(options.grace_period.or(own).unwrap_or(30))
}

/// Returns the grace period that a repeated deletion requests.
pub(super) fn requested(options: &DeleteOptions) -> Option<i64> {
    options.grace_period.map(valid)
}

/// Returns the grace period of an earlier deletion; 0 without one.
pub(super) fn pending(object: &Value) -> i64 {
    let seconds = &object["metadata"]["deletionGracePeriodSeconds"];
    seconds.as_i64().unwrap_or(0)
}

/// True if the grace period of an earlier deletion is not over, and this deletion does not shorten it: then it changes nothing.
pub(super) fn is_kept(object: &Value, options: &DeleteOptions) -> bool {
    let before = pending(object);
    before > 0 && requested(options).is_none_or(|seconds| seconds >= before)
}

/// Marks the object for deletion after the grace period.
pub(super) fn start(object: &mut Value, seconds: i64) {
    let time = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds.clamp(0, 1 << 32));
    set(object, time, seconds);
}

/// Shortens the grace period of an earlier deletion, from which the new one counts. If that time has passed, one second is left.
pub(super) fn shorten(object: &mut Value, seconds: i64) {
    let (before, now) = (pending(object), jiff::Timestamp::now());
    let end = meta::text(&object["metadata"], "deletionTimestamp").parse::<jiff::Timestamp>();
    let end = end.and_then(|end| end.checked_add(jiff::SignedDuration::from_secs(seconds - before)));
    let end = end.unwrap_or(now);
    if end < now {
        set(object, now, seconds.min(1));
    } else {
        set(object, end, seconds);
    }
}

/// A negative grace period counts as one second.
fn valid(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

fn set(object: &mut Value, time: jiff::Timestamp, seconds: i64) {
    let time = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let metadata = meta::metadata_mut(object);
    metadata.insert("deletionTimestamp".into(), json!(time));
    metadata.insert("deletionGracePeriodSeconds".into(), json!(seconds));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(grace_period: Option<i64>) -> DeleteOptions {
        DeleteOptions {
            grace_period,
            ..DeleteOptions::default()
        }
    }

    #[test]
    fn negative_grace_period_is_one_second() {
        let pod = json!({ "spec": { "nodeName": "n", "terminationGracePeriodSeconds": 7 } });
        let seconds = [None, Some(-5), Some(0), Some(9)].map(|seconds| of_pod(&pod, &options(seconds)));
        assert_eq!(seconds, [7, 1, 0, 9]);
        assert_eq!(of_pod(&json!({ "spec": {} }), &options(Some(9))), 0);
    }

    #[test]
    fn repeated_deletion_only_shortens_the_grace_period() {
        let pod = json!({ "metadata": { "deletionGracePeriodSeconds": 60 } });
        let kept =
            [None, Some(60), Some(59), Some(-1), Some(0)].map(|seconds| is_kept(&pod, &options(seconds)));
        assert_eq!(kept, [true, true, false, false, false]);
        assert!(!is_kept(&json!({ "metadata": {} }), &options(None)));
    }

    #[test]
    fn shorter_grace_period_counts_from_the_first_deletion() {
        let mut pod = json!({ "metadata": {} });
        start(&mut pod, 1000);
        let end = pod["metadata"]["deletionTimestamp"].as_str().unwrap().to_owned();
        let end: jiff::Timestamp = end.parse().unwrap();
        shorten(&mut pod, 600);
        let metadata = &pod["metadata"];
        assert_eq!(metadata["deletionGracePeriodSeconds"], 600);
        let expected = end - jiff::SignedDuration::from_secs(400);
        assert_eq!(metadata["deletionTimestamp"], expected.to_string());
        for (seconds, left) in [(5, 1), (0, 0)] {
            let mut pod = json!({ "metadata": {
                "deletionTimestamp": "2020-01-01T00:00:10Z", "deletionGracePeriodSeconds": 10,
            } });
            shorten(&mut pod, seconds);
            assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], left);
            assert_ne!(pod["metadata"]["deletionTimestamp"], "2020-01-01T00:00:10Z");
        }
    }
}
