//! OpenAPI documents, for `kubectl explain` and kubectl's client-side checks.

use crate::kinds::{Catalog, Kind};
use crate::types::{self, ListKind, Scalar, Type};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Returns the document of `/openapi/v3`.
pub(super) fn v3_index(catalog: &Catalog) -> Value {
    let mut paths = Map::new();
    for kind in catalog.iter() {
        let path = if kind.group.is_empty() {
            format!("api/{}", kind.version)
        } else {
            format!("apis/{}/{}", kind.group, kind.version)
        };
        let url = format!("/openapi/v3/{path}");
        paths.insert(path, json!({ "serverRelativeURL": url }));
    }
    json!({ "paths": paths })
}

/// Returns the document of `/openapi/v2`, without types: clients use version 3.
pub(super) fn v2_document(version: &str) -> Value {
    json!({ "swagger": "2.0", "info": { "title": "Kubernetes", "version": version }, "paths": {}, "definitions": {} })
}

/// Returns the OpenAPI v3 document of a group and version.
pub(super) fn v3_document(catalog: &Catalog, group: &str, version: &str) -> Option<Value> {
    if !catalog.has_version(group, version) {
        return None;
    }
    let (mut paths, mut schemas, mut pending_types) = (Map::new(), Map::new(), BTreeSet::new());
    let kinds = catalog
        .iter()
        .filter(|kind| kind.group == group && kind.version == version);
    for kind in kinds {
        add_paths(kind, &mut paths);
        let (name, mut schema) = kind_schema(kind, &mut pending_types);
        schema["x-kubernetes-group-version-kind"] = json!([group_version_kind(kind)]);
        schemas.insert(name, schema);
    }
    // Types refer to other types, until no new ones are left.
    while let Some(name) = pending_types.pop_first() {
        let key = component_name(&name);
        if schemas.contains_key(&key) {
            continue;
        }
        let ty = types::definition(&name);
        let schema = ty.map_or_else(
            || json!({ "type": "object" }),
            |ty| described_schema(&name, ty, &mut pending_types),
        );
        schemas.insert(key, schema);
    }
    Some(json!({
        "openapi": "3.0.0", "info": { "title": "Kubernetes", "version": "unversioned" },
        "paths": paths, "components": { "schemas": schemas },
    }))
}

fn group_version_kind(kind: &Kind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}

/// Returns the schema name of a type in kube-apiserver's document, which follows its Go package.
fn component_name(name: &str) -> String {
    let package = match name.split('.').next().unwrap_or_default() {
        "meta" => "apimachinery.pkg.apis",
        "resource" if name == "resource.Quantity" => "apimachinery.pkg.api",
        "intstr" => "apimachinery.pkg.util",
        "runtime" => "apimachinery.pkg",
        "apiextensions" => "apiextensions-apiserver.pkg.apis",
        "apiregistration" => "kube-aggregator.pkg.apis",
        _ => "api",
    };
    format!("io.k8s.{package}.{name}")
}

fn kind_schema(kind: &Kind, pending_types: &mut BTreeSet<String>) -> (String, Value) {
    if let Some(definition) = &kind.definition {
        let reversed: Vec<&str> = kind.group.split('.').rev().collect();
        let name = format!("{}.{}.{}", reversed.join("."), kind.version, kind.kind);
        let mut schema = definition
            .version(&kind.version)
            .map_or(Value::Null, |version| version.document.clone());
        if !schema.is_object() {
            schema = json!({ "type": "object" });
        }
        let properties = crate::meta::entry_mut(&mut schema, "properties");
        for field in ["apiVersion", "kind"] {
            let text = types::description("core.v1.Pod", field);
            properties.insert(field.into(), json!({ "type": "string", "description": text }));
        }
        pending_types.insert("meta.v1.ObjectMeta".to_owned());
        let reference = format!("#/components/schemas/{}", component_name("meta.v1.ObjectMeta"));
        let text = types::description("core.v1.Pod", "metadata");
        let metadata = json!({ "allOf": [{ "$ref": reference }], "description": text });
        properties.insert("metadata".into(), metadata);
        return (name, schema);
    }
    match types::builtin(&kind.api_version(), &kind.kind) {
        Some(Type::Named(named)) => {
            let schema =
                types::definition(&named.name).map(|ty| described_schema(&named.name, ty, pending_types));
            (
                component_name(&named.name),
                schema.unwrap_or_else(|| json!({ "type": "object" })),
            )
        }
        _ => (component_name(&kind.kind), json!({ "type": "object" })),
    }
}

