//! The condition `Dangling` of FlowSchemas: whether the priority level configuration that they name exists.

use crate::auth::User;
use crate::meta;
use crate::registry::{Registry, Target, WriteContext};
use crate::request::{ListOptions, WriteOptions};
use crate::storage::Object;
use serde_json::{Value, json};
use std::sync::Arc;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// Keeps the conditions current until the future is dropped.
pub(super) async fn run(registry: Arc<Registry>) {
    let kinds = (
        registry.resource(GROUP, "flowschemas"),
        registry.resource(GROUP, "prioritylevelconfigurations"),
    );
    let (Ok(schemas), Ok(levels)) = kinds else { return };
    let mut changes = (
        registry.store.subscribe_table(&schemas.table()),
        registry.store.subscribe_table(&levels.table()),
    );
    let list = |kind| -> Vec<Arc<Object>> {
        let listing = registry.list(&Target::new(kind, "", ""), &ListOptions::default());
        listing.map(|listing| listing.objects).unwrap_or_default()
    };
    loop {
        changes.0.mark_unchanged();
        changes.1.mark_unchanged();
        let levels = list(&levels);
        for schema in list(&schemas) {
            let level = &schema.value()["spec"]["priorityLevelConfiguration"]["name"];
            let exists = levels
                .iter()
                .any(|object| object.value()["metadata"]["name"] == *level);
            set_dangling(
                &registry,
                &Target::new(&schemas, "", meta::name(schema.value())),
                schema.value(),
                exists,
            );
        }
        let next = tokio::select! {
            next = changes.0.changed() => next,
            next = changes.1.changed() => next,
        };
        if next.is_err() {
            return;
        }
    }
}

fn set_dangling(registry: &Registry, target: &Target, schema: &Value, exists: bool) {
    let level = schema["spec"]["priorityLevelConfiguration"]["name"]
        .as_str()
        .unwrap_or_default();
    let (status, reason, found) = if exists {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    let message = format!(
        "This FlowSchema references the PriorityLevelConfiguration object named {} {found}",
        crate::quote::quoted(level)
    );
    let conditions = schema["status"]["conditions"].as_array();
    let is_current =
        |condition: &Value| condition["type"] == "Dangling" && condition["message"] == message.as_str();
    if conditions.into_iter().flatten().any(is_current) {
        return;
    }
    let (user, options) = (
        User::system(),
        WriteOptions {
            field_manager: "api-priority-and-fairness-config-consumer-v1".to_owned(),
            force: Some(true),
            ..WriteOptions::default()
        },
    );
    let condition = json!({
        "type": "Dangling", "status": status, "lastTransitionTime": meta::now(), "reason": reason, "message": message,
    });
    let configuration = json!({
        "apiVersion": target.kind.api_version(), "kind": target.kind.kind, "metadata": { "name": target.name },
        "status": { "conditions": [condition] },
    });
    let context = WriteContext::new(&user, &options);
    // If the schema is deleted at the same time, its change causes another round.
    let _ = registry.patch(
        target,
        "status",
        "application/apply-patch+yaml",
        configuration.to_string().as_bytes(),
        context,
    );
}
