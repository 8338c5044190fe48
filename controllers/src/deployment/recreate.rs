//! The strategy Recreate: all old pods end before the new ReplicaSet gets pods.

use std::collections::BTreeSet;

use super::{
    history,
    plan::Rollout,
    progress,
    replica_sets::{ReplicaSetGroup, TrackedReplicaSet},
    revision,
    scale::resize,
};

/// Takes one step: scales the old ReplicaSets to zero, or waits for their pods, or scales the new one up. `running` has the uids of
/// ReplicaSets that have pods which did not end.
pub(super) fn roll_out(rollout: &mut Rollout<'_>, running: &BTreeSet<String>) {
    let desired = rollout.desired;
    let mut was_scaled = false;
    for old in &mut rollout.group.old {
        was_scaled |= resize(old, 0, &desired);
    }
    if was_scaled || old_pods_run(&rollout.group, running) {
        return;
    }
    revision::sync_or_create(rollout);
    if let Some(new) = &mut rollout.group.new {
        resize(new, desired.replicas, &desired);
    }
    if progress::is_complete(rollout, &rollout.status) {
        history::clean_up(rollout);
    }
}

/// Whether old pods run, or an old ReplicaSet says so.
fn old_pods_run(group: &ReplicaSetGroup, running: &BTreeSet<String>) -> bool {
    let replicas = |old: &TrackedReplicaSet| old.count(|status| Some(status.replicas));
    let new = group.new.as_ref().map(TrackedReplicaSet::uid);
    group.old.iter().any(|old| replicas(old) > 0) || running.iter().any(|uid| Some(&**uid) != new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::test_objects::{
        TestDeployment as _, TestReplicaSet as _, deployment, replica_set, rollout, texts,
    };

    #[test]
    fn old_pods_run_until_they_ended_and_no_status_counts_them() {
        let old = |replicas: i32| replica_set("old", 0).with_status(replicas, 0, 0);
        for (name, old, running, expected) in [
            ("no old ReplicaSets", vec![], &[][..], false),
            ("pods of old ReplicaSets", vec![old(0)], &["old"], true),
            ("a status counts pods", vec![old(1)], &[], true),
            ("no pods, and no status counts any", vec![old(0)], &[], false),
            ("pods of the new ReplicaSet", vec![old(0)], &["new"], false),
        ] {
            let deployment = deployment(3);
            let rollout = rollout(&deployment, Some(replica_set("new", 3)), old);
            let running = running.iter().map(|uid| (*uid).to_owned()).collect();
            assert_eq!(old_pods_run(&rollout.group, &running), expected, "{name}");
        }
    }

    #[test]
    fn the_new_replica_set_waits_for_old_pods() {
        let deployment = deployment(3).recreate();
        let old = |size: i32, pods: i32| replica_set("old", size).with_status(pods, pods, pods);
        let running = |uids: &[&str]| uids.iter().map(|uid| (*uid).to_owned()).collect();
        for (old, running, expected) in [
            (old(3, 3), running(&["old"]), &["scale old 3 0"][..]),
            (old(0, 3), running(&["old"]), &[]),
            (old(0, 0), running(&["old"]), &[]),
            (old(0, 0), running(&[]), &["create 3"]),
        ] {
            let mut rollout = rollout(&deployment, None, vec![old]);
            roll_out(&mut rollout, &running);
            assert_eq!(texts(&rollout.group.writes()), expected, "{running:?}");
        }
        let mut scaled = rollout(&deployment, Some(replica_set("new", 1)), vec![]);
        roll_out(&mut scaled, &BTreeSet::new());
        assert_eq!(texts(&scaled.group.writes()), ["scale new 1 3"]);
    }
}
