use serde_json::json;

use super::*;
use crate::types::{Field, ListKind, PatchStrategy};

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
