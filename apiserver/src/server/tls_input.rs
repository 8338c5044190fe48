//! What the server reads as PEM, and its errors.

use super::StartError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::fmt;

/// What a server reads as PEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsInput {
    /// The server's certificate chain.
    Certificates,
    /// The server's private key.
    Key,
    /// The CA that signs client certificates.
    ClientCa,
}

impl fmt::Display for TlsInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificates => "server's certificate",
            Self::Key => "server's private key",
            Self::ClientCa => "client CA",
        })
    }
}

impl TlsInput {
    pub(super) fn error(self, cause: impl fmt::Display) -> StartError {
        StartError::Certificate {
            input: self,
            cause: cause.to_string(),
        }
    }

    /// Returns all certificates of a PEM text, at least one.
    pub(super) fn certificates(self, pem: &str) -> Result<Vec<CertificateDer<'static>>, StartError> {
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| self.error(error))?;
        if certificates.is_empty() {
            return Err(self.error("it contains no certificate in PEM"));
        }
        Ok(certificates)
    }
}
