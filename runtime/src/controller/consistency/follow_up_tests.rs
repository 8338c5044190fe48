//! Tables of the follow-up policy.

use super::*;

fn cached(uid: &str, version: &str, is_deleting: bool) -> CachedObject {
    CachedObject {
        informer_index: 0,
        uid: uid.into(),
        version: version.into(),
        is_deleting,
    }
}

#[test]
fn write_is_a_change_if_the_answer_differs_from_the_cache_when_it_was_sent() {
    let (old, deleting) = (cached("u", "5", false), cached("u", "5", true));
    let other = cached("other", "5", true);
    let (written, deleted, removed) = (WriteKind::Written, WriteKind::Deleted, WriteKind::Removed);
    for (what, effect, version, cached, expected) in [
        ("same version", written, "5", &[Some(&old)][..], false),
        ("other version", written, "6", &[Some(&old)], true),
        ("other uid", written, "5", &[Some(&other)], true),
        ("not in the cache", written, "5", &[None], true),
        (
            "an informer is behind",
            written,
            "6",
            &[Some(&cached("u", "6", false)), Some(&old)],
            true,
        ),
        ("no version in the answer", written, "", &[Some(&old)], false),
        ("deletion of a live object", deleted, "6", &[Some(&old)], true),
        ("deletion answered by a Status", deleted, "", &[Some(&old)], true),
        (
            "deletion of an object that is being deleted",
            deleted,
            "5",
            &[Some(&deleting)],
            false,
        ),
        (
            "the same, with a newer version",
            deleted,
            "6",
            &[Some(&deleting)],
            false,
        ),
        (
            "deletion of a recreated object",
            deleted,
            "",
            &[Some(&other)],
            true,
        ),
        ("last finalizer removed", removed, "6", &[Some(&deleting)], true),
    ] {
        let baseline = WriteBaseline::Cached(cached);
        assert_eq!(is_change(effect, ("u", version), baseline), expected, "{what}");
    }
}

#[test]
fn write_of_an_uncovered_object_is_a_change_if_the_answer_differs_from_the_last_one() {
    for (what, effect, version, is_same, expected) in [
        (
            "first answer, or other version",
            WriteKind::Written,
            "6",
            false,
            true,
        ),
        ("same answer", WriteKind::Written, "6", true, false),
        ("review, token or eviction", WriteKind::Written, "", false, false),
        ("deletion", WriteKind::Deleted, "", false, true),
        (
            "deletion with the last answer's version",
            WriteKind::Deleted,
            "6",
            true,
            false,
        ),
        ("last finalizer removed", WriteKind::Removed, "7", false, true),
    ] {
        let baseline = WriteBaseline::LastAnswer { is_same };
        assert_eq!(is_change(effect, ("u", version), baseline), expected, "{what}");
    }
}

fn changed() -> ChangedObject {
    ChangedObject {
        kind: "ConfigMap".into(),
        name: NamespacedName::namespaced("default", "a"),
        verb: "patch",
        subresource: Some("status"),
    }
}

/// A reconcile that changed something.
fn finish(state: &mut FollowUpState, outcome: Outcome) -> FollowUp {
    state.start();
    state.record_change(changed());
    state.finish(outcome, false)
}

#[test]
fn extra_call_follows_outcomes_without_a_call_of_their_own() {
    for (outcome, has_changed, is_enqueued, expected) in [
        (Outcome::Success, true, false, FollowUp::Immediate),
        (Outcome::RequeueAfter, true, false, FollowUp::Immediate),
        (Outcome::TerminalError, true, false, FollowUp::Immediate),
        (Outcome::Success, false, false, FollowUp::None),
        (Outcome::RequeueAfter, false, false, FollowUp::None),
        (Outcome::TerminalError, false, false, FollowUp::None),
        (Outcome::Requeue, true, false, FollowUp::None),
        (Outcome::Error, true, false, FollowUp::None),
        (Outcome::Panic, true, false, FollowUp::None),
        (Outcome::Timeout, true, false, FollowUp::None),
        (Outcome::Success, true, true, FollowUp::None),
    ] {
        let mut state = FollowUpState::default();
        state.start();
        if has_changed {
            state.record_change(changed());
        }
        let follow_up = state.finish(outcome, is_enqueued);
        assert_eq!(follow_up, expected, "{outcome:?}, {has_changed}, {is_enqueued}");
    }
}

#[test]
fn changes_of_an_earlier_call_do_not_count() {
    let mut state = FollowUpState::default();
    state.start();
    state.record_change(changed());
    assert_eq!(state.finish(Outcome::Error, false), FollowUp::None);
    state.start();
    assert_eq!(state.finish(Outcome::Success, false), FollowUp::None);
}

#[test]
fn late_writes_are_followed_by_one_call() {
    let mut state = FollowUpState::default();
    state.record_change(changed());
    assert_eq!(state.finish_late_write(), FollowUp::Immediate);
    state.record_change(changed());
    assert_eq!(
        state.finish_late_write(),
        FollowUp::None,
        "the call is still pending"
    );
    state.start();
    state.finish(Outcome::Success, false);
    state.record_change(changed());
    assert_eq!(state.finish_late_write(), FollowUp::Immediate);
}

#[test]
fn after_20_extra_calls_in_a_row_the_delay_grows_from_1_s_to_5_minutes() {
    let mut state = FollowUpState::default();
    for call in 0..20 {
        assert_eq!(
            finish(&mut state, Outcome::Success),
            FollowUp::Immediate,
            "{call}"
        );
    }
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        let delay = Duration::from_secs(seconds);
        assert_eq!(
            finish(&mut state, Outcome::RequeueAfter),
            FollowUp::Delayed(delay)
        );
    }
    for _ in 0..100 {
        finish(&mut state, Outcome::Success);
    }
    assert_eq!(
        finish(&mut state, Outcome::Success),
        FollowUp::Delayed(Duration::from_mins(5))
    );
}

#[test]
fn foreign_changes_and_calls_without_a_change_restart_the_row_but_errors_do_not() {
    let in_a_row = || {
        let mut state = FollowUpState::default();
        for _ in 0..21 {
            finish(&mut state, Outcome::Success);
        }
        state
    };
    let mut foreign = in_a_row();
    foreign.record_foreign_change();
    assert!(foreign.is_idle());
    assert_eq!(finish(&mut foreign, Outcome::Success), FollowUp::Immediate);

    let mut ended = in_a_row();
    ended.start();
    ended.finish(Outcome::Success, false);
    assert!(ended.is_idle());
    assert_eq!(finish(&mut ended, Outcome::Success), FollowUp::Immediate);

    let mut failed = in_a_row();
    assert_eq!(finish(&mut failed, Outcome::Error), FollowUp::None);
    assert_eq!(
        finish(&mut failed, Outcome::Success),
        FollowUp::Delayed(Duration::from_secs(2))
    );
}

#[test]
fn start_of_a_call_replaces_a_delayed_one() {
    let mut state = FollowUpState::default();
    let due = Instant::now();
    state.due = Some(due);
    assert!(!state.is_idle());
    assert_eq!(state.start(), Some(due));
    assert_eq!(state.start(), None);
}

#[test]
fn warning_names_object_and_verb() {
    let changed = changed();
    assert_eq!(changed.to_string(), "ConfigMap default/a");
    assert_eq!(changed.verb(), "patch status");
}
