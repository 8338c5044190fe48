//! How a new project depends on kubewright, and its `Cargo.lock`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use cargo_metadata::semver::Version;

use crate::{Context, cli_version::CLI_VERSION};

/// How the project depends on the kubewright crate.
pub(super) enum Dependency {
    /// On the source workspace that this command was built from.
    Path(PathBuf),
    /// On a published version.
    Version(String),
}

impl Dependency {
    /// Chooses the requested version; otherwise the source workspace if it exists and has this command's version;
    /// otherwise the published version of this command.
    pub(super) fn choose(version: Option<&Version>) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        match (version, source) {
            (Some(version), _) => Self::Version(version.to_string()),
            (None, Some(path)) if is_source(path) => Self::Path(path.to_owned()),
            (None, _) => Self::Version(CLI_VERSION.to_owned()),
        }
    }

    /// Returns the TOML value of the dependency on the package in that folder of the workspace.
    pub(super) fn to_toml(&self, folder: &str) -> String {
        match self {
            Self::Path(workspace) => {
                let path = slashed_absolute(&workspace.join(folder));
                format!("{{ path = {} }}", toml::Value::String(path))
            }
            // The command supports only its own version of the crate.
            Self::Version(version) => toml::Value::String(format!("={version}")).to_string(),
        }
    }

    /// Writes the project's `Cargo.lock`. The error says why it is missing or incomplete.
    ///
    /// A project on the source workspace gets the workspace's versions, with which kubewright is tested. Cargo uses the network only if
    /// the crates that are on this machine do not suffice.
    pub(super) fn lock(&self, context: &Context<'_>, folder: &Path) -> Result<(), String> {
        if let Self::Path(workspace) = self {
            let copied = fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock"));
            copied.map_err(|error| error.to_string())?;
        }
        cargo_update(context, folder, true).or_else(|_| cargo_update(context, folder, false))
    }
}

/// Adds what is missing in `Cargo.lock`, and removes what the project does not use; other entries are kept.
fn cargo_update(context: &Context<'_>, folder: &Path, offline: bool) -> Result<(), String> {
    let mut command = Command::new(&context.cargo);
    command
        .args(["update", "--workspace", "--quiet"])
        .current_dir(folder)
        .stdin(Stdio::null())
        // Without a network, fail at once: the lock file is not worth waiting for.
        .envs([("CARGO_NET_RETRY", "0"), ("CARGO_HTTP_TIMEOUT", "10")]);
    if offline {
        command.arg("--offline");
    }
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let reason = stderr.lines().find_map(|line| line.strip_prefix("error: "));
    Err(reason.unwrap_or("cargo update failed").to_owned())
}

/// Whether `workspace` contains the kubewright crate in this command's version.
fn is_source(workspace: &Path) -> bool {
    let table = |path: PathBuf| fs::read_to_string(path).ok()?.parse::<toml::Table>().ok();
    let workspace_version = || {
        let table = table(workspace.join("Cargo.toml"))?;
        Some(table.get("workspace")?.get("package")?.get("version")?.as_str()? == CLI_VERSION)
    };
    let name = || {
        let table = table(workspace.join("runtime/Cargo.toml"))?;
        Some(table.get("package")?.get("name")?.as_str()? == "kubewright")
    };
    name() == Some(true) && workspace_version() == Some(true)
}

fn slashed_absolute(path: &Path) -> String {
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}
