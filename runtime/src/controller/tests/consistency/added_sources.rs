//! Sources that are added to a running controller and removed from it, with their informers.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use serde_json::{Value, json};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout},
};

use super::{
    super::{super::*, Nothing, millis},
    support::{
        config_map,
        server::{Answer, Server},
    },
    world::{Controller, World},
};
use crate::{
    ApiResource, Kind as _, NamespacedName,
    cache::{Change, InformerOptions, SharedInformer, SharedInformerFactory},
    client::{Create, TypedClient},
};

/// A world whose factory lists Secrets from a server of their own.
fn world() -> (World, Arc<Server>) {
    let (mut world, secrets) = (World::new(&["a"]), Server::new());
    let (maps, other) = (world.server.clone(), secrets.clone());
    world.factory = SharedInformerFactory::from_sources(move |kind, namespace, _| {
        if kind.is_secret() {
            other.source(namespace)
        } else {
            maps.source(namespace)
        }
    });
    world.informer = world.factory.of();
    (world, secrets)
}

fn secret(name: &str, datum: &str) -> Value {
    let mut object = config_map(name, datum);
    object["kind"] = "Secret".into();
    object
}

fn await_change(_: String, _: usize) -> BoxFuture<'static, Result<Action, ReconcileError>> {
    async { Ok(Action::await_change()) }.boxed()
}

/// Runs a controller that does nothing, with a handle for its sources.
async fn run(world: &World) -> (Controller, ControllerSources) {
    let sources = ControllerSources::new();
    let controller = world
        .run(
            |builder| {
                builder.with_sources(&sources);
            },
            await_change,
        )
        .await;
    (controller, sources)
}

/// Maps an object to the key `from-<name>`.
fn from(change: &Change<'_>) -> Vec<NamespacedName> {
    let name = format!("from-{}", change.name().name());
    vec![NamespacedName::namespaced("default", name)]
}

fn consistency(sources: &ControllerSources) -> Arc<consistency::ConsistencyStore> {
    sources.0.consistency().unwrap()
}

