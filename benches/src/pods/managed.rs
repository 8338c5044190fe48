//! managedFields, worked out from what each manager set.

use serde_json::{Map, Value, json};

/// The volume that admission adds for the service account; nobody owns it.
pub(super) const TOKEN: &str = "kube-api-access-x7k2p";

/// What of a Pod's spec was sent by who created it: the rest was filled in or came later.
pub(super) fn as_created(spec: &Value) -> Value {
    const LATER: [&str; 4] = ["nodeName", "preemptionPolicy", "priority", "tolerations"];
    let fields = spec.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| !LATER.contains(&name.as_str()));
    fields
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The entry of a manager that owns all of `owned`.
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

/// The set of fields of `value` as the API server writes it: a tree of names, list items by their key.
fn field_set(value: &Value) -> Value {
    let children: Map<String, Value> = match value {
        Value::Object(fields) => {
            let set = |name: &str, value| match name {
                // Owned as a whole.
                "containerStatuses" | "resources" | "tolerations" | "nodeSelector" => json!({}),
                _ => field_set(value),
            };
            let named = fields.iter();
            named
                .map(|(name, value)| (format!("f:{name}"), set(name, value)))
                .collect()
        }
        Value::Array(items) => {
            let owned = items.iter().filter(|item| item["name"] != TOKEN);
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

/// An item is owned itself, too.
fn with_dot(mut set: Value) -> Value {
    set["."] = json!({});
    set
}

fn item_key(item: &Value) -> Option<Value> {
    if item["type"] == "PodScheduled" {
        // The scheduler's.
        return None;
    }
    if item.get("containerPort").is_some() {
        return Some(json!({"containerPort": item["containerPort"], "protocol": item["protocol"]}));
    }
    let keys = ["mountPath", "type", "uid", "ip", "name"];
    let key = keys.into_iter().find(|key| item.get(key).is_some())?;
    Some(json!({key: item[key]}))
}
