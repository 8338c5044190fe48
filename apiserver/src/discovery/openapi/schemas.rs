//! The schemas of OpenAPI version 3: of built-in types from the table of types, of custom resources from their definitions.

use super::parameters;
use crate::crd::CrdVersion;
use crate::kinds::Kind;
use crate::types::{self, Field, ListKind, Scalar, Type};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const REFERENCE: &str = "#/components/schemas/";

/// Which groups and versions the common types of a document name.
#[derive(Default)]
pub(super) enum CommonTypes {
    /// All: in version 2.
    #[default]
    AllVersions,
    /// The core group's and that of the document.
    OneVersion(String, String),
    /// Those that clients know: in the documents of custom resources.
    ClientVersions,
}

/// The groups whose versions are not in the documents of custom resources.
const SERVER_GROUPS: &[&str] = &[
    "admission.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "imagepolicy.k8s.io",
];

impl CommonTypes {
    fn has(&self, (group, version): (&str, &str)) -> bool {
        match self {
            Self::AllVersions => true,
            Self::OneVersion(own, own_version) => {
                (group, version) == ("", "v1") || (group, version) == (own, own_version)
            }
            Self::ClientVersions => !SERVER_GROUPS.contains(&group),
        }
    }
}

/// The schemas of a document, by name.
#[derive(Default)]
pub(super) struct Schemas {
    pub(super) named: Map<String, Value>,
    /// The names of custom resources and their lists.
    pub(super) custom: BTreeSet<String>,
    /// Names of built-in types, which no custom resource can have: in version 2, which describes all in one document.
    pub(super) taken: BTreeSet<String>,
    pub(super) common_types: CommonTypes,
    /// Built-in types that were referred to.
    pending: BTreeSet<String>,
}

impl Schemas {
    /// Returns a reference to a built-in type, such as `core.v1.Pod`.
    pub(super) fn built_in(&mut self, name: &str) -> Value {
        self.pending.insert(name.to_owned());
        reference(&component_name(name))
    }

    /// Returns a reference to a kind.
    pub(super) fn kind(&mut self, kind: &Kind) -> Value {
        self.kind_or_list(kind, &kind.kind)
    }

    /// Returns a reference to the lists of a kind.
    pub(super) fn list(&mut self, kind: &Kind) -> Value {
        self.kind_or_list(kind, &kind.list_kind())
    }

    fn kind_or_list(&mut self, kind: &Kind, name: &str) -> Value {
        if kind.definition.is_some() {
            return reference(&self.custom_name(kind, name));
        }
        match types::builtin(&kind.api_version(), name) {
            Some(Type::Named(named)) => self.built_in(&named.name),
            _ => json!({ "type": "object" }),
        }
    }

    /// Adds the schemas of a custom resource and of its lists.
    pub(super) fn add_custom(&mut self, kind: &Kind, version: &CrdVersion) {
        let selectable: Vec<Value> = version
            .selectable
            .iter()
            .map(|path| json!({ "fieldPath": path }))
            .collect();
        let lists = json!({
            "description": format!("{} is a list of {}", kind.list_kind(), kind.kind), "type": "object", "required": ["items"],
            "properties": {
                "items": {
                    "description": format!(
                        "List of {}. More info: \
                         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
                        kind.plural
                    ),
                    "type": "array", "items": reference(&self.custom_name(kind, &kind.kind)),
                },
                "metadata": {
                    "description": types::description("core.v1.PodList", "metadata"),
                    "allOf": [self.built_in("meta.v1.ListMeta")],
                },
            },
        });
        let schema = self.custom_schema(&version.document);
        for (name, mut schema) in [(kind.kind.clone(), schema), (kind.list_kind(), lists)] {
            if schema.get("properties").is_some() {
                add_type_fields(&mut schema);
            }
            schema["x-kubernetes-group-version-kind"] = documented_kinds(kind, &name).into();
            if !selectable.is_empty() {
                schema["x-kubernetes-selectable-fields"] = json!(selectable);
            }
            let name = self.custom_name(kind, &name);
            self.custom.insert(name.clone());
            self.named.insert(name, schema);
        }
    }

