//! Creates many CustomResourceDefinitions at once, and waits until discovery lists their kinds.

use std::time::Duration;

use anyhow::Result;
use memchr::memmem;
use serde_json::json;
use tokio::time::sleep;

use super::{
    load::{self, OperationCost, Writers},
    server::MeasuredServer,
    template::RequestTemplate,
};

/// Interval between two reads of discovery, which cost CPU time of the server, too.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Creates `count` definitions in a group of their own; returns the cost of one until all are in discovery.
pub(super) async fn create(
    server: &MeasuredServer,
    writers: &mut Writers,
    group: &str,
    count: usize,
) -> Result<OperationCost> {
    let body = definition(group);
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let template = RequestTemplate::new(server.request("POST", path, &body));
    let discovery = server.request("GET", &format!("/apis/{group}/v1"), "");
    let mut connection = server.connect().await?;
    load::measure_cost(server, async || {
        let created = writers.send(&template, 0..count).await?;
        // Subresources have no singular name.
        let kind = memmem::Finder::new(br#""singularName":"item"#);
        // The group does not exist before its first definition is served.
        while !matches!(connection.send_request(&discovery).await, Ok(page) if kind.find_iter(page).count() >= count) {
            sleep(POLL_INTERVAL).await;
        }
        Ok(created)
    })
    .await
}

/// A definition with some fields, a status and columns.
fn definition(group: &str) -> String {
    let (plural, kind) = ("items######", "Item######");
    let text = json!({ "type": "string", "maxLength": 63, "description": "A text of the object." });
    let list = json!({ "type": "array", "items": { "type": "object", "properties": { "name": text, "value": text } } });
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": { "a": text, "b": text, "list": list, "replicas": { "type": "integer" } } },
            "status": { "type": "object", "properties": { "ready": { "type": "boolean" }, "conditions": list } },
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "plural": plural, "kind": kind },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} },
                "additionalPrinterColumns": [{ "name": "A", "type": "string", "jsonPath": ".spec.a" }],
            }],
        },
    })
    .to_string()
}
