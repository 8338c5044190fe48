//! Parsed CustomResourceDefinitions.

use super::conversion::ConversionWebhook;
use crate::meta::{self, array, has_condition};
use crate::schema::Schema;
use serde_json::Value;
use std::cmp::Reverse;

/// A parsed CustomResourceDefinition.
#[derive(Debug)]
pub struct CustomResourceDefinition {
    /// The name, such as `foos.demo.dev`.
    pub name: String,
    /// The uid and the generation, which changes with the definition's spec.
    pub revision: (String, i64),
    /// The kind of lists.
    pub list_kind: String,
    /// The storage version.
    pub stored_version: String,
    /// All versions, served or not.
    pub versions: Vec<CrdVersion>,
    /// Stored custom resources may lack defaults, or have fields that their schema no longer has: they are defaulted and pruned when they
    /// are read.
    pub normalizes_stored: bool,
    /// The definition is being deleted: custom resources can be updated and deleted, but not created.
    pub terminating: bool,
    /// The webhook that converts between versions.
    pub(crate) conversion: Option<ConversionWebhook>,
}

/// One version of a custom resource.
#[derive(Debug)]
pub struct CrdVersion {
    /// The name, such as `v1`.
    pub name: String,
    /// Whether the version is served.
    pub served: bool,
    /// The deprecation warning.
    pub deprecation: Option<String>,
    /// The schema (`openAPIV3Schema`) as published in OpenAPI documents.
    pub document: Value,
    /// The schema for validation, pruning and defaults.
    pub schema: Schema,
    /// Whether there is a status subresource.
    pub status: bool,
    /// The paths of the scale subresource.
    pub scale: Option<ScalePaths>,
    /// The additional printer columns.
    pub columns: Vec<PrinterColumn>,
    /// The paths of the selectable fields.
    pub selectable: Vec<String>,
}

/// An additional printer column.
#[derive(Clone, Debug)]
pub struct PrinterColumn {
    /// The column header.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean`, `date`.
    pub kind: String,
    /// The format.
    pub format: String,
    /// The description.
    pub description: String,
    /// Columns with a priority above 0 are shown only by wide output.
    pub priority: i64,
    /// The JSONPath of the value.
    pub path: String,
}

/// The fields that the scale subresource maps to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The path of the desired number of replicas.
    pub spec: Vec<String>,
    /// The path of the observed number of replicas.
    pub status: Vec<String>,
    /// The path of the selector: a string, or a label selector.
    pub selector: Option<Vec<String>>,
}

impl CustomResourceDefinition {
    /// Parses a stored definition.
    pub fn parse(object: &Value) -> Self {
        let spec = &object["spec"];
        let mut versions: Vec<CrdVersion> = array(&spec["versions"]).iter().map(CrdVersion::parse).collect();
        set_deprecation_warnings(object, &mut versions);
        let stored = array(&spec["versions"])
            .iter()
            .find(|version| version["storage"] == true);
        let kind = text(&names(object)["kind"]);
        let list_kind = text(&names(object)["listKind"]);
        Self {
            name: meta::name(object).to_owned(),
            revision: (
                meta::uid(object).to_owned(),
                object["metadata"]["generation"].as_i64().unwrap_or_default(),
            ),
            list_kind: if list_kind.is_empty() {
                format!("{kind}List")
            } else {
                list_kind
            },
            stored_version: stored.map(|version| text(&version["name"])).unwrap_or_default(),
            normalizes_stored: normalizes_stored(object),
            versions,
            terminating: has_condition(object, "Terminating"),
            conversion: ConversionWebhook::parse(&spec["conversion"]),
        }
    }

    /// Returns a version by name.
    pub fn version(&self, name: &str) -> Option<&CrdVersion> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// Returns the selectable fields of a version.
    pub fn selectable(&self, version: &str) -> &[String] {
        self.version(version).map_or(&[], |version| &version.selectable)
    }
}

/// Objects are stored defaulted and pruned by the schema of the request's version, except for the status that a create drops. So they are
/// complete if the definition never changed, has one version and no default for a status that is a subresource.
fn normalizes_stored(object: &Value) -> bool {
    let versions = array(&object["spec"]["versions"]);
    let defaults_status = |version: &Value| {
        let schema = &version["schema"]["openAPIV3Schema"];
        !version["subresources"]["status"].is_null() && !schema["properties"]["status"]["default"].is_null()
    };
    object["metadata"]["generation"].as_i64() != Some(1)
        || versions.len() > 1
        || versions.iter().any(defaults_status)
}

