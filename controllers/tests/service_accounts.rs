//! The controllers of service accounts, their tokens and the root CA, with exactly their permissions.
#![cfg(feature = "core")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::sync::Arc;

use kubewright::testing::TestOperator;
use kubewright_controllers::{Options, register};
use kubewright_testkit::{Cluster, Failure, Fault, Identity, RequestMatcher};
use serde_json::{Value, json};

fn options() -> Options {
    let controllers =
        "serviceaccount,serviceaccount-token,root-ca-cert-publisher,legacy-service-account-token-cleaner";
    let options = Options::default().select(controllers).unwrap();
    Options {
        service_account_private_key: Some(Arc::from(
            &include_bytes!("../src/service_account_token/testdata/rsa-pkcs1.pem")[..],
        )),
        root_ca: Some(Arc::from(&b"the CA"[..])),
        ..options
    }
}

async fn start() -> (Cluster, Identity, TestOperator) {
    let cluster = Cluster::embedded().unwrap();
    let permissions = TestOperator::permissions(|setup| register(setup, &options()));
    let identity = cluster.operator("manager", &permissions).unwrap();
    let config = identity.config().await.unwrap();
    let operator = TestOperator::start(config, |setup| register(setup, &options()));
    (cluster, identity, operator)
}

fn object(kind: &str, namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": namespace, "name": name}})
}

fn token_secret(name: &str, account: &str) -> Value {
    let mut secret = object("Secret", "shop", name);
    secret["type"] = json!("kubernetes.io/service-account-token");
    secret["metadata"]["annotations"] = json!({"kubernetes.io/service-account.name": account});
    secret
}

#[tokio::test]
async fn namespaces_have_a_default_account_and_the_ca_again_after_a_deletion() {
    let (cluster, _identity, _operator) = start().await;
    cluster.create_namespace("shop").unwrap();
    for object in [
        object("ServiceAccount", "shop", "default"),
        object("ConfigMap", "shop", "kube-root-ca.crt"),
    ] {
        let first = cluster.wait_until(&object, Value::is_object).await;
        cluster.delete(&object).unwrap();
        let uid = first["metadata"]["uid"].clone();
        cluster
            .wait_until(&object, |second| {
                second.is_object() && second["metadata"]["uid"] != uid
            })
            .await;
    }
    let map = object("ConfigMap", "shop", "kube-root-ca.crt");
    cluster
        .merge_patch(&map, &json!({"data": {"ca.crt": "forged", "other": "x"}}))
        .unwrap();
    let restored = |map: &Value| map["data"] == json!({"ca.crt": "the CA"});
    cluster.wait_until(&map, restored).await;
}

#[tokio::test]
async fn token_secret_is_filled_and_follows_its_account() {
    let (cluster, _identity, _operator) = start().await;
    cluster.create_namespace("shop").unwrap();
    let account = object("ServiceAccount", "shop", "robot");
    let created = cluster.apply(&account).unwrap();
    let secret = token_secret("robot-token", "robot");
    cluster.apply(&secret).unwrap();
    let filled = cluster
        .wait_until(&secret, |secret| !secret["data"]["token"].is_null())
        .await;
    let annotations = &filled["metadata"]["annotations"];
    assert_eq!(
        annotations["kubernetes.io/service-account.uid"],
        created["metadata"]["uid"]
    );
    assert_eq!(
        (&filled["data"]["ca.crt"], &filled["data"]["namespace"]),
        (&json!("dGhlIENB"), &json!("c2hvcA=="))
    );

    // The account lists a second Secret: deleting it removes it from the list.
    let listed = token_secret("listed", "robot");
    cluster.apply(&listed).unwrap();
    cluster
        .merge_patch(
            &account,
            &json!({"secrets": [{"name": "listed"}, {"name": "kept"}]}),
        )
        .unwrap();
    cluster
        .wait_until(&listed, |secret| !secret["data"]["token"].is_null())
        .await;
    cluster.delete(&listed).unwrap();
    let only_kept = |account: &Value| account["secrets"] == json!([{"name": "kept"}]);
    cluster.wait_until(&account, only_kept).await;

    cluster.delete(&account).unwrap();
    cluster.wait_until(&secret, Value::is_null).await;
}

#[tokio::test]
async fn secret_of_a_missing_or_recreated_account_is_deleted() {
    let (cluster, _identity, _operator) = start().await;
    cluster.create_namespace("shop").unwrap();
    let orphan = token_secret("orphan", "nobody");
    cluster.apply(&orphan).unwrap();
    cluster.wait_until(&orphan, Value::is_null).await;

    cluster.apply(&object("ServiceAccount", "shop", "robot")).unwrap();
    let mut old = token_secret("old", "robot");
    old["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = json!("another-uid");
    cluster.apply(&old).unwrap();
    cluster.wait_until(&old, Value::is_null).await;
}

#[tokio::test]
async fn unused_token_is_marked_unless_it_is_mounted_or_the_pods_are_not_known() {
    let (cluster, _identity, operator) = start().await;
    drop(operator);
    cluster.create_namespace("shop").unwrap();
    let tracking = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "kube-system", "name": "kube-apiserver-legacy-service-account-token-tracking"},
        "data": {"since": "2020-01-01"}});
    cluster.apply(&tracking).unwrap();
    let mut account = object("ServiceAccount", "shop", "robot");
    account["secrets"] = json!([{"name": "unused"}, {"name": "mounted"}]);
    cluster.apply(&account).unwrap();
    cluster.apply(&token_secret("unused", "robot")).unwrap();
    cluster.apply(&token_secret("mounted", "robot")).unwrap();
    let mut pod = object("Pod", "shop", "user");
    pod["spec"] = json!({"containers": [{"name": "main", "image": "a"}],
        "volumes": [{"name": "token", "secret": {"secretName": "mounted"}}]});
    cluster.apply(&pod).unwrap();
    // Their pods cannot be listed, before those of "shop" and after.
    let mut unknown = Vec::new();
    for namespace in ["a", "z"] {
        cluster.create_namespace(namespace).unwrap();
        let mut secret = token_secret("unused", "robot");
        for object in [&mut account, &mut secret] {
            object["metadata"]["namespace"] = json!(namespace);
            cluster.apply(&*object).unwrap();
        }
        unknown.push(secret);
        let pods = RequestMatcher::any().resource("pods").namespace(namespace);
        let refusal = Failure::new(403, "Forbidden", "pods is forbidden: on purpose");
        cluster.faults().always(pods, Fault::Respond(refusal));
    }

    // Unused for a millisecond, and looked at every 20 ms.
    let quick = Options {
        legacy_token_clean_up_period: std::time::Duration::from_millis(1),
        knobs: kubewright_controllers::Knobs::parse(r#"{"legacysatokencleaner.syncInterval": "20ms"}"#)
            .unwrap(),
        ..options()
    };
    let config = cluster.admin().config().await.unwrap();
    let _operator = TestOperator::start(config, move |setup| register(setup, &quick));
    let unused = object("Secret", "shop", "unused");
    let marked =
        |secret: &Value| secret["metadata"]["labels"]["kubernetes.io/legacy-token-invalid-since"].is_string();
    cluster.wait_until(&unused, marked).await;
    let mounted = cluster
        .get(&object("Secret", "shop", "mounted"))
        .unwrap()
        .unwrap();
    assert!(!marked(&mounted), "{mounted}");
    for secret in &unknown {
        let secret = cluster.get(secret).unwrap().unwrap();
        assert!(!marked(&secret), "{secret}");
    }
}
