//! Checks the index paths of a kind against its schema: that they exist, and that the type matches.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use crate::{
    cache::{
        IndexSpec, IndexType, RegisteredKind,
        index::{IndexPath, PathSegment},
    },
    did_you_mean::did_you_mean,
};

/// An index that does not match its kind's schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: index {index} = {path:?}: {reason}")]
pub struct IndexError {
    /// The kind and its version, as in `Foo (demo.dev/v1)`.
    pub kind: String,
    /// The name of the index.
    pub index: String,
    /// The path of the index.
    pub path: String,
    /// The reason, and the fix.
    pub reason: String,
}

/// Checks all indexes of a kind against the schema of its version.
pub(super) fn check(kind: &RegisteredKind, crd: &CustomResourceDefinition) -> Vec<IndexError> {
    let version = crd
        .spec
        .versions
        .iter()
        .find(|version| version.name == kind.info.version);
    let Some(schema) = version
        .and_then(|version| version.schema.as_ref())
        .and_then(|validation| validation.open_api_v3_schema.as_ref())
    else {
        return Vec::new();
    };
    let root = with_metadata(schema);
    let failed = |index: &IndexSpec| {
        check_index(&root, index).err().map(|reason| IndexError {
            kind: kind.info.kind_and_version(),
            index: index.name.to_owned(),
            path: index.path.to_owned(),
            reason,
        })
    };
    kind.indexes.iter().filter_map(failed).collect()
}

fn check_index(root: &JSONSchemaProps, index: &IndexSpec) -> Result<(), String> {
    let path: IndexPath = index.path.parse().map_err(|error| format!("{error}"))?;
    let (mut at, mut walked) = (root, String::new());
    for segment in path.segments() {
        let next = match segment {
            PathSegment::Field(name) => field(at, name, &walked)?,
            PathSegment::Elements => elements(at, &walked)?,
        };
        let step = match segment {
            PathSegment::Elements => "[*]".to_owned(),
            PathSegment::Field(name) if name.contains(['.', '/']) => format!("['{name}']"),
            PathSegment::Field(name) if walked.is_empty() => name.clone(),
            PathSegment::Field(name) => format!(".{name}"),
        };
        walked.push_str(&step);
        match next {
            Some(next) => at = next,
            // The schema allows any value here.
            None => return Ok(()),
        }
    }
    check_type(at, index.value_type, &walked)
}

/// Returns the schema of a field; none if the schema allows any value.
fn field<'a>(
    at: &'a JSONSchemaProps,
    name: &str,
    walked: &str,
) -> Result<Option<&'a JSONSchemaProps>, String> {
    if let Some(found) = at.properties.as_ref().and_then(|properties| properties.get(name)) {
        return Ok(Some(found));
    }
    match &at.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(values)) => return Ok(Some(values)),
        Some(JSONSchemaPropsOrBool::Bool(true)) => return Ok(None),
        _ => {}
    }
    if is_open(at) {
        return Ok(None);
    }
    match at.type_.as_deref() {
        Some("object") | None => {}
        Some("array") => return Err(format!("`{walked}` is an array: write `{walked}[*].{name}`")),
        Some(other) => return Err(format!("`{walked}` is {}, which has no fields", article(other))),
    }
    let names = at.properties.iter().flat_map(BTreeMap::keys).map(String::as_str);
    let hint = match did_you_mean(name, names.clone()) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => format!("the fields are {}", names.collect::<Vec<_>>().join(", ")),
    };
    let place = if walked.is_empty() { "the object" } else { walked };
    Err(format!("`{place}` has no field `{name}`: {hint}"))
}

fn elements<'a>(at: &'a JSONSchemaProps, walked: &str) -> Result<Option<&'a JSONSchemaProps>, String> {
    match (&at.items, at.type_.as_deref()) {
        (Some(JSONSchemaPropsOrArray::Schema(items)), _) => Ok(Some(items)),
        (Some(JSONSchemaPropsOrArray::Schemas(_)), _) | (None, Some("array")) => Ok(None),
        (None, _) if is_open(at) => Ok(None),
        (None, found) => Err(format!(
            "`{walked}` is {}, not an array: remove `[*]`",
            article(found.unwrap_or("object"))
        )),
    }
}

