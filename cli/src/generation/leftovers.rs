//! Warnings about what deletions left behind: kinds that are no longer registered, and names of deleted files.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{
    manifests::{Manifests, kustomization},
    ownership::{generated, managed},
    plan::{self, IoError, Plan, slashed},
    source::{self, SourceFile},
    yaml,
};

/// Returns a warning for each kind in the source that the operator does not register.
pub(super) fn unregistered_kinds(sources: &[SourceFile], manifests: &Manifests) -> Vec<String> {
    let mut warnings = Vec::new();
    for found in source::project_kinds(sources) {
        let kind = &found.kind;
        let is_registered = manifests
            .kinds
            .iter()
            .any(|registered| registered.group == kind.group && registered.kind == kind.kind);
        if kind.is_own && !is_registered {
            warnings.push(format!(
                "{}:{}: kind {} is not registered, so it has no CRD: register its controller in main.rs, or delete the struct",
                slashed(&found.path),
                kind.line,
                kind.kind
            ));
        }
    }
    warnings
}

/// Returns a warning for each file that a kustomization lists and that does not exist after the plan. Generated kustomizations list only
/// files that exist.
pub(super) fn missing_resources(
    root: &Path,
    plan: &Plan,
    managed: &[PathBuf],
) -> Result<Vec<String>, IoError> {
    let mut warnings = Vec::new();
    for path in kustomizations(root, Path::new("manifests"))? {
        let text = plan.text_after(root, &path)?.unwrap_or_default();
        if generated::has_header(&text) {
            continue;
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        // kustomize reports what does not parse.
        for document in yaml::documents(&text).unwrap_or_default() {
            for (place, entry) in local_entries(&document.value) {
                let Some(missing) =
                    kustomization::resolve(folder, entry).filter(|file| !will_exist(root, plan, file))
                else {
                    continue;
                };
                let fix = if managed.contains(&missing) {
                    format!(
                        "restore the file with `kubewright generate --overwrite {}`",
                        slashed(&missing)
                    )
                } else {
                    "restore the file".to_owned()
                };
                warnings.push(format!(
                    "{}:{}: {entry} does not exist: remove it from the list, or {fix}",
                    slashed(&path),
                    document.line(&place)
                ));
            }
        }
    }
    Ok(warnings)
}

/// Returns a warning for each line of a workflow or of the Dockerfile with the path of a managed file that the user deleted.
pub(super) fn mentions_of_deleted(
    root: &Path,
    plan: &Plan,
    managed: &[PathBuf],
) -> Result<Vec<String>, IoError> {
    let is_deleted =
        |path: &&PathBuf| !will_exist(root, plan, path) && root.join(managed::BASE).join(path).exists();
    let deleted: Vec<_> = managed
        .iter()
        .filter(is_deleted)
        .map(|path| slashed(path))
        .collect();
    let mut files = vec![root.join("Dockerfile")];
    files.extend(plan::files(&root.join(".github/workflows"))?);
    let mut warnings = Vec::new();
    for file in files {
        let text = plan::read(&file)?.unwrap_or_default();
        let path = slashed(file.strip_prefix(root).unwrap_or(&file));
        for (number, line) in text.lines().enumerate() {
            for gone in deleted.iter().filter(|gone| mentions(line, gone)) {
                warnings.push(format!(
                    "{path}:{}: {gone} does not exist: remove it from the line, or restore the file with `kubewright generate --overwrite \
                     {gone}`",
                    number + 1
                ));
            }
        }
    }
    Ok(warnings)
}

/// Whether a line that is not a comment has the path as a word.
fn mentions(line: &str, path: &str) -> bool {
    let is_separator = |c: char| c.is_whitespace() || "'\"=:,;()[]".contains(c);
    !line.trim_start().starts_with('#')
        && line
            .split(is_separator)
            .any(|word| word.trim_start_matches("./") == path)
}

/// Returns the kustomizations in a folder and below, relative to the project.
fn kustomizations(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, IoError> {
    let mut found: Vec<_> = kustomization::FILE_NAMES
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| root.join(path).is_file())
        .collect();
    for below in plan::folders(&root.join(folder))? {
        let below = folder.join(below.file_name().unwrap_or_default());
        found.extend(kustomizations(root, &below)?);
    }
    Ok(found)
}

/// Returns the paths that a kustomization lists, each with its place in the document. URLs are left out.
fn local_entries(kustomization: &Value) -> Vec<(String, &str)> {
    let list = |key: &'static str, field: Option<&'static str>| {
        let items = kustomization[key].as_array().map(Vec::as_slice);
        items
            .unwrap_or_default()
            .iter()
            .enumerate()
            .filter_map(move |(index, item)| {
                let entry = field.map_or(item, |field| &item[field]).as_str()?;
                Some((format!("{key}[{index}]"), entry))
            })
    };
    list("resources", None)
        .chain(list("components", None))
        .chain(list("patches", Some("path")))
        .filter(|(_, entry)| !entry.contains([':', '?']) && !entry.starts_with("github.com/"))
        .collect()
}

/// Whether a file or folder exists after the plan was applied.
fn will_exist(root: &Path, plan: &Plan, path: &Path) -> bool {
    let is_written = plan
        .changes()
        .any(|change| change.after.is_some() && change.path.starts_with(path));
    let is_deleted = plan
        .changes()
        .any(|change| change.after.is_none() && change.path == *path);
    is_written || (root.join(path).exists() && !is_deleted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_as_words() {
        for (line, found) in [
            ("run: docker build -f Dockerfile .", true),
            ("run: docker build -f ./Dockerfile .", true),
            ("file: \"Dockerfile\"", true),
            ("- run: docker build --file=Dockerfile .", true),
            ("# Dockerfile", false),
            ("run: docker build -f other/Dockerfile .", false),
            ("run: cp Dockerfile.old x", false),
        ] {
            assert_eq!(mentions(line, "Dockerfile"), found, "{line}");
        }
    }

    #[test]
    fn entries_of_kustomizations_are_paths_without_urls() {
        let kustomization = serde_json::json!({
            "resources": ["a.yaml", "https://example.com/b.yaml", "github.com/a/b", "../crds"],
            "components": ["part"],
            "patches": [{"path": "patch.yaml"}, {"patch": "- op: remove"}],
        });
        let entries = local_entries(&kustomization);
        let entries: Vec<_> = entries
            .iter()
            .map(|(place, entry)| format!("{place} {entry}"))
            .collect();
        assert_eq!(
            entries,
            [
                "resources[0] a.yaml",
                "resources[3] ../crds",
                "components[0] part",
                "patches[0] patch.yaml"
            ]
        );
    }
}
