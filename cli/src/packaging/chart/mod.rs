//! A Helm chart: a template for each file of the manifests. With its default values it renders the same objects, in the release's namespace.
//!
//! Names stay as they are, since the operator finds its webhooks and certificates by them: a cluster has one release. `expressions` puts
//! expressions into an object, `template` writes the object as text, `deployment` and `namespaces` know what values change, and
//! `values` writes their defaults.

mod deployment;
mod expressions;
mod namespaces;
mod template;
mod values;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use self::expressions::raw;
use super::{
    Package,
    build::{FOLDER as MANIFESTS, ManifestObject},
    operator::OperatorContainer,
};
use crate::{
    Error,
    args::ChartCrds,
    manifests::webhooks,
    project::Settings,
    yaml::{self, YamlError},
};

/// Directory of the chart.
pub const FOLDER: &str = "chart";
/// The file with the chart's name and version.
pub const FILE: &str = "chart/Chart.yaml";
/// Directory of CRDs that Helm creates and never changes.
pub const CRDS_FOLDER: &str = "chart/crds";

const CRD: &str = "CustomResourceDefinition";

/// The input of a chart.
pub struct Chart<'a> {
    /// The objects.
    pub objects: &'a [ManifestObject],
    /// The operator's container.
    pub operator: OperatorContainer,
    /// The project's settings.
    pub settings: &'a Settings,
    /// The crate's version and description.
    pub package: &'a Package,
    /// Where the CRDs are.
    pub crds: ChartCrds,
}

impl Chart<'_> {
    /// Returns all files with their texts.
    pub fn files(&self) -> Result<Vec<(PathBuf, String)>, Error> {
        let mut files = vec![
            (FILE.into(), self.chart_file()?),
            (format!("{FOLDER}/values.yaml").into(), values::text(self)?),
        ];
        let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
        for object in self.objects {
            let (path, text) = if object.kind() == CRD && self.crds == ChartCrds::Folder {
                let file = object.path.file_name().unwrap_or_default();
                (
                    Path::new(CRDS_FOLDER).join(file),
                    format!("---\n{}", yaml::write(object.value())?),
                )
            } else {
                (template_path(object), self.template(object)?)
            };
            texts.entry(path).or_default().push_str(&text);
        }
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        files.extend(texts.map(|(path, text)| match text.strip_prefix("---\n") {
            Some(first) => (path, first.to_owned()),
            None => (path, text),
        }));
        Ok(files)
    }

    /// Returns warnings about what the chart cannot do.
    pub fn warnings(&self) -> Vec<String> {
        let mut converted = self.objects.iter().filter(|object| converts(object));
        let fixed = converted.next().filter(|_| self.crds == ChartCrds::Folder);
        let fixed = fixed.map(|object| {
            let fix = format!(
                "CRDs in {CRDS_FOLDER} are not templates, and this one names the operator's namespace: install the chart in {}, or run \
                 `kubewright package helm --crds templates`",
                self.settings.namespace
            );
            object.error("spec.conversion", fix).to_string()
        });
        fixed.into_iter().collect()
    }

    fn chart_file(&self) -> Result<String, YamlError> {
        let name = &self.settings.name;
        let version = self.package.version.to_string();
        let default = format!("The operator {name}");
        let description = self.package.description.as_deref().unwrap_or(&default);
        yaml::write(&json!({
            "apiVersion": "v2", "name": name, "description": description, "type": "application",
            "version": version, "appVersion": version,
        }))
    }

    /// Returns the template of an object: documents that each begin with `---`.
    fn template(&self, object: &ManifestObject) -> Result<String, YamlError> {
        let mut value = object.value().clone();
        namespaces::limit_webhooks(self, object, &mut value)?;
        expressions::localize(&mut value, &self.settings.namespace);
        let default_is_not_watched = namespaces::default_is_not_watched();
        let mut conditions = Vec::new();
        if object.kind() == CRD {
            conditions.push("$.Values.crds.enable");
            keep_definition(&mut value)?;
        }
        if object.kind() == "Namespace" && object.name() == self.settings.namespace {
            conditions.push("$.Values.createNamespace");
        }
        if is_for_webhooks(object) {
            conditions.push(WEBHOOKS);
        }
        let replicas = &self.objects[self.operator.deployment].value()["spec"]["replicas"];
        if object.kind() == "PodDisruptionBudget" && replicas.as_u64().is_some_and(|replicas| replicas > 1) {
            // With one replica, a budget would block the drain of its node.
            conditions.push("gt (int $.Values.replicas) 1");
        }
        if namespaces::is_for_cluster_events(self, object) {
            // There, the watched namespace has the role.
            conditions.push(&default_is_not_watched);
        }
        if self.is_for_metrics(object) {
            conditions.push(METRICS);
        }
        if self.is_operator(object) {
            deployment::parameterize(self, &mut value)?;
        }
        if self.is_account(object) {
            value["metadata"]["annotations"] =
                deployment::yaml_value("annotations", "serviceAccount.annotations");
        }
        let text = match namespaces::scope(self, object) {
            namespaces::Scope::Once => {
                namespaces::limited(self, object, format!("---\n{}", template::text(&value)?))?
            }
            namespaces::Scope::EachWatched => namespaces::for_each_watched(value)?,
            namespaces::Scope::Covered => return Ok(String::new()),
        };
        let text = if self.is_operator(object) && self.converts() {
            CONVERSION_CHECK.to_owned() + &text
        } else {
            text
        };
        Ok(conditions
            .iter()
            .fold(text, |text, condition| expressions::when(condition, &text)))
    }

    fn is_operator(&self, object: &ManifestObject) -> bool {
        std::ptr::eq(object, &raw const self.objects[self.operator.deployment])
    }

    /// Whether this is the operator's ServiceAccount.
    fn is_account(&self, object: &ManifestObject) -> bool {
        let account =
            &self.objects[self.operator.deployment].value()["spec"]["template"]["spec"]["serviceAccountName"];
        object.kind() == "ServiceAccount" && *account == *object.name()
    }

    fn is_namespaced(&self) -> bool {
        !self.settings.watched().is_empty()
    }

    /// Whether the object serves no purpose without metrics: it is generated for them, or a Service with the name that scrapers expect.
    fn is_for_metrics(&self, object: &ManifestObject) -> bool {
        let suffix = object.name().strip_prefix(&*self.settings.name);
        object.group() == "monitoring.coreos.com"
            || suffix.is_some_and(|suffix| METRICS_SUFFIXES.contains(&suffix))
            || object.path.starts_with("manifests/monitoring")
    }

    /// Whether the operator has webhooks.
    fn has_webhooks(&self) -> bool {
        self.objects.iter().any(is_for_webhooks)
    }

    /// Whether a CRD is converted by the operator's webhook.
    fn converts(&self) -> bool {
        self.objects.iter().any(converts)
    }
}

