//! The code that `kubewright import` makes of schemas.

use kubewright_cli::{
    imports::{Definition, definitions},
    manifests::descriptions::Descriptions,
};
use serde_json::{Value, json};

/// Returns a definition with a schema.
fn definition(schema: &Value) -> Definition {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.demo.dev", "annotations": {"a": "b"}},
        "spec": {
            "group": "demo.dev", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [
                {"name": "v1beta1", "served": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
                {"name": "v1", "served": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}},
                {"name": "v2", "served": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
            ],
        },
    });
    Definition::of(&crd, None).unwrap()
}

/// Returns the code of a kind with a spec of these properties.
fn code(properties: &Value) -> String {
    let spec = json!({"type": "object", "required": ["a"], "properties": properties});
    let code = definition(&json!({"type": "object", "properties": {"spec": spec}})).code();
    syn::parse_file(&code).unwrap_or_else(|error| panic!("{error}: {code}"));
    code
}

#[test]
fn served_version_of_the_highest_priority_is_imported() {
    let definition = definition(&json!({"type": "object"}));
    assert_eq!(definition.version, "v1");
    assert!(definition.has_status && !definition.has_scale);
    assert_eq!(
        definition.module_path(),
        std::path::Path::new("src/api/imported/demo_dev/thing.rs")
    );
    assert_eq!(definition.crd["metadata"], json!({"name": "things.demo.dev"}));
    let mut approved = definition.crd.clone();
    approved["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved", "a": "b"});
    let metadata = &Definition::of(&approved, None).unwrap().crd["metadata"];
    assert_eq!(
        metadata["annotations"],
        json!({"api-approved.kubernetes.io": "unapproved"})
    );
    let wanted = Definition::of(&definition.crd, Some("v2")).unwrap();
    assert_eq!(wanted.version, "v2");
}

#[test]
fn each_schema_has_a_type() {
    for (schema, ty) in [
        (json!({"type": "boolean"}), "bool"),
        (json!({"type": "integer", "format": "int32"}), "i32"),
        (json!({"type": "integer"}), "i64"),
        (
            json!({"type": "number", "format": "double"}),
            "serde_json::Number",
        ),
        (json!({"type": "string", "format": "date-time"}), "String"),
        (
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
            "ThingIntOrString",
        ),
        (
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            "serde_json::Value",
        ),
        (
            json!({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}),
            "Vec<Vec<String>>",
        ),
        (
            json!({"type": "array", "items": {"type": "string", "nullable": true}}),
            "Vec<Option<String>>",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            "std::collections::BTreeMap<String, i64>",
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            "std::collections::BTreeMap<String, serde_json::Value>",
        ),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}),
            "std::collections::BTreeMap<String, serde_json::Value>",
        ),
        (
            json!({"type": "object", "properties": {"b": {"type": "string"}}}),
            "ThingSpecA",
        ),
        (json!({"type": "string", "enum": ["b"]}), "ThingSpecA"),
    ] {
        let required = code(&json!({"a": schema}));
        assert!(required.contains(&format!("    pub a: {ty},\n")), "{required}");
        let optional = code(&json!({"b": schema}));
        let ty = ty.replace("ThingSpecA", "ThingSpecB");
        assert!(
            optional.contains(&format!("    pub b: Option<{ty}>,\n")),
            "{optional}"
        );
    }
}

#[test]
fn null_defaults_and_unknown_fields_are_kept() {
    let nullable =
        code(&json!({"a": {"type": "string", "nullable": true}, "b": {"type": "string", "nullable": true}}));
    assert!(nullable.contains("    pub a: Option<String>,\n"), "{nullable}");
    assert!(nullable.contains("    #[serde(default, deserialize_with = \"present\", skip_serializing_if = \"Option::is_none\")]\n    pub b: Option<Option<String>>,\n"), "{nullable}");
    let with_default = code(&json!({"a": {"type": "string", "default": "b"}}));
    assert!(with_default.contains("pub a: Option<String>"), "{with_default}");
    let open = code(&json!({"b": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"other": {"type": "string"}},
    }}));
    assert!(
        open.contains("    #[serde(flatten)]\n    pub other2: std::collections::BTreeMap"),
        "{open}"
    );
}

