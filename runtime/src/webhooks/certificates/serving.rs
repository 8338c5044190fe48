//! The certificate that TLS handshakes use.

use std::{fmt, sync::Arc};

use rustls::{
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::sync::watch;

/// Serves the newest certificate. Handshakes take the one that is current when they begin; established connections go on after a change.
/// Without a certificate handshakes fail.
pub struct ServingCertificate(watch::Sender<Option<Arc<CertifiedKey>>>);

impl ServingCertificate {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Whether there is a certificate.
    pub fn is_ready(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Waits for the first certificate.
    pub async fn ready(&self) {
        // It fails if the sender is gone, but the sender is `self`.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }

    /// The certificate that a handshake would use now.
    pub(super) fn current(&self) -> Option<Arc<CertifiedKey>> {
        self.0.borrow().clone()
    }

    /// Replaces the certificate; returns whether it is another one.
    pub(super) fn replace(&self, certified: &Arc<CertifiedKey>) -> bool {
        self.0.send_if_modified(|current| {
            let is_other = current
                .as_ref()
                .is_none_or(|current| current.cert != certified.cert);
            if is_other {
                *current = Some(certified.clone());
            }
            is_other
        })
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}

impl fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingCertificate")
            .field("is_ready", &self.is_ready())
            .finish()
    }
}