/// Returns the accepted names, or the requested ones before any are accepted.
pub(crate) fn names(object: &Value) -> &Value {
    let accepted = &object["status"]["acceptedNames"];
    match accepted["plural"].as_str() {
        None | Some("") => &object["spec"]["names"],
        Some(_) => accepted,
    }
}

/// Sets the warning of each deprecated version that has none of its own. It recommends the newest version, if it is newer.
fn set_deprecation_warnings(object: &Value, versions: &mut [CrdVersion]) {
    let group = text(&object["spec"]["group"]);
    let kind = text(&names(object)["kind"]);
    let usable = versions
        .iter()
        .filter(|version| version.served && version.deprecation.is_none());
    let newest = usable
        .map(|version| version.name.clone())
        .max_by(|a, b| version_priority(a).cmp(&version_priority(b)));
    for (version, spec) in versions.iter_mut().zip(array(&object["spec"]["versions"])) {
        if version.deprecation.is_none() || spec["deprecationWarning"].is_string() {
            continue;
        }
        let mut warning = format!("{group}/{} {kind} is deprecated", version.name);
        let is_newer = |other: &&String| version_priority(other) > version_priority(&version.name);
        if let Some(newest) = newest.as_ref().filter(is_newer) {
            warning = format!("{warning}; use {group}/{newest} {kind}");
        }
        version.deprecation = Some(warning);
    }
}

/// The priority of a version in Kubernetes: stable, then beta, then alpha, each by descending number; other names come last, by name.
pub(crate) fn version_priority(version: &str) -> (u8, u64, u64, Reverse<&str>) {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let unknown = (0, 0, 0, Reverse(version));
    let Some(rest) = version.strip_prefix('v') else {
        return unknown;
    };
    let major = digits(rest);
    let Ok(number) = major.parse() else {
        return unknown;
    };
    let stage = &rest[major.len()..];
    let minor = |text: &str| text.parse().ok();
    if stage.is_empty() {
        return (3, number, 0, Reverse(version));
    }
    for (name, rank) in [("beta", 2), ("alpha", 1)] {
        if let Some(minor) = stage.strip_prefix(name).and_then(minor) {
            return (rank, number, minor, Reverse(version));
        }
    }
    unknown
}

impl CrdVersion {
    fn parse(version: &Value) -> Self {
        let scale = &version["subresources"]["scale"];
        let path = |key: &str| {
            let path = scale[key].as_str()?.trim_start_matches('.');
            Some(path.split('.').map(str::to_owned).collect::<Vec<_>>())
        };
        let deprecation = (version["deprecated"] == true).then(|| text(&version["deprecationWarning"]));
        Self {
            name: text(&version["name"]),
            served: version["served"] == true,
            deprecation,
            document: version["schema"]["openAPIV3Schema"].clone(),
            schema: Schema::new(&version["schema"]["openAPIV3Schema"]),
            status: !version["subresources"]["status"].is_null(),
            scale: path("specReplicasPath")
                .zip(path("statusReplicasPath"))
                .map(|(spec, status)| ScalePaths {
                    spec,
                    status,
                    selector: path("labelSelectorPath"),
                }),
            columns: array(&version["additionalPrinterColumns"])
                .iter()
                .map(PrinterColumn::parse)
                .collect(),
            selectable: array(&version["selectableFields"])
                .iter()
                .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
                .collect(),
        }
    }
}

impl PrinterColumn {
    fn parse(column: &Value) -> Self {
        let path = text(&column["jsonPath"]);
        let description = text(&column["description"]);
        Self {
            name: text(&column["name"]),
            kind: text(&column["type"]),
            format: text(&column["format"]),
            description: if description.is_empty() {
                format!("Custom resource definition column (in JSONPath format): {path}")
            } else {
                description
            },
            priority: column["priority"].as_i64().unwrap_or(0),
            path,
        }
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_by_kube_aware_priority() {
        let mut versions = ["v1alpha1", "foo", "bar", "v1", "v2beta1", "v10", "v1beta2"];
        versions.sort_by_key(|version| Reverse(version_priority(version)));
        assert_eq!(
            versions,
            ["v10", "v1", "v2beta1", "v1beta2", "v1alpha1", "bar", "foo"]
        );
    }
}
