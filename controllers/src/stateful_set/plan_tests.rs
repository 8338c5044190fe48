use serde_json::{Value, json};

use super::{
    super::test_objects::{kept, plan_with, pod, pod_reference, pods, set_reference},
    *,
};

/// The steps as words: `+1` creates, `+1O` creates with the old template, `-1` deletes, `=1` corrects the pod, `c1` its claims alone. A stage
/// is followed by a slash.
fn words(plan: &SetPlan) -> String {
    let word = |step: &Step| match step {
        Step::Create {
            ordinal,
            revision: PodRevision::Update,
            ..
        } => format!("+{ordinal}"),
        Step::Create { ordinal, .. } => format!("+{ordinal}O"),
        Step::Delete { ordinal } => format!("-{ordinal}"),
        Step::Update { ordinal, .. } => format!("={ordinal}"),
        Step::CompleteClaims { ordinal, .. } | Step::CorrectOwners { ordinal, .. } => format!("c{ordinal}"),
    };
    let stages = [
        &plan.replicas,
        &plan.surplus_claims,
        &plan.scale_down,
        &plan.update,
    ];
    let stages = stages.map(|stage| stage.iter().map(word).collect::<Vec<_>>().join(" "));
    stages.join("/").trim_end_matches('/').to_owned()
}

fn planned(spec: &Value, state: &str) -> String {
    words(&plan_with(spec, &pods(state), &kept))
}

#[test]
fn ordered_sets_change_one_pod_at_a_time() {
    let three = json!({"replicas": 3});
    for (state, expected) in [
        ("", "+0"),
        ("1:rN 2:rN", "+0"),
        ("0:pN", ""),
        ("0:uN", ""),
        ("0:-N", ""),
        ("0:rN", "+1"),
        ("0:rNT", ""),
        ("0:rN 1:rNT", ""),
        ("0:rN 1:rN 2:rN", ""),
        // Ended pods are replaced, in order.
        ("0:fN 1:rN", "-0"),
        ("0:sN 1:fN", "-0"),
        ("0:fNT 1:fN", ""),
        ("0:rN 1:fN", "-1"),
        ("0:uN 1:fN", ""),
        // Surplus pods go after all replicas are available, the last one first.
        ("0:rN 1:rN 3:rN", "+2"),
        ("0:rN 1:rN 2:rN 3:rN 4:rN", "//-4"),
        ("0:rN 1:rN 2:uN 3:rN 4:rN", ""),
        ("0:rN 1:rN 2:rN 3:rN 4:rNT", ""),
        ("0:rN 1:rN 2:rN 3:rN 4:uN", "//-4"),
        ("0:rN 1:rN 2:rN 3:uN 4:rN", "//-4"),
        ("0:rN 1:rN 2:rN 3:uN 4:uN", ""),
        ("0:rN 1:rN 2:rN 3:uN", "//-3"),
        ("0:rN 1:rN 2:rN 3:fN", "//-3"),
        // Updates come last.
        ("0:rO 1:rO 2:rO", "///-2"),
        ("0:rO 1:rO", "+2"),
        ("0:rO 1:rO 2:rO 3:rO", "//-3"),
        ("0:rO 1:rO 2:uN", ""),
        ("0:rO 1:rO 2:rN", "///-1"),
        ("0:rO 1:rN 2:rN", "///-0"),
        ("0:rO 1:rN 2:rO", "///-2"),
        // A broken pod of the old revision stops the update, as upstream.
        ("0:rO 1:uO 2:rN", ""),
        ("0:uO 1:rO 2:rO", ""),
        // A pod without identity is corrected when it is available.
        ("0:rNI", "=0 +1"),
        ("0:uNI", ""),
        ("0:rNC 1:rN 2:rN", "=0"),
    ] {
        assert_eq!(planned(&three, state), expected, "{state}");
    }
}

#[test]
fn parallel_sets_change_all_pods_at_once() {
    let three = json!({"replicas": 3, "podManagementPolicy": "Parallel"});
    for (state, expected) in [
        ("", "+0 +1 +2"),
        ("1:pN", "+0 +2"),
        ("0:rNT 1:fN", "-1 +2"),
        ("0:fNT 1:uN 2:rN", ""),
        ("3:uN 4:rN 5:rNT", "+0 +1 +2//-4 -3"),
        ("0:rNI 1:uNI 2:pNI", "=0 =1 =2"),
        ("0:rO 1:rO 2:rO", "///-2"),
        ("0:rO 1:uO 2:rO", "///-2"),
        ("0:rO 1:uO 2:uN", ""),
        ("0:rO 1:uO 2:rN", "///-1"),
        ("0:rO 1:rO 4:rO", "+2//-4"),
    ] {
        assert_eq!(planned(&three, state), expected, "{state}");
    }
}

