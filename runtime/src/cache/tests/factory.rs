//! Factories: sharing, start, cache sync, shutdown and seeding.

use k8s_openapi::api::core::v1::{Namespace, Secret};

use super::{
    server::{Answer, Request, Server, status},
    *,
};
use crate::{Kind, Scope, View};

/// A projection of ConfigMaps.
#[derive(serde::Deserialize)]
struct Slim {
    data: BTreeMap<String, String>,
}

impl Kind for Slim {
    fn info() -> crate::ApiResource {
        ConfigMap::info()
    }
}

fn everywhere<K: View>(informer: &SharedInformer<K>) -> usize {
    informer.lister().list().len()
}

#[tokio::test(start_paused = true)]
async fn readers_of_one_kind_share_a_store_across_types() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (factory, informer) = informer(&server).await;
    let slim = factory.of::<Slim>();
    assert_eq!(slim.lister().get(&name("a")).unwrap().data["datum"], "1");
    assert_eq!(
        factory.informers(),
        [(ConfigMap::info(), InformerOptions::default())]
    );
    assert_eq!(factory.duplicates(), []);
    assert_eq!(server.streams(), [""]);
    let options = InformerOptions {
        label_selector: Some("a=b".into()),
        ..InformerOptions::default()
    };
    let other = factory.with::<ConfigMap>(options.clone());
    assert!(!other.has_synced());
    assert_eq!(
        factory.duplicates(),
        [(informer.info().clone(), vec![InformerOptions::default(), options])]
    );
    // Not started yet: the cache sync does not wait for it.
    factory.wait_for_cache_sync().await;
    factory.start();
    factory.wait_for_cache_sync().await;
    assert!(other.has_synced());
    assert_eq!(server.streams(), [""]);
}

#[tokio::test(start_paused = true)]
async fn several_namespaces_share_one_store_which_syncs_with_the_last() {
    let server = Server::without_streaming();
    let object = |namespace: &str, name: &str| json!({"metadata": {"name": name, "namespace": namespace}, "data": {"datum": namespace}});
    for (namespace, name) in [("one", "a"), ("two", "a"), ("two", "b"), ("three", "a")] {
        server.put(&object(namespace, name));
    }
    let factory = server.factory();
    factory.set_namespaces(vec!["two".into(), "one".into(), "two".into()]);
    let informer = factory.of::<ConfigMap>();
    let all = factory.with::<ConfigMap>(InformerOptions {
        namespaces: Some(vec![]),
        ..InformerOptions::default()
    });
    let synced = RecordingHandler::default();
    let registration = informer.add_event_handler(synced.clone());
    // The first list of one namespace fails; the other one is stored before.
    server.answer_lists([Answer::Fail(status(500, "InternalError"))]);
    factory.start();
    run_until_idle().await;
    assert!(!informer.has_synced() && !registration.has_synced());
    assert!((1..=2).contains(&everywhere(&informer)));
    factory.wait_for_cache_sync().await;
    run_until_idle().await;
    assert!(registration.has_synced());
    assert_eq!((everywhere(&informer), everywhere(&all)), (3, 4));
    let two = informer.lister().namespace("two");
    assert_eq!(
        (
            two.list().len(),
            two.get("b").is_ok(),
            two.get("c").unwrap_err().is_not_found()
        ),
        (2, true, true)
    );

    // A relist of one namespace does not affect the other.
    server.delete_unseen("two", "a");
    server.put_unseen(&object("one", "c"));
    server.compact();
    server.cut();
    wait_out_backoff().await;
    assert_eq!((everywhere(&informer), everywhere(&all)), (3, 4));
    assert!(
        informer
            .lister()
            .object(&NamespacedName::namespaced("one", "a"))
            .is_some()
    );
    assert!(
        informer
            .lister()
            .object(&NamespacedName::namespaced("two", "a"))
            .is_none()
    );
    assert_eq!(informer.stats().lists, 4);
}

