//! A serving certificate in files, which others renew.

use std::{path::Path, sync::Arc, time::Duration};

use tokio::{fs, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    contents::{CERTIFICATE, KEY},
    pem::certified_key,
    serving::ServingCertificate,
};

/// How often the files are read.
const READ_INTERVAL: Duration = Duration::from_secs(10);

/// The contents of `tls.crt` and `tls.key`.
type Files = (Vec<u8>, Vec<u8>);

/// Serves the certificate in `tls.crt` with the key in `tls.key`, and reads them again when they change, until `stop`.
///
/// Files that cannot be used are logged, and the certificate before stays: a renewal replaces one file after the other.
pub(super) async fn run(folder: &Path, serving: &ServingCertificate, stop: &CancellationToken) {
    let mut last: Option<Result<Files, String>> = None;
    loop {
        let files = read(folder).await;
        if last.as_ref() != Some(&files) {
            let outcome = files
                .clone()
                .and_then(|(certificate, key)| certified_key(&certificate, &key));
            match outcome {
                Ok(certified) => {
                    serving.replace(&Arc::new(certified));
                    info!(folder = %folder.display(), "serving the certificate of the folder");
                }
                Err(problem) => warn!(
                    folder = %folder.display(),
                    problem,
                    "the certificate cannot be used: put {CERTIFICATE} and {KEY} into the folder"
                ),
            }
            last = Some(files);
        }
        if stop.run_until_cancelled(sleep(READ_INTERVAL)).await.is_none() {
            return;
        }
    }
}

async fn read(folder: &Path) -> Result<Files, String> {
    let read = async |name: &str| {
        fs::read(folder.join(name))
            .await
            .map_err(|error| format!("{name}: {error}"))
    };
    Ok((read(CERTIFICATE).await?, read(KEY).await?))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn changed_files_are_served_and_unusable_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let pair = || generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let (serving, stop) = (Arc::new(ServingCertificate::new()), CancellationToken::new());
        let running = tokio::spawn({
            let (path, serving, stop) = (folder.path().to_owned(), serving.clone(), stop.clone());
            async move { run(&path, &serving, &stop).await }
        });
        sleep(READ_INTERVAL * 2).await;
        assert!(!serving.is_ready());

        let CertifiedKey { cert, signing_key } = pair();
        write(CERTIFICATE, &cert.pem());
        write(KEY, &signing_key.serialize_pem());
        serving.ready().await;
        let current = || serving.current().unwrap().cert[0].clone();
        assert_eq!(&current(), cert.der());

        let CertifiedKey {
            cert: renewed,
            signing_key,
        } = pair();
        write(CERTIFICATE, &renewed.pem());
        sleep(READ_INTERVAL * 2).await;
        assert_eq!(&current(), cert.der(), "the key is not renewed yet");
        write(KEY, &signing_key.serialize_pem());
        sleep(READ_INTERVAL * 2).await;
        assert_eq!(&current(), renewed.der());

        std::fs::remove_file(folder.path().join(KEY)).unwrap();
        sleep(READ_INTERVAL * 2).await;
        assert_eq!(&current(), renewed.der());
        stop.cancel();
        running.await.unwrap();
    }
}
