//! The schema of a version, followed beside a value.

use serde_json::{Map, Value};

/// The schema of the value at a place of an object. None: the schema allows any value there.
#[derive(Clone, Copy)]
pub(super) struct SchemaAt<'a>(pub(super) Option<&'a Value>);

impl<'a> SchemaAt<'a> {
    /// The schema of a field, or of the value of a map.
    pub(super) fn field(self, name: &str) -> Self {
        let properties = self.get("properties").and_then(|properties| properties.get(name));
        Self(properties.or_else(|| {
            self.get("additionalProperties")
                .filter(|schema| schema.is_object())
        }))
    }

    /// The schema of the elements of a list.
    pub(super) fn element(self) -> Self {
        Self(self.get("items"))
    }

    /// The fields that identify the elements of a list: those that the schema declares, otherwise `name`.
    pub(super) fn list_keys(self) -> Vec<&'a str> {
        let declared = self
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array)
            .filter(|_| {
                self.get("x-kubernetes-list-type")
                    .is_some_and(|list_type| list_type == "map")
            });
        declared.map_or_else(
            || vec!["name"],
            |keys| keys.iter().filter_map(Value::as_str).collect(),
        )
    }

    /// Whether the fields of an object depend on each other: it is an enum with data, or a struct that flattens one.
    pub(super) fn is_union(self) -> bool {
        ["oneOf", "anyOf", "allOf"]
            .iter()
            .any(|key| self.get(key).is_some())
    }

    /// Whether all objects have the field, as the variants of an enum have its tag.
    pub(super) fn is_required(self, name: &str) -> bool {
        let required = self.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|required| required == name))
    }

    fn get(self, key: &str) -> Option<&'a Value> {
        self.0?.get(key)
    }
}

/// Removes null from declared fields without a default, where it means the same as no field: a type without `skip_serializing_if` writes
/// it for `None`. Keeps it where `original`, the object that was converted, has null at the same path.
pub(super) fn drop_new_nulls(value: &mut Value, original: Option<&Value>, schema: SchemaAt<'_>) {
    match value {
        Value::Object(fields) => {
            drop_null_fields(fields, original, schema);
            for (name, field) in fields {
                drop_new_nulls(
                    field,
                    original.and_then(|original| original.get(name)),
                    schema.field(name),
                );
            }
        }
        Value::Array(elements) => {
            for (at, element) in elements.iter_mut().enumerate() {
                drop_new_nulls(
                    element,
                    original.and_then(|original| original.get(at)),
                    schema.element(),
                );
            }
        }
        _ => {}
    }
}

fn drop_null_fields(fields: &mut Map<String, Value>, original: Option<&Value>, schema: SchemaAt<'_>) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    fields.retain(|name, field| {
        let is_new = || {
            original
                .and_then(|original| original.get(name))
                .is_none_or(|original| !original.is_null())
        };
        let is_optional = || {
            properties
                .get(name)
                .is_some_and(|property| property.get("default").is_none_or(Value::is_null))
        };
        !(field.is_null() && is_optional() && is_new())
    });
}

/// Whether two values are equal, with numbers by value: the API server writes 1.0 as 1.
pub(crate) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => one == other,
    }
}
