//! The definitions of a module, the versions that a round has of them, and the samples in the module's files.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::yaml;

/// The check ignores longer files.
const MAX_SAMPLE_BYTES: u64 = 200_000;

/// Returns the YAML documents of the module that are of one of the defined kinds. Templates, which are no YAML, are left out.
pub(super) fn samples(root: &Path, definitions: &[Value]) -> Result<Vec<Value>> {
    let is_of_one = |object: &Value| {
        definitions
            .iter()
            .any(|definition| is_defined(definition, object))
    };
    let mut found: Vec<Value> = documents(root)?.into_iter().filter(is_of_one).collect();
    found.sort_by_key(Value::to_string);
    found.dedup();
    Ok(found)
}

/// Returns the documents of all YAML files below a folder that can be parsed.
pub(super) fn documents(folder: &Path) -> Result<Vec<Value>> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let path = entry.path();
        if path.is_dir() {
            found.extend(documents(&path)?);
            continue;
        }
        let is_yaml = path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml");
        let is_definition =
            || fs::read_to_string(&path).is_ok_and(|text| text.contains("kind: CustomResourceDefinition"));
        if is_yaml && (entry.metadata()?.len() < MAX_SAMPLE_BYTES || is_definition()) {
            found.extend(yaml::parse_all(&fs::read_to_string(&path)?).unwrap_or_default());
        }
    }
    Ok(found)
}

/// Returns the definition with the served version of this number, which is then the only served one, and stored: no webhook converts.
pub(super) fn with_version(definition: &Value, number: usize) -> Option<Value> {
    let mut definition = definition.clone();
    let versions = definition["spec"]["versions"].as_array_mut()?;
    let mut served = versions
        .iter()
        .filter(|version| version["served"] == true)
        .map(|version| version["name"].clone());
    let name = served.nth(number)?;
    for version in versions {
        let is_selected = version["name"] == name;
        version["served"] = json!(is_selected);
        version["storage"] = json!(is_selected);
    }
    Some(definition)
}

/// Whether an object is of the definition's kind, in a version that is served.
pub(super) fn is_served(definition: &Value, object: &Value) -> bool {
    let version = object["apiVersion"]
        .as_str()
        .and_then(|version| version.rsplit_once('/'));
    let versions = definition["spec"]["versions"].as_array();
    is_defined(definition, object)
        && versions.into_iter().flatten().any(|served| {
            served["served"] == true && version.is_some_and(|(_, version)| served["name"] == version)
        })
}

/// Whether an object is of the definition's kind, in any version.
fn is_defined(definition: &Value, object: &Value) -> bool {
    let spec = &definition["spec"];
    let version = object["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'));
    spec["names"]["kind"] == object["kind"] && version.is_some_and(|(group, _)| spec["group"] == group)
}
