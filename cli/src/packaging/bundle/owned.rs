//! The operator's kinds in a ClusterServiceVersion, with descriptions of their fields, and examples.

use std::path::Path;

use serde_json::{Value, json};

use super::{Bundle, CRD, ManifestObject};
use crate::{Error, manifests::descriptions::first_sentence, samples};

/// Returns `customresourcedefinitions.owned`: an entry for each served version.
pub(super) fn kinds(bundle: &Bundle<'_>) -> Vec<Value> {
    let definitions = bundle.objects.iter().filter(|object| object.kind() == CRD);
    definitions.flat_map(versions).collect()
}

fn versions(object: &ManifestObject) -> Vec<Value> {
    let spec = &object.value()["spec"];
    let kind = spec["names"]["kind"].as_str().unwrap_or_default();
    let versions = spec["versions"].as_array().into_iter().flatten();
    versions
        .map(|version| {
            let schema = &version["schema"]["openAPIV3Schema"];
            let description = schema["description"]
                .as_str()
                .map_or_else(|| format!("A {kind}"), str::to_owned);
            let mut entry = json!({
                "name": object.name(), "version": version["name"], "kind": kind,
                "displayName": words(kind), "description": description,
            });
            for (field, part) in [("specDescriptors", "spec"), ("statusDescriptors", "status")] {
                let descriptors = descriptors(&schema["properties"][part]);
                if !descriptors.is_empty() {
                    entry[field] = descriptors.into();
                }
            }
            entry
        })
        .collect()
}

/// Describes the fields of a schema.
fn descriptors(schema: &Value) -> Vec<Value> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, field)| {
            let mut descriptor = json!({"path": name, "displayName": words(name)});
            if let Some(description) = field["description"].as_str() {
                descriptor["description"] = first_sentence(description).into();
            }
            descriptor
        })
        .collect()
}

/// Returns a name in words: `deploymentName` is `Deployment Name`, and `DNSPolicy` is `DNS Policy`.
fn words(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (index, &c) in chars.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| chars[before]);
        let starts_word = c.is_uppercase()
            && before.is_some_and(|before| {
                let next = chars.get(index + 1);
                // As in `IPs`.
                let ends_plural =
                    next == Some(&'s') && chars.get(index + 2).is_none_or(|after| after.is_uppercase());
                let ends_acronym = !ends_plural && next.is_some_and(|next| next.is_lowercase());
                before.is_lowercase() || before.is_ascii_digit() || ends_acronym
            });
        if starts_word {
            words.push(' ');
        }
        if before.is_none() {
            words.extend(c.to_uppercase());
        } else {
            words.push(c);
        }
    }
    words
}

/// Returns the samples of the operator's kinds as JSON.
pub(super) fn examples(bundle: &Bundle<'_>, root: &Path) -> Result<String, Error> {
    let kinds = kinds(bundle);
    let mut found = Vec::new();
    for file in samples::read(root)? {
        let documents = file.documents.map_err(|error| {
            let line = error.line().unwrap_or(1);
            Error::from(error).at(&file.path, line)
        })?;
        for document in documents {
            let sample = document.value;
            let is_own = kinds.iter().any(|kind| {
                let group = kind["name"]
                    .as_str()
                    .and_then(|name| Some(name.split_once('.')?.1))
                    .unwrap_or_default();
                let version = kind["version"].as_str().unwrap_or_default();
                sample["kind"] == kind["kind"] && sample["apiVersion"] == format!("{group}/{version}")
            });
            if is_own {
                found.push(sample);
            }
        }
    }
    Ok(Value::from(found).to_string())
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn names_are_split_into_words() {
        for (name, expected) in [
            ("deploymentName", "Deployment Name"),
            ("replicas", "Replicas"),
            ("DNSPolicy", "DNS Policy"),
            ("clusterIPs", "Cluster IPs"),
            ("", ""),
        ] {
            assert_eq!(words(name), expected);
        }
    }
}