#[tokio::test(start_paused = true)]
async fn cluster_scoped_kind_ignores_namespaces() {
    let server = Server::new();
    let asked: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let seen = asked.clone();
    let through = server.clone();
    let factory = SharedInformerFactory::from_sources(move |info, namespace, _| {
        assert_eq!(info.scope, Scope::Cluster);
        seen.lock().push(namespace.map(Into::into));
        through.source(None)
    });
    factory.set_namespaces(vec!["one".into()]);
    factory.of::<Namespace>();
    factory.start();
    factory.start();
    run_until_idle().await;
    assert_eq!(*asked.lock(), [None]);
}

/// client-go: TestSharedInformerFactory's shutdown cases.
#[tokio::test(start_paused = true)]
async fn shutdown_ends_every_task_and_nothing_restarts() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (factory, informer) = informer(&server).await;
    let seen = RecordingHandler::default();
    informer.add_event_handler(seen.clone());
    run_until_idle().await;
    factory.shutdown().await;
    factory.shutdown().await;
    seen.take();
    server.requests();
    server.put(&config_map("a", "2"));
    factory.of::<Secret>();
    factory.start();
    factory.wait_for_cache_sync().await;
    wait_out_backoff().await;
    assert_eq!((seen.take(), server.requests()), (vec![], Vec::<Request>::new()));
    // The last objects can still be read.
    assert_eq!(contents(&informer.lister()), pairs(&[("a", "1")]));
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_the_cache_sync_of_a_missing_kind() {
    let server = Server::new();
    server.answer_lists(vec![Answer::Fail(status(404, "NotFound")); 1000]);
    let factory = server.factory();
    factory.of::<ConfigMap>();
    factory.start();
    let waiting = factory.clone();
    let waiting = tokio::spawn(async move { waiting.wait_for_cache_sync().await });
    run_until_idle().await;
    factory.shutdown().await;
    waiting.await.unwrap();
}

#[test]
fn seed_goes_to_every_informer_that_selects_the_object() {
    let factory = Server::new().factory();
    factory.set_namespaces(vec!["default".into()]);
    let options = |labels: &str| InformerOptions {
        label_selector: Some(labels.into()),
        ..InformerOptions::default()
    };
    let (all, blue, secrets) = (
        factory.of::<ConfigMap>(),
        factory.with::<ConfigMap>(options("color=blue")),
        factory.of::<Secret>(),
    );
    let mut object = config_map("a", "1");
    assert_eq!(factory.seed(&ConfigMap::info(), &object).unwrap(), 1);
    object["metadata"]["labels"] = json!({"color": "blue"});
    assert_eq!(factory.seed(&ConfigMap::info(), &object).unwrap(), 2);
    object["metadata"]["namespace"] = "other".into();
    assert_eq!(factory.seed(&ConfigMap::info(), &object).unwrap(), 0);
    assert_eq!(
        (everywhere(&all), everywhere(&blue), everywhere(&secrets)),
        (1, 1, 0)
    );
    assert!(all.has_synced() && blue.has_synced() && !secrets.has_synced());
    object = config_map("", "1");
    let error = factory.seed(&ConfigMap::info(), &object).unwrap_err().to_string();
    assert!(
        error.contains("ConfigMap") && error.contains("metadata.name"),
        "{error}"
    );
}

#[test]
fn lists_select_by_label_without_decoding() {
    use kube::core::{Expression, Selector};
    let factory = Server::new().factory();
    let maps = factory.of::<ConfigMap>();
    for (namespace, name, color) in [("one", "a", "blue"), ("one", "b", "red"), ("two", "c", "blue")] {
        // `data` is not a map: none of them decodes.
        maps.seed(&json!({"metadata": {"name": name, "namespace": namespace, "labels": {"color": color}}, "data": 5})).unwrap();
    }
    let blue: Selector = Expression::In("color".into(), ["blue".into()].into()).into();
    let names = |items: Items<ConfigMap>| {
        let mut names: Vec<_> = items.objects().map(|object| object.name().to_string()).collect();
        names.sort();
        names
    };
    let lister = maps.lister();
    assert_eq!(names(lister.select(&blue)), ["one/a", "two/c"]);
    assert_eq!(names(lister.namespace("one").select(&blue)), ["one/a"]);
    assert_eq!(names(lister.select(&Selector::default())).len(), 3);
    assert_eq!(maps.stats().decode_errors, 0);
}