/// Returns the schema of a named type with its descriptions.
fn described_schema(name: &str, ty: &Type, pending_types: &mut BTreeSet<String>) -> Value {
    let mut schema = type_schema(ty, pending_types);
    if let Some(text) = types::description(name, "") {
        schema["description"] = json!(text);
    }
    for (field, property) in schema["properties"].as_object_mut().into_iter().flatten() {
        if let Some(text) = types::description(name, field) {
            property["description"] = json!(text);
        }
    }
    schema
}

fn type_schema(ty: &Type, pending_types: &mut BTreeSet<String>) -> Value {
    match ty {
        Type::Scalar(scalar) => scalar_schema(*scalar),
        Type::List(list) => {
            let mut schema = json!({ "type": "array", "items": type_schema(&list.items, pending_types) });
            match &list.kind {
                ListKind::Atomic => schema["x-kubernetes-list-type"] = json!("atomic"),
                ListKind::Set => schema["x-kubernetes-list-type"] = json!("set"),
                ListKind::Map(keys) => {
                    schema["x-kubernetes-list-type"] = json!("map");
                    schema["x-kubernetes-list-map-keys"] = json!(keys);
                }
            }
            schema
        }
        Type::Map(map) => {
            let mut result = json!({ "type": "object" });
            let mut required = vec![];
            for (name, field) in &map.fields {
                let mut property = type_schema(&field.ty, pending_types);
                if let Some(default) = &field.default {
                    property["default"] = default.clone();
                }
                let strategies: Vec<&str> = [
                    (field.patch.merge, "merge"),
                    (field.patch.replace, "replace"),
                    (field.patch.retain_keys, "retainKeys"),
                ]
                .into_iter()
                .filter_map(|(is_set, strategy)| is_set.then_some(strategy))
                .collect();
                // Client-side apply merges by these.
                if !strategies.is_empty() {
                    property["x-kubernetes-patch-strategy"] = json!(strategies.join(","));
                }
                if let Some(key) = &field.patch.merge_key {
                    property["x-kubernetes-patch-merge-key"] = json!(key);
                }
                result["properties"][&**name] = property;
                if field.required {
                    required.push(&**name);
                }
            }
            if !required.is_empty() {
                result["required"] = json!(required);
            }
            if let Some(values) = &map.values {
                result["additionalProperties"] = type_schema(values, pending_types);
            }
            if map.atomic {
                result["x-kubernetes-map-type"] = json!("atomic");
            }
            result
        }
        Type::Named(named) => {
            pending_types.insert(named.name.to_string());
            json!({ "allOf": [{ "$ref": format!("#/components/schemas/{}", component_name(&named.name)) }] })
        }
        Type::Any | Type::Opaque => json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
    }
}

fn scalar_schema(scalar: Scalar) -> Value {
    match scalar {
        Scalar::Boolean => json!({ "type": "boolean" }),
        Scalar::Int32 => json!({ "type": "integer", "format": "int32" }),
        Scalar::Int64 => json!({ "type": "integer", "format": "int64" }),
        Scalar::Double => json!({ "type": "number", "format": "double" }),
        Scalar::String => json!({ "type": "string" }),
        Scalar::Bytes => json!({ "type": "string", "format": "byte" }),
        Scalar::DateTime | Scalar::MicroTime => json!({ "type": "string", "format": "date-time" }),
        Scalar::Quantity => json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }),
        Scalar::Untyped => json!({}),
        Scalar::IntOrString => {
            json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] })
        }
    }
}

/// Adds the paths, from which kubectl learns that the server supports field validation and apply.
fn add_paths(kind: &Kind, paths: &mut Map<String, Value>) {
    let root = if kind.group.is_empty() {
        format!("/api/{}", kind.version)
    } else {
        format!("/apis/{}/{}", kind.group, kind.version)
    };
    let namespace_path = if kind.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation", "force"]
        .map(|name| json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } }))
        .into();
    let operation = |action: &str, media_types: &[&str]| {
        let content: Map<String, Value> = media_types
            .iter()
            .map(|media_type| ((*media_type).to_owned(), json!({ "schema": {} })))
            .collect();
        json!({
            "parameters": parameters, "requestBody": { "content": content }, "responses": { "200": { "description": "OK" } },
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": group_version_kind(kind),
        })
    };
    let has = |verb: &str| kind.verbs.iter().any(|known| known == verb);
    if has("create") {
        let post = json!({ "post": operation("post", &["*/*"]) });
        paths.insert(format!("{root}{namespace_path}/{}", kind.plural), post);
    }
    if has("patch") {
        let mut patches = vec![
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
        ];
        if kind.definition.is_none() {
            patches.push("application/strategic-merge-patch+json");
        }
        let item = json!({ "put": operation("put", &["*/*"]), "patch": operation("patch", &patches) });
        paths.insert(format!("{root}{namespace_path}/{}/{{name}}", kind.plural), item);
    }
}
