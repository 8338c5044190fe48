//! Property test: after random faults, the store and every handler's view converge to the server's objects.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::cache::{
    Filtered, HandlerOptions, HandlerRegistration, Object, SharedInformer, list_watch::QueueKind,
};
use proptest::prelude::*;

use crate::{
    event_checker::{EventChecker, datum},
    support::{
        server::{Answer, Server, Streaming, status},
        *,
    },
};

#[derive(Debug, Clone)]
enum Step {
    Put(u8),
    Delete(u8),
    PutUnseen(u8),
    DeleteUnseen(u8),
    Bookmark,
    Cut,
    /// Closes the watches and compacts the history.
    Expire,
    /// One of `GARBAGE`.
    Garbage(usize),
    FailList(u16),
    FailWatch(u16),
    FailStream(u16),
    Streaming(Streaming),
    Hold,
    Release,
    ReleaseInReverse,
    Wait(u16),
    LateHandler,
    /// Removes the oldest handler.
    RemoveHandler,
}

/// Lines that no server should send. Some end the watch, the others stay in the cache until the next relist.
const GARBAGE: [&[u8]; 14] = [
    br#"{"type":"ADDED","object":{}}"#,
    // Another kind.
    br#"{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"o0","namespace":"default"}}}"#,
    // Two names.
    br#"{"type":"ADDED","object":{"metadata":{"name":"o0","name":"o1","namespace":"default"}}}"#,
    // The same name twice.
    br#"{"type":"MODIFIED","object":{"metadata":{"name":"o0","name":"o0","namespace":"default","uid":"g","resourceVersion":"3"}}}"#,
    br#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1"}}"#,
    // Non-numeric and very old versions.
    br#"{"type":"MODIFIED","object":{"metadata":{"name":"o1","namespace":"default","uid":"g","resourceVersion":"abc"},"data":{"datum":"2"}}}"#,
    br#"{"type":"MODIFIED","object":{"metadata":{"name":"o2","namespace":"default","uid":"g","resourceVersion":""},"data":{"datum":"2"}}}"#,
    br#"{"type":"MODIFIED","object":{"metadata":{"name":"o3","namespace":"default","uid":"g","resourceVersion":"1"},"data":{"datum":"2"}}}"#,
    br#"{"type":"DELETED","object":{"metadata":{"name":"o3","namespace":"default","uid":"g","resourceVersion":"1"}}}"#,
    // Invalid UTF-8.
    b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"o4\xff\",\"namespace\":\"default\"}}}",
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab",
    // A truncated line.
    br#"{"type":"MODIFIED","object":{"metadata":{"name":"o5","namespace":"default","uid":"g","resourceV"#,
    // Objects that do not decode, and malformed metadata.
    br#"{"type":"MODIFIED","object":{"metadata":{"name":"o4","namespace":"default","uid":"g","resourceVersion":"4"},"data":5}}"#,
    br#"{"type":"MODIFIED","object":{"metadata":{"name":"o5","namespace":"default","uid":"g","resourceVersion":"5","labels":[]}}}"#,
];

fn step() -> impl Strategy<Value = Step> {
    let key = 0u8..6;
    let code = prop::sample::select(vec![410u16, 429, 500, 503, 404, 422]);
    let streaming = prop::sample::select(vec![Streaming::Known, Streaming::Refused, Streaming::Ignored]);
    prop_oneof![
        6 => key.clone().prop_map(Step::Put),
        3 => key.clone().prop_map(Step::Delete),
        2 => key.clone().prop_map(Step::PutUnseen),
        2 => key.prop_map(Step::DeleteUnseen),
        1 => Just(Step::Bookmark),
        1 => Just(Step::Cut),
        2 => Just(Step::Expire),
        2 => (0..GARBAGE.len()).prop_map(Step::Garbage),
        1 => code.clone().prop_map(Step::FailList),
        1 => code.clone().prop_map(Step::FailWatch),
        1 => code.prop_map(Step::FailStream),
        1 => streaming.prop_map(Step::Streaming),
        1 => Just(Step::Hold),
        1 => Just(Step::Release),
        1 => Just(Step::ReleaseInReverse),
        4 => (0u16..5000).prop_map(Step::Wait),
        1 => Just(Step::LateHandler),
        1 => Just(Step::RemoveHandler),
    ]
}

fn answer(code: u16) -> Answer {
    Answer::Fail(status(code, ""))
}

/// One handler of each type.
struct Handlers {
    plain: EventChecker,
    coalescing: EventChecker,
    resyncing: EventChecker,
    filtered: EventChecker,
    registrations: [HandlerRegistration; 4],
}

/// The predicate of the filtered handlers.
fn is_even(datum: &str) -> bool {
    datum.parse::<usize>().is_ok_and(|datum| datum.is_multiple_of(2))
}

