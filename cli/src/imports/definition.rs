//! Reads a CustomResourceDefinition.

use kube::core::Version;
use serde_json::Value;

use super::names;
use crate::{error::ImportError, names::is_dns_label};

/// A kind that another project defines, in one version.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The name of the CRD.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Plural name of the resource.
    pub plural: String,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// The version within the group.
    pub version: String,
    /// The schema of the version.
    pub schema: Value,
    /// Whether the version has the subresource `status`.
    pub has_status: bool,
    /// Whether the version has the subresource `scale`.
    pub has_scale: bool,
    /// The CRD as a user would write it.
    pub crd: Value,
}

impl Definition {
    /// Reads a version of a CRD: the given one, or the served one of the highest priority.
    pub fn of(crd: &Value, version: Option<&str>) -> Result<Self, ImportError> {
        let name = crd["metadata"]["name"]
            .as_str()
            .unwrap_or("a definition")
            .to_owned();
        let found = crd["apiVersion"].as_str().unwrap_or_default();
        if found != "apiextensions.k8s.io/v1" {
            let found = found.to_owned();
            return Err(ImportError::OldApi { name, found });
        }
        let spec = &crd["spec"];
        let text = |value: &Value, field| match value.as_str() {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(ImportError::Malformed {
                name: name.clone(),
                field,
            }),
        };
        let kind = text(&spec["names"]["kind"], "spec.names.kind")?;
        if names::is_reserved(&names::type_name(&kind)) {
            return Err(ImportError::Reserved(kind));
        }
        let selected = select(spec, version, &name)?;
        let schema = selected["schema"]["openAPIV3Schema"].clone();
        if !schema.is_object() {
            let field = "spec.versions[].schema.openAPIV3Schema";
            return Err(ImportError::Malformed { name, field });
        }
        if let Some(path) = reference(&schema, String::new()) {
            return Err(ImportError::Reference { name, path });
        }
        let group = text(&spec["group"], "spec.group")?;
        let plural = text(&spec["names"]["plural"], "spec.names.plural")?;
        let version = text(&selected["name"], "spec.versions[].name")?;
        check_names(&name, [&group, &plural, &kind, &version])?;
        Ok(Self {
            namespaced: text(&spec["scope"], "spec.scope")? == "Namespaced",
            group,
            plural,
            version,
            has_status: selected["subresources"]["status"].is_object(),
            has_scale: selected["subresources"]["scale"].is_object(),
            schema,
            crd: written(crd),
            kind,
            name,
        })
    }
}

/// Checks the names, of which paths and code are made.
fn check_names(name: &str, [group, plural, kind, version]: [&str; 4]) -> Result<(), ImportError> {
    const LABEL: &str = "it must consist of a-z, 0-9 and '-', and start and end with a letter or digit";
    let invalid = |field, value: &str, rule| ImportError::Invalid {
        name: format!("{plural}.{group}"),
        field,
        value: value.to_owned(),
        rule,
    };
    if !group.split('.').all(is_dns_label) {
        return Err(invalid(
            "spec.group",
            group,
            "it must be a domain name in lower case",
        ));
    }
    if !is_dns_label(&kind.to_ascii_lowercase()) {
        let rule = "it must consist of letters, digits and '-'";
        return Err(invalid("spec.names.kind", kind, rule));
    }
    for (field, value) in [("spec.names.plural", plural), ("spec.versions[].name", version)] {
        if !is_dns_label(value) {
            return Err(invalid(field, value, LABEL));
        }
    }
    if name != format!("{plural}.{group}") {
        return Err(invalid(
            "metadata.name",
            name,
            "it must be the plural, a dot and the group",
        ));
    }
    Ok(())
}

/// Returns the path of a schema that refers to another one; none if there is none.
fn reference(schema: &Value, path: String) -> Option<String> {
    if !schema.is_object() {
        return None;
    }
    if !schema["$ref"].is_null() {
        return Some(if path.is_empty() {
            "the schema".to_owned()
        } else {
            path
        });
    }
    let named = schema["properties"].as_object().into_iter().flatten();
    let named = named.map(|(name, below)| (format!("{path}.{name}"), below));
    let lists = ["allOf", "anyOf", "oneOf"].map(|key| schema[key].as_array().into_iter().flatten());
    let alternatives = lists
        .into_iter()
        .flatten()
        .chain([&schema["not"]])
        .map(|below| (path.clone(), below));
    let values = [
        (format!("{path}[]"), &schema["items"]),
        (format!("{path}.*"), &schema["additionalProperties"]),
    ];
    named
        .chain(alternatives)
        .chain(values)
        .find_map(|(path, below)| reference(below, path))
}

/// Returns the definitions among the documents of an input, also those in lists.
pub fn definitions(documents: Vec<Value>) -> Vec<Value> {
    let flat = documents.into_iter().flat_map(|mut document| {
        let is_list = document["kind"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("List"));
        match document.get_mut("items").and_then(Value::as_array_mut) {
            Some(items) if is_list => std::mem::take(items),
            _ => vec![document],
        }
    });
    flat.filter(|object| object["kind"] == "CustomResourceDefinition")
        .collect()
}

fn select<'a>(spec: &'a Value, version: Option<&str>, name: &str) -> Result<&'a Value, ImportError> {
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let name_of = |version: &Value| version["name"].as_str().unwrap_or_default().to_owned();
    let selected = match version {
        Some(wanted) => versions.iter().find(|version| version["name"] == wanted),
        None => versions
            .iter()
            .filter(|version| version["served"] != false)
            .max_by_key(|version| Version::parse(&name_of(version)).priority()),
    };
    match (selected, version) {
        (Some(selected), _) => Ok(selected),
        (None, Some(version)) => Err(ImportError::UnknownVersion {
            name: name.to_owned(),
            version: version.to_owned(),
            known: versions.iter().map(name_of).collect(),
        }),
        (None, None) => Err(ImportError::Malformed {
            name: name.to_owned(),
            field: "spec.versions",
        }),
    }
}

/// Returns a CRD without what only the API server writes.
fn written(crd: &Value) -> Value {
    let mut crd = crd.clone();
    if let Some(object) = crd.as_object_mut() {
        object.remove("status");
    }
    // Annotations may hold a copy of the whole definition. The API server requires this one in protected groups.
    let approved = crd["metadata"]["annotations"]["api-approved.kubernetes.io"].clone();
    crd["metadata"] = serde_json::json!({"name": crd["metadata"]["name"]});
    if approved.is_string() {
        crd["metadata"]["annotations"] = serde_json::json!({"api-approved.kubernetes.io": approved});
    }
    // The webhook of a conversion runs where the definition is installed.
    if let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("conversion");
    }
    crd
}
