use super::*;
use crate::kinds::Catalog;
use serde_json::json;

fn warnings_for(kind: &str, object: &Value) -> Vec<String> {
    let catalog = Catalog::built_in().unwrap();
    let version = object["apiVersion"].as_str().unwrap();
    on_create(catalog.kind(version, kind).unwrap(), object)
}

// The warnings were observed on a kube-apiserver v1.36.3.
#[test]
fn questionable_pod_fields_cause_warnings() {
    let container = |more: Value| {
        let mut container = json!({ "name": "c", "image": "i" });
        container
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "containers": [container] })
    };
    let port = |number: i32, name: &str| json!({ "containerPort": number, "protocol": "TCP", "name": name });
    let cases = [
        (
            container(json!({ "env": [{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }] })),
            vec![
                "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
            ],
        ),
        (
            container(json!({ "env": [{ "name": "A", "value": "1" }, { "name": "A", "value": "x$(A)" }] })),
            vec![],
        ),
        (
            container(json!({ "ports": [port(80, "a"), port(80, "")] })),
            vec!["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
        ),
        (
            json!({ "containers": [{ "ports": [port(80, "a")] }, { "ports": [port(81, "a")] }] }),
            vec![
                "spec.containers[1].ports[0]: duplicate port name \"a\" with spec.containers[0].ports[0], services and probes \
                 that select ports by name will use spec.containers[0].ports[0]",
            ],
        ),
        (
            container(
                json!({ "resources": { "limits": { "memory": "100m" }, "requests": { "cpu": "100m" } } }),
            ),
            vec![
                "spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must be an integer",
            ],
        ),
        (
            json!({ "nodeSelector": { "beta.kubernetes.io/os": "linux" }, "imagePullSecrets": [{}] }),
            vec![
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead",
                "spec.imagePullSecrets[0].name: invalid empty name \"\"",
            ],
        ),
    ];
    for (spec, expected) in cases {
        let pod = json!({ "apiVersion": "v1", "metadata": { "name": "a" }, "spec": spec });
        assert_eq!(warnings_for("Pod", &pod), expected, "{pod}");
        let deployment = json!({ "apiVersion": "apps/v1", "metadata": { "name": "a" }, "spec": { "template": { "spec": spec } } });
        let expected_in_template: Vec<String> = expected
            .iter()
            .map(|text| text.replace("spec.", "spec.template.spec."))
            .collect();
        assert_eq!(
            warnings_for("Deployment", &deployment),
            expected_in_template,
            "{deployment}"
        );
    }
}

#[test]
fn questionable_names_and_addresses_cause_warnings() {
    let pod = json!({ "apiVersion": "v1", "metadata": { "name": "a.b" }, "spec": {} });
    assert!(warnings_for("Pod", &pod)[0].starts_with("metadata.name: this is used in the Pod's hostname, "));
    let service = |spec: Value| {
        let mut service = json!({ "apiVersion": "v1", "metadata": { "name": "a" }, "spec": spec });
        service["spec"]["type"] = json!("ClusterIP");
        warnings_for("Service", &service)
    };
    assert_eq!(
        service(json!({ "clusterIP": "None", "sessionAffinity": "ClientIP" })),
        ["spec.SessionAffinity is ignored for headless services"]
    );
    assert_eq!(
        service(json!({ "externalIPs": ["010.0.0.1", "2001:DB8::1"] })),
        [
            "spec.externalIPs[0]: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\"",
            "spec.externalIPs[1]: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")",
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        ]
    );
    assert!(service(json!({ "clusterIP": "10.0.0.1", "sessionAffinity": "None" })).is_empty());
}

#[test]
fn update_warns_only_if_the_template_changed() {
    let catalog = Catalog::built_in().unwrap();
    let kind = catalog.kind("apps/v1", "Deployment").unwrap();
    let deployment = |generation: i32| {
        json!({ "metadata": { "generation": generation }, "spec": { "template": { "spec": {
            "imagePullSecrets": [{}] } } } })
    };
    assert!(on_update(kind, "", &deployment(1), &deployment(1)).is_empty());
    assert_eq!(on_update(kind, "", &deployment(2), &deployment(1)).len(), 1);
    assert!(on_update(kind, "status", &deployment(2), &deployment(1)).is_empty());
}

#[test]
fn unrecognized_formats_of_definitions_cause_warnings_once_each() {
    let catalog = Catalog::built_in().unwrap();
    let kind = catalog
        .kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        .unwrap();
    let definition = |schemas: &[&Value]| {
        let versions = schemas.iter();
        let versions = versions.map(|schema| json!({ "schema": { "openAPIV3Schema": schema } }));
        json!({ "spec": { "versions": versions.collect::<Vec<_>>() } })
    };
    let of = |format: &str, ty: &str| json!({ "type": ty, "format": format });
    let cases = [
        (of("date-time", "string"), vec![]),
        (of("uuid", ""), vec![]),
        (of("int64", "integer"), vec![]),
        (of("float", "number"), vec![]),
        (of("int32", "string"), vec!["int32"]),
        (of("date", "object"), vec!["date"]),
        (of("uint64", "integer"), vec!["uint64"]),
        (json!({ "items": of("ip", "string") }), vec!["ip"]),
        (json!({ "additionalProperties": of("ip", "string") }), vec!["ip"]),
        (
            json!({ "properties": { "a": of("x", "string"), "b": { "not": { "allOf": [{ "format": "y" }] } } } }),
            vec!["x", "y"],
        ),
    ];
    let warnings = |formats: &[&str]| {
        let formats = formats.iter();
        formats
            .map(|format| format!("unrecognized format {format:?}"))
            .collect::<Vec<_>>()
    };
    for (schema, expected) in cases {
        let found = on_create(kind, &definition(&[&schema, &schema]));
        assert_eq!(found, warnings(&expected), "{schema}");
    }
    let (old, new) = (of("ip", "string"), of("url", "string"));
    let updated = definition(&[&old, &new]);
    assert_eq!(
        on_update(kind, "", &updated, &definition(&[&old])),
        warnings(&["url"])
    );
    assert!(on_update(kind, "status", &updated, &definition(&[&old])).is_empty());
}
