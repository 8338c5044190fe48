use super::*;
use serde_json::{Value, json};

/// The objects in responses of a kube-apiserver v1.36.3.
fn real_objects() -> Vec<Value> {
    let table: Value = serde_json::from_str(include_str!("../apply/tests/builtin.json")).unwrap();
    let steps = table["sequences"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|sequence| sequence["steps"].as_array().unwrap());
    steps.filter_map(|step| step.get("object").cloned()).collect()
}

#[test]
fn kube_apiserver_objects_are_already_normalized() {
    let objects = real_objects();
    assert!(objects.len() > 30);
    for object in objects {
        let ty = builtin(
            object["apiVersion"].as_str().unwrap(),
            object["kind"].as_str().unwrap(),
        )
        .unwrap();
        let mut normal = object.clone();
        normalize(&mut normal, ty);
        assert_eq!(normal, object, "{normal}\n{object}");
        assert_eq!(check(&mut normal, ty, false), []);
    }
}

#[test]
fn doubles_without_a_fraction_are_integers() {
    let cases = [
        (json!(1.0), "1"),
        (json!(9_007_199_254_740_993_i64), "9007199254740992"),
        (json!(-9_007_199_254_740_993_i64), "-9007199254740992"),
        (json!(1.5), "1.5"),
        (json!(1e300), "1e300"),
    ];
    let ty = builtin("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    for (maximum, expected) in cases {
        let schema = json!({ "openAPIV3Schema": { "maximum": maximum, "default": maximum } });
        let mut object = json!({ "spec": { "versions": [{ "schema": schema }] } });
        normalize(&mut object, ty);
        let schema = &object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        assert_eq!(schema["maximum"].to_string().replace('+', ""), expected);
        let mut default = maximum.clone();
        floats_to_integers(&mut default);
        assert_eq!(schema["default"], default);
    }
}

#[test]
fn omitempty_fields_are_dropped() {
    let cases = [
        (
            json!({"kind": "ConfigMap", "data": {}, "metadata": {"labels": {}, "name": "a", "annotations": null}}),
            json!({"kind": "ConfigMap", "metadata": {"name": "a"}}),
        ),
        (
            json!({"kind": "Deployment"}),
            zero_value(&Type::named("apps.v1.Deployment")),
        ),
    ];
    for (mut object, expected) in cases {
        let kind = object["kind"].as_str().unwrap().to_owned();
        let ty = builtin("v1", &kind)
            .or_else(|| builtin("apps/v1", &kind))
            .unwrap();
        normalize(&mut object, ty);
        if kind == "Deployment" {
            object.as_object_mut().unwrap().remove("kind");
        }
        assert_eq!(object, expected);
    }
    let deployment = zero_value(&Type::named("apps.v1.Deployment"));
    assert_eq!(
        deployment["spec"]["template"]["spec"],
        json!({"containers": null})
    );
    assert_eq!(deployment["spec"]["strategy"], json!({}));
    assert_eq!(
        zero_value(&Type::named("rbac.v1.Role")),
        json!({"metadata": {}, "rules": null})
    );
}

#[test]
fn raw_extensions_keep_any_value() {
    let revision = builtin("apps/v1", "ControllerRevision").unwrap();
    for data in [json!([]), json!({}), json!(""), json!(0), json!(false)] {
        let mut object = json!({ "data": data, "metadata": {}, "revision": 1 });
        let once = object.clone();
        normalize(&mut object, revision);
        normalize_stored(&mut object, revision);
        assert_eq!(object, once);
    }
}

#[test]
fn storage_drops_empty_collections() {
    let role = builtin("rbac.authorization.k8s.io/v1", "Role").unwrap();
    let mut object = json!({ "metadata": { "name": "a" }, "rules": [] });
    normalize_stored(&mut object, role);
    assert_eq!(object, json!({ "metadata": { "name": "a" }, "rules": null }));
    let secret = builtin("v1", "Secret").unwrap();
    let mut object = json!({ "data": { "a": null, "b": "MQ==" } });
    normalize_stored(&mut object, secret);
    assert_eq!(object, json!({ "data": { "a": "", "b": "MQ==" } }));
}
