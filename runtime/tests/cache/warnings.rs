//! Warnings of a factory about informers that are configured badly.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright::cache::InformerOptions;

use crate::support::{log::Log, server::Server, *};

const ALL_SECRETS: &str = "all Secrets of the cluster";
const NEVER_DECODED: &str = "use `metadata_only`, which transfers";

#[tokio::test(start_paused = true)]
async fn factory_warns_about_all_secrets_and_second_watches_at_start() {
    let log = Log::start();
    let server = Server::without_streaming();
    let factory = server.factory();
    factory.of::<Secret>();
    factory.of::<ConfigMap>();
    factory.with::<ConfigMap>(InformerOptions {
        label_selector: Some("a=b".into()),
        ..InformerOptions::default()
    });
    assert_eq!(log.lines(""), [""; 0], "nothing runs yet");
    for _ in 0..2 {
        factory.start();
    }
    assert_eq!(log.lines(ALL_SECRETS).len(), 1);
    let twice = log.lines("configmaps is listed and watched twice");
    assert!(
        twice.len() == 1 && twice[0].contains("label selector differs (none, a=b)"),
        "{twice:?}"
    );
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn secrets_of_the_factory_namespaces_are_not_warned_about() {
    let log = Log::start();
    let factory = Server::without_streaming().factory();
    factory.set_namespaces(vec!["shop".into()]);
    factory.of::<Secret>();
    factory.start();
    assert_eq!(log.lines(ALL_SECRETS), [""; 0]);
    // An informer whose own options select all namespaces.
    factory.with::<Secret>(InformerOptions {
        namespaces: Some(vec![]),
        ..InformerOptions::default()
    });
    factory.start();
    assert_eq!(log.lines(ALL_SECRETS).len(), 1);
    factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn undecoded_kind_is_hinted_at_once_after_ten_minutes() {
    let log = Log::start();
    let server = Server::new();
    let (factory, _informer) = informer(&server).await;
    tokio::time::sleep(Duration::from_mins(15)).await;
    server.put(&config_map("a", "1"));
    assert_eq!(log.all(NEVER_DECODED), [""; 0]);
    tokio::time::sleep(Duration::from_hours(2)).await;
    let lines = log.all(NEVER_DECODED);
    assert!(
        lines.len() == 1 && lines[0].contains("none of 1 objects of configmaps"),
        "{lines:?}"
    );
    factory.shutdown().await;
}
