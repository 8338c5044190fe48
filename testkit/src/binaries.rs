//! Where the control plane's programs lie.

use crate::recipe;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The API server's program.
pub const KUBE_APISERVER: &str = "kube-apiserver";
/// The API server's storage.
pub const ETCD: &str = "etcd";
/// The controllers of Kubernetes itself; not in every folder that `KUBEBUILDER_ASSETS` names.
pub const KUBE_CONTROLLER_MANAGER: &str = "kube-controller-manager";
/// The command line client.
pub const KUBECTL: &str = "kubectl";

/// Why there is no control plane to be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// Nothing was built yet.
    #[error(
        "no control plane: {folder} holds no {program}; build it with `cargo xtask control-plane` (needs Go, takes \
         some minutes, once), or set KUBEBUILDER_ASSETS to a folder that holds kube-apiserver, etcd and kubectl",
        folder = folder.display()
    )]
    NotBuilt {
        /// The folder that was looked into.
        folder: PathBuf,
        /// The first program that it lacks.
        program: &'static str,
    },
    /// The folder that the user names is not complete.
    #[error(
        "no control plane: KUBEBUILDER_ASSETS is {folder}, which holds no {program}; set it to a folder that does, \
         or unset it and run `cargo xtask control-plane`",
        folder = folder.display()
    )]
    NotInAssets {
        /// What `KUBEBUILDER_ASSETS` says.
        folder: PathBuf,
        /// The first program that it lacks.
        program: &'static str,
    },
    /// There is no folder for caches.
    #[error("no control plane: there is no cache folder; set KUBEWRIGHT_CACHE to an absolute path, or HOME")]
    NoCacheFolder,
    /// The kubectl of PATH is too old or too new.
    #[error(
        "no kubectl beside {server}, and that of PATH is {found}, more than one minor version away from {wanted}; \
         put a closer kubectl on PATH, or unset KUBEBUILDER_ASSETS and run `cargo xtask control-plane`",
        server = server.display()
    )]
    KubectlVersion {
        /// The API server's program.
        server: PathBuf,
        /// The API server's version.
        wanted: String,
        /// The version of PATH's kubectl, or why it has none.
        found: String,
    },
}

/// A folder with, at least, kube-apiserver and etcd.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
    named_by_user: bool,
}

impl Binaries {
    /// The folder that tests use: `KUBEBUILDER_ASSETS` when it is set, and then no other; else [`Binaries::built`].
    pub fn find() -> Result<Self, Unavailable> {
        Self::choose(std::env::var_os("KUBEBUILDER_ASSETS"), recipe::build_folder())
    }

    /// What `cargo xtask control-plane` built.
    pub fn built() -> Result<Self, Unavailable> {
        Self::choose(None, recipe::build_folder())
    }

    /// The programs in a folder of the caller's choice.
    pub fn in_folder(folder: impl Into<OsString>) -> Result<Self, Unavailable> {
        Self::choose(Some(folder.into()), None)
    }

    /// The folder, an absolute path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of one program.
    pub fn program(&self, program: &'static str) -> Result<PathBuf, Unavailable> {
        let path = self.folder.join(program);
        if path.is_file() {
            return Ok(path);
        }
        let folder = self.folder.clone();
        Err(if self.named_by_user {
            Unavailable::NotInAssets { folder, program }
        } else {
            Unavailable::NotBuilt { folder, program }
        })
    }

    /// The kubectl that lies with the others; else that of PATH, when it is within one minor version of the server.
    pub fn kubectl(&self) -> Result<PathBuf, Unavailable> {
        if let Ok(path) = self.program(KUBECTL) {
            return Ok(path);
        }
        let server = self.program(KUBE_APISERVER)?;
        let wanted = version(Command::new(&server).arg("--version"));
        let found = version(Command::new(KUBECTL).args(["version", "--client"]));
        match (&wanted, &found) {
            (Ok(wanted), Ok(found)) if wanted.abs_diff(*found) <= 1 => Ok(KUBECTL.into()),
            _ => Err(Unavailable::KubectlVersion {
                server,
                wanted: describe(wanted),
                found: describe(found),
            }),
        }
    }

    fn choose(assets: Option<OsString>, built: Option<PathBuf>) -> Result<Self, Unavailable> {
        let assets = assets.filter(|folder| !folder.is_empty());
        let named_by_user = assets.is_some();
        let folder = assets
            .map(PathBuf::from)
            .or(built)
            .ok_or(Unavailable::NoCacheFolder)?;
        // Children may run elsewhere. When the working directory is gone the check below speaks.
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
    fn users_folder_comes_first() {
        let (assets, built) = (
            folder_with(&["etcd", "kube-apiserver"]),
            folder_with(&["etcd", "kube-apiserver"]),
        );
        let chosen = Binaries::choose(Some(assets.path().into()), Some(built.path().into())).unwrap();
        assert_eq!(chosen.folder(), assets.path());
        let chosen = Binaries::choose(Some(OsString::new()), Some(built.path().into())).unwrap();
        assert_eq!(chosen.folder(), built.path(), "an empty variable is not set");
    }

    #[test]
    fn incomplete_users_folder_is_no_reason_to_use_another() {
        let (assets, built) = (
            folder_with(&["kube-apiserver"]),
            folder_with(&["etcd", "kube-apiserver"]),
        );
        let error = Binaries::choose(Some(assets.path().into()), Some(built.path().into()))
            .unwrap_err()
            .to_string();
        assert!(error.contains(assets.path().to_str().unwrap()), "{error}");
        assert!(
            error.contains("holds no etcd") && error.contains("KUBEBUILDER_ASSETS"),
            "{error}"
        );
    }

    #[test]
    fn missing_build_names_the_command() {
        let built = folder_with(&[]);
        let error = Binaries::choose(None, Some(built.path().into()))
            .unwrap_err()
            .to_string();
        assert!(error.contains("holds no kube-apiserver"), "{error}");
        assert!(error.contains("`cargo xtask control-plane`"), "{error}");
        assert!(matches!(
            Binaries::choose(None, None),
            Err(Unavailable::NoCacheFolder)
        ));
    }

    #[test]
    fn missing_controller_manager_is_named() {
        let assets = folder_with(&["etcd", "kube-apiserver"]);
        let binaries = Binaries::choose(Some(assets.path().into()), None).unwrap();
        let error = binaries.program(KUBE_CONTROLLER_MANAGER).unwrap_err().to_string();
        assert!(error.contains("holds no kube-controller-manager"), "{error}");
    }

    #[test]
    fn minor_version_is_read_from_what_programs_print() {
        assert_eq!(minor("Kubernetes v1.36.3\n"), Some(36));
        assert_eq!(
            minor("Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0\n"),
            Some(32)
        );
        assert_eq!(minor("command not found"), None);
    }
}
