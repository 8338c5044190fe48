//! Two versions of a kind on both API servers, with the conversion of `kubewright::conversion` as their webhook.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "conversion/owner_versions.rs"]
mod owner_versions;
#[allow(dead_code, reason = "other suites set responses and read the reviews")]
#[path = "support/webhook.rs"]
mod webhook;

use std::time::Duration;

use kubewright::{
    controller::Setup,
    testing::{Harness, TestOperator},
};
use kubewright_testkit::{Cluster, eventually};
use kubewright_tests::on_both_servers;
use owner_versions::owner_references_have_the_stored_version;
use serde_json::{Value, json};
use tokio::{runtime::Runtime, time::Instant};
use webhook::WebhookServer;

on_both_servers!(
    objects_keep_their_values_in_both_versions,
    owner_references_have_the_stored_version
);

const TIMEOUT: Duration = Duration::from_mins(1);

mod v1 {
    use kubewright::{CustomResource, Informer};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// A shop. This version is the hub.
    #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "conversion.demo.dev",
        version = "v1",
        kind = "Shop",
        namespaced,
        status = "ShopStatus"
    )]
    #[serde(rename_all = "camelCase")]
    pub(super) struct ShopSpec {
        pub(super) max_items: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) owner: Option<String>,
        pub(super) host: String,
        pub(super) port: u16,
        #[serde(default)]
        pub(super) shelves: Vec<Shelf>,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub(super) struct Shelf {
        pub(super) name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) color: Option<String>,
    }

    #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
    pub(super) struct ShopStatus {
        pub(super) phase: String,
        pub(super) visitors: Option<i64>,
    }
}

mod v1alpha1 {
    use kubewright::{Convert, CustomResource, Informer};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::v1;

    #[derive(CustomResource, Informer, Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(
        group = "conversion.demo.dev",
        version = "v1alpha1",
        kind = "Shop",
        namespaced,
        status = "ShopStatus"
    )]
    #[kube(deprecated = "use v1")]
    #[convert(hub = v1::ShopSpec, hub_only(owner), hub_only(host, from = host), hub_only(port, from = port))]
    pub(super) struct ShopSpec {
        #[convert(renamed = "max_items", with = text)]
        limit: String,
        #[convert(dropped, from = address)]
        address: String,
        #[serde(default)]
        shelves: Vec<Shelf>,
    }

    mod text {
        #[expect(clippy::needless_pass_by_value, reason = "the derive passes values")]
        pub(super) fn to_hub(text: String) -> Result<i64, std::num::ParseIntError> {
            text.parse()
        }

        pub(super) fn from_hub(number: i64) -> String {
            number.to_string()
        }
    }

    fn host(spec: &ShopSpec) -> String {
        spec.address.split(':').next().unwrap_or_default().to_owned()
    }

    fn port(spec: &ShopSpec) -> u16 {
        let port = spec.address.split(':').nth(1);
        port.and_then(|port| port.parse().ok()).unwrap_or(80)
    }

    fn address(hub: &v1::ShopSpec) -> String {
        format!("{}:{}", hub.host, hub.port)
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::Shelf, hub_only(color))]
    pub(super) struct Shelf {
        name: String,
    }

    #[derive(Convert, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[convert(hub = v1::ShopStatus, hub_only(visitors))]
    pub(super) struct ShopStatus {
        phase: String,
    }
}

fn register(setup: &mut Setup) {
    setup.versions::<v1::Shop>().other::<v1alpha1::Shop>();
}

/// The first release with v1: the stored version is the one of the release before.
fn register_first(setup: &mut Setup) {
    setup
        .versions::<v1::Shop>()
        .other::<v1alpha1::Shop>()
        .stored::<v1alpha1::Shop>();
}

/// Returns the definition of a registration, with the test's webhook in place of the Service.
fn definition(register: fn(&mut Setup), webhook: &WebhookServer) -> Value {
    let definitions = TestOperator::definitions(register);
    assert_eq!(definitions.len(), 1);
    let mut definition = serde_json::to_value(&definitions[0]).unwrap();
    definition["spec"]["conversion"]["webhook"]["clientConfig"] = json!({
        "url": format!("https://127.0.0.1:{}/convert", webhook.port), "caBundle": webhook.ca_bundle,
    });
    definition
}

fn shop(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("conversion.demo.dev/{version}"), "kind": "Shop",
        "metadata": {"name": name, "namespace": "conversion"}, "spec": spec,
    })
}

