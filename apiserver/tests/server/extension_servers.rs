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
