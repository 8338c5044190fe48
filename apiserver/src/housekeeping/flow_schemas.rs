//! The condition `Dangling` of FlowSchemas: whether the priority level configuration that they name exists.

use super::reconcile_on_changes;
use crate::meta;
use crate::registry::{Registry, Target};
use serde_json::{Value, json};
use std::time::Duration;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";

/// Keeps the conditions current until the future is dropped.
pub(super) async fn run(registry: &Registry) {
    let kinds = (
        registry.resource(GROUP, "flowschemas"),
        registry.resource(GROUP, "prioritylevelconfigurations"),
    );
    let (Ok(schemas), Ok(levels)) = kinds else { return };
    let changes = [&schemas, &levels].map(|kind| registry.store.subscribe_table(&kind.table()));
    reconcile_on_changes(changes, Duration::ZERO, Duration::ZERO, || {
        let levels = registry.store.objects(&levels.table(), "");
        for schema in registry.store.objects(&schemas.table(), "") {
            let level = &schema.value()["spec"]["priorityLevelConfiguration"]["name"];
            let exists = levels
                .iter()
                .any(|object| object.value()["metadata"]["name"] == *level);
            let target = Target::new(&schemas, "", meta::name(schema.value()));
            set_dangling(registry, &target, schema.value(), exists);
        }
        false
    })
    .await;
}

fn set_dangling(registry: &Registry, target: &Target, schema: &Value, exists: bool) {
    let level = meta::text(&schema["spec"]["priorityLevelConfiguration"], "name");
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
    let condition = json!({
        "type": "Dangling", "status": status, "lastTransitionTime": meta::now(), "reason": reason, "message": message,
    });
    // If the schema is deleted at the same time, its change causes another round.
    let _ = registry.apply_condition(target, MANAGER, &condition);
}