fn objects_keep_their_values_in_both_versions(cluster: &Cluster) {
    let runtime = Runtime::new().unwrap();
    let _guard = runtime.enter();
    let webhook = runtime.block_on(WebhookServer::start(&[]));
    let harness = Harness::new(register);
    webhook.handle("/convert", {
        let converters = harness.setup().converters();
        move |body| converters.review(body, Instant::now() + TIMEOUT).ok()
    });
    cluster.create_namespace("conversion").unwrap();

    // The version that was there before stays stored.
    cluster
        .install_crd(&definition(register_first, &webhook))
        .unwrap();
    let new_spec = json!({
        "maxItems": 12, "owner": "Ann", "host": "shop.dev", "port": 8080,
        "shelves": [{"name": "a", "color": "red"}, {"name": "b", "color": "blue"}],
    });
    let corner = |version: &str| shop(version, "corner", &json!({}));
    let created = cluster.apply(&shop("v1", "corner", &new_spec)).unwrap();
    assert_eq!(created["spec"], new_spec);
    let read = |version: &str| cluster.get(&corner(version)).unwrap().unwrap();
    assert_eq!(read("v1")["spec"], new_spec);
    assert_eq!(read("v1")["metadata"]["annotations"], Value::Null);
    let old = read("v1alpha1");
    assert_eq!(
        old["spec"],
        json!({"limit": "12", "address": "shop.dev:8080", "shelves": [{"name": "a"}, {"name": "b"}]})
    );
    assert!(old["metadata"]["annotations"]["conversion.kubewright.dev/v1"].is_string());

    // A client of the old version edits what it sees, and reorders a list.
    let edit = json!({"spec": {"limit": "13", "shelves": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}});
    cluster.merge_patch(&corner("v1alpha1"), &edit).unwrap();
    let mut expected = new_spec;
    expected["maxItems"] = json!(13);
    expected["shelves"] =
        json!([{"name": "b", "color": "blue"}, {"name": "c"}, {"name": "a", "color": "red"}]);
    assert_eq!(read("v1")["spec"], expected);

    // Both write the status.
    cluster
        .patch_status(&corner("v1"), &json!({"phase": "Open", "visitors": 3}))
        .unwrap();
    cluster
        .patch_status(&corner("v1alpha1"), &json!({"phase": "Closed"}))
        .unwrap();
    assert_eq!(read("v1")["status"], json!({"phase": "Closed", "visitors": 3}));
    assert_eq!(read("v1")["spec"], expected);

    // An object that only the old version can hold is named where it is read in the new one.
    let broken = shop("v1alpha1", "broken", &json!({"limit": "many", "address": "x"}));
    cluster.apply(&broken).unwrap();
    let error = cluster.get(&shop("v1", "broken", &json!({}))).unwrap_err();
    let error = format!(
        "{error} {:?}",
        std::error::Error::source(&error).map(ToString::to_string)
    );
    assert!(
        error.contains("converting Shop conversion/broken (conversion.demo.dev/v1alpha1) to conversion.demo.dev/v1 failed: spec.limit: invalid digit"),
        "{error}"
    );
    assert!(cluster.list(&corner("v1")).is_err());
    assert_eq!(cluster.list(&corner("v1alpha1")).unwrap().len(), 2);
    cluster.delete(&broken).unwrap();

    // The upgrade's second step stores the new version; values that only the old one has are kept now.
    cluster.install_crd(&definition(register, &webhook)).unwrap();
    let odd = json!({"limit": "007", "address": "no port", "shelves": []});
    let is_stored = || {
        let written = cluster
            .apply(&shop("v1alpha1", "odd", &odd))
            .map_err(|error| error.to_string())?;
        let new = cluster
            .get(&shop("v1", "odd", &json!({})))
            .map_err(|error| error.to_string())?;
        let new = new.unwrap_or_default();
        let kept = &new["metadata"]["annotations"]["conversion.kubewright.dev/v1alpha1"];
        if kept.is_string() {
            Ok((written, new))
        } else {
            Err(new.to_string())
        }
    };
    let (written, new) = eventually("v1 is stored", TIMEOUT, is_stored);
    assert_eq!(written["spec"], odd);
    assert_eq!(
        new["spec"],
        json!({"maxItems": 7, "host": "no port", "port": 80, "shelves": []})
    );
    assert_eq!(
        cluster.get(&shop("v1alpha1", "odd", &odd)).unwrap().unwrap()["spec"],
        odd
    );
    assert_eq!(read("v1")["spec"], expected);
    assert_eq!(cluster.list(&corner("v1")).unwrap().len(), 2);
}
