//! Options of a controller: timeout, pause, streams of keys, predicates, resync period.

use std::time::Duration;

use futures::{FutureExt, StreamExt as _, future::BoxFuture};
use k8s_openapi::api::apps::v1::Deployment;
use tokio::{sync::mpsc, time::sleep};

use super::{super::*, Nothing, Running, deployment, millis, name, seeded, start_with};
use crate::{NamespacedName, cache::Change, client::Connection, events::Recorder, workqueue::RateLimiter};

fn start<F>(script: F, options: impl FnOnce(&mut ControllerBuilder)) -> Running
where
    F: Fn(String, usize) -> BoxFuture<'static, Result<Action, ReconcileError>> + Send + Sync + 'static,
{
    start_with(millis(0), script, options)
}

fn done(_: String, _: usize) -> BoxFuture<'static, Result<Action, ReconcileError>> {
    async { Ok(Action::await_change()) }.boxed()
}

/// controller-runtime: "should timeout if the reconciler exceeds the ReconciliationTimeout"
#[tokio::test(start_paused = true)]
async fn reconcile_that_exceeds_the_timeout_is_cancelled_and_retried() {
    let script = |_: String, call: usize| {
        async move {
            if call < 3 {
                sleep(Duration::from_hours(1)).await;
            }
            Ok(Action::await_change())
        }
        .boxed()
    };
    let running = start(script, |builder| {
        builder.reconcile_timeout(millis(100));
    });
    running.add("default/a");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(running.calls.of("default/a"), [0, 105, 215]);
    let timeout = Some(Outcome::Timeout);
    assert_eq!(running.outcomes(), [timeout, timeout, Some(Outcome::Success)]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn paused_controller_starts_no_reconcile_and_keeps_its_keys() {
    let mut pause = None;
    let script = |key: String, _: usize| {
        async move {
            if key == "default/slow" {
                sleep(millis(100)).await;
            }
            Ok(Action::await_change())
        }
        .boxed()
    };
    let running = start(script, |builder| pause = Some(builder.pause_handle()));
    let pause = pause.unwrap();
    running.add("default/slow");
    sleep(millis(10)).await;
    pause.pause();
    assert!(pause.is_paused());
    running.add("default/a");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(
        running.outcomes(),
        [Some(Outcome::Success)],
        "the running reconcile ended"
    );
    assert!(running.calls.of("default/a").is_empty());
    pause.resume();
    sleep(millis(1)).await;
    assert_eq!(running.calls.of("default/a").len(), 1);
    pause.pause();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn idle_controller_can_be_paused() {
    let mut pause = None;
    let running = start(done, |builder| pause = Some(builder.pause_handle()));
    sleep(millis(10)).await;
    let pause = pause.unwrap();
    pause.pause();
    running.add("default/a");
    sleep(millis(10)).await;
    assert!(running.calls.of("default/a").is_empty());
    pause.resume();
    sleep(millis(10)).await;
    assert_eq!(running.calls.of("default/a").len(), 1);
    running.stop().await;
}

/// controller-runtime: source.Channel
#[tokio::test(start_paused = true)]
async fn keys_of_watched_streams_are_enqueued() {
    let (sender, receiver) = mpsc::unbounded_channel();
    let keys = futures::stream::unfold(receiver, |mut receiver| async {
        Some((receiver.recv().await?, receiver))
    });
    let ended = futures::stream::iter([name("default/once")]);
    let panicking = futures::stream::iter([()]).map(|()| -> crate::NamespacedName { panic!("no key") });
    let running = start(done, |builder| {
        builder
            .watches_stream(keys)
            .watches_stream(ended)
            .watches_stream(panicking);
    });
    sleep(millis(1)).await;
    assert_eq!(running.calls.of("default/once").len(), 1);
    for count in 1..=2 {
        sender.send(name("default/a")).unwrap();
        sleep(millis(1)).await;
        assert_eq!(running.calls.of("default/a").len(), count);
    }
    assert!(running.stop().await.cancelled.is_empty());
    assert!(sender.is_closed(), "the stream was dropped");
}

/// With fewer workers, or none, the controller would stall while health checks pass.
#[tokio::test(start_paused = true)]
async fn panic_of_a_rate_limiter_ends_the_controller() {
    struct Panics;
    impl RateLimiter<NamespacedName> for Panics {
        fn when(&self, _: &NamespacedName) -> Duration {
            panic!("no time to lose")
        }
        fn forget(&self, _: &NamespacedName) {}
        fn num_requeues(&self, _: &NamespacedName) -> usize {
            0
        }
    }
    let fails =
        |_: String, _: usize| async { Err(ReconcileError::from(std::io::Error::other("broken"))) }.boxed();
    let running = start(fails, |builder| {
        builder.rate_limiter(Panics);
    });
    running.add("default/a");
    let ended = tokio::time::timeout(Duration::from_secs(1), running.run)
        .await
        .unwrap();
    assert!(ended.unwrap_err().is_panic());
}

#[tokio::test]
async fn multiple_predicates_are_anded() {
    let mut builder = ControllerBuilder::new("test".to_owned(), Nothing);
    let source = Source::of(&seeded(&[]))
        .with_predicate(|change| change.name().name() != "a")
        .with_predicate(|change| change.name().name() != "b");
    builder.reconciles(source);
    let source = &builder.sources[0];
    let passes = |name: &str| {
        let informer = seeded(&[deployment(name)]);
        let object = informer
            .lister()
            .object(&crate::NamespacedName::namespaced("default", name))
            .unwrap();
        let change = Change::Added {
            new: object.metadata(),
            is_in_initial_list: false,
        };
        source.predicates.iter().all(|predicate| predicate(&change))
    };
    assert_eq!(["a", "b", "c"].map(passes), [false, false, true]);
}

#[tokio::test]
async fn resync_period_of_the_setup_is_the_default_of_controllers() {
    let (connection, recorder) = (Connection::late(), Recorder::pipeline("test").0);
    let mut setup = Setup::new("test", connection, recorder, FixedArgs::default());
    let deployments = setup.informers().of::<Deployment>();
    setup.controller("default", Nothing).reconciles(&deployments);
    setup.set_resync(Duration::from_hours(10));
    setup
        .controller("often", Nothing)
        .reconciles(&deployments)
        .resync(Duration::from_mins(1));
    setup
        .controller("never", Nothing)
        .reconciles(&deployments)
        .resync(Duration::ZERO);
    let resyncs: Vec<_> = setup
        .take_controllers()
        .iter()
        .map(|builder| builder.resync)
        .collect();
    let expected = [Duration::from_hours(10), Duration::from_mins(1), Duration::ZERO];
    assert_eq!(resyncs, expected.map(Some));
}
