//! The shared parameters of OpenAPI version 2: parameters that do not depend on a kind are defined once and referred to.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Map, Value, json};

/// The keys of a parameter in the order in which kube-apiserver writes them. Names of shared parameters contain a hash of this text.
const KEYS: &[&str] = &[
    "uniqueItems",
    "type",
    "description",
    "name",
    "in",
    "required",
    "schema",
];

/// Replaces the parameters of paths that can be shared with references. Returns the shared parameters by name.
pub(super) fn share(paths: &mut Map<String, Value>) -> Map<String, Value> {
    let mut shared = Map::new();
    for item in paths.values_mut() {
        for (key, value) in item.as_object_mut().into_iter().flatten() {
            let list = if key == "parameters" {
                Some(value)
            } else {
                value.get_mut("parameters")
            };
            let list = list.and_then(Value::as_array_mut).into_iter().flatten();
            for parameter in list.filter(|parameter| is_shared(parameter)) {
                let name = shared_name(parameter);
                let reference = json!({ "$ref": format!("#/parameters/{name}") });
                shared.insert(name, std::mem::replace(parameter, reference));
            }
        }
    }
    shared
}

/// Parameters with a name or a schema of the kind are not shared, and those by which kubectl learns what the server supports.
fn is_shared(parameter: &Value) -> bool {
    match (parameter["name"].as_str(), parameter["in"].as_str()) {
        (Some("name"), _) | (Some("fieldValidation" | "dryRun"), Some("query")) => false,
        (_, Some("body")) => parameter["schema"]["$ref"]
            .as_str()
            .is_none_or(|name| name.starts_with("#/definitions/io.k8s.apimachinery")),
        _ => true,
    }
}

fn shared_name(parameter: &Value) -> String {
    let fields = KEYS.iter().filter_map(|key| {
        let value = parameter.get(key)?;
        Some(format!("{}:{value}", json!(key)))
    });
    let text = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
    let hash = fnv(text.as_bytes()).to_be_bytes();
    let name = parameter["name"].as_str().unwrap_or_default();
    format!("{name}-{}", URL_SAFE.encode(&hash[..6]))
}

/// The 64-bit FNV-1 hash.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kube_apiserver() {
        let reference = json!({ "$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions" });
        let options = json!({ "name": "body", "in": "body", "schema": reference });
        let own = json!({ "name": "body", "in": "body", "schema": { "$ref": "#/definitions/io.k8s.api.core.v1.Pod" } });
        let mut paths = Map::new();
        paths.insert("/a".into(), json!({ "delete": { "parameters": [options, own] } }));
        let shared = share(&mut paths);
        assert_eq!(shared.keys().collect::<Vec<_>>(), ["body-2Y1dVQaQ"]);
        let parameters = &paths["/a"]["delete"]["parameters"];
        assert_eq!(parameters[0]["$ref"], "#/parameters/body-2Y1dVQaQ");
        assert_eq!(parameters[1], own);
    }
}
