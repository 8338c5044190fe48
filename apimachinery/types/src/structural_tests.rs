use super::*;

/// The schema at a path of property names; `[]` is the items of a list.
fn at<'v>(schema: &'v Value, path: &str) -> &'v Value {
    path.split('.')
        .filter(|step| !step.is_empty())
        .fold(schema, |schema, step| {
            let schema = &schema["properties"][step.trim_end_matches("[]")];
            if step.ends_with("[]") {
                &schema["items"]
            } else {
                schema
            }
        })
}

fn without_description(schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema.as_object_mut().unwrap().remove("description");
    schema
}

#[test]
fn lists_have_their_type_and_keys() {
    let template = custom_resource_schema("core.v1.PodTemplateSpec").unwrap();
    let containers = at(&template, "spec.containers");
    assert_eq!(containers["x-kubernetes-list-type"], "map");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    let ports = at(&template, "spec.containers[].ports");
    assert_eq!(
        ports["x-kubernetes-list-map-keys"],
        json!(["containerPort", "protocol"])
    );
    assert_eq!(ports["items"]["required"], json!(["containerPort"]));
    assert_eq!(ports["items"]["properties"]["protocol"]["default"], "TCP");
    assert_eq!(
        at(&template, "spec.containers[].args")["x-kubernetes-list-type"],
        "atomic"
    );
    assert_eq!(
        at(&template, "metadata.finalizers")["x-kubernetes-list-type"],
        "set"
    );
    // Optional keys keep their default, even an empty one. Other fields have no empty default.
    assert_eq!(at(&template, "spec.imagePullSecrets[].name")["default"], "");
    assert_eq!(at(&template, "spec")["default"], Value::Null);
    assert_eq!(
        at(&template, "spec.volumes[].configMap.name")["default"],
        Value::Null
    );
    assert_eq!(
        at(&template, "spec.volumes[].configMap")["x-kubernetes-map-type"],
        Value::Null
    );
    assert_eq!(
        at(&template, "spec.nodeSelector")["x-kubernetes-map-type"],
        "atomic"
    );
}

#[test]
fn list_whose_key_is_optional_has_no_type() {
    let account = custom_resource_schema("core.v1.ServiceAccount").unwrap();
    assert_eq!(at(&account, "secrets")["x-kubernetes-list-type"], Value::Null);
    assert_eq!(at(&account, "secrets[].name")["default"], Value::Null);
}

#[test]
fn metadata_of_templates_has_what_its_author_sets() {
    let template = custom_resource_schema("core.v1.PodTemplateSpec").unwrap();
    let fields = at(&template, "metadata")["properties"].as_object().unwrap();
    let names: Vec<&String> = fields.keys().collect();
    assert_eq!(
        names,
        [
            "annotations",
            "creationTimestamp",
            "finalizers",
            "generateName",
            "labels",
            "name",
            "namespace",
            "ownerReferences"
        ]
    );
}

#[test]
fn scalars_have_their_formats() {
    let template = custom_resource_schema("core.v1.PodTemplateSpec").unwrap();
    let cases = [
        (
            "spec.activeDeadlineSeconds",
            json!({ "type": "integer", "format": "int64" }),
        ),
        (
            "spec.containers[].ports[].containerPort",
            json!({ "type": "integer", "format": "int32" }),
        ),
        (
            "metadata.creationTimestamp",
            json!({ "type": "string", "format": "date-time" }),
        ),
        (
            "spec.containers[].livenessProbe.httpGet.port",
            json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }], "x-kubernetes-int-or-string": true }),
        ),
    ];
    for (path, expected) in cases {
        assert_eq!(without_description(at(&template, path)), expected, "{path}");
    }
    let limits = &at(&template, "spec.containers[].resources.limits")["additionalProperties"];
    assert_eq!(limits["pattern"], QUANTITY_PATTERN);
    assert_eq!(limits["x-kubernetes-int-or-string"], true);
}

#[test]
fn required_is_what_kubernetes_publishes() {
    let template = custom_resource_schema("core.v1.PodTemplateSpec").unwrap();
    assert_eq!(at(&template, "spec")["required"], json!(["containers"]));
    assert_eq!(at(&template, "spec.containers[]")["required"], json!(["name"]));
    assert_eq!(at(&template, "spec.volumes[].configMap")["required"], Value::Null);
    assert_eq!(
        at(&template, "spec.containers[].env[].valueFrom.secretKeyRef")["required"],
        json!(["key"])
    );
}

#[test]
fn conditions_have_the_published_rules() {
    let condition = custom_resource_schema("meta.v1.Condition").unwrap();
    assert_eq!(
        at(&condition, "status")["enum"],
        json!(["True", "False", "Unknown"])
    );
    assert_eq!(at(&condition, "reason")["minLength"], 1);
    assert!(
        at(&condition, "type")["pattern"]
            .as_str()
            .unwrap()
            .contains(r"(\.[a-z0-9]")
    );
    assert_eq!(
        condition["required"],
        json!(["lastTransitionTime", "message", "reason", "status", "type"])
    );
}

#[test]
fn values_of_any_type_keep_their_fields() {
    let revision = custom_resource_schema("apps.v1.ControllerRevision").unwrap();
    let data = without_description(at(&revision, "data"));
    assert_eq!(
        data,
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    );
    let props = custom_resource_schema("apiextensions.v1.JSONSchemaProps").unwrap();
    let nested = &at(&props, "properties")["additionalProperties"];
    assert_eq!(
        nested["x-kubernetes-preserve-unknown-fields"], true,
        "a type within itself"
    );
}

#[test]
fn names_of_scalars_are_known_and_others_unknown() {
    assert_eq!(
        custom_resource_schema("meta.v1.Time").unwrap()["format"],
        "date-time"
    );
    assert_eq!(custom_resource_schema("core.v1.Nope"), None);
}

/// What the API server wants of a structural schema.
#[test]
fn every_type_is_structural() {
    fn check(schema: &Value, path: &str) {
        let any = schema["x-kubernetes-preserve-unknown-fields"] == true;
        let int_or_string = schema["x-kubernetes-int-or-string"] == true;
        assert!(
            schema["type"].is_string() || any || int_or_string,
            "{path}: {schema}"
        );
        assert!(
            schema["properties"].is_null() || schema["additionalProperties"].is_null(),
            "{path}"
        );
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(
                schema["properties"][name.as_str().unwrap()].is_object(),
                "{path}: {name}"
            );
        }
        for key in schema["x-kubernetes-list-map-keys"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let (items, name) = (&schema["items"], key.as_str().unwrap());
            let required = items["required"]
                .as_array()
                .is_some_and(|names| names.contains(key));
            assert!(
                required || !items["properties"][name]["default"].is_null(),
                "{path}: {name}"
            );
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            check(property, &format!("{path}.{name}"));
        }
        for nested in ["items", "additionalProperties"] {
            if schema[nested].is_object() {
                check(&schema[nested], &format!("{path}.{nested}"));
            }
        }
    }
    let mut types = 0;
    for line in include_str!("builtin.txt").lines() {
        if let Some(name) = line.strip_prefix("type ").and_then(|rest| rest.split(' ').next()) {
            check(&custom_resource_schema(name).unwrap(), name);
            types += 1;
        }
    }
    assert!(types > 500, "{types}");
}
