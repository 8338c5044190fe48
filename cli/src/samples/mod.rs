//! Samples: an example object of each kind. Samples are the user's files: missing ones are written, existing ones are
//! validated.

mod example;
mod pattern;
mod validate;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use self::validate::Problem;
use crate::{
    Error,
    manifests::{KindManifest, Manifests},
    plan::{self, IoError, Plan, slashed},
    project::Project,
    similar::is_similar,
    yaml::{self, Document, YamlError},
};

/// Directory of the samples.
pub const FOLDER: &str = "manifests/samples";

/// The result of validating the samples.
#[derive(Debug, Default)]
pub struct SampleReport {
    /// Violations of the schema, with file, line, path and fix.
    pub problems: Vec<String>,
    /// Samples that could not be made or fully validated, or whose kind is gone.
    pub warnings: Vec<String>,
}

/// A file with samples.
#[derive(Debug)]
pub struct SampleFile {
    /// Relative to the project.
    pub path: PathBuf,
    /// The objects in it.
    pub documents: Result<Vec<Document>, YamlError>,
}

impl SampleFile {
    /// Returns the file's text with a name replaced in the line of a field, in the documents that `is_renamed` selects. A file that does not
    /// parse stays as it is: `generate` reports it.
    pub(crate) fn with_field_renamed(
        &self,
        text: &str,
        field: &str,
        (old, new): (&str, &str),
        is_renamed: impl Fn(&Value) -> bool,
    ) -> String {
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let documents = self.documents.as_deref().unwrap_or_default();
        for document in documents.iter().filter(|document| is_renamed(&document.value)) {
            let line = usize::try_from(document.line(field)).unwrap_or_default();
            if let Some(line) = line.checked_sub(1).and_then(|at| lines.get_mut(at)) {
                *line = line.replacen(old, new, 1);
            }
        }
        lines.join("\n")
    }
}

/// Reads all sample files of a project.
pub fn read(root: &Path) -> Result<Vec<SampleFile>, IoError> {
    let folder = root.join(FOLDER);
    let mut files = Vec::new();
    for file in plan::files_with_extension(&folder, "yaml")?
        .into_iter()
        .chain(plan::files_with_extension(&folder, "yml")?)
    {
        let text = plan::read(&file)?.unwrap_or_default();
        files.push(SampleFile {
            path: Path::new(FOLDER).join(file.file_name().unwrap_or_default()),
            documents: yaml::documents(&text),
        });
    }
    Ok(files)
}

/// Validates the existing and the planned samples, and plans one for each kind without a sample.
pub fn plan(plan: &mut Plan, project: &Project, manifests: &Manifests) -> Result<SampleReport, Error> {
    let mut report = SampleReport::default();
    let mut documents = Vec::new();
    let mut has_unreadable = false;
    let planned = plan.changes().filter(|change| change.path.starts_with(FOLDER));
    let planned = planned.filter_map(|change| {
        let text = change.after.as_deref()?;
        Some(SampleFile {
            path: change.path.clone(),
            documents: yaml::documents(text),
        })
    });
    let planned: Vec<_> = planned.collect();
    for file in planned.into_iter().chain(read(&project.root)?) {
        let path = slashed(&file.path);
        match file.documents {
            Ok(found) => documents.extend(found.into_iter().map(|document| (path.clone(), document))),
            Err(error) => {
                has_unreadable = true;
                let line = error.line().unwrap_or(1);
                report
                    .problems
                    .push(format!("{path}:{line}: invalid YAML: {error}"));
            }
        }
    }
    for (path, document) in &documents {
        for problem in check(manifests, &document.value) {
            let line = document.line(&problem.path);
            report.problems.push(format!("{path}:{line}: {problem}"));
        }
        if is_of_removed_kind(project, manifests, &document.value) {
            let line = document.line("kind");
            let kind = document.value["kind"].as_str().unwrap_or_default();
            let mut known = manifests.kinds.iter();
            let same = manifests.kinds.iter().find(|known| known.kind == kind);
            report.warnings.push(
                match same.or_else(|| known.find(|known| is_similar(&known.kind, kind))) {
                    Some(known) if known.kind == kind => {
                        format!(
                            "{path}:{line}: kind {kind} is in group {}: correct apiVersion",
                            known.group
                        )
                    }
                    Some(KindManifest { kind: known, .. }) => {
                        format!("{path}:{line}: kind {kind} is unknown: did you mean {known}?")
                    }
                    None => {
                        format!("{path}:{line}: kind {kind} is gone: delete the sample, or register the kind")
                    }
                },
            );
        }
    }
    if has_unreadable {
        // Any kind may have its sample there.
        return Ok(report);
    }
    for (kind, crd) in manifests.defined_crds() {
        if documents
            .iter()
            .any(|(_, document)| is_of_kind(&document.value, kind))
        {
            continue;
        }
        let path = free_path(plan, &project.root, kind);
        let sample = sample(kind, crd);
        let problems = check(manifests, &sample);
        if !problems.is_empty() {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
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

/// Returns a minimal value of a schema, made without search: it may violate some constraints.
pub fn minimal_value(schema: &Value) -> Value {
    example::value_for(schema)
}

/// Whether the operator had the kind of an object: its group is one of the project's own, and it is none of the operator's kinds.
pub fn is_of_removed_kind(project: &Project, manifests: &Manifests, object: &Value) -> bool {
    let Some((group, _)) = object["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'))
    else {
        return false;
    };
    let defined = manifests.defined_crds().map(|(kind, _)| kind.group.as_str());
    let own_groups: BTreeSet<&str> = defined.chain([project.settings.group.as_str()]).collect();
    own_groups.contains(group) && !manifests.kinds.iter().any(|kind| is_of_kind(object, kind))
}

fn is_of_kind(document: &Value, kind: &KindManifest) -> bool {
    let group = document["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'));
    document["kind"] == kind.kind && group.is_some_and(|(group, _)| group == kind.group)
}

/// Validates an object against its CRD and returns the problems; none if the operator does not define its kind.
fn check(manifests: &Manifests, document: &Value) -> Vec<Problem> {
    let missing = ["apiVersion", "kind"]
        .into_iter()
        .filter(|field| !document[*field].is_string())
        .map(|field| Problem {
            path: field.to_owned(),
            text: "is missing: it is required".to_owned(),
        });
    let missing: Vec<_> = missing.collect();
    if !missing.is_empty() {
        return missing;
    }
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
        return vec![Problem {
            path: "apiVersion".to_owned(),
            text: format!(
                "is {}, and {} has the versions {}: use one of these",
                document["apiVersion"],
                kind.kind,
                names.join(", ")
            ),
        }];
    };
    validate::object(&version["schema"]["openAPIV3Schema"], document)
}

/// Returns a minimal object of the kind, in its storage version, or in a newer one if that is deprecated.
fn sample(kind: &KindManifest, crd: &Value) -> Value {
    let versions = crd["spec"]["versions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let is_current = |version: &&Value| version["deprecated"] != true;
    let stored = versions.iter().find(|version| version["storage"] == true);
    let version = stored
        .filter(is_current)
        .or_else(|| versions.iter().find(is_current))
        .or(stored)
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
