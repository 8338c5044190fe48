//! Which pods a node gets and loses, with cases of upstream's tests.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::SignedDuration};

use super::{
    super::test_support::{Model, on_delete, surge, unavailable},
    *,
};
use crate::shared::pod::PodPhase;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn every_node_that_fits_gets_one_pod() {
    for strategy in [on_delete(), unavailable(1), surge(1)] {
        let mut model = Model::new(strategy, 4);
        model.nodes.insert("node-1".to_owned(), NodeDecision::KeepRunning);
        model.nodes.insert("node-2".to_owned(), NodeDecision::Stop);
        assert_eq!(model.planned().0, ["node-0", "node-3"]);
        assert_eq!(model.reconcile(), (2, 0));
        assert_eq!(model.reconcile(), (0, 0));
    }
}

#[test]
fn surplus_pods_and_those_on_other_nodes_are_deleted() {
    for strategy in [on_delete(), unavailable(1), surge(1)] {
        let mut model = Model::new(strategy, 5);
        for (node, count) in [("node-1", 1), ("node-2", 2), ("node-3", 5), ("node-4", 2)] {
            for _ in 0..count {
                model.add(node, 0);
            }
        }
        model.nodes.insert("node-4".to_owned(), NodeDecision::Stop);
        let (created, deleted) = model.planned();
        assert_eq!(created, ["node-0"]);
        // The oldest one of a node stays.
        assert_eq!(
            deleted,
            ["pod-10", "pod-3", "pod-5", "pod-6", "pod-7", "pod-8", "pod-9"]
        );
    }
}

#[test]
fn taints_that_only_keep_new_pods_away_leave_running_ones() {
    let mut model = Model::new(unavailable(1), 2);
    model.add("node-0", 0);
    model.add("node-0", 0);
    for node in ["node-0", "node-1"] {
        model.nodes.insert(node.to_owned(), NodeDecision::KeepRunning);
    }
    assert_eq!(model.planned(), (Vec::new(), names(&["pod-2"])));
}

#[test]
fn scheduled_pod_stays_before_an_older_one_that_is_not() {
    let mut model = Model::new(unavailable(1), 1);
    model.add("node-0", 0).view.node.clear();
    model.add("node-0", 0);
    assert_eq!(model.planned(), (Vec::new(), names(&["pod-1"])));
}

#[test]
fn pods_that_are_being_deleted_are_awaited_without_surge() {
    for (strategy, created) in [
        (on_delete(), names(&[])),
        (unavailable(1), names(&[])),
        (surge(1), names(&["node-0"])),
    ] {
        let mut model = Model::new(strategy, 1);
        let now = model.now;
        model.add("node-0", 0).view.deleted = Some(Time(now));
        assert_eq!(model.planned(), (created, Vec::new()));
        model.nodes.insert("node-0".to_owned(), NodeDecision::Stop);
        assert_eq!(model.planned(), (Vec::new(), Vec::new()));
    }
}

#[test]
fn pods_that_ended_are_deleted_and_failed_ones_wait() {
    for strategy in [on_delete(), unavailable(1)] {
        let mut model = Model::new(strategy, 3);
        for (node, phase) in [
            ("node-0", PodPhase::Failed),
            ("node-1", PodPhase::Succeeded),
            ("node-2", PodPhase::Pending),
        ] {
            model.add(node, 0).view.phase = phase;
        }
        {
            let observed = model.observed();
            let plan = model.plan(&observed);
            let ended: Vec<_> = plan
                .ended
                .iter()
                .map(|ended| (ended.pod.name, ended.node))
                .collect();
            assert_eq!(ended, [("pod-1", "node-0"), ("pod-2", "node-1")]);
            assert_eq!(
                (plan.delete.len(), plan.create.len(), plan.next_check),
                (2, 0, None)
            );
        }
        model.failed_pod_delay = Some(Duration::from_secs(3));
        let observed = model.observed();
        let plan = model.plan(&observed);
        assert_eq!(plan.next_check, Some(Duration::from_secs(3)));
        assert!(plan.delete.len() == 1 && plan.ended.len() == 1);
    }
}

#[test]
fn one_failed_pod_of_a_node_is_deleted_at_a_time() {
    let mut model = Model::new(unavailable(1), 1);
    for _ in 0..3 {
        model.add("node-0", 0).view.phase = PodPhase::Failed;
    }
    model.add("node-0", 0);
    assert_eq!(model.planned(), (Vec::new(), names(&["pod-1"])));
}

#[test]
fn failed_pods_on_nodes_that_do_not_fit_are_deleted_without_delay() {
    let mut model = Model::new(unavailable(1), 1);
    model.add("node-0", 0).view.phase = PodPhase::Failed;
    model.nodes.insert("node-0".to_owned(), NodeDecision::Stop);
    model.failed_pod_delay = Some(Duration::from_secs(3));
    let observed = model.observed();
    let plan = model.plan(&observed);
    assert!(plan.delete.len() == 1 && plan.ended.is_empty());
}

#[test]
fn unscheduled_pods_of_nodes_that_are_gone_are_deleted() {
    let mut model = Model::new(on_delete(), 1);
    model.add("node-0", 0);
    model.add("gone", 0).view.node.clear();
    model.add("gone", 0);
    let now = model.now;
    let deleting = model.add("gone", 0);
    deleting.view.node.clear();
    deleting.view.deleted = Some(Time(now));
    assert_eq!(model.planned(), (Vec::new(), names(&["pod-2"])));
}

#[test]
fn surge_keeps_the_oldest_pod_of_each_revision() {
    // (the new pod became ready so many seconds ago, the old one is ready, which are deleted)
    for (new_ready, old_ready, expected) in [
        (None, true, &["pod-2"][..]),
        (None, false, &["pod-1", "pod-2"]),
        (Some(10), true, &["pod-2"]),
        (Some(20), true, &["pod-1", "pod-2"]),
    ] {
        let mut model = Model::new(surge(1), 1);
        model.desired.min_ready_seconds = 15;
        model.revision = 1;
        for revision in [0, 0, 1] {
            model.add("node-0", revision);
        }
        model.set_ready(0, old_ready);
        model.set_ready(1, true);
        model.set_ready(2, new_ready.is_some());
        model.now += SignedDuration::from_secs(new_ready.unwrap_or(0));
        assert_eq!(
            model.planned(),
            (Vec::new(), names(expected)),
            "{new_ready:?} {old_ready}"
        );
    }
}

#[test]
fn surge_is_exceeded_where_the_old_pod_is_being_deleted() {
    let mut model = Model::new(surge(1), 5);
    model.revision = 1;
    for node in 0..5 {
        model.add(&format!("node-{node}"), 0);
    }
    model.add("node-0", 1);
    for pod in 0..5 {
        model.set_ready(pod, true);
    }
    let now = model.now;
    model.pods[4].view.deleted = Some(Time(now));
    assert_eq!(model.planned(), (names(&["node-4"]), Vec::new()));
}

#[test]
fn no_more_than_the_burst_is_created_and_deleted() {
    let mut model = Model::new(on_delete(), 600);
    assert_eq!(model.reconcile(), (250, 0));
    assert_eq!(model.reconcile(), (250, 0));
    assert_eq!(model.reconcile(), (100, 0));
    model
        .nodes
        .values_mut()
        .for_each(|decision| *decision = NodeDecision::Stop);
    assert_eq!(model.reconcile(), (0, 250));
}
