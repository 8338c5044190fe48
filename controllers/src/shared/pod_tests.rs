use std::time::Duration;

use serde_json::{Value, from_value, json};

use super::*;

fn now() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

fn ago(seconds: i64) -> String {
    (now() - SignedDuration::from_secs(seconds)).to_string()
}

fn pod(object: Value) -> PodView {
    from_value(object).unwrap()
}

/// A running pod whose condition Ready has this status since so many seconds.
fn ready(status: &str, seconds: i64) -> PodView {
    let conditions = json!([
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(1000)},
        {"type": "Ready", "status": status, "lastTransitionTime": ago(seconds)},
    ]);
    pod(json!({"status": {"phase": "Running", "conditions": conditions}}))
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn absent_values_have_defaults() {
    assert_eq!(pod(json!({})), PodView::default());
    for phase in ["", "Evicted"] {
        assert_eq!(pod(json!({"status": {"phase": phase}})).phase, PodPhase::Unset);
    }
}

#[test]
fn pods_are_active_or_terminating_by_phase_and_deletion() {
    for (phase, is_deleting, is_active, is_terminating) in [
        ("Pending", false, true, false),
        ("Running", false, true, false),
        ("Unknown", false, true, false),
        ("", false, true, false),
        ("Succeeded", false, false, false),
        ("Failed", false, false, false),
        ("Pending", true, false, true),
        ("Running", true, false, true),
        ("Succeeded", true, false, false),
        ("Failed", true, false, false),
    ] {
        let deleted = is_deleting.then(|| ago(5));
        let pod = pod(json!({"metadata": {"deletionTimestamp": deleted}, "status": {"phase": phase}}));
        assert_eq!(
            (pod.is_active(), pod.is_terminating()),
            (is_active, is_terminating),
            "{phase} {is_deleting}"
        );
    }
}

#[test]
fn first_condition_ready_decides() {
    assert!(ready("True", 1).is_ready());
    assert!(!ready("False", 1).is_ready());
    assert!(!ready("Unknown", 1).is_ready());
    let twice = json!([{"type": "Ready", "status": "False"}, {"type": "Ready", "status": "True"}]);
    assert!(!pod(json!({"status": {"conditions": twice}})).is_ready());
    assert!(!PodView::default().is_ready());
}

#[test]
fn pods_are_available_after_min_ready_seconds() {
    let unknown_since = |time: Value| {
        let condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": time});
        pod(json!({"status": {"conditions": [condition]}}))
    };
    for (pod, min_ready_seconds, is_available, available_after) in [
        (ready("False", 0), 0, false, None),
        (ready("True", 0), 0, true, None),
        (unknown_since(json!(null)), 0, true, None),
        (unknown_since(json!(null)), 1, false, None),
        (unknown_since(json!("0001-01-01T00:00:00Z")), 1, false, None),
        (ready("True", 0), 1, false, Some(seconds(1))),
        (ready("True", 20), 30, false, Some(seconds(10))),
        (ready("True", 50), 50, true, None),
        (ready("True", 51), 50, true, None),
        // The node's clock is ahead.
        (ready("True", -5), 10, false, Some(seconds(15))),
        // The clock jumped by an hour, back and forth.
        (ready("True", -3600), 10, false, Some(seconds(3610))),
        (ready("True", 3605), 10, true, None),
        (ready("True", 5), -1, true, None),
        (ready("True", 5), i32::MAX, false, Some(seconds(2_147_483_642))),
    ] {
        let case = format!("{pod:?} {min_ready_seconds}");
        assert_eq!(pod.is_available(min_ready_seconds, now()), is_available, "{case}");
        assert_eq!(
            pod.available_after(min_ready_seconds, now()),
            available_after,
            "{case}"
        );
    }
}

