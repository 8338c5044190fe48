use kubewright::Scope;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn remaining(objects: usize, finalizers: &[(&str, usize)], grace: u64) -> Remaining {
    Remaining {
        objects,
        finalizers: finalizers
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect(),
        grace: Duration::from_secs(grace),
    }
}

/// A resource in version v1, by `plural.group`.
fn kind(name: &str) -> ApiResource {
    let (plural, group) = name.split_once('.').unwrap();
    ApiResource {
        group: group.to_owned().into(),
        version: "v1".into(),
        kind: "Any".into(),
        plural: plural.to_owned().into(),
        scope: Scope::Namespaced,
    }
}

fn outcome(parts: &[(&str, Remaining)]) -> Outcome {
    let mut outcome = Outcome::default();
    for (resource, remaining) in parts {
        outcome.add("shop", &kind(resource), remaining.clone());
    }
    outcome
}

/// `type status reason: message` of each condition.
fn conditions(outcome: &Outcome) -> Vec<String> {
    let mut conditions = Vec::new();
    assert!(outcome.set_conditions(&mut conditions, NOW));
    let text = |condition: &NamespaceCondition| {
        format!(
            "{} {} {}: {}",
            condition.type_.trim_start_matches("Namespace"),
            condition.status,
            condition.reason.as_deref().unwrap(),
            condition.message.as_deref().unwrap()
        )
    };
    conditions.iter().map(text).collect()
}

#[test]
fn empty_namespace_has_five_good_conditions_and_nothing_to_wait_for() {
    let outcome = outcome(&[("pods.", remaining(0, &[], 0))]);
    assert_eq!(
        conditions(&outcome),
        [
            "DeletionDiscoveryFailure False ResourcesDiscovered: All resources successfully discovered",
            "DeletionGroupVersionParsingFailure False ParsedGroupVersions: All legacy kube types successfully parsed",
            "DeletionContentFailure False ContentDeleted: All content successfully deleted, may be waiting on finalization",
            "ContentRemaining False ContentRemoved: All content successfully removed",
            "FinalizersRemaining False ContentHasNoFinalizers: All content-preserving finalizers finished",
        ]
    );
    assert_eq!((outcome.problem(), outcome.next_look()), (None, None));
}

#[test]
fn next_look_is_after_half_of_the_longest_estimate_and_a_second() {
    for (parts, seconds) in [
        (vec![("pods.", remaining(1, &[], 30))], 16),
        (
            vec![
                ("pods.", remaining(1, &[("a/b", 1)], 1)),
                ("foos.demo.dev", remaining(2, &[("a/b", 2)], 0)),
            ],
            8,
        ),
        (
            vec![
                ("foos.demo.dev", remaining(1, &[("a/b", 1)], 0)),
                ("pods.", remaining(1, &[], 30)),
            ],
            16,
        ),
    ] {
        let outcome = outcome(&parts);
        assert_eq!(outcome.problem(), None);
        assert_eq!(
            outcome.next_look(),
            Some(Duration::from_secs(seconds)),
            "{parts:?}"
        );
    }
}

#[test]
fn remaining_objects_and_finalizers_are_counted_in_the_conditions() {
    let outcome = outcome(&[
        ("pods.", remaining(2, &[("a/b", 1), ("c/d", 2)], 30)),
        ("foos.demo.dev", remaining(3, &[("a/b", 3)], 0)),
    ]);
    let texts = conditions(&outcome);
    assert_eq!(
        texts[3],
        "ContentRemaining True SomeResourcesRemain: Some resources are remaining: foos.demo.dev has 3 resource instances, pods. has 2 resource instances"
    );
    assert_eq!(
        texts[4],
        "FinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: a/b in 4 resource instances, c/d in 2 resource instances"
    );
}

#[test]
fn totals_are_left_out_while_pods_are_waited_for() {
    let mut outcome = outcome(&[("pods.", remaining(1, &[("a/b", 1)], 30))]);
    assert!(outcome.has_remaining());
    outcome.wait_for_pods();
    assert!(conditions(&outcome).iter().all(|text| text.contains(" False ")));
    assert_eq!(outcome.next_look(), Some(Duration::from_secs(16)));
}

#[test]
fn objects_that_should_be_gone_are_a_failure() {
    let mut outcome = outcome(&[("foos.demo.dev", remaining(1, &[], 0))]);
    outcome.failed("shop", &kind("bars.demo.dev"), "delete refused".to_owned());
    let unexpected = "unexpected items still remain in namespace: shop for gvr: demo.dev/v1, Resource=foos";
    assert_eq!(outcome.problem(), Some(format!("{unexpected}, delete refused")));
    assert_eq!(
        conditions(&outcome)[2],
        format!(
            "DeletionContentFailure True ContentDeletionFailed: Failed to delete all resource types, 2 remaining: delete refused, {unexpected}"
        )
    );
}

#[test]
fn only_the_returned_error_names_pods() {
    let mut outcome = outcome(&[("pods.", remaining(1, &[], 0))]);
    outcome.failed("shop", &kind("pods."), "delete refused".to_owned());
    let unexpected = "unexpected items still remain in namespace: shop for gvr: /v1, Resource=pods";
    let pods = "failed to delete pods for namespace: shop, err:";
    assert_eq!(
        outcome.problem(),
        Some(format!("{pods} {unexpected}, {pods} delete refused"))
    );
    assert_eq!(
        conditions(&outcome)[2],
        format!(
            "DeletionContentFailure True ContentDeletionFailed: Failed to delete all resource types, 2 remaining: delete refused, {unexpected}"
        )
    );
}

#[test]
fn failed_discovery_is_a_condition_and_an_error() {
    let mut outcome = Outcome::default();
    outcome.discovery_failed_for(&["metrics.k8s.io/v1beta1".to_owned(), "demo.dev/v1".to_owned()]);
    assert!(outcome.problem().is_some());
    assert_eq!(
        conditions(&outcome)[0],
        "DeletionDiscoveryFailure True DiscoveryFailed: Discovery failed for some groups, 2 failing: \
         unable to retrieve the complete list of server APIs: demo.dev/v1: stale GroupVersion discovery: demo.dev/v1, \
         metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1"
    );
}

#[test]
fn conditions_keep_their_time_until_their_status_changes() {
    let later = NOW + jiff::SignedDuration::from_secs(60);
    let mut kept = Vec::new();
    let first = outcome(&[("foos.demo.dev", remaining(3, &[("a/b", 3)], 0))]);
    assert!(first.set_conditions(&mut kept, NOW));
    assert!(!first.set_conditions(&mut kept, later));
    let fewer = outcome(&[("foos.demo.dev", remaining(1, &[("a/b", 1)], 0))]);
    assert!(fewer.set_conditions(&mut kept, later));
    let time =
        |conditions: &[NamespaceCondition], index: usize| conditions[index].last_transition_time.clone();
    assert_eq!(time(&kept, 3), Some(Time(NOW)));
    assert!(Outcome::default().set_conditions(&mut kept, later));
    assert_eq!(
        (time(&kept, 3), time(&kept, 0)),
        (Some(Time(later)), Some(Time(NOW)))
    );
}
