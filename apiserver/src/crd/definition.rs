//! Parsed CustomResourceDefinitions.

use crate::meta::{self, has_condition};
use crate::schema::Schema;
use serde_json::Value;

/// A parsed CustomResourceDefinition.
#[derive(Debug)]
pub struct CustomResourceDefinition {
    /// The name, such as `foos.demo.dev`.
    pub name: String,
    /// The kind of lists.
    pub list_kind: String,
    /// The storage version.
    pub stored_version: String,
    /// All versions, served or not.
    pub versions: Vec<CrdVersion>,
    /// The definition is being deleted: custom resources can be updated and deleted, but not created.
    pub terminating: bool,
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
        let versions: Vec<CrdVersion> = list(&spec["versions"]).iter().map(CrdVersion::parse).collect();
        let stored = list(&spec["versions"])
            .iter()
            .find(|version| version["storage"] == true);
        let kind = text(&spec["names"]["kind"]);
        let list_kind = text(&spec["names"]["listKind"]);
        Self {
            name: meta::name(object).to_owned(),
            list_kind: if list_kind.is_empty() {
                format!("{kind}List")
            } else {
                list_kind
            },
            stored_version: stored.map(|version| text(&version["name"])).unwrap_or_default(),
            versions,
            terminating: has_condition(object, "Terminating"),
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
            columns: list(&version["additionalPrinterColumns"])
                .iter()
                .map(PrinterColumn::parse)
                .collect(),
            selectable: list(&version["selectableFields"])
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

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
