//! A cluster's folder, and the `sh` that removes it.

use crate::process::supervisor;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// Removes the folder when the pipe closes, unless it was told to keep it. Processes that are being killed at the
/// same moment may still write, hence more than one attempt.
const REMOVER: &str = r#"
trap '' HUP INT QUIT TERM
read -r word && [ "$word" = keep ] && exit
attempts=0
while [ -e "$1" ] && [ $attempts -lt 100 ]; do
  rm -rf -- "$1" || sleep 0.05
  attempts=$((attempts + 1))
done
"#;

/// A fresh folder. It goes when this value is dropped, or when our process ends in whatever way.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    remover: Child,
}

impl Folder {
    pub(crate) fn create() -> io::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("kubewright-testkit-").tempdir()?;
        let mut command = supervisor(REMOVER);
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

    /// Leaves the folder, without its data, for a person to look at.
    pub(crate) fn keep(mut self) {
        let _ = fs::remove_dir_all(self.etcd_data());
        if let Some(stdin) = &mut self.remover.stdin {
            let _ = stdin.write_all(b"keep\n");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // `wait` closes the pipe first. There is nobody to tell of a folder that stays.
        let _ = self.remover.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_folder_is_gone() {
        let folder = Folder::create().unwrap();
        let path = folder.path().to_owned();
        fs::write(folder.logs().join("a"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn kept_folder_stays_without_its_data() {
        let folder = Folder::create().unwrap();
        let path = folder.path().to_owned();
        fs::create_dir(folder.etcd_data()).unwrap();
        folder.keep();
        assert!(path.join("logs").exists() && !path.join("etcd").exists());
        fs::remove_dir_all(path).unwrap();
    }
}
