//! Storage modes, and how often objects are decoded.

use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::{
    api::core::v1::{Endpoints, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::core::PartialObjectMeta;
use serde_json::Value;

use super::{server::Server, support::log::Log, *};
use crate::{ApiResource, Kind, Projection, View};

async fn started<K>(informer: SharedInformer<K>, factory: &SharedInformerFactory) -> SharedInformer<K> {
    factory.start();
    factory.wait_for_cache_sync().await;
    informer
}

fn keeping(storage: StorageMode) -> InformerOptions {
    InformerOptions {
        storage,
        ..InformerOptions::default()
    }
}

fn of_label(selector: &str) -> InformerOptions {
    InformerOptions {
        label_selector: Some(selector.into()),
        ..InformerOptions::default()
    }
}

fn json(informer: &SharedInformer<ConfigMap>, object: &str) -> Value {
    let object = informer.lister().object(&name(object)).unwrap();
    serde_json::from_slice(&object.json()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn second_get_caches_the_decoded_object_until_it_changes() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    let lister = informer.lister();
    for item in lister.list() {
        item.unwrap();
    }
    assert_eq!(informer.stats().decodes, 1);
    lister.get(&name("a")).unwrap();
    let first = lister.get(&name("a")).unwrap();
    assert!(Arc::ptr_eq(&first, &lister.get(&name("a")).unwrap()));
    assert!(Arc::ptr_eq(
        &first,
        &lister.object(&name("a")).unwrap().decode().unwrap()
    ));
    assert_eq!(
        informer.stats().decodes,
        3,
        "a list keeps nothing decoded, the second get does"
    );
    server.put(&config_map("a", "2"));
    run_until_idle().await;
    assert_eq!(entry(&lister.get(&name("a")).unwrap()), ("a".into(), "2".into()));
    assert_eq!(entry(&first), ("a".into(), "1".into()));
}

/// Pending notifications hold old versions, but not their decoded form.
#[tokio::test(start_paused = true)]
async fn outdated_object_leaves_the_decoded_cache_even_if_it_is_held() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (_factory, informer) = informer(&server).await;
    let lister = informer.lister();
    let held = lister.object(&name("a")).unwrap();
    let [_, hot] = [(); 2].map(|()| lister.get(&name("a")).unwrap());
    assert!(Arc::ptr_eq(&hot, &held.decode().unwrap()));
    server.put(&config_map("a", "2"));
    run_until_idle().await;
    assert!(!Arc::ptr_eq(&hot, &held.decode().unwrap()));
    assert_eq!(entry(&hot), entry(&held.decode().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn informers_share_one_decoded_cache_which_only_get_fills() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let factory = server.factory();
    let [one, other] = [
        factory.of::<ConfigMap>(),
        factory.with::<ConfigMap>(keeping(StorageMode::Raw)),
    ];
    one.add_event_handler(RecordingHandler::default());
    started(one.clone(), &factory).await;
    // Room for one object.
    factory.set_decoded_cache_bytes(8 * one.stats().bytes);
    let get = |informer: &SharedInformer<ConfigMap>| {
        informer.lister().get(&name("a")).unwrap();
        informer.stats().decodes
    };
    run_until_idle().await;
    // The handler has decoded it once; then each get decodes until the second one caches.
    assert_eq!([get(&one), get(&one)], [2, 3]);
    assert_eq!([get(&other), get(&other), get(&other)], [1, 2, 2]);
    assert_eq!(
        [get(&one), get(&other)],
        [4, 2],
        "the other informer's object has evicted it"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_decoded_cache_every_read_decodes() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (factory, informer) = informer(&server).await;
    factory.set_decoded_cache_bytes(0);
    for _ in 0..3 {
        informer.lister().get(&name("a")).unwrap();
    }
    assert_eq!(informer.stats().decodes, 3);
}

#[tokio::test(start_paused = true)]
async fn decoded_mode_decodes_on_arrival_and_not_on_reads() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let factory = server.factory();
    factory.set_decoded_cache_bytes(0);
    let informer = started(factory.with::<ConfigMap>(keeping(StorageMode::Decoded)), &factory).await;
    server.put(&config_map("b", "1"));
    run_until_idle().await;
    assert_eq!(informer.stats().decodes, 2);
    assert_eq!(contents(&informer.lister()), server.contents());
    assert_eq!(informer.stats().decodes, 2);
}

/// More objects than stay uncompressed as recent ones.
#[tokio::test(start_paused = true)]
async fn many_objects_are_compressed_unless_raw_or_sensitive() {
    let server = many();
    let factory = server.factory();
    let default = factory.of::<ConfigMap>();
    let raw = factory.with::<ConfigMap>(keeping(StorageMode::Raw));
    let sensitive = factory.with::<ConfigMap>(InformerOptions {
        sensitive: true,
        ..InformerOptions::default()
    });
    let default = started(default, &factory).await;
    for (informer, compressed) in [(&default, true), (&raw, false), (&sensitive, false)] {
        let stats = informer.stats();
        assert_eq!(stats.objects, 2000);
        assert_eq!(stats.kept_bytes < stats.bytes * 2 / 3, compressed, "{stats:?}");
        assert_eq!(stats.kept_bytes == stats.bytes, !compressed, "{stats:?}");
    }
    assert_eq!(contents(&default.lister()), server.contents());
}

#[tokio::test(start_paused = true)]
async fn error_of_a_sensitive_object_does_not_quote_its_values() {
    let server = Server::new();
    let mut object = config_map("a", "");
    object["data"]["datum"] = 4711.into();
    server.put(&object);
    let factory = server.factory();
    let open = factory.of::<ConfigMap>();
    let sensitive = factory.with::<ConfigMap>(InformerOptions {
        sensitive: true,
        ..InformerOptions::default()
    });
    started(open.clone(), &factory).await;
    for (informer, quotes) in [(open, true), (sensitive, false)] {
        let error = informer.lister().get(&name("a")).unwrap_err().to_string();
        assert_eq!(error.contains("4711"), quotes, "{error}");
        assert!(error.contains("default/a") && error.contains("column"), "{error}");
    }
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct Datum {
    data: BTreeMap<String, String>,
}

impl Kind for Datum {
    fn info() -> ApiResource {
        ConfigMap::info()
    }
}

impl Projection for Datum {
    const PATHS: &'static [&'static str] = &["data.datum", "metadata.labels['a/b']"];
}

const OTHER: IndexSpec = IndexSpec {
    name: "other",
    path: "data.other",
    value_type: IndexType::String,
};

impl crate::CustomKind for Datum {
    const EXTERNAL: bool = true;
    const SENSITIVE: bool = true;

    fn definition() -> CustomResourceDefinition {
        CustomResourceDefinition::default()
    }

    fn indexes() -> &'static [IndexSpec] {
        &[]
    }
}

#[tokio::test(start_paused = true)]
async fn sensitive_kind_is_sensitive_in_all_its_informers() {
    let server = Server::new();
    let mut object = config_map("a", "");
    object["data"]["datum"] = 4711.into();
    server.put(&object);
    let factory = server.factory();
    let before = factory.of::<ConfigMap>();
    factory.custom::<Datum>();
    let after = factory.with::<ConfigMap>(keeping(StorageMode::Raw));
    let restricted = factory.custom_with::<Datum>(InformerOptions {
        namespaces: Some(vec!["default".into()]),
        ..InformerOptions::default()
    });
    assert_eq!(factory.custom_kinds().len(), 1);
    let other_version = ApiResource {
        version: "v2".into(),
        ..ConfigMap::info()
    };
    let other_version = factory.dynamic(other_version, InformerOptions::default());
    started(before.clone(), &factory).await;
    let error = restricted.lister().get(&name("a")).unwrap_err().to_string();
    assert!(!error.contains("4711"), "{error}");
    assert!(other_version.untyped.codec.is_off(), "it must not be compressed");
    for informer in [before, after] {
        let error = informer.lister().get(&name("a")).unwrap_err().to_string();
        assert!(!error.contains("4711"), "{error}");
    }
}

/// Returns a server with so many objects that they are compressed unless they are sensitive.
fn many() -> Arc<Server> {
    // List items have no kind, so that informers of any kind accept them.
    let server = Server::without_streaming();
    for number in 0..2000 {
        let text = format!("{number:04}-the-same-words-in-each-of-them").repeat(30);
        server.put_unseen(&config_map(&format!("o{number}"), &text));
    }
    server
}

fn is_raw<K: View>(informer: &SharedInformer<K>) -> bool {
    let stats = informer.stats();
    assert_eq!((stats.objects, stats.failures), (2000, 0));
    let codec = &informer.untyped.codec;
    stats.kept_bytes == stats.bytes && codec.base_bytes() == 0 && !codec.has_dictionary()
}

#[tokio::test(start_paused = true)]
async fn no_secret_enters_a_dictionary_however_it_is_read() {
    let factory = many().factory();
    let typed = factory.of::<Secret>();
    let dynamic = factory.dynamic(Secret::info(), of_label("a=b"));
    let custom = factory.custom::<Datum>();
    let other = factory.of::<Endpoints>();
    factory.start();
    factory.wait_for_cache_sync().await;
    assert!(is_raw(&typed) && is_raw(&dynamic) && is_raw(&custom));
    assert!(!is_raw(&other), "this kind is compressed");
}

#[tokio::test(start_paused = true)]
async fn kind_marked_sensitive_late_is_decompressed_and_stays_raw() {
    let server = many();
    let (factory, informer) = informer(&server).await;
    assert!(!is_raw(&informer));
    factory.custom::<Datum>();
    assert!(is_raw(&informer));
    assert_eq!(contents(&informer.lister()), server.contents());
    for number in 0..2000 {
        let text = format!("{number:04}-other-words").repeat(60);
        server.put(&config_map(&format!("o{number}"), &text));
    }
    run_until_idle().await;
    assert!(is_raw(&informer));
    assert_eq!(contents(&informer.lister()), server.contents());
}

/// The kind may be marked between a list and the store.
#[tokio::test(start_paused = true)]
async fn object_compressed_before_the_kind_is_marked_sensitive_is_stored_raw() {
    let server = many();
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    let (late, untyped, arrived) = (factory.clone(), informer.untyped.clone(), AtomicUsize::new(0));
    informer
        .add_index_function("late", move |_| {
            if arrived.fetch_add(1, Ordering::Relaxed) == 1500 {
                assert!(untyped.codec.has_dictionary() && untyped.stats().objects == 0);
                late.custom::<Datum>();
            }
            Ok::<_, String>(vec![])
        })
        .unwrap();
    let informer = started(informer, &factory).await;
    assert!(is_raw(&informer));
    assert_eq!(informer.stats().index_errors, 0);
    assert_eq!(contents(&informer.lister()), server.contents());
}

#[tokio::test(start_paused = true)]
async fn messages_of_user_code_about_sensitive_objects_are_not_logged() {
    let server = Server::new();
    server.put(&config_map("a", "hunter2"));
    for (is_sensitive, quotes) in [(false, 2), (true, 0)] {
        let log = Log::start();
        let factory = server.factory();
        let transform = Transform::new(|object| panic!("a transform read {}", object["data"]["datum"]));
        let informer = factory.with::<ConfigMap>(keeping(StorageMode::Transformed(transform)));
        informer
            .add_index_function("words", |object| {
                let (_, datum) = entry(&object.decode().unwrap());
                Err::<Vec<_>, _>(format!("an index read {datum}"))
            })
            .unwrap();
        if is_sensitive {
            factory.custom::<Datum>();
        }
        started(informer, &factory).await;
        assert_eq!(log.lines("hunter2").len(), quotes);
        assert_eq!(
            log.lines("the transform of ConfigMap failed for default/a").len(),
            1
        );
        assert_eq!(log.lines("index words leaves out default/a").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn projected_informer_keeps_its_paths_and_can_index_others() {
    let server = Server::new();
    let mut object = config_map("a", "1");
    object["data"]["other"] = "x".into();
    object["metadata"]["labels"] = json!({"a/b": "c", "d": "e"});
    object["metadata"]["annotations"] = json!({"long": "text"});
    object["binaryData"] = json!({"deep": [{"er": 1}]});
    server.put(&object);
    let factory = server.factory();
    let informer = factory.projected::<Datum>();
    informer.add_index(&OTHER).unwrap();
    let informer = started(informer, &factory).await;
    let found: Vec<_> = informer.lister().by_index("other", "x").unwrap().collect();
    assert_eq!(found[0].as_ref().unwrap().data, pairs(&[("datum", "1")]));
    let object = informer.lister().object(&name("a")).unwrap();
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"a/b": "c"}}, "data": {"datum": "1"},
    });
    assert_eq!(serde_json::from_slice::<Value>(&object.json()).unwrap(), expected);
    assert_eq!(
        object.metadata().label("d"),
        Some("e"),
        "metadata is that of the whole object"
    );
}

/// Values that are not stored cannot be indexed later.
#[tokio::test(start_paused = true)]
async fn late_index_outside_of_a_projection_fails_and_one_inside_is_filled() {
    let server = Server::new();
    let mut object = config_map("a", "1");
    object["data"]["other"] = "x".into();
    server.put(&object);
    let factory = server.factory();
    let informer = started(factory.projected::<Datum>(), &factory).await;
    let error = informer.add_index(&OTHER).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "index other of ConfigMap was not added: the projection that the informer keeps lacks data.other"
        ),
        "{error}"
    );
    let datum = IndexSpec {
        name: "datum",
        path: "data.datum",
        value_type: IndexType::String,
    };
    informer.add_index(&datum).unwrap();
    object["data"]["other"] = "y".into();
    server.put(&object);
    run_until_idle().await;
    let lister = informer.lister();
    assert_eq!(lister.indexes(), ["datum"]);
    assert_eq!(lister.index_values("datum").unwrap(), [IndexKey::from("1")]);
    assert_eq!(lister.by_index("datum", "1").unwrap().len(), 1);
    assert!(lister.by_index("other", "y").is_err());
}

