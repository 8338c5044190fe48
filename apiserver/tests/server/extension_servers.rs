//! APIServices of extension servers in discovery.

use crate::client::TestServer;
use serde_json::{Value, json};

const AGGREGATED: (&str, &str) = (
    "Accept",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
);

impl TestServer {
    async fn extend(&self, group: &str, version: &str, priority: u32) {
        let service = json!({ "namespace": "default", "name": "s" });
        let spec = json!({ "group": group, "version": version, "groupPriorityMinimum": priority, "versionPriority": 15,
            "insecureSkipTLSVerify": true, "service": service });
        let api_service = json!({ "metadata": { "name": format!("{version}.{group}") }, "spec": spec });
        self.create("/apis/apiregistration.k8s.io/v1/apiservices", api_service)
            .await;
    }

    /// The names of all groups in aggregated and in unaggregated discovery.
    #[expect(clippy::unwrap_used, reason = "a helper of tests")]
    async fn groups(&self) -> [Vec<String>; 2] {
        let token = self.api.admin_token();
        let aggregated = self.send(token, "GET", "/apis", &[AGGREGATED], b"").await;
        let unaggregated = self.get("/apis").await.expect(200);
        let names = |groups: &Value| {
            let groups = groups.as_array().unwrap().iter();
            let names = groups.map(|group| match &group["name"] {
                Value::Null => group["metadata"]["name"].as_str().unwrap().to_owned(),
                name => name.as_str().unwrap().to_owned(),
            });
            names.collect()
        };
        [
            names(&aggregated.expect(200)["items"]),
            names(&unaggregated["groups"]),
        ]
    }
}

#[tokio::test]
async fn groups_are_in_the_order_of_their_priorities() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let before = server.groups().await;
    server.extend("low.dev", "v1", 10).await;
    let [aggregated, unaggregated] = server.groups().await;
    // The order of the others stays.
    let with_low = |groups: &[String]| [groups, &["low.dev".to_owned()]].concat();
    assert_eq!(aggregated, with_low(&before[0]));
    assert_eq!(unaggregated, with_low(&before[1]));

    server.extend("high.dev", "v1", 20_000).await;
    // `apps` has 17,800, and definitions have 1,000.
    server.extend("middle.dev", "v1", 17_799).await;
    server.extend("as-definitions.dev", "v2", 1000).await;
    let [aggregated, unaggregated] = server.groups().await;
    for groups in [&aggregated, &unaggregated] {
        // The group of APIServices has no priority.
        assert_eq!(groups[..2], ["apiregistration.k8s.io", "high.dev"]);
        let at = groups.iter().position(|group| group == "middle.dev");
        assert!(at.is_some_and(|at| groups[at - 1] == "apps"), "{groups:?}");
    }
    let last = |groups: &[String]| groups[groups.len() - 3..].join(" ");
    assert_eq!(last(&aggregated), "as-definitions.dev demo.dev low.dev");
    // By the names of the APIServices.
    assert_eq!(last(&unaggregated), "demo.dev as-definitions.dev low.dev");
}

#[tokio::test]
async fn versions_of_extension_servers_stand_beside_those_of_definitions() {
    let server = TestServer::start().await;
    server.define_foo().await;
    let objects = "/apis/demo.dev/v1/namespaces/default/foos";
    server.get(objects).await.expect(200);
    // Definitions have the priority 100, these 15: they come last.
    for version in ["v3", "v2"] {
        server.extend("demo.dev", version, 1000).await;
    }
    let versions = |group: &Value| {
        let versions = group["versions"].as_array().cloned().unwrap_or_default();
        let names = versions
            .iter()
            .map(|version| version["version"].as_str().unwrap_or_default());
        names.collect::<Vec<_>>().join(" ")
    };
    let group = server.get("/apis/demo.dev").await;
    assert_eq!(versions(&group.expect(200)), "v1 v1beta1 v3 v2");
    server.get(objects).await.expect(200);
    assert_eq!(
        server.get("/apis/demo.dev/v2/namespaces/default/foos").await.code,
        503
    );
    assert_eq!(
        server.get("/apis/demo.dev/v4/namespaces/default/foos").await.code,
        404
    );
    // The owner of an APIService without the label of the server may give the version away.
    let token = server.api.admin_token();
    let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.demo.dev";
    let change = json!({
        "metadata": { "labels": { "kube-aggregator.kubernetes.io/automanaged": null } },
        "spec": { "insecureSkipTLSVerify": true, "service": { "namespace": "default", "name": "s" } },
    });
    let headers = [("Content-Type", "application/merge-patch+json")];
    let body = change.to_string();
    server
        .send(token, "PATCH", path, &headers, body.as_bytes())
        .await
        .expect(200);
    assert_eq!(server.get(objects).await.code, 503);
    let aggregated = server.send(token, "GET", "/apis", &[AGGREGATED], b"").await;
    let groups = aggregated.expect(200)["items"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let group = groups
        .iter()
        .find(|group| group["metadata"]["name"] == "demo.dev")
        .unwrap();
    let freshness =
        |version: &Value| format!("{} {}", version["version"], version["freshness"]).replace('"', "");
    let versions: Vec<String> = group["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(freshness)
        .collect();
    assert_eq!(versions, ["v1 Stale", "v1beta1 Current", "v3 Stale", "v2 Stale"]);
}
