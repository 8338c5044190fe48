//! Turns a schema into structs and enums.
//!
//! The types accept more than the schema where the API server does, too:
//!
//! - Numbers are `serde_json::Number`, which keeps `1` and `1.0` apart.
//! - Texts of any format are strings: times and quantities have several spellings.
//! - Enums have a variant for other values, because a newer definition may add some.
//! - A field with a default is optional: users leave it out, and the API server adds it.

use std::collections::BTreeSet;

use kubewright_api_types::allowed_values;
use serde_json::{Map, Value};

use super::{Definition, names};

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    Bool,
    Int32,
    Int64,
    Number,
    Text,
    /// Any JSON.
    Any,
    /// A struct or an enum.
    Named(String),
    List(Box<Type>),
    Map(Box<Type>),
    Nullable(Box<Type>),
}

/// Whether a field may be missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Presence {
    Required,
    Optional,
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) json: String,
    pub(super) description: String,
    pub(super) ty: Type,
    pub(super) presence: Presence,
}

/// A struct.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) fields: Vec<Field>,
    /// The field of all fields that the schema does not name, if the API server keeps them.
    pub(super) other: Option<String>,
}

/// An enum of texts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) description: String,
    /// The variants with their texts.
    pub(super) variants: Vec<(String, String)>,
    /// The variant of other texts.
    pub(super) other: String,
}

/// The types of a kind; the first struct is that of its objects, without `apiVersion`, `kind` and `metadata`.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) structs: Vec<Struct>,
    pub(super) enums: Vec<Enum>,
    /// The name of the type of integers or texts, if one occurs.
    pub(super) int_or_string: Option<String>,
    taken: BTreeSet<String>,
}

impl Model {
    /// Returns the types of a definition.
    pub(super) fn of(definition: &Definition) -> Self {
        let mut model = Self::default();
        let mut schema = definition.schema.clone();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            for name in ["apiVersion", "kind", "metadata"] {
                properties.remove(name);
            }
        }
        let name = names::take(&mut model.taken, &names::type_name(&definition.kind));
        model.add_struct(&name, &schema, &["metadata"]);
        model
    }

    /// Whether all values of the type have a default.
    pub(super) fn has_default(&self, ty: &Type) -> bool {
        match ty {
            Type::Number => false,
            Type::Named(name) => {
                let found = self.structs.iter().find(|found| found.name == *name);
                found.is_some_and(|found| self.is_default(found))
            }
            _ => true,
        }
    }

    /// Whether the required fields of a struct have a default.
    pub(super) fn is_default(&self, of: &Struct) -> bool {
        let mut required = of
            .fields
            .iter()
            .filter(|field| field.presence == Presence::Required);
        required.all(|field| self.has_default(&field.ty))
    }

    /// Adds a struct, then those of its fields. The names of its fields are none of `reserved`.
    fn add_struct(&mut self, name: &str, schema: &Value, reserved: &[&str]) {
        let at = self.structs.len();
        self.structs.push(Struct {
            name: name.to_owned(),
            description: description(schema),
            fields: Vec::new(),
            other: None,
        });
        let mut taken: BTreeSet<String> = reserved.iter().map(|&name| name.to_owned()).collect();
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let required = schema["required"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut fields = Vec::new();
        for (json, property) in properties {
            let is_required =
                required.iter().any(|name| *name == **json) && property.get("default").is_none();
            fields.push(Field {
                name: names::take(&mut taken, &names::field(json)),
                json: json.clone(),
                description: description(property),
                ty: self.type_of(property, &format!("{name}{}", names::type_name(json))),
                presence: if is_required {
                    Presence::Required
                } else {
                    Presence::Optional
                },
            });
        }
        self.structs[at].other = keeps_unknown_fields(schema).then(|| names::take(&mut taken, "other"));
        self.structs[at].fields = fields;
    }

    /// Returns the type of a schema's values. New types get the name.
    fn type_of(&mut self, schema: &Value, name: &str) -> Type {
        let ty = self.present_type(schema, name);
        // Any JSON includes null.
        if schema["nullable"] == true && ty != Type::Any {
            Type::Nullable(Box::new(ty))
        } else {
            ty
        }
    }

    fn present_type(&mut self, schema: &Value, name: &str) -> Type {
        if is_int_or_string(schema) {
            return Type::Named(self.int_or_string());
        }
        match schema["type"].as_str() {
            Some("boolean") => Type::Bool,
            Some("integer") if schema["format"] == "int32" => Type::Int32,
            Some("integer") => Type::Int64,
            Some("number") => Type::Number,
            Some("string") => self.text(schema, name),
            Some("array") => Type::List(Box::new(self.type_of(&schema["items"], name))),
            Some("object") => self.object(schema, name),
            _ => Type::Any,
        }
    }

    fn int_or_string(&mut self) -> String {
        if let Some(name) = &self.int_or_string {
            return name.clone();
        }
        let name = names::take(&mut self.taken, &format!("{}IntOrString", self.structs[0].name));
        self.int_or_string = Some(name.clone());
        name
    }

    fn text(&mut self, schema: &Value, name: &str) -> Type {
        let values = allowed_values(schema).unwrap_or_default();
        let texts: Vec<&str> = values.into_iter().filter_map(Value::as_str).collect();
        if texts.is_empty() {
            return Type::Text;
        }
        let mut taken = BTreeSet::new();
        let variants = texts.iter().map(|text| {
            let variant = names::take(&mut taken, &names::type_name(text));
            (variant, (*text).to_owned())
        });
        let variants = variants.collect();
        let name = names::take(&mut self.taken, name);
        self.enums.push(Enum {
            name: name.clone(),
            description: description(schema),
            variants,
            other: names::take(&mut taken, "Unknown"),
        });
        Type::Named(name)
    }

    fn object(&mut self, schema: &Value, name: &str) -> Type {
        let has_fields = schema["properties"]
            .as_object()
            .is_some_and(|fields| !fields.is_empty());
        let is_embedded = schema["x-kubernetes-embedded-resource"] == true;
        if has_fields && !is_embedded {
            let name = names::take(&mut self.taken, name);
            self.add_struct(&name, schema, &[]);
            return Type::Named(name);
        }
        let values = &schema["additionalProperties"];
        if values.is_object() && !is_embedded {
            Type::Map(Box::new(self.type_of(values, name)))
        } else {
            // An embedded object has fields that no schema names: `apiVersion`, `kind` and all of `metadata`.
            Type::Map(Box::new(Type::Any))
        }
    }
}

fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_owned()
}

/// Whether the API server keeps fields of an object that its schema does not name.
fn keeps_unknown_fields(schema: &Value) -> bool {
    let additional = &schema["additionalProperties"];
    schema["x-kubernetes-preserve-unknown-fields"] == true || *additional == true || additional.is_object()
}

fn is_int_or_string(schema: &Value) -> bool {
    schema["x-kubernetes-int-or-string"] == true || schema["format"] == "int-or-string"
}
