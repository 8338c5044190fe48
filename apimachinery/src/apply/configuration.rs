//! Merging of an apply configuration without field managers, as mutating admission policies do.

use super::atom::{Atom, AtomKind};
use super::path_element::PathElement;
use super::{typed_value, validate};
use crate::types::Type;
use serde_json::Value;

/// Merges an apply configuration into an object of the same kind.
///
/// # Errors
///
/// Returns kube-apiserver's message if one of them does not match the type, or if the configuration sets a list, map or struct that can only
/// be replaced as a whole.
pub fn merge_configuration(object: &Value, configuration: &Value, ty: &Type) -> Result<Value, String> {
    validate::validate(configuration, ty)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let mut atomic = vec![];
    find_atomic(configuration, ty, "", &mut atomic);
    if !atomic.is_empty() {
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomic.join(", ")
        ));
    }
    validate::validate_live(object, ty)
        .map_err(|why| format!("failed to convert original object to typed object: {why}"))?;
    Ok(typed_value::merge(object, configuration, ty))
}

/// Adds the paths of what can only be replaced as a whole.
fn find_atomic(value: &Value, ty: &Type, path: &str, found: &mut Vec<String>) {
    match (Atom::of(ty).deduce(Some(value)).kind(), value) {
        (Some(AtomKind::Map(map)), Value::Object(fields)) => {
            if map.atomic {
                found.push(path.to_owned());
            }
            for (name, value) in fields {
                // kube-apiserver looks only into fields that the schema names.
                if let Some(field) = map.field(name) {
                    let path = format!("{path}{}", PathElement::Field(name.clone()));
                    find_atomic(value, &field.ty, &path, found);
                }
            }
        }
        (Some(AtomKind::List(list)), Value::Array(items)) => {
            if list.is_atomic() {
                found.push(path.to_owned());
            }
            for (at, item) in items.iter().enumerate() {
                find_atomic(item, list.items, &format!("{path}[{at}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types;
    use serde_json::json;

    fn merge(kind: &str, object: &Value, configuration: &Value) -> Result<Value, String> {
        merge_configuration(object, configuration, types::builtin("v1", kind).unwrap())
    }

    #[test]
    fn items_are_merged_by_their_keys() {
        let pod = json!({ "spec": { "containers": [{ "name": "a", "image": "i" }], "hostname": "h" } });
        let sidecar = json!({ "spec": { "containers": [{ "name": "b", "image": "j" }, { "name": "a", "tty": true }] } });
        let merged = json!({ "spec": {
            "containers": [{ "name": "b", "image": "j" }, { "name": "a", "image": "i", "tty": true }], "hostname": "h",
        } });
        assert_eq!(merge("Pod", &pod, &sidecar), Ok(merged));
    }

    #[test]
    fn what_is_replaced_as_a_whole_is_refused() {
        let pod = json!({ "spec": { "containers": [{ "name": "a" }] } });
        let args = json!({ "spec": { "containers": [{ "name": "a", "args": ["x"] }], "nodeSelector": { "a": "b" } } });
        assert_eq!(
            merge("Pod", &pod, &args).unwrap_err(),
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].args, .spec.nodeSelector"
        );
    }

    #[test]
    fn configurations_must_match_the_type() {
        let why = merge("Pod", &json!({}), &json!({ "spec": { "color": "red" } })).unwrap_err();
        assert_eq!(
            why,
            "failed to convert patch object to typed object: .spec.color: field not declared in schema"
        );
    }
}
