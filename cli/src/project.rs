//! A project: the folder with a `kubewright.toml`, and what that file says.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{
    names::is_dns_label,
    plan::{self, IoError},
};

/// The file that makes a folder a project.
pub const FILE: &str = "kubewright.toml";
/// The format of that file that this kubewright writes and reads.
pub const FORMAT: i64 = 1;

/// Why there is no project to work with.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// Not found in the folder or above.
    #[error("no {FILE} in {} or above it: go to a project's folder, or make one with `kubewright new`", .0.display())]
    Missing(PathBuf),
    /// Not readable as what it should be.
    #[error("{} is damaged: {message}; mend it, or take it from your version control", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the place.
        message: String,
    },
    /// Written by a newer kubewright.
    #[error(
        "{} has format {found}, and this kubewright ({ours}) knows formats up to {FORMAT}: \
         update it with `cargo install kubewright-cli`",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The version of this program.
        ours: &'static str,
    },
}

/// What the operator watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All namespaces, by a ClusterRole.
    #[default]
    Cluster,
    /// Some namespaces, by a Role in each.
    Namespaced,
}

/// What `kubewright.toml` says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(rename = "version")]
    _format: i64,
    /// The operator.
    pub name: String,
    /// The operator's own namespace.
    pub namespace: String,
    /// The API group of new kinds.
    pub group: String,
    /// What the operator watches.
    #[serde(default)]
    pub scope: Scope,
    #[serde(default)]
    namespaces: Vec<String>,
}

impl Settings {
    /// The namespaces that the operator watches; empty: all.
    pub fn watched(&self) -> &[String] {
        match self.scope {
            Scope::Cluster => &[],
            Scope::Namespaced if self.namespaces.is_empty() => std::slice::from_ref(&self.namespace),
            Scope::Namespaced => &self.namespaces,
        }
    }
}

/// A project on disk.
#[derive(Debug)]
pub struct Project {
    /// Its folder.
    pub root: PathBuf,
    /// What its file says.
    pub settings: Settings,
}

impl Project {
    /// The project that `folder` lies in.
    pub fn find(folder: &Path) -> Result<Self, crate::Error> {
        for root in folder.ancestors() {
            let path = root.join(FILE);
            if let Some(text) = plan::read(&path)? {
                let root = root.to_owned();
                return Ok(Self {
                    root,
                    settings: parse(&path, &text)?,
                });
            }
        }
        Err(ProjectError::Missing(folder.to_owned()).into())
    }

    /// The path of an argument, relative to the project, as plans have it.
    pub fn relative(&self, cwd: &Path, path: &Path) -> PathBuf {
        let absolute = normalised(&cwd.join(path));
        absolute
            .strip_prefix(normalised(&self.root))
            .map_or_else(|_| path.to_owned(), Path::to_owned)
    }

    /// The text of a file of the project; none when there is no such file.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Option<String>, IoError> {
        plan::read(&self.root.join(path))
    }
}

fn parse(path: &Path, text: &str) -> Result<Settings, ProjectError> {
    // The parser's messages show the line, and end with a line break.
    let damaged = |message: String| ProjectError::Damaged {
        path: path.to_owned(),
        message: message.trim_end().to_owned(),
    };
    // The format first: what a newer one holds may not be readable otherwise.
    let table: toml::Table = toml::from_str(text).map_err(|error| damaged(error.to_string()))?;
    match table.get("version").and_then(toml::Value::as_integer) {
        Some(FORMAT) => {}
        Some(found) if found > FORMAT => {
            return Err(ProjectError::Newer {
                path: path.to_owned(),
                found,
                ours: env!("CARGO_PKG_VERSION"),
            });
        }
        _ => return Err(damaged(format!("it lacks the line `version = {FORMAT}`"))),
    }
    let settings: Settings = toml::from_str(text).map_err(|error| damaged(error.to_string()))?;
    for (key, text) in [("name", &settings.name), ("namespace", &settings.namespace)]
        .into_iter()
        .chain(
            settings
                .namespaces
                .iter()
                .map(|namespace| ("namespaces", namespace)),
        )
    {
        if !is_dns_label(text) {
            return Err(damaged(format!(
                "`{key}` holds {text:?}, which is no name in Kubernetes: at most 63 of a-z, 0-9 and '-'"
            )));
        }
    }
    Ok(settings)
}

/// Without `.` and `..`, as far as the text tells.
fn normalised(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "version = 1\nname = \"shop\"\nnamespace = \"shop-system\"\ngroup = \"demo.dev\"\n";

    fn parsed(text: &str) -> Result<Settings, ProjectError> {
        parse(Path::new(FILE), text)
    }

    #[test]
    fn says_which_namespaces_are_watched() {
        let watched = |more: &str| parsed(&format!("{GOOD}{more}")).unwrap().watched().to_vec();
        assert!(watched("").is_empty());
        assert!(watched("namespaces = [\"a\"]").is_empty(), "the scope decides");
        assert_eq!(watched("scope = \"namespaced\""), ["shop-system"]);
        assert_eq!(
            watched("scope = \"namespaced\"\nnamespaces = [\"a\", \"b\"]"),
            ["a", "b"]
        );
    }

    #[test]
    fn names_what_is_damaged() {
        let cases = [
            ("name = ", "line 1"),
            ("name = \"shop\"", "`version = 1`"),
            ("version = \"1\"", "`version = 1`"),
            ("version = 0", "`version = 1`"),
            ("version = 1\nname = \"shop\"", "namespace"),
            (&format!("{GOOD}scpoe = \"cluster\""), "scpoe"),
            (&format!("{GOOD}scope = \"galaxy\""), "galaxy"),
            (
                &GOOD.replace("\"shop\"", "\"Shop: x\""),
                "`name` holds \"Shop: x\"",
            ),
        ];
        for (text, expected) in cases {
            let error = parsed(text).unwrap_err();
            assert!(matches!(error, ProjectError::Damaged { .. }), "{error}");
            let message = error.to_string();
            assert!(
                message.contains(expected) && !message.contains("\n;"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_newer_format_is_no_damage() {
        let error = parsed("version = 2\nkinds = {}").unwrap_err();
        assert!(matches!(error, ProjectError::Newer { found: 2, .. }));
        assert!(
            error.to_string().contains("cargo install kubewright-cli"),
            "{error}"
        );
    }
}
