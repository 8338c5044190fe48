//! Makes schemas for CustomResourceDefinitions of built-in types, as controller-gen makes them of Kubernetes' Go types.
//!
//! Differences from controller-gen, which are deliberate:
//! - The metadata of a template has the fields that its author may set. controller-gen writes `type: object`, and the API server then prunes
//!   labels and annotations.
//! - Values of any type, such as RawExtension, keep their fields: controller-gen's schema lets the API server prune them.
//! - Go's empty defaults, such as that of the name of a `LocalObjectReference`, are left out: they add empty fields to objects.
//!
//! Enumerations are left out, as there: a later version of Kubernetes may add a value, which an older schema would refuse.

use crate::{Field, List, ListKind, Map, Scalar, Type, definition, description};
use serde_json::{Value, json};

/// The pattern of the text form of a quantity, as Kubernetes publishes it for custom resources.
const QUANTITY_PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";
const OBJECT_META: &str = "meta.v1.ObjectMeta";
/// The fields of [`OBJECT_META`] that only the API server sets. `creationTimestamp` is not among them: Go programs write it as null, which would be
/// an unknown field.
const SERVER_FIELDS: [&str; 7] = [
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];
/// The type of the entries of `status.conditions` in new APIs.
const CONDITION: &str = "meta.v1.Condition";
/// Longest of a condition's texts, and their patterns: Go markers of [`CONDITION`], which its OpenAPI does not show.
const CONDITION_RULES: &[(&str, &str)] = &[
    ("message", r#"{"maxLength": 32768}"#),
    ("observedGeneration", r#"{"minimum": 0}"#),
    (
        "reason",
        r#"{"maxLength": 1024, "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}"#,
    ),
    ("status", r#"{"enum": ["True", "False", "Unknown"]}"#),
    (
        "type",
        r#"{"maxLength": 316, "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"}"#,
    ),
];

/// Returns the structural schema of a built-in type, such as `core.v1.PodTemplateSpec`, with its descriptions; none for an unknown name.
///
/// The schema contains no references: a type within itself is an object with any fields. Defaults are those that are not the zero value, and
/// those of the keys of lists. Metadata has only the fields that the author of a template may set.
pub fn custom_resource_schema(name: &str) -> Option<Value> {
    let ty =
        scalar_of_definition(name).map_or_else(|| definition(name).cloned(), |s| Some(Type::Scalar(s)))?;
    Some(Builder::default().named(name, &ty))
}

/// Whether [`custom_resource_schema`] knows the name.
pub fn has_custom_resource_schema(name: &str) -> bool {
    scalar_of_definition(name).is_some() || definition(name).is_some()
}

/// Returns how server-side apply identifies the items of a list of this type, if a list of it has one way: conditions by their type.
pub fn list_map_keys(item: &str) -> Option<&'static [&'static str]> {
    (item == CONDITION).then_some(&["type"])
}

/// The definitions of scalars, which the table has no types for.
fn scalar_of_definition(name: &str) -> Option<Scalar> {
    Some(match name {
        "meta.v1.Time" => Scalar::DateTime,
        "meta.v1.MicroTime" => Scalar::MicroTime,
        "api.resource.Quantity" => Scalar::Quantity,
        "util.intstr.IntOrString" => Scalar::IntOrString,
        _ => return None,
    })
}

#[derive(Default)]
struct Builder<'t> {
    /// The types around the current one.
    outer: Vec<&'t str>,
}

impl<'t> Builder<'t> {
    fn named(&mut self, name: &'t str, ty: &'t Type) -> Value {
        if self.outer.contains(&name) {
            return any_object();
        }
        self.outer.push(name);
        let mut schema = match ty {
            Type::Map(map) => self.map(name, map),
            _ => self.value(ty),
        };
        self.outer.pop();
        if name == CONDITION {
            add_condition_rules(&mut schema);
        }
        describe(&mut schema, description(name, ""));
        schema
    }

    fn value(&mut self, ty: &'t Type) -> Value {
        match ty {
            Type::Scalar(scalar) => scalar_schema(*scalar),
            Type::List(list) => json!({ "type": "array", "items": self.value(&list.items) }),
            Type::Map(map) => self.map("", map),
            Type::Named(named) => {
                let mut schema = match definition(&named.name) {
                    Some(ty) => self.named(&named.name, ty),
                    None => any_object(),
                };
                match named.atomic {
                    Some(true) => schema["x-kubernetes-map-type"] = json!("atomic"),
                    Some(false) => drop(schema.as_object_mut().map(|s| s.remove("x-kubernetes-map-type"))),
                    None => {}
                }
                schema
            }
            Type::Opaque => any_object(),
            Type::Any | Type::Schema(_) => any_value(),
        }
    }

    fn map(&mut self, name: &str, map: &'t Map) -> Value {
        let mut schema = json!({ "type": "object" });
        let is_left_out = |field: &str| name == OBJECT_META && SERVER_FIELDS.contains(&field);
        for (field_name, field) in map.fields.iter().filter(|(field, _)| !is_left_out(field)) {
            let mut property = self.field(field);
            describe(&mut property, description(name, field_name));
            schema["properties"][&**field_name] = property;
        }
        let required: Vec<&str> = map
            .fields
            .iter()
            .filter(|(_, field)| field.required)
            .map(|(name, _)| &**name)
            .collect();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        match &map.values {
            Some(Type::Any) if map.fields.is_empty() => schema = any_object(),
            Some(values) => schema["additionalProperties"] = self.value(values),
            None => {}
        }
        if map.atomic {
            schema["x-kubernetes-map-type"] = json!("atomic");
        }
        schema
    }

    fn field(&mut self, field: &'t Field) -> Value {
        let mut schema = self.value(&field.ty);
        if let Some(list) = field.ty.as_list().filter(|_| field.document.has_list_type) {
            add_list_type(&mut schema, list);
        }
        if field.document.map_type.as_deref() == Some("atomic") {
            schema["x-kubernetes-map-type"] = json!("atomic");
        }
        // Go's zero values are defaults in the OpenAPI. In a custom resource they would add empty fields to objects.
        if let Some(default) = field.default.as_ref().filter(|default| !is_zero(default)) {
            schema["default"] = default.clone();
        }
        schema
    }
}

/// Adds the list type. The API server wants each key to be required or to have a default; a list that has a key without either stays atomic.
fn add_list_type(schema: &mut Value, list: &List) {
    let ListKind::Map(keys) = &list.kind else {
        let is_set = list.kind == ListKind::Set;
        schema["x-kubernetes-list-type"] = json!(if is_set { "set" } else { "atomic" });
        return;
    };
    let Some((items, _)) = list.items.as_map() else {
        return;
    };
    let mut defaults = Vec::new();
    for key in keys {
        match items.fields.get(key) {
            Some(field) if field.required => {}
            Some(Field {
                default: Some(default),
                ..
            }) => defaults.push((key, default.clone())),
            _ => return,
        }
    }
    schema["x-kubernetes-list-type"] = json!("map");
    schema["x-kubernetes-list-map-keys"] = json!(keys);
    for (key, default) in defaults {
        schema["items"]["properties"][&**key]["default"] = default;
    }
}

fn add_condition_rules(schema: &mut Value) {
    for (field, rules) in CONDITION_RULES {
        let rules = serde_json::from_str(rules).unwrap_or_default();
        if let (Value::Object(property), Value::Object(rules)) = (&mut schema["properties"][field], rules) {
            property.extend(rules);
        }
    }
}

fn scalar_schema(scalar: Scalar) -> Value {
    match scalar {
        Scalar::Quantity => json!({
            "anyOf": [{ "type": "integer" }, { "type": "string" }], "pattern": QUANTITY_PATTERN, "x-kubernetes-int-or-string": true,
        }),
        Scalar::IntOrString => json!({
            "anyOf": [{ "type": "integer" }, { "type": "string" }], "x-kubernetes-int-or-string": true,
        }),
        Scalar::Untyped => any_value(),
        _ => scalar.schema(),
    }
}

fn any_object() -> Value {
    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

fn any_value() -> Value {
    json!({ "x-kubernetes-preserve-unknown-fields": true })
}

fn describe(schema: &mut Value, text: Option<&str>) {
    if let Some(text) = text {
        schema["description"] = json!(text);
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
#[path = "structural_tests.rs"]
mod tests;