#[tokio::test(start_paused = true)]
async fn added_source_enqueues_until_it_is_removed() {
    let (world, secrets) = world();
    secrets.put(&secret("early", "1"));
    let (controller, sources) = run(&world).await;
    let informer = world.factory.of::<Secret>();
    let accepted = Source::of(&informer).with_predicate(|change| change.name().name() != "ignored");
    let id = sources.watches(accepted, from).unwrap();
    sleep(millis(1)).await;
    assert!(informer.has_synced(), "it was started");
    assert_eq!(controller.count("from-early"), 1, "the initial list");
    for name in ["late", "ignored"] {
        secrets.put(&secret(name, "1"));
    }
    secrets.put(&secret("early", "2"));
    sleep(millis(1)).await;
    let counts = ["from-early", "from-late", "from-ignored"].map(|key| controller.count(key));
    assert_eq!((counts, sources.count()), ([2, 1, 0], 1));

    assert!(sources.remove(id) && !sources.remove(id));
    secrets.put(&secret("late", "2"));
    sleep(millis(1)).await;
    assert_eq!((controller.count("from-late"), sources.count()), (1, 0));
    assert_eq!(informer.lister().list().count(), 3, "the informer runs on");
    assert_eq!(secrets.open_watches(), 1);
    assert!(world.factory.remove(&informer) && !world.factory.remove(&informer));
    sleep(millis(1)).await;
    assert_eq!((secrets.open_watches(), informer.is_stopped()), (0, true));
    assert_eq!(informer.lister().list().count(), 3, "the last state");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn owner_of_an_added_kind_is_enqueued() {
    let (world, secrets) = world();
    let (controller, sources) = run(&world).await;
    sources.owns(&world.factory.of::<Secret>()).unwrap();
    let mut owned = secret("owned", "1");
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1", "controller": true}]);
    secrets.put(&owned);
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2);
    let nodes = sources.owns(&world.factory.of::<Node>());
    assert!(
        matches!(nodes, Err(RegistrationError::OwnsAcrossScopes { .. })),
        "{nodes:?}"
    );
    assert_eq!(sources.count(), 1);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn sources_that_are_added_before_the_start_are_queued() {
    let (world, secrets) = world();
    secrets.put(&secret("early", "1"));
    let sources = ControllerSources::new();
    let informer = world.factory.of::<Secret>();
    sources.watches(&informer, from).unwrap();
    let removed = sources
        .watches(&informer, |_| vec!["default/removed".parse().unwrap()])
        .unwrap();
    assert!(sources.remove(removed));
    assert_eq!((sources.count(), informer.has_synced()), (1, false));
    let register = |builder: &mut ControllerBuilder| {
        builder.with_sources(&sources);
    };
    let controller = world.run(register, await_change).await;
    let counts = ["from-early", "removed"].map(|key| controller.count(key));
    assert_eq!((counts, sources.count()), ([1, 0], 1));
    controller.stop().await;
    assert_eq!(sources.count(), 0);
    assert_eq!(
        sources.watches(&informer, from),
        Err(RegistrationError::StoppedController)
    );
}

#[tokio::test(start_paused = true)]
async fn adding_and_removing_many_times_leaks_nothing() {
    let (world, secrets) = world();
    for number in 0..20 {
        secrets.put(&secret(&format!("s{number}"), "1"));
    }
    let (controller, sources) = run(&world).await;
    let shared = world.factory.with::<ConfigMap>(InformerOptions {
        namespaces: Some(vec!["default".to_owned()]),
        ..InformerOptions::default()
    });
    sources.watches(&shared, from).unwrap();
    sleep(millis(1)).await;
    let store = consistency(&sources);
    let measure = || {
        (
            Handle::current().metrics().num_alive_tasks(),
            world.factory.informers().len(),
            world.factory.stats().len(),
            store.informer_count(),
            sources.count(),
            secrets.open_watches(),
            Arc::strong_count(&store),
        )
    };
    let (before, mut stores) = (measure(), Vec::new());
    for round in 0..200 {
        let informer = world.factory.of::<Secret>();
        let own = sources.owns(&informer).unwrap();
        sources.watches(&informer, from).unwrap();
        // A source of an informer that stays.
        let other = sources.watches(&shared, from).unwrap();
        stores.push(informer.progress().weak_store());
        if round % 4 != 0 {
            sleep(millis(1)).await;
            assert_eq!(informer.lister().list().count(), 20);
            assert_eq!((measure().3, sources.count()), (before.3 + 1, before.4 + 3));
        }
        if round % 2 == 0 {
            assert!(sources.remove(own));
        }
        assert!(world.factory.remove(&informer) && sources.remove(other));
        assert!(!sources.remove(own), "it ended with its informer");
        drop(informer);
        sleep(millis(1)).await;
        assert!(stores[round].upgrade().is_none(), "round {round}");
    }
    assert_eq!(measure(), before);
    assert_eq!(
        shared.progress().observer_count(),
        2,
        "the slot's and the source's"
    );
    secrets.put(&secret("late", "1"));
    world.foreign("a", "1");
    sleep(millis(1)).await;
    assert_eq!((controller.count("from-late"), controller.count("a")), (0, 2));
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn same_kind_that_is_added_again_lists_again() {
    let (world, secrets) = world();
    secrets.put(&secret("s", "1"));
    let (controller, sources) = run(&world).await;
    let first = world.factory.of::<Secret>();
    sources.watches(&first, from).unwrap();
    sleep(millis(1)).await;
    world.factory.remove(&first);
    secrets.put(&secret("s", "2"));
    secrets.put(&secret("t", "1"));
    sleep(millis(1)).await;
    assert_eq!((controller.count("from-s"), controller.count("from-t")), (1, 0));
    assert_eq!(
        sources.watches(&first, from).map_err(|error| error.to_string()),
        Err(
            "controller \"test\" cannot watch Secret (v1): its informer has stopped; make another one with `setup.informers()`"
                .to_owned()
        )
    );
    let second = world.factory.of::<Secret>();
    assert!(!second.progress().is_same(&first.progress()));
    sources.watches(&second, from).unwrap();
    sleep(millis(1)).await;
    assert_eq!((controller.count("from-s"), controller.count("from-t")), (2, 1));
    assert_eq!(
        (first.lister().list().count(), second.lister().list().count()),
        (1, 2)
    );
    controller.stop().await;
}

/// Runs a controller whose first reconcile creates a Secret that the informer of Secrets never shows.
async fn run_waiting(world: &World) -> (Controller, ControllerSources, SourceId, SharedInformer<Secret>) {
    let sources = ControllerSources::new();
    let client = TypedClient::<Secret, (Create,)>::new(world.connection.clone());
    let register = |builder: &mut ControllerBuilder| {
        builder.with_sources(&sources);
    };
    let script = move |_, call| {
        let client = client.clone();
        async move {
            if call == 2 {
                client
                    .create(
                        &serde_json::from_value(json!({"metadata": {"namespace": "default", "name": "s"}}))
                            .unwrap(),
                    )
                    .await?;
            }
            Ok(Action::await_change())
        }
        .boxed()
    };
    let controller = world.run(register, script).await;
    let informer = world.factory.of::<Secret>();
    let id = sources.watches(&informer, from).unwrap();
    sleep(millis(1)).await;
    controller.add("a");
    sleep(millis(1)).await;
    // The extra call.
    sleep(millis(500)).await;
    assert_eq!(controller.count("a"), 2, "the key waits for the write");
    (controller, sources, id, informer)
}

#[tokio::test(start_paused = true)]
async fn key_no_longer_waits_for_the_write_when_the_source_is_removed() {
    let (world, _secrets) = world();
    let (controller, sources, id, _informer) = run_waiting(&world).await;
    assert!(sources.remove(id));
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 3);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn key_no_longer_waits_for_the_write_when_the_informer_is_removed() {
    let (world, _secrets) = world();
    let (controller, _sources, _, informer) = run_waiting(&world).await;
    world.factory.remove(&informer);
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 3);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn key_waits_on_while_another_source_has_the_informer() {
    let (world, _secrets) = world();
    let (controller, sources, id, informer) = run_waiting(&world).await;
    let other = sources.watches(&informer, |_| Vec::new()).unwrap();
    assert!(sources.remove(id));
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2);
    assert!(sources.remove(other));
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 3);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn removed_informer_ends_the_sources_of_all_controllers() {
    let (world, secrets) = world();
    let informer = world.factory.of::<Secret>();
    let register = |builder: &mut ControllerBuilder| {
        builder.watches(&informer, from);
    };
    let registered = world.run(register, await_change).await;
    let (added, sources) = run(&world).await;
    sources.watches(&informer, from).unwrap();
    secrets.put(&secret("s", "1"));
    sleep(millis(1)).await;
    assert_eq!((registered.count("from-s"), added.count("from-s")), (1, 1));
    world.factory.remove(&informer);
    secrets.put(&secret("s", "2"));
    sleep(millis(1)).await;
    assert_eq!((registered.count("from-s"), added.count("from-s")), (1, 1));
    assert_eq!(sources.count(), 0);
    world.foreign("a", "1");
    sleep(millis(1)).await;
    assert_eq!((registered.count("a"), added.count("a")), (2, 2), "both run on");
    registered.stop().await;
    added.stop().await;
}

#[tokio::test(start_paused = true)]
async fn start_does_not_wait_for_an_informer_that_is_removed() {
    let (world, secrets) = world();
    secrets.answer_streams([Answer::Never]);
    let informer = world.factory.of::<Secret>();
    let (factory, removed) = (world.factory.clone(), informer.clone());
    tokio::spawn(async move {
        sleep(Duration::from_secs(1)).await;
        factory.remove(&removed);
    });
    let register = |builder: &mut ControllerBuilder| {
        builder.watches(&informer, from);
    };
    let controller = world.run(register, await_change).await;
    assert_eq!((controller.count("a"), informer.has_synced()), (1, false));
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn added_source_that_never_syncs_affects_neither_readiness_nor_shutdown() {
    let (world, secrets) = world();
    secrets.answer_streams(std::iter::repeat_n(Answer::Never, 10));
    let (controller, sources) = run(&world).await;
    let informer = world.factory.of::<Secret>();
    sources.watches(&informer, from).unwrap();
    sleep(Duration::from_secs(10)).await;
    assert!(!informer.has_synced() && sources.count() == 1);
    assert_eq!(world.factory.unsynced(), [] as [ApiResource; 0]);
    assert_eq!(
        world.factory.check(&Secret::info(), Duration::from_secs(1)),
        Ok(())
    );
    let begin = Instant::now();
    world.factory.wait_for_cache_sync().await;
    assert_eq!(begin.elapsed(), Duration::ZERO);
    world.foreign("a", "1");
    sleep(millis(1)).await;
    assert_eq!(controller.count("a"), 2, "other sources enqueue");
    controller.stop().await;
    timeout(millis(1), world.factory.shutdown()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn expectations_of_an_added_source_expire_and_are_dropped_with_it() {
    let (world, secrets) = world();
    let (controller, sources) = run(&world).await;
    let (informer, expectations) = (world.factory.of::<Secret>(), Expectations::new());
    let id = sources
        .watches(Source::of(&informer).with_expectations(&expectations), from)
        .unwrap();
    sleep(millis(1)).await;
    let [observed, expired, dropped] = ["observed", "expired", "dropped"]
        .map(|name| NamespacedName::namespaced("default", format!("from-{name}")));
    for key in [&observed, &expired] {
        expectations.expect_creations(key, 1);
        assert!(!expectations.are_satisfied(key));
    }
    secrets.put(&secret("observed", "1"));
    sleep(millis(1)).await;
    assert!(expectations.are_satisfied(&observed));
    sleep(Duration::from_mins(6)).await;
    assert_eq!(
        controller.count("from-expired"),
        1,
        "it was enqueued at the expiry"
    );
    expectations.expect_creations(&dropped, 1);
    assert!(!expectations.are_satisfied(&dropped));
    sources.remove(id);
    sleep(millis(1)).await;
    assert_eq!(controller.count("from-dropped"), 1);
    assert!(expectations.are_satisfied(&dropped));
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn handle_of_two_controllers_is_an_error() {
    let (world, _secrets) = world();
    let (controller, sources) = run(&world).await;
    let mut second = ControllerBuilder::new("second".to_owned(), Nothing);
    second.reconciles(&world.informer).with_sources(&sources);
    let error = ControllerRunner::new(second, Arc::new(NoMetrics)).err();
    assert_eq!(
        error,
        Some(RegistrationError::SharedSources {
            controller: "second".to_owned()
        })
    );
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn sources_of_a_disabled_controller_are_refused_and_not_queued() {
    let (world, _secrets) = world();
    let disabled = ControllerBuilder::new("disabled".to_owned(), Nothing);
    let sources = disabled.sources_handle();
    let informer = world.factory.of::<Secret>();
    sources.watches(&informer, from).unwrap();
    drop(disabled);
    assert_eq!(
        (sources.count(), sources.owns(&informer)),
        (0, Err(RegistrationError::StoppedController))
    );
}
