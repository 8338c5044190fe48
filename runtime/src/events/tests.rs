//! Ports of client-go's tests of its event correlator; each names the original, or its case. The last one tests the log.

use std::time::Duration;

use jiff::Timestamp;
use kube::core::Status;
use tokio::time::{Instant, advance};
use tokio_util::sync::CancellationToken;

use super::{
    EventType, ObjectRef, Recorded, Recorder,
    correlator::MAX_ENTRIES_PER_SHARD,
    correlator::{CorrelateResult, Correlator},
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
        controller: None,
    }
}

/// Correlates an event, with all writes successful: returns note and count, or nothing if it was dropped.
fn correlate(correlator: &mut Correlator, event: Recorded) -> Option<(String, i32)> {
    let now = Instant::now();
    match correlator.observe(event, now) {
        CorrelateResult::New(new) => {
            let (key, event) = *new;
            let note = event.note.clone();
            correlator.created(key, NamespacedName::namespaced("my-ns", "event"), 1, now);
            Some((note, 1))
        }
        CorrelateResult::Repeated(repeat) => {
            correlator.written(&repeat, now);
            Some((repeat.event.note, repeat.count))
        }
        CorrelateResult::Counted => {
            let mut unwritten = correlator.due(now, true);
            let repeat = unwritten.pop().unwrap();
            Some((repeat.event.note, repeat.count))
        }
        CorrelateResult::Spam => None,
    }
}

