//! Samples: an example of each kind. They are the user's; we write one where there is none, and check those there are.

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

/// The folder of the samples.
pub const FOLDER: &str = "manifests/samples";

/// What was found out about samples.
#[derive(Debug, Default)]
pub struct Findings {
    /// What does not fit: file, path, mend.
    pub problems: Vec<String>,
    /// What could not be done or checked.
    pub warnings: Vec<String>,
}

/// Checks the samples that there are, and plans one for each kind that has none.
pub fn plan(plan: &mut Plan, root: &Path, manifests: &Manifests) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    let mut documents = Vec::new();
    for file in plan::list(&root.join(FOLDER), "yaml")?
        .into_iter()
        .chain(plan::list(&root.join(FOLDER), "yml")?)
    {
        let path = Path::new(FOLDER).join(file.file_name().unwrap_or_default());
        let text = plan::read(&file)?.unwrap_or_default();
        match yaml::read_all(&text) {
            Ok(found) => documents.extend(found.into_iter().map(|document| (path.clone(), document))),
            Err(source) => return Err(Error::Yaml { path, source }),
        }
    }
    for (path, document) in &documents {
        for problem in check(manifests, document) {
            findings.problems.push(format!("{}: {problem}", slashed(path)));
        }
    }
    for (kind, crd) in manifests.definitions() {
        if documents.iter().any(|(_, document)| is_of(document, kind)) {
            continue;
        }
        let path = free_path(plan, root, kind);
        let sample = sample(kind, crd);
        let problems = check(manifests, &sample);
        if !problems.is_empty() {
            findings.warnings.push(format!(
                "no sample of {} could be made up ({}): write {} by hand",
                kind.kind,
                problems.join("; "),
                slashed(&path)
            ));
            continue;
        }
        if crd.to_string().contains("\"x-kubernetes-validations\"") {
            findings.warnings.push(format!(
                "{} has rules in CEL, which the sample {} may break: they are not evaluated here",
                kind.kind,
                slashed(&path)
            ));
        }
        plan.write(path, None, yaml::write(&sample)?);
    }
    Ok(findings)
}

fn is_of(document: &Value, kind: &KindManifest) -> bool {
    let group = document["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'));
    document["kind"] == kind.kind && group.is_some_and(|(group, _)| group == kind.group)
}

/// What is wrong with an object, if it is of a kind that the operator defines.
fn check(manifests: &Manifests, document: &Value) -> Vec<String> {
    let Some((kind, crd)) = manifests.definitions().find(|(kind, _)| is_of(document, kind)) else {
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
            "apiVersion is {}, and {} has {}: use one of these",
            document["apiVersion"],
            kind.kind,
            names.join(", ")
        )];
    };
    validate::object(&version["schema"]["openAPIV3Schema"], document)
}

/// An object of the kind with what it must have, in the version that is stored.
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
        sample["spec"] = example::of(spec);
    }
    sample
}

/// `foo.yaml`, or a longer name where that is taken.
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
