//! [`CertificateKeeper`]: keeps the webhook server's certificate, from one of three sources.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    bundles::BundleTarget,
    contents::{CERTIFICATE, KEY},
    folder,
    pem::certified_key,
    rotation::{Rotation, RotationTiming},
    secret_watch::SecretWatch,
    server_names::ServerNames,
    serving::ServingCertificate,
};
use crate::{Clock, NamespacedName, client::Connection};

/// Who makes and renews the certificate.
pub enum CertificateSource {
    /// This operator: a CA and a certificate of its own in the Secret, which exists without data at first, and the CA's bundle in these
    /// objects.
    Generated {
        /// The Secret.
        secret: NamespacedName,
        /// The objects whose `caBundle` it keeps.
        bundles: Vec<BundleTarget>,
    },
    /// Others, such as cert-manager, who also keep the bundles: `tls.crt` and `tls.key` of this Secret are only read.
    Secret(NamespacedName),
    /// Others: the files `tls.crt` and `tls.key` in this folder, read again when they change.
    Folder(PathBuf),
}

/// Keeps the certificate of the webhook server. Every replica runs one, before leader election.
///
/// A generated CA is valid for ten years and a certificate for one; each is renewed after two thirds of that. A CA is replaced without a
/// failed handshake: the new one enters the bundle, signs the next certificate ten minutes after every object has that bundle, and the old
/// one leaves the bundle when its last certificate has expired.
///
/// What is wrong in a generated Secret (garbage, a key that does not fit, a foreign or expired CA, missing names) is logged and replaced.
/// Wrong data of the other sources is logged, and the certificate before stays in use.
pub struct CertificateKeeper {
    connection: Connection,
    source: CertificateSource,
    names: ServerNames,
    clock: Clock,
    timing: RotationTiming,
    serving: Arc<ServingCertificate>,
}

impl CertificateKeeper {
    /// Returns a keeper of a certificate for these names. It sends nothing before it [runs](Self::run).
    pub fn new(connection: Connection, source: CertificateSource, names: ServerNames, clock: Clock) -> Self {
        Self {
            connection,
            source,
            names,
            clock,
            timing: RotationTiming::default(),
            serving: Arc::new(ServingCertificate::new()),
        }
    }

    /// Sets the periods of its checks.
    #[must_use]
    pub fn with_timing(self, timing: RotationTiming) -> Self {
        Self { timing, ..self }
    }

    /// Returns what the TLS server resolves certificates with.
    pub fn serving(&self) -> Arc<ServingCertificate> {
        self.serving.clone()
    }

    /// Keeps the certificate until `stop`. Failures are logged and retried.
    pub async fn run(self, stop: CancellationToken) {
        match self.source {
            CertificateSource::Generated { secret, bundles } => {
                let secret = SecretWatch::new(&self.connection, secret);
                let rotation = Rotation::new(
                    &self.connection,
                    secret,
                    bundles,
                    self.names,
                    self.clock,
                    self.serving,
                    self.timing,
                );
                Box::pin(rotation.run(&stop)).await;
            }
            CertificateSource::Secret(secret) => {
                let secret = SecretWatch::new(&self.connection, secret);
                stop.run_until_cancelled(serve_secret(secret, &self.serving))
                    .await;
            }
            CertificateSource::Folder(path) => folder::run(&path, &self.serving, &stop).await,
        }
    }
}

/// Serves the certificate of a Secret that others keep.
async fn serve_secret(mut secret: SecretWatch, serving: &ServingCertificate) {
    loop {
        let found = secret.next().await;
        let name = secret.name();
        let Some(found) = found else {
            warn!(secret = %name, "the Secret of the webhook certificate does not exist: create it, as with a Certificate of cert-manager");
            continue;
        };
        let data = found.data.unwrap_or_default();
        let entry = |key: &str| data.get(key).map_or(&[][..], |value| &value.0);
        match certified_key(entry(CERTIFICATE), entry(KEY)) {
            Ok(certified) => {
                if serving.replace(&Arc::new(certified)) {
                    info!(secret = %name, "serving a new webhook certificate");
                }
            }
            Err(problem) => {
                warn!(secret = %name, problem, "the Secret of the webhook certificate cannot be used");
            }
        }
    }
}

/// Returns the Secret as manifests contain it: without data, so that applying it again keeps the certificate.
///
/// Its type is `Opaque`: a Secret of type `kubernetes.io/tls` must have `tls.crt` and `tls.key`, and applying it would reset them.
pub fn secret_manifest(secret: &NamespacedName) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret.name(), "namespace": secret.namespace()},
        "type": "Opaque",
    })
}
