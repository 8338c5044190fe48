//! The plan, as a table, and through random histories against the rules of a rotation.

use proptest::prelude::*;

use super::*;
use crate::{test_effort::property_cases, webhooks::certificates::authority::AUTHORITY_PERIOD};

/// Days since a start.
fn day(day: i64) -> Timestamp {
    add(Timestamp::UNIX_EPOCH, SignedDuration::from_hours(24 * day))
}

fn authority(from: i64, to: i64, has_key: bool) -> AuthorityState {
    AuthorityState {
        validity: validity(from, to),
        has_key,
    }
}

fn validity(from: i64, to: i64) -> Validity {
    Validity {
        not_before: day(from),
        not_after: day(to),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a column of the table")]
fn leaf(authority: usize, from: i64, to: i64) -> Option<LeafState> {
    Some(LeafState {
        authority,
        validity: validity(from, to),
        missing_name: None,
    })
}

fn retired(authority: usize, to: i64) -> Vec<RetiredState> {
    vec![RetiredState {
        authority,
        not_after: day(to),
    }]
}

/// A plan in words: `+CA` adds one, `leaf by 1` issues a certificate, `-0` removes the first CA.
fn words(plan: &Plan) -> String {
    let mut words = Vec::new();
    if plan.new_authority.is_some() {
        words.push("+CA".to_owned());
    }
    match &plan.new_leaf {
        Some((Signer::Existing(index), _)) => words.push(format!("leaf by {index}")),
        Some((Signer::New, _)) => words.push("leaf by new".to_owned()),
        None => {}
    }
    words.extend(
        plan.removed_authorities
            .iter()
            .map(|(index, _)| format!("-{index}")),
    );
    words.join(", ")
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_state_has_its_changes() {
    let first = || authority(0, 3650, true);
    let trusted = || authority(0, 3650, false);
    let second = || authority(2434, 6084, true);
    let not_for_name = Some(LeafState {
        missing_name: Some("a.svc".to_owned()),
        ..leaf(0, 0, 365).unwrap()
    });
    // State, day, whether the bundle is published, changes.
    let cases = [
        ("empty", vec![], None, vec![], 0, false, "+CA, leaf by new"),
        ("fresh", vec![first()], leaf(0, 0, 365), vec![], 200, false, ""),
        (
            "leaf is due",
            vec![first()],
            leaf(0, 0, 365),
            vec![],
            244,
            false,
            "leaf by 0",
        ),
        (
            "leaf expired",
            vec![first()],
            leaf(0, 0, 365),
            vec![],
            365,
            false,
            "leaf by 0",
        ),
        ("no leaf", vec![first()], None, vec![], 9, false, "leaf by 0"),
        (
            "a replica whose clock is ahead renewed the leaf",
            vec![first()],
            leaf(0, 100, 465),
            vec![],
            0,
            true,
            "leaf by 0",
        ),
        (
            "its clock is a few hours ahead",
            vec![first()],
            leaf(0, 10, 375),
            vec![],
            9,
            true,
            "",
        ),
        (
            "a replica whose clock is ahead made the CA",
            vec![authority(100, 3750, true)],
            leaf(0, 100, 465),
            vec![],
            0,
            true,
            "+CA, leaf by new",
        ),
        (
            "other names",
            vec![first()],
            not_for_name,
            vec![],
            9,
            false,
            "leaf by 0",
        ),
        (
            "key of the CA is missing",
            vec![trusted()],
            leaf(0, 0, 365),
            vec![],
            9,
            true,
            "+CA",
        ),
        (
            "no key, no leaf",
            vec![trusted()],
            None,
            vec![],
            9,
            true,
            "+CA, leaf by new, -0",
        ),
        (
            "no key, leaf is due",
            vec![trusted()],
            leaf(0, 0, 365),
            vec![],
            300,
            true,
            "+CA",
        ),
        (
            "no key, leaf expired",
            vec![trusted()],
            leaf(0, 0, 365),
            vec![],
            365,
            true,
            "+CA, leaf by new, -0",
        ),
        (
            "CA is due",
            vec![first()],
            leaf(0, 2300, 2665),
            vec![],
            2434,
            true,
            "+CA",
        ),
        (
            "both are due",
            vec![first()],
            leaf(0, 2200, 2565),
            vec![],
            2444,
            true,
            "+CA, leaf by 0",
        ),
        (
            "CA expired",
            vec![first()],
            leaf(0, 3300, 3650),
            vec![],
            3650,
            true,
            "+CA, leaf by new, -0",
        ),
        (
            "a foreign CA",
            vec![first(), trusted()],
            leaf(0, 0, 365),
            vec![],
            9,
            true,
            "-1",
        ),
        (
            "successor, not published",
            vec![first(), second()],
            leaf(0, 2300, 2665),
            vec![],
            2434,
            false,
            "",
        ),
        (
            "successor, published",
            vec![first(), second()],
            leaf(0, 2300, 2665),
            vec![],
            2434,
            true,
            "leaf by 1",
        ),
        (
            "successor, leaf is due",
            vec![first(), second()],
            leaf(0, 2300, 2665),
            vec![],
            2544,
            false,
            "leaf by 0",
        ),
        (
            "successor, leaf expired",
            vec![first(), second()],
            leaf(0, 2300, 2665),
            vec![],
            2665,
            false,
            "leaf by 0",
        ),
        (
            "successor, no leaf, no first key",
            vec![trusted(), second()],
            None,
            vec![],
            2500,
            false,
            "leaf by 1, -0",
        ),
        (
            "near the CA's end",
            vec![first(), second()],
            leaf(0, 3400, 3650),
            vec![],
            3600,
            false,
            "",
        ),
        (
            "successor, CA expired",
            vec![first(), second()],
            leaf(0, 3400, 3650),
            vec![],
            3650,
            false,
            "leaf by 1, -0",
        ),
        (
            "old CA, its leaf is valid",
            vec![trusted(), second()],
            leaf(1, 2434, 2799),
            retired(0, 2665),
            2664,
            true,
            "",
        ),
        (
            "old CA, its leaf expired",
            vec![trusted(), second()],
            leaf(1, 2434, 2799),
            retired(0, 2665),
            2665,
            true,
            "-0",
        ),
    ];
    for (name, authorities, leaf, retired, today, is_published, expected) in cases {
        let state = State {
            authorities,
            leaf,
            retired,
        };
        assert_eq!(words(&plan(&state, day(today), is_published)), expected, "{name}");
    }
}

/// Makes the changes, as `Contents::apply` does with certificates.
fn apply(state: &mut State, plan: &Plan, now: Timestamp) {
    if plan.new_authority.is_some() {
        state.authorities.push(AuthorityState {
            validity: Validity {
                not_before: now,
                not_after: add(now, AUTHORITY_PERIOD),
            },
            has_key: true,
        });
    }
    if let Some((signer, _)) = &plan.new_leaf {
        let authority = match *signer {
            Signer::Existing(index) => index,
            Signer::New => state.authorities.len() - 1,
        };
        let not_after = add(now, LEAF_PERIOD).min(state.authorities[authority].validity.not_after);
        let old = state.leaf.replace(LeafState {
            authority,
            validity: Validity {
                not_before: now,
                not_after,
            },
            missing_name: None,
        });
        state.retired.extend(
            old.filter(|old| old.authority != authority)
                .map(|old| RetiredState {
                    authority: old.authority,
                    not_after: old.validity.not_after,
                }),
        );
        for older in &mut state.authorities[..authority] {
            older.has_key = false;
        }
    }
    for &(removed, _) in plan.removed_authorities.iter().rev() {
        state.authorities.remove(removed);
        state.retired.retain(|retired| retired.authority != removed);
        let retired = state.retired.iter_mut().map(|retired| &mut retired.authority);
        for authority in retired.chain(state.leaf.as_mut().map(|leaf| &mut leaf.authority)) {
            *authority -= usize::from(*authority > removed);
        }
    }
    state.retired.retain(|retired| retired.not_after > now);
}

proptest! {
    #![proptest_config(property_cases(64))]

    /// Checks at random times over decades; now and then the bundle is published. Whatever happened, a second plan has nothing to do, and
    /// each certificate that can still be served has its CA in the bundle.
    #[test]
    fn rotation_keeps_its_rules(steps in prop::collection::vec((1i64..100, any::<bool>()), 1..400)) {
        let mut state = State { authorities: vec![], leaf: None, retired: vec![] };
        // Certificates that were served: the identity of their CA (its period), and their end.
        let mut served: Vec<(Validity, Timestamp)> = Vec::new();
        let mut published: Vec<Validity> = Vec::new();
        let mut today = 0;
        for (days, publishes) in steps {
            today += days;
            let now = day(today);
            let bundle = |state: &State| -> Vec<Validity> { state.authorities.iter().map(|authority| authority.validity).collect() };
            let is_published = published == bundle(&state);
            let plan = plan(&state, now, is_published);
            let old_authority = usable_leaf(&state, now).ok().map(|leaf| state.authorities[leaf.authority].validity);
            apply(&mut state, &plan, now);
            let is_published = published == bundle(&state);
            prop_assert_eq!(super::plan(&state, now, is_published && plan.new_authority.is_none()), Plan::default(), "not stable after {:?}", plan);
            let leaf = usable_leaf(&state, now).cloned().map_err(TestCaseError::fail)?;
            prop_assert!(state.authorities.len() <= 3, "{state:?}");
            let authority = state.authorities[leaf.authority].validity;
            prop_assert!(old_authority.is_none_or(|old| old == authority) || published.contains(&authority), "served before it was published");
            served.push((authority, leaf.validity.not_after));
            served.retain(|(_, not_after)| *not_after > now);
            for (authority, _) in &served {
                prop_assert!(bundle(&state).contains(authority), "{authority:?} left the bundle too early: {state:?}");
            }
            if publishes {
                published = bundle(&state);
            }
        }
    }
}