    /// Returns the schema name of a custom resource, or of its lists. kube-apiserver renames the second of two schemas with one name.
    fn custom_name(&self, kind: &Kind, name: &str) -> String {
        let name = custom_component_name(kind, name);
        if self.taken.contains(&name) {
            format!("{name}_v2")
        } else {
            name
        }
    }

    fn custom_schema(&mut self, document: &Value) -> Value {
        if !document.is_object() {
            return json!({ "type": "object" });
        }
        let mut schema = document.clone();
        self.complete(&mut schema);
        crate::meta::entry_mut(&mut schema, "properties").insert("metadata".into(), self.object_metadata());
        schema
    }

    /// Returns the schema of the metadata of a custom resource or an embedded resource.
    fn object_metadata(&mut self) -> Value {
        json!({
            "allOf": [self.built_in("meta.v1.ObjectMeta")], "description": types::description("core.v1.Pod", "metadata"),
        })
    }

    /// Adds kind, apiVersion and metadata to the embedded resources of a schema, and to `x-kubernetes-int-or-string` the types.
    fn complete(&mut self, schema: &mut Value) {
        let Value::Object(fields) = schema else { return };
        for key in ["items", "additionalProperties"] {
            if let Some(nested) = fields.get_mut(key) {
                self.complete(nested);
            }
        }
        for nested in fields
            .get_mut("properties")
            .and_then(Value::as_object_mut)
            .into_iter()
            .flatten()
        {
            self.complete(nested.1);
        }
        if schema["x-kubernetes-int-or-string"] == true {
            add_int_or_string(schema);
        }
        if schema["x-kubernetes-embedded-resource"] != true {
            return;
        }
        let properties = crate::meta::entry_mut(schema, "properties");
        properties.insert("metadata".into(), self.object_metadata());
        for (name, description) in EMBEDDED_TYPE_FIELDS {
            let field = json!({ "type": "string", "description": description });
            properties.insert((*name).to_owned(), field);
        }
        let mut required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|known| known == name) {
                required.push(json!(name));
            }
        }
        schema["required"] = required.into();
    }

    /// Adds the built-in types that are referred to, until no new ones are found.
    pub(super) fn resolve(&mut self) {
        while let Some(name) = self.pending.pop_first() {
            let key = component_name(&name);
            if self.named.contains_key(&key) {
                continue;
            }
            let mut schema = match types::definition(&name) {
                Some(ty) => self.described_schema(&name, ty),
                None => scalar_definition(&name),
            };
            let versions = parameters::versions(&name);
            let short = name.rsplit('.').next().unwrap_or_default();
            let kinds: Vec<Value> = if versions.is_empty() {
                types::kinds_of_type(&name)
                    .map(|(group, version, kind)| json!({ "group": group, "version": version, "kind": kind }))
                    .collect()
            } else {
                versions
                    .iter()
                    .filter(|version| self.common_types.has(**version))
                    .map(|(group, version)| json!({ "group": group, "version": version, "kind": short }))
                    .collect()
            };
            if !kinds.is_empty() {
                schema["x-kubernetes-group-version-kind"] = kinds.into();
            }
            if let Some(text) = types::description(&name, "") {
                schema["description"] = json!(text);
            }
            self.named.insert(key, schema);
        }
    }

    fn described_schema(&mut self, name: &str, ty: &Type) -> Value {
        let mut schema = self.type_schema(ty, None);
        let Type::Map(map) = ty else { return schema };
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (field, property) in properties.into_iter().flatten() {
            if let Some(text) = types::description(name, field) {
                *property = wrapped(property.take());
                property["description"] = json!(text);
            }
            let default = map.fields.get(&**field).and_then(|field| field.default.clone());
            if let Some(default) = default {
                *property = wrapped(property.take());
                property["default"] = default;
            }
        }
        schema
    }

    fn type_schema(&mut self, ty: &Type, field: Option<&Field>) -> Value {
        match ty {
            Type::Scalar(scalar) => {
                if let Some(name) = scalar_definition_name(*scalar) {
                    return self.built_in(name);
                }
                let mut schema = with_values(scalar.schema(), field);
                // The CA bundle of an APIService has one, without a meaning.
                if field.is_some_and(|field| field.document.has_list_type && field.ty.as_list().is_none()) {
                    schema["x-kubernetes-list-type"] = json!("atomic");
                }
                schema
            }
            Type::List(list) => {
                let mut schema = json!({ "type": "array", "items": self.nested_schema(&list.items, field) });
                if field.is_some_and(|field| field.document.has_list_type) {
                    let (name, keys) = match &list.kind {
                        ListKind::Atomic => ("atomic", None),
                        ListKind::Set => ("set", None),
                        ListKind::Map(keys) => ("map", Some(keys)),
                    };
                    schema["x-kubernetes-list-type"] = json!(name);
                    if let Some(keys) = keys {
                        schema["x-kubernetes-list-map-keys"] = json!(keys);
                    }
                }
                schema
            }
            Type::Map(map) => self.map_schema(map, field),
            Type::Named(named) => {
                let mut schema = self.built_in(&named.name);
                if let Some(atomic) = named.atomic {
                    schema = wrapped(schema);
                    schema["x-kubernetes-map-type"] = json!(if atomic { "atomic" } else { "granular" });
                }
                schema
            }
            Type::Opaque => self.built_in("pkg.runtime.RawExtension"),
            Type::Any | Type::Schema(_) => match field.and_then(|field| field.document.schema.as_deref()) {
                Some(name) => self.built_in(name),
                None => json!({ "type": "object" }),
            },
        }
    }

    fn map_schema(&mut self, map: &types::Map, field: Option<&Field>) -> Value {
        if let Some(name) = field.and_then(|field| field.document.schema.as_deref())
            && !name.starts_with(ANY_JSON)
            && map.values == Some(Type::Any)
        {
            return self.built_in(name);
        }
        let mut schema = json!({ "type": "object" });
        let mut required = vec![];
        for (name, field) in &map.fields {
            let mut property = self.type_schema(&field.ty, Some(field));
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
                property = wrapped(property);
                property["x-kubernetes-patch-strategy"] = json!(strategies.join(","));
            }
            if let Some(key) = &field.patch.merge_key {
                property["x-kubernetes-patch-merge-key"] = json!(key);
            }
            schema["properties"][&**name] = property;
            if field.required {
                required.push(&**name);
            }
        }
        if !map.required_order.is_empty() {
            schema["required"] = json!(map.required_order);
        } else if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if let Some(unions) = &map.unions {
            schema["x-kubernetes-unions"] = unions.clone();
        }
        let has_schema = field.is_some_and(|field| field.document.schema.is_some());
        let values = map.values.as_ref();
        if let Some(values) = values.filter(|values| has_schema || **values != Type::Any) {
            schema["additionalProperties"] = self.nested_schema(values, field);
        }
        let map_type = field.and_then(|field| field.document.map_type.as_deref());
        if let Some(map_type) = map_type.or_else(|| map.atomic.then_some("atomic")) {
            schema["x-kubernetes-map-type"] = json!(map_type);
        }
        schema
    }

    /// Returns the schema of items or values, which have the zero value of their type as default.
    fn nested_schema(&mut self, ty: &Type, field: Option<&Field>) -> Value {
        let schema = self.type_schema(ty, field);
        let default = match ty {
            Type::Scalar(Scalar::String) => json!(""),
            Type::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Double) => json!(0),
            Type::Scalar(Scalar::Boolean) => json!(false),
            Type::Named(_) => json!({}),
            _ => return schema,
        };
        let mut schema = wrapped(schema);
        schema["default"] = default;
        schema
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{REFERENCE}{name}") })
}

