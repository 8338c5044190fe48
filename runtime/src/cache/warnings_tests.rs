//! Tests of the warnings about informers.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    Kind,
    cache::{IndexSpec, IndexType, Lister, Object},
};

fn untyped<K: Kind>(options: InformerOptions) -> Arc<UntypedInformer> {
    Arc::new(UntypedInformer::new::<K>(
        K::info(),
        options,
        Arc::default(),
        CancellationToken::new(),
    ))
}

fn labelled(selector: &str) -> InformerOptions {
    InformerOptions {
        label_selector: Some(selector.to_owned()),
        ..InformerOptions::default()
    }
}

#[test]
fn caching_all_secrets_is_warned_about() {
    let full = untyped::<Secret>(InformerOptions::default());
    assert!(before_start(&full, &[None], &[]).concat().contains("all Secrets"));
    assert_eq!(before_start(&full, &[Some("shop".into())], &[]), [""; 0]);
    let metadata = InformerOptions {
        storage: StorageMode::Metadata,
        ..InformerOptions::default()
    };
    for options in [labelled("a=b"), metadata] {
        assert_eq!(before_start(&untyped::<Secret>(options), &[None], &[]), [""; 0]);
    }
    assert_eq!(
        before_start(&untyped::<ConfigMap>(InformerOptions::default()), &[None], &[]),
        [""; 0]
    );
}

#[test]
fn second_watch_of_a_kind_is_warned_about_once_with_the_difference() {
    let informers = [
        untyped::<ConfigMap>(InformerOptions::default()),
        untyped::<ConfigMap>(labelled("a=b")),
    ];
    assert_eq!(before_start(&informers[0], &[None], &informers), [""; 0]);
    let warning = before_start(&informers[1], &[None], &informers).concat();
    assert!(
        warning.contains("configmaps is listed and watched twice")
            && warning.contains("label selector differs (none, a=b)"),
        "{warning}"
    );
}

#[test]
fn namespaces_of_a_cluster_scoped_kind_are_warned_about() {
    let nodes = untyped::<k8s_openapi::api::core::v1::Node>(InformerOptions {
        namespaces: Some(vec!["shop".into()]),
        ..InformerOptions::default()
    });
    let warnings = before_start(&nodes, &[None], &[]).concat();
    assert!(
        warnings.contains("the namespaces of the informer of nodes are ignored"),
        "{warnings}"
    );
}

const NODE: IndexSpec = IndexSpec {
    name: "node",
    path: "spec.nodeName",
    value_type: IndexType::String,
};
const TEAM: IndexSpec = IndexSpec {
    path: "metadata.labels.team",
    ..NODE
};

fn seeded() -> Arc<UntypedInformer> {
    let informer = untyped::<ConfigMap>(InformerOptions::default());
    let object = json!({"metadata": {"name": "a", "namespace": "shop"}});
    informer.seed(&object).unwrap();
    informer
}

fn object(informer: &Arc<UntypedInformer>) -> Object<ConfigMap> {
    let lister = Lister::over(informer.clone());
    lister.list().objects().next().unwrap()
}

#[tokio::test(start_paused = true)]
async fn hint_after_ten_minutes_without_decoding() {
    let informer = seeded();
    informer.add_index(&TEAM).unwrap();
    object(&informer).annotation("a");
    let started = Instant::now();
    let hint = never_decoded(informer).await.unwrap();
    assert!(
        hint.contains("none of 1 objects of configmaps") && hint.contains("`metadata_only`"),
        "{hint}"
    );
    assert_eq!(started.elapsed(), NEVER_DECODED_CHECK_INTERVAL);
}

#[tokio::test(start_paused = true)]
async fn no_hint_while_the_store_is_empty() {
    let informer = untyped::<ConfigMap>(InformerOptions::default());
    let hint = tokio::spawn(never_decoded(informer.clone()));
    sleep(3 * NEVER_DECODED_CHECK_INTERVAL + Duration::from_secs(1)).await;
    informer
        .seed(&json!({"metadata": {"name": "a", "namespace": "shop"}}))
        .unwrap();
    sleep(NEVER_DECODED_CHECK_INTERVAL).await;
    assert!(hint.is_finished() && hint.await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn no_hint_if_more_than_metadata_is_needed() {
    let needs: [fn(&Arc<UntypedInformer>); 3] = [
        |informer| drop(object(informer).decode().unwrap()),
        |informer| drop(object(informer).json()),
        |informer| informer.add_index(&NODE).unwrap(),
    ];
    for need in needs {
        let informer = seeded();
        need(&informer);
        assert_eq!(never_decoded(informer).await, None);
    }
}
