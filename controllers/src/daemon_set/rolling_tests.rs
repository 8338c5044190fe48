//! The rollouts of upstream's tests of updates.

use k8s_openapi::{apimachinery::pkg::util::intstr::IntOrString, jiff::SignedDuration};

use super::super::{
    desired::UpdateStrategy,
    placement::NodeDecision,
    test_support::{Model, on_delete, surge, unavailable},
};

/// A model whose pods are of revision 0 and ready, in a rollout of revision 1.
fn rollout(strategy: UpdateStrategy, nodes: usize) -> Model {
    let mut model = Model::new(strategy, nodes);
    assert_eq!(model.reconcile(), (nodes, 0));
    model.set_all_ready();
    model.revision = 1;
    model
}

#[test]
fn pods_are_deleted_and_created_a_few_at_a_time() {
    let mut model = rollout(unavailable(2), 5);
    for count in [2, 2, 1] {
        assert_eq!(model.reconcile(), (0, count));
        assert_eq!(model.reconcile(), (count, 0));
        assert_eq!(model.reconcile(), (0, 0));
        model.set_all_ready();
    }
    assert_eq!(model.reconcile(), (0, 0));
    assert!(model.pods.iter().all(|pod| pod.revision == 1));
}

#[test]
fn pods_are_created_before_old_ones_are_deleted() {
    let mut model = rollout(surge(2), 5);
    for expected in [(2, 0), (2, 2), (1, 2), (0, 1)] {
        assert_eq!(model.sync(), expected);
        assert_eq!(model.sync(), (0, 0));
        model.set_all_ready();
    }
    assert!(model.pods.len() == 5 && model.pods.iter().all(|pod| pod.revision == 1));
}

#[test]
fn surge_counts_pods_on_nodes_that_do_not_fit_any_more() {
    let mut model = rollout(surge(1), 5);
    model.nodes.insert("node-0".to_owned(), NodeDecision::KeepRunning);
    for expected in [(1, 1), (1, 1), (1, 1), (1, 1), (0, 1)] {
        assert_eq!(model.sync(), expected);
        assert_eq!(model.sync(), (0, 0));
        model.set_all_ready();
    }
    assert_eq!(model.sync(), (0, 0));
}

#[test]
fn new_pods_that_are_not_ready_stop_the_rollout() {
    let mut model = rollout(unavailable(3), 5);
    assert_eq!(model.reconcile(), (0, 3));
    assert_eq!(model.reconcile(), (3, 0));
    assert_eq!(model.reconcile(), (0, 0));
}

#[test]
fn next_rollout_replaces_the_unavailable_pods_first() {
    let mut model = rollout(unavailable(2), 5);
    for _ in 0..3 {
        assert_eq!(model.reconcile(), (0, 2));
        assert_eq!(model.reconcile(), (2, 0));
        assert_eq!(model.reconcile(), (0, 0));
        model.revision += 1;
    }
    let ready = model.pods.iter().filter(|pod| pod.view.is_ready());
    assert_eq!(ready.count(), 3);
}

#[test]
fn available_pods_stay_while_too_many_are_unavailable() {
    let mut model = rollout(unavailable(10), 20);
    assert_eq!(model.reconcile(), (0, 10));
    assert_eq!(model.reconcile(), (10, 0));
    assert_eq!(model.reconcile(), (0, 0));
    let ready = |model: &Model| {
        let ready = model.pods.iter().filter(|pod| pod.view.is_ready());
        ready.map(|pod| pod.name.clone()).collect::<Vec<_>>()
    };
    let before = ready(&model);
    for limit in [0, 1, 4, 9, 10] {
        model.desired.strategy = unavailable(limit);
        model.revision += 1;
        assert_eq!(model.reconcile(), (0, 10));
        assert_eq!(model.reconcile(), (10, 0));
        assert_eq!(model.reconcile(), (0, 0));
        assert_eq!(ready(&model), before);
    }
    model.desired.strategy = unavailable(11);
    model.revision += 1;
    assert_eq!(model.reconcile(), (0, 11));
    assert_eq!(model.reconcile(), (11, 0));
    assert_eq!(ready(&model).len(), 9);
}

