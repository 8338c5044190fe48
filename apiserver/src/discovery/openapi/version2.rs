//! OpenAPI version 2, converted from version 3.

use super::operation_parts::CUSTOM_TYPES;
use serde_json::{Map, Value, json};

/// The order of media types in lists.
const MEDIA_TYPES: &[&str] = &[
    "text/plain",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// Converts an item of the paths.
pub(super) fn path_item(item: &Value) -> Value {
    let mut converted = Map::new();
    for (key, value) in item.as_object().into_iter().flatten() {
        let value = if key == "parameters" {
            parameters(value).into()
        } else {
            operation(value)
        };
        converted.insert(key.clone(), value);
    }
    converted.into()
}

fn operation(operation: &Value) -> Value {
    let content = |value: &Value| -> Vec<String> {
        let types = value["content"].as_object().into_iter().flatten();
        let mut types: Vec<String> = types.map(|(media_type, _)| media_type.clone()).collect();
        let rank = |media_type: &String| {
            let known = MEDIA_TYPES.iter().position(|known| known == media_type);
            known.unwrap_or(MEDIA_TYPES.len())
        };
        types.sort_by_key(rank);
        types
    };
    let mut converted = json!({ "schemes": ["https"], "produces": content(&operation["responses"]["200"]) });
    let body = &operation["requestBody"];
    let is_custom = converted["produces"] == json!(CUSTOM_TYPES);
    let is_action = !operation["x-kubernetes-action"].is_null();
    if !body.is_null() {
        converted["consumes"] = json!(content(body));
    } else if is_action && !is_custom {
        converted["consumes"] = json!(["*/*"]);
    } else if first_schema(&operation["responses"]["200"])["type"] != "string" {
        // Custom resources and discovery, but not the documents about the keys of tokens.
        converted["consumes"] = converted["produces"].clone();
    }
    let mut all = parameters(&operation["parameters"]);
    if !body.is_null() {
        let mut parameter = json!({ "name": "body", "in": "body", "schema": schema(first_schema(body)) });
        if body["required"] == true {
            parameter["required"] = json!(true);
        }
        all.push(parameter);
        all.sort_by_cached_key(|parameter| parameter["name"].as_str().unwrap_or_default().to_owned());
    }
    if !all.is_empty() {
        converted["parameters"] = all.into();
    }
    for (code, response) in operation["responses"].as_object().into_iter().flatten() {
        let mut value = json!({ "description": response["description"] });
        if !response["content"].is_null() {
            value["schema"] = schema(first_schema(response));
        }
        converted["responses"][code] = value;
    }
    for (key, value) in operation.as_object().into_iter().flatten() {
        if matches!(key.as_str(), "tags" | "description" | "operationId") || key.starts_with("x-") {
            converted[key] = value.clone();
        }
    }
    converted
}

/// Returns the schema of the first media type.
fn first_schema(value: &Value) -> &Value {
    let content = value["content"].as_object().into_iter().flatten();
    content
        .map(|(_, content)| &content["schema"])
        .next()
        .unwrap_or(&Value::Null)
}

fn parameters(list: &Value) -> Vec<Value> {
    let parameter = |parameter: &Value| {
        let mut converted = parameter.clone();
        if let Value::Object(fields) = &mut converted
            && let Some(Value::Object(schema)) = fields.remove("schema")
        {
            fields.extend(schema);
        }
        converted
    };
    list.as_array().into_iter().flatten().map(parameter).collect()
}

/// Converts the schema of a built-in type: defaults are omitted.
pub(super) fn schema(schema: &Value) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    let mut converted = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            "default" => {}
            "allOf" => {
                if let Some(reference) = value[0]["$ref"].as_str() {
                    converted.insert("$ref".into(), definition_reference(reference));
                }
            }
            "$ref" => {
                converted.insert(
                    key.clone(),
                    definition_reference(value.as_str().unwrap_or_default()),
                );
            }
            // Texts that may be numbers.
            "oneOf" => {
                converted.insert("type".into(), json!("string"));
            }
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties = properties.map(|(name, value)| (name.clone(), self::schema(value)));
                converted.insert(key.clone(), properties.collect::<Map<_, _>>().into());
            }
            "items" | "additionalProperties" => {
                converted.insert(key.clone(), self::schema(value));
            }
            _ => {
                converted.insert(key.clone(), value.clone());
            }
        }
    }
    converted.into()
}

fn definition_reference(reference: &str) -> Value {
    reference
        .replace("#/components/schemas/", "#/definitions/")
        .into()
}

/// Converts the schema of a custom resource: what version 2 does not have, or kubectl does not understand, is omitted.
pub(super) fn custom_schema(document: &Value) -> Value {
    // kubectl would refuse unknown fields.
    if document["x-kubernetes-preserve-unknown-fields"] == true {
        let extensions = document.as_object().into_iter().flatten();
        let kept = extensions.filter(|(key, _)| {
            matches!(
                key.as_str(),
                "x-kubernetes-group-version-kind" | "x-kubernetes-selectable-fields"
            )
        });
        let mut schema: Map<String, Value> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        schema.insert("type".into(), json!("object"));
        return schema.into();
    }
    nested_custom_schema(document)
}

fn nested_custom_schema(document: &Value) -> Value {
    let Value::Object(fields) = document else {
        return document.clone();
    };
    let mut schema = self::schema(&Value::Object(
        fields
            .iter()
            .filter(|(key, _)| {
                let is_reference = key.as_str() == "allOf" && document["allOf"][0].get("$ref").is_some();
                is_reference
                    || !matches!(
                        key.as_str(),
                        "allOf"
                            | "anyOf"
                            | "oneOf"
                            | "not"
                            | "nullable"
                            | "properties"
                            | "items"
                            | "additionalProperties"
                    )
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    ));
    let is_nullable = |schema: &Value| schema["nullable"] == true;
    let preserves = document["x-kubernetes-preserve-unknown-fields"] == true;
    let hides_fields = preserves || is_nullable(document);
    if let Some(values) = fields.get("additionalProperties") {
        schema["additionalProperties"] = nested_custom_schema(values);
        if is_nullable(values) {
            remove(&mut schema, "required");
        }
    }
    if !hides_fields {
        let properties = fields.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            schema["properties"][name] = nested_custom_schema(property);
            if is_nullable(property) {
                remove_required(&mut schema, name);
            }
        }
        if let Some(items) = fields.get("items") {
            schema["items"] = nested_custom_schema(items);
        }
    }
    if preserves && document["x-kubernetes-embedded-resource"] == true {
        for name in ["kind", "apiVersion"] {
            remove_required(&mut schema, name);
        }
    }
    let has_no_items = schema["type"] == "array" && schema.get("items").is_none();
    if is_nullable(document) || has_no_items || preserves && schema["type"] == "object" {
        remove(&mut schema, "type");
    }
    schema
}

fn remove_required(schema: &mut Value, name: &str) {
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|required| required != name);
        if required.is_empty() {
            remove(schema, "required");
        }
    }
}

fn remove(schema: &mut Value, key: &str) {
    if let Value::Object(fields) = schema {
        fields.remove(key);
    }
}
