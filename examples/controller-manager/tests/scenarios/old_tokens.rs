//! Tokens of service accounts that are older than the period of `FLAGS`, one of which was marked long ago. kube-controller-manager looks
//! for them when it starts, so they exist before.

use std::{fs, thread::sleep, time::Duration};

use kubewright_testkit::{Cluster, eventually};
use serde_json::{Value, json};

use crate::{program::FLAGS, workloads::TIMEOUT};

const NAMESPACE: &str = "old-tokens";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
/// Longer than the period of `FLAGS`, and than the seconds in which creation times are written.
const AGE: Duration = Duration::from_secs(3);

/// Creates the tokens and waits until they are old.
pub(crate) fn create(cluster: &Cluster) {
    // Since when the API server records the use of tokens.
    let mut tracking = object(
        "ConfigMap",
        "kube-apiserver-legacy-service-account-token-tracking",
    );
    tracking["metadata"]["namespace"] = json!("kube-system");
    tracking["data"] = json!({"since": "2020-01-01"});
    cluster.apply(&tracking).unwrap();
    cluster.create_namespace(NAMESPACE).unwrap();
    let mut account = object("ServiceAccount", "legacy");
    account["secrets"] = json!([{"name": "unused"}, {"name": "marked"}]);
    let uid = cluster.apply(&account).unwrap()["metadata"]["uid"].clone();
    for (name, marked) in [
        ("unused", json!({})),
        ("marked", json!({INVALID_SINCE: "2020-01-01"})),
    ] {
        let mut token = object("Secret", name);
        token["type"] = json!("kubernetes.io/service-account-token");
        token["metadata"]["labels"] = marked;
        token["metadata"]["annotations"] = json!({
            "kubernetes.io/service-account.name": "legacy", "kubernetes.io/service-account.uid": uid,
        });
        // Complete, so that the controller of tokens does not change it at the same time.
        token["stringData"] = json!({"token": "a", "namespace": NAMESPACE, "ca.crt": root_ca()});
        cluster.apply(&token).unwrap();
    }
    sleep(AGE);
}

/// Waits until one token is marked and the other deleted, and deletes the account with the first.
pub(crate) fn wait_until_cleaned(cluster: &Cluster) {
    let get = |name: &str| cluster.get(&object("Secret", name)).unwrap().unwrap_or_default();
    eventually("the unused token is marked", TIMEOUT, || {
        let unused = get("unused");
        let is_marked = !unused["metadata"]["labels"][INVALID_SINCE].is_null();
        is_marked
            .then_some(())
            .ok_or_else(|| unused["metadata"].to_string())
    });
    let is_gone = |name: &str| get(name).is_null().then_some(());
    eventually("the marked token is deleted", TIMEOUT, || is_gone("marked"));
    cluster.delete(&object("ServiceAccount", "legacy")).unwrap();
    eventually("the token of the deleted account is gone", TIMEOUT, || {
        is_gone("unused")
    });
}

/// The certificate that the program publishes.
fn root_ca() -> String {
    let file = FLAGS.iter().find_map(|flag| flag.strip_prefix("--root-ca-file="));
    fs::read_to_string(file.unwrap()).unwrap()
}

fn object(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": NAMESPACE, "name": name}})
}
