//! Finds the programs of the control plane.

use kubewright_control_plane::build_folder;
pub use kubewright_control_plane::{ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER, KUBECTL};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why the programs of the control plane are not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BinariesError {
    /// The control plane has not been built.
    #[error(
        "no control plane: {folder} does not contain {program}; build it with `cargo xtask control-plane` (needs Go, takes \
         some minutes, once), or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl",
        folder = folder.display()
    )]
    NotBuilt {
        /// The folder of the build.
        folder: PathBuf,
        /// The first missing program.
        program: &'static str,
    },
    /// The folder in `KUBEBUILDER_ASSETS` is incomplete.
    #[error(
        "no control plane: KUBEBUILDER_ASSETS is {folder}, which does not contain {program}; set it to a folder that does, \
         or unset it and run `cargo xtask control-plane`",
        folder = folder.display()
    )]
    NotInAssets {
        /// The value of `KUBEBUILDER_ASSETS`.
        folder: PathBuf,
        /// The first missing program.
        program: &'static str,
    },
    /// The user has no cache folder.
    #[error("no control plane: there is no cache folder; set KUBEWRIGHT_CACHE to an absolute path, or HOME")]
    NoCacheFolder,
    /// The version of the kubectl in PATH is not compatible.
    #[error(
        "no kubectl beside {server}, and the kubectl in PATH is {path_version}, more than one minor version away from {server_version}; \
         put a kubectl of a closer version on PATH, or unset KUBEBUILDER_ASSETS and run `cargo xtask control-plane`",
        server = server.display()
    )]
    KubectlVersion {
        /// The path of the API server.
        server: PathBuf,
        /// The version of the API server.
        server_version: String,
        /// The version of the kubectl in PATH, or why it is unknown.
        path_version: String,
    },
}

/// A folder with at least kube-apiserver and etcd.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
    named_by_user: bool,
}

impl Binaries {
    /// The folder for tests: `KUBEBUILDER_ASSETS` if set, otherwise [`Binaries::built`].
    pub fn find() -> Result<Self, BinariesError> {
        Self::select_folder(std::env::var_os("KUBEBUILDER_ASSETS"), build_folder())
    }

    /// The programs that `cargo xtask control-plane` built.
    pub fn built() -> Result<Self, BinariesError> {
        Self::select_folder(None, build_folder())
    }

    /// The programs in the given folder.
    pub fn in_folder(folder: impl Into<OsString>) -> Result<Self, BinariesError> {
        Self::select_folder(Some(folder.into()), None)
    }

    /// The absolute path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a program.
    pub fn program(&self, program: &'static str) -> Result<PathBuf, BinariesError> {
        let path = self.folder.join(program);
        if path.is_file() {
            return Ok(path);
        }
        let folder = self.folder.clone();
        Err(if self.named_by_user {
            BinariesError::NotInAssets { folder, program }
        } else {
            BinariesError::NotBuilt { folder, program }
        })
    }

    /// The kubectl in the folder; otherwise the one in PATH, if within one minor version of the server.
    pub fn kubectl(&self) -> Result<PathBuf, BinariesError> {
        if let Ok(path) = self.program(KUBECTL) {
            return Ok(path);
        }
        let server = self.program(KUBE_APISERVER)?;
        let server_version = version(Command::new(&server).arg("--version"));
        let path_version = version(Command::new(KUBECTL).args(["version", "--client"]));
        match (&server_version, &path_version) {
            (Ok(server_version), Ok(path_version)) if server_version.abs_diff(*path_version) <= 1 => {
                Ok(KUBECTL.into())
            }
            _ => Err(BinariesError::KubectlVersion {
                server,
                server_version: describe(server_version),
                path_version: describe(path_version),
            }),
        }
    }

    fn select_folder(assets: Option<OsString>, built: Option<PathBuf>) -> Result<Self, BinariesError> {
        let assets = assets.filter(|folder| !folder.is_empty());
        let named_by_user = assets.is_some();
        let folder = assets
            .map(PathBuf::from)
            .or(built)
            .ok_or(BinariesError::NoCacheFolder)?;
        // Child processes may have another working directory. If ours does not exist, the check below reports it.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let binaries = Self {
            folder,
            named_by_user,
        };
        binaries.program(KUBE_APISERVER)?;
        binaries.program(ETCD)?;
        Ok(binaries)
    }
}

/// The minor version that a program prints.
fn version(command: &mut Command) -> Result<u32, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    minor(&text).ok_or_else(|| format!("unreadable: {}", text.trim()))
}

fn minor(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("v1.")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn describe(version: Result<u32, String>) -> String {
    version.map_or_else(|reason| reason, |minor| format!("v1.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(programs: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for program in programs {
            std::fs::write(folder.path().join(program), "").unwrap();
        }
        folder
    }

    #[test]
    fn kubebuilder_assets_takes_precedence() {
        let (assets, built) = (
            folder_with(&["etcd", "kube-apiserver"]),
            folder_with(&["etcd", "kube-apiserver"]),
        );
        let chosen = Binaries::select_folder(Some(assets.path().into()), Some(built.path().into())).unwrap();
        assert_eq!(chosen.folder(), assets.path());
        let chosen = Binaries::select_folder(Some(OsString::new()), Some(built.path().into())).unwrap();
        assert_eq!(chosen.folder(), built.path(), "an empty variable is not set");
    }

    #[test]
    fn incomplete_kubebuilder_assets_is_an_error() {
        let (assets, built) = (
            folder_with(&["kube-apiserver"]),
            folder_with(&["etcd", "kube-apiserver"]),
        );
        let error = Binaries::select_folder(Some(assets.path().into()), Some(built.path().into()))
            .unwrap_err()
            .to_string();
        assert!(error.contains(assets.path().to_str().unwrap()), "{error}");
        assert!(
            error.contains("does not contain etcd") && error.contains("KUBEBUILDER_ASSETS"),
            "{error}"
        );
    }

    #[test]
    fn missing_build_error_names_the_command() {
        let built = folder_with(&[]);
        let error = Binaries::select_folder(None, Some(built.path().into()))
            .unwrap_err()
            .to_string();
        assert!(error.contains("does not contain kube-apiserver"), "{error}");
        assert!(error.contains("`cargo xtask control-plane`"), "{error}");
        assert!(matches!(
            Binaries::select_folder(None, None),
            Err(BinariesError::NoCacheFolder)
        ));
    }

    #[test]
    fn missing_controller_manager_error_names_it() {
        let assets = folder_with(&["etcd", "kube-apiserver"]);
        let binaries = Binaries::select_folder(Some(assets.path().into()), None).unwrap();
        let error = binaries.program(KUBE_CONTROLLER_MANAGER).unwrap_err().to_string();
        assert!(
            error.contains("does not contain kube-controller-manager"),
            "{error}"
        );
    }

    #[test]
    fn minor_version_is_parsed_from_program_output() {
        assert_eq!(minor("Kubernetes v1.36.3\n"), Some(36));
        assert_eq!(
            minor("Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0\n"),
            Some(32)
        );
        assert_eq!(minor("command not found"), None);
    }
}