#[tokio::test(start_paused = true)]
async fn panic_in_deserialize_does_not_end_the_informer() {
    #[derive(Debug)]
    struct Panics;
    impl<'de> serde::Deserialize<'de> for Panics {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let read: Value = serde::Deserialize::deserialize(deserializer)?;
            assert_ne!(read["data"]["datum"], "panic");
            Ok(Self)
        }
    }
    impl Kind for Panics {
        fn info() -> ApiResource {
            ConfigMap::info()
        }
    }
    let server = Server::new();
    server.put(&config_map("a", "panic"));
    let factory = server.factory();
    let informer = started(factory.with::<Panics>(keeping(StorageMode::Decoded)), &factory).await;
    server.put(&config_map("b", "1"));
    run_until_idle().await;
    assert_eq!(informer.stats().objects, 2);
    assert!(informer.lister().get(&name("b")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn transform_changes_stored_objects_and_its_panic_keeps_them_unchanged() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    server.put(&config_map("b", "panic"));
    let transform = Transform::new(|object| {
        assert!(object["data"]["datum"] != "panic", "no");
        object["data"] = json!({"datum": "changed"});
    });
    let factory = server.factory();
    let informer = started(
        factory.with::<ConfigMap>(keeping(StorageMode::Transformed(transform))),
        &factory,
    )
    .await;
    assert_eq!(
        contents(&informer.lister()),
        pairs(&[("a", "changed"), ("b", "panic")])
    );
    assert_eq!(json(&informer, "a")["metadata"]["name"], "a");
}

#[tokio::test(start_paused = true)]
async fn metadata_only_informer_accepts_partial_objects_and_refuses_whole_ones() {
    let factory = Server::new().factory();
    let informer = factory.metadata_only::<ConfigMap>();
    let dynamic = factory.dynamic_metadata(ConfigMap::info(), InformerOptions::default());
    let selected = factory.dynamic_metadata(ConfigMap::info(), of_label("a=c"));
    let mut object = config_map("a", "1");
    object["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(
        factory.seed(&ConfigMap::info(), &object).unwrap(),
        1,
        "both share a store, and the third is of others"
    );
    assert_eq!(selected.lister().list().len(), 0);
    let read: Arc<PartialObjectMeta<ConfigMap>> = informer.lister().get(&name("a")).unwrap();
    assert_eq!(read.metadata.labels, Some(pairs(&[("a", "b")])));
    assert_eq!(
        dynamic.lister().get(&name("a")).unwrap().metadata.name.as_deref(),
        Some("a")
    );
    // List items have no kind; objects of a watch do.
    let server = Server::new();
    let factory = server.factory();
    let informer = started(factory.metadata_only::<ConfigMap>(), &factory).await;
    server.put(&config_map("a", "1"));
    run_until_idle().await;
    assert_eq!((informer.stats().objects, informer.stats().failures), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn dynamic_informer_shares_the_store_of_the_typed_one() {
    let server = Server::new();
    server.put(&config_map("a", "1"));
    let (factory, _informer) = informer(&server).await;
    let dynamic = factory.dynamic(ConfigMap::info(), InformerOptions::default());
    assert_eq!(
        dynamic.lister().get(&name("a")).unwrap().data["data"]["datum"],
        "1"
    );
    assert_eq!(factory.informers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn annotation_is_read_from_the_json() {
    let server = Server::new();
    let mut object = config_map("a", "1");
    object["metadata"]["annotations"] = json!({"a/b": "c \"d\"", "e": 7});
    server.put(&object);
    let (_factory, informer) = informer(&server).await;
    let object = informer.lister().object(&name("a")).unwrap();
    assert_eq!(object.annotation("a/b").as_deref(), Some("c \"d\""));
    assert_eq!((object.annotation("e"), object.annotation("none")), (None, None));
}

/// client-go: TestThreadSafeStoreIndexingFunctionsWithMultipleValues; where that panics, the object is left out.
#[tokio::test(start_paused = true)]
async fn index_function_works_before_and_after_start_and_counts_failures() {
    let server = Server::new();
    for (object, datum) in [("a", "x,y"), ("b", "y"), ("c", "fail"), ("d", "panic")] {
        server.put(&config_map(object, datum));
    }
    let words = |object: &Object<ConfigMap>| {
        let (_, datum) = entry(&object.decode().unwrap());
        assert!(datum != "panic", "no");
        let words: Vec<IndexKey> = datum.split(',').map(IndexKey::from).collect();
        if datum == "fail" {
            Err("it fails")
        } else {
            Ok(words)
        }
    };
    let factory = server.factory();
    let informer = factory.of::<ConfigMap>();
    informer.add_index_function("early", words).unwrap();
    let informer = started(informer, &factory).await;
    informer.add_index_function("late", words).unwrap();
    let conflict = informer.add_index_function("late", |_| Ok::<_, String>(vec!["z".into()]));
    assert!(
        conflict
            .unwrap_err()
            .to_string()
            .contains("another index has this name")
    );
    server.put(&config_map("e", "y,y"));
    server.put(&config_map("b", "x"));
    run_until_idle().await;
    for index in ["early", "late"] {
        let names = |key: &str| informer.lister().index_keys(index, key).unwrap();
        assert_eq!(
            (names("x"), names("y")),
            (vec![name("a"), name("b")], vec![name("a"), name("e")]),
            "{index}"
        );
        assert_eq!(names("fail"), []);
    }
    assert_eq!(informer.stats().index_errors, 4);
}