#[test]
fn ordinals_begin_at_the_start_ordinal() {
    let spec = json!({"replicas": 2, "ordinals": {"start": 4}});
    for (state, expected) in [
        ("", "+4"),
        ("4:rN", "+5"),
        ("0:rN 4:rN", "+5"),
        ("0:rN 3:rN 4:rN 5:rN", "//-3"),
        ("0:rN 4:rN 5:rN 6:rN", "//-6"),
        ("4:rO 5:rO", "///-5"),
    ] {
        assert_eq!(planned(&spec, state), expected, "{state}");
    }
}

#[test]
fn replicas_before_the_partition_keep_the_current_revision() {
    let spec = |partition: i64, start: i64| {
        json!({
            "replicas": 3, "ordinals": {"start": start},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}},
        })
    };
    for (partition, state, expected) in [
        (2, "0:rO 1:rO 2:rO", "///-2"),
        (2, "0:rO 1:rO 2:rN", ""),
        (2, "0:rO 1:rO", "+2"),
        (2, "0:rO", "+1O"),
        (2, "0:rN 1:rO 2:rN", ""),
        (9, "0:rO 1:rO 2:rO", ""),
        (9, "0:rO 1:rO", "+2O"),
        (0, "0:rO 1:rO", "+2"),
    ] {
        assert_eq!(
            planned(&spec(partition, 0), state),
            expected,
            "{partition} {state}"
        );
    }
    // The partition counts replicas, not ordinals.
    assert_eq!(planned(&spec(1, 5), ""), "+5O");
    assert_eq!(planned(&spec(1, 5), "5:rO"), "+6");
    assert_eq!(planned(&spec(1, 5), "5:rO 6:rO 7:rN"), "///-6");
    assert_eq!(planned(&spec(1, 5), "5:rO 6:rN 7:rN"), "");
}

#[test]
fn without_a_partition_the_counted_replicas_are_of_the_current_revision() {
    let spec = json!({"replicas": 3, "currentReplicas": 2});
    assert_eq!(planned(&spec, "0:rO"), "+1O");
    assert_eq!(planned(&spec, "0:rO 1:rO"), "+2");
}

#[test]
fn users_update_pods_of_the_strategy_on_delete() {
    let spec = json!({"replicas": 3, "updateStrategy": {"type": "OnDelete"}, "currentReplicas": 3});
    assert_eq!(planned(&spec, "0:rO 1:rO 2:rO"), "");
    assert_eq!(planned(&spec, "0:rO 1:rO"), "+2");
}

#[test]
fn so_many_replicas_are_unavailable_at_once() {
    let spec = |limit: Value, partition: i64, policy: &str| {
        json!({
            "replicas": 6, "podManagementPolicy": policy, "usesMaxUnavailable": true,
            "updateStrategy": {"rollingUpdate": {"partition": partition, "maxUnavailable": limit}},
        })
    };
    let old = "0:rO 1:rO 2:rO 3:rO 4:rO 5:rO";
    for (limit, partition, policy, state, expected) in [
        (json!(2), 3, "OrderedReady", old, "///-5 -4"),
        (json!(2), 3, "Parallel", old, "///-5 -4"),
        (json!(2), 5, "Parallel", old, "///-5"),
        (json!(9), 0, "Parallel", old, "///-5 -4 -3 -2 -1 -0"),
        (json!("50%"), 0, "Parallel", old, "///-5 -4 -3"),
        (json!(null), 0, "Parallel", old, "///-5"),
        (json!(2), 3, "OrderedReady", "0:rO 1:rO 2:rO 3:rO", "+4"),
        (json!(2), 3, "Parallel", "0:rO 1:rO 2:rO 3:rO", "+4 +5"),
        (json!(2), 3, "Parallel", "0:rO 1:rO 2:rO 3:rO 4:rN 5:uN", "///-3"),
        (json!(2), 0, "Parallel", "0:rO 1:rOT 2:rO 3:rO 4:rO 5:rO", "///-5"),
        (json!(2), 0, "Parallel", "0:uO 1:uO 2:rO 3:rO 4:rO 5:rO", ""),
        (json!(2), 0, "Parallel", "0:uO 1:uO 2:uO 3:rO 4:rO 5:rO", ""),
    ] {
        let planned = planned(&spec(limit.clone(), partition, policy), state);
        assert_eq!(planned, expected, "{limit} {partition} {policy} {state}");
    }
}