/// Makes a reference a schema that can have other keywords.
fn wrapped(schema: Value) -> Value {
    if schema.get("$ref").is_some() {
        json!({ "allOf": [schema] })
    } else {
        schema
    }
}

/// Returns the schema name of a type in kube-apiserver's document, which follows its Go package.
fn component_name(name: &str) -> String {
    let package = match name.split('.').next().unwrap_or_default() {
        "meta" => "apimachinery.pkg.apis",
        "api" | "util" => "apimachinery.pkg",
        "pkg" => "apimachinery",
        "apiextensions" => "apiextensions-apiserver.pkg.apis",
        "apiregistration" => "kube-aggregator.pkg.apis",
        _ => "api",
    };
    format!("io.k8s.{package}.{name}")
}

fn custom_component_name(kind: &Kind, name: &str) -> String {
    let reversed: Vec<&str> = kind.group.split('.').rev().collect();
    format!("{}.{}.{name}", reversed.join("."), kind.version)
}

/// Returns the kinds that the schema of a custom resource, or of its lists, names. kube-apiserver looks them up by the name of the schema: one
/// with the name of a built-in type has the kinds of that type.
fn documented_kinds(kind: &Kind, name: &str) -> Vec<Value> {
    let component = custom_component_name(kind, name);
    let built_in = component.strip_prefix("io.k8s.api.").unwrap_or_default();
    let mut kinds: Vec<_> = types::kinds_of_type(built_in).collect();
    if kinds.is_empty() {
        kinds.push((&kind.group, &kind.version, name));
    }
    let entry = |(group, version, kind)| json!({ "group": group, "version": version, "kind": kind });
    kinds.into_iter().map(entry).collect()
}

