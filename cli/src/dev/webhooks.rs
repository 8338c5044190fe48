//! Has the embedded API server call the operator's webhooks on this machine, by URLs in place of their Service.

use std::{net::TcpListener, time::Duration};

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::apply::{Applier, POLL_INTERVAL};
use crate::{
    error::ClusterError,
    manifests::{
        Manifests,
        webhooks::{self, WebhookManifests},
    },
};

/// Longest wait until the operator has written its CA bundles.
const BUNDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The webhook objects of a session.
#[derive(Debug, Default)]
pub(super) struct LocalWebhooks {
    /// The operator's port, which it keeps when it restarts.
    port: Option<u16>,
    applied: Vec<Value>,
}

/// Refuses kinds that the operator converts: a cluster cannot call the operator on this machine. Without the conversion it would
/// read and write objects of all versions as if they had one meaning, and prune fields.
pub(super) fn check_not_converted(manifests: &Manifests) -> Result<(), ClusterError> {
    let is_converted = |crd: &Value| crd["spec"]["conversion"]["strategy"] == "Webhook";
    let converted = manifests.defined_crds().filter(|(_, crd)| is_converted(crd));
    let kinds: Vec<_> = converted.map(|(kind, _)| kind.kind.as_str()).collect();
    if kinds.is_empty() {
        return Ok(());
    }
    Err(ClusterError::UnexpectedState(format!(
        "the operator converts versions of {}, and the cluster cannot call it on this machine: nothing was applied; run `kubewright dev` \
         without --cluster, or deploy the operator",
        kinds.join(", ")
    )))
}

impl LocalWebhooks {
    /// Returns the address for the operator; none without webhooks.
    pub(super) fn address(&self) -> Option<String> {
        self.port.map(|port| format!("127.0.0.1:{port}"))
    }

    /// Rewrites the manifests so that the operator is called on a port of this machine, for objects in the watched namespaces.
    pub(super) fn rewrite(&mut self, manifests: &mut Manifests, watched: &[String]) -> std::io::Result<()> {
        if manifests.webhooks.is_none() {
            self.port = None;
            return Ok(());
        }
        let port = match self.port {
            Some(port) => port,
            None => TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
        };
        self.port = Some(port);
        webhooks::call_on_port(manifests, port);
        webhooks::limit_to(manifests, watched);
        Ok(())
    }

    /// Applies the configurations and the Secret, and deletes those that are no longer in the manifests.
    pub(super) async fn apply(
        &mut self,
        applier: &mut Applier,
        manifests: &Manifests,
    ) -> Result<(), ClusterError> {
        let objects = manifests.webhooks.iter().flat_map(WebhookManifests::objects);
        let current: Vec<Value> = objects
            .filter(|(_, object)| object["kind"] != "Service")
            .map(|(_, object)| object.clone())
            .collect();
        for object in &current {
            applier.apply(object).await?;
        }
        let is_current = |object: &Value| current.iter().any(|other| is_same(object, other));
        for stale in self.applied.iter().filter(|object| !is_current(object)) {
            applier.delete(stale).await?;
        }
        self.applied = current;
        Ok(())
    }

    /// Waits until the operator has written its CA bundles, so that the API server calls it. Returns whether it has, within some seconds.
    pub(super) async fn wait_for_bundles(
        &self,
        applier: &mut Applier,
        manifests: &Manifests,
    ) -> Result<bool, ClusterError> {
        if self.port.is_none() {
            return Ok(true);
        }
        let definitions = manifests.defined_crds().map(|(_, crd)| crd);
        let start = Instant::now();
        for object in self.applied.iter().chain(definitions) {
            while applier
                .read(object)
                .await?
                .is_some_and(|found| lacks_bundle(&found))
            {
                if start.elapsed() > BUNDLE_TIMEOUT {
                    return Ok(false);
                }
                sleep(POLL_INTERVAL).await;
            }
        }
        Ok(true)
    }
}

fn is_same(object: &Value, other: &Value) -> bool {
    object["kind"] == other["kind"] && object["metadata"]["name"] == other["metadata"]["name"]
}

/// Whether the object has a `clientConfig` without a CA bundle.
fn lacks_bundle(object: &Value) -> bool {
    let of_webhooks = object["webhooks"].as_array().into_iter().flatten();
    let of_conversion = object.pointer("/spec/conversion/webhook");
    of_webhooks
        .chain(of_conversion)
        .filter_map(|webhook| webhook.get("clientConfig"))
        .any(|config| config.get("caBundle").is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn converted_kinds_are_refused_in_a_cluster() {
        let kind = |name: &str, conversion: Value| {
            json!({
                "group": "demo.dev", "kind": name, "plural": "x", "namespaced": true, "crd": {"spec": {"conversion": conversion}},
            })
        };
        let manifests = |kinds: Value| {
            let text = json!({"manifestsVersion": 1, "operator": "shop", "kinds": kinds, "permissions": []});
            Manifests::parse(&text.to_string()).unwrap()
        };
        let plain = kind("Bar", json!({"strategy": "None"}));
        assert!(check_not_converted(&manifests(json!([plain]))).is_ok());
        let converted = kind("Foo", json!({"strategy": "Webhook"}));
        let refused = check_not_converted(&manifests(json!([plain, converted]))).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the operator converts versions of Foo, and the cluster cannot call it on this machine: nothing was applied; run `kubewright dev` \
             without --cluster, or deploy the operator"
        );
    }

    #[test]
    fn objects_without_a_bundle_are_recognized() {
        let with = json!({"url": "https://a", "caBundle": "YQ=="});
        let without = json!({"url": "https://a"});
        let webhooks = |configs: &[&Value]| {
            let webhooks: Vec<_> = configs
                .iter()
                .map(|config| json!({"clientConfig": config}))
                .collect();
            json!({"webhooks": webhooks})
        };
        assert!(!lacks_bundle(&webhooks(&[&with, &with])));
        assert!(lacks_bundle(&webhooks(&[&with, &without])));
        let definition =
            |config: &Value| json!({"spec": {"conversion": {"webhook": {"clientConfig": config}}}});
        assert!(lacks_bundle(&definition(&without)));
        assert!(!lacks_bundle(&definition(&with)));
        assert!(!lacks_bundle(&json!({"kind": "Secret"})));
    }
}
