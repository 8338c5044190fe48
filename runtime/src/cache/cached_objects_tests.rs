use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use super::*;
use crate::{
    Kind as _,
    cache::{InformerOptions, SharedInformerFactory, StorageMode, Transform},
    client::Connection,
};

const PROJECTED: StorageMode = StorageMode::Projection(&["data"]);

fn factory(modes: impl IntoIterator<Item = StorageMode>) -> SharedInformerFactory {
    let factory = SharedInformerFactory::new(Connection::late());
    for storage in modes {
        factory.with::<ConfigMap>(InformerOptions {
            storage,
            ..InformerOptions::default()
        });
    }
    factory
}

fn config_map(version: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1"},
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": version,
            "managedFields": [{"manager": "m"}]},
    })
}

fn object_at(factory: &SharedInformerFactory, version: &str) -> Option<Value> {
    let json = factory.cached_objects().object_at(
        &ConfigMap::info(),
        &NamespacedName::namespaced("n", "a"),
        &|uid, found| uid == "u" && found == version,
    );
    json.map(|json| serde_json::from_slice(&json).unwrap())
}

#[tokio::test]
async fn informers_that_keep_whole_objects_return_them_without_managed_fields() {
    for mode in [StorageMode::Compressed, StorageMode::Raw, StorageMode::Decoded] {
        let factory = factory([mode.clone()]);
        assert_eq!(object_at(&factory, "1"), None, "{mode:?}: not cached yet");
        factory.seed(&ConfigMap::info(), &config_map("1")).unwrap();
        let mut expected = config_map("1");
        expected["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        assert_eq!(object_at(&factory, "1"), Some(expected), "{mode:?}");
        assert_eq!(object_at(&factory, "2"), None, "{mode:?}: another version");
    }
}

#[tokio::test]
async fn informers_that_keep_parts_return_nothing() {
    let transform = StorageMode::Transformed(Transform::new(|_| {}));
    for mode in [StorageMode::Metadata, PROJECTED, transform] {
        let factory = factory([mode.clone()]);
        factory.seed(&ConfigMap::info(), &config_map("1")).unwrap();
        assert_eq!(object_at(&factory, "1"), None, "{mode:?}");
    }
}

#[tokio::test]
async fn every_informer_that_holds_the_object_must_hold_the_version() {
    let whole = InformerOptions::default();
    let projected = InformerOptions {
        storage: PROJECTED,
        ..InformerOptions::default()
    };
    let factory = factory([]);
    let whole = factory.with::<ConfigMap>(whole);
    let projected = factory.with::<ConfigMap>(projected);
    whole.seed(&config_map("1")).unwrap();
    assert!(object_at(&factory, "1").is_some());
    projected.seed(&config_map("2")).unwrap();
    assert_eq!(object_at(&factory, "1"), None);
    projected.seed(&config_map("1")).unwrap();
    assert!(object_at(&factory, "1").is_some());
}

#[tokio::test]
async fn other_versions_of_the_kind_are_other_caches() {
    let factory = factory([StorageMode::Compressed]);
    factory.seed(&ConfigMap::info(), &config_map("1")).unwrap();
    let mut other = ConfigMap::info();
    other.version = "v2".into();
    let name = NamespacedName::namespaced("n", "a");
    let objects = factory.cached_objects();
    assert!(objects.object_at(&other, &name, &|_, _| true).is_none());
    drop(factory);
    assert!(
        objects
            .object_at(&ConfigMap::info(), &name, &|_, _| true)
            .is_none(),
        "the client does not keep informers alive"
    );
}
