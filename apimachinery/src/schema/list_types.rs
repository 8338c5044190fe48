//! Checks of a schema's list types and map types.

use super::lists::key_names;
use crate::field::FieldError;
use serde_json::Value;

/// Checks the list and map types of one schema.
pub(super) fn check_lists(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let at = |name: &str| format!("{path}.{name}");
    let ty = schema["type"].as_str().unwrap_or_default();
    let items = &schema["items"];
    let keys: Vec<&str> = key_names(schema).collect();
    let list_type = schema["x-kubernetes-list-type"].as_str();
    if let Some(list_type) = list_type {
        if !["atomic", "set", "map"].contains(&list_type) {
            errors.push(FieldError::not_supported(
                &at("x-kubernetes-list-type"),
                list_type,
                ["atomic", "set", "map"],
            ));
        }
        if ty != "array" {
            let detail = "must be array if x-kubernetes-list-type is specified";
            errors.push(wrong_type(&at("type"), ty, detail));
        }
    }
    if !keys.is_empty() && list_type != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        let field = at("x-kubernetes-list-type");
        errors.push(list_type.map_or_else(
            || FieldError::required(&field, detail),
            |list| FieldError::invalid(&field, list, detail),
        ));
    }
    match list_type {
        Some("set") if ty == "array" => check_set(items, path, errors),
        Some("map") => check_map(items, &keys, schema, path, errors),
        _ => {}
    }
    if let Some(list_type @ ("set" | "map")) = list_type
        && items["nullable"] == true
    {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(&at("items.nullable"), detail));
    }
    if let Some(map_type) = schema["x-kubernetes-map-type"].as_str() {
        if !["atomic", "granular"].contains(&map_type) {
            errors.push(FieldError::not_supported(
                &at("x-kubernetes-map-type"),
                map_type,
                ["atomic", "granular"],
            ));
        }
        if ty != "object" {
            let detail = "must be object if x-kubernetes-map-type is specified";
            errors.push(wrong_type(&at("type"), ty, detail));
        }
    }
}

/// The error for a schema without the type that another keyword needs.
pub(super) fn wrong_type(path: &str, ty: &str, detail: &str) -> FieldError {
    if ty.is_empty() {
        FieldError::required(path, detail)
    } else {
        FieldError::invalid(path, ty, detail)
    }
}

fn check_set(items: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (kind, field) = match items["type"].as_str() {
        Some("object") => (&items["x-kubernetes-map-type"], "x-kubernetes-map-type"),
        Some("array") => (&items["x-kubernetes-list-type"], "x-kubernetes-list-type"),
        _ => return,
    };
    // A nested list is atomic by default, an object is not.
    let is_atomic = *kind == "atomic" || (field == "x-kubernetes-list-type" && kind.is_null());
    if !is_atomic {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        // The real server shows the list type of objects, too.
        let shown = items["x-kubernetes-list-type"].clone();
        errors.push(FieldError::invalid(
            &format!("{path}.items.{field}"),
            shown,
            detail,
        ));
    }
}

fn check_map(items: &Value, keys: &[&str], schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let field = format!("{path}.x-kubernetes-list-map-keys");
    if keys.is_empty() {
        errors.push(FieldError::required(
            &field,
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    if items.is_null() {
        let detail = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&format!("{path}.items"), detail));
        return;
    }
    if items.is_array() {
        let detail = "must only have a single schema if x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(
            &format!("{path}.items"),
            items.clone(),
            detail,
        ));
        return;
    }
    let is_object = items["type"] == "object";
    if !is_object {
        let ty = items["type"].as_str().unwrap_or_default();
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(&format!("{path}.items.type"), ty, detail));
    }
    let mut refuse_keys = |detail| {
        let keys = schema["x-kubernetes-list-map-keys"].clone();
        errors.push(FieldError::invalid(&field, keys, detail));
    };
    if is_object && keys.iter().any(|key| items["properties"].get(*key).is_none()) {
        refuse_keys("entries must all be names of item properties");
    }
    let mut earlier = keys.iter().enumerate();
    if is_object && earlier.any(|(index, key)| keys[..index].contains(key)) {
        refuse_keys("must not contain duplicate entries");
    }
    for key in keys {
        let Some(property) = items["properties"].get(*key) else {
            continue;
        };
        let property_path = format!("{path}.items.properties[{key}]");
        if let Some("object" | "array") = property["type"].as_str()
            && is_object
        {
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            // As on the real server, this shows the type of the item.
            errors.push(FieldError::invalid(
                &format!("{property_path}.type"),
                "object",
                detail,
            ));
        }
        let required = items["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|name| name == key));
        if !required && property["default"].is_null() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(&format!("{property_path}.default"), detail));
        }
        if property["nullable"] == true {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(
                &format!("{property_path}.nullable"),
                detail,
            ));
        }
    }
}
