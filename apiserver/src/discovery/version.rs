//! The response of `/version`.

use serde_json::{Value, json};

/// The version that `/version` reports.
#[derive(Clone, Debug)]
pub struct VersionInfo {
    /// The version, such as `v1.36.3`.
    pub git_version: String,
}

impl Default for VersionInfo {
    fn default() -> Self {
        Self {
            git_version: "v1.36.3".to_owned(),
        }
    }
}

impl VersionInfo {
    fn major_and_minor(&self) -> (&str, &str) {
        let mut numbers = self.git_version.trim_start_matches('v').split('.');
        (
            numbers.next().unwrap_or_default(),
            numbers.next().unwrap_or_default(),
        )
    }

    /// Returns the version without patches, such as `1.36`, which OpenAPI documents name.
    pub(super) fn emulated(&self) -> String {
        let (major, minor) = self.major_and_minor();
        format!("{major}.{minor}")
    }

    pub(crate) fn to_json(&self) -> Value {
        let (major, minor) = self.major_and_minor();
        let before = minor
            .parse::<u32>()
            .map_or_else(|_| String::new(), |minor| minor.saturating_sub(1).to_string());
        json!({
            "major": major, "minor": minor, "emulationMajor": major, "emulationMinor": minor,
            "minCompatibilityMajor": major, "minCompatibilityMinor": before, "gitVersion": self.git_version,
            "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
            "platform": format!("{}/{}", std::env::consts::OS, architecture()),
        })
    }
}

/// The architecture as Go names it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
