//! Computes managedFields from the fields that each manager set.

use serde_json::{Map, Value, json};

/// The volume that admission adds for the service account's token. It has no owner in managedFields.
pub(super) const TOKEN_VOLUME: &str = "kube-api-access-x7k2p";

/// Returns the fields of a Pod's spec that its creator sent, without fields that were defaulted or set later.
pub(super) fn as_created(spec: &Value) -> Value {
    const LATER: [&str; 4] = ["nodeName", "preemptionPolicy", "priority", "tolerations"];
    let fields = spec.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| !LATER.contains(&name.as_str()));
    fields
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns the managedFields entry of a manager that owns all fields of `owned`.
pub(super) fn entry(manager: &str, subresource: Option<&str>, time: &str, owned: &Value) -> Value {
    let mut entry = json!({
        "manager": manager, "operation": "Update", "apiVersion": "v1", "time": time,
        "fieldsType": "FieldsV1", "fieldsV1": field_set(owned),
    });
    if let Some(subresource) = subresource {
        entry["subresource"] = subresource.into();
    }
    entry
}

/// Returns the field set of `value` in the API server's format: a tree of field names, with list items identified by their keys.
fn field_set(value: &Value) -> Value {
    let children: Map<String, Value> = match value {
        Value::Object(fields) => {
            let set = |name: &str, value| match name {
                // Atomic fields.
                "containerStatuses" | "resources" | "tolerations" | "nodeSelector" => json!({}),
                _ => field_set(value),
            };
            let named = fields.iter();
            named
                .map(|(name, value)| (format!("f:{name}"), set(name, value)))
                .collect()
        }
        Value::Array(items) => {
            let owned = items.iter().filter(|item| item["name"] != TOKEN_VOLUME);
            let keyed = owned.filter_map(|item| Some((item_key(item)?, item)));
            let mut children: Map<String, Value> = keyed
                .map(|(key, item)| (format!("k:{key}"), with_dot(field_set(item))))
                .collect();
            if !children.is_empty() {
                children.insert(".".into(), json!({}));
            }
            children
        }
        _ => Map::new(),
    };
    Value::Object(children)
}

/// Adds the entry `.`, which owns the list item itself.
fn with_dot(mut set: Value) -> Value {
    set["."] = json!({});
    set
}

fn item_key(item: &Value) -> Option<Value> {
    if item["type"] == "PodScheduled" {
        // Owned by the scheduler.
        return None;
    }
    if item.get("containerPort").is_some() {
        return Some(json!({"containerPort": item["containerPort"], "protocol": item["protocol"]}));
    }
    let key_fields = ["mountPath", "type", "uid", "ip", "name"];
    let key = key_fields.into_iter().find(|key| item.get(key).is_some())?;
    Some(json!({key: item[key]}))
}
