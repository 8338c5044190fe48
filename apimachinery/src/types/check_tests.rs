use super::*;
use crate::types::builtin;
use serde_json::json;

fn errors(mut value: Value, prune: bool) -> (Vec<String>, Value) {
    let ty = builtin("apps/v1", "Deployment").unwrap();
    let errors = check(&mut value, ty, prune)
        .iter()
        .map(ToString::to_string)
        .collect();
    (errors, value)
}

#[test]
fn unknown_fields_are_reported_with_indices_and_pruned_on_request() {
    let value = json!({"spec": {"x": 1, "template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "y": {"z": 1}}]}}}});
    let (found, kept) = errors(value.clone(), false);
    assert_eq!(
        found,
        [
            "unknown field \"spec.template.spec.containers[1].y\"",
            "unknown field \"spec.x\""
        ]
    );
    assert_eq!(kept, value);
    let (_, pruned) = errors(value, true);
    assert_eq!(
        pruned,
        json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}}})
    );
}

#[test]
fn mismatches_have_the_decoders_messages() {
    let cases = [
        (
            json!({"spec": {"replicas": "three"}}),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({"spec": {"replicas": 1.5}}),
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({"spec": {"template": {"spec": {"containers": {}}}}}),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        (
            json!({"spec": {"template": {"spec": {"restartPolicy": {}}}}}),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            json!({"spec": {"template": {"spec": {"containers": [{"securityContext": {"capabilities": {"add": [1]}}}]}}}}),
            "json: cannot unmarshal number into Go struct field Capabilities.spec.template.spec.containers.securityContext.capabilities.add of type v1.Capability",
        ),
        (
            json!({"spec": {"template": {"spec": {"overhead": "x"}}}}),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.overhead of type v1.ResourceList",
        ),
        (
            json!({"spec": {"template": {"spec": {"volumes": [{"emptyDir": 1}]}}}}),
            "json: cannot unmarshal number into Go struct field Volume.spec.template.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
        ),
        (
            json!({"metadata": {"labels": {"a": 1}}}),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            json!({"spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "many"}}}]}}}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ];
    for (value, message) in cases {
        let (found, _) = errors(value.clone(), false);
        assert_eq!(
            found.iter().map(String::as_str).collect::<Vec<_>>(),
            [message],
            "{value}"
        );
    }
}

#[test]
fn metadata_alone_is_reported_relative_to_itself() {
    let into = |kind: &str, field: &str, ty: &str| {
        format!("json: cannot unmarshal {kind} into Go struct field ObjectMeta.{field} of type {ty}")
    };
    let time = r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#;
    for (mut metadata, message) in [
        (
            json!([]),
            "json: cannot unmarshal array into Go value of type v1.ObjectMeta".to_owned(),
        ),
        (json!({ "name": 1 }), into("number", "name", "string")),
        (
            json!({ "labels": { "a": 1 } }),
            into("number", "labels", "string"),
        ),
        (
            json!({ "finalizers": "a" }),
            into("string", "finalizers", "[]string"),
        ),
        (
            json!({ "ownerReferences": [1] }),
            into("number", "ownerReferences", "v1.OwnerReference"),
        ),
        (json!({ "creationTimestamp": "x" }), time.to_owned()),
    ] {
        let errors = check(&mut metadata, &Type::named("meta.v1.ObjectMeta"), false);
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, [message], "{metadata}");
    }
}
