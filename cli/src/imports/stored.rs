//! The copies of imported definitions in a project, for tests to install and to make examples of.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Definition;
use crate::{
    plan::{self, IoError},
    samples,
    source::DefinedKind,
    yaml::{self, YamlError},
};

/// The folder of the copies. No kustomization lists them: another project installs the definitions.
pub const FOLDER: &str = "manifests/imported";

/// Returns the path of a definition's copy.
pub fn stored_path(definition: &Definition) -> PathBuf {
    format!("{FOLDER}/{}_{}.yaml", definition.group, definition.plural).into()
}

/// Returns the text of a definition's copy.
pub fn stored_text(definition: &Definition) -> Result<String, YamlError> {
    let text = yaml::write(&definition.crd)?;
    Ok(format!(
        "# Copied by `kubewright import`, which overwrites it. Another project installs this definition.\n{text}"
    ))
}

/// Returns the copies in a project, with their files.
pub fn stored(root: &Path) -> Result<Vec<(PathBuf, Value)>, IoError> {
    let mut found = Vec::new();
    for file in plan::files_with_extension(&root.join(FOLDER), "yaml")? {
        let path = Path::new(FOLDER).join(file.file_name().unwrap_or_default());
        let text = plan::read(&file)?.unwrap_or_default();
        // A copy that does not parse was edited: the next import overwrites it.
        let definitions = yaml::read_all(&text).unwrap_or_default();
        found.extend(definitions.into_iter().map(|crd| (path.clone(), crd)));
    }
    Ok(found)
}

/// Returns the path of the copy with the definition of a kind.
pub fn stored_path_of(root: &Path, group: &str, kind: &str) -> Result<Option<PathBuf>, IoError> {
    let is_of_kind = |crd: &Value| crd["spec"]["group"] == *group && crd["spec"]["names"]["kind"] == *kind;
    let found = stored(root)?.into_iter().find(|(_, crd)| is_of_kind(crd));
    Ok(found.map(|(path, _)| path))
}

/// Returns the definition of an imported kind; none if the project has no copy of it in that version.
pub fn stored_definition(root: &Path, kind: &DefinedKind) -> Result<Option<Definition>, IoError> {
    let copies = stored(root)?;
    let mut definitions = copies
        .iter()
        .filter_map(|(_, crd)| Definition::of(crd, Some(&kind.version)).ok());
    Ok(definitions.find(|definition| definition.group == kind.group && definition.kind == kind.kind))
}

/// Returns a minimal object of an imported kind; none if the project has no copy of its definition.
pub fn example(root: &Path, kind: &DefinedKind) -> Result<Option<Value>, IoError> {
    let Some(definition) = stored_definition(root, kind)? else {
        return Ok(None);
    };
    let mut example = samples::minimal_value(&definition.schema);
    if !example.is_object() {
        example = json!({});
    }
    example["apiVersion"] = json!(format!("{}/{}", kind.group, kind.version));
    example["kind"] = json!(kind.kind);
    example["metadata"] = json!({"name": "example"});
    Ok(Some(example))
}