impl Handlers {
    fn add(informer: &SharedInformer<ConfigMap>) -> Self {
        let [plain, coalescing, resyncing, filtered] = [(); 4].map(|()| EventChecker::default());
        let options = HandlerOptions::default();
        let passes = |object: &Object<ConfigMap>| is_even(&datum(object));
        let registrations = [
            informer.add_event_handler(plain.clone()),
            informer.add_event_handler_with(coalescing.clone(), options.coalesce()),
            informer.add_event_handler_with(
                resyncing.clone(),
                options.coalesce().resync(Duration::from_secs(20)),
            ),
            informer.add_event_handler(Filtered::new(passes, filtered.clone())),
        ];
        Self {
            plain,
            coalescing,
            resyncing,
            filtered,
            registrations,
        }
    }

    async fn check(&self, truth: &BTreeMap<String, String>) -> Result<(), TestCaseError> {
        for checker in [&self.plain, &self.coalescing, &self.resyncing] {
            prop_assert_eq!(checker.contents(), Ok(truth.clone()));
        }
        let mut even = truth.clone();
        even.retain(|_, datum| is_even(datum));
        prop_assert_eq!(self.filtered.contents(), Ok(even));
        prop_assert_eq!(self.plain.resyncs(), 0);
        prop_assert!(self.resyncing.resyncs() > 0 || truth.is_empty());
        for registration in &self.registrations {
            prop_assert!(registration.wait_for_sync().await);
            prop_assert_eq!(registration.pending(), 0);
        }
        Ok(())
    }
}

async fn run(queue: QueueKind, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let server = Server::new();
    let factory = server.factory();
    factory.set_queue(queue);
    let informer = factory.of::<ConfigMap>();
    let mut handlers = vec![Handlers::add(&informer)];
    let mut removed: Vec<Handlers> = vec![];
    factory.start();
    for (number, step) in steps.iter().enumerate() {
        let object = |key: u8| config_map(&format!("o{key}"), &number.to_string());
        match *step {
            Step::Put(key) => server.put(&object(key)),
            Step::Delete(key) => server.delete("default", &format!("o{key}")),
            Step::PutUnseen(key) => server.put_unseen(&object(key)),
            Step::DeleteUnseen(key) => server.delete_unseen("default", &format!("o{key}")),
            Step::Bookmark => server.bookmark(),
            Step::Cut => server.cut(),
            Step::Expire => {
                server.compact();
                server.cut();
            }
            Step::Garbage(which) => server.send(GARBAGE[which]),
            Step::FailList(code) => server.answer_lists([answer(code)]),
            Step::FailWatch(code) => server.answer_watches([answer(code)]),
            Step::FailStream(code) => server.answer_streams([answer(code)]),
            Step::Streaming(streaming) => server.streaming(streaming),
            Step::Hold => server.hold(),
            Step::Release => server.release(),
            Step::ReleaseInReverse => server.release_in_reverse(),
            Step::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis.into())).await,
            Step::LateHandler => handlers.push(Handlers::add(&informer)),
            Step::RemoveHandler if handlers.len() > 1 => {
                let gone = handlers.remove(0);
                gone.registrations.iter().for_each(HandlerRegistration::remove);
                removed.push(gone);
            }
            Step::RemoveHandler => {}
        }
    }
    server.release();
    // The last relist delivers missed changes and removes garbage. It may have to retry after scripted failures.
    server.set_version(1_000_000);
    server.compact();
    server.cut();
    tokio::time::sleep(Duration::from_hours(1)).await;
    let truth = server.contents();
    prop_assert_eq!(&contents(&informer.lister()), &truth);
    for handlers in &handlers {
        handlers.check(&truth).await?;
    }
    for gone in &removed {
        for checker in [&gone.plain, &gone.coalescing, &gone.resyncing, &gone.filtered] {
            prop_assert!(checker.contents().is_ok());
        }
        for registration in &gone.registrations {
            registration.ended().await;
        }
    }
    let stats = informer.stats();
    prop_assert_eq!((stats.queued, stats.pending), (0, 0));
    factory.shutdown().await;
    Ok(())
}

fn paused(future: impl Future<Output = Result<(), TestCaseError>>) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn store_and_handlers_converge_to_the_server(steps in prop::collection::vec(step(), 1..60)) {
        paused(run(QueueKind::Batching, steps))?;
    }

    #[test]
    fn store_and_handlers_converge_to_the_server_with_a_delta_fifo(steps in prop::collection::vec(step(), 1..60)) {
        paused(run(QueueKind::DeltaFifo, steps))?;
    }
}

/// Found by the property test: an object without a resource version that arrives twice is not a resync.
#[test]
fn object_without_resource_version_may_be_delivered_twice() {
    for queue in [QueueKind::Batching, QueueKind::DeltaFifo] {
        paused(run(
            queue,
            vec![Step::Wait(1), Step::Garbage(6), Step::Garbage(6)],
        ))
        .unwrap();
    }
}
