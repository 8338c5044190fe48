//! What a controller can be told besides what it reconciles.

use std::time::Duration;

use futures::{FutureExt, StreamExt as _, future::BoxFuture};
use k8s_openapi::api::apps::v1::Deployment;
use tokio::{sync::mpsc, time::sleep};

use super::{super::*, Nothing, Running, deployment, millis, name, seeded, start_with};
use crate::{cache::Change, client::Connection, events::Recorder};

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
async fn a_reconcile_that_takes_too_long_is_dropped_and_tried_again() {
    let script = |_: String, call: usize| {
        async move {
            if call < 3 {
                sleep(Duration::from_hours(1)).await;
            }
            Ok(Action::await_change())
        }
        .boxed()
    };
    let running = start(script, |spec| {
        spec.reconcile_timeout(millis(100));
    });
    running.add("default/a");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(running.calls.of("default/a"), [0, 105, 215]);
    let timeout = Some(Outcome::Timeout);
    assert_eq!(running.outcomes(), [timeout, timeout, Some(Outcome::Success)]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_controller_starts_nothing_and_loses_nothing() {
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
    let running = start(script, |spec| pause = Some(spec.pause_handle()));
    let pause = pause.unwrap();
    running.add("default/slow");
    sleep(millis(10)).await;
    pause.pause();
    assert!(pause.is_paused());
    running.add("default/a");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(running.outcomes(), [Some(Outcome::Success)], "what ran has ended");
    assert!(running.calls.of("default/a").is_empty());
    pause.resume();
    sleep(millis(1)).await;
    assert_eq!(running.calls.of("default/a").len(), 1);
    pause.pause();
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_idles_is_paused_as_well() {
    let mut pause = None;
    let running = start(done, |spec| pause = Some(spec.pause_handle()));
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
async fn keys_from_outside_wake() {
    let (sender, receiver) = mpsc::unbounded_channel();
    let keys = futures::stream::unfold(receiver, |mut receiver| async {
        Some((receiver.recv().await?, receiver))
    });
    let ended = futures::stream::iter([name("default/once")]);
    let panicking = futures::stream::iter([()]).map(|()| -> crate::NamespacedName { panic!("no key") });
    let running = start(done, |spec| {
        spec.wakes_on(keys).wakes_on(ended).wakes_on(panicking);
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

#[tokio::test]
async fn conditions_add_up() {
    let mut spec = ControllerBuilder::new("test".to_owned(), Nothing);
    spec.reconciles(&seeded(&[]))
        .when(|change| change.name().name() != "a")
        .when(|change| change.name().name() != "b");
    let source = &spec.sources[0];
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
        source.conditions.iter().all(|condition| condition(&change))
    };
    assert_eq!(["a", "b", "c"].map(passes), [false, false, true]);
}

#[tokio::test]
async fn the_operators_resync_is_that_of_controllers_that_say_nothing() {
    let (connection, recorder) = (Connection::late().0, Recorder::pipeline("test").0);
    let mut setup = Setup::new("test", connection, recorder, FixedArgs::default());
    let deployments = setup.informers().of::<Deployment>();
    setup.controller("silent", Nothing).reconciles(&deployments);
    setup.set_resync(Duration::from_hours(10));
    setup
        .controller("often", Nothing)
        .reconciles(&deployments)
        .resync(Duration::from_mins(1));
    setup
        .controller("never", Nothing)
        .reconciles(&deployments)
        .resync(Duration::ZERO);
    let resyncs: Vec<_> = setup.take_controllers().iter().map(|spec| spec.resync).collect();
    let expected = [Duration::from_hours(10), Duration::from_mins(1), Duration::ZERO];
    assert_eq!(resyncs, expected.map(Some));
}
