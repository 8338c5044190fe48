use serde_json::json;

use super::*;

fn check_path(path: &'static str, value_type: IndexType) -> Result<(), String> {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {
                "deploymentName": {"type": "string"},
                "replicas": {"type": "integer", "nullable": true},
                "ratio": {"type": "number"},
                "paused": {"type": "boolean"},
                "port": {"x-kubernetes-int-or-string": true},
                "ports": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "tags": {"type": "array", "items": {"type": "string"}},
                "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
                "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "anything": {},
            }},
        },
    });
    let schema: JSONSchemaProps = serde_json::from_value(schema).unwrap();
    check_index(
        &with_metadata(&schema),
        &IndexSpec {
            name: "by_it",
            path,
            value_type,
        },
    )
}

#[test]
fn valid_paths_are_accepted() {
    let cases = [
        ("spec.deploymentName", IndexType::String),
        ("spec.replicas", IndexType::Integer),
        ("spec.paused", IndexType::Bool),
        ("spec.port", IndexType::String),
        ("spec.port", IndexType::Integer),
        ("spec.ports[*].name", IndexType::String),
        ("spec.tags[*]", IndexType::String),
        ("spec.limits['cpu.io/x']", IndexType::Integer),
        ("spec.template.spec.containers[*].image", IndexType::String),
        ("spec.anything.at.all", IndexType::Bool),
        ("metadata.name", IndexType::String),
        ("metadata.labels['app.kubernetes.io/name']", IndexType::String),
        ("metadata.ownerReferences[*].uid", IndexType::String),
        ("metadata.generation", IndexType::Integer),
    ];
    for (path, value_type) in cases {
        assert_eq!(check_path(path, value_type), Ok(()), "{path}");
    }
}

#[test]
fn errors_of_invalid_paths_name_the_fix() {
    use IndexType::{Bool, Integer, String};
    let cases = [
        (
            "spec.deploymentNam",
            String,
            "`spec` has no field `deploymentNam`: did you mean `deploymentName`?",
        ),
        ("spec.deployment_name", String, "did you mean `deploymentName`?"),
        (
            "specs.replicas",
            Integer,
            "`the object` has no field `specs`: did you mean `spec`?",
        ),
        (
            "spec.ports[*].port",
            Integer,
            "`spec.ports[*]` has no field `port`: the fields are name",
        ),
        (
            "spec.replicas",
            String,
            "the index has a String and the schema an integer: change the index's type",
        ),
        (
            "spec.port",
            Bool,
            "the index has a bool and the schema an integer or string",
        ),
        (
            "spec.ratio",
            Integer,
            "only strings, booleans and integers are indexed",
        ),
        (
            "spec.template",
            String,
            "`spec.template` is an object: name one of its fields",
        ),
        (
            "spec.tags",
            String,
            "`spec.tags` is an array: write `spec.tags[*]`",
        ),
        (
            "spec.ports.name",
            String,
            "`spec.ports` is an array: write `spec.ports[*].name`",
        ),
        (
            "spec.deploymentName[*]",
            String,
            "`spec.deploymentName` is a string, not an array: remove `[*]`",
        ),
        ("spec[*].x", String, "`spec` is an object, not an array"),
        (
            "spec.replicas.x",
            Integer,
            "`spec.replicas` is an integer, which has no fields",
        ),
        ("metadata.label.x", String, "did you mean `labels`?"),
        ("spec..x", String, "expected the name of a field"),
    ];
    for (path, value_type, expected) in cases {
        let reason = check_path(path, value_type).unwrap_err();
        assert!(reason.contains(expected), "{path}: {reason}");
    }
}
