use super::*;
use serde_json::json;

fn field(ty: &str, name: &str) -> &'static Field {
    let (map, _) = definition(ty).expect(ty).as_map().expect(ty);
    &map.fields[name]
}

#[test]
fn every_line_of_the_table_parses() {
    let text = include_str!("builtin.txt");
    let lines = |prefix: &str| text.lines().filter(|line| line.starts_with(prefix)).count();
    assert_eq!(BUILTIN_TYPES.types.len(), lines("type "));
    assert_eq!(BUILTIN_TYPES.kinds.len(), lines("kind "));
    let fields: usize = BUILTIN_TYPES
        .types
        .values()
        .filter_map(Type::as_map)
        .map(|(map, _)| map.fields.len())
        .sum();
    assert_eq!(fields, lines("  "));
}

#[test]
fn every_reference_resolves() {
    fn names<'a>(ty: &'a Type, found: &mut Vec<&'a str>) {
        match ty {
            Type::Named(named) => found.push(&named.name),
            Type::List(list) => names(&list.items, found),
            Type::Map(map) => {
                map.fields
                    .values()
                    .map(|field| &field.ty)
                    .chain(&map.values)
                    .for_each(|ty| names(ty, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    BUILTIN_TYPES
        .types
        .values()
        .chain(BUILTIN_TYPES.kinds.values())
        .for_each(|ty| names(ty, &mut found));
    assert!(found.len() > 500);
    let missing: Vec<_> = found
        .into_iter()
        .filter(|name| definition(name).is_none())
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn merge_keys_list_types_and_defaults_are_parsed() {
    let containers = field("core.v1.PodSpec", "containers");
    assert!(containers.required && containers.patch.merge);
    assert_eq!(containers.patch.merge_key.as_deref(), Some("name"));
    assert_eq!(
        containers.ty.as_list().unwrap().kind,
        ListKind::Map(vec!["name".into()])
    );
    let ports = field("core.v1.Container", "ports");
    assert_eq!(ports.patch.merge_key.as_deref(), Some("containerPort"));
    assert_eq!(
        ports.ty.as_list().unwrap().kind,
        ListKind::Map(vec!["containerPort".into(), "protocol".into()])
    );
    assert_eq!(
        field("core.v1.ContainerPort", "protocol").default,
        Some(json!("TCP"))
    );
    assert!(
        field("apps.v1.DeploymentSpec", "selector").ty.as_map().unwrap().1,
        "a label selector is one value"
    );
    assert!(field("core.v1.PodSpec", "nodeSelector").ty.as_map().unwrap().1);
    assert_eq!(
        field("meta.v1.ObjectMeta", "finalizers")
            .ty
            .as_list()
            .unwrap()
            .kind,
        ListKind::Set
    );
    let retaining = PatchStrategy {
        retain_keys: true,
        ..PatchStrategy::default()
    };
    assert_eq!(field("apps.v1.DeploymentSpec", "strategy").patch, retaining);
}

#[test]
fn kinds_are_looked_up_by_version_and_name() {
    assert_eq!(builtin("v1", "Pod"), Some(&Type::named("core.v1.Pod")));
    assert_eq!(
        builtin("apps/v1", "Deployment"),
        Some(&Type::named("apps.v1.Deployment"))
    );
    assert_eq!(builtin("v1", "Deployment"), None);
}

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
