//! client-go's tests of its correlator; each names the test, or the case of it, that pins the same behaviour there. The last one is
//! about the log.

use std::time::Duration;

use jiff::Timestamp;
use kube::core::Status;
use tokio::time::{Instant, advance};
use tokio_util::sync::CancellationToken;

use super::{
    EventType, ObjectRef, Recorded, Recorder,
    correlator::MAX_ENTRIES_PER_SHARD,
    correlator::{Correlator, Verdict},
    series::SeriesKey,
};
use crate::{
    Kind, NamespacedName,
    cache::tests::support::log::Log,
    testing::{Reply, ScriptedApi},
};

fn event(object: &str, reason: &str, note: &str) -> Recorded {
    Recorded {
        regarding: ObjectRef {
            info: k8s_openapi::api::core::v1::Pod::info(),
            name: NamespacedName::namespaced("my-ns", object),
            uid: "C934D34AFB20242".to_owned(),
        },
        related: None,
        event_type: EventType::Normal,
        reason: reason.to_owned(),
        action: "Reconcile".to_owned(),
        note: note.to_owned(),
        time: Timestamp::now(),
    }
}

/// What came of an event, if all writes succeed: the note and the count, or nothing when it was left out.
fn correlate(correlator: &mut Correlator, event: Recorded) -> Option<(String, i32)> {
    let now = Instant::now();
    match correlator.observe(event, now) {
        Verdict::New(new) => {
            let (key, event) = *new;
            let note = event.note.clone();
            correlator.began(key, NamespacedName::namespaced("my-ns", "event"), 1, now);
            Some((note, 1))
        }
        Verdict::Repeated(repeat) => {
            correlator.written(&repeat, now);
            Some((repeat.event.note, repeat.count))
        }
        Verdict::Counted => {
            let mut behind = correlator.due(now, true);
            let repeat = behind.pop().unwrap();
            Some((repeat.event.note, repeat.count))
        }
        Verdict::Spam => None,
    }
}

/// The last of these events, so many seconds apart.
async fn last(events: impl IntoIterator<Item = Recorded>, seconds: u64) -> Option<(String, i32)> {
    let (mut correlator, mut last) = (Correlator::default(), None);
    for event in events {
        advance(Duration::from_secs(seconds)).await;
        last = correlate(&mut correlator, event);
    }
    last
}

fn similar(count: usize) -> impl Iterator<Item = Recorded> {
    (0..count).map(|i| event("my-pod", "similar", &format!("similar message {i}")))
}

fn same(count: usize) -> impl Iterator<Item = Recorded> {
    (0..count).map(|_| event("my-pod", "duplicate", "me again"))
}

#[expect(clippy::unnecessary_wraps, reason = "what is compared")]
fn seen(note: &str, count: i32) -> Option<(String, i32)> {
    Some((note.to_owned(), count))
}

/// client-go: TestEventCorrelator, "create-a-single-event", "the-same-event-should-just-count",
/// "the-same-event-should-just-count-even-if-more-than-aggregate"
#[tokio::test(start_paused = true)]
async fn the_same_event_is_counted() {
    for (count, seconds) in [(1, 5), (2, 5), (11, 30)] {
        let counted = i32::try_from(count).unwrap();
        assert_eq!(last(same(count), seconds).await, seen("me again", counted));
    }
}

/// client-go: TestEventCorrelator, "create-many-unique-events". Its "events-from-different-containers-do-not-aggregate" has no counterpart:
/// events are about objects here, not about fields.
#[tokio::test(start_paused = true)]
async fn events_of_many_objects_are_not_combined() {
    let others = (0..30).map(|i| {
        event(
            &format!("pod-{i}"),
            &format!("reason-{i}"),
            &format!("message-{i}"),
        )
    });
    let unique = event("my-pod", "unique", "snowflake");
    assert_eq!(last(others.chain([unique]), 5).await, seen("snowflake", 1));
}

/// client-go: TestEventCorrelator, "similar-events-should-aggregate-event" and "similar-events-many-times-should-count-the-aggregate",
/// TestEventAggregatorByReasonMessageFunc
#[tokio::test(start_paused = true)]
async fn the_tenth_similar_event_is_combined_with_further_ones() {
    assert_eq!(last(similar(9), 5).await, seen("similar message 8", 1));
    let combined = |i: usize| format!("(combined from similar events): similar message {i}");
    assert_eq!(last(similar(10), 5).await, seen(&combined(9), 1));
    assert_eq!(last(similar(11), 5).await, seen(&combined(10), 2));
}

/// client-go: TestEventAggregatorByReasonFunc
#[tokio::test(start_paused = true)]
async fn only_the_note_may_differ_of_similar_events() {
    let differ = |i: usize| {
        let mut event = event("my-pod", ["even", "odd"][i % 2], &format!("note {i}"));
        if i % 4 < 2 {
            event.event_type = EventType::Warning;
        }
        event
    };
    assert_eq!(last((0..20).map(differ), 5).await, seen("note 19", 1));
}

