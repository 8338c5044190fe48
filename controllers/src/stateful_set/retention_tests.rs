use super::{
    super::test_objects::{controller, pod_reference, set_reference},
    *,
};

fn change(
    deletes_with_set: bool,
    deletes_with_pod: bool,
    is_scaled_down: bool,
    owners: &[OwnerReference],
) -> OwnersChange {
    let claim = ClaimOwners {
        retention: Retention {
            deletes_with_set,
            deletes_with_pod,
        },
        set: &set_reference(),
        pod: &pod_reference(1, "pod"),
        is_scaled_down,
    };
    claim.change(owners)
}

fn uids(owners: &[OwnerReference]) -> Vec<&str> {
    owners.iter().map(|owner| &*owner.uid).collect()
}

fn owner(name: &str) -> OwnerReference {
    OwnerReference {
        controller: None,
        ..controller("Pod", "v1", name, name)
    }
}

#[test]
fn claims_are_owned_by_what_they_are_deleted_with() {
    for (deletes_with_set, deletes_with_pod, is_scaled_down, expected) in [
        (false, false, false, &[][..]),
        (false, false, true, &[]),
        (true, false, false, &["set"]),
        (true, false, true, &["set"]),
        (false, true, true, &["pod"]),
        (false, true, false, &[]),
        (true, true, true, &["pod"]),
        (true, true, false, &["set"]),
    ] {
        for has_others in [false, true] {
            for present in [&[][..], &["set"], &["pod"], &["set", "pod"]] {
                let mut owners = Vec::new();
                if has_others {
                    owners.extend([owner("other-1"), owner("other-2")]);
                }
                let others = uids(&owners).into_iter().map(str::to_owned).collect::<Vec<_>>();
                for uid in present {
                    owners.push(if *uid == "set" {
                        set_reference()
                    } else {
                        pod_reference(1, "pod")
                    });
                }
                let change = change(deletes_with_set, deletes_with_pod, is_scaled_down, &owners);
                let case = format!("{deletes_with_set} {deletes_with_pod} {is_scaled_down} {present:?}");
                assert!(!change.is_conflict, "{case}");
                assert_eq!(change.owners.is_none(), present == expected, "{case}");
                if let Some(changed) = change.owners {
                    let expected = others.iter().map(String::as_str).chain(expected.iter().copied());
                    assert_eq!(uids(&changed), expected.collect::<Vec<_>>(), "{case}");
                    // The change is final.
                    let again = self::change(deletes_with_set, deletes_with_pod, is_scaled_down, &changed);
                    assert_eq!(again.owners, None, "{case}");
                }
            }
        }
    }
}

#[test]
fn references_that_are_no_controllers_are_replaced() {
    let not_controller = |reference: OwnerReference| OwnerReference {
        controller: None,
        ..reference
    };
    let owners = [not_controller(set_reference())];
    assert_eq!(
        change(true, false, false, &owners).owners,
        Some(vec![set_reference()])
    );
    let owners = [not_controller(pod_reference(1, "pod"))];
    assert_eq!(
        change(true, true, true, &owners).owners,
        Some(vec![pod_reference(1, "pod")])
    );
}

#[test]
fn claims_of_former_objects_are_left_to_the_garbage_collector() {
    let former_set = controller("StatefulSet", "apps/v1", "web", "former");
    for former in [former_set, pod_reference(1, "former")] {
        for (with_set, with_pod) in [(true, true), (true, false), (false, true)] {
            let change = change(with_set, with_pod, true, std::slice::from_ref(&former));
            assert_eq!((change.owners, change.is_conflict), (None, true));
        }
    }
}

#[test]
fn another_controller_overrides_the_policy() {
    let custom = controller("Database", "example.com/v1", "simon", "other");
    for (owners, expected) in [
        (vec![custom.clone()], None),
        (vec![set_reference(), custom.clone()], Some(&["other"][..])),
        (vec![custom.clone(), pod_reference(1, "pod")], Some(&["other"])),
    ] {
        let change = change(true, true, false, &owners);
        assert!(change.is_conflict);
        assert_eq!(change.owners.as_deref().map(uids).as_deref(), expected);
    }
    // Where claims are kept, it is none of the set's business.
    assert!(!change(false, false, false, &[custom]).is_conflict);
}

#[test]
fn claims_of_a_former_pod_block_a_new_one() {
    let (set, pod) = (set_reference(), pod_reference(1, ""));
    for (deletes_with_pod, owners, expected) in [
        (true, vec![pod_reference(1, "former")], true),
        (false, vec![pod_reference(1, "former")], false),
        (true, vec![pod_reference(2, "former")], false),
        (true, vec![set_reference()], false),
        (true, vec![], false),
    ] {
        let claim = ClaimOwners {
            retention: Retention {
                deletes_with_set: false,
                deletes_with_pod,
            },
            set: &set,
            pod: &pod,
            is_scaled_down: false,
        };
        assert_eq!(claim.blocks_creation(&owners), expected, "{owners:?}");
    }
}
