//! OpenAPI: what objects look like, for `kubectl explain` and for the check of what it sends.

use crate::kinds::{Catalog, Kind};
use crate::types::{self, ListKind, Scalar, Type};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// `/openapi/v3`.
pub(super) fn index(catalog: &Catalog) -> Value {
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

/// `/openapi/v2`, without types: clients know to ask for the third version.
pub(super) fn version_2(version: &str) -> Value {
    json!({ "swagger": "2.0", "info": { "title": "Kubernetes", "version": version }, "paths": {}, "definitions": {} })
}

/// The document of a group and version.
pub(super) fn document(catalog: &Catalog, group: &str, version: &str) -> Option<Value> {
    if !catalog.has_version(group, version) {
        return None;
    }
    let (mut paths, mut schemas, mut wanted) = (Map::new(), Map::new(), BTreeSet::new());
    let kinds = catalog
        .iter()
        .filter(|kind| kind.group == group && kind.version == version);
    for kind in kinds {
        add_paths(kind, &mut paths);
        let (name, mut schema) = schema_of(kind, &mut wanted);
        schema["x-kubernetes-group-version-kind"] = json!([group_version_kind(kind)]);
        schemas.insert(name, schema);
    }
    // Types name other types, until nothing new is named.
    while let Some(name) = wanted.pop_first() {
        let key = component(&name);
        if schemas.contains_key(&key) {
            continue;
        }
        let ty = types::definition(&name);
        let schema = ty.map_or_else(
            || json!({ "type": "object" }),
            |ty| described(&name, ty, &mut wanted),
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

/// The name of a type in the real server's document: that of its Go package.
fn component(name: &str) -> String {
    let package = match name.split('.').next().unwrap_or_default() {
        "meta" => "apimachinery.pkg.apis",
        "resource" if name == "resource.Quantity" => "apimachinery.pkg.api",
        "intstr" => "apimachinery.pkg.util",
        "runtime" => "apimachinery.pkg",
        "apiextensions" => "apiextensions-apiserver.pkg.apis",
        _ => "api",
    };
    format!("io.k8s.{package}.{name}")
}

fn schema_of(kind: &Kind, wanted: &mut BTreeSet<String>) -> (String, Value) {
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
            let text = types::text("core.v1.Pod", field);
            properties.insert(field.into(), json!({ "type": "string", "description": text }));
        }
        wanted.insert("meta.v1.ObjectMeta".to_owned());
        let reference = format!("#/components/schemas/{}", component("meta.v1.ObjectMeta"));
        let text = types::text("core.v1.Pod", "metadata");
        let metadata = json!({ "allOf": [{ "$ref": reference }], "description": text });
        properties.insert("metadata".into(), metadata);
        return (name, schema);
    }
    match types::builtin(&kind.api_version(), &kind.kind) {
        Some(Type::Named(named)) => {
            let schema = types::definition(&named.name).map(|ty| described(&named.name, ty, wanted));
            (
                component(&named.name),
                schema.unwrap_or_else(|| json!({ "type": "object" })),
            )
        }
        _ => (component(&kind.kind), json!({ "type": "object" })),
    }
}

/// The schema of a type that has a name, with what is said of it.
fn described(name: &str, ty: &Type, wanted: &mut BTreeSet<String>) -> Value {
    let mut schema = schema(ty, wanted);
    if let Some(text) = types::text(name, "") {
        schema["description"] = json!(text);
    }
    for (field, property) in schema["properties"].as_object_mut().into_iter().flatten() {
        if let Some(text) = types::text(name, field) {
            property["description"] = json!(text);
        }
    }
    schema
}

fn schema(ty: &Type, wanted: &mut BTreeSet<String>) -> Value {
    match ty {
        Type::Scalar(scalar) => scalar_schema(*scalar),
        Type::List(list) => {
            let mut schema = json!({ "type": "array", "items": schema(&list.items, wanted) });
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
                let mut property = schema(&field.ty, wanted);
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
                result["additionalProperties"] = schema(values, wanted);
            }
            if map.atomic {
                result["x-kubernetes-map-type"] = json!("atomic");
            }
            result
        }
        Type::Named(named) => {
            wanted.insert(named.name.to_string());
            json!({ "allOf": [{ "$ref": format!("#/components/schemas/{}", component(&named.name)) }] })
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

/// The paths tell kubectl that the server checks fields and can apply.
fn add_paths(kind: &Kind, paths: &mut Map<String, Value>) {
    let root = if kind.group.is_empty() {
        format!("/api/{}", kind.version)
    } else {
        format!("/apis/{}/{}", kind.group, kind.version)
    };
    let place = if kind.namespaced {
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
        paths.insert(format!("{root}{place}/{}", kind.plural), post);
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
        paths.insert(format!("{root}{place}/{}/{{name}}", kind.plural), item);
    }
}