/// The value that switches webhooks off.
const WEBHOOKS: &str = "$.Values.webhooks.enable";
/// The value that switches metrics off.
const METRICS: &str = "$.Values.metrics.enable";

/// What the names of objects for metrics have after the operator's name.
const METRICS_SUFFIXES: [&str; 3] = ["-metrics", "-metrics-auth", "-metrics-reader"];

/// Refuses values with which the API server could not read objects.
const CONVERSION_CHECK: &str = "{{- if not $.Values.webhooks.enable }}
{{- fail \"webhooks.enable is false, and the operator's webhook converts objects between versions: set it to true\" }}
{{- end }}
";

/// Whether the object serves no purpose without webhooks.
fn is_for_webhooks(object: &ManifestObject) -> bool {
    is_webhook_configuration(object)
        || object.path.starts_with(webhooks::FOLDER)
        || object.path.ends_with("rbac/webhooks.yaml")
}

fn is_webhook_configuration(object: &ManifestObject) -> bool {
    matches!(
        object.kind(),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"
    )
}

fn converts(object: &ManifestObject) -> bool {
    object.kind() == CRD && object.value().pointer("/spec/conversion/webhook").is_some()
}

/// Has Helm keep a definition, and so all its objects, when the release is uninstalled.
fn keep_definition(definition: &mut Value) -> Result<(), YamlError> {
    const KEEP: &str = "helm.sh/resource-policy";
    let Some(metadata) = definition["metadata"].as_object_mut() else {
        return Ok(());
    };
    let condition = "$.Values.crds.keep";
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        let line = expressions::when(condition, &format!("{KEEP}: keep\n"));
        annotations.insert(KEEP.to_owned(), raw(&line));
    } else {
        let lines = template::text(&json!({"annotations": {KEEP: "keep"}}))?;
        metadata.insert(
            "annotations".to_owned(),
            raw(&expressions::when(condition, &lines)),
        );
    }
    Ok(())
}

/// Returns the template of an object: its file below the manifests.
fn template_path(object: &ManifestObject) -> PathBuf {
    let below = object.path.strip_prefix(MANIFESTS).unwrap_or(&object.path);
    Path::new(FOLDER)
        .join("templates")
        .join(below)
        .with_extension("yaml")
}
