use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

fn pod(phase: PodPhase, node: &str, is_deleting: bool) -> PodView {
    PodView {
        phase,
        node: node.to_owned(),
        deleted: is_deleting.then_some(Time(Timestamp::UNIX_EPOCH)),
        ..PodView::default()
    }
}

fn created(phase: PodPhase, second: i64, is_evicted: bool) -> PodView {
    PodView {
        created: Some(Time(Timestamp::from_second(second).unwrap())),
        reason: is_evicted.then(|| "Evicted".to_owned()),
        ..pod(phase, "n", false)
    }
}

fn node(is_ready: bool, is_out_of_service: bool) -> NodeView {
    NodeView {
        taint_keys: is_out_of_service
            .then(|| "node.kubernetes.io/out-of-service".to_owned())
            .into_iter()
            .collect(),
        condition_types: vec![Some("Ready".to_owned())],
        condition_statuses: vec![Some(if is_ready { "True" } else { "Unknown" }.to_owned())],
    }
}

/// The positions and reasons, where these nodes exist and those are gone.
fn planned(
    pods: &[PodView],
    nodes: &[(&str, NodeView)],
    gone: &[&str],
    threshold: usize,
) -> Vec<(usize, Reason)> {
    let names: Vec<_> = (0..pods.len())
        .map(|index| NamespacedName::namespaced("shop", format!("p{index}")))
        .collect();
    let facts: Vec<_> = names
        .iter()
        .zip(pods)
        .map(|(name, view)| PodFacts { name, view })
        .collect();
    let nodes = nodes
        .iter()
        .map(|(name, view)| ((*name).to_owned(), view.clone()))
        .collect();
    plan(
        &facts,
        &nodes,
        &gone.iter().map(|name| (*name).to_owned()).collect(),
        threshold,
    )
}

#[test]
fn ended_pods_beyond_the_threshold_go_evicted_first_then_by_age() {
    use PodPhase::{Failed, Pending, Running, Succeeded, Unknown, Unset};
    let pods = [
        created(Failed, 3, false),
        created(Succeeded, 1, false),
        created(Running, 0, false),
        created(Failed, 9, true),
        created(Pending, 0, false),
        created(Unknown, 0, false),
        created(Unset, 2, false),
    ];
    for (threshold, expected) in [
        (0, vec![]),
        (4, vec![]),
        (3, vec![3]),
        (2, vec![1, 3]),
        (1, vec![1, 3, 6]),
    ] {
        let positions: Vec<_> = planned(&pods, &[("n", node(true, false))], &[], threshold);
        let expected: Vec<_> = expected
            .into_iter()
            .map(|position| (position, Reason::Terminated))
            .collect();
        assert_eq!(positions, expected, "{threshold}");
    }
}

#[test]
fn pods_of_gone_nodes_go_and_those_of_missing_ones_stay() {
    let pods = [
        pod(PodPhase::Running, "gone", false),
        pod(PodPhase::Running, "missing", false),
        pod(PodPhase::Running, "there", false),
        pod(PodPhase::Pending, "", false),
    ];
    let nodes = [("there", node(true, false))];
    assert_eq!(planned(&pods, &nodes, &["gone"], 0), [(0, Reason::Orphaned)]);
}

#[test]
fn pods_that_are_being_deleted_go_where_no_kubelet_ends_them() {
    let pods = [
        pod(PodPhase::Running, "out", true),
        pod(PodPhase::Running, "out", false),
        pod(PodPhase::Running, "out-but-ready", true),
        pod(PodPhase::Running, "not-ready", true),
        pod(PodPhase::Pending, "", true),
    ];
    let nodes = [
        ("out", node(false, true)),
        ("out-but-ready", node(true, true)),
        ("not-ready", node(false, false)),
    ];
    assert_eq!(
        planned(&pods, &nodes, &[], 0),
        [(0, Reason::OutOfService), (4, Reason::Unscheduled)]
    );
}

#[test]
fn each_pod_goes_for_one_reason() {
    let mut both = pod(PodPhase::Failed, "gone", true);
    both.created = Some(Time(Timestamp::UNIX_EPOCH));
    let pods = [both, created(PodPhase::Failed, 5, false)];
    assert_eq!(planned(&pods, &[], &["gone"], 1), [(0, Reason::Terminated)]);
}

#[test]
fn missing_nodes_are_those_that_pods_name() {
    let name = NamespacedName::namespaced("shop", "p");
    let views = [
        pod(PodPhase::Running, "a", false),
        pod(PodPhase::Running, "b", false),
        pod(PodPhase::Pending, "", false),
    ];
    let facts: Vec<_> = views.iter().map(|view| PodFacts { name: &name, view }).collect();
    assert_eq!(
        missing_nodes(&facts, |node| node == "a"),
        HashSet::from(["b".to_owned()])
    );
}