/// Adds that a value is an integer or a string, unless the schema says it.
fn add_int_or_string(schema: &mut Value) {
    let types = json!([{ "type": "integer" }, { "type": "string" }]);
    if schema["anyOf"] == types || schema["allOf"][0]["anyOf"] == types {
        return;
    }
    if schema.get("anyOf").is_none_or(Value::is_null) {
        schema["anyOf"] = types;
        return;
    }
    let mut all = vec![json!({ "anyOf": types })];
    all.extend(schema["allOf"].as_array().into_iter().flatten().cloned());
    schema["allOf"] = all.into();
}

fn add_type_fields(schema: &mut Value) {
    let properties = crate::meta::entry_mut(schema, "properties");
    for field in ["apiVersion", "kind"] {
        let text = types::description("core.v1.Pod", field);
        properties.insert(field.into(), json!({ "type": "string", "description": text }));
    }
}

/// The start of the names of types that are any JSON value.
const ANY_JSON: &str = "apiextensions.v1.JSON";
const QUANTITY: &str = "api.resource.Quantity";
const INT_OR_STRING: &str = "util.intstr.IntOrString";

/// Returns the name of the definition of a scalar, if it has one.
fn scalar_definition_name(scalar: Scalar) -> Option<&'static str> {
    Some(match scalar {
        Scalar::DateTime => "meta.v1.Time",
        Scalar::MicroTime => "meta.v1.MicroTime",
        Scalar::Quantity => QUANTITY,
        Scalar::IntOrString => INT_OR_STRING,
        _ => return None,
    })
}

/// Returns the schema of a definition that is not an object with fields.
fn scalar_definition(name: &str) -> Value {
    match name {
        "meta.v1.Time" | "meta.v1.MicroTime" => json!({ "type": "string", "format": "date-time" }),
        QUANTITY => json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }),
        INT_OR_STRING => {
            json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] })
        }
        // Any JSON.
        _ if name.starts_with(ANY_JSON) => json!({}),
        _ => json!({ "type": "object" }),
    }
}

/// Adds the enumeration of a field.
fn with_values(mut schema: Value, field: Option<&Field>) -> Value {
    if let Some(field) = field.filter(|field| !field.document.values.is_empty()) {
        schema["enum"] = json!(field.document.values);
    }
    schema
}

/// The type fields of embedded resources and their descriptions.
const EMBEDDED_TYPE_FIELDS: &[(&str, &str)] = &[
    (
        "apiVersion",
        "apiVersion defines the versioned schema of this representation of an object. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
    ),
    (
        "kind",
        "kind is a string value representing the type of this object. In CamelCase. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
    ),
];
