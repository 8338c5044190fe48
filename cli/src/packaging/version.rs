//! Name, version and description of the operator's crate: packages have the same.

use std::path::Path;

use cargo_metadata::semver::Version;

use crate::{
    Error,
    error::PackageError,
    plan::{self, IoError},
};

const FILE: &str = "Cargo.toml";

/// What packages need of `Cargo.toml`.
#[derive(Debug)]
pub struct Package {
    /// The version of the operator's crate.
    pub version: Version,
    /// Its description, if any.
    pub description: Option<String>,
}

/// Reads it. Values that are inherited from a workspace are found there.
pub fn package(root: &Path) -> Result<Package, Error> {
    let text = plan::read(&root.join(FILE))?.unwrap_or_default();
    let manifest: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| PackageError::new(FILE, line_of(&text, &error), error.message()))?;
    let value = |key: &str| -> Result<Option<String>, IoError> {
        match manifest.get("package").and_then(|package| package.get(key)) {
            Some(toml::Value::String(text)) => Ok(Some(text.clone())),
            Some(toml::Value::Table(_)) => inherited(root, key),
            _ => Ok(None),
        }
    };
    let found = value("version")?.unwrap_or_default();
    let version = Version::parse(&found).map_err(|_| {
        let line = text
            .lines()
            .position(|line| line.starts_with("version"))
            .unwrap_or_default();
        let line = u64::try_from(line).unwrap_or_default() + 1;
        let fix =
            format!("`version` of the package is {found:?}: packages need a semantic version such as 0.1.0");
        PackageError::new(FILE, line, fix)
    })?;
    Ok(Package {
        version,
        description: value("description")?,
    })
}

/// Returns a value of `[workspace.package]` in the nearest workspace around the project.
fn inherited(root: &Path, key: &str) -> Result<Option<String>, IoError> {
    for folder in root.ancestors() {
        let text = plan::read(&folder.join(FILE))?.unwrap_or_default();
        let table: toml::Table = text.parse().unwrap_or_default();
        if let Some(workspace) = table.get("workspace") {
            let value = workspace
                .get("package")
                .and_then(|package| package.get(key)?.as_str());
            return Ok(value.map(str::to_owned));
        }
    }
    Ok(None)
}

fn line_of(text: &str, error: &toml::de::Error) -> u64 {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    u64::try_from(before.matches('\n').count()).unwrap_or_default() + 1
}
