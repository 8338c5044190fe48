//! Samples: an example object of each kind. Samples are the user's files: missing ones are written, existing ones are
//! validated.

mod example;
mod pattern;
mod validate;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{
    Error,
    manifests::{KindManifest, Manifests},
    plan::{self, Plan, slashed},
    yaml,
};

/// Directory of the samples.
pub const FOLDER: &str = "manifests/samples";

/// The result of validating the samples.
#[derive(Debug, Default)]
pub struct SampleReport {
    /// Violations of the schema, with file, path and fix.
    pub problems: Vec<String>,
    /// Samples that could not be made or fully validated.
    pub warnings: Vec<String>,
}

/// Validates the existing and the planned samples, and plans one for each kind without a sample.
pub fn plan(plan: &mut Plan, root: &Path, manifests: &Manifests) -> Result<SampleReport, Error> {
    let mut report = SampleReport::default();
    let mut texts: Vec<_> = plan
        .changes()
        .filter(|change| change.path.starts_with(FOLDER))
        .filter_map(|change| Some((change.path.clone(), change.after.clone()?)))
        .collect();
    for file in plan::files_with_extension(&root.join(FOLDER), "yaml")?
        .into_iter()
        .chain(plan::files_with_extension(&root.join(FOLDER), "yml")?)
    {
        let path = Path::new(FOLDER).join(file.file_name().unwrap_or_default());
        texts.push((path, plan::read(&file)?.unwrap_or_default()));
    }
    let mut documents = Vec::new();
    for (path, text) in texts {
        match yaml::read_all(&text) {
            Ok(found) => documents.extend(found.into_iter().map(|document| (path.clone(), document))),
            Err(source) => return Err(Error::Yaml { path, source }),
        }
    }
    for (path, document) in &documents {
        for problem in check(manifests, document) {
            report.problems.push(format!("{}: {problem}", slashed(path)));
        }
    }
    for (kind, crd) in manifests.defined_crds() {
        if documents.iter().any(|(_, document)| is_of_kind(document, kind)) {
            continue;
        }
        let path = free_path(plan, root, kind);
        let sample = sample(kind, crd);
        let problems = check(manifests, &sample);
        if !problems.is_empty() {
            report.warnings.push(format!(
                "cannot make a sample of {}: {}; write {} by hand",
                kind.kind,
                problems.join("; "),
                slashed(&path)
            ));
            continue;
        }
        if crd.to_string().contains("\"x-kubernetes-validations\"") {
            report.warnings.push(format!(
                "{} has CEL rules, which are not evaluated here: check that the sample {} satisfies them",
                kind.kind,
                slashed(&path)
            ));
        }
        plan.write(path, None, yaml::write(&sample)?);
    }
    Ok(report)
}

fn is_of_kind(document: &Value, kind: &KindManifest) -> bool {
    let group = document["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'));
    document["kind"] == kind.kind && group.is_some_and(|(group, _)| group == kind.group)
}

/// Validates an object against its CRD and returns the problems; none if the operator does not define its kind.
fn check(manifests: &Manifests, document: &Value) -> Vec<String> {
    let Some((kind, crd)) = manifests
        .defined_crds()
        .find(|(kind, _)| is_of_kind(document, kind))
    else {
        return Vec::new();
    };
    let versions = crd["spec"]["versions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let wanted = document["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'))
        .map(|(_, v)| v);
    let Some(version) = versions.iter().find(|version| version["name"].as_str() == wanted) else {
        let names: Vec<_> = versions
            .iter()
            .filter_map(|version| version["name"].as_str())
            .collect();
        return vec![format!(
            "apiVersion is {}, and {} has the versions {}: use one of these",
            document["apiVersion"],
            kind.kind,
            names.join(", ")
        )];
    };
    validate::object(&version["schema"]["openAPIV3Schema"], document)
}

/// Returns a minimal object of the kind, in its storage version.
fn sample(kind: &KindManifest, crd: &Value) -> Value {
    let versions = crd["spec"]["versions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let version = versions
        .iter()
        .find(|version| version["storage"] == true)
        .or(versions.first());
    let version = version.unwrap_or(&Value::Null);
    let mut metadata = json!({"name": format!("example-{}", kind.kind.to_ascii_lowercase())});
    if kind.namespaced {
        metadata["namespace"] = json!("default");
    }
    let mut sample = json!({
        "apiVersion": format!("{}/{}", kind.group, version["name"].as_str().unwrap_or_default()),
        "kind": kind.kind,
        "metadata": metadata,
    });
    let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    if spec.is_object() {
        sample["spec"] = example::value_for(spec);
    }
    sample
}

/// Returns `foo.yaml`, or a name with the group if that file exists.
fn free_path(plan: &Plan, root: &Path, kind: &KindManifest) -> PathBuf {
    let lower = kind.kind.to_ascii_lowercase();
    let names = [
        format!("{FOLDER}/{lower}.yaml"),
        format!("{FOLDER}/{}_{lower}.yaml", kind.group),
    ];
    let is_free =
        |path: &PathBuf| !root.join(path).exists() && !plan.changes().any(|change| change.path == *path);
    let [short, long] = names.map(PathBuf::from);
    if is_free(&short) { short } else { long }
}