#[test]
fn only_unavailable_old_pods_go_where_new_ones_are_unavailable() {
    let mut model = Model::new(unavailable(10), 100);
    model.reconcile();
    // 88 unavailable new pods, 2 unavailable and 10 available old ones.
    model.revision = 1;
    for pod in 0..100 {
        model.set_ready(pod, pod < 10);
        model.pods[pod].revision = u32::from(pod >= 12);
    }
    let unavailable: Vec<_> = model.pods[10..12].iter().map(|pod| pod.name.clone()).collect();
    assert_eq!(model.planned(), (Vec::new(), unavailable));
    assert_eq!(model.reconcile(), (0, 2));
    assert_eq!(model.reconcile(), (2, 0));
    assert_eq!(model.reconcile(), (0, 0));
}

#[test]
fn all_unavailable_old_pods_are_replaced_at_once() {
    for strategy in [unavailable(3), surge(3)] {
        let is_surge = strategy == surge(3);
        let mut model = Model::new(strategy, 5);
        assert_eq!(model.reconcile(), (5, 0));
        model.revision = 1;
        let expected = if is_surge {
            [(5, 0), (0, 5), (0, 0)]
        } else {
            [(0, 5), (5, 0), (0, 0)]
        };
        for expected in expected {
            assert_eq!(model.reconcile(), expected);
        }
    }
}

#[test]
fn surge_waits_until_new_pods_are_available() {
    let mut model = rollout(surge(3), 5);
    model.desired.min_ready_seconds = 15;
    model.now += SignedDuration::from_secs(100);
    assert_eq!(model.reconcile(), (3, 0));
    // Two new pods become ready; an old one alone on its node is ready no more.
    model.set_ready(5, true);
    model.set_ready(6, true);
    let alone = model.pods.iter().position(|pod| pod.node == "node-4").unwrap();
    model.set_ready(alone, false);
    model.now += SignedDuration::from_secs(10);
    assert_eq!(model.reconcile(), (1, 0));
    model.now += SignedDuration::from_secs(10);
    assert_eq!(model.reconcile(), (0, 3));
    assert_eq!(model.reconcile(), (1, 0));
    model.set_all_ready();
    assert_eq!(model.reconcile(), (0, 0));
    model.now += SignedDuration::from_secs(20);
    assert_eq!(model.reconcile(), (0, 2));
    assert_eq!(model.reconcile(), (0, 0));
    assert!(model.pods.iter().all(|pod| pod.revision == 1));
}

#[test]
fn nothing_is_replaced_without_a_new_revision_or_on_delete() {
    let mut model = rollout(unavailable(3), 5);
    model.revision = 0;
    assert_eq!(model.reconcile(), (0, 0));
    let mut model = rollout(on_delete(), 5);
    assert_eq!(model.reconcile(), (0, 0));
    model.pods.remove(0);
    assert_eq!(model.reconcile(), (1, 0));
    let updated = model.pods.iter().filter(|pod| pod.revision == 1);
    assert_eq!(updated.count(), 1);
}

#[test]
fn unavailable_pod_on_a_node_that_is_gone_is_deleted_with_surge() {
    let mut model = rollout(surge(1), 2);
    model.nodes.remove("node-1");
    model.set_ready(1, false);
    let gone = model.pods[1].name.clone();
    let (created, deleted) = model.planned();
    assert_eq!((created, deleted), (vec!["node-0".to_owned()], vec![gone]));
}

#[test]
fn invalid_limits_are_reported_and_replace_nothing() {
    let mut model = rollout(unavailable(1), 3);
    model.desired.strategy = UpdateStrategy::RollingUpdate {
        max_surge: IntOrString::Int(0),
        max_unavailable: IntOrString::String("some".to_owned()),
    };
    let observed = model.observed();
    let plan = model.plan(&observed);
    assert!(plan.invalid.is_some() && plan.create.is_empty() && plan.delete.is_empty());
}
