use proptest::prelude::*;
use serde_json::{Value, from_value, json};

use super::*;

#[derive(Clone, Debug, PartialEq)]
struct NamedPod {
    name: &'static str,
    view: PodView,
}

impl Deletable for NamedPod {
    fn uid(&self) -> &str {
        self.name
    }

    fn view(&self) -> &PodView {
        &self.view
    }
}

fn pod(name: &'static str, node: &str, phase: &str, conditions: &Value) -> NamedPod {
    let object = json!({"spec": {"nodeName": node}, "status": {"phase": phase, "conditions": conditions}});
    NamedPod {
        name,
        view: from_value(object).unwrap(),
    }
}

fn now() -> Timestamp {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

#[test]
fn difference_to_the_wanted_replicas_is_limited_by_the_burst() {
    for (wanted, active, expected) in [
        (0, 0, Scaling::Keep),
        (3, 3, Scaling::Keep),
        (3, 1, Scaling::Create(2)),
        (1, 3, Scaling::Delete(2)),
        (1000, 1, Scaling::Create(10)),
        (1, 1000, Scaling::Delete(10)),
        (-1, 2, Scaling::Delete(2)),
        (i32::MAX, 0, Scaling::Create(10)),
    ] {
        assert_eq!(scaling(wanted, active, 10), expected, "{wanted} {active}");
    }
}

#[test]
fn pods_to_delete_are_chosen_as_upstream_does() {
    let unscheduled = pod("unscheduled", "", "Pending", &json!([]));
    let pending = pod("pending", "node", "Pending", &json!([]));
    let not_ready = pod(
        "not ready",
        "node",
        "Running",
        &json!([{"type": "Ready", "status": "False"}]),
    );
    let is_ready = json!([{"type": "Ready", "status": "True"}]);
    let ready_1 = pod("ready 1", "node-1", "Running", &is_ready);
    let ready_2 = pod("ready 2", "node-2", "Running", &is_ready);
    let all = [&ready_1, &ready_1, &ready_2, &not_ready, &pending, &unscheduled];
    for (pods, related, count, expected) in [
        (&[][..], None, 0, &[][..]),
        // No order is needed if all are deleted.
        (&[&not_ready, &ready_1], None, 2, &[&not_ready, &ready_1]),
        (&all, None, 6, &all),
        (&all, Some(&[][..]), 6, &all),
        (&[&ready_1, &not_ready], None, 1, &[&not_ready]),
        (&[&pending, &unscheduled], None, 1, &[&unscheduled]),
        (
            &[&ready_1, &not_ready, &not_ready],
            None,
            2,
            &[&not_ready, &not_ready],
        ),
        (
            &[&ready_1, &ready_2],
            Some(&[&ready_1, &ready_2, &ready_2]),
            1,
            &[&ready_2],
        ),
        (&[&pending, &not_ready], None, 1, &[&pending]),
        (
            &[&ready_1, &ready_2, &not_ready, &pending, &unscheduled],
            None,
            3,
            &[&unscheduled, &pending, &not_ready],
        ),
    ] {
        let related = related.unwrap_or(pods).iter().map(|pod| &pod.view);
        let pods: Vec<NamedPod> = pods.iter().map(|pod| (*pod).clone()).collect();
        let chosen = pods_to_delete(&pods, related, count, true, now());
        let names = |pods: &[&NamedPod]| pods.iter().map(|pod| pod.name).collect::<Vec<_>>();
        assert_eq!(names(&chosen), names(expected));
    }
}

proptest! {
    /// Reconcile by reconcile the number of pods reaches the wanted one, in steps of at most the burst, and never passes it.
    #[test]
    fn scaling_converges(wanted in -5_i32..2000, active in 0_usize..2000, burst in 1_usize..600) {
        let (mut pods, mut steps) = (active, 0);
        let target = usize::try_from(wanted).unwrap_or(0);
        loop {
            match scaling(wanted, pods, burst) {
                Scaling::Keep => break,
                Scaling::Create(count) => {
                    prop_assert!(0 < count && count <= burst && pods + count <= target);
                    pods += count;
                }
                Scaling::Delete(count) => {
                    prop_assert!(0 < count && count <= burst && pods - count >= target);
                    pods -= count;
                }
            }
            steps += 1;
        }
        prop_assert_eq!(pods, target);
        prop_assert_eq!(steps, active.abs_diff(target).div_ceil(burst));
    }
}
