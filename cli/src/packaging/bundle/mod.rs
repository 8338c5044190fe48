//! A bundle for the Operator Lifecycle Manager (OLM): a ClusterServiceVersion that installs the operator, the CRDs, and other objects.
//!
//! OLM makes the namespace, the ServiceAccount, the roles that `permissions` collects, and the webhooks with their Service and
//! certificate (`webhooks`). `csv` assembles the ClusterServiceVersion, and `owned` describes the kinds in it.

mod csv;
mod owned;
mod permissions;
mod webhooks;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::permissions::Permissions;
use super::{Package, build::ManifestObject, operator::OperatorContainer};
use crate::{
    Error,
    error::PackageError,
    manifests::webhooks::FOLDER as WEBHOOKS_FOLDER,
    project::Settings,
    yaml::{self, YamlError},
};

/// Directory of the bundle.
pub const FOLDER: &str = "bundle";
/// The bundle's annotations.
pub const ANNOTATIONS: &str = "bundle/metadata/annotations.yaml";
/// Builds the bundle's image.
pub const DOCKERFILE: &str = "bundle.Dockerfile";

const CRD: &str = "CustomResourceDefinition";

/// Kinds that OLM creates beside those that the ClusterServiceVersion has.
const SUPPORTED: [&str; 12] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PriorityClass",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceMonitor",
];

/// The labels of a bundle's image, and the annotations in its metadata.
const PREFIX: &str = "operators.operatorframework.io.bundle";

/// The input of a bundle.
pub struct Bundle<'a> {
    /// The objects.
    pub objects: &'a [ManifestObject],
    /// The operator's container.
    pub operator: OperatorContainer,
    /// The project's settings.
    pub settings: &'a Settings,
    /// The crate's version and description.
    pub package: &'a Package,
}

impl Bundle<'_> {
    /// Returns all files with their texts. Reads the samples of the project.
    pub fn files(&self, root: &Path, warnings: &mut Vec<String>) -> Result<Vec<(PathBuf, String)>, Error> {
        let permissions = Permissions::collect(self)?;
        warnings.extend(permissions.warnings.iter().cloned());
        warnings.extend(webhooks::warnings(self));
        let name = &self.settings.name;
        let csv = yaml::write(&csv::csv(self, root, &permissions)?)?;
        let mut files = vec![
            (DOCKERFILE.into(), self.dockerfile()),
            // The project's own file sends only what the operator is built from.
            (
                format!("{DOCKERFILE}.dockerignore").into(),
                format!("*\n!{FOLDER}\n"),
            ),
            (ANNOTATIONS.into(), self.annotations()?),
            (
                format!("{FOLDER}/manifests/{name}.clusterserviceversion.yaml").into(),
                csv,
            ),
        ];
        for object in self.objects {
            if object.kind() == CRD {
                let file = object.path.file_name().unwrap_or_default();
                let definition = webhooks::without_injected_bundle(object.value());
                files.push((
                    Path::new(FOLDER).join("manifests").join(file),
                    yaml::write(&definition)?,
                ));
            } else if !self.is_made_by_olm(object, &permissions) {
                files.push(self.other(object)?);
            }
        }
        Ok(files)
    }

    /// Whether the object is in the ClusterServiceVersion, or OLM makes what it stands for.
    fn is_made_by_olm(&self, object: &ManifestObject, permissions: &Permissions) -> bool {
        let (kind, name) = (object.kind(), object.name());
        let is_account =
            kind == "ServiceAccount" && permissions.accounts.iter().any(|account| account == name);
        let is_namespace = kind == "Namespace" && name == self.settings.namespace;
        let is_for_webhooks =
            kind.ends_with("WebhookConfiguration") || object.path.starts_with(WEBHOOKS_FOLDER);
        kind == "Deployment" || is_account || is_namespace || is_for_webhooks || permissions.covers(object)
    }

    /// Returns the file of an object that OLM creates as it is, in the operator's namespace.
    fn other(&self, object: &ManifestObject) -> Result<(PathBuf, String), Error> {
        let kind = object.kind();
        if !SUPPORTED.contains(&kind) {
            let fix = format!(
                "OLM creates no {kind}: remove it from the kustomization, or have the operator create it"
            );
            return Err(object.error("kind", fix).into());
        }
        let namespace = object.namespace();
        if namespace.is_some_and(|namespace| namespace != self.settings.namespace) {
            let fix = format!(
                "OLM creates objects only in the operator's namespace: set {}, or remove the object from the kustomization",
                self.settings.namespace
            );
            return Err(object.error("metadata.namespace", fix).into());
        }
        let mut value = object.value().clone();
        if let Some(metadata) = value["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        let file = format!("{}_{}.yaml", object.name().replace(':', "-"), kind.to_lowercase());
        Ok((
            Path::new(FOLDER).join("manifests").join(file),
            yaml::write(&value)?,
        ))
    }

    /// The annotations, as labels and in the metadata.
    fn labels(&self) -> [(String, &str); 6] {
        [
            ("mediatype.v1", "registry+v1"),
            ("manifests.v1", "manifests/"),
            ("metadata.v1", "metadata/"),
            ("package.v1", &self.settings.name),
            ("channels.v1", "alpha"),
            ("channel.default.v1", "alpha"),
        ]
        .map(|(key, value)| (format!("{PREFIX}.{key}"), value))
    }

    fn annotations(&self) -> Result<String, YamlError> {
        let annotations: Value = self
            .labels()
            .into_iter()
            .map(|(key, value)| (key, Value::from(value)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        yaml::write(&json!({ "annotations": annotations }))
    }

    fn dockerfile(&self) -> String {
        let labels = self.labels().map(|(key, value)| format!("LABEL {key}={value}\n"));
        format!(
            "FROM scratch\n\n{}\nCOPY {FOLDER}/manifests /manifests/\nCOPY {FOLDER}/metadata /metadata/\n",
            labels.concat()
        )
    }

    /// Returns an error about the operator's Deployment.
    fn deployment_error(&self, path: &str, message: &str) -> PackageError {
        self.objects[self.operator.deployment].error(path, message)
    }
}