/// client-go: TestEventCorrelator,
/// "similar-events-whose-interval-is-greater-than-aggregate-interval-do-not-aggregate"
#[tokio::test(start_paused = true)]
async fn events_far_apart_are_not_combined() {
    assert_eq!(last(similar(10), 601).await, seen("similar message 9", 1));
}

/// A note that came before events were combined goes on by itself.
#[tokio::test(start_paused = true)]
async fn a_known_note_is_counted_by_itself() {
    let first = event("my-pod", "similar", "similar message 0");
    assert_eq!(
        last(similar(12).chain([first]), 5).await,
        seen("similar message 0", 2)
    );
}

/// client-go: TestEventCorrelator, "the-same-event-is-spam-if-happens-too-frequently"; but repeats make no writes here, so it takes different
/// ones.
#[tokio::test(start_paused = true)]
async fn too_many_events_about_an_object_are_left_out() {
    let reasons = |count: usize| (0..count).map(|i| event("my-pod", &format!("reason-{i}"), "note"));
    assert_eq!(last(reasons(25), 1).await, seen("note", 1));
    assert_eq!(last(reasons(26), 1).await, None);
    assert_eq!(
        last(reasons(27), 12).await,
        seen("note", 1),
        "one more in five minutes"
    );
}

/// client-go: TestEventSpamFilter, "event should be reported as spam if object reference is the same for default spam filter". There is no
/// other filter here.
#[tokio::test(start_paused = true)]
async fn each_object_and_each_type_has_its_own_budget() {
    let mut correlator = Correlator::default();
    for i in 0..25 {
        assert!(correlate(&mut correlator, event("my-pod", &format!("reason-{i}"), "note")).is_some());
    }
    assert_eq!(
        correlate(&mut correlator, event("my-pod", "another", "note")),
        None
    );
    assert!(correlate(&mut correlator, event("other-pod", "another", "note")).is_some());
    let mut warning = event("my-pod", "another", "note");
    warning.event_type = EventType::Warning;
    assert!(correlate(&mut correlator, warning).is_some());
}

/// What a series counted while nothing could be written is written later, and at the end in any case.
#[tokio::test(start_paused = true)]
async fn spam_of_a_series_is_counted_and_written_later() {
    let mut correlator = Correlator::default();
    assert_eq!(
        correlate(&mut correlator, event("my-pod", "series", "note")),
        seen("note", 1)
    );
    for i in 0..24 {
        assert!(correlate(&mut correlator, event("my-pod", &format!("reason-{i}"), "note")).is_some());
    }
    for _ in 0..9 {
        let verdict = correlator.observe(event("my-pod", "series", "note"), Instant::now());
        assert_eq!(verdict, Verdict::Counted);
    }
    assert_eq!(correlator.due(Instant::now(), true)[0].count, 10);
    advance(Duration::from_secs(31)).await;
    assert_eq!(correlator.due(Instant::now(), false), []);
    advance(Duration::from_mins(5)).await;
    assert_eq!(correlator.due(Instant::now(), false)[0].count, 10);
}

/// However many different ones come, so many are remembered.
#[tokio::test(start_paused = true)]
async fn the_least_recently_seen_series_is_forgotten() {
    let mut correlator = Correlator::default();
    for i in 0..=MAX_ENTRIES_PER_SHARD {
        correlate(&mut correlator, event(&format!("pod-{i}"), "reason", "note"));
        correlate(&mut correlator, event("pod-1", "reason", "note"));
    }
    assert_eq!(
        correlate(&mut correlator, event("pod-0", "reason", "note")),
        seen("note", 1)
    );
    assert_eq!(
        correlate(
            &mut correlator,
            event(&format!("pod-{MAX_ENTRIES_PER_SHARD}"), "reason", "note")
        ),
        seen("note", 2)
    );
    let key = SeriesKey::of(&event("pod-1", "reason", "note"));
    assert!(
        correlator
            .due(Instant::now(), true)
            .iter()
            .any(|repeat| repeat.key == key)
    );
}

/// That is what deleting an object does; other refusals are the operator's own affair.
#[tokio::test(start_paused = true)]
async fn events_about_what_is_gone_are_dropped_without_a_warning() {
    for (code, reason, warnings) in [(404, "NotFound", 0), (422, "Invalid", 1)] {
        let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
        api.reply_with(
            |_| true,
            Reply::status(&Status::failure("scripted", reason).with_code(code)),
        );
        let log = Log::start();
        recorder.event(&event("a", "", "").regarding, EventType::Normal, "Synced", "done");
        let cancel = CancellationToken::new();
        cancel.cancel();
        writer.run(api.connection(), cancel).await;
        assert_eq!(api.requests().len(), 1, "{code} is not tried again");
        assert_eq!(log.lines("event dropped").len(), warnings, "{code}");
        assert_eq!(log.lines("").len(), warnings, "{code}");
    }
}
