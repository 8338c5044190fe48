//! The textbook queue, as client-go's delta_fifo_test.go pins it.
//!
//! Of upstream's tests these have no counterpart:
//! - TestDeltaFIFO_transformer: nothing is transformed in the queue.
//! - TestDeltaFIFO_ReplaceDeltaType and TestDeltaFIFO_ReplaceMakesDeletionsReplaced: there is one kind of delta for an object that is
//!   there, wherever it was seen.
//! - TestDeltaFIFO_enqueueingNoLister, and the cases without a lister of others: there is always a store; it may be empty.
//! - TestDeltaFIFO_KeyOf: each object carries its key.
//! - TestDeltaFIFO_PopShouldUnblockWhenClosed: waiting is cancelled by dropping it.
//! - of TestDeltaFIFO_HasSynced the case of an addition without a list: we have synced by lists only.

use super::*;

fn fifo(known: &str) -> DeltaFifo {
    DeltaFifo::new([None], store(known))
}

fn check(known: &str, pushed: &str, popped: &str) {
    let mut fifo = fifo(known);
    push(&mut fifo, pushed);
    assert_eq!(drain(&mut fifo), popped, "{pushed} where {known:?} is known");
}

/// client-go: TestDeltaFIFO_basic, TestDeltaFIFO_detectLineJumpers.
#[test]
fn keys_come_in_the_order_in_which_they_were_queued() {
    let mut fifo = fifo("");
    push(&mut fifo, "+a10, +b1, +a11, +a13, +c30");
    assert_eq!(pop(&mut fifo).unwrap(), "+a10 +a11 +a13");
    push(&mut fifo, "+a14");
    assert_eq!(drain(&mut fifo), "+b1 | +c30 | +a14");
}

/// client-go: TestDeltaFIFO_addUpdate, TestDeltaFIFO_addReplace, TestDeltaFIFO_DeleteExistingNonPropagated,
/// TestDeltaFIFO_enqueueingWithLister.
#[test]
fn what_happened_to_a_key_is_collected() {
    check("", "+a10, +a12, -a15", "+a10 +a12 -a15");
    check("", "+a10, [+a15]", "+a10 +a15");
    check("a5 b6 c7", "+a10, +b15, -c20", "+a10 | +b15 | -c20");
    // What neither waits nor is known was deleted before.
    check("a5", "-b1", "");
    check("", "+a1, -a2, -a3", "+a1 -a2");
}

/// client-go: TestDeltaFIFO_replaceWithDeleteDeltaIn.
#[test]
fn a_list_brings_back_what_a_deletion_waits_for() {
    check("a1", "-a1, [+a2]", "-a1 +a2");
}

/// client-go: TestDeltaFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue.
#[test]
fn a_list_makes_a_tombstone_of_what_only_waits() {
    for (pushed, popped) in [
        ("+a2, []", "+a2 ?a2"),
        ("+a2, [+a2], []", "+a2 +a2 ?a2"),
        ("+a2, -a2, []", "+a2 -a2"),
        ("+a2, [+a2], [+a2], []", "+a2 +a2 +a2 ?a2"),
        ("+a2, [], []", "+a2 ?a2"),
        ("+a2, -a2, +a3, []", "+a2 -a2 +a3 ?a3"),
        // The one that knows the final state.
        ("+a2, [], -a3", "+a2 -a3"),
        ("+a2, [], -a3, -a4", "+a2 -a3"),
    ] {
        check("", pushed, popped);
    }
}

/// client-go: TestDeltaFIFO_ReplaceMakesDeletions.
#[test]
fn a_list_makes_a_tombstone_of_what_waits_or_is_known() {
    for (pushed, popped) in [
        ("-c10, [+a5]", "-c10 | +a5 | ?b6"),
        ("+c10, [+a5]", "+c10 ?c10 | +a5 | ?b6"),
        ("-b6, +b100, [+a5]", "-b6 +b100 ?b100 | +a5 | ?c7"),
        ("[+b100 +a5], [+a5]", "+b100 ?b100 | +a5 +a5 | ?c7"),
    ] {
        check("a5 b6 c7", pushed, popped);
    }
}

