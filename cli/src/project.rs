//! A project: a directory with a `kubewright.toml`, and the settings in it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{
    cli_version::CLI_VERSION,
    deploy_settings::{DeploySettings, MetricsSettings},
    error::ProjectError,
    manifests::{certificates::Certificates, descriptions::Descriptions},
    names::is_dns_label,
    plan::{self, IoError},
};

/// The project file.
pub const FILE: &str = "kubewright.toml";
/// The supported format of the project file.
pub const FORMAT: i64 = 1;
/// Directory for the files of one session, such as kubeconfigs: git ignores it, and `cargo clean` removes it.
pub const SESSION_FOLDER: &str = "target/kubewright";

/// Which namespaces the operator watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All namespaces, with a ClusterRole.
    #[default]
    Cluster,
    /// Selected namespaces, with a Role in each.
    Namespaced,
}

/// The contents of `kubewright.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(rename = "version")]
    _format: i64,
    /// Name of the operator.
    pub name: String,
    /// The operator's own namespace.
    pub namespace: String,
    /// The API group of new kinds.
    pub group: String,
    /// Which namespaces the operator watches.
    #[serde(default)]
    pub scope: Scope,
    #[serde(default)]
    namespaces: Vec<String>,
    /// How much of the descriptions the CRDs contain.
    #[serde(default)]
    pub descriptions: Descriptions,
    /// The table `[webhooks]`.
    #[serde(default)]
    pub webhooks: WebhookSettings,
    /// The table `[deploy]`.
    #[serde(default)]
    pub deploy: DeploySettings,
    /// The table `[metrics]`.
    #[serde(default)]
    pub metrics: MetricsSettings,
}

/// The settings of webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// The source of the certificate.
    #[serde(default)]
    pub certificates: Certificates,
}

impl Settings {
    /// Returns the watched namespaces; empty means all.
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
    /// The project's directory.
    pub root: PathBuf,
    /// The settings in the project file.
    pub settings: Settings,
}

impl Project {
    /// Finds the project that contains `folder`.
    pub fn find(folder: &Path) -> Result<Self, crate::Error> {
        let root = find_root(folder).ok_or_else(|| ProjectError::Missing(folder.to_owned()))?;
        let path = root.join(FILE);
        let text = plan::read(&path)?.unwrap_or_default();
        Ok(Self {
            root: root.to_owned(),
            settings: parse(&path, &text)?,
        })
    }

    /// Converts a path argument to a path relative to the project, as in plans.
    pub fn relative(&self, cwd: &Path, path: &Path) -> PathBuf {
        let absolute = normalised(&cwd.join(path));
        absolute
            .strip_prefix(normalised(&self.root))
            .map_or_else(|_| path.to_owned(), Path::to_owned)
    }

    /// Returns the text of a project's file; none if it does not exist.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Option<String>, IoError> {
        plan::read(&self.root.join(path))
    }
}

/// Returns the directory of the project that contains `folder`, if any.
pub fn find_root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|root| root.join(FILE).is_file())
}

/// Creates the [`SESSION_FOLDER`] of a project, and returns its path.
pub fn create_session_folder(root: &Path) -> Result<PathBuf, IoError> {
    let folder = root.join(SESSION_FOLDER);
    std::fs::create_dir_all(&folder).map_err(|source| IoError::new("create", &folder, source))?;
    Ok(folder)
}

/// Parses the text of the project file at `path`.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Settings, ProjectError> {
    // The parser's messages show the line, and end with a line break.
    let invalid = |message: String| ProjectError::Invalid {
        path: path.to_owned(),
        message: message.trim_end().to_owned(),
    };
    // Check the format first: newer ones may not deserialize.
    let table: toml::Table = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
    match table.get("version").and_then(toml::Value::as_integer) {
        Some(FORMAT) => {}
        Some(found) if found > FORMAT => {
            return Err(ProjectError::Newer {
                supported: FORMAT,
                path: path.to_owned(),
                found,
                cli_version: CLI_VERSION,
            });
        }
        _ => return Err(invalid(format!("the line `version = {FORMAT}` is missing"))),
    }
    let settings: Settings = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
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
            return Err(invalid(format!(
                "`{key}` is {text:?}, which is not a valid name in Kubernetes: use at most 63 characters of a-z, 0-9 and '-'"
            )));
        }
    }
    Ok(settings)
}

/// Resolves `.` and `..` lexically, without the file system.
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
    fn scope_decides_the_watched_namespaces() {
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
    fn invalid_files_are_errors_with_the_cause() {
        let cases = [
            ("name = ", "line 1"),
            ("name = \"shop\"", "`version = 1`"),
            ("version = \"1\"", "`version = 1`"),
            ("version = 0", "`version = 1`"),
            ("version = 1\nname = \"shop\"", "namespace"),
            (&format!("{GOOD}scpoe = \"cluster\""), "scpoe"),
            (&format!("{GOOD}scope = \"galaxy\""), "galaxy"),
            (
                &format!("{GOOD}[webhooks]\ncertificates = \"acme\""),
                "unknown variant `acme`, expected one of `own`, `cert-manager`, `files`",
            ),
            (&format!("{GOOD}[webhooks]\ncertificate = \"own\""), "certificate"),
            (
                &format!("{GOOD}[deploy]\nnetwork_policies = true"),
                "network_policies",
            ),
            (&format!("{GOOD}[metrics]\nsecure = \"yes\""), "secure"),
            (&GOOD.replace("\"shop\"", "\"Shop: x\""), "`name` is \"Shop: x\""),
        ];
        for (text, expected) in cases {
            let error = parsed(text).unwrap_err();
            assert!(matches!(error, ProjectError::Invalid { .. }), "{error}");
            let message = error.to_string();
            assert!(
                message.contains(expected) && !message.contains("\n;"),
                "{message}"
            );
        }
    }

    #[test]
    fn newer_format_is_an_error_of_its_own() {
        let error = parsed("version = 2\nkinds = {}").unwrap_err();
        assert!(matches!(error, ProjectError::Newer { found: 2, .. }));
        assert!(
            error.to_string().contains("cargo install kubewright-cli"),
            "{error}"
        );
    }
}
