//! How a schema's type is called in documentation and in diffs.

use serde_json::Value;

/// Returns the type in words: `list of string`, `map of integer`, `integer or string`.
pub(crate) fn type_name(schema: &Value) -> String {
    if schema["x-kubernetes-int-or-string"] == true {
        return "integer or string".into();
    }
    let name = match schema["type"].as_str() {
        Some("array") => format!("list of {}", type_name(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("map of {}", type_name(&schema["additionalProperties"]))
        }
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    };
    match schema["format"].as_str() {
        Some(format) if name == "string" => format!("{name} ({format})"),
        _ => name,
    }
}
