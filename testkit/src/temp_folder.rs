//! A temporary folder of a cluster, and the `sh` process that removes it.

use crate::process::supervisor;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// Removes the folder when the pipe closes, unless it reads `keep`. Processes that are being killed at the same time may still write to it,
/// hence several attempts.
const REMOVE_SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
read -r word && [ "$word" = keep ] && exit
attempts=0
while [ -e "$1" ] && [ $attempts -lt 100 ]; do
  rm -rf -- "$1" || sleep 0.05
  attempts=$((attempts + 1))
done
"#;

/// A new folder, removed when this value is dropped or when our process ends in any way.
#[derive(Debug)]
pub(crate) struct TempFolder {
    path: PathBuf,
    remover: Child,
}

impl TempFolder {
    pub(crate) fn create() -> io::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("kubewright-testkit-").tempdir()?;
        let mut command = supervisor(REMOVE_SCRIPT);
        let remover = command
            .arg(temporary.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let folder = Self {
            path: temporary.keep(),
            remover,
        };
        for part in [folder.logs(), folder.kubeconfigs(), folder.certificates()] {
            fs::create_dir(part)?;
        }
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    pub(crate) fn kubeconfigs(&self) -> PathBuf {
        self.path.join("kubeconfigs")
    }

    pub(crate) fn certificates(&self) -> PathBuf {
        self.path.join("certificates")
    }

    pub(crate) fn etcd_data(&self) -> PathBuf {
        self.path.join("etcd")
    }

    pub(crate) fn kubectl_cache(&self) -> PathBuf {
        self.path.join("kubectl-cache")
    }

    pub(crate) fn tokens(&self) -> PathBuf {
        self.path.join("tokens.csv")
    }

    pub(crate) fn audit_policy(&self) -> PathBuf {
        self.path.join("audit-policy.yaml")
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        self.path.join("audit.jsonl")
    }

    /// Keeps the folder for inspection, without its data.
    pub(crate) fn keep(mut self) {
        let _ = fs::remove_dir_all(self.etcd_data());
        if let Some(stdin) = &mut self.remover.stdin {
            let _ = stdin.write_all(b"keep\n");
        }
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // `wait` closes the pipe first. A folder that could not be removed cannot be reported from here.
        let _ = self.remover.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_folder_is_removed() {
        let folder = TempFolder::create().unwrap();
        let path = folder.path().to_owned();
        fs::write(folder.logs().join("a"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn kept_folder_remains_without_its_data() {
        let folder = TempFolder::create().unwrap();
        let path = folder.path().to_owned();
        fs::create_dir(folder.etcd_data()).unwrap();
        folder.keep();
        assert!(path.join("logs").exists() && !path.join("etcd").exists());
        fs::remove_dir_all(path).unwrap();
    }
}
