//! Generates the API documentation from the CRDs.

use std::fmt::Write as _;

use kubewright_api_types::allowed_values;
use serde_json::Value;

use super::{KindManifest, Manifests};
use crate::{names::kubectl_resource, schema_type::type_name};

/// Path of the generated file.
pub const PATH: &str = "docs/api.md";

/// Returns the Markdown text: a table of fields per kind and version.
pub fn text(manifests: &Manifests) -> String {
    let mut text = format!("# The API of {}\n", manifests.operator);
    for (kind, crd) in manifests.defined_crds() {
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            write_version(&mut text, kind, version);
        }
    }
    text
}

fn write_version(text: &mut String, kind: &KindManifest, version: &Value) {
    let schema = &version["schema"]["openAPIV3Schema"];
    let name = version["name"].as_str().unwrap_or_default();
    let scope = if kind.namespaced {
        "Namespaced"
    } else {
        "Cluster-scoped"
    };
    let served = if version["served"] == false {
        "; not served"
    } else {
        ""
    };
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n## {} ({}/{name})\n\n{scope}{served}.",
        kind.kind, kind.group
    );
    if let Some(description) = schema["description"].as_str() {
        let _ = write!(text, " {}", one_line(description));
    }
    text.push('\n');
    for part in ["spec", "status"] {
        let Some(schema) = schema["properties"].get(part) else {
            continue;
        };
        let mut rows = Vec::new();
        collect(&mut rows, part, schema);
        if !rows.is_empty() {
            text.push_str(
                "\n| field | type | required | default | constraints | description |\n|---|---|---|---|---|---|\n",
            );
            text.push_str(&rows.concat());
        }
    }
    let columns: Vec<_> = version["additionalPrinterColumns"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    if !columns.is_empty() {
        let names: Vec<_> = columns
            .iter()
            .filter_map(|column| column["name"].as_str())
            .collect();
        let _ = write!(
            text,
            "\n`kubectl get {}` shows: {}.\n",
            kubectl_resource(&kind.plural, &kind.kind.to_ascii_lowercase(), &kind.group),
            names.join(", ")
        );
    }
}

/// Appends the rows of all fields below `path`, depth first.
fn collect(rows: &mut Vec<String>, path: &str, schema: &Value) {
    if let Some(items) = schema.get("items") {
        collect(rows, &format!("{path}[]"), items);
    }
    if let Some(values) = schema
        .get("additionalProperties")
        .filter(|values| values.is_object())
    {
        collect(rows, &format!("{path}.*"), values);
    }
    let required: Vec<_> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let required = if required.contains(&name.as_str()) {
            "yes"
        } else {
            ""
        };
        let default = field
            .get("default")
            .map(|value| format!("`{value}`"))
            .unwrap_or_default();
        let description = field["description"].as_str().map(one_line).unwrap_or_default();
        let constraints = constraints(field).join(", ");
        let cells = [
            &format!("`{path}`"),
            &type_name(field),
            required,
            &default,
            &constraints,
            &description,
        ];
        rows.push(format!(
            "| {} |\n",
            cells.map(|cell| cell.replace('|', "\\|")).join(" | ")
        ));
        collect(rows, &path, field);
    }
}

fn constraints(schema: &Value) -> Vec<String> {
    let mut constraints = Vec::new();
    if let Some(values) = allowed_values(schema) {
        constraints.push(
            values
                .iter()
                .map(|value| format!("`{value}`"))
                .collect::<Vec<_>>()
                .join(" or "),
        );
    }
    let bounds = [
        ("minimum", "≥"),
        ("maximum", "≤"),
        ("minLength", "length ≥"),
        ("maxLength", "length ≤"),
        ("minItems", "items ≥"),
        ("maxItems", "items ≤"),
        ("minProperties", "entries ≥"),
        ("maxProperties", "entries ≤"),
        ("multipleOf", "multiple of"),
    ];
    for (key, words) in bounds {
        if let Some(bound) = schema.get(key).filter(|bound| bound.is_number()) {
            let exclusive = match key {
                "minimum" if schema["exclusiveMinimum"] == true => ", exclusive",
                "maximum" if schema["exclusiveMaximum"] == true => ", exclusive",
                _ => "",
            };
            constraints.push(format!("{words} {bound}{exclusive}"));
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        constraints.push(format!("matches `{pattern}`"));
    }
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let rule = rule["message"].as_str().map_or_else(
            || format!("`{}`", rule["rule"].as_str().unwrap_or_default()),
            one_line,
        );
        constraints.push(rule);
    }
    constraints
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn lists_all_fields_and_constraints() {
        let schema = json!({"properties": {"spec": {
        "type": "object",
        "required": ["size"],
        "properties": {
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "size": {"type": "integer", "minimum": 1, "maximum": 3, "description": "How\nbig | small."},
            "tags": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            "ports": {"type": "array", "items": {"type": "object", "properties": {
                "port": {"x-kubernetes-int-or-string": true}}}},
        }}}});
        let kind = KindManifest {
            group: "demo.dev".into(),
            kind: "Foo".into(),
            plural: "foos".into(),
            namespaced: false,
            external: false,
            rust_types: BTreeMap::new(),
            conversion: None,
            crd: Some(json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}})),
        };
        let manifests = Manifests {
            operator: "shop".into(),
            kinds: vec![kind],
            permissions: vec![],
            webhooks: None,
            warnings: vec![],
        };
        assert_eq!(
            text(&manifests),
            "# The API of shop\n\n## Foo (demo.dev/v1)\n\nCluster-scoped.\n\n\
             | field | type | required | default | constraints | description |\n|---|---|---|---|---|---|\n\
             | `spec.mode` | string |  | `\"a\"` | `\"a\"` or `\"b\"` |  |\n\
             | `spec.ports` | list of object |  |  |  |  |\n\
             | `spec.ports[].port` | integer or string |  |  |  |  |\n\
             | `spec.size` | integer | yes |  | ≥ 1, ≤ 3 | How big \\| small. |\n\
             | `spec.tags` | map of list of string |  |  |  |  |\n"
        );
    }
}