#[test]
fn names_do_not_collide() {
    let code = code(&json!({
        "a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {"type": "string"}}}}},
        "aB": {"type": "object", "properties": {"c": {"type": "string"}}},
        "x-y": {"type": "string"}, "x_y": {"type": "string"}, "type": {"type": "string"},
        "e": {"type": "string", "enum": ["", "a-b", "a b", "1.2", "Unknown", "Self"]},
    }));
    for line in [
        "pub struct ThingSpecAB {",
        "pub struct ThingSpecAB2 {",
        "    #[serde(rename = \"x-y\", skip_serializing_if = \"Option::is_none\")]\n    pub x_y: Option<String>,",
        "    #[serde(rename = \"x_y\", skip_serializing_if = \"Option::is_none\")]\n    pub x_y2: Option<String>,",
        "    pub r#type: Option<String>,",
        "    #[serde(rename = \"\")]\n    Empty,\n    #[serde(rename = \"a-b\")]\n    AB,\n    #[serde(rename = \"a b\")]\n    AB2,\n",
        "    #[serde(rename = \"1.2\")]\n    V12,\n    Unknown,\n    #[serde(rename = \"Self\")]\n    SelfValue,\n",
        "    #[serde(untagged)]\n    Unknown2(String),\n",
    ] {
        assert!(code.contains(line), "{line} is not in {code}");
    }
}

#[test]
fn invalid_definitions_are_errors_that_name_the_field() {
    let good = definition(&json!({"type": "object"})).crd;
    let edited = |pointer: &str, value: Value| {
        let mut crd = good.clone();
        *crd.pointer_mut(pointer).unwrap() = value;
        Definition::of(&crd, None).unwrap_err().to_string()
    };
    for (pointer, value, expected) in [
        (
            "/apiVersion",
            json!("apiextensions.k8s.io/v1beta1"),
            "removed in 1.22",
        ),
        ("/spec/group", json!(3), "spec.group is missing"),
        ("/spec/names/kind", json!(null), "spec.names.kind is missing"),
        ("/spec/names/kind", json!("Option"), "write the struct by hand"),
        ("/spec/versions", json!([]), "spec.versions is missing"),
        ("/spec/versions/1/schema", json!({}), "openAPIV3Schema is missing"),
    ] {
        let error = edited(pointer, value);
        assert!(error.contains(expected), "{error}");
    }
    let error = Definition::of(&good, Some("v3")).unwrap_err().to_string();
    assert_eq!(
        error,
        "things.demo.dev has no version v3: choose one of v1beta1, v1, v2"
    );
}

#[test]
fn lists_of_definitions_are_read() {
    let crd = definition(&json!({"type": "object"})).crd;
    let list = json!({"kind": "List", "items": [crd, {"kind": "Service"}]});
    assert_eq!(
        definitions(vec![list, crd.clone(), json!({"kind": "Service"})]),
        [crd.clone(), crd]
    );
}

/// Replaces each value of a definition by others, one at a time: the result is code, or an error.
#[test]
fn any_shape_is_imported_or_refused() {
    fn pointers(value: &Value, pointer: &str, found: &mut Vec<String>) {
        found.push(pointer.to_owned());
        let children: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(at, item)| (at.to_string(), item))
                .collect(),
            _ => Vec::new(),
        };
        for (name, child) in children {
            pointers(child, &format!("{pointer}/{name}"), found);
        }
    }
    let crd = definition(&json!({
        "type": "object", "required": ["spec"], "description": "a", "properties": {"spec": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "a": {"type": "array", "items": {"type": "string", "enum": ["a", "b"], "nullable": true}},
                "b": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}, "default": {}},
                "c": {"type": "integer", "format": "int32"},
            },
        }},
    }));
    let mut found = Vec::new();
    pointers(&crd.crd, "", &mut found);
    let mut imported = 0;
    for pointer in &found {
        for value in [
            json!(null),
            json!(3),
            json!("x"),
            json!([]),
            json!([3]),
            json!({}),
            json!({"a": {}}),
            json!(true),
        ] {
            let mut edited = crd.crd.clone();
            *edited.pointer_mut(pointer).unwrap() = value;
            assert!(definitions(vec![edited.clone()]).len() <= 1);
            let short = Descriptions::Short.apply(&edited);
            if let Ok(definition) = Definition::of(&short, Some("v1")) {
                let code = definition.code();
                syn::parse_file(&code).unwrap_or_else(|error| panic!("{pointer}: {error}: {code}"));
                imported += 1;
            }
        }
    }
    assert!(imported > 100, "{imported}");
}