#[test]
fn first_pod_that_becomes_available_decides_about_the_next_check() {
    let pods = [
        ready("False", 0),
        ready("True", 2),
        ready("True", 0),
        ready("True", 4),
        ready("False", 0),
    ];
    let available = [
        ready("False", 0),
        ready("True", 15),
        ready("True", 11),
        ready("True", 10),
    ];
    for (pods, min_ready_seconds, later, expected) in [
        (&[][..], 0, 0, None),
        (&pods[..1], 10, 0, None),
        (&pods, 0, 0, None),
        (&pods, 10, 0, Some(seconds(6))),
        (&available, 10, 0, None),
        // Time has passed since the status was calculated.
        (&pods, 10, 2, Some(seconds(4))),
        (&pods, 10, 7, Some(seconds(0))),
        // The clock jumped since then.
        (&pods, 10, -3600, Some(seconds(3606))),
        (&pods, 10, 3600, Some(seconds(0))),
    ] {
        let later = now() + SignedDuration::from_secs(later);
        let check = next_availability_check(pods.iter(), min_ready_seconds, now(), later);
        assert_eq!(check, expected, "{min_ready_seconds} {later}");
    }
}

#[test]
fn absurd_times_do_not_overflow() {
    for time in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
        let condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": time.to_string()});
        let pod = pod(json!({"status": {"conditions": [condition]}}));
        for min_ready_seconds in [i32::MIN, 0, i32::MAX] {
            for now in [Timestamp::MIN, now(), Timestamp::MAX] {
                let _ = pod.is_available(min_ready_seconds, now);
                let _ = pod.available_after(min_ready_seconds, now);
            }
        }
    }
}

#[test]
fn restarts_of_sidecars_are_counted_apart() {
    let pod = pod(json!({
        "spec": {"initContainers": [
            {"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}, {"name": "once", "restartPolicy": "Never"},
        ]},
        "status": {
            "containerStatuses": [{"name": "a", "restartCount": 3}, {"name": "b", "restartCount": 1}],
            "initContainerStatuses": [
                {"name": "setup", "restartCount": 9}, {"name": "once", "restartCount": 8}, {"name": "proxy", "restartCount": 2},
            ],
        },
    }));
    assert_eq!(pod.max_restarts(), (3, 2));
    assert_eq!(PodView::default().max_restarts(), (0, 0));
}

#[test]
fn deletion_costs_are_plain_numbers() {
    for (text, cost) in [
        ("0", 0),
        ("10", 10),
        ("-1", -1),
        ("-07", -7),
        ("2147483647", i32::MAX),
        ("-2147483648", i32::MIN),
        ("2147483648", 0),
        ("+10", 0),
        ("008", 0),
        ("1.5", 0),
        ("", 0),
        ("cheap", 0),
    ] {
        let annotations = json!({"controller.kubernetes.io/pod-deletion-cost": text});
        let pod = pod(json!({"metadata": {"annotations": annotations}}));
        assert_eq!(pod.deletion_cost(), cost, "{text:?}");
    }
}

#[test]
fn target_node_is_that_of_the_pod_or_of_its_affinity() {
    let by_name = |operator: &str, values: &[&str]| json!({"matchFields": [{"key": "metadata.name", "operator": operator, "values": values}]});
    let other = json!({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["1"]}]});
    let labels = json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]});
    for (node, terms, expected) in [
        (json!("a"), json!([by_name("In", &["b"])]), Some("a")),
        (json!(null), json!([by_name("In", &["b"])]), Some("b")),
        (
            json!(""),
            json!([labels, other, by_name("In", &["b"])]),
            Some("b"),
        ),
        (json!(null), json!([by_name("In", &["a", "b"])]), None),
        (json!(null), json!([by_name("NotIn", &["b"])]), None),
        (json!(null), json!([labels]), None),
        (json!(null), json!([]), None),
        (json!(null), json!(null), None),
    ] {
        let required =
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        let pod = json!({"spec": {"nodeName": node, "affinity": {"nodeAffinity": required}}});
        let pod: PodView = from_value(pod).unwrap();
        assert_eq!(pod.target_node(), expected, "{node} {terms}");
    }
}