fn check_type(at: &JSONSchemaProps, wanted: IndexType, walked: &str) -> Result<(), String> {
    let int_or_string = at.x_kubernetes_int_or_string == Some(true);
    let found = match at.type_.as_deref() {
        None if int_or_string && wanted == IndexType::Bool => "integer or string",
        None => return Ok(()),
        Some(found) => found,
    };
    match (wanted, found) {
        (IndexType::String, "string") | (IndexType::Bool, "boolean") | (IndexType::Integer, "integer") => {
            Ok(())
        }
        (_, "object") => Err(format!("`{walked}` is an object: name one of its fields")),
        (_, "array") => Err(format!("`{walked}` is an array: write `{walked}[*]`")),
        (_, "number") => Err(format!(
            "`{walked}` is a number with fractions: only strings, booleans and integers are indexed"
        )),
        (wanted, found) => {
            let wanted = match wanted {
                IndexType::String => "a String",
                IndexType::Bool => "a bool",
                IndexType::Integer => "an integer",
            };
            Err(format!(
                "the index has {wanted} and the schema {}: change the index's type",
                article(found)
            ))
        }
    }
}

/// Returns whether the schema allows fields that it does not name.
fn is_open(at: &JSONSchemaProps) -> bool {
    let bare = at.type_.is_none() && at.properties.is_none() && at.items.is_none();
    at.x_kubernetes_preserve_unknown_fields == Some(true) || bare
}

fn article(type_: &str) -> String {
    let article = if type_.starts_with(['a', 'e', 'i', 'o']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {type_}")
}

/// Returns the schema with `apiVersion`, `kind` and the fields of `metadata`: a definition's schema has `metadata` only as an object.
fn with_metadata(schema: &JSONSchemaProps) -> JSONSchemaProps {
    let object = |properties: Vec<(&str, JSONSchemaProps)>| JSONSchemaProps {
        properties: Some(
            properties
                .into_iter()
                .map(|(name, schema)| (name.to_owned(), schema))
                .collect(),
        ),
        ..of_type("object")
    };
    let map = || JSONSchemaProps {
        additional_properties: Some(JSONSchemaPropsOrBool::Schema(Box::new(of_type("string")))),
        ..of_type("object")
    };
    let array = |items| JSONSchemaProps {
        items: Some(JSONSchemaPropsOrArray::Schema(Box::new(items))),
        ..of_type("array")
    };
    let owner = object(vec![
        ("apiVersion", of_type("string")),
        ("kind", of_type("string")),
        ("name", of_type("string")),
        ("uid", of_type("string")),
        ("controller", of_type("boolean")),
        ("blockOwnerDeletion", of_type("boolean")),
    ]);
    let metadata = object(vec![
        ("name", of_type("string")),
        ("generateName", of_type("string")),
        ("namespace", of_type("string")),
        ("uid", of_type("string")),
        ("resourceVersion", of_type("string")),
        ("generation", of_type("integer")),
        ("creationTimestamp", of_type("string")),
        ("deletionTimestamp", of_type("string")),
        ("deletionGracePeriodSeconds", of_type("integer")),
        ("labels", map()),
        ("annotations", map()),
        ("finalizers", array(of_type("string"))),
        ("ownerReferences", array(owner)),
    ]);
    let mut schema = schema.clone();
    let properties = schema.properties.get_or_insert_default();
    properties.insert("metadata".to_owned(), metadata);
    for name in ["apiVersion", "kind"] {
        properties.insert(name.to_owned(), of_type("string"));
    }
    schema
}

fn of_type(type_: &str) -> JSONSchemaProps {
    JSONSchemaProps {
        type_: Some(type_.to_owned()),
        ..JSONSchemaProps::default()
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
