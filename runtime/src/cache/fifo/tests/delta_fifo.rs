//! DeltaFIFO, as client-go's delta_fifo_test.go specifies it.
//!
//! These of client-go's tests have no counterpart:
//! - TestDeltaFIFO_transformer: nothing is transformed in the queue.
//! - TestDeltaFIFO_ReplaceDeltaType and TestDeltaFIFO_ReplaceMakesDeletionsReplaced: one kind of delta stands for an object
//!   that exists, whether a list or a watch saw it.
//! - TestDeltaFIFO_enqueueingNoLister, and the cases without a lister of others: there is always a store; it may be empty.
//! - TestDeltaFIFO_KeyOf: each object has its key.
//! - TestDeltaFIFO_PopShouldUnblockWhenClosed: waiting is cancelled by dropping it.
//! - of TestDeltaFIFO_HasSynced the case of an addition without a list: only lists count here.

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
fn keys_are_popped_in_the_order_in_which_they_were_queued() {
    let mut fifo = fifo("");
    push(&mut fifo, "+a10, +b1, +a11, +a13, +c30");
    assert_eq!(pop(&mut fifo).unwrap(), "+a10 +a11 +a13");
    push(&mut fifo, "+a14");
    assert_eq!(drain(&mut fifo), "+b1 | +c30 | +a14");
}

/// client-go: TestDeltaFIFO_addUpdate, TestDeltaFIFO_addReplace, TestDeltaFIFO_DeleteExistingNonPropagated,
/// TestDeltaFIFO_enqueueingWithLister.
#[test]
fn deltas_of_a_key_are_collected() {
    check("", "+a10, +a12, -a15", "+a10 +a12 -a15");
    check("", "+a10, [+a15]", "+a10 +a15");
    check("a5 b6 c7", "+a10, +b15, -c20", "+a10 | +b15 | -c20");
    // A key that is neither queued nor known was deleted before.
    check("a5", "-b1", "");
    check("", "+a1, -a2, -a3", "+a1 -a2");
}

/// client-go: TestDeltaFIFO_replaceWithDeleteDeltaIn.
#[test]
fn list_re_adds_a_key_whose_deletion_is_queued() {
    check("a1", "-a1, [+a2]", "-a1 +a2");
}

/// client-go: TestDeltaFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue.
#[test]
fn list_adds_tombstones_for_keys_that_are_only_queued() {
    for (pushed, popped) in [
        ("+a2, []", "+a2 ?a2"),
        ("+a2, [+a2], []", "+a2 +a2 ?a2"),
        ("+a2, -a2, []", "+a2 -a2"),
        ("+a2, [+a2], [+a2], []", "+a2 +a2 +a2 ?a2"),
        ("+a2, [], []", "+a2 ?a2"),
        ("+a2, -a2, +a3, []", "+a2 -a2 +a3 ?a3"),
        // The deletion that knows the final state is kept.
        ("+a2, [], -a3", "+a2 -a3"),
        ("+a2, [], -a3, -a4", "+a2 -a3"),
    ] {
        check("", pushed, popped);
    }
}

/// client-go: TestDeltaFIFO_ReplaceMakesDeletions.
#[test]
fn list_adds_tombstones_for_queued_and_known_keys() {
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
fn resync_skips_keys_with_queued_deltas() {
    check("a5", "~", "~a5");
    check("a5", "~, ~, +a6", "~a5 +a6");
    check("a5", "-a10, ~", "-a10");
    check("a5", "+a6, ~", "+a6");
    check("", "+a6, ~", "+a6");
}

/// client-go: TestDeltaFIFO_HasSynced, TestDeltaFIFO_HasSyncedCorrectOnDeletion; there, a key counts before it is processed.
#[test]
fn namespace_has_synced_when_every_key_of_its_list_was_processed() {
    for (known, pushed, batches) in [
        ("", "[]", 1),
        ("", "[+a1 +b2]", 2),
        ("", "[+a1 +a2]", 1),
        ("a5 b6", "[+a5]", 2),
        ("", "+a1, [+a1 +b2], +c3", 2),
        // A second list does not delay it.
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

/// client-go holds its lock while a batch is processed; here the queue knows which batch that is.
#[test]
fn key_in_process_is_known_unless_it_is_being_deleted() {
    for (known, popped, pushed, then) in [
        // In the store only afterwards.
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
fn list_of_one_namespace_deletes_nothing_of_another() {
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

/// A key may overtake a bookmark; a bookmark never overtakes a key.
#[test]
fn bookmark_is_popped_after_every_key_before_it() {
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