/// Correlates events, so many seconds apart, and returns the last result.
async fn correlate_all(events: impl IntoIterator<Item = Recorded>, seconds: u64) -> Option<(String, i32)> {
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

#[expect(clippy::unnecessary_wraps, reason = "as the compared results")]
fn written(note: &str, count: i32) -> Option<(String, i32)> {
    Some((note.to_owned(), count))
}

/// client-go: TestEventCorrelator, "create-a-single-event", "the-same-event-should-just-count",
/// "the-same-event-should-just-count-even-if-more-than-aggregate"
#[tokio::test(start_paused = true)]
async fn repeated_event_is_counted() {
    for (count, seconds) in [(1, 5), (2, 5), (11, 30)] {
        let counted = i32::try_from(count).unwrap();
        assert_eq!(
            correlate_all(same(count), seconds).await,
            written("me again", counted)
        );
    }
}

/// client-go: TestEventCorrelator, "create-many-unique-events". Its "events-from-different-containers-do-not-aggregate" has no counterpart:
/// events are about objects here, not about fields.
#[tokio::test(start_paused = true)]
async fn events_of_many_objects_are_not_aggregated() {
    let others = (0..30).map(|i| {
        event(
            &format!("pod-{i}"),
            &format!("reason-{i}"),
            &format!("message-{i}"),
        )
    });
    let unique = event("my-pod", "unique", "snowflake");
    assert_eq!(
        correlate_all(others.chain([unique]), 5).await,
        written("snowflake", 1)
    );
}

/// client-go: TestEventCorrelator, "similar-events-should-aggregate-event" and "similar-events-many-times-should-count-the-aggregate",
/// TestEventAggregatorByReasonMessageFunc
#[tokio::test(start_paused = true)]
async fn tenth_similar_event_starts_an_aggregate() {
    assert_eq!(
        correlate_all(similar(9), 5).await,
        written("similar message 8", 1)
    );
    let combined = |i: usize| format!("(combined from similar events): similar message {i}");
    assert_eq!(correlate_all(similar(10), 5).await, written(&combined(9), 1));
    assert_eq!(correlate_all(similar(11), 5).await, written(&combined(10), 2));
}

/// client-go: TestEventAggregatorByReasonFunc
#[tokio::test(start_paused = true)]
async fn events_with_other_reasons_are_not_aggregated() {
    let differ = |i: usize| {
        let mut event = event("my-pod", ["even", "odd"][i % 2], &format!("note {i}"));
        if i % 4 < 2 {
            event.event_type = EventType::Warning;
        }
        event
    };
    assert_eq!(correlate_all((0..20).map(differ), 5).await, written("note 19", 1));
}

/// client-go: TestEventCorrelator,
/// "similar-events-whose-interval-is-greater-than-aggregate-interval-do-not-aggregate"
#[tokio::test(start_paused = true)]
async fn events_far_apart_are_not_aggregated() {
    assert_eq!(
        correlate_all(similar(10), 601).await,
        written("similar message 9", 1)
    );
}

/// A note from before the aggregate keeps its own series.
#[tokio::test(start_paused = true)]
async fn known_note_is_counted_in_its_own_series() {
    let first = event("my-pod", "similar", "similar message 0");
    assert_eq!(
        correlate_all(similar(12).chain([first]), 5).await,
        written("similar message 0", 2)
    );
}

/// client-go: TestEventCorrelator, "the-same-event-is-spam-if-happens-too-frequently"; but repeats make no writes here, so it takes different
/// ones.
#[tokio::test(start_paused = true)]
async fn too_many_events_about_an_object_are_dropped() {
    let reasons = |count: usize| (0..count).map(|i| event("my-pod", &format!("reason-{i}"), "note"));
    assert_eq!(correlate_all(reasons(25), 1).await, written("note", 1));
    assert_eq!(correlate_all(reasons(26), 1).await, None);
    assert_eq!(
        correlate_all(reasons(27), 12).await,
        written("note", 1),
        "one more in five minutes"
    );
}

/// client-go: TestEventSpamFilter, "event should be reported as spam if object reference is the same for default spam filter". There is no
/// other filter here.
#[tokio::test(start_paused = true)]
async fn each_object_and_event_type_has_its_own_limit() {
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

/// Repeats over the limit are counted and written later, and at the end in any case.
#[tokio::test(start_paused = true)]
async fn repeats_over_the_limit_are_counted_and_written_later() {
    let mut correlator = Correlator::default();
    assert_eq!(
        correlate(&mut correlator, event("my-pod", "series", "note")),
        written("note", 1)
    );
    for i in 0..24 {
        assert!(correlate(&mut correlator, event("my-pod", &format!("reason-{i}"), "note")).is_some());
    }
    for _ in 0..9 {
        let result = correlator.observe(event("my-pod", "series", "note"), Instant::now());
        assert_eq!(result, CorrelateResult::Counted);
    }
    assert_eq!(correlator.due(Instant::now(), true)[0].count, 10);
    advance(Duration::from_secs(31)).await;
    assert_eq!(correlator.due(Instant::now(), false), []);
    advance(Duration::from_mins(5)).await;
    assert_eq!(correlator.due(Instant::now(), false)[0].count, 10);
}

/// The number of remembered series is bounded.
#[tokio::test(start_paused = true)]
async fn least_recently_used_series_is_evicted() {
    let mut correlator = Correlator::default();
    for i in 0..=MAX_ENTRIES_PER_SHARD {
        correlate(&mut correlator, event(&format!("pod-{i}"), "reason", "note"));
        correlate(&mut correlator, event("pod-1", "reason", "note"));
    }
    assert_eq!(
        correlate(&mut correlator, event("pod-0", "reason", "note")),
        written("note", 1)
    );
    assert_eq!(
        correlate(
            &mut correlator,
            event(&format!("pod-{MAX_ENTRIES_PER_SHARD}"), "reason", "note")
        ),
        written("note", 2)
    );
    let key = SeriesKey::of(&event("pod-1", "reason", "note"));
    assert!(
        correlator
            .due(Instant::now(), true)
            .iter()
            .any(|repeat| repeat.key == key)
    );
}

/// A deleted object is expected; other refusals are logged.
#[tokio::test(start_paused = true)]
async fn events_about_deleted_objects_are_dropped_without_a_warning() {
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
        assert_eq!(api.requests().len(), 1, "{code} is not retried");
        assert_eq!(log.lines("event dropped").len(), warnings, "{code}");
        assert_eq!(log.lines("").len(), warnings, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn reporting_controller_is_the_operator_unless_the_recorder_names_another() {
    let (api, (recorder, writer)) = (ScriptedApi::new(), Recorder::pipeline("shop"));
    let regarding = event("a", "", "").regarding;
    recorder.event(&regarding, EventType::Normal, "Synced", "done");
    // The same event of another controller is not a repeat.
    let named = recorder.reporting_as("web-controller");
    named.event(&regarding, EventType::Normal, "Synced", "done");
    let cancel = CancellationToken::new();
    cancel.cancel();
    writer.run(api.connection(), cancel).await;
    let requests = api.requests();
    let controllers: Vec<_> = requests
        .iter()
        .map(|request| &request.body["reportingController"])
        .collect();
    assert_eq!(controllers, ["shop", "web-controller"]);
}
