//! The folder of a session's files. A second session of the project has one of its own: it has another API server or another user.

use std::{
    fs::{self, File, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use crate::{plan::IoError, project};

/// The file that a session locks and writes its process id into.
const LOCK: &str = "dev.lock";

/// A folder that no other session uses while this one lives. The lock ends with the process, however it ends; files of ended sessions are
/// overwritten.
#[derive(Debug)]
pub(super) struct SessionFolder {
    pub(super) path: PathBuf,
    /// The process id of the session that has the project's first folder, if this one has another; `starting` until that one has written it.
    pub(super) first_session: Option<String>,
    _lock: File,
}

impl SessionFolder {
    /// Takes the project's first free folder: the one for session files, then `dev-2` in it, and so on.
    pub(super) fn take(root: &Path) -> Result<Self, IoError> {
        let first = project::create_session_folder(root)?;
        let mut path = first.clone();
        let (mut number, mut first_session) = (1, None);
        loop {
            let file = path.join(LOCK);
            let failed = |source| IoError::new("lock", &file, source);
            let mut options = File::options();
            let opened = options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&file);
            let mut lock = opened.map_err(failed)?;
            match lock.try_lock() {
                // A file system without locks: one session is assumed.
                Ok(()) | Err(TryLockError::Error(_)) => {
                    lock.set_len(0).map_err(failed)?;
                    lock.rewind().map_err(failed)?;
                    write!(lock, "{}", std::process::id()).map_err(failed)?;
                    return Ok(Self {
                        path,
                        first_session,
                        _lock: lock,
                    });
                }
                Err(TryLockError::WouldBlock) => {}
            }
            first_session.get_or_insert_with(|| {
                let mut process = String::new();
                // Only for the message.
                let _ = lock.read_to_string(&mut process);
                if process.is_empty() {
                    "starting".clone_into(&mut process);
                }
                process
            });
            number += 1;
            path = first.join(format!("dev-{number}"));
            fs::create_dir_all(&path).map_err(|source| IoError::new("create", &path, source))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_run_at_once_have_folders_of_their_own() {
        let root = tempfile::tempdir().unwrap();
        let take = || SessionFolder::take(root.path()).unwrap();
        let of = |session: &SessionFolder| session.path.strip_prefix(root.path()).unwrap().to_owned();
        let (first, second, third) = (take(), take(), take());
        assert_eq!(of(&first), Path::new("target/kubewright"));
        assert_eq!(first.first_session, None);
        assert_eq!(of(&second), Path::new("target/kubewright/dev-2"));
        assert_eq!(of(&third), Path::new("target/kubewright/dev-3"));
        let process = std::process::id().to_string();
        assert_eq!(third.first_session.as_deref(), Some(&*process));
        drop(second);
        fs::write(first.path.join("kubeconfig"), "first").unwrap();
        assert_eq!(of(&take()), Path::new("target/kubewright/dev-2"));
        drop(third);
        assert_eq!(
            fs::read_to_string(first.path.join("kubeconfig")).unwrap(),
            "first"
        );
        drop(first);
        assert_eq!(of(&take()), Path::new("target/kubewright"));
    }

    #[test]
    fn session_that_has_not_written_its_process_id_is_starting() {
        let root = tempfile::tempdir().unwrap();
        let folder = project::create_session_folder(root.path()).unwrap();
        let other = File::create(folder.join(LOCK)).unwrap();
        other.lock().unwrap();
        let session = SessionFolder::take(root.path()).unwrap();
        assert_eq!(session.first_session.as_deref(), Some("starting"));
    }
}
