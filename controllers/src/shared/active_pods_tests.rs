use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::SignedDuration};
use proptest::prelude::*;
use serde_json::{Value, from_value, json};

use super::*;

const MONTH: i64 = 30 * 24;

fn now() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

/// Returns a time that is so many hours ago, or null.
fn hours_ago(hours: Option<i64>) -> Value {
    hours.map_or(Value::Null, |hours| {
        json!((now() - SignedDuration::from_hours(hours)).to_string())
    })
}

/// A pod on a node that has been ready, and exists, for so many hours.
fn ready(since: Option<i64>, created: Option<i64>, restarts: i32, sidecar_restarts: i32) -> PodView {
    from_value(json!({
        "metadata": {"creationTimestamp": hours_ago(created)},
        "spec": {"nodeName": "node", "initContainers": [{"name": "sidecar", "restartPolicy": "Always"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": hours_ago(since)}],
            "containerStatuses": [{"restartCount": restarts}],
            "initContainerStatuses": [{"name": "sidecar", "restartCount": sidecar_restarts}],
        },
    }))
    .unwrap()
}

fn not_ready(node: &str, phase: &str, created: Option<i64>) -> PodView {
    let metadata = json!({"creationTimestamp": hours_ago(created)});
    from_value(json!({"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}})).unwrap()
}

fn with_cost(mut pod: PodView, cost: &str) -> PodView {
    pod.deletion_cost = Some(cost.to_owned());
    pod
}

fn rank<'u>(pod: &PodView, uid: &'u str, neighbours: usize, uses_deletion_cost: bool) -> DeletionRank<'u> {
    DeletionRank::new(pod, uid, neighbours, uses_deletion_cost, now())
}

#[test]
fn each_rule_decides_where_the_earlier_ones_do_not() {
    let unscheduled = not_ready("", "Pending", None);
    let pending = not_ready("node", "Pending", None);
    let unknown = not_ready("node", "Unknown", None);
    let running = not_ready("node", "Running", None);
    let ready_since_unknown = ready(None, None, 0, 0);
    let ready_now = ready(Some(0), Some(0), 0, 0);
    let ready_long = ready(Some(MONTH), Some(MONTH), 0, 0);
    let restarted = ready(Some(0), Some(0), 9001, 0);
    let both_restarted = ready(Some(0), Some(0), 9001, 9001);
    let old_ready_now = ready(Some(0), Some(MONTH), 0, 0);
    let (cheap, dear) = (
        with_cost(old_ready_now.clone(), "10"),
        with_cost(old_ready_now.clone(), "100"),
    );
    let ready_2_hours = ready(Some(2), Some(MONTH), 0, 0);
    let ready_5_hours = ready(Some(5), Some(MONTH), 0, 0);
    for (first, first_neighbours, second, second_neighbours, uses_cost) in [
        (&unscheduled, 1, &pending, 2, true),
        (&unscheduled, 2, &pending, 1, true),
        (&pending, 1, &unknown, 2, true),
        (&unknown, 1, &running, 2, true),
        (&running, 1, &ready_since_unknown, 1, true),
        (&ready_since_unknown, 1, &ready_now, 1, true),
        (&ready_now, 2, &ready_since_unknown, 1, true),
        (&ready_now, 1, &ready_long, 1, true),
        (&ready_now, 2, &ready_long, 1, true),
        (&restarted, 1, &ready_now, 1, true),
        (&both_restarted, 1, &restarted, 1, true),
        (&ready_now, 2, &restarted, 1, true),
        (&ready_now, 1, &old_ready_now, 1, true),
        (&old_ready_now, 2, &ready_now, 1, true),
        (&cheap, 2, &dear, 1, true),
        (&cheap, 1, &dear, 2, true),
        (&dear, 2, &cheap, 1, false),
        (&ready_2_hours, 1, &ready_5_hours, 1, true),
    ] {
        let ranks = (
            rank(first, "b", first_neighbours, uses_cost),
            rank(second, "a", second_neighbours, uses_cost),
        );
        assert_eq!(ranks.0.compare(&ranks.1), Ordering::Less, "{ranks:?}");
        assert_eq!(ranks.1.compare(&ranks.0), Ordering::Greater, "{ranks:?}");
    }
}

#[test]
fn pods_of_a_like_age_are_ordered_by_uid() {
    let unscheduled = |hours| not_ready("", "Pending", Some(hours));
    let ready = |hours| ready(Some(hours), Some(MONTH), 0, 0);
    for (one, two) in [(unscheduled(5), unscheduled(8)), (ready(5), ready(8))] {
        for (uids, expected) in [
            (("a", "b"), Ordering::Less),
            (("b", "a"), Ordering::Greater),
            (("a", "a"), Ordering::Equal),
        ] {
            let (one, two) = (rank(&one, uids.0, 1, true), rank(&two, uids.1, 1, true));
            assert_eq!(one.compare(&two), expected, "{uids:?}");
        }
    }
}

#[test]
fn pods_from_the_future_are_the_youngest() {
    let (future, young) = (ready(Some(-1), Some(0), 0, 0), ready(Some(1), Some(0), 0, 0));
    assert!(
        rank(&future, "b", 0, true)
            .compare(&rank(&young, "a", 0, true))
            .is_lt()
    );
}

#[test]
fn active_pods_are_counted_by_node() {
    let deleted = {
        let mut pod = not_ready("b", "Running", None);
        pod.deleted = Some(Time(now()));
        pod
    };
    let pods = [
        not_ready("a", "Running", None),
        not_ready("a", "Pending", None),
        not_ready("b", "Failed", None),
        not_ready("", "Pending", None),
        deleted,
    ];
    assert_eq!(count_by_node(pods.iter()), HashMap::from([("a", 2), ("", 1)]));
}

fn any_pod() -> impl Strategy<Value = PodView> {
    let phase = prop_oneof![Just("Pending"), Just("Running"), Just("Unknown")];
    let time = || prop::option::of(0_i64..40);
    let node = prop_oneof![Just(""), Just("a"), Just("b")];
    let cost = prop::option::of(-1..2);
    (phase, node, any::<bool>(), time(), time(), 0..2, cost).prop_map(
        |(phase, node, is_ready, since, created, restarts, cost)| {
            let mut pod = ready(since, created, restarts, 0);
            pod.phase = from_value(json!(phase)).unwrap();
            node.clone_into(&mut pod.node);
            if !is_ready {
                pod.condition_types.clear();
            }
            pod.deletion_cost = cost.map(|cost: i32| cost.to_string());
            pod
        },
    )
}

proptest! {
    #[test]
    fn comparisons_are_antisymmetric(one in any_pod(), two in any_pod(), neighbours in 0_usize..3) {
        let (one, two) = (rank(&one, "a", neighbours, true), rank(&two, "b", 1, true));
        prop_assert_eq!(one.compare(&two), two.compare(&one).reverse());
    }

    /// The first four rules are a total order, which the result must follow, although the whole comparison is not one.
    #[test]
    fn chosen_pods_have_the_least_ranks(pods in prop::collection::vec(any_pod(), 0..24), count in 0_usize..30) {
        let uids: Vec<String> = (0..pods.len()).map(|number| (number * 7 % 24).to_string()).collect();
        let ranked = || pods.iter().zip(&uids).map(|(pod, uid)| rank(pod, uid, 0, true));
        let chosen = choose(ranked().enumerate().map(|(position, rank)| (rank, position)), count);
        prop_assert_eq!(chosen.len(), count.min(pods.len()));
        let class = |rank: &DeletionRank<'_>| (rank.is_assigned, rank.phase, rank.is_ready, rank.cost);
        let ranks: Vec<_> = ranked().collect();
        prop_assert!(chosen.is_sorted_by_key(|position| class(&ranks[*position])));
        let rest = (0..pods.len()).filter(|position| !chosen.contains(position));
        if let Some(last) = chosen.last() {
            for other in rest {
                prop_assert!(class(&ranks[*last]) <= class(&ranks[other]));
            }
        }
    }
}