/// client-go: TestDeltaFIFO_Resync, TestDeltaFIFO_ResyncNonExisting, TestDeltaFIFO_UpdateResyncRace.
#[test]
fn a_resync_leaves_out_what_waits() {
    check("a5", "~", "~a5");
    check("a5", "~, ~, +a6", "~a5 +a6");
    check("a5", "-a10, ~", "-a10");
    check("a5", "+a6, ~", "+a6");
    check("", "+a6, ~", "+a6");
}

/// client-go: TestDeltaFIFO_HasSynced, TestDeltaFIFO_HasSyncedCorrectOnDeletion; there, a key counts before it is processed.
#[test]
fn a_list_has_synced_when_each_of_its_keys_was_processed() {
    for (known, pushed, batches) in [
        ("", "[]", 1),
        ("", "[+a1 +b2]", 2),
        ("", "[+a1 +a2]", 1),
        ("a5 b6", "[+a5]", 2),
        ("", "+a1, [+a1 +b2], +c3", 2),
        // A second list does not put it off.
        ("", "[+a1], [+a1 +b2]", 1),
    ] {
        let mut fifo = fifo(known);
        push(&mut fifo, pushed);
        for _ in 0..batches {
            assert!(!fifo.has_synced(), "{pushed}");
            fifo.pop().unwrap();
            assert!(!fifo.has_synced(), "{pushed}");
            fifo.processed();
        }
        assert!(fifo.has_synced(), "{pushed}");
    }
}

/// What upstream's lock holds together: the queue knows what its consumer has in hand.
#[test]
fn what_is_being_processed_is_known_and_what_it_deletes_is_not() {
    for (known, popped, pushed, then) in [
        // In the store only after this.
        ("", "+a1", "[]", "?a1"),
        ("", "+a1", "-a2", "-a2"),
        ("", "+a1", "~", "~a1"),
        ("a1", "+a2", "[]", "?a2"),
        // Still in the store.
        ("a1", "-a2", "[]", ""),
        ("a1", "-a2", "-a3", ""),
        ("a1", "-a2", "~", ""),
    ] {
        let mut fifo = fifo(known);
        push(&mut fifo, popped);
        fifo.pop().unwrap();
        push(&mut fifo, pushed);
        fifo.processed();
        assert_eq!(
            drain(&mut fifo),
            then,
            "{pushed} while {popped} is processed, {known:?} known"
        );
    }
}

#[test]
fn a_list_of_one_namespace_says_nothing_of_another() {
    let info = k8s_openapi::api::core::v1::ConfigMap::info();
    let object = |namespace: &str, name: &str| {
        let json = json!({"metadata": {"name": name, "namespace": namespace, "resourceVersion": "1"}});
        Arc::new(
            Scanner::new(&info)
                .object(json.to_string().as_bytes(), &[])
                .unwrap(),
        )
    };
    let namespaces: [Namespace; 2] = [Some("one".into()), Some("two".into())];
    let known = Store::default();
    known.apply(
        vec![
            Delta::Upserted(object("one", "a")),
            Delta::Upserted(object("two", "b")),
        ],
        false,
    );
    let mut fifo = DeltaFifo::new(namespaces.clone(), Arc::new(known));
    fifo.push(Delta::Upserted(object("one", "c")));
    fifo.push(Delta::Upserted(object("two", "d")));
    fifo.push(Delta::Replaced {
        namespace: namespaces[0].clone(),
        version: "1".into(),
        objects: vec![],
    });
    assert_eq!(drain(&mut fifo), "+c1 ?c1 | +d1 | ?a1");
    assert!(!fifo.has_synced());
}

/// A key may overtake a mark; the mark never overtakes a key.
#[test]
fn a_version_is_reached_once_everything_before_it_was_handed_out() {
    check("", "+a1, <1, +b2, <2", "+a1 <1 | +b2 <2");
    check("", "+a1, +b2, <2, +a3, <3", "+a1 +a3 | +b2 <2 <3");
    let mut fifo = DeltaFifo::new([None], Arc::default());
    push(&mut fifo, "[+a1]");
    fifo.pop().unwrap();
    fifo.processed();
    push(&mut fifo, "[]");
    let deltas = fifo.pop().unwrap();
    assert!(
        matches!(
            &deltas[..],
            [Delta::DeletedFinalStateUnknown(_), Delta::Listed { .. }] | [Delta::Listed { .. }]
        ),
        "{deltas:?}"
    );
}
