//! Finds the types of Kubernetes that a struct flattens, and gives their fields the schemas that Kubernetes publishes.
//!
//! schemars adds the fields of a flattened type to those of the struct, without the name of the type. Their descriptions and types tell which one
//! it is: versions of Kubernetes have most of them in common.

use kubewright_api_types::{
    Field, Map as ObjectType, Type, custom_resource_schema, description, object_types,
};
use serde_json::{Map, Value};

use super::references::BUILT_IN;

/// Replaces the fields of flattened types by the published ones, which are finished. Returns the names of these fields.
pub(super) fn insert_published(fields: &mut Map<String, Value>) -> Vec<&'static str> {
    let mut replaced: Vec<&str> = vec![];
    let Some(Value::Object(properties)) = fields.get("properties") else {
        return replaced;
    };
    let mut types: Vec<_> = object_types()
        .map(|(name, ty)| (matching_fields(name, ty, properties), name, ty))
        .filter(|(matching, _, ty)| *matching > 0 && 3 * matching >= 2 * ty.fields.len())
        .collect();
    // A type may have the fields of a smaller one.
    types.sort_by_key(|(matching, name, _)| (std::cmp::Reverse(*matching), *name));
    for (_, name, ty) in types {
        let own = |field: &&str| properties_of(fields).any(|property| property == *field);
        let new: Vec<&str> = ty.fields.keys().map(|field| &**field).filter(own).collect();
        let is_known = new.iter().any(|field| replaced.contains(field));
        if !is_known {
            replace(fields, name, ty, &new);
            replaced.extend(new);
        }
    }
    replaced
}

fn properties_of(fields: &Map<String, Value>) -> impl Iterator<Item = &String> {
    let properties = fields.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(Map::keys)
}

/// Counts the fields of a type that are among the properties, with its descriptions.
fn matching_fields(name: &str, ty: &ObjectType, properties: &Map<String, Value>) -> usize {
    let is_same = |(field, ty): &(&str, &Field)| {
        properties.get(*field).is_some_and(|property| {
            let text = property["description"].as_str();
            // The published text may list the values of an enumeration, too.
            let is_described = text
                .zip(description(name, field))
                .is_some_and(|(text, published)| !text.is_empty() && published.starts_with(text));
            is_described && has_type(property, &ty.ty)
        })
    };
    let fields = ty.fields.iter().map(|(name, field)| (&**name, field));
    fields.filter(is_same).count()
}

/// True if a property can be of a type: those of objects have a mark.
fn has_type(property: &Value, ty: &Type) -> bool {
    match ty {
        Type::Named(named) => property[BUILT_IN] == *named.name,
        Type::List(list) => has_type(&property["items"], &list.items),
        _ => true,
    }
}

/// Replaces fields of a type by those of its published schema.
fn replace(fields: &mut Map<String, Value>, name: &str, ty: &ObjectType, names: &[&str]) {
    let Some(mut published) = custom_resource_schema(name) else {
        return;
    };
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        let is_optional = |name: &str| ty.fields.get(name).is_some_and(|field| !field.required);
        required.retain(|name| !name.as_str().is_some_and(is_optional));
    }
    let Some(Value::Object(properties)) = fields.get_mut("properties") else {
        return;
    };
    for name in names {
        let schema = published["properties"][*name].take();
        if schema.is_object() {
            properties.insert((*name).to_owned(), schema);
        }
    }
}