#[test]
fn pods_count_when_they_have_been_ready_for_min_ready_seconds() {
    let spec = |seconds: i32| json!({"replicas": 2, "minReadySeconds": seconds});
    for (seconds, state, expected) in [
        (0, "0:jN", "+1"),
        (30, "0:jN", ""),
        (30, "0:rN", "+1"),
        (30, "0:rN 1:rN 2:jN", "//-2"),
        (30, "0:rN 1:rN 2:jN 3:rN", "//-3"),
        (30, "0:rN 1:rN 2:jN 3:jN", ""),
        (30, "0:jN 1:rN 2:rN", ""),
        (30, "0:rO 1:jN", ""),
        (0, "0:rO 1:jN", "///-0"),
    ] {
        assert_eq!(planned(&spec(seconds), state), expected, "{seconds} {state}");
    }
}

#[test]
fn claims_are_created_with_the_pod_and_for_pending_pods() {
    let spec = json!({"replicas": 2, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}});
    let missing = |_: &str| None;
    let create = ClaimChange::Create {
        template: 0,
        owners: vec![set_reference()],
    };
    let created = plan_with(&spec, &pods(""), &missing).replicas;
    let expected = Step::Create {
        ordinal: 0,
        revision: PodRevision::Update,
        claims: vec![create.clone()],
    };
    assert_eq!(created, [expected]);
    let pending = plan_with(&spec, &pods("0:pN"), &missing).replicas;
    let expected = Step::CompleteClaims {
        ordinal: 0,
        claims: vec![create],
    };
    assert_eq!(pending, [expected]);
    // A running pod has no use for a new claim.
    assert_eq!(words(&plan_with(&spec, &pods("0:rN 1:rN"), &missing)), "");
    let deleting = |_: &str| {
        Some(ClaimState {
            is_deleting: true,
            ..ClaimState::default()
        })
    };
    let Step::Create { claims, .. } = &plan_with(&spec, &pods(""), &deleting).replicas[0] else {
        panic!("the pod is not created");
    };
    let name = "data-web-0".to_owned();
    assert_eq!(*claims, [ClaimChange::AwaitDeletion { name }]);
}

#[test]
fn owners_of_claims_follow_the_policy() {
    let spec = json!({
        "replicas": 1,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"},
    });
    let plan = plan_with(&spec, &pods("0:rN 1:rN"), &kept);
    assert_eq!(words(&plan), "=0/c1/-1");
    let owners = |step: &Step| match step {
        Step::Update { claims, .. } | Step::CorrectOwners { claims, .. } => claims.clone(),
        _ => Vec::new(),
    };
    let set_owners = |name: &str, owner| ClaimChange::SetOwners {
        name: name.to_owned(),
        owners: vec![owner],
    };
    assert_eq!(
        owners(&plan.replicas[0]),
        [set_owners("data-web-0", set_reference())]
    );
    assert_eq!(
        owners(&plan.surplus_claims[0]),
        [set_owners("data-web-1", pod_reference(1, "uid-1"))]
    );
}

#[test]
fn pod_waits_until_the_claim_of_its_predecessor_is_deleted() {
    let of_predecessor = |_: &str| {
        Some(ClaimState {
            owners: vec![pod_reference(0, "former")],
            ..ClaimState::default()
        })
    };
    for (policy, expected) in [("Delete", ""), ("Retain", "+0")] {
        let spec = json!({"replicas": 1, "persistentVolumeClaimRetentionPolicy": {"whenScaled": policy}});
        let plan = plan_with(&spec, &pods(""), &of_predecessor);
        assert_eq!(words(&plan), expected, "{policy}");
    }
}

#[test]
fn huge_sets_are_created_little_by_little() {
    let spec = |policy: &str| json!({"replicas": i32::MAX, "ordinals": {"start": i32::MAX}, "podManagementPolicy": policy});
    assert_eq!(planned(&spec("OrderedReady"), "0:rO"), "+2147483647");
    let pods = BTreeMap::from([(4_294_967_293, pod(0, "pNC"))]);
    let plan = plan_with(&spec("Parallel"), &pods, &kept);
    assert_eq!(plan.replicas.len(), MAX_CREATIONS + 1);
}

#[test]
fn ended_pod_of_an_old_revision_is_deleted_once() {
    let set = json!({"replicas": 2, "podManagementPolicy": "Parallel"});
    let plan = plan_with(&set, &pods("0:rN 1:fO"), &kept);
    assert_eq!(plan.replicas, [Step::Delete { ordinal: 1 }]);
    assert_eq!(plan.update, []);
}
