use super::*;
use serde_json::json;
use std::sync::Arc;
use tokio::time::Instant;

fn registry(plugins: Vec<AdmissionPlugin>) -> Arc<Registry> {
    let registry = Registry::for_tests(plugins);
    create(&registry, "namespaces", "", "shop");
    registry
}

fn target(registry: &Registry, plural: &str, namespace: &str) -> Target {
    Target::new(&registry.resource("", plural).unwrap(), namespace, "")
}

fn create(registry: &Registry, plural: &str, namespace: &str, name: &str) {
    let object = json!({ "metadata": { "name": name } });
    registry.create_for_tests(&target(registry, plural, namespace), object);
}

/// Returns how long a pod waits if the default account is created after 100 ms.
async fn wait_of(plugins: Vec<AdmissionPlugin>, namespace: &str, pod: Value) -> Duration {
    let registry = registry(plugins);
    let creator = registry.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        create(&creator, "serviceaccounts", "shop", "default");
    });
    let before = Instant::now();
    let pods = target(&registry, "pods", namespace);
    registry.wait_for_default_account(&pods, &pod).await;
    before.elapsed()
}

#[tokio::test(start_paused = true)]
async fn pod_waits_for_the_default_account_that_it_gets() {
    let plugins = || vec![AdmissionPlugin::ServiceAccount];
    let created = Duration::from_millis(100);
    assert_eq!(wait_of(plugins(), "shop", json!({})).await, created);
    let named = json!({ "spec": { "serviceAccountName": "default" } });
    assert_eq!(wait_of(plugins(), "shop", named).await, created);
    let other = json!({ "spec": { "serviceAccountName": "other" } });
    let mirror = json!({ "metadata": { "annotations": { "kubernetes.io/config.mirror": "x" } } });
    for (plugins, namespace, pod) in [
        (plugins(), "shop", other),
        (plugins(), "shop", mirror),
        (plugins(), "gone", json!({})),
        (vec![], "shop", json!({})),
    ] {
        assert_eq!(wait_of(plugins, namespace, pod).await, Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn pod_waits_no_longer_than_the_limit() {
    let registry = registry(vec![AdmissionPlugin::ServiceAccount]);
    let before = Instant::now();
    let pods = target(&registry, "pods", "shop");
    registry.wait_for_default_account(&pods, &json!({})).await;
    assert_eq!(before.elapsed(), DEFAULT_ACCOUNT_TIMEOUT);
}
