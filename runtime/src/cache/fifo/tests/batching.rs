//! The ordered queue.
//!
//! Upstream's queue has a mode without atomic replacements, in which one batch never holds a key twice and a list is cut into batches; the
//! cases of TestRealFIFO_PopMultipleDeltaInBatch that are about these have no counterpart: our store applies a batch in order, so a key
//! may come twice, and a list is one delta. TestRealFIFO_PopBrokenItemsInBatch is about objects without a key, which no delta can hold:
//! the scan refuses them before (`a_line_whose_object_cannot_be_identified_ends_the_watch_and_costs_a_list`).

use super::{super::batching::MAX_BATCH, *};

fn fifo() -> BatchingFifo {
    BatchingFifo::new([None])
}

/// client-go: TestRealFIFO_PopMultipleDeltaInBatch (split due to batch size).
#[test]
fn a_batch_has_at_most_a_thousand_keys_however_often_each_comes() {
    let mut fifo = fifo();
    for number in 0..=MAX_BATCH {
        let object = object(&format!("o{number}"), 1);
        fifo.push(Delta::Upserted(object.clone()));
        fifo.push(Delta::Deleted(object));
    }
    let mut pop = || fifo.pop().map(|batch| batch.len());
    assert_eq!([pop(), pop(), pop()], [Some(2 * MAX_BATCH), Some(2), None]);
}

/// client-go: TestRealFIFO_PopMultipleDeltaInBatch, TestRealFIFO_ReplaceAtomic, TestRealFIFO_ReplaceAtomicPop, TestRealFIFO_ResyncAtomic.
#[test]
fn lists_and_resyncs_are_batches_of_their_own_in_their_place() {
    for (pushed, popped) in [
        ("", ""),
        ("[]", "[]"),
        ("~", "~"),
        ("+a1, +b2, +a3, -b2", "+a1 +b2 +a3 -b2"),
        ("+a1, []", "+a1 | []"),
        ("+a1, ~", "+a1 | ~"),
        ("[+a1 +b2], +c3, +d4", "[+a1 +b2] | +c3 +d4"),
        (
            "+a1, [+a1], [+a2], [], ~, ~, +a3",
            "+a1 | [+a1] | [+a2] | [] | ~ | ~ | +a3",
        ),
    ] {
        let mut fifo = fifo();
        push(&mut fifo, pushed);
        assert_eq!(drain(&mut fifo), popped, "{pushed}");
    }
}

/// client-go: TestRealFIFO_HasSynced; there, a change without a list counts, too, which no reflector ever sends.
#[test]
fn a_list_syncs_once_it_is_processed() {
    let [one, two]: [Namespace; 2] = [Some("one".into()), Some("two".into())];
    let replaced = |namespace: &Namespace| Delta::Replaced {
        namespace: namespace.clone(),
        version: "1".into(),
        objects: vec![object("a", 1)],
    };
    let mut fifo = BatchingFifo::new([one.clone(), two.clone()]);
    for delta in [replaced(&one), parse("+b1"), replaced(&one), replaced(&two)] {
        fifo.push(delta);
    }
    let mut synced = Vec::new();
    while let Some(batch) = fifo.pop() {
        assert_eq!(batch.len(), 1);
        synced.push(fifo.has_synced());
        fifo.processed();
        synced.push(fifo.has_synced());
    }
    assert_eq!(synced, [false, false, false, false, false, false, false, true]);
}

#[test]
fn a_mark_is_part_of_a_batch() {
    let mut fifo = BatchingFifo::new([None]);
    push(&mut fifo, "+a1, <1, +b2, <2, ~, <3");
    assert_eq!(drain(&mut fifo), "+a1 <1 +b2 <2 | ~ | <3");
}
