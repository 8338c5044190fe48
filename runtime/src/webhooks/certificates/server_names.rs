//! The names and addresses at which the API server calls the webhooks.

use rustls::{
    pki_types::{CertificateDer, ServerName},
    server::ParsedCertificate,
};

/// The DNS names and addresses of a webhook server; its certificate must have all of them. They must be the same in all replicas, which
/// share the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerNames(Vec<String>);

impl ServerNames {
    /// The names of a Service. The API server calls `NAME.NAMESPACE.svc`.
    pub fn of_service(name: &str, namespace: &str) -> Self {
        let name = format!("{name}.{namespace}.svc");
        Self(vec![name.clone(), format!("{name}.cluster.local")])
    }

    /// Adds a DNS name or an IP address, for calls by URL. Fails if it is neither.
    pub fn with(mut self, name: &str) -> Result<Self, String> {
        if ServerName::try_from(name).is_err() {
            return Err(format!(
                "{name:?} is neither a DNS name nor an IP address: correct the address of the webhooks"
            ));
        }
        if !self.0.iter().any(|known| known == name) {
            self.0.push(name.to_owned());
        }
        Ok(self)
    }

    /// Adds the names of this machine for itself.
    pub fn with_loopback(mut self) -> Self {
        self.0.extend(["localhost", "127.0.0.1"].map(str::to_owned));
        self
    }

    pub(crate) fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Returns the first name that the certificate lacks.
    pub(super) fn missing_from(&self, certificate: &CertificateDer<'_>) -> Option<&str> {
        let Ok(certificate) = ParsedCertificate::try_from(certificate) else {
            return self.0.first().map(String::as_str);
        };
        let missing = self.0.iter().find(|name| {
            ServerName::try_from(name.as_str())
                .is_ok_and(|name| rustls::client::verify_server_name(&certificate, &name).is_err())
        });
        missing.map(String::as_str)
    }
}
